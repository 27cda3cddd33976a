/*
 * assign_filter_test.c
 *		Runs the kernels that filter 'assign' on fibers.  They must choose the same centroids as the
 *		CPU, whatever the emulated matrix unit truncates.
 */
#include "forms.h"

#include <float.h>

#include "core/assign.h"
#include "cuda/assign_filter_plan.h"

typedef struct Case
{
	int32_t dims;
	int32_t rows;
	int32_t centroids;
	Kind kind;
	Form form;
	int32_t part;   /* number of centroids in a part, a multiple of a tile; 0: all centroids */
	bool same;      /* rows are among the centroids */
	bool equal;     /* all centroids are the same */
	bool beyond;    /* the products of no centroid can be bounded */
	bool unbounded; /* drop the bound: shows that rows get wrong centroids without it */
} Case;

/* Outcome: the result of a case. */
typedef struct Outcome
{
	int64_t wrong; /* rows that went elsewhere */
	int64_t open;  /* candidate centroids of all rows, in all parts */
	int64_t rest;  /* rows that were compared with all centroids of a part */
} Outcome;

static HyMatrix
matrix(float *data, int32_t rows, int32_t dims)
{
	return (HyMatrix){
		.dims = dims, .rows = rows, .stride = (size_t) dims * sizeof(float), .data = data};
}

static void
form_vectors(const Case *c, float *rows, float *centroids)
{
	size_t vector = (size_t) c->dims * sizeof(float);
	int32_t i;

	for (i = 0; i < c->centroids; i++)
	{
		form_vector(c->form, c->kind, centroids + (size_t) i * (size_t) c->dims, c->dims, true);
		if (c->beyond)
			centroids[(size_t) i * (size_t) c->dims] = i % 2 ? 3e16f : -3e16f;
		if (c->equal)
			memcpy(centroids + (size_t) i * (size_t) c->dims, centroids, vector);
	}
	for (i = 0; i < c->rows; i++)
	{
		form_vector(c->form, c->kind, rows + (size_t) i * (size_t) c->dims, c->dims, false);
		if (c->same)
			memcpy(rows + (size_t) i * (size_t) c->dims,
			       centroids + (size_t) (i * 7 % c->centroids) * (size_t) c->dims, vector);
	}
}

/* begin: lay out memory as planned and round the centroids into it. */
static HyCudaAssignFiltered
begin(const Case *c, const HyCudaAssignPlan *plan, char *memory, const HyCudaAssign *assign,
      cudaStream_t stream)
{
	const uint64_t *offset = plan->offset;
	HyCudaRows all = {.targets = assign->centroids,
	                  .stride = (int64_t) c->dims * (int64_t) sizeof(float),
	                  .rows = c->centroids,
	                  .dims = c->dims};
	HyCudaAssignFiltered args = {
		.assign = *assign,
		.padded = plan->padded,
		.middle = (float *) (void *) (memory + offset[HY_CUDA_ASSIGN_MIDDLE]),
		.centroids = (uint16_t *) (void *) (memory + offset[HY_CUDA_ASSIGN_CENTROIDS]),
		.reach = (HyCudaReach *) (void *) (memory + offset[HY_CUDA_ASSIGN_REACH]),
		.rows = (uint16_t *) (void *) (memory + offset[HY_CUDA_ASSIGN_ROWS]),
		.aim = (HyCudaAim *) (void *) (memory + offset[HY_CUDA_ASSIGN_AIM]),
		.least = (uint32_t *) (void *) (memory + offset[HY_CUDA_ASSIGN_LEAST]),
		.count = (int32_t *) (void *) (memory + offset[HY_CUDA_ASSIGN_COUNT]),
		.open = (HyCudaOpen *) (void *) (memory + offset[HY_CUDA_ASSIGN_OPEN]),
		.left = (int32_t *) (void *) (memory + offset[HY_CUDA_ASSIGN_LEFT])};
	HyCudaRound round = {.rows = assign->centroids,
	                     .stride = all.stride,
	                     .count = c->centroids,
	                     .room = hy_cuda_assign_whole(c->centroids),
	                     .dims = c->dims,
	                     .padded = plan->padded,
	                     .middle = args.middle,
	                     .rounded = (uint16_t *) (uintptr_t) args.centroids,
	                     .reach = (HyCudaReach *) (uintptr_t) args.reach};

	CHECK_INT(hy_cuda_launch_middle(HY_F32, &all, (float *) (uintptr_t) args.middle, stream),
	          cudaSuccess);
	CHECK_INT(hy_cuda_launch_round(HY_METRIC_L2, HY_F32, &round, stream), cudaSuccess);
	if (c->unbounded)
		drop_bound(round.reach, round.room, stream);
	return args;
}

