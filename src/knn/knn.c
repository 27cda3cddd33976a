/*
 * knn.c
 *		hybrid_knn: the nearest rows of a relation for many queries at once. The result is exact unless the
 *		recall is below 1.
 *
 * If the heaps of all queries do not fit work_mem, the queries are divided into groups, and the
 * rows are read once for each group.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "knn/arguments.h"
#include "knn/nearest.h"
#include "server/position.h"
#include "miscadmin.h"
#include "server/report.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(hybrid_knn);

static void put_answers(ReturnSetInfo *rsinfo, HyTopK *answers, int count, int first);

Datum
hybrid_knn(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"rel", "col", "queries", "k", "metric"};
	MemoryContext context;
	MemoryContext previous;
	ArrayType *array;
	HybridTarget *target;
	HybridVectorTypes types = hybrid_vector_types(fcinfo);
	HybridTargetOptions options = {.what = "hybrid_knn"};
	HybridQueries queries;
	int group;
	int first;

	hybrid_check_arguments(fcinfo, names, lengthof(names));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	context = AllocSetContextCreate(CurrentMemoryContext, "hybrid_knn", ALLOCSET_DEFAULT_SIZES);
	previous = MemoryContextSwitchTo(context);

	options.metric = hybrid_parse_metric(text_to_cstring(PG_GETARG_TEXT_PP(4)));
	options.k = PG_GETARG_INT32(3);
	hybrid_check_k(options.k);
	options.recall = hybrid_recall_argument(fcinfo, 6);
	array = PG_GETARG_ARRAYTYPE_P(2);
	hybrid_queries_unpack(array, &queries);
	if (!PG_ARGISNULL(5))
		options.filter = text_to_cstring(PG_GETARG_TEXT_PP(5));
	target = hybrid_target_open(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)), &types, &options);

	group = hybrid_target_group(target, queries.dims, 0);
	for (first = 0; first < queries.count; first += group)
	{
		MemoryContext pass =
			AllocSetContextCreate(context, "hybrid_knn pass", ALLOCSET_DEFAULT_SIZES);
		HybridQueries part = {.count = Min(group, queries.count - first), .dims = queries.dims};
		HyTopK *answers;

		MemoryContextSwitchTo(pass);
		part.x = queries.x + (Size) first * queries.dims;
		hybrid_target_range(target, (double) first / queries.count,
		                    (double) (first + part.count) / queries.count);
		answers = hybrid_nearest(target, &part);
		put_answers((ReturnSetInfo *) fcinfo->resultinfo, answers, part.count, first);
		MemoryContextSwitchTo(context);
		MemoryContextDelete(pass);
	}
	hybrid_target_close(target);
	MemoryContextSwitchTo(previous);
	MemoryContextDelete(context);
	return (Datum) 0;
}

static void
put_answers(ReturnSetInfo *rsinfo, HyTopK *answers, int count, int first)
{
	bool nulls[3] = {false, false, false};
	int i;
	int32 n;

	for (i = 0; i < count; i++)
	{
		const HyTopK *best = &answers[i];

		for (n = 0; n < best->count; n++)
		{
			ItemPointerData tid;
			Datum values[3];

			CHECK_FOR_INTERRUPTS();
			tid = hybrid_position_tid(best->items[n].row);
			values[0] = Int32GetDatum(first + i + 1);
			values[1] = PointerGetDatum(&tid);
			values[2] = Float8GetDatum(best->items[n].distance);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
	}
}
