/*
 * spread_test.c
 *		Activation spreading against two restatements of its definition: one that adds in the
 *		promised order and must agree to the bit, one that multiplies plain matrices.
 */
#include "unit.h"

#include "core/cpu_features.h"
#include "core/spread.h"
#include "core/spread_pull.h"

/* Entries or rows between two polls, in spread.c. */
#define BLOCK 65536

#define MOST_HOPS 100000

static HyCsr
make_graph(UnitRandom *random, int64_t nodes, int64_t edges, HyDirection direction)
{
	HyEdge *edge = malloc(sizeof(HyEdge) * (size_t) (edges + 1));
	HyCsr graph;
	int64_t i;

	for (i = 0; i < edges; i++)
	{
		edge[i].source = (int64_t) unit_random_below(random, (uint64_t) nodes) * 3 - nodes;
		edge[i].target = (int64_t) unit_random_below(random, (uint64_t) nodes) * 3 - nodes;
		/* a few hubs, and a few edges that carry nothing */
		if (unit_random_below(random, 4) == 0)
			edge[i].target = -nodes;
		edge[i].weight = unit_random_below(random, 10) == 0 ? 0 : (float) unit_random_unit(random);
	}
	CHECK_INT(hy_csr_build(edge, edges, direction, &hy_malloc_allocator, NULL, &graph), HY_OK);
	free(edge);
	return graph;
}

static HySpreadParams
random_params(UnitRandom *random)
{
	static const double fans[] = {0, 0.5, 1};
	HySpreadParams params;

	params.decay = unit_random_below(random, 8) == 0 ? 1 : unit_random_unit(random);
	params.fan = fans[unit_random_below(random, 3)];
	params.hops = (int32_t) unit_random_below(random, 8);
	params.threshold = unit_random_below(random, 2) == 0 ? 0 : 0.3 * unit_random_unit(random);
	params.refire = (int32_t) unit_random_below(random, 4);
	params.combine = unit_random_below(random, 3) == 0 ? HY_COMBINE_MAX : HY_COMBINE_SUM;
	params.tolerance = 1e-6;
	if (params.fan == 1 && params.decay < 0.95 && unit_random_below(random, 4) == 0)
		params.hops = -1;
	return params;
}

static double
fold_of(double lane[32])
{
	int h;
	int l;

	for (h = 16; h > 0; h >>= 1)
	{
		for (l = 0; l < h; l++)
			lane[l] = lane[l] + lane[l + h];
	}
	return lane[0];
}

static double
norm_of(const double *y, int64_t nodes)
{
	double lane[32] = {0};
	int64_t i;

	for (i = 0; i < nodes; i++)
		lane[i & 31] += y[i];
	return fold_of(lane);
}

/* restate: the definition of spread.h, all rows, all lanes, nothing clever. */
static void
restate(const HyCsr *graph, const HySpreadParams *params, const uint32_t *seed, const double *value,
        int64_t seeds, double *a, int32_t *hop)
{
	size_t n = (size_t) graph->nodes;
	double *y = calloc(n + 1, sizeof(double));
	double *c = calloc(n + 1, sizeof(double));
	int32_t *fired = calloc(n + 1, sizeof(int32_t));
	double start;
	double last;
	int64_t i;
	int32_t h;

	for (i = 0; i < seeds; i++)
		y[seed[i]] += value[i];
	for (i = 0; i < (int64_t) n; i++)
	{
		a[i] = y[i];
		hop[i] = y[i] > 0 ? 0 : -1;
	}
	start = last = norm_of(y, graph->nodes);
	for (h = 1; h <= (params->hops == -1 ? MOST_HOPS : params->hops); h++)
	{
		bool any = false;
		double now;

		for (i = 0; i < (int64_t) n; i++)
		{
			double s = graph->out_weight[i];
			double gain = 0;

			if (s != 0)
				gain = params->decay / (params->fan == 0 ? 1 : params->fan == 0.5 ? sqrt(s) : s);
			c[i] = 0;
			if (y[i] > 0 && y[i] >= params->threshold &&
			    (params->refire == 0 || fired[i] < params->refire))
			{
				c[i] = y[i] * gain;
				fired[i]++;
				any = true;
			}
		}
		if (!any)
			break;
		for (i = 0; i < (int64_t) n; i++)
		{
			double lane[32] = {0};
			double best = 0;
			int64_t p;

			for (p = 0; p < graph->row_start[i + 1] - graph->row_start[i]; p++)
			{
				int64_t e = graph->row_start[i] + p;
				double w = (double) graph->weight[e];

				lane[p & 31] = fma(c[graph->column[e]], w, lane[p & 31]);
				best = fmax(best, c[graph->column[e]] * w);
			}
			y[i] = params->combine == HY_COMBINE_MAX ? best : fold_of(lane);
			if (y[i] > 0 && hop[i] == -1)
				hop[i] = h;
			a[i] = params->combine == HY_COMBINE_MAX ? fmax(a[i], y[i]) : a[i] + y[i];
		}
		now = norm_of(y, graph->nodes);
		if (params->hops == -1 && (now < params->tolerance * start || !(now < last)))
			break;
		last = now;
	}
	free(y);
	free(c);
	free(fired);
}

