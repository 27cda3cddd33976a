/*
 * arguments.h
 *		What the graph functions have in common in their SQL arguments.
 */
#ifndef HYBRID_GRAPH_ARGUMENTS_H
#define HYBRID_GRAPH_ARGUMENTS_H

#include "postgres.h"
#include "fmgr.h"
#include "utils/array.h"

#include "core/csr.h"

/* HybridSeed: a node where activation starts. */
typedef struct HybridSeed
{
	int64 id;
	double activation; /* finite, >= 0 */
} HybridSeed;

/* hybrid_require_argument: raises when argument n, called name, is NULL. */
extern void hybrid_require_argument(FunctionCallInfo fcinfo, int n, const char *name);

/* hybrid_parse_direction: 'out', 'in' or 'both', else an error that lists them. */
extern HyDirection hybrid_parse_direction(const char *name);

/*
 * hybrid_parse_seeds: the seeds by ascending id, each once: repeated ones are added by ascending
 * activation, so that their order in the array does not matter.  activation is NULL (all 1) or as
 * long as ids.  Raises on NULL elements, different lengths, more than one dimension, and
 * activations that are not finite or are negative.
 */
extern HybridSeed *hybrid_parse_seeds(ArrayType *ids, ArrayType *activation, int *count);

/* hybrid_check_array: raises unless the array has at most one dimension and no NULL element. */
extern void hybrid_check_array(ArrayType *array, const char *name);

#endif
