/*
 * arguments.c
 *		SQL arguments of the graph functions.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "graph/arguments.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"

static void check_length(ArrayType *array, const char *name, int given);
static int compare_seeds(const void *a, const void *b);

void
hybrid_require_argument(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
		        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s cannot be NULL", name)));
}

int
hybrid_word_argument(FunctionCallInfo fcinfo, int n, const char *name, const HybridWords *words)
{
	const char *given;
	int i;

	hybrid_require_argument(fcinfo, n, name);
	given = text_to_cstring(PG_GETARG_TEXT_PP(n));
	for (i = 0; words->word[i] != NULL; i++)
	{
		if (strcmp(given, words->word[i]) == 0)
			return i;
	}
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
	                errmsg("unknown %s \"%s\"", name, given), errhint("%s", words->hint)));
}

void
hybrid_check_array(ArrayType *array, const char *name)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
		                errmsg("%s must have one dimension, not %d", name, ARR_NDIM(array))));
	if (array_contains_nulls(array))
		ereport(ERROR,
		        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s cannot contain NULL", name)));
}

HybridSeed *
hybrid_parse_seeds(ArrayType *sets, ArrayType *ids, ArrayType *activation, int *count)
{
	HybridSeed *seeds;
	const int64 *set = NULL;
	const int64 *id;
	const float8 *value = NULL;
	int given;
	int kept = 0;
	int i;

	hybrid_check_array(ids, "seeds");
	given = ArrayGetNItems(ARR_NDIM(ids), ARR_DIMS(ids));
	id = (const int64 *) ARR_DATA_PTR(ids);
	if (sets != NULL)
	{
		check_length(sets, "sets", given);
		set = (const int64 *) ARR_DATA_PTR(sets);
	}
	if (activation != NULL)
	{
		check_length(activation, "activation", given);
		value = (const float8 *) ARR_DATA_PTR(activation);
	}

	seeds = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(HybridSeed) * Max(given, 1));
	for (i = 0; i < given; i++)
	{
		double start = value == NULL ? 1.0 : value[i];

		CHECK_FOR_INTERRUPTS();
		if (!(start >= 0) || isinf(start))
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			                errmsg("activation of seed " INT64_FORMAT " must be finite and >= 0, "
			                       "not %s",
			                       id[i], float8out_internal(start))));
		seeds[i].set = set == NULL ? 0 : set[i];
		seeds[i].id = id[i];
		seeds[i].activation = start;
	}
	qsort(seeds, given, sizeof(HybridSeed), compare_seeds);
	for (i = 0; i < given; i++)
	{
		if (kept > 0 && seeds[kept - 1].set == seeds[i].set && seeds[kept - 1].id == seeds[i].id)
			seeds[kept - 1].activation += seeds[i].activation;
		else
			seeds[kept++] = seeds[i];
		if (isinf(seeds[kept - 1].activation))
			ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			                errmsg("activation of seed " INT64_FORMAT " is out of range",
			                       seeds[kept - 1].id)));
	}
	*count = kept;
	return seeds;
}

/* check_length: raise unless the array has as many elements as seeds, and none of them is NULL. */
static void
check_length(ArrayType *array, const char *name, int given)
{
	int values = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	hybrid_check_array(array, name);
	if (values != given)
		ereport(ERROR,
		        (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
		         errmsg("seeds and %s have different lengths %d and %d", name, given, values)));
}

/* compare_seeds: order by set, then by id, then by activation. */
static int
compare_seeds(const void *a, const void *b)
{
	const HybridSeed *left = a;
	const HybridSeed *right = b;

	CHECK_FOR_INTERRUPTS();
	if (left->set != right->set)
		return left->set < right->set ? -1 : 1;
	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	if (left->activation != right->activation)
		return left->activation < right->activation ? -1 : 1;
	return 0;
}
