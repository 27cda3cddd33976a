/*
 * queries.c
 *		The query vectors of a search: see queries.h.
 */
#include "postgres.h"

#include "knn/queries.h"
#include "miscadmin.h"
#include "types/vector.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

void
hybrid_queries_unpack(ArrayType *array, HybridQueries *queries)
{
	Datum *elements;
	bool *nulls;
	int16 typlen;
	bool typbyval;
	char typalign;
	int i;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
		        (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
		         errmsg("queries must be an array of one dimension, not %d", ARR_NDIM(array))));
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, &elements, &nulls,
	                  &queries->count);
	queries->dims = 0;
	queries->x = NULL;
	for (i = 0; i < queries->count; i++)
	{
		HybridVector *query;

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			                errmsg("queries must not contain NULL")));
		query = DatumGetHybridVector(elements[i]);
		if (i == 0)
		{
			queries->dims = query->dim;
			queries->x = MemoryContextAllocHuge(CurrentMemoryContext,
			                                    (Size) queries->count * query->dim * sizeof(float));
		}
		else if (query->dim != queries->dims)
			ereport(ERROR,
			        (errcode(ERRCODE_DATA_EXCEPTION),
			         errmsg("different vector dimensions %d and %d", queries->dims, query->dim)));
		memcpy(queries->x + (Size) i * queries->dims, query->x, query->dim * sizeof(float));
		if ((Pointer) query != DatumGetPointer(elements[i]))
			pfree(query);
	}
}
