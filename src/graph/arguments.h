/*
 * arguments.h
 *		SQL arguments of the graph functions.
 */
#ifndef HYBRID_GRAPH_ARGUMENTS_H
#define HYBRID_GRAPH_ARGUMENTS_H

#include "postgres.h"
#include "fmgr.h"
#include "utils/array.h"

/* hybrid_require_argument: raise an error with the argument's name if argument n is NULL. */
extern void hybrid_require_argument(FunctionCallInfo fcinfo, int n, const char *name);

/* HybridWords: the words that an argument accepts. */
typedef struct HybridWords
{
	const char *const word[4]; /* ends with NULL */
	const char *hint;          /* hint of the error about any other word */
} HybridWords;

/*
 * hybrid_word_argument: return the index in words->word of the word that argument n contains. Raises an
 * error that names the argument if the argument is NULL or contains any other word.
 */
extern int
hybrid_word_argument(FunctionCallInfo fcinfo, int n, const char *name, const HybridWords *words);

/* HybridRange: the numbers that an argument accepts. */
typedef struct HybridRange
{
	double least;
	double most;
	double step;       /* the number must be a multiple of step; 0: any number */
	const char *words; /* what the number must be, for the error message */
	const char *hint;  /* NULL: none */
} HybridRange;

/* hybrid_number_argument: return argument n, a float8. Raises if it is NULL or outside the range. */
extern double
hybrid_number_argument(FunctionCallInfo fcinfo, int n, const char *name, const HybridRange *range);

/*
 * hybrid_count_argument: return argument n, an integer, or if_null if it is NULL. Raises if it is below
 * `least`. `hint` is the hint of this error; NULL: none.
 */
extern int64 hybrid_count_argument(FunctionCallInfo fcinfo, int n, const char *name, int least,
                                   int64 if_null, const char *hint);

/* hybrid_flag_argument: return argument n, a bool. Raises if it is NULL. */
extern bool hybrid_flag_argument(FunctionCallInfo fcinfo, int n, const char *name);

/* hybrid_check_array: raise unless the array has at most one dimension and no NULL element. */
extern void hybrid_check_array(ArrayType *array, const char *name);

#endif
