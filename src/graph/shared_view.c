/*
 * shared_view.c
 *		hybrid_shared_graphs: returns the graphs of this database that are in shared memory.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "graph/call.h"
#include "graph/shared_graphs.h"
#include "utils/builtins.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(hybrid_shared_graphs);

Datum
hybrid_shared_graphs(PG_FUNCTION_ARGS)
{
	HybridSharedGraphInfo info[HYBRID_SHARED_GRAPHS];
	HybridCall call;
	int count;
	int i;

	hybrid_call_begin(&call, fcinfo);
	count = hybrid_shared_graphs_list(info, HYBRID_SHARED_GRAPHS);
	for (i = 0; i < count; i++)
	{
		Datum values[] = {
			ObjectIdGetDatum(info[i].key.index),
			CStringGetTextDatum(hybrid_direction_name(info[i].key.direction)),
			BoolGetDatum(info[i].all_types),
			Int64GetDatum(info[i].nodes),
			Int64GetDatum(info[i].edges),
			Int64GetDatum(info[i].bytes),
			Int64GetDatum(info[i].sessions),
			BoolGetDatum(info[i].is_current &&
		                 SearchSysCacheExists1(RELOID, ObjectIdGetDatum(info[i].key.index)))};

		hybrid_call_row(&call, values);
	}
	return hybrid_call_end(&call);
}
