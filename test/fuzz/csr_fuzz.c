/*
 * csr_fuzz.c
 *		Arbitrary edges: either a graph that contains exactly them, or the right refusal.
 *		Patches take some edges out and put them in again.
 *		Spreading over the graph has the same bits whether or not hops may be sparse.
 *
 * Four bytes of parameters, then ten bytes per edge: source, target (24 bits each), weight (any 32
 * bits).
 */
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/csr_build.h"
#include "core/csr_patch.h"
#include "core/spread.h"

#define HEADER_BYTES 4
#define EDGE_BYTES 10
#define MOST_EDGES 400
#define ORIGINS 4

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void
require(int condition)
{
	if (!condition)
		abort();
}

/* id_of: convert 24 bits to an id: near 0, near either end of int64, or in between. */
static int64_t
id_of(const unsigned char *data)
{
	int64_t low = data[0] | (data[1] & 0x3f) << 8;

	switch (data[2] & 3)
	{
		case 0:
			return low - 8192;
		case 1:
			return INT64_MIN + low;
		case 2:
			return INT64_MAX - low;
		default:
			return (int64_t) ((uint64_t) data[2] << 56 | (uint64_t) low << 20);
	}
}

static int
compare_weights(const void *a, const void *b)
{
	float left = *(const float *) a;
	float right = *(const float *) b;

	return left < right ? -1 : left > right;
}

/*
 * cell: find the weight from source to target by examining every edge.  Returns false if there is
 * none.
 */
static bool
cell(const HyEdge *edges, int64_t count, HyDirection direction, int64_t source, int64_t target,
     float *weight)
{
	float found[2 * MOST_EDGES];
	size_t n = 0;
	size_t w;
	double sum = 0;
	int64_t i;

	for (i = 0; i < count; i++)
	{
		if (direction != HY_DIRECTION_IN && edges[i].source == source && edges[i].target == target)
			found[n++] = edges[i].weight;
		if (direction != HY_DIRECTION_OUT && edges[i].source == target && edges[i].target == source)
			found[n++] = edges[i].weight;
	}
	qsort(found, n, sizeof(float), compare_weights);
	for (w = 0; w < n; w++)
		sum += found[w];
	*weight = (float) sum;
	return n > 0;
}

/* check_rows: check that every entry is a cell, and that every edge has its entry. */
static void
check_rows(const HyCsr *csr, const HyEdge *edges, int64_t count, HyDirection direction)
{
	int64_t row;
	int64_t e;
	int64_t i;

	require(csr->row_start[0] == 0 && csr->row_start[csr->nodes] == csr->edges);
	require(csr->out_start[0] == 0 && csr->out_start[csr->nodes] == csr->edges);
	for (row = 0; row < csr->nodes; row++)
	{
		require(row == 0 || csr->ids[row - 1] < csr->ids[row]);
		for (e = csr->row_start[row]; e < csr->row_start[row + 1]; e++)
		{
			float weight;

			require(e == csr->row_start[row] || csr->column[e - 1] < csr->column[e]);
			require(
				cell(edges, count, direction, csr->ids[csr->column[e]], csr->ids[row], &weight));
			require(weight == csr->weight[e]);
		}
		for (e = csr->out_start[row]; e < csr->out_start[row + 1]; e++)
			require(e == csr->out_start[row] || csr->out_row[e - 1] < csr->out_row[e]);
	}
	for (i = 0; i < count; i++)
	{
		int64_t from = hy_csr_find(csr, edges[i].source);
		int64_t to = hy_csr_find(csr, edges[i].target);
		bool there = false;

		require(from >= 0 && to >= 0);
		if (direction == HY_DIRECTION_IN)
		{
			int64_t swap = from;

			from = to;
			to = swap;
		}
		for (e = csr->row_start[to]; e < csr->row_start[to + 1]; e++)
			there = there || csr->column[e] == (uint32_t) from;
		require(there);
		there = false;
		for (e = csr->out_start[from]; e < csr->out_start[from + 1]; e++)
			there = there || csr->out_row[e] == (uint32_t) to;
		require(there);
	}
}

/* check_patch: patch the edges of some of the origins 1 .. ORIGINS out of the graph, and back in. */
static void
check_patch(const HyEdge *edges, int64_t count, HyDirection direction, uint64_t changed)
{
	HyEdge work[MOST_EDGES];
	HyEdge in[MOST_EDGES];
	HyEdge out[MOST_EDGES];
	uint32_t origin[MOST_EDGES];
	uint32_t origin_in[MOST_EDGES];
	HyCsrInput input = {.edge = work, .origin = origin, .count = count, .direction = direction};
	bool is_changed[ORIGINS + 1];
	HyCsrPatch patch = {
		.changed = is_changed, .edge = in, .origin = origin_in, .direction = direction};
	HyOrigins origins;
	HyCsr csr;
	int64_t ins = 0;
	int64_t outs = 0;
	bool differs;
	int64_t i;

	for (i = 0; i <= ORIGINS; i++)
		is_changed[i] = i != HY_ORIGIN_MANY && (changed >> i & 1) != 0;
	for (i = 0; i < count; i++)
	{
		origin[i] = (uint32_t) i % ORIGINS + 1;
		work[i] = edges[i];
		if (is_changed[origin[i]])
		{
			origin_in[ins] = origin[i];
			in[ins++] = edges[i];
		}
		else
			out[outs++] = edges[i];
	}
	require(hy_csr_build_from(&input, &hy_malloc_allocator, NULL, &csr, &origins) == HY_OK);
	require(hy_csr_patch(&csr, &origins, &patch, &hy_malloc_allocator, NULL, &differs) == HY_OK);
	require(!differs || ins > 0);
	check_rows(&csr, out, outs, direction);
	patch.count = ins;
	require(hy_csr_patch(&csr, &origins, &patch, &hy_malloc_allocator, NULL, &differs) == HY_OK);
	check_rows(&csr, edges, count, direction);
	hy_csr_free(&csr, &hy_malloc_allocator);
	hy_origins_free(&origins, &hy_malloc_allocator);
}