/* check_least: check that no lower bound exceeds the greatest actual value. */
static void
check_least(const Case *c, const float *rows, const float *centroids,
            const HyCudaAssignFiltered *args, cudaStream_t stream)
{
	uint32_t *least = malloc((size_t) c->rows * sizeof(uint32_t));
	float *middle = malloc((size_t) c->dims * sizeof(float));
	int32_t i;
	int32_t t;
	int32_t d;

	from_device(least, args->least, (size_t) c->rows * sizeof(uint32_t), stream);
	from_device(middle, args->middle, (size_t) c->dims * sizeof(float), stream);
	for (i = 0; i < c->rows; i++)
	{
		uint32_t bits = least[i] & 0x80000000u ? least[i] & 0x7fffffffu : ~least[i];
		double greatest = -INFINITY;
		float bound;

		memcpy(&bound, &bits, sizeof(bound));
		for (t = args->assign.first; t < args->assign.end; t++)
		{
			double value = 0;

			for (d = 0; d < c->dims; d++)
			{
				float x = centroids[(size_t) t * (size_t) c->dims + (size_t) d] - middle[d];
				float q = rows[(size_t) i * (size_t) c->dims + (size_t) d] - middle[d];

				value += (double) x * ((double) q - (double) x / 2);
			}
			greatest = value > greatest ? value : greatest;
		}
		/* NaN: the kernel found no bound for the row */
		if (bound <= FLT_MAX)
			CHECK_MSG((double) -bound <= greatest, "dims %d, form %d: row %d has %g, at most %g",
			          (int) c->dims, (int) c->form, (int) i, (double) -bound, greatest);
	}
	free(least);
	free(middle);
}

/* on_device: compute the kernels' answer. */
static void
on_device(const Case *c, const float *rows, const float *centroids, int32_t *nearest,
          Outcome *outcome)
{
	size_t vector = (size_t) c->dims * sizeof(float);
	size_t found_bytes = (size_t) c->rows * sizeof(uint64_t);
	int32_t part = c->part > 0 ? c->part : c->centroids;
	uint64_t *found = malloc(found_bytes);
	uint64_t *least = malloc(found_bytes);
	int32_t *count = malloc((size_t) c->rows * sizeof(int32_t));
	HyCudaAssign assign = {.row_stride = c->dims, .row_count = c->rows, .dims = c->dims};
	HyCudaAssignFiltered args;
	HyCudaAssignRest rest;
	HyCudaAssignPlan plan;
	const char *fault;
	cudaStream_t stream;
	char *memory;
	void *down;
	int32_t i;

	CHECK(hy_cuda_assign_filter_plan(c->rows, c->centroids, c->dims, UINT64_MAX, &plan));
	CHECK_INT(plan.rows, c->rows);
	CHECK_INT(cudaStreamCreateWithFlags(&stream, 0), cudaSuccess);
	assign.rows = to_device(rows, (size_t) c->rows * vector, stream);
	assign.centroids = to_device(centroids, (size_t) c->centroids * vector, stream);
	CHECK_INT(cudaMalloc(&down, found_bytes + sizeof(rest)), cudaSuccess);
	CHECK_INT(cudaMalloc((void **) &memory, plan.bytes), cudaSuccess);
	assign.found = down;
	args = begin(c, &plan, memory, &assign, stream);
	args.rest = (HyCudaAssignRest *) (void *) (assign.found + c->rows);
	memset(least, 0xff, found_bytes);
	while (args.assign.end < c->centroids)
	{
		HyCudaAssign whole;

		args.assign.first = args.assign.end;
		args.assign.end =
			c->centroids - args.assign.first < part ? c->centroids : args.assign.first + part;
		whole = args.assign;
		whole.groups = (HyCudaAssignGroups){.groups = 1,
		                                    .largest = whole.end - whole.first,
		                                    .begin = args.rest->begin,
		                                    .members = args.left,
		                                    .firsts = args.rest->firsts,
		                                    .tiles = args.rest->tiles};
		CHECK_INT(hy_cuda_launch_assign_filtered(&args, stream), cudaSuccess);
		CHECK_INT(hy_cuda_launch_assign_rest(&whole, 2, stream), cudaSuccess);
		from_device(found, assign.found, found_bytes, stream);
		from_device(&rest, args.rest, sizeof(rest), stream);
		from_device(count, args.count, (size_t) c->rows * sizeof(int32_t), stream);
		if (!c->unbounded && c->form < ZEROS)
			check_least(c, rows, centroids, &args, stream);
		outcome->rest += rest.firsts[1];
		CHECK_INT(rest.tiles[1], (rest.firsts[1] + HY_CUDA_ASSIGN_TILE - 1) / HY_CUDA_ASSIGN_TILE);
		for (i = 0; i < c->rows; i++)
		{
			least[i] = found[i] < least[i] ? found[i] : least[i];
			outcome->open += count[i];
		}
	}
	fault = hy_fake_fault();
	CHECK_MSG(fault == NULL, "%s", fault);
	for (i = 0; i < c->rows; i++)
		nearest[i] = least[i] == HY_CUDA_ASSIGN_NONE ? 0 : (int32_t) (least[i] & UINT32_MAX);
	cudaFree((void *) assign.rows);
	cudaFree((void *) assign.centroids);
	cudaFree(down);
	cudaFree(memory);
	cudaStreamDestroy(stream);
	free(found);
	free(least);
	free(count);
}

