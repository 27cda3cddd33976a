/*
 * topk_test.c
 *		The bounded heap and the search compared with qsort.
 */
#include "unit.h"

#include "core/distance.h"
#include "core/topk.h"

static int
compare(const void *a, const void *b)
{
	return hy_neighbor_compare(a, b);
}

/*
 * expected_best: sort the candidates without NaN and keep the first k.  Returns how many there are.
 */
static int32_t
expected_best(const double *distances, int64_t n, int32_t k, HyNeighbor *best)
{
	HyNeighbor *all = malloc((size_t) (n + 1) * sizeof(HyNeighbor));
	int64_t count = 0;
	int64_t i;

	for (i = 0; i < n; i++)
	{
		if (isnan(distances[i]))
			continue;
		all[count].distance = distances[i];
		all[count++].row = i;
	}
	qsort(all, (size_t) count, sizeof(HyNeighbor), compare);
	if (count > k)
		count = k;
	memcpy(best, all, (size_t) count * sizeof(HyNeighbor));
	free(all);
	return (int32_t) count;
}

static void
check_answer(const HyNeighbor *actual, int32_t actual_count, const HyNeighbor *expected,
             int32_t expected_count)
{
	int32_t i;

	CHECK_INT(actual_count, expected_count);
	for (i = 0; i < actual_count && i < expected_count; i++)
	{
		CHECK_INT(actual[i].row, expected[i].row);
		CHECK_SAME_F64(actual[i].distance, expected[i].distance);
	}
}

/* Distances with many ties, infinities and NaN, offered in ascending or shuffled order of rows. */
static void
test_against_sort(void)
{
	UnitRandom random = {21};
	double distances[500];
	int64_t order[500];
	HyNeighbor items[600];
	HyNeighbor best[600];
	int round;

	for (round = 0; round < 3000; round++)
	{
		int64_t n = (int64_t) unit_random_below(&random, 500);
		int32_t k = 1 + (int32_t) unit_random_below(&random, round % 2 ? 600 : 12);
		uint64_t values = 1 + unit_random_below(&random, round % 3 ? 1000000 : 5);
		int32_t expected;
		HyTopK topk;
		int64_t i;

		for (i = 0; i < n; i++)
		{
			uint64_t what = unit_random_below(&random, 50);

			order[i] = i;
			distances[i] = what == 0   ? NAN
			               : what == 1 ? INFINITY
			               : what == 2 ? -0.0
			                           : (double) unit_random_below(&random, values) - 2.0;
		}
		for (i = n - 1; i > 0 && round % 4 != 0; i--)
		{
			int64_t j = (int64_t) unit_random_below(&random, (uint64_t) i + 1);
			int64_t swap = order[i];

			order[i] = order[j];
			order[j] = swap;
		}
		hy_topk_init(&topk, items, k);
		for (i = 0; i < n; i++)
			hy_topk_push(&topk, distances[order[i]], order[i]);
		hy_topk_sort(&topk);
		expected = expected_best(distances, n, k, best);
		check_answer(items, topk.count, best, expected);
	}
}

static void
test_push_says_what_it_kept(void)
{
	HyNeighbor items[2];
	HyTopK topk;

	hy_topk_init(&topk, items, 2);
	CHECK(!hy_topk_push(&topk, NAN, 1));
	CHECK(hy_topk_push(&topk, 5.0, 7));
	CHECK(hy_topk_push(&topk, 5.0, 9));
	CHECK(!hy_topk_push(&topk, 5.0, 10));
	CHECK(!hy_topk_push(&topk, 6.0, 1));
	CHECK(hy_topk_push(&topk, 5.0, 8));
	CHECK(hy_topk_push(&topk, -1.0, 20));
	hy_topk_sort(&topk);
	CHECK_INT(topk.count, 2);
	CHECK_INT(items[0].row, 20);
	CHECK_INT(items[1].row, 7);
}

static void
test_empty(void)
{
	HyNeighbor items[2];
	HyTopK topk;

	hy_topk_init(&topk, items, 2);
	hy_topk_sort(&topk);
	CHECK_INT(topk.count, 0);
}

