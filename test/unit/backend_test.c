/*
 * backend_test.c
 *		Properties of a task that are known without running it.
 */
#include "dispatch/backend.h"
#include "score_stage.h"
#include "unit.h"

static float numbers[64];
static double out[64];
static HyNeighbor neighbors[64];
static int32_t counts[64];

static HyMatrix
matrix(int64_t rows)
{
	HyMatrix m = {.dtype = HY_F32, .dims = 4, .rows = rows, .stride = 16, .data = numbers};

	return m;
}

static HyTask
distance_task(void)
{
	HyTask task = {.op = HY_OP_DISTANCE};

	task.u.distance = (HyDistanceTask){HY_METRIC_COSINE, matrix(2), matrix(5), out, 0};
	return task;
}

static HyTask
topk_task(void)
{
	HyTask task = {.op = HY_OP_TOPK};

	task.u.topk = (HyTopKTask){HY_METRIC_L1, matrix(2), matrix(5), 3, neighbors, counts, NULL};
	return task;
}

static double out_weight[3];
static HyCsr graph = {.nodes = 3, .edges = 4, .out_weight = out_weight};
static int64_t start[3] = {0, 1, 2};
static uint32_t node[2] = {0, 2};
static double value[2] = {1, 1};
static double activation[6];
static int32_t hop[6];

static ScoreStage stage;

static HyTask
score_task(void)
{
	HyTask task = {.op = HY_OP_SCORE_CODES};
	UnitRandom random = {8};

	score_stage_init(&stage, &random, false);
	task.u.score = (HyScoreTask){stage.rows, stage.queries, 3, neighbors, counts};
	return task;
}

static HyTask
spread_task(void)
{
	HyTask task = {.op = HY_OP_SPREAD};

	task.u.spread.graph = &graph;
	task.u.spread.params = (HySpreadParams){.decay = 0.5, .fan = 1, .hops = 3, .tolerance = 1e-6};
	task.u.spread.seeds = (HySpreadSeeds){2, start, node, value};
	task.u.spread.activation = activation;
	task.u.spread.hop = hop;
	return task;
}

static void
test_shapes(void)
{
	HyTask task = distance_task();
	HyShape shape = hy_task_shape(&task);

	CHECK(shape.op == HY_OP_DISTANCE && shape.metric == HY_METRIC_COSINE && shape.dims == 4);
	CHECK(shape.queries == 2 && shape.targets == 5 && shape.k == 0 && !shape.resident);
	CHECK_INT(hy_shape_items(&shape), 10);
	task.u.distance.targets.buffer = (HyBuffer *) numbers;
	CHECK(hy_task_shape(&task).resident);
	task = topk_task();
	shape = hy_task_shape(&task);
	CHECK(shape.op == HY_OP_TOPK && shape.metric == HY_METRIC_L1 && shape.k == 3);
	task = score_task();
	shape = hy_task_shape(&task);
	CHECK(shape.op == HY_OP_SCORE_CODES && shape.metric == HY_METRIC_L2 && shape.dtype == HY_F32);
	CHECK(shape.dims == SCORE_PADDED && shape.queries == SCORE_QUERIES && shape.k == 3);
	CHECK_INT(shape.targets, (SCORE_BLOCKS - SCORE_AHEAD) * HY_CODE_ROWS);
	CHECK_INT(hy_shape_items(&shape), SCORE_QUERIES * shape.targets);
	CHECK(!shape.resident);
	task = spread_task();
	shape = hy_task_shape(&task);
	CHECK(shape.op == HY_OP_SPREAD && shape.dims == 0 && shape.queries == 2 && shape.targets == 4);
	CHECK_INT(hy_shape_items(&shape), 8);
	shape.queries = INT64_MAX / 2;
	shape.targets = 3;
	CHECK(hy_shape_items(&shape) == INT64_MAX);
	shape.targets = 0;
	CHECK_INT(hy_shape_items(&shape), 0);
}

static void
test_names(void)
{
	CHECK_STR(hy_op_name(HY_OP_DISTANCE), "distance");
	CHECK_STR(hy_op_name(HY_OP_TOPK), "topk");
	CHECK_STR(hy_op_name(HY_OP_ASSIGN), "assign");
	CHECK_STR(hy_op_name(HY_OP_SCORE_CODES), "score_codes");
	CHECK_STR(hy_op_name(HY_OP_SPREAD), "spread");
	CHECK_STR(hy_op_name((HyOp) HY_OP_COUNT), "unknown");
	CHECK_STR(hy_op_name((HyOp) -1), "unknown");
}

