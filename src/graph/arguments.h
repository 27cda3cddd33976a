/*
 * arguments.h
 *		SQL arguments of the graph functions.
 */
#ifndef HYBRID_GRAPH_ARGUMENTS_H
#define HYBRID_GRAPH_ARGUMENTS_H

#include "postgres.h"
#include "fmgr.h"
#include "utils/array.h"

/* HybridSeed: a node where activation starts. */
typedef struct HybridSeed
{
	int64 set; /* label of the set that it belongs to */
	int64 id;
	double activation; /* finite, >= 0 */
} HybridSeed;

/* hybrid_require_argument: raise if argument n, called name, is NULL. */
extern void hybrid_require_argument(FunctionCallInfo fcinfo, int n, const char *name);

/* HybridWords: the words that an argument accepts. */
typedef struct HybridWords
{
	const char *const word[4]; /* the first NULL ends them */
	const char *hint;          /* of the error for any other word */
} HybridWords;

/*
 * hybrid_word_argument: return the index in words->word of the word that argument n contains. Raises
 * an error with the argument's name if it is NULL or another word.
 */
extern int
hybrid_word_argument(FunctionCallInfo fcinfo, int n, const char *name, const HybridWords *words);

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
