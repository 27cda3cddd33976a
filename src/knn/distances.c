/*
 * distances.c
 *		hybrid_distances: distances of one query to an array of vectors.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "core/distance.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "server/executor.h"
#include "server/report.h"
#include "types/vector.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(hybrid_distances);

Datum
hybrid_distances(PG_FUNCTION_ARGS)
{
	HybridVector *query = PG_GETARG_HYBRID_VECTOR(0);
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(1);
	HyMetric metric = hybrid_parse_metric(text_to_cstring(PG_GETARG_TEXT_PP(2)));
	Oid type = ARR_ELEMTYPE(array);
	int16 typlen;
	bool typbyval;
	char typalign;
	Datum *elements;
	bool *nulls;
	int count;
	int present = 0;
	float *packed;
	double *distances;
	Datum *results;
	int lower = 1;
	int i;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
		        (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
		         errmsg("targets must be an array of one dimension, not %d", ARR_NDIM(array))));
	if (ARR_NDIM(array) == 0)
		PG_RETURN_ARRAYTYPE_P(construct_empty_array(FLOAT8OID));

	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(array, type, typlen, typbyval, typalign, &elements, &nulls, &count);
	packed =
		MemoryContextAllocHuge(CurrentMemoryContext, (Size) count * query->dim * sizeof(float));
	for (i = 0; i < count; i++)
	{
		HybridVector *target;

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			continue;
		target = DatumGetHybridVector(elements[i]);
		hybrid_vector_check_dims(query, target);
		memcpy(packed + (Size) present * query->dim, target->x, query->dim * sizeof(float));
		present++;
		if ((Pointer) target != DatumGetPointer(elements[i]))
			pfree(target);
	}

	distances = palloc(sizeof(double) * Max(present, 1));
	if (present > 0)
	{
		HyTask task = {.op = HY_OP_DISTANCE, .numeric_class = HY_CLASS_EXACT};
		HyDistanceTask *work = &task.u.distance;

		work->metric = metric;
		work->queries.dtype = HY_F32;
		work->queries.dims = query->dim;
		work->queries.rows = 1;
		work->queries.stride = query->dim * sizeof(float);
		work->queries.data = query->x;
		work->targets = work->queries;
		work->targets.rows = present;
		work->targets.data = packed;
		work->out = distances;
		hybrid_run(&task, "compute distances");
	}

	/* the distance to a NULL element is NULL */
	results = palloc(sizeof(Datum) * count);
	present = 0;
	for (i = 0; i < count; i++)
		results[i] = nulls[i] ? (Datum) 0 : Float8GetDatum(distances[present++]);
	PG_RETURN_ARRAYTYPE_P(construct_md_array(results, nulls, 1, &count, &lower, FLOAT8OID,
	                                         sizeof(float8), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}