static HyStatus
run_spread(const HyCsr *graph, const HySpreadParams *params, const HySpreadSeeds *seeds,
           const HyAllocator *allocator, const HyCancel *cancel, double *a, int32_t *hop)
{
	double *gain = malloc(sizeof(double) * (size_t) (graph->nodes + 1));
	HyStatus status;

	hy_spread_gain(graph, params->decay, params->fan, gain);
	status = hy_spread(graph, gain, params, seeds, allocator, cancel, a, hop);
	free(gain);
	return status;
}

/* agree: spreads from sets of random seeds, with and without sparse hops, and restates each. */
static void
agree(const HyCsr *graph, const HySpreadParams *params, UnitRandom *random, int32_t sets)
{
	HyCsr dense = *graph;
	int64_t n = graph->nodes;
	int64_t *start = malloc(sizeof(int64_t) * (size_t) (sets + 1));
	uint32_t *node = malloc(sizeof(uint32_t) * (size_t) sets * 5);
	double *value = malloc(sizeof(double) * (size_t) sets * 5);
	double *a = malloc(sizeof(double) * (size_t) (n * sets));
	double *b = malloc(sizeof(double) * (size_t) (n * sets));
	int32_t *hop = malloc(sizeof(int32_t) * (size_t) (n * sets));
	int32_t *hop_again = malloc(sizeof(int32_t) * (size_t) (n * sets));
	HySpreadSeeds seeds = {sets, start, node, value};
	int32_t set;
	int64_t i;

	start[0] = 0;
	for (set = 0; set < sets; set++)
	{
		int64_t count = (int64_t) unit_random_below(random, 6); /* none, now and then */

		start[set + 1] = start[set] + count;
		for (i = start[set]; i < start[set + 1]; i++)
		{
			node[i] = (uint32_t) unit_random_below(random, (uint64_t) n);
			if (i > start[set] && unit_random_below(random, 4) == 0)
				node[i] = node[i - 1];
			value[i] = unit_random_below(random, 6) == 0 ? 0 : 2 * unit_random_unit(random);
		}
	}
	CHECK_INT(run_spread(graph, params, &seeds, &hy_malloc_allocator, NULL, a, hop), HY_OK);
	dense.out_start = NULL;
	dense.out_row = NULL;
	CHECK_INT(run_spread(&dense, params, &seeds, &hy_malloc_allocator, NULL, b, hop_again), HY_OK);
	CHECK(memcmp(a, b, sizeof(double) * (size_t) (n * sets)) == 0);
	CHECK(memcmp(hop, hop_again, sizeof(int32_t) * (size_t) (n * sets)) == 0);
	for (set = 0; set < sets; set++)
	{
		restate(graph, params, node + start[set], value + start[set], start[set + 1] - start[set],
		        b, hop_again);
		for (i = 0; i < n; i++)
		{
			CHECK_SAME_F64(a[set * n + i], b[i]);
			CHECK_INT(hop[set * n + i], hop_again[i]);
		}
	}
	free(start);
	free(node);
	free(value);
	free(a);
	free(b);
	free(hop);
	free(hop_again);
}

static void
test_bits_on_small_graphs(void)
{
	UnitRandom random = {30};
	int round;

	for (round = 0; round < 600; round++)
	{
		int64_t nodes = 1 + (int64_t) unit_random_below(&random, 60);
		int64_t edges = 1 + (int64_t) unit_random_below(&random, 400);
		HyCsr graph = make_graph(&random, nodes, edges, (HyDirection) (round % 3));
		HySpreadParams params = random_params(&random);

		agree(&graph, &params, &random, 1 + round % 4);
		hy_csr_free(&graph, &hy_malloc_allocator);
	}
}

