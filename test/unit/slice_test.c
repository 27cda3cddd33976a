/*
 * slice_test.c
 *		Cutting a task in any way, and computing the slices in any order, changes no bit of the
 *		answer.
 */
#include "core/distance.h"
#include "core/csr_build.h"
#include "core/topk.h"
#include "dispatch/run/backend_cpu.h"
#include "dispatch/model/slice.h"
#include "score_stage.h"
#include "unit.h"

#define DIMS 24
#define QUERIES 37
#define TARGETS 211
#define NODES 90
#define SETS 13

static float vectors[(QUERIES + TARGETS) * (DIMS + 3)];
static float norms[TARGETS];
static UnitRandom random_ = {2024};

/*
 * matrices: make matrices with a gap between rows; every fifth target repeats its neighbor, for
 * ties.
 */
static void
matrices(int64_t query_rows, int64_t target_rows, HyMatrix *queries, HyMatrix *targets)
{
	size_t row = DIMS + 3;
	int64_t i;

	for (i = 0; i < (QUERIES + TARGETS) * (int64_t) row; i++)
		vectors[i] = unit_random_float(&random_);
	*queries = (HyMatrix){.dims = DIMS, .rows = query_rows, .stride = row * 4, .data = vectors};
	*targets = (HyMatrix){
		.dims = DIMS, .rows = target_rows, .stride = row * 4, .data = vectors + QUERIES * row};
	for (i = 5; i < TARGETS; i += 5)
		memcpy(vectors + (QUERIES + i) * row, vectors + (QUERIES + i - 3) * row, DIMS * 4);
}

static HyStatus
run(const HyTask *task)
{
	HyDevice *cpu;
	HyTicket ticket;
	HyTimings timings;
	bool done;
	HyStatus st;

	hy_backend_cpu.open(0, &(HyLimits){0}, &cpu);
	st = hy_backend_cpu.submit(cpu, task, &ticket);
	if (st == HY_OK)
		st = hy_backend_cpu.poll(cpu, ticket, &done, &timings);
	return st;
}

/*
 * run_in_slices: make cuts of random length and run them in random order.  Some are run twice, the
 * first time leaving garbage, as a failing device does.
 */
static void
run_in_slices(const HyTask *task, bool by_targets, bool merges)
{
	HySlicing slicing;
	HySliceOutput output;
	HyNeighbor *spare;
	void *memory;
	int64_t starts[TARGETS + 1];
	int order[TARGETS];
	int pieces = 0;
	int64_t at;
	int i;

	hy_slicing_init(&slicing, task);
	CHECK_INT(slicing.by_targets, by_targets);
	CHECK_INT(slicing.merges, merges);
	memory = malloc(hy_slice_output_bytes(&slicing) + 1);
	output = hy_slice_output_at(&slicing, memory);
	spare = malloc((slicing.merges ? (size_t) hy_task_shape(task).k : 1) * sizeof(HyNeighbor));
	hy_slicing_begin(&slicing);
	for (at = 0; at < slicing.extent; pieces++)
	{
		starts[pieces] = at;
		order[pieces] = pieces;
		at += 1 + (int64_t) unit_random_below(&random_, (uint64_t) slicing.extent / 3 + 1);
	}
	starts[pieces] = slicing.extent;
	CHECK(pieces > 1);
	for (i = 0; i < pieces; i++)
	{
		int j = i + (int) unit_random_below(&random_, (uint64_t) (pieces - i));
		int64_t first;
		HyTask slice;
		int p = order[j];

		order[j] = order[i];
		first = starts[p];
		slice = hy_slice(&slicing, first, starts[p + 1] - first, &output);
		CHECK_INT(hy_task_check(&slice), HY_OK);
		if (!slicing.merges && unit_random_below(&random_, 3) == 0)
			CHECK_INT(run(&slice), HY_OK);
		CHECK_INT(run(&slice), HY_OK);
		hy_slice_merge(&slicing, first, &output, spare);
	}
	free(memory);
	free(spare);
}

