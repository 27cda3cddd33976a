/*
 * spread_bits_test.c
 *		Activation spreading compared with two restatements of its definition: one adds in the
 *		promised order and must agree to the bit, the other multiplies plain matrices.
 */
#include "spread_stage.h"

#include "core/cpu_features.h"
#include "core/spread_pull.h"

#define MOST_HOPS 100000

static HySpreadParams
random_params(UnitRandom *random)
{
	static const double fans[] = {0, 0.5, 1};
	HySpreadParams params = {.hub = NULL};

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

/* restate: the definition of spread.h, with all rows and all lanes and without optimizations. */
static void
restate(const HyCsr *graph, const HySpreadParams *params, const uint32_t *seed, const double *value,
        int64_t seeds, double *a, int32_t *hop, double *sent)
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
		sent[i] = 0;
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
				sent[i] = params->combine == HY_COMBINE_MAX ? fmax(sent[i], c[i]) : sent[i] + c[i];
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
			if (params->hub != NULL)
				y[i] /= params->hub[i];
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

/* restate_via: the definition of hy_spread_via, from the last entry to the first. */
static int64_t
restate_via(const HyCsr *graph, const double *sent, int64_t node)
{
	double most = 0;
	int64_t via = -1;
	int64_t e;

	for (e = (int64_t) graph->row_start[node + 1] - 1; e >= graph->row_start[node]; e--)
	{
		double given = sent[graph->column[e]] * (double) graph->weight[e];

		if (graph->column[e] != node && given > 0 && given >= most)
		{
			most = given;
			via = graph->column[e];
		}
	}
	return via;
}

/*
 * agree_where_reached: hy_spread_reached must set the results of exactly the nodes that are reached,
 * to the same bits, and hy_spread_via must not read others.
 */
static void
agree_where_reached(const HyCsr *graph, const HySpreadParams *params, const HySpreadSeeds *seeds,
                    const HySpreadResult *all)
{
	size_t n = (size_t) graph->nodes;
	size_t words = (size_t) hy_spread_words(graph->nodes);
	double *some = malloc(sizeof(double) * n * (size_t) seeds->sets);
	int32_t *some_hop = malloc(sizeof(int32_t) * n * (size_t) seeds->sets);
	double *some_sent = malloc(sizeof(double) * n * (size_t) seeds->sets);
	uint64_t *reached = malloc(sizeof(uint64_t) * words * (size_t) seeds->sets);
	size_t set;
	size_t i;

	memset(some, 0xff, sizeof(double) * n * (size_t) seeds->sets);
	memset(reached, 0xff, sizeof(uint64_t) * words * (size_t) seeds->sets);
	for (i = 0; i < n * (size_t) seeds->sets; i++)
		some_sent[i] = 1e300;
	CHECK_INT(hy_spread_reached(graph, params, seeds, &hy_malloc_allocator, NULL,
	                            &(HySpreadResult){some, some_hop, some_sent}, reached),
	          HY_OK);
	for (set = 0; set < (size_t) seeds->sets; set++)
	{
		for (i = 0; i < words * 64; i++)
		{
			bool is_reached = (reached[set * words + i / 64] >> i % 64 & 1) != 0;

			CHECK_INT(is_reached, i < n && all->hop[set * n + i] >= 0);
			if (i < n)
				CHECK_INT(
					hy_spread_via(graph, some_sent + set * n, reached + set * words, (int64_t) i),
					hy_spread_via(graph, all->sent + set * n, NULL, (int64_t) i));
			if (!is_reached)
				continue;
			CHECK_SAME_F64(some[set * n + i], all->activation[set * n + i]);
			CHECK_INT(some_hop[set * n + i], all->hop[set * n + i]);
			CHECK_SAME_F64(some_sent[set * n + i], all->sent[set * n + i]);
		}
	}
	free(some);
	free(some_hop);
	free(some_sent);
	free(reached);
}

/*
 * agree: spread from sets of random seeds, with and without sparse hops, and compare each with its
 * restatement.
 */
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
	double *sent = malloc(sizeof(double) * (size_t) (n * sets));
	double *sent_again = malloc(sizeof(double) * (size_t) (n * sets));
	double *hub = malloc(sizeof(double) * (size_t) n);
	HySpreadSeeds seeds = {sets, start, node, value};
	HySpreadParams with = *params;
	int32_t set;
	int64_t i;

	CHECK_INT(hy_spread_hub(graph, unit_random_below(random, 2) == 0 ? 1 : 0.4, NULL, hub), HY_OK);
	if (unit_random_below(random, 2) == 0)
		with.hub = hub;

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
	CHECK_INT(hy_spread(graph, &with, &seeds, &hy_malloc_allocator, NULL,
	                    &(HySpreadResult){a, hop, sent}),
	          HY_OK);
	agree_where_reached(graph, &with, &seeds, &(HySpreadResult){a, hop, sent});
	dense.out_start = NULL;
	dense.out_row = NULL;
	CHECK_INT(hy_spread(&dense, &with, &seeds, &hy_malloc_allocator, NULL,
	                    &(HySpreadResult){b, hop_again, sent_again}),
	          HY_OK);
	CHECK(memcmp(sent, sent_again, sizeof(double) * (size_t) (n * sets)) == 0);
	CHECK(memcmp(a, b, sizeof(double) * (size_t) (n * sets)) == 0);
	CHECK(memcmp(hop, hop_again, sizeof(int32_t) * (size_t) (n * sets)) == 0);
	for (set = 0; set < sets; set++)
	{
		restate(graph, &with, node + start[set], value + start[set], start[set + 1] - start[set], b,
		        hop_again, sent_again);
		for (i = 0; i < n; i++)
		{
			CHECK_SAME_F64(a[set * n + i], b[i]);
			CHECK_INT(hop[set * n + i], hop_again[i]);
			CHECK_SAME_F64(sent[set * n + i], sent_again[i]);
			CHECK_INT(hy_spread_via(graph, sent + set * n, NULL, i),
			          restate_via(graph, sent_again, i));
		}
	}
	free(start);
	free(node);
	free(value);
	free(a);
	free(b);
	free(hop);
	free(hop_again);
	free(sent);
	free(sent_again);
	free(hub);
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

/*
 * Most nodes send weights of 1 only, so that rows which one or two of them reach are not pulled.  The
 * others have weights above 1, and in some graphs one weight is below 1.
 */
static void
test_bits_of_weights_of_one(void)
{
	UnitRandom random = {38};
	int round;

	for (round = 0; round < 120; round++)
	{
		int64_t nodes = round % 2 == 0 ? 300 : 3000;
		int64_t edges = 3 * nodes;
		HyEdge *edge = malloc(sizeof(HyEdge) * (size_t) edges);
		HySpreadParams params = random_params(&random);
		HyCsr graph;
		int64_t i;

		for (i = 0; i < edges; i++)
		{
			edge[i].source = (int64_t) unit_random_below(&random, (uint64_t) nodes);
			edge[i].target = (int64_t) unit_random_below(&random, (uint64_t) nodes);
			if (unit_random_below(&random, 20) == 0)
				edge[i].target = edge[i].source % 3;
			edge[i].weight = 1;
			if (edge[i].source % 8 == 0)
				edge[i].weight += (float) unit_random_unit(&random);
		}
		if (round % 5 == 0)
			edge[0] = (HyEdge){nodes, nodes + 1, 0.5F};
		CHECK_INT(hy_csr_build(edge, edges, (HyDirection) (round % 3), &hy_malloc_allocator, NULL,
		                       &graph),
		          HY_OK);
		CHECK_INT(graph.at_least_one, round % 5 != 0);
		agree(&graph, &params, &random, 2);
		hy_csr_free(&graph, &hy_malloc_allocator);
		free(edge);
	}
}

/*
 * Graphs so dense that all 64 nodes of a word are active from the second or third hop on.  The last
 * word has fewer nodes.
 */
static void
test_bits_of_full_words(void)
{
	UnitRandom random = {37};
	int round;

	for (round = 0; round < 60; round++)
	{
		HyCsr graph = make_graph(&random, 200, 8000, (HyDirection) (round % 3));
		HySpreadParams params = random_params(&random);

		params.threshold = 0;
		if (round % 4 != 0)
			params.refire = 0;
		agree(&graph, &params, &random, 2);
		hy_csr_free(&graph, &hy_malloc_allocator);
	}
}

/* All nodes of two words overflow, some of them to infinity and some to NaN. */
static void
test_overflow_of_full_words(void)
{
	HyEdge edge[3 * 128];
	int64_t start[2] = {0, 128};
	uint32_t node[128];
	double value[128];
	HySpreadSeeds seeds = {1, start, node, value};
	double a[2][128];
	double sent[2][128];
	int32_t hop[2][128];
	HyCsr graph;
	int64_t i;
	int combine;

	for (i = 0; i < 128; i++)
	{
		edge[3 * i] = (HyEdge){i, (i + 1) % 128, 1e38f};
		edge[3 * i + 1] = (HyEdge){i, (i + 4) % 128, i % 2 == 0 ? 1e20f : 0};
		edge[3 * i + 2] = (HyEdge){i, (i + 9) % 128, 1e30f};
		node[i] = (uint32_t) i;
		value[i] = 1;
	}
	CHECK_INT(hy_csr_build(edge, 3 * 128, HY_DIRECTION_OUT, &hy_malloc_allocator, NULL, &graph),
	          HY_OK);
	for (combine = HY_COMBINE_SUM; combine <= HY_COMBINE_MAX; combine++)
	{
		HySpreadParams params = {1, 0, 20, 0, 0, (HyCombine) combine, 1e-9, NULL};
		int nans = 0;

		CHECK_INT(hy_spread(&graph, &params, &seeds, &hy_malloc_allocator, NULL,
		                    &(HySpreadResult){a[0], hop[0], sent[0]}),
		          HY_OK);
		restate(&graph, &params, node, value, 128, a[1], hop[1], sent[1]);
		for (i = 0; i < 128; i++)
		{
			CHECK_SAME_F64(a[0][i], a[1][i]);
			CHECK_INT(hop[0][i], hop[1][i]);
			CHECK_SAME_F64(sent[0][i], sent[1][i]);
			CHECK(!isfinite(a[0][i]));
			nans += isnan(a[0][i]);
		}
		CHECK((nans > 0) == (combine == HY_COMBINE_SUM));
	}
	hy_csr_free(&graph, &hy_malloc_allocator);
}

/* A row longer than a block is summed in parts. */
static void
test_bits_of_a_very_long_row(void)
{
	UnitRandom random = {32};
	int64_t edges = 3 * BLOCK + 77;
	HyEdge *edge = malloc(sizeof(HyEdge) * (size_t) (2 * edges));
	HySpreadParams params = {0.9, 0.5, 3, 0, 0, HY_COMBINE_SUM, 1, NULL};
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

/* All entry points of both kernels; one node in `share` fires. */
static void
agree_on_rows(const HyCsr *graph, HyCombine combine, uint64_t share, UnitRandom *random)
{
	HySpreadPull plain = hy_spread_pull(combine, false);
	HySpreadPull fast = hy_spread_pull(combine, hy_simd_available(HY_SIMD_AVX2));
	size_t n = (size_t) graph->nodes;
	double *charge = calloc(n, sizeof(double));
	uint64_t *firing = calloc((size_t) hy_spread_words(graph->nodes), sizeof(uint64_t));
	uint32_t *row = malloc(sizeof(uint32_t) * n);
	double *y = malloc(sizeof(double) * n);
	double *z = malloc(sizeof(double) * n);
	HySpreadCharges charges = {charge, firing};
	double lane[32] = {0};
	double other_lane[32] = {0};
	size_t i;

	CHECK(!hy_simd_available(HY_SIMD_AVX2) || combine == HY_COMBINE_MAX || plain.rows != fast.rows);
	for (i = 0; i < n; i++)
	{
		row[i] = (uint32_t) (n - 1 - i);
		if (unit_random_below(random, share) > 0)
			continue;
		charge[i] = unit_random_unit(random) + 0.01;
		firing[i / 64] |= (uint64_t) 1 << i % 64;
	}
	plain.rows(graph, charge, 0, graph->nodes, y);
	fast.rows(graph, charge, 0, graph->nodes, z);
	CHECK(memcmp(y, z, sizeof(double) * n) == 0);
	/* the charges of other nodes do not matter, unless all rows are pulled */
	for (i = 0; i < n; i++)
	{
		if (charge[i] == 0)
			charge[i] = NAN;
	}
	memset(z, 0xff, sizeof(double) * n);
	fast.listed(graph, &charges, row, graph->nodes, z);
	CHECK(memcmp(y, z, sizeof(double) * n) == 0);
	memset(z, 0xff, sizeof(double) * n);
	plain.listed(graph, &charges, row, graph->nodes, z);
	CHECK(memcmp(y, z, sizeof(double) * n) == 0);
	plain.add(graph->column, graph->weight, graph->edges, &charges, lane);
	fast.add(graph->column, graph->weight, graph->edges, &charges, other_lane);
	CHECK(memcmp(lane, other_lane, sizeof(lane)) == 0);
	free(charge);
	free(firing);
	free(row);
	free(y);
	free(z);
}

static void
test_both_kernels(void)
{
	static const uint64_t shares[] = {1, 2, 10, 100};
	UnitRandom random = {33};
	int i;

	for (i = 0; i < 16; i++)
	{
		HyCsr graph = make_graph(&random, i < 8 ? 500 : 5000, 20000, HY_DIRECTION_OUT);

		agree_on_rows(&graph, i % 2 == 0 ? HY_COMBINE_SUM : HY_COMBINE_MAX, shares[i / 2 % 4],
		              &random);
		hy_csr_free(&graph, &hy_malloc_allocator);
	}
}

/*
 * Rows of each length around the registers that hold their lanes.  The arrays end with the row.  No
 * entry has node 0 as its source, so the charge of this node does not matter.
 */
static void
test_rows_of_every_length(void)
{
	const HySpreadPull pulls[] = {hy_spread_pull(HY_COMBINE_SUM, false),
	                              hy_spread_pull(HY_COMBINE_SUM, hy_simd_available(HY_SIMD_AVX2))};
	UnitRandom random = {38};
	int64_t length;
	int round;

	for (length = 0; length <= 100; length++)
	{
		for (round = 0; round < 4; round++)
		{
			uint32_t start[2] = {0, (uint32_t) length};
			uint32_t *column = malloc(sizeof(uint32_t) * (size_t) length);
			float *weight = malloc(sizeof(float) * (size_t) length);
			HyCsr graph = {.nodes = 64,
			               .edges = length,
			               .row_start = start,
			               .column = column,
			               .weight = weight};
			double charge[64];
			double lane[32] = {0};
			double sum;
			int64_t i;
			size_t k;

			for (i = 0; i < 64; i++)
				charge[i] = unit_random_unit(&random);
			charge[0] = round % 2 == 0 ? INFINITY : NAN;
			if (round >= 2)
				charge[1] = INFINITY;
			for (i = 0; i < length; i++)
			{
				column[i] = 1 + (uint32_t) unit_random_below(&random, 63);
				weight[i] =
					unit_random_below(&random, 4) == 0 ? 0 : (float) unit_random_unit(&random);
				lane[i & 31] = fma(charge[column[i]], (double) weight[i], lane[i & 31]);
			}
			sum = fold_of(lane);
			for (k = 0; k < sizeof(pulls) / sizeof(pulls[0]); k++)
			{
				double y = -1;

				pulls[k].rows(&graph, charge, 0, 1, &y);
				CHECK_SAME_F64(y, sum);
			}
			free(column);
			free(weight);
		}
	}
}

/*
 * Compared with a full matrix, summed in plain order: sparse hops must neither lose nor double an
 * entry.
 */
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

int
main(void)
{
	UNIT_RUN(test_bits_on_small_graphs);
	UNIT_RUN(test_bits_on_larger_graphs);
	UNIT_RUN(test_bits_of_weights_of_one);
	UNIT_RUN(test_bits_of_full_words);
	UNIT_RUN(test_overflow_of_full_words);
	UNIT_RUN(test_bits_of_a_very_long_row);
	UNIT_RUN(test_both_kernels);
	UNIT_RUN(test_rows_of_every_length);
	UNIT_RUN(test_against_matrices);
	return unit_finish();
}
