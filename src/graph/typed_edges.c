/*
 * typed_edges.c
 *		Sorts edges that have types: see typed_edges.h.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_collation.h"
#include "executor/tuptable.h"
#include "graph/typed_edges.h"
#include "miscadmin.h"
#include "utils/datum.h"
#include "utils/typcache.h"

#define COLUMNS 4 /* source, target, weight, type */

static bool next_edge(HybridTypedEdges *edges, TupleTableSlot *slot);
static bool is_parallel(const TupleTableSlot *a, const TupleTableSlot *b);

void
hybrid_typed_edges_begin(HybridTypedEdges *edges, const HybridCall *call)
{
	/* sort by source, target and type, and parallel edges by weight, so that the sum of their weights is canonical */
	static AttrNumber key[COLUMNS] = {1, 2, 4, 3};
	static Oid collation[COLUMNS] = {[2] = C_COLLATION_OID};
	static bool nulls_first[COLUMNS];
	TupleDesc columns = call->result->setDesc;
	Oid less[COLUMNS];
	int i;

	for (i = 0; i < COLUMNS; i++)
		less[i] = lookup_type_cache(TupleDescAttr(columns, key[i] - 1)->atttypid, TYPECACHE_LT_OPR)
		              ->lt_opr;
	edges->sort = tuplesort_begin_heap(columns, COLUMNS, key, less, collation, nulls_first,
	                                   work_mem, NULL, TUPLESORT_NONE);
	edges->slot = MakeSingleTupleTableSlot(columns, &TTSOpsMinimalTuple);
}

void
hybrid_typed_edges_add(HybridTypedEdges *edges, const HyEdge *edge, text *type)
{
	ExecClearTuple(edges->slot);
	edges->slot->tts_values[0] = Int64GetDatum(edge->source);
	edges->slot->tts_values[1] = Int64GetDatum(edge->target);
	edges->slot->tts_values[2] = Float4GetDatum(edge->weight);
	edges->slot->tts_values[3] = PointerGetDatum(type);
	memset(edges->slot->tts_isnull, false, COLUMNS);
	edges->slot->tts_isnull[3] = type == NULL;
	ExecStoreVirtualTuple(edges->slot);
	tuplesort_puttupleslot(edges->sort, edges->slot);
}

void
hybrid_typed_edges_answer(HybridTypedEdges *edges, HybridCall *call)
{
	TupleTableSlot *first = edges->slot;
	TupleTableSlot *next =
		MakeSingleTupleTableSlot(first->tts_tupleDescriptor, &TTSOpsMinimalTuple);
	bool more;

	tuplesort_performsort(edges->sort);
	more = next_edge(edges, first);
	while (more)
	{
		TupleTableSlot *done = first;
		double weight = DatumGetFloat4(first->tts_values[2]);

		while ((more = next_edge(edges, next)) && is_parallel(first, next))
			weight += DatumGetFloat4(next->tts_values[2]);
		if (isinf((float) weight))
			ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			                errmsg("sum of the weights of parallel graph edges is out of the range "
			                       "of real")));
		first->tts_values[2] = Float4GetDatum((float) weight);
		hybrid_call_row_with_nulls(call, first->tts_values, first->tts_isnull);
		first = next;
		next = done;
	}
}

void
hybrid_typed_edges_end(HybridTypedEdges *edges)
{
	tuplesort_end(edges->sort);
}

/* next_edge: get the next edge. Returns false after the last. */
static bool
next_edge(HybridTypedEdges *edges, TupleTableSlot *slot)
{
	CHECK_FOR_INTERRUPTS();
	if (!tuplesort_gettupleslot(edges->sort, true, true, slot, NULL))
		return false;
	slot_getallattrs(slot);
	return true;
}

/* is_parallel: return whether two edges have the same ends and type. */
static bool
is_parallel(const TupleTableSlot *a, const TupleTableSlot *b)
{
	const Datum *left = a->tts_values;
	const Datum *right = b->tts_values;

	return left[0] == right[0] && left[1] == right[1] && a->tts_isnull[3] == b->tts_isnull[3] &&
	       (a->tts_isnull[3] || datum_image_eq(left[3], right[3], false, -1));
}