static Outcome
assign(const Case *c)
{
	float *rows = malloc((size_t) c->rows * (size_t) c->dims * sizeof(float));
	float *centroids = malloc((size_t) c->centroids * (size_t) c->dims * sizeof(float));
	int32_t *nearest = malloc((size_t) c->rows * sizeof(int32_t));
	int32_t *expected = malloc((size_t) c->rows * sizeof(int32_t));
	HyMatrix row_matrix = matrix(rows, c->rows, c->dims);
	HyMatrix centroid_matrix = matrix(centroids, c->centroids, c->dims);
	Outcome outcome = {0, 0, 0};
	int32_t i;

	form_vectors(c, rows, centroids);
	CHECK_INT(hy_assign(&row_matrix, &centroid_matrix, NULL, &hy_malloc_allocator, expected, NULL),
	          HY_OK);
	on_device(c, rows, centroids, nearest, &outcome);
	for (i = 0; i < c->rows; i++)
	{
		outcome.wrong += nearest[i] != expected[i];
		compared++;
	}
	free(rows);
	free(centroids);
	free(nearest);
	free(expected);
	return outcome;
}

/* finds_all: check that the answer is the CPU's. */
static Outcome
finds_all(const Case *c)
{
	Outcome outcome = assign(c);

	CHECK_MSG(outcome.wrong == 0,
	          "dims %d, %d rows to %d centroids by %d, kind %d form %d: %lld rows go elsewhere",
	          (int) c->dims, (int) c->rows, (int) c->centroids, (int) c->part, (int) c->kind,
	          (int) c->form, (long long) outcome.wrong);
	return outcome;
}

static const Case plain = {.dims = 40, .rows = 100, .centroids = 200};

