/*
 * similar.c
 *		Similarity by common neighbors: see similar.h.
 *
 * Jaccard: P. Jaccard, "The distribution of the flora in the alpine zone", 1912.  Adamic-Adar: L.
 * Adamic and E. Adar, "Friends and neighbors on the web", 2003.  Adamic-Adar divides by the
 * logarithm of the number of nodes that have an edge to the common neighbor.  At least two nodes
 * do, so the logarithm is above 0.
 */
#include "core/similar.h"

#include <math.h>
#include <string.h>

HyStatus
hy_similar(const HyCsr *graph, uint32_t node, HySimilarity method, const HyCancel *cancel,
           double *similarity)
{
	int64_t begin = graph->out_start[node];
	int64_t end = graph->out_start[node + 1];
	int64_t polled = 0;
	int64_t i;
	int64_t e;

	memset(similarity, 0, (size_t) graph->nodes * sizeof(double));
	for (i = begin; i < end; i++)
	{
		uint32_t common = graph->out_row[i];
		int64_t row = graph->row_start[common];
		int64_t row_end = graph->row_start[common + 1];
		double share = 1;

		if (method == HY_SIMILARITY_ADAMIC_ADAR)
			share = 1 / log((double) (row_end - row));
		for (e = row; e < row_end; e++)
		{
			similarity[graph->column[e]] += share;
			if (++polled >= HY_CANCEL_BLOCK)
			{
				polled = 0;
				if (hy_cancelled(cancel))
					return HY_CANCELLED;
			}
		}
	}
	similarity[node] = 0;
	for (i = 0; method == HY_SIMILARITY_JACCARD && i < graph->nodes; i++)
	{
		int64_t others = graph->out_start[i + 1] - graph->out_start[i];

		/* the sum of both numbers of neighbors counts the common ones twice */
		if (similarity[i] > 0)
			similarity[i] /= (double) (end - begin + others) - similarity[i];
	}
	return HY_OK;
}
