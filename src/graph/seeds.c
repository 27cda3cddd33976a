/*
 * seeds.c
 *		The seeds of a call: see seeds.h.
 */
#include "postgres.h"

#include <math.h>

#include "graph/arguments.h"
#include "graph/seeds.h"
#include "miscadmin.h"
#include "utils/float.h"

static const void *elements(ArrayType *array, const char *name, int given);
static int compare_seeds(const void *a, const void *b);

HybridSeed *
hybrid_seeds_argument(FunctionCallInfo fcinfo, int sets, int n, int *count)
{
	ArrayType *ids;
	HybridSeed *seeds;
	const int64 *set = NULL;
	const int64 *id;
	const float8 *value = NULL;
	int given;
	int kept = 0;
	int i;

	*count = 0;
	if (PG_ARGISNULL(n))
		return NULL;
	ids = PG_GETARG_ARRAYTYPE_P(n);
	hybrid_check_array(ids, "seeds");
	given = ArrayGetNItems(ARR_NDIM(ids), ARR_DIMS(ids));
	id = (const int64 *) ARR_DATA_PTR(ids);
	if (sets >= 0)
	{
		hybrid_require_argument(fcinfo, sets, "sets");
		set = elements(PG_GETARG_ARRAYTYPE_P(sets), "sets", given);
	}
	if (!PG_ARGISNULL(n + 1))
		value = elements(PG_GETARG_ARRAYTYPE_P(n + 1), "activation", given);

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

int64
hybrid_seeds_find(const HyCsr *csr, const HybridSeed *seeds, int count, uint32 *node, double *value)
{
	int64 filled = 0;
	int i;

	for (i = 0; i < count; i++)
	{
		int64 found = hy_csr_find(csr, seeds[i].id);

		CHECK_FOR_INTERRUPTS();
		if (found < 0)
			continue;
		node[filled] = (uint32) found;
		value[filled++] = seeds[i].activation;
	}
	return filled;
}

int64
hybrid_seeds_of_rank(const HyCsr *csr, const HybridSeed *seeds, int count, uint32 *node,
                     double *value)
{
	double largest = 0;
	int64 starts = seeds == NULL ? csr->nodes : hybrid_seeds_find(csr, seeds, count, node, value);
	int64 i;

	for (i = 0; seeds == NULL && i < starts; i++)
	{
		node[i] = (uint32) i;
		value[i] = 1;
	}
	for (i = 0; i < starts; i++)
		largest = Max(largest, value[i]);
	for (i = 0; largest > 0 && i < starts; i++)
		value[i] /= largest;
	return starts;
}

/*
 * elements: return the elements of an array. Raises if their number is not `given`, the number of
 * seeds, or if one is NULL.
 */
static const void *
elements(ArrayType *array, const char *name, int given)
{
	int values = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));

	hybrid_check_array(array, name);
	if (values != given)
		ereport(ERROR,
		        (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
		         errmsg("seeds and %s have different lengths %d and %d", name, given, values)));
	return ARR_DATA_PTR(array);
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
