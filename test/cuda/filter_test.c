/*
 * filter_test.c
 *		Runs the kernels of the filter on fibers.  They must find what the CPU's search finds.
 */
#include "filter_rig.h"

#include "core/topk.h"

/*
 * search: run a search.  Returns the number of queries that overflowed; *wrong is the number of
 * entries that differ from the CPU's.
 */
static int32_t
search(const Case *c, int64_t *wrong)
{
	size_t row_bytes = (size_t) c->dims * hy_dtype_size(c->dtype);
	size_t entries = (size_t) c->queries * (size_t) c->k;
	float *queries = malloc((size_t) c->queries * (size_t) c->dims * sizeof(float));
	char *targets = malloc((size_t) c->rows * row_bytes);
	HyNeighbor *best = malloc(entries * sizeof(HyNeighbor));
	HyNeighbor *expected = malloc(entries * sizeof(HyNeighbor));
	int32_t *counts = malloc((size_t) c->queries * sizeof(int32_t));
	HyMatrix query_matrix = {.dims = c->dims,
	                         .rows = c->queries,
	                         .stride = (size_t) c->dims * sizeof(float),
	                         .data = queries};
	HyMatrix target_matrix = {
		.dtype = c->dtype, .dims = c->dims, .rows = c->rows, .stride = row_bytes, .data = targets};
	HyCudaTopK first = {.k = c->k, .list_bytes = entries * sizeof(HyNeighbor) * 4};
	int64_t canonical = c->rows < 2 * c->k ? c->rows : 2 * c->k;
	int64_t at = 0;
	int64_t end;
	char *on_device;
	Rig rig;
	size_t i;

	form_vectors(c, queries, targets);
	CHECK_INT(
		hy_topk_search(c->metric, &query_matrix, &target_matrix, c->k, expected, counts, NULL),
		HY_OK);
	for (i = 0; i < entries; i++)
		best[i] = (HyNeighbor){c->limit != NULL ? *c->limit : INFINITY, HY_CUDA_NO_ROW};
	for (i = 0; i < (size_t) c->queries && c->limit != NULL; i++)
	{
		while (counts[i] > 0 &&
		       expected[i * (size_t) c->k + (size_t) counts[i] - 1].distance > *c->limit)
			counts[i]--;
	}
	rig_make(&rig, c, queries, best);
	on_device = to_device(targets, (size_t) c->rows * row_bytes, rig.stream);
	first.lists = device_room(first.list_bytes);
	/* the first rows are compared canonically; then pieces double in size */
	for (end = canonical; at < c->rows; end = 2 * end < c->rows ? 2 * end : c->rows)
	{
		rig.args.rows.targets = on_device + (size_t) at * row_bytes;
		rig.args.rows.rows = end - at;
		rig.args.first_row = at;
		if (at == 0)
		{
			first.rows = rig.args.rows;
			first.best = rig.args.best;
			if (c->metric == HY_METRIC_L2)
				CHECK_INT(hy_cuda_launch_middle(c->dtype, &rig.args.rows, rig.middle, rig.stream),
				          cudaSuccess);
			round_both(&rig, c, true);
			CHECK_INT(hy_cuda_launch_topk(c->metric, c->dtype, &first, 2, rig.stream), cudaSuccess);
		}
		else
		{
			round_both(&rig, c, false);
			if (c->unbounded)
				drop_bound((HyCudaReach *) rig.args.reach, rig.row_room, rig.stream);
			CHECK_INT(hy_cuda_launch_propose(c->metric, &rig.args, rig.stream), cudaSuccess);
			CHECK_INT(hy_cuda_launch_settle(c->metric, c->dtype, &rig.args, rig.stream),
			          cudaSuccess);
		}
		at = end;
	}
	from_device(best, rig.args.best, entries * sizeof(HyNeighbor), rig.stream);
	from_device(&rig.overflow, rig.args.overflow, sizeof(int32_t), rig.stream);
	*wrong = 0;
	for (i = 0; i < entries; i++)
	{
		bool there = (int32_t) (i % (size_t) c->k) < counts[i / (size_t) c->k];

		if (there ? best[i].row != expected[i].row ||
		                !unit_same_f64(best[i].distance, expected[i].distance)
		          : best[i].row != HY_CUDA_NO_ROW)
			(*wrong)++;
		compared++;
	}
	cudaFree(on_device);
	cudaFree(first.lists);
	rig_free(&rig);
	free(queries);
	free(targets);
	free(best);
	free(expected);
	free(counts);
	return rig.overflow;
}

/* finds_all: check that the answer is the CPU's.  Returns the number of lists that overflowed. */
static int32_t
finds_all(const Case *c)
{
	int64_t wrong;
	int32_t overflow = search(c, &wrong);

	CHECK_MSG(wrong == 0,
	          "%s %s dims %d, %d x %lld, k %d, kind %d form %d room %d: %lld entries are wrong",
	          hy_metric_name(c->metric), hy_dtype_name(c->dtype), (int) c->dims, (int) c->queries,
	          (long long) c->rows, (int) c->k, (int) c->kind, (int) c->form, (int) c->room,
	          (long long) wrong);
	return overflow;
}

/* finds_all_by_each: call finds_all for each metric that can be filtered. */
static int32_t
finds_all_by_each(Case c)
{
	int32_t overflow = 0;

	for (c.metric = HY_METRIC_L2; c.metric < HY_METRIC_L1; c.metric++)
		overflow += finds_all(&c);
	return overflow;
}