/* refused: check that a statement makes a valid task HY_INVALID. */
#define refused(make, statement)                                                                   \
	do                                                                                             \
	{                                                                                              \
		HyTask task = make();                                                                      \
		CHECK_INT(hy_task_check(&task), HY_OK);                                                    \
		statement;                                                                                 \
		CHECK_MSG(hy_task_check(&task) == HY_INVALID, "%s", #statement);                           \
	} while (0)

static void
test_vector_tasks(void)
{
	HyTask task = distance_task();

	refused(distance_task, task.op = (HyOp) 9);
	refused(distance_task, task.numeric_class = (HyClass) 2);
	refused(distance_task, task.u.distance.metric = (HyMetric) 4);
	refused(distance_task, task.u.distance.targets.dims = 3);
	refused(distance_task, task.u.distance.queries.dims = 0);
	refused(distance_task, task.u.distance.queries.rows = -1);
	refused(distance_task, task.u.distance.queries.stride = 15);
	refused(distance_task, task.u.distance.queries.dtype = HY_F16);
	refused(distance_task, task.u.distance.queries.dtype = task.u.distance.targets.dtype =
	                           (HyDtype) HY_DTYPE_COUNT);
	refused(distance_task, task.u.distance.targets.dtype = (HyDtype) HY_DTYPE_COUNT);
	refused(distance_task, task.u.distance.targets.dtype = (HyDtype) -1);
	refused(distance_task, task.u.distance.queries.data = NULL);
	refused(distance_task, task.u.distance.queries.buffer = (HyBuffer *) numbers);
	refused(topk_task, task.u.topk.queries.buffer = (HyBuffer *) numbers);
	refused(distance_task, task.u.distance.targets.data = NULL);
	refused(distance_task, task.u.distance.out = NULL);
	refused(topk_task, task.u.topk.k = 0);
	refused(topk_task, task.u.topk.out = NULL);
	refused(topk_task, task.u.topk.counts = NULL);

	refused(score_task, task.u.score.k = HY_SCORE_MOST + 1);
	refused(score_task, task.u.score.rows.live = NULL);
	refused(score_task, task.u.score.queries.reach = NULL);
	refused(score_task, task.u.score.out = NULL);
	refused(score_task, task.u.score.counts = NULL);

	/* nothing to do needs nothing */
	task.u.distance.targets.rows = 0;
	task.u.distance.targets.data = NULL;
	task.u.distance.out = NULL;
	CHECK_INT(hy_task_check(&task), HY_OK);
	/* rows in a buffer need no host address */
	task = distance_task();
	task.u.distance.targets.data = NULL;
	task.u.distance.targets.buffer = (HyBuffer *) numbers;
	CHECK_INT(hy_task_check(&task), HY_OK);
	/* half precision targets */
	task = distance_task();
	task.u.distance.targets.dtype = HY_F16;
	task.u.distance.targets.stride = 8;
	CHECK_INT(hy_task_check(&task), HY_OK);
}

static void
test_spread_tasks(void)
{
	HyTask task = spread_task();

	refused(spread_task, task.u.spread.graph = NULL);
	graph.out_weight = NULL;
	CHECK_INT(hy_task_check(&task), HY_INVALID);
	graph.out_weight = out_weight;
	refused(spread_task, task.u.spread.params.decay = 1.1);
	refused(spread_task, task.u.spread.params.decay = NAN);
	refused(spread_task, task.u.spread.params.fan = 0.4);
	refused(spread_task, task.u.spread.params.threshold = -1);
	refused(spread_task, task.u.spread.params.hops = -2);
	refused(spread_task, task.u.spread.params.refire = -1);
	refused(spread_task, task.u.spread.params.combine = (HyCombine) 2);
	refused(spread_task, (task.u.spread.params.hops = -1, task.u.spread.params.tolerance = 0));
	refused(spread_task, task.u.spread.seeds.sets = -1);
	refused(spread_task, task.u.spread.seeds.start = NULL);
	refused(spread_task, task.u.spread.seeds.node = NULL);
	refused(spread_task, task.u.spread.activation = NULL);
	refused(spread_task, task.u.spread.hop = NULL);
	start[1] = 3;
	CHECK_INT(hy_task_check(&task), HY_INVALID); /* not ascending */
	start[1] = 1;
	node[1] = 3;
	CHECK_INT(hy_task_check(&task), HY_INVALID); /* no such node */
	node[1] = 2;
	CHECK_INT(hy_task_check(&task), HY_OK);
}

int
main(void)
{
	UNIT_RUN(test_shapes);
	UNIT_RUN(test_names);
	UNIT_RUN(test_vector_tasks);
	UNIT_RUN(test_spread_tasks);
	return unit_finish();
}