/* Large enough that the first hops are sparse and the later ones are not. */
static void
test_bits_on_larger_graphs(void)
{
	UnitRandom random = {31};
	int round;

	for (round = 0; round < 40; round++)
	{
		HyCsr graph = make_graph(&random, 3000, 9000, (HyDirection) (round % 3));
		HySpreadParams params = random_params(&random);

		agree(&graph, &params, &random, 2);
		hy_csr_free(&graph, &hy_malloc_allocator);
	}
}

/* A row longer than a block is summed in parts. */
static void
test_bits_of_a_very_long_row(void)
{
	UnitRandom random = {32};
	int64_t edges = 3 * BLOCK + 77;
	HyEdge *edge = malloc(sizeof(HyEdge) * (size_t) (2 * edges));
	HySpreadParams params = {0.9, 0.5, 3, 0, 0, HY_COMBINE_SUM, 1};
	HyCsr graph;
	int64_t i;

	for (i = 0; i < edges; i++)
	{
		edge[2 * i] = (HyEdge){i + 1, 0, (float) unit_random_unit(&random)};
		edge[2 * i + 1] = (HyEdge){0, i + 1, (float) unit_random_unit(&random)};
	}
	CHECK_INT(hy_csr_build(edge, 2 * edges, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph),
	          HY_OK);
	agree(&graph, &params, &random, 2);
	params.combine = HY_COMBINE_MAX;
	agree(&graph, &params, &random, 2);
	hy_csr_free(&graph, &hy_malloc_allocator);
	free(edge);
}