static void
check_distance(int64_t query_rows, int64_t target_rows, HyMetric metric, int64_t gap,
               bool by_targets)
{
	static double whole[QUERIES * (TARGETS + 9)];
	static double parts[QUERIES * (TARGETS + 9)];
	HyTask task = {.op = HY_OP_DISTANCE};

	task.u.distance.metric = metric;
	matrices(query_rows, target_rows, &task.u.distance.queries, &task.u.distance.targets);
	task.u.distance.out_stride = gap > 0 ? target_rows + gap : 0;
	memset(whole, 0x77, sizeof(whole));
	memset(parts, 0x77, sizeof(parts));
	task.u.distance.out = whole;
	CHECK_INT(run(&task), HY_OK);
	task.u.distance.out = parts;
	run_in_slices(&task, by_targets, false);
	CHECK_INT(memcmp(whole, parts, sizeof(whole)), 0);
	CHECK(whole[0] == hy_distance(metric, vectors, vectors + QUERIES * (DIMS + 3), DIMS) ||
	      isnan(whole[0]));
}

static void
test_distance(void)
{
	int round;
	int metric;

	for (round = 0; round < 20; round++)
	{
		for (metric = 0; metric < HY_METRIC_COUNT; metric++)
		{
			check_distance(QUERIES, TARGETS, (HyMetric) metric, round % 2 * 9, true);
			check_distance(1, TARGETS, (HyMetric) metric, 0, true);
			check_distance(QUERIES, 8, (HyMetric) metric, round % 3, false);
			check_distance(QUERIES, 1, (HyMetric) metric, 0, false);
		}
	}
}

/* Rows are cut, but never centroids; all slices share the groups. */
static void
test_assign(void)
{
	int32_t begin[6] = {0, 1, 2, 4, 4, QUERIES};
	int round;

	for (round = 0; round < 20; round++)
	{
		int32_t out[TARGETS];
		int32_t expected[TARGETS];
		HyTask task = {.op = HY_OP_ASSIGN};
		HyAssignTask *assign = &task.u.assign;

		matrices(QUERIES, TARGETS, &assign->centroids, &assign->rows);
		if (round % 2 == 1)
		{
			assign->groups.centers = assign->centroids;
			assign->groups.centers.rows = 5;
			assign->groups.begin = begin;
			assign->groups.probes = 2;
		}
		assign->nearest = expected;
		CHECK_INT(run(&task), HY_OK);
		memset(out, 0xee, sizeof(out));
		assign->nearest = out;
		run_in_slices(&task, false, false);
		CHECK_INT(memcmp(out, expected, sizeof(out)), 0);
	}
}

static void
test_a_window_leaves_the_rest_alone(void)
{
	double out[5 * 20];
	double expected[5 * 7];
	HyTask task = {.op = HY_OP_DISTANCE};
	int i;

	matrices(5, 7, &task.u.distance.queries, &task.u.distance.targets);
	task.u.distance.out = out;
	task.u.distance.out_stride = 20;
	for (i = 0; i < 100; i++)
		out[i] = -3;
	CHECK_INT(run(&task), HY_OK);
	hy_distance_matrix(HY_METRIC_L2, &task.u.distance.queries, &task.u.distance.targets, expected,
	                   NULL);
	for (i = 0; i < 100; i++)
		CHECK_SAME_F64(out[i], i % 20 < 7 ? expected[i / 20 * 7 + i % 20] : -3);
	task.u.distance.out_stride = 6;
	CHECK_INT(hy_task_check(&task), HY_INVALID);
	CHECK_INT(run(&task), HY_INVALID);
}

static void
check_topk(int64_t query_rows, int64_t target_rows, int32_t k, bool by_targets)
{
	HyNeighbor *whole = malloc((size_t) (query_rows * k) * sizeof(HyNeighbor));
	HyNeighbor *parts = malloc((size_t) (query_rows * k) * sizeof(HyNeighbor));
	int32_t counts[2][QUERIES];
	HyTask task = {.op = HY_OP_TOPK};
	int64_t q;
	int32_t i;

	task.u.topk.k = k;
	matrices(query_rows, target_rows, &task.u.topk.queries, &task.u.topk.targets);
	task.u.topk.out = whole;
	task.u.topk.counts = counts[0];
	memset(counts, 0x11, sizeof(counts));
	CHECK_INT(run(&task), HY_OK);
	task.u.topk.out = parts;
	task.u.topk.counts = counts[1];
	run_in_slices(&task, by_targets, by_targets);
	CHECK_INT(memcmp(counts[0], counts[1], sizeof(counts[0])), 0);
	for (q = 0; q < query_rows; q++)
	{
		CHECK_INT(counts[0][q], k < target_rows ? k : target_rows);
		for (i = 0; i < counts[0][q]; i++)
		{
			CHECK_SAME_F64(parts[q * k + i].distance, whole[q * k + i].distance);
			CHECK_INT(parts[q * k + i].row, whole[q * k + i].row);
		}
	}
	free(whole);
	free(parts);
}