static void
check_search(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets, int32_t k)
{
	double *distances = malloc((size_t) (queries->rows * targets->rows + 1) * sizeof(double));
	HyNeighbor *out = malloc((size_t) (queries->rows * k + 1) * sizeof(HyNeighbor));
	HyNeighbor *best = malloc((size_t) k * sizeof(HyNeighbor));
	int32_t *counts = malloc((size_t) (queries->rows + 1) * sizeof(int32_t));
	int64_t q;

	CHECK_INT(hy_distance_matrix(metric, queries, targets, distances, NULL), HY_OK);
	CHECK_INT(hy_topk_search(metric, queries, targets, k, out, counts, NULL), HY_OK);
	for (q = 0; q < queries->rows; q++)
	{
		int32_t expected = expected_best(distances + q * targets->rows, targets->rows, k, best);

		check_answer(out + q * k, counts[q], best, expected);
	}
	free(distances);
	free(out);
	free(best);
	free(counts);
}

static void
test_search(void)
{
	static const int shapes[][4] = {/* dims, queries, targets, k */
	                                {5, 7, 1000, 10}, {768, 2, 120, 200}, {2, 300, 300, 3},
	                                {3, 4, 0, 5},     {3, 0, 4, 5},       {1, 1, 5000, 50}};
	UnitRandom random = {22};
	int s;
	int metric;

	for (s = 0; s < (int) (sizeof(shapes) / sizeof(shapes[0])); s++)
	{
		int dims = shapes[s][0];
		int64_t rows = shapes[s][1] + shapes[s][2];
		float *data = malloc((size_t) (rows * dims + 1) * sizeof(float));
		HyMatrix queries = {HY_F32, dims, shapes[s][1], (size_t) dims * 4, data, NULL, 0, NULL};
		HyMatrix targets = {
			HY_F32, dims, shapes[s][2], (size_t) dims * 4, data + shapes[s][1] * dims,
			NULL,   0,    NULL};
		int64_t i;

		/* Small integers: ties, and zero rows, which the cosine leaves out. */
		for (i = 0; i < rows * dims; i++)
			data[i] = i / dims % 9 == 0 ? 0.0f : (float) ((int) unit_random_below(&random, 5) - 2);
		for (metric = 0; metric < HY_METRIC_COUNT; metric++)
			check_search((HyMetric) metric, &queries, &targets, shapes[s][3]);
		free(data);
	}
}

static void
test_zero_vectors_have_no_cosine(void)
{
	float query[2] = {1.0f, 1.0f};
	float rows[6] = {0.0f, 0.0f, 1.0f, 0.0f, -0.0f, 0.0f};
	HyMatrix queries = {HY_F32, 2, 1, 8, query, NULL, 0, NULL};
	HyMatrix targets = {HY_F32, 2, 3, 8, rows, NULL, 0, NULL};
	HyNeighbor out[3];
	int32_t count;

	CHECK_INT(hy_topk_search(HY_METRIC_COSINE, &queries, &targets, 3, out, &count, NULL), HY_OK);
	CHECK_INT(count, 1);
	CHECK_INT(out[0].row, 1);
}

static void
test_refusals_and_cancel(void)
{
	static float data[2000 * 700];
	HyMatrix queries = {HY_F32, 700, 2, 2800, data, NULL, 0, NULL};
	HyMatrix targets = {HY_F32, 700, 2000, 2800, data, NULL, 0, NULL};
	HyNeighbor out[6];
	int32_t counts[2];
	UnitCancel cancel;

	CHECK_INT(hy_topk_search(HY_METRIC_L2, &queries, &targets, 0, out, counts, NULL), HY_INVALID);
	CHECK_INT(hy_topk_search(HY_METRIC_L2, &queries, &targets, -1, out, counts, NULL), HY_INVALID);
	unit_cancel_init(&cancel, 1);
	CHECK_INT(hy_topk_search(HY_METRIC_L2, &queries, &targets, 3, out, counts, &cancel.cancel),
	          HY_CANCELLED);
	targets.dims = 699;
	CHECK_INT(hy_topk_search(HY_METRIC_L2, &queries, &targets, 3, out, counts, NULL), HY_INVALID);
}

int
main(void)
{
	UNIT_RUN(test_against_sort);
	UNIT_RUN(test_push_says_what_it_kept);
	UNIT_RUN(test_empty);
	UNIT_RUN(test_search);
	UNIT_RUN(test_zero_vectors_have_no_cosine);
	UNIT_RUN(test_refusals_and_cancel);
	return unit_finish();
}