static void
test_both_kernels(void)
{
	UnitRandom random = {33};
	HyCsr graph = make_graph(&random, 500, 20000, HY_DIRECTION_OUT);
	HySpreadPull plain = hy_spread_pull(HY_COMBINE_SUM, false);
	HySpreadPull fast = hy_spread_pull(HY_COMBINE_SUM, hy_simd_available(HY_SIMD_AVX2));
	double *charge = malloc(sizeof(double) * (size_t) graph.nodes);
	double *y = malloc(sizeof(double) * (size_t) graph.nodes);
	double *z = malloc(sizeof(double) * (size_t) graph.nodes);
	double lane[32] = {0};
	double other_lane[32] = {0};
	int64_t i;

	CHECK(!hy_simd_available(HY_SIMD_AVX2) || plain.rows != fast.rows);
	for (i = 0; i < graph.nodes; i++)
		charge[i] = unit_random_unit(&random);
	plain.rows(&graph, charge, 0, graph.nodes, y);
	fast.rows(&graph, charge, 0, graph.nodes, z);
	CHECK(memcmp(y, z, sizeof(double) * (size_t) graph.nodes) == 0);
	plain.add(graph.column, graph.weight, 9999, charge, lane);
	fast.add(graph.column, graph.weight, 9999, charge, other_lane);
	CHECK(memcmp(lane, other_lane, sizeof(lane)) == 0);
	free(charge);
	free(y);
	free(z);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

/* Against a full matrix, summed in plain order: the sparse machinery must not lose or double. */
static void
test_against_matrices(void)
{
	UnitRandom random = {34};
	int round;

	for (round = 0; round < 200; round++)
	{
		int64_t nodes = 2 + (int64_t) unit_random_below(&random, 40);
		HyEdge edge[300];
		double matrix[42][42] = {{0}};
		double y[42] = {0};
		double a[42] = {0};
		double activation[42];
		int32_t hop[42];
		int64_t start[2] = {0, 1};
		uint32_t node = 0;
		double value = 1 + unit_random_unit(&random);
		HySpreadSeeds seeds = {1, start, &node, &value};
		HySpreadParams params = random_params(&random);
		HyCsr graph;
		int64_t i;
		int64_t j;
		int32_t h;

		params.combine = HY_COMBINE_SUM;
		params.refire = 0;
		params.threshold = 0;
		if (params.hops == -1)
			params.tolerance = 1e-15;
		for (i = 0; i < 300; i++)
		{
			/* every node occurs, so that ids and numbers are the same */
			edge[i].source = i < nodes ? i : (int64_t) unit_random_below(&random, (uint64_t) nodes);
			edge[i].target = (int64_t) unit_random_below(&random, (uint64_t) nodes);
			edge[i].weight = (float) unit_random_unit(&random) + 0.01f;
			matrix[edge[i].source][edge[i].target] += (double) edge[i].weight;
		}
		for (i = 0; i < nodes; i++)
		{
			double s = 0;

			for (j = 0; j < nodes; j++)
				s += matrix[i][j];
			for (j = 0; j < nodes; j++)
				matrix[i][j] *= params.decay / pow(s, params.fan);
		}
		CHECK_INT(hy_csr_build(edge, 300, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph),
		          HY_OK);
		CHECK_INT(run_spread(&graph, &params, &seeds, &hy_malloc_allocator, NULL, activation, hop),
		          HY_OK);
		a[0] = y[0] = value;
		for (h = 0; h < (params.hops == -1 ? 2000 : params.hops); h++)
		{
			double next[42] = {0};

			for (i = 0; i < nodes; i++)
			{
				for (j = 0; j < nodes; j++)
					next[j] += y[i] * matrix[i][j];
			}
			for (j = 0; j < nodes; j++)
			{
				y[j] = next[j];
				a[j] += y[j];
			}
		}
		/* weights of parallel edges are rounded to fp32 after they are summed */
		for (i = 0; i < nodes; i++)
			CHECK_NEAR(activation[i], a[i], 1e-6 * (a[i] + 1e-9));
		hy_csr_free(&graph, &hy_malloc_allocator);
	}
}

/*
 * 1 -> 2 (weight 1), 1 -> 3 (weight 3), 2 -> 3, 3 -> 1 (2 and then 2, parallel); by hand, with
 * decay 1/2.
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
	HySpreadParams p = {0.5, 1, 0, 0, 0, HY_COMBINE_SUM, 1e-9};

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

static void
test_convergence(void)
{
	HyCsr graph = triangle(HY_DIRECTION_OUT);
	int64_t start[2] = {0, 1};
	uint32_t node = 0;
	double value = 1;
	HySpreadSeeds seeds = {1, start, &node, &value};
	HySpreadParams p = {0.85, 1, -1, 0, 0, HY_COMBINE_SUM, 1e-12};
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

/* 0.85 of the smallest number above 0 is that number again: only the second rule ends this. */
static void
test_convergence_lost_in_rounding(void)
{
	HyEdge loop = {1, 1, 1};
	int64_t start[2] = {0, 1};
	uint32_t node = 0;
	double value = 0x1p-1074;
	HySpreadSeeds seeds = {1, start, &node, &value};
	HySpreadParams p = {0.85, 1, -1, 0, 0, HY_COMBINE_SUM, 1e-9};
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

/* One set, asked alone, has the bits it has among others. */
static void
test_sets_do_not_mix(void)
{
	UnitRandom random = {35};
	HyCsr graph = make_graph(&random, 200, 800, HY_DIRECTION_OUT);
	int64_t n = graph.nodes;
	HySpreadParams p = {0.9, 1, 4, 0.01, 2, HY_COMBINE_SUM, 1e-9};
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
	const HySpreadParams good = {0.5, 1, 2, 0, 0, HY_COMBINE_SUM, 1e-9};
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

/* What overflows shows as infinity or NaN in the answer, on both paths, and ends. */
static void
test_overflow(void)
{
	HyEdge edge[] = {{1, 2, 1e38f}, {2, 1, 1e38f}, {2, 3, 0}, {3, 4, 0}};
	HySpreadParams p = {1, 0, 20, 0, 0, HY_COMBINE_SUM, 1e-9};
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
	HySpreadParams p = {0.9, 1, 4, 0, 2, HY_COMBINE_SUM, 1e-9};
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
		          fail_at <= 5 ? HY_NOMEM : HY_OK);
		more = memory.failures > 0;
		CHECK_INT(memory.outstanding, 0);
	}
	CHECK_INT(fail_at, 7);
	hy_csr_free(&graph, &hy_malloc_allocator);
}

/* A chain: each hop reaches one row, so that sparse hops need few polls and dense ones many. */
static void
test_cancel_and_sparse_hops(void)
{
	int64_t nodes = 3 * BLOCK;
	HyEdge *edge = malloc(sizeof(HyEdge) * (size_t) nodes);
	HySpreadParams p = {0.9, 1, 6, 0, 0, HY_COMBINE_SUM, 1e-9};
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
	HySpreadParams p = {0.9, 1, -1, 0, 0, HY_COMBINE_SUM, 1e-9};
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
	UNIT_RUN(test_bits_on_small_graphs);
	UNIT_RUN(test_bits_on_larger_graphs);
	UNIT_RUN(test_bits_of_a_very_long_row);
	UNIT_RUN(test_both_kernels);
	UNIT_RUN(test_against_matrices);
	UNIT_RUN(test_by_hand);
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
