/*
 * neighbors.c
 *		hybrid_neighbors: the nodes within a number of hops of given nodes.
 */
#include "postgres.h"

#include "graph/reached.h"

PG_FUNCTION_INFO_V1(hybrid_neighbors);

Datum
hybrid_neighbors(PG_FUNCTION_ARGS)
{
	HybridReached reached;
	int64 i;

	hybrid_reached_find(fcinfo, &reached);
	for (i = 0; i < reached.nodes.count; i++)
	{
		uint32 node = reached.nodes.order[i];
		Datum values[] = {Int64GetDatum(reached.call.csr->ids[node]),
		                  Int32GetDatum(reached.nodes.hop[node])};

		hybrid_call_row(&reached.call, values);
	}
	return hybrid_call_end(&reached.call);
}