static void
finds_what_the_cpu_finds(void)
{
	static const int32_t k[] = {1, 3, 10, 64, 65, 128};
	size_t i;
	int n = 0;

	for (i = 0; i < sizeof(k) / sizeof(k[0]); i++)
	{
		Case c = plain;

		c.k = k[i];
		c.rows = 400;
		for (c.metric = HY_METRIC_L2; c.metric < HY_METRIC_L1; c.metric++, n++)
		{
			c.dtype = (HyDtype) (n % 2);
			hy_fake.cut_off = n / 2 % 2;
			CHECK_INT(finds_all(&c), 0);
		}
	}
}

/* queries and rows around the size of a tile; dims around those of steps and segments */
static void
boundaries(void)
{
	static const int32_t queries[] = {1, 127, 128, 129};
	static const int64_t rows[] = {7, 127 + 6, 128 + 6, 129 + 6, 300};
	static const int32_t dims[] = {1, 2, 15, 16, 17, 31, 32, 33, 64, 1023, 1024, 1025, 2060};
	Case c = plain;
	size_t i;

	for (i = 0; i < 5; i++)
	{
		c.queries = queries[i % 4];
		c.rows = rows[i];
		c.metric = (HyMetric) (i % 3);
		(void) finds_all(&c);
	}
	for (i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
	{
		c.queries = 5;
		c.rows = dims[i] > 1000 ? 40 : 140;
		c.dims = dims[i];
		c.metric = (HyMetric) (i % 3);
		c.dtype = (HyDtype) (i % 2);
		(void) finds_all(&c);
	}
}

/* lists that are far too short: the kernel compares all rows of the piece */
static void
lists_overflow(void)
{
	Case c = plain;
	int32_t overflow;

	c.room = 1;
	c.k = 2;
	c.rows = 500;
	overflow = finds_all_by_each(c);
	CHECK(overflow > 20);
	c.dims = 1030;
	c.queries = 3;
	c.rows = 140;
	c.dtype = HY_F16;
	overflow = finds_all_by_each(c);
	CHECK(overflow > 2);
}

/*
 * equal distances, vectors without an angle, lengths of every magnitude, values that fp32 cannot
 * bound
 */
static void
extremes(void)
{
	int n = 0;
	int kind;
	int form;

	for (kind = 0; kind < KIND_COUNT; kind++)
	{
		Case c = plain;

		c.kind = (Kind) kind;
		c.k = kind % 2 ? 1 : 5;
		c.dims = kind == KIND_FEW ? 2 : 40;
		for (c.metric = HY_METRIC_L2; c.metric < HY_METRIC_L1; c.metric++, n++)
		{
			c.dtype = (HyDtype) (n % 2);
			hy_fake.cut_off = n % 2;
			(void) finds_all(&c);
		}
	}
	for (form = LENGTHS; form <= ZEROS; form++)
	{
		Case c = plain;

		c.form = (Form) form;
		c.queries = 8;
		(void) finds_all_by_each(c);
	}
}

static void
limits_leave_rows_out(void)
{
	static const double limits[] = {0, 0.5, 2, -1, -INFINITY};
	size_t i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++)
	{
		Case c = plain;

		c.limit = &limits[i];
		c.dims = 3;
		(void) finds_all_by_each(c);
	}
}

/* without the bound rows are missed, so the tests above do not pass by luck */
static void
without_the_bound_rows_are_missed(void)
{
	Case c = plain;
	int64_t wrong;

	c.queries = 60;
	c.rows = 400;
	c.k = 10;
	c.dims = 64;
	c.form = OPPOSITE;
	c.unbounded = true;
	for (c.metric = HY_METRIC_L2; c.metric < HY_METRIC_L1; c.metric++)
	{
		(void) search(&c, &wrong);
		printf("# %s: %lld of %d entries wrong\n", hy_metric_name(c.metric), (long long) wrong,
		       (int) (c.queries * c.k));
		CHECK(wrong > 0);
	}
	c.unbounded = false;
	(void) finds_all_by_each(c);
}

/* the rows of a thread differ in length; none may be missed because of the others */
static void
lengths_are_uneven(void)
{
	Case c = plain;

	c.queries = 60;
	c.k = 32;
	/* pieces begin at multiples of 64 */
	c.rows = 512;
	c.dims = 64;
	c.form = OPPOSITE;
	c.uneven = true;
	(void) finds_all_by_each(c);
}

/* most proposed rows are near, so lists are short and the canonical kernels have little to do */
static void
few_are_proposed(void)
{
	Case c = plain;

	c.queries = 40;
	c.rows = 600;
	c.k = 2;
	c.dims = 100;
	c.room = 8;
	for (c.metric = HY_METRIC_L2; c.metric < HY_METRIC_L1; c.metric++)
	{
		c.form = AS_DRAWN;
		CHECK_INT(finds_all(&c), 0);
		/* far from the origin, subtracting the middle keeps the candidates few */
		c.form = CLUSTERED;
		if (c.metric == HY_METRIC_L2)
			CHECK_INT(finds_all(&c), 0);
	}
}

static void
tests(void)
{
	UNIT_RUN(finds_what_the_cpu_finds);
	UNIT_RUN(boundaries);
	UNIT_RUN(lists_overflow);
	UNIT_RUN(extremes);
	UNIT_RUN(limits_leave_rows_out);
	UNIT_RUN(without_the_bound_rows_are_missed);
	UNIT_RUN(lengths_are_uneven);
	UNIT_RUN(few_are_proposed);
}

int
main(void)
{
	return run_filter_tests(tests);
}