/* rows and centroids around the sizes of tiles; dims around those of steps, lanes and segments */
static void
boundaries(void)
{
	static const int32_t counts[] = {1, 2, 7, 8, 9, 31, 33, 127, 128, 129, 257};
	static const int32_t dims[] = {1,  2,  15, 16,   17,   31,   32,   33,
	                               63, 64, 65, 1023, 1024, 1025, 1057, 2060};
	size_t n = sizeof(counts) / sizeof(counts[0]);
	Case c = plain;
	size_t i;
	size_t j;

	c.dims = 9;
	for (i = 0; i < n; i++)
	{
		for (j = i % 3; j < n; j += 3)
		{
			c.rows = counts[i];
			c.centroids = counts[j];
			hy_fake.cut_off = (int) (i + j) % 2;
			(void) finds_all(&c);
		}
	}
	for (i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
	{
		c.rows = 20;
		c.centroids = dims[i] > 1000 ? 50 : 140;
		c.dims = dims[i];
		hy_fake.cut_off = (int) i % 2;
		(void) finds_all(&c);
	}
}

/* every kind and form, with an exact unit and an inexact one; rows that equal centroids */
static void
extremes(void)
{
	int cuts;
	int form;
	int kind;

	for (cuts = 0; cuts < 2; cuts++)
	{
		Case c = plain;

		hy_fake.cut_off = cuts;
		for (kind = 0; kind < KIND_COUNT; kind++)
		{
			c.kind = (Kind) kind;
			c.dims = kind == KIND_FEW ? 2 : 40;
			c.same = !c.same;
			(void) finds_all(&c);
		}
		c.dims = 70;
		for (form = LENGTHS; form < FORMS; form++)
		{
			c.form = (Form) form;
			c.same = !c.same;
			(void) finds_all(&c);
		}
	}
}

/*
 * among equal distances, the centroid with the lower number wins, whichever tile or part it is in
 */
static void
ties_go_by_centroid(void)
{
	Case c = plain;

	c.kind = KIND_FEW;
	c.centroids = 400;
	for (c.dims = 1; c.dims < 6; c.dims++)
	{
		c.part = c.dims % 2 ? 0 : HY_CUDA_TILE;
		(void) finds_all(&c);
	}
}

/* a row is compared with all centroids if it has more candidates than a list can hold */
static void
lists_overflow(void)
{
	Case c = plain;
	Outcome outcome;

	c.equal = true;
	outcome = finds_all(&c);
	CHECK_INT(outcome.rest, c.rows);
	/* as many as a list can hold */
	c.centroids = HY_CUDA_ASSIGN_LIST;
	outcome = finds_all(&c);
	CHECK_INT(outcome.rest, 0);
	CHECK_INT(outcome.open, c.rows * HY_CUDA_ASSIGN_LIST);
	c.centroids++;
	outcome = finds_all(&c);
	CHECK_INT(outcome.rest, c.rows);
	/* some rows have no bound; only these are compared with all centroids */
	c.equal = false;
	c.form = ODD;
	c.dims = 4;
	c.rows = 300;
	outcome = finds_all(&c);
	CHECK(outcome.rest > 20 && outcome.rest < 150);
}

/* no centroid has a bound: all centroids are candidates of the bounded rows */
static void
no_centroid_has_a_bound(void)
{
	Case c = plain;
	Outcome outcome;

	c.beyond = true;
	for (c.centroids = 2; c.centroids <= HY_CUDA_ASSIGN_LIST; c.centroids += 42)
	{
		outcome = finds_all(&c);
		CHECK_INT(outcome.rest, 0);
		CHECK_INT(outcome.open, c.rows * c.centroids);
	}
}

static void
parts_meet(void)
{
	Case c = plain;

	c.rows = HY_CUDA_TILE + 3;
	c.centroids = 500;
	c.part = HY_CUDA_TILE;
	(void) finds_all(&c);
	c.part = 2 * HY_CUDA_TILE;
	c.form = OPPOSITE;
	(void) finds_all(&c);
}

static void
random_shapes(void)
{
	int i;

	for (i = 0; i < 60 / unit_share(); i++)
	{
		Case c = plain;

		c.dims = 1 + (int32_t) unit_random_below(&randomness, i % 10 == 0 ? 1200 : 70);
		c.rows = 1 + (int32_t) unit_random_below(&randomness, c.dims > 70 ? 40 : 300);
		c.centroids = 1 + (int32_t) unit_random_below(&randomness, c.dims > 70 ? 80 : 500);
		c.kind = (Kind) unit_random_below(&randomness, KIND_COUNT);
		c.form = (Form) unit_random_below(&randomness, FORMS);
		c.part = HY_CUDA_TILE * (int32_t) unit_random_below(&randomness, 4);
		c.same = unit_random_below(&randomness, 4) == 0;
		c.equal = unit_random_below(&randomness, 16) == 0;
		hy_fake.cut_off = i % 2;
		(void) finds_all(&c);
	}
}

/* without the bound rows get wrong centroids, so the tests above do not pass by luck */
static void
without_the_bound_rows_go_elsewhere(void)
{
	Case c = plain;
	Outcome outcome;

	c.dims = 64;
	c.rows = 200;
	c.centroids = 120;
	c.form = OPPOSITE;
	c.unbounded = true;
	outcome = assign(&c);
	printf("# %lld of %d rows go elsewhere\n", (long long) outcome.wrong, (int) c.rows);
	CHECK(outcome.wrong > 20);
	c.unbounded = false;
	(void) finds_all(&c);
}

/* rows have few candidates if the vectors differ, near the origin and far from it */
static void
little_is_open(void)
{
	Case c = plain;
	Outcome outcome;

	c.dims = 100;
	c.rows = 150;
	c.centroids = 600;
	for (c.form = AS_DRAWN; c.form <= CLUSTERED; c.form += CLUSTERED)
	{
		outcome = finds_all(&c);
		printf("# %g open for a row\n", (double) outcome.open / c.rows);
		CHECK_INT(outcome.rest, 0);
		CHECK(outcome.open < 4 * c.rows);
	}
}

static void
plans(void)
{
	HyCudaAssignPlan plan;
	uint64_t room;
	int part;

	/* the shape that the filter was made for, and shapes that are too small */
	CHECK(hy_cuda_assign_filter_suits(1000000, 4096, 768, UINT64_C(1) << 31));
	CHECK(hy_cuda_assign_filter_suits(20000, 256, 768, UINT64_C(1) << 31));
	CHECK(!hy_cuda_assign_filter_suits(1000, 256, 768, UINT64_C(1) << 31));
	CHECK(!hy_cuda_assign_filter_suits(1000000, 40, 768, 1));
	CHECK(!hy_cuda_assign_filter_suits(20, 4096, 768, 1));
	CHECK(!hy_cuda_assign_filter_suits(1000000, 4096, 1, 1));
	CHECK(!hy_cuda_assign_filter_suits(1000, INT32_MAX, 768, 1));
	CHECK(!hy_cuda_assign_filter_suits(0, 4096, 768, 0));

	CHECK(hy_cuda_assign_filter_plan(1365, 4096, 768, UINT64_MAX, &plan));
	CHECK_INT(plan.rows, 1365);
	CHECK(plan.bytes < UINT64_C(20) << 20);
	for (room = plan.bytes * 2; hy_cuda_assign_filter_plan(1365, 4096, 768, room, &plan); room--)
	{
		CHECK(plan.bytes <= room / 2);
		CHECK(plan.rows >= HY_CUDA_TILE);
		for (part = 0; part < HY_CUDA_ASSIGN_PARTS; part++)
		{
			CHECK_INT(plan.offset[part] % 256, 0);
			CHECK(part == 0 || plan.offset[part] > plan.offset[part - 1]);
		}
		CHECK_INT(plan.slot_bytes % 256, 0);
		room -= room / 20;
	}
	CHECK(room < plan.bytes * 2);
	/* rows of few dims: the lists limit their number */
	CHECK(hy_cuda_assign_filter_plan(500000, 4096, 8, UINT64_MAX, &plan));
	CHECK(plan.rows < 100000 && plan.rows >= 50000);
	/* resident rows: enough of them for a large device, whatever their dims */
	CHECK(hy_cuda_assign_filter_plan(500000, 4096, 768, UINT64_MAX, &plan));
	CHECK(plan.rows >= 30000);
	CHECK(plan.round % HY_CUDA_TILE == 0);
}

int
main(void)
{
	hy_fake_reset();
	UNIT_RUN(plans);
	UNIT_RUN(boundaries);
	UNIT_RUN(extremes);
	UNIT_RUN(ties_go_by_centroid);
	UNIT_RUN(lists_overflow);
	UNIT_RUN(no_centroid_has_a_bound);
	UNIT_RUN(parts_meet);
	UNIT_RUN(random_shapes);
	UNIT_RUN(without_the_bound_rows_go_elsewhere);
	UNIT_RUN(little_is_open);
	printf("# %lld compared, %d left allocated\n", (long long) compared, hy_fake_live());
	return unit_finish();
}
