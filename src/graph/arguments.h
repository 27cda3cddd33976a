/*
 * arguments.h
 *		SQL arguments of the graph functions.
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
	int64 set; /* label of the set that it belongs to */
	int64 id;
	double activation; /* finite, >= 0 */
} HybridSeed;

/* hybrid_require_argument: raise if argument n, called name, is NULL. */
extern void hybrid_require_argument(FunctionCallInfo fcinfo, int n, const char *name);

/*
 * hybrid_parse_direction: parse 'out', 'in' or 'both'. For any other name, raises an error that
 * lists these names.
 */
extern HyDirection hybrid_parse_direction(const char *name);

/*
 * hybrid_parse_seeds: return the seeds by ascending set and id, each id of a set once, and their
 * number in *count. Activations of a repeated seed are added in ascending order, so their order in
 * the array does not matter. sets is NULL (all in one set) or as long as ids. activation is NULL
 * (all 1) or as long as ids. Raises on NULL elements, different lengths, more than one dimension,
 * and activations that are not finite or are negative.
 */
extern HybridSeed *
hybrid_parse_seeds(ArrayType *sets, ArrayType *ids, ArrayType *activation, int *count);

/* hybrid_check_array: raise unless the array has at most one dimension and no NULL element. */
extern void hybrid_check_array(ArrayType *array, const char *name);

#endif
