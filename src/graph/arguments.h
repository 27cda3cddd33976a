/*
 * arguments.h
 *		SQL arguments of the graph functions.
 */
#ifndef HYBRID_GRAPH_ARGUMENTS_H
#define HYBRID_GRAPH_ARGUMENTS_H

#include "postgres.h"
#include "fmgr.h"
#include "utils/array.h"

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

/* HybridRange: the numbers that an argument accepts. */
typedef struct HybridRange
{
	double least;
	double most;
	double step;       /* numbers are multiples of it; 0: any */
	const char *words; /* of the error for any other number: what it must be */
	const char *hint;  /* NULL: none */
} HybridRange;

/* hybrid_number_argument: return argument n, a float8. Raises if it is NULL or another number. */
extern double
hybrid_number_argument(FunctionCallInfo fcinfo, int n, const char *name, const HybridRange *range);

/*
 * hybrid_count_argument: return argument n, an integer, or if_null if it is NULL. Raises if it is below
 * least. hint is that of the error; NULL: none.
 */
extern int64 hybrid_count_argument(FunctionCallInfo fcinfo, int n, const char *name, int least,
                                   int64 if_null, const char *hint);

/* hybrid_flag_argument: return argument n, a bool. Raises if it is NULL. */
extern bool hybrid_flag_argument(FunctionCallInfo fcinfo, int n, const char *name);

/* hybrid_check_array: raise unless the array has at most one dimension and no NULL element. */
extern void hybrid_check_array(ArrayType *array, const char *name);

#endif