static void
test_topk(void)
{
	int round;

	for (round = 0; round < 20; round++)
	{
		check_topk(1, TARGETS, 10, true);
		check_topk(3, TARGETS, 1, true);
		check_topk(QUERIES, TARGETS, 50, false); /* the answers are larger than the targets */
		check_topk(5, TARGETS, TARGETS + 5, true);
		check_topk(2, TARGETS, 9, true);
		check_topk(1, TARGETS, TARGETS + 5, true); /* more than there are */
		check_topk(QUERIES, 8, 3, false);
		check_topk(QUERIES, 1, 3, false);
	}
}

/* Cuts between blocks, wherever lists begin and whichever blocks count; or between queries. */
static void
test_score_codes(void)
{
	static const int32_t ks[] = {1, 10, HY_SCORE_MOST};
	static HyNeighbor out[2][SCORE_QUERIES * HY_SCORE_MOST];
	static ScoreStage stage;
	int round;

	for (round = 0; round < 40; round++)
	{
		int32_t counts[2][SCORE_QUERIES];
		HyTask task = {.op = HY_OP_SCORE_CODES};
		HyScoreTask *score = &task.u.score;
		int q;
		int i;

		score_stage_init(&stage, &random_, round % 2 == 1);
		score->rows = stage.rows;
		score->queries = stage.queries;
		score->k = ks[round % 3];
		if (round % 4 == 1)
		{
			score->rows.first += 7;
			score->rows.blocks -= 20;
		}
		/* one query's answers are less than any block */
		if (round % 5 == 2)
			score->queries.count = 1;
		score->out = out[0];
		score->counts = counts[0];
		CHECK_INT(run(&task), HY_OK);
		memset(out[1], 0xee, sizeof(out[1]));
		memset(counts[1], 0xee, sizeof(counts[1]));
		score->out = out[1];
		score->counts = counts[1];
		run_in_slices(&task, score->k < HY_SCORE_MOST || score->queries.count == 1,
		              score->k < HY_SCORE_MOST || score->queries.count == 1);
		for (q = 0; q < score->queries.count; q++)
		{
			CHECK_INT(counts[0][q], counts[1][q]);
			for (i = 0; i < counts[0][q]; i++)
			{
				const HyNeighbor *whole = &out[0][q * score->k + i];
				const HyNeighbor *parts = &out[1][q * score->k + i];

				CHECK_SAME_F64(parts->distance, whole->distance);
				CHECK_INT(parts->row, whole->row);
			}
		}
	}
}

static void
test_norms_and_half(void)
{
	static uint16_t halves[TARGETS * DIMS];
	double whole[2 * TARGETS];
	double parts[2 * TARGETS];
	HyTask task = {.op = HY_OP_DISTANCE};
	int i;

	for (i = 0; i < TARGETS * DIMS; i++)
		halves[i] = hy_float_to_half(unit_random_float(&random_));
	matrices(2, TARGETS, &task.u.distance.queries, &task.u.distance.targets);
	task.u.distance.metric = HY_METRIC_COSINE;
	task.u.distance.targets = (HyMatrix){
		.dtype = HY_F16, .dims = DIMS, .rows = TARGETS, .stride = DIMS * 2, .data = halves};
	for (i = 0; i < TARGETS; i++)
		norms[i] = hy_norm_sq(HY_F16, halves + i * DIMS, DIMS);
	task.u.distance.targets.norms = norms;
	task.u.distance.out = whole;
	CHECK_INT(run(&task), HY_OK);
	task.u.distance.out = parts;
	run_in_slices(&task, true, false);
	CHECK_INT(memcmp(whole, parts, sizeof(whole)), 0);
}

