/*
 * spread_test.c
 *		Activation spreading checked by hand: its parameters, when it ends, what it refuses, what
 *		it leaves behind.
 */
#include "spread_stage.h"

/*
 * triangle: 1 -> 2 (weight 1), 1 -> 3 (weight 3), 2 -> 3, 3 -> 1 (2 and then 2, parallel); computed
 * by hand, with decay 1/2.
 */
static HyCsr
triangle(HyDirection direction)
{
	HyEdge edge[] = {{3, 1, 2}, {1, 2, 1}, {1, 3, 3}, {2, 3, 1}, {3, 1, 2}};
	HyCsr graph;

	CHECK_INT(hy_csr_build(edge, 5, direction, &hy_malloc_allocator, NULL, &graph), HY_OK);
	return graph;
}

static void
expect(HySpreadParams params, HyDirection direction, double a1, double a2, double a3, int h1,
       int h2, int h3)
{
	HyCsr graph = triangle(direction);
	int64_t start[2] = {0, 1};
	uint32_t node = 0;
	double value = 1;
	HySpreadSeeds seeds = {1, start, &node, &value};
	double a[3];
	int32_t hop[3];

	CHECK_INT(run_spread(&graph, &params, &seeds, &hy_malloc_allocator, NULL, a, hop), HY_OK);
	CHECK_SAME_F64(a[0], a1);
	CHECK_SAME_F64(a[1], a2);
	CHECK_SAME_F64(a[2], a3);
	CHECK_INT(hop[0], h1);
	CHECK_INT(hop[1], h2);
	CHECK_INT(hop[2], h3);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

static void
test_by_hand(void)
{
	HySpreadParams p = {0.5, 1, 0, 0, 0, HY_COMBINE_SUM, 1e-9, NULL};

	expect(p, HY_DIRECTION_OUT, 1, 0, 0, 0, -1, -1);
	p.hops = 1;
	expect(p, HY_DIRECTION_OUT, 1, 0.125, 0.375, 0, 1, 1);
	p.hops = 2; /* 3 passes 0.1875 to 1, 2 passes 0.0625 to 3 */
	expect(p, HY_DIRECTION_OUT, 1.1875, 0.125, 0.4375, 0, 1, 1);
	p.threshold = 0.125; /* reached exactly */
	expect(p, HY_DIRECTION_OUT, 1.1875, 0.125, 0.4375, 0, 1, 1);
	p.threshold = 0.126; /* 2 is returned but does not fire */
	expect(p, HY_DIRECTION_OUT, 1.1875, 0.125, 0.375, 0, 1, 1);
	p.threshold = 1.5; /* nor does the seed */
	expect(p, HY_DIRECTION_OUT, 1, 0, 0, 0, -1, -1);
	p.threshold = 0;
	p.hops = 3; /* 1 passes 0.1875 / 8 to 2 and 0.5625 / 8 to 3, 3 passes 0.0625 / 2 to 1 */
	expect(p, HY_DIRECTION_OUT, 1.21875, 0.1484375, 0.5078125, 0, 1, 1);
	p.refire = 1; /* 1, and from the third hop on 3, do not fire again */
	expect(p, HY_DIRECTION_OUT, 1.1875, 0.125, 0.4375, 0, 1, 1);
	p.refire = 2; /* the third hop of 1 and the second of 3 are allowed, as without a limit */
	expect(p, HY_DIRECTION_OUT, 1.21875, 0.1484375, 0.5078125, 0, 1, 1);
	p.refire = 0;
	p.hops = 2;
	p.combine = HY_COMBINE_MAX; /* 1 keeps its 1, 3 its direct 0.375 */
	expect(p, HY_DIRECTION_OUT, 1, 0.125, 0.375, 0, 1, 1);
	p.fan = 0; /* 1 -> 3 -> 1 by 3 * 4 / 4 */
	expect(p, HY_DIRECTION_OUT, 3, 0.5, 1.5, 0, 1, 1);
	p.combine = HY_COMBINE_SUM;
	expect(p, HY_DIRECTION_OUT, 4, 0.5, 1.75, 0, 1, 1);
	p.fan = 0.5; /* s_1 = s_3 = 4: 1 -> 3 is 3 / 2, 3 -> 1 is 2 */
	expect(p, HY_DIRECTION_OUT, 1.75, 0.25, 0.875, 0, 1, 1);
	p.fan = 1;
	p.hops = 1;
	expect(p, HY_DIRECTION_IN, 1, 0, 0.5, 0, -1, 1);
	p.hops = 2; /* 3 has 3 and 1 to give back: to 1 and to 2 */
	expect(p, HY_DIRECTION_IN, 1.1875, 0.0625, 0.5, 0, 2, 1);
	p.hops = 1; /* W + W^T: 1 - 2 is 1, 1 - 3 is 7 */
	expect(p, HY_DIRECTION_BOTH, 1, 0.0625, 0.4375, 0, 1, 1);
}

/* A hub divides what arrives; the bits of the power are fixed. */
static void
test_hub(void)
{
	HyCsr graph = triangle(HY_DIRECTION_OUT);
	int64_t start[2] = {0, 1};
	uint32_t node = 0;
	double value = 1;
	HySpreadSeeds seeds = {1, start, &node, &value};
	HySpreadParams p = {0.5, 1, 2, 0, 0, HY_COMBINE_SUM, 1e-9, NULL};
	UnitCancel cancel;
	double hub[3];
	double plain[3];
	double a[3];
	double sent[3];
	double norm;
	int32_t hop[3];
	int i;

	/* 1 -> 2 is 1, 1 -> 3 is 3, 2 -> 3 is 1, 3 -> 1 is 4 */
	CHECK_INT(hy_spread_hub(&graph, 1, NULL, hub), HY_OK);
	CHECK(hub[0] == 4 && hub[1] == 1 && hub[2] == graph.weight[2] + graph.weight[3]);
	CHECK_INT(hy_spread_hub(&graph, 0.5, NULL, hub), HY_OK);
	CHECK(hub[0] == 2 && hub[1] == 1);
	p.hub = hub;
	CHECK_INT(
		hy_spread(&graph, &p, &seeds, &hy_malloc_allocator, NULL, &(HySpreadResult){a, hop, sent}),
		HY_OK);
	p.hub = NULL;
	p.hops = 1;
	CHECK_INT(run_spread(&graph, &p, &seeds, &hy_malloc_allocator, NULL, plain, hop), HY_OK);
	CHECK_SAME_F64(a[1], plain[1]);
	CHECK_SAME_F64(a[0], 1 + plain[2] / hub[2] * 0.5 / 2);
	/* 3 is given more by 1 than by 2; 1 is a seed to which 3 has given */
	CHECK_INT(hy_spread_via(&graph, sent, NULL, 0), 2);
	CHECK_INT(hy_spread_via(&graph, sent, NULL, 1), 0);
	CHECK_INT(hy_spread_via(&graph, sent, NULL, 2), 0);

	p.hub = hub;
	CHECK_INT(hy_spread_hub_norm(&graph, &p, NULL, a, &norm), HY_OK);
	/* 3 passes on half of what it receives, and 1 keeps half of that */
	CHECK(norm >= 0.25 && norm < 0.5);
	unit_cancel_init(&cancel, 1);
	CHECK_INT(hy_spread_hub_norm(&graph, &p, &cancel.cancel, a, &norm), HY_CANCELLED);
	unit_cancel_init(&cancel, 1);
	CHECK_INT(hy_spread_hub(&graph, 1, &cancel.cancel, hub), HY_CANCELLED);

	/* the same bits on every machine */
	for (i = 0; i < graph.edges; i++)
		graph.weight[i] = 3;
	CHECK_INT(hy_spread_hub(&graph, 0.3, NULL, hub), HY_OK);
	CHECK_SAME_F64(hub[1], 0x1.63f08b6f382aep+0);
	for (i = 0; i < graph.edges; i++)
		graph.weight[i] = 0x1p-149f;
	CHECK_INT(hy_spread_hub(&graph, 0.25, NULL, hub), HY_OK);
	CHECK_NEAR(hub[1], pow(0x1p-149, 0.25), 1e-25);
	for (i = 0; i < graph.edges; i++)
		graph.weight[i] = 0;
	CHECK_INT(hy_spread_hub(&graph, 0.25, NULL, hub), HY_OK);
	CHECK(hub[0] == 1 && hub[1] == 1 && hub[2] == 1);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

static void
test_convergence(void)
{
	HyCsr graph = triangle(HY_DIRECTION_OUT);
	int64_t start[2] = {0, 1};
	uint32_t node = 0;
	double value = 1;
	HySpreadSeeds seeds = {1, start, &node, &value};
	HySpreadParams p = {0.85, 1, -1, 0, 0, HY_COMBINE_SUM, 1e-12, NULL};
	double a[3];
	int32_t hop[3];
	double norm;

	CHECK(hy_spread_converges(&graph, &p, &norm));
	CHECK_SAME_F64(norm, 0.85);
	CHECK_INT(run_spread(&graph, &p, &seeds, &hy_malloc_allocator, NULL, a, hop), HY_OK);
	/* no node swallows activation, so the sum is that of a geometric series */
	CHECK_NEAR((a[0] + a[1] + a[2]) * 0.15, 1, 1e-11);

	p.decay = 1;
	CHECK(!hy_spread_converges(&graph, &p, &norm));
	CHECK_SAME_F64(norm, 1);
	CHECK_INT(run_spread(&graph, &p, &seeds, &hy_malloc_allocator, NULL, a, hop), HY_INVALID);
	p.decay = 0.3;
	p.fan = 0;
	CHECK(!hy_spread_converges(&graph, &p, &norm));
	CHECK_SAME_F64(norm, 0.3 * 4);
	p.fan = 0.5;
	CHECK(hy_spread_converges(&graph, &p, &norm));
	CHECK_SAME_F64(norm, 0.3 * 2);

	hy_csr_free(&graph, &hy_malloc_allocator);
}

/*
 * 0.85 times the smallest number above 0 rounds to that number again: only the second rule ends
 * this.
 */
static void
test_convergence_lost_in_rounding(void)
{
	HyEdge loop = {1, 1, 1};
	int64_t start[2] = {0, 1};
	uint32_t node = 0;
	double value = 0x1p-1074;
	HySpreadSeeds seeds = {1, start, &node, &value};
	HySpreadParams p = {0.85, 1, -1, 0, 0, HY_COMBINE_SUM, 1e-9, NULL};
	UnitCancel cancel;
	HyCsr graph;
	double a;
	int32_t hop;

	CHECK_INT(hy_csr_build(&loop, 1, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph), HY_OK);
	unit_cancel_init(&cancel, 1000);
	CHECK_INT(run_spread(&graph, &p, &seeds, &hy_malloc_allocator, &cancel.cancel, &a, &hop),
	          HY_OK);
	CHECK_SAME_F64(a, 0x1p-1073);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

/* One set alone has the same bits as among others. */
static void
test_sets_do_not_mix(void)
{
	UnitRandom random = {35};
	HyCsr graph = make_graph(&random, 200, 800, HY_DIRECTION_OUT);
	int64_t n = graph.nodes;
	HySpreadParams p = {0.9, 1, 4, 0.01, 2, HY_COMBINE_SUM, 1e-9, NULL};
	int64_t start[] = {0, 2, 2, 3};
	uint32_t node[] = {3, 9, 100};
	double value[] = {1, 0.5, 7};
	HySpreadSeeds all = {3, start, node, value};
	double *a = malloc(sizeof(double) * (size_t) (3 * n));
	double *b = malloc(sizeof(double) * (size_t) n);
	int32_t *hop = malloc(sizeof(int32_t) * (size_t) (3 * n));
	int32_t *one_hop = malloc(sizeof(int32_t) * (size_t) n);
	int set;

	CHECK_INT(run_spread(&graph, &p, &all, &hy_malloc_allocator, NULL, a, hop), HY_OK);
	for (set = 0; set < 3; set++)
	{
		HySpreadSeeds one = {1, start + set, node, value};

		CHECK_INT(run_spread(&graph, &p, &one, &hy_malloc_allocator, NULL, b, one_hop), HY_OK);
		CHECK(memcmp(a + set * n, b, sizeof(double) * (size_t) n) == 0);
		CHECK(memcmp(hop + set * n, one_hop, sizeof(int32_t) * (size_t) n) == 0);
	}
	CHECK(a[n] == 0 && hop[n] == -1); /* the empty set */
	free(a);
	free(b);
	free(hop);
	free(one_hop);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

static void
test_bad_input(void)
{
	HyCsr graph = triangle(HY_DIRECTION_OUT);
	const HySpreadParams good = {0.5, 1, 2, 0, 0, HY_COMBINE_SUM, 1e-9, NULL};
	HySpreadParams p;
	int64_t start[2] = {0, 1};
	uint32_t node = 0;
	double value = 1;
	HySpreadSeeds seeds = {1, start, &node, &value};
	double a[3];
	int32_t hop[3];

#define REFUSED()                                                                                  \
	CHECK_INT(run_spread(&graph, &p, &seeds, &hy_malloc_allocator, NULL, a, hop), HY_INVALID)
	p = good;
	p.decay = 1.01;
	REFUSED();
	p.decay = NAN;
	REFUSED();
	p = good;
	p.fan = 0.7;
	REFUSED();
	p = good;
	p.hops = -2;
	REFUSED();
	p = good;
	p.threshold = -1;
	REFUSED();
	p = good;
	p.refire = -1;
	REFUSED();
	p = good;
	p.combine = (HyCombine) 2;
	REFUSED();
	p = good;
	p.hops = -1;
	p.tolerance = 0;
	REFUSED();
	p = good;
	node = 3;
	REFUSED();
	node = 0;
	value = -1;
	REFUSED();
	value = INFINITY;
	REFUSED();
	value = 1;
	start[0] = 2;
	REFUSED();
#undef REFUSED
	hy_csr_free(&graph, &hy_malloc_allocator);
}

/* An overflow appears as infinity or NaN in the answer, on both paths, and the call ends. */
static void
test_overflow(void)
{
	HyEdge edge[] = {{1, 2, 1e38f}, {2, 1, 1e38f}, {2, 3, 0}, {3, 4, 0}};
	HySpreadParams p = {1, 0, 20, 0, 0, HY_COMBINE_SUM, 1e-9, NULL};
	int64_t start[2] = {0, 1};
	uint32_t node = 0;
	double value = 1;
	HySpreadSeeds seeds = {1, start, &node, &value};
	double a[4];
	double b[4];
	int32_t hop[4];
	HyCsr graph;
	HyCsr dense;
	int i;

	CHECK_INT(hy_csr_build(edge, 4, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph), HY_OK);
	CHECK_INT(run_spread(&graph, &p, &seeds, &hy_malloc_allocator, NULL, a, hop), HY_OK);
	CHECK(!isfinite(a[0]));
	dense = graph;
	dense.out_start = NULL;
	CHECK_INT(run_spread(&dense, &p, &seeds, &hy_malloc_allocator, NULL, b, hop), HY_OK);
	for (i = 0; i < 4; i++)
		CHECK_SAME_F64(a[i], b[i]);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

static void
test_allocator_fails(void)
{
	UnitRandom random = {36};
	HyCsr graph = make_graph(&random, 50, 200, HY_DIRECTION_OUT);
	HySpreadParams p = {0.9, 1, 4, 0, 2, HY_COMBINE_SUM, 1e-9, NULL};
	int64_t start[2] = {0, 1};
	uint32_t node = 0;
	double value = 1;
	HySpreadSeeds seeds = {1, start, &node, &value};
	double a[64];
	int32_t hop[64];
	int64_t fail_at;
	bool more = true;

	for (fail_at = 1; more; fail_at++)
	{
		UnitMemory memory;

		unit_memory_init(&memory, fail_at);
		CHECK_INT(run_spread(&graph, &p, &seeds, &memory.allocator, NULL, a, hop),
		          fail_at <= 8 ? HY_NOMEM : HY_OK);
		more = memory.failures > 0;
		CHECK_INT(memory.outstanding, 0);
	}
	CHECK_INT(fail_at, 10);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

/* A chain: each hop reaches one row, so sparse hops need few polls and dense ones many. */
static void
test_cancel_and_sparse_hops(void)
{
	int64_t nodes = 3 * BLOCK;
	HyEdge *edge = malloc(sizeof(HyEdge) * (size_t) nodes);
	HySpreadParams p = {0.9, 1, 6, 0, 0, HY_COMBINE_SUM, 1e-9, NULL};
	int64_t start[2] = {0, 1};
	uint32_t node = 0;
	double value = 1;
	HySpreadSeeds seeds = {1, start, &node, &value};
	double *a = malloc(sizeof(double) * (size_t) (nodes + 1));
	int32_t *hop = malloc(sizeof(int32_t) * (size_t) (nodes + 1));
	UnitCancel cancel;
	UnitMemory memory;
	HyCsr graph;
	HyCsr dense;
	int64_t polls;
	int64_t stop;
	int64_t i;

	for (i = 0; i < nodes; i++)
		edge[i] = (HyEdge){i, i + 1, 1};
	CHECK_INT(hy_csr_build(edge, nodes, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph),
	          HY_OK);
	unit_cancel_init(&cancel, 0);
	CHECK_INT(run_spread(&graph, &p, &seeds, &hy_malloc_allocator, &cancel.cancel, a, hop), HY_OK);
	CHECK_INT(cancel.polls, 6); /* one a hop: no block was ever full */
	CHECK_INT(hop[6], 6);
	CHECK_INT(hop[7], -1);

	dense = graph;
	dense.out_start = NULL;
	unit_cancel_init(&cancel, 0);
	CHECK_INT(run_spread(&dense, &p, &seeds, &hy_malloc_allocator, &cancel.cancel, a, hop), HY_OK);
	polls = cancel.polls;
	CHECK(polls >= 6 * 4);
	for (stop = 1; stop <= polls; stop++)
	{
		unit_cancel_init(&cancel, stop);
		unit_memory_init(&memory, 0);
		CHECK_INT(run_spread(&dense, &p, &seeds, &memory.allocator, &cancel.cancel, a, hop),
		          HY_CANCELLED);
		CHECK_INT(cancel.polls, stop);
		CHECK_INT(memory.outstanding, 0);
	}
	hy_csr_free(&graph, &hy_malloc_allocator);
	free(edge);
	free(a);
	free(hop);
}

static void
test_empty_graph(void)
{
	HyCsr graph;
	HySpreadParams p = {0.9, 1, -1, 0, 0, HY_COMBINE_SUM, 1e-9, NULL};
	int64_t start[2] = {0, 0};
	HySpreadSeeds seeds = {1, start, NULL, NULL};
	double norm;

	CHECK_INT(hy_csr_build(NULL, 0, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph), HY_OK);
	CHECK(hy_spread_converges(&graph, &p, &norm));
	CHECK_SAME_F64(norm, 0);
	CHECK_INT(run_spread(&graph, &p, &seeds, &hy_malloc_allocator, NULL, NULL, NULL), HY_OK);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

int
main(void)
{
	UNIT_RUN(test_by_hand);
	UNIT_RUN(test_hub);
	UNIT_RUN(test_convergence);
	UNIT_RUN(test_convergence_lost_in_rounding);
	UNIT_RUN(test_sets_do_not_mix);
	UNIT_RUN(test_bad_input);
	UNIT_RUN(test_overflow);
	UNIT_RUN(test_allocator_fails);
	UNIT_RUN(test_cancel_and_sparse_hops);
	UNIT_RUN(test_empty_graph);
	return unit_finish();
}
