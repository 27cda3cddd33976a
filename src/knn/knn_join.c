/*
 * knn_join.c
 *		hybrid_knn_join: the nearest rows of one relation for each row of another.
 */
#include "postgres.h"

#include "fmgr.h"
#include "funcapi.h"
#include "knn/arguments.h"
#include "knn/join.h"
#include "server/position.h"
#include "miscadmin.h"
#include "server/report.h"
#include "utils/builtins.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(hybrid_knn_join);

static void put_joined(void *arg, const HybridJoined *joined);

Datum
hybrid_knn_join(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"left_rel",  "left_col", "right_rel",
	                                    "right_col", "k",        "metric"};
	HybridVectorTypes types = hybrid_vector_types(fcinfo);
	HybridTargetOptions options = {.what = "hybrid_knn_join"};
	MemoryContext context;
	MemoryContext previous;
	HybridRows *left;
	HybridTarget *right;

	hybrid_check_arguments(fcinfo, names, lengthof(names));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid_knn_join", ALLOCSET_DEFAULT_SIZES);
	previous = MemoryContextSwitchTo(context);
	options.k = PG_GETARG_INT32(4);
	options.metric = hybrid_parse_metric(text_to_cstring(PG_GETARG_TEXT_PP(5)));
	hybrid_check_k(options.k);
	options.recall = hybrid_recall_argument(fcinfo, 6);
	left = hybrid_rows_open(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)), &types, NULL, NULL);
	/* if both relations are the same, one report is enough */
	if (PG_GETARG_OID(0) != PG_GETARG_OID(2))
		hybrid_rows_report_fetched(left, options.what);
	right = hybrid_target_open(PG_GETARG_OID(2), NameStr(*PG_GETARG_NAME(3)), &types, &options);
	hybrid_join(left, right, 0, put_joined, fcinfo->resultinfo);
	hybrid_target_close(right);
	hybrid_rows_close(left);
	MemoryContextSwitchTo(previous);
	MemoryContextDelete(context);
	return (Datum) 0;
}

static void
put_joined(void *arg, const HybridJoined *joined)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) arg;
	bool nulls[3] = {false, false, false};
	int i;
	int32 n;

	for (i = 0; i < joined->count; i++)
	{
		const HyTopK *best = &joined->answers[i];
		ItemPointerData left;

		left = hybrid_position_tid(joined->positions[i]);
		for (n = 0; n < best->count; n++)
		{
			ItemPointerData right;
			Datum values[3];

			CHECK_FOR_INTERRUPTS();
			right = hybrid_position_tid(best->items[n].row);
			values[0] = PointerGetDatum(&left);
			values[1] = PointerGetDatum(&right);
			values[2] = Float8GetDatum(best->items[n].distance);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
	}
}