static void
test_spread(void)
{
	static HyEdge edges[600];
	static double activation[2][SETS * NODES];
	static int32_t hop[2][SETS * NODES];
	int64_t start[SETS + 1];
	uint32_t node[SETS * 4];
	double value[SETS * 4];
	HyTask task = {.op = HY_OP_SPREAD, .allocator = &hy_malloc_allocator};
	HyCsr graph;
	int round;
	int i;

	for (i = 0; i < 600; i++)
		edges[i] = (HyEdge){(int64_t) unit_random_below(&random_, NODES),
		                    (int64_t) unit_random_below(&random_, NODES), (float) (1 + i % 5)};
	CHECK_INT(hy_csr_build(edges, 600, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph),
	          HY_OK);
	for (round = 0; round < 20; round++)
	{
		for (i = 0; i < SETS * 4; i++)
		{
			node[i] = (uint32_t) unit_random_below(&random_, (uint64_t) graph.nodes);
			value[i] = unit_random_unit(&random_);
		}
		start[0] = round % 2; /* it need not begin at 0 */
		for (i = 0; i < SETS; i++)
			start[i + 1] = start[i] + (int64_t) unit_random_below(&random_, 4);
		task.u.spread.graph = &graph;
		task.u.spread.params = (HySpreadParams){
			.decay = 0.8, .fan = 1, .hops = round % 3 == 0 ? -1 : 4, .tolerance = 1e-6};
		task.u.spread.seeds = (HySpreadSeeds){SETS, start, node, value};
		task.u.spread.activation = activation[0];
		task.u.spread.hop = hop[0];
		CHECK_INT(run(&task), HY_OK);
		task.u.spread.activation = activation[1];
		task.u.spread.hop = hop[1];
		memset(activation[1], 1, sizeof(activation[1]));
		memset(hop[1], 1, sizeof(hop[1]));
		run_in_slices(&task, false, false);
		for (i = 0; i < SETS * graph.nodes; i++)
		{
			CHECK_SAME_F64(activation[1][i], activation[0][i]);
			CHECK_INT(hop[1][i], hop[0][i]);
		}
	}
	hy_csr_free(&graph, &hy_malloc_allocator);
}

static void
test_the_cheaper_side_is_cut(void)
{
	HyShape shape = {.op = HY_OP_DISTANCE, .dims = 100, .queries = 10, .targets = 1000};

	CHECK_INT(hy_shape_extent(&shape), 1000);
	CHECK_INT(hy_shape_slice(&shape, 7).targets, 7);
	CHECK_INT(hy_shape_slice(&shape, 7).queries, 10);
	shape.queries = 5000;
	CHECK_INT(hy_shape_extent(&shape), 5000);
	CHECK_INT(hy_shape_slice(&shape, 7).queries, 7);
	/* answers that are repeated count as well: 10 x 100,000 x 16 bytes against 1000 x 400 */
	shape.queries = 10;
	shape.op = HY_OP_TOPK;
	shape.k = 100000;
	CHECK_INT(hy_shape_extent(&shape), 10);
	shape.k = 10;
	CHECK_INT(hy_shape_extent(&shape), 1000);
	shape.targets = 1;
	CHECK_INT(hy_shape_extent(&shape), 10);
	/* codes are cut between blocks: 10 x (400 + 160) bytes against 1000 x (12.5 + 12) */
	shape.op = HY_OP_SCORE_CODES;
	shape.targets = 1000;
	CHECK_INT(hy_shape_extent(&shape), 32);
	CHECK_INT(hy_shape_slice(&shape, 7).targets, 224);
	CHECK_INT(hy_shape_slice(&shape, 32).targets, 1000);
	shape.k = 1000;
	CHECK_INT(hy_shape_extent(&shape), 10);
	shape.k = 10;
	shape.queries = 2;
	shape.targets = 32;
	CHECK_INT(hy_shape_extent(&shape), 2);
	CHECK_INT(hy_shape_slice(&shape, 1).queries, 1);
	shape.queries = 10;
	shape.op = HY_OP_SPREAD;
	shape.targets = 100000;
	CHECK_INT(hy_shape_extent(&shape), 10);
}

int
main(void)
{
	UNIT_RUN(test_distance);
	UNIT_RUN(test_assign);
	UNIT_RUN(test_a_window_leaves_the_rest_alone);
	UNIT_RUN(test_topk);
	UNIT_RUN(test_score_codes);
	UNIT_RUN(test_norms_and_half);
	UNIT_RUN(test_spread);
	UNIT_RUN(test_the_cheaper_side_is_cut);
	return unit_finish();
}
