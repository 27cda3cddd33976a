/*
 * seeds.h
 *		The seeds of a call: the nodes where activation or rank starts.
 */
#ifndef HYBRID_GRAPH_SEEDS_H
#define HYBRID_GRAPH_SEEDS_H

#include "postgres.h"
#include "fmgr.h"

#include "core/csr.h"

/* HybridSeed: a node where activation starts. */
typedef struct HybridSeed
{
	int64 set; /* label of the seed's set */
	int64 id;
	double activation; /* finite, >= 0 */
} HybridSeed;

/*
 * hybrid_seeds_argument: return the seeds by ascending set and id, each id of a set once, and their
 * number in *count. Argument n has the ids, and argument n + 1 the activations (NULL: 1 each). Argument
 * `sets` has the sets; if `sets` is -1, all seeds are in set 0. Returns NULL if argument n is NULL.
 * Activations of a repeated seed are added in ascending order, so their order in the array does not
 * matter. Raises on NULL elements, different lengths, more than one dimension, and activations that are
 * negative or not finite.
 */
extern HybridSeed *hybrid_seeds_argument(FunctionCallInfo fcinfo, int sets, int n, int *count);

/*
 * hybrid_seeds_find: store the nodes and the activation of the seeds that are in the graph, and return
 * their number.
 */
extern int64 hybrid_seeds_find(const HyCsr *csr, const HybridSeed *seeds, int count, uint32 *node,
                               double *value);

/*
 * hybrid_seeds_of_rank: store the nodes where the rank starts and their values, and return the number of
 * these nodes. They are the seeds that are in the graph, or all nodes with equal values if seeds is NULL.
 * The activation of seeds is divided by the largest, so that no sum overflows.
 */
extern int64 hybrid_seeds_of_rank(const HyCsr *csr, const HybridSeed *seeds, int count,
                                  uint32 *node, double *value);

#endif