static void
check_spread(const HyCsr *graph, const unsigned char *header)
{
	static const double fans[] = {0, 0.5, 1, 1};
	HySpreadParams params = {.hub = NULL};
	HyCsr dense = *graph;
	size_t n = (size_t) graph->nodes;
	int64_t start[2] = {0, 1};
	uint32_t node = header[3] % (uint32_t) n;
	double value = 1 + header[3];
	HySpreadSeeds seeds = {1, start, &node, &value};
	double *a = malloc(sizeof(double) * n);
	double *b = malloc(sizeof(double) * n);
	double *sent = malloc(sizeof(double) * n);
	double *hub = malloc(sizeof(double) * n);
	int32_t *hop = malloc(sizeof(int32_t) * n);
	int32_t *again = malloc(sizeof(int32_t) * n);
	HyStatus status;
	double norm;
	size_t i;

	params.decay = (header[1] & 15) / 15.0;
	params.fan = fans[header[1] >> 4 & 3];
	params.hops = (header[2] & 7) - 1;
	params.threshold = (header[2] >> 3 & 3) * 0.1;
	params.refire = header[2] >> 5 & 3;
	params.combine = header[2] >> 7 ? HY_COMBINE_MAX : HY_COMBINE_SUM;
	params.tolerance = 1e-3;
	/* what converges slowly takes as long as it takes */
	if (header[3] & 1)
	{
		require(hy_spread_hub(graph, (header[3] | 1) / 255.0, NULL, hub) == HY_OK);
		params.hub = hub;
		require(hy_spread_hub_norm(graph, &params, NULL, a, &norm) == HY_OK);
		if (params.hops == -1 && !(norm <= 0.99))
			params.hops = 9;
	}
	else if (params.hops == -1 && hy_spread_converges(graph, &params, &norm) && norm > 0.99)
		params.hops = 9;
	status = hy_spread(graph, &params, &seeds, &hy_malloc_allocator, NULL,
	                   &(HySpreadResult){a, hop, sent});
	require(status == HY_OK || (status == HY_INVALID && params.hops == -1 &&
	                            !hy_spread_converges(graph, &params, NULL)));
	dense.out_start = NULL;
	require(hy_spread(&dense, &params, &seeds, &hy_malloc_allocator, NULL,
	                  &(HySpreadResult){b, again, NULL}) == status);
	for (i = 0; status == HY_OK && i < n; i++)
	{
		require(memcmp(&a[i], &b[i], sizeof(double)) == 0 || (isnan(a[i]) && isnan(b[i])));
		require(hop[i] == again[i]);
		require(!(a[i] < 0) && (a[i] == 0) == (hop[i] == -1));
		require(!(sent[i] < 0) && hy_spread_via(graph, sent, NULL, (int64_t) i) < graph->nodes);
		/* only a seed has activation that no other node has sent, unless it sent some to itself */
		require(isnan(a[i]) || hop[i] <= 0 || hy_spread_via(graph, sent, NULL, (int64_t) i) >= 0);
	}
	free(a);
	free(b);
	free(sent);
	free(hub);
	free(hop);
	free(again);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	HyEdge edges[MOST_EDGES];
	HyEdge work[MOST_EDGES];
	HyDirection direction;
	int64_t count = 0;
	bool valid = true;
	HyStatus status;
	HyCsr csr;

	if (size < HEADER_BYTES)
		return 0;
	direction = (HyDirection) (data[0] % 3);
	while (count < MOST_EDGES && HEADER_BYTES + (size_t) (count + 1) * EDGE_BYTES <= size)
	{
		const unsigned char *at = data + HEADER_BYTES + (size_t) count * EDGE_BYTES;
		HyEdge *edge = &edges[count++];

		edge->source = id_of(at);
		edge->target = id_of(at + 3);
		memcpy(&edge->weight, at + 6, sizeof(float));
		valid = valid && edge->weight >= 0 && !isinf(edge->weight);
	}
	memcpy(work, edges, sizeof(HyEdge) * (size_t) count);
	status = hy_csr_build(work, count, direction, &hy_malloc_allocator, NULL, &csr);
	require(status == HY_OK || status == HY_INVALID);
	require(valid || status == HY_INVALID);
	if (valid && status == HY_INVALID)
	{
		bool overflow = false;
		int64_t i;

		for (i = 0; i < count; i++)
		{
			float weight;

			(void) cell(edges, count, direction, edges[i].source, edges[i].target, &weight);
			overflow = overflow || isinf(weight);
			(void) cell(edges, count, direction, edges[i].target, edges[i].source, &weight);
			overflow = overflow || isinf(weight);
		}
		require(overflow);
	}
	if (status == HY_OK)
	{
		check_rows(&csr, edges, count, direction);
		check_patch(edges, count, direction, (uint64_t) (data[1] >> 4) << 1);
		if (csr.nodes > 0)
			check_spread(&csr, data);
		hy_csr_free(&csr, &hy_malloc_allocator);
	}
	return 0;
}
