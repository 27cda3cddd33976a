/*
 * similar.h
 *		Nodes that are similar to a node, because they have neighbors in common with it.
 */
#ifndef HY_SIMILAR_H
#define HY_SIMILAR_H

#include <stdint.h>

#include "core/cancel.h"
#include "core/csr.h"
#include "core/status.h"

typedef enum HySimilarity
{
	HY_SIMILARITY_JACCARD = 0, /* number of common neighbors / number of neighbors of either node */
	HY_SIMILARITY_ADAMIC_ADAR  /* sum over common neighbors c of 1 / ln(nodes with an edge to c) */
} HySimilarity;

/*
 * hy_similar: set similarity[i] for every node other than `node`, and 0 for `node` itself.  The
 * neighbors of a node are the nodes to which an edge leads from it.  Under HY_DIRECTION_BOTH, an
 * edge in either direction makes two nodes neighbors.  A self loop makes a node its own neighbor.
 * Weights do not count.  Common neighbors are added in ascending order of their numbers.
 *
 * Takes time proportional to the nodes of the graph plus the edges that enter the neighbors of
 * `node`.  Returns HY_OK or HY_CANCELLED.
 */
extern HyStatus hy_similar(const HyCsr *graph, uint32_t node, HySimilarity method,
                           const HyCancel *cancel, double *similarity);

#endif
