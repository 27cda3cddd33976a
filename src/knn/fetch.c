/*
 * fetch.c
 *		Fetches rows of a table by the tids that an index stores: see fetch.h.
 *
 * An index entry names the root of a chain of versions. After a HOT update, a query may see a later
 * version of the chain, on the same page. The result must carry the ctid of the version that the
 * query sees.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "knn/fetch.h"
#include "server/position.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

struct HybridFetch
{
	AttrNumber attnum;
	HyDtype dtype;
	const HybridTidSet *filter;
	Snapshot snapshot;
	struct IndexFetchTableData *scan;
	TupleTableSlot *slot;
	MemoryContext row; /* holds the detoasted vector of the current row */
};

HybridFetch *
hybrid_fetch_begin(Relation table, AttrNumber attnum, HyDtype dtype, const HybridTidSet *filter)
{
	HybridFetch *fetch = palloc(sizeof(HybridFetch));

	fetch->attnum = attnum;
	fetch->dtype = dtype;
	fetch->filter = filter;
	fetch->snapshot = GetActiveSnapshot();
	fetch->scan = table_index_fetch_begin(table);
	fetch->slot = table_slot_create(table, NULL);
	fetch->row =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid fetched row", ALLOCSET_SMALL_SIZES);
	return fetch;
}

bool
hybrid_fetch(HybridFetch *fetch, int64 root, int64 *position, const HybridDense **vector)
{
	ItemPointerData tid;
	bool more = false;
	bool isnull;
	Datum value;
	MemoryContext before;

	CHECK_FOR_INTERRUPTS();
	tid = hybrid_position_tid(root);
	/* the chain has no second visible version, because this is an MVCC snapshot */
	if (!table_index_fetch_tuple(fetch->scan, &tid, fetch->snapshot, fetch->slot, &more, NULL))
		return false;
	if (fetch->filter != NULL && !hybrid_tid_set_allows(fetch->filter, &fetch->slot->tts_tid))
		return false;
	*position = hybrid_position(&fetch->slot->tts_tid);
	if (vector == NULL)
		return true;
	value = slot_getattr(fetch->slot, fetch->attnum, &isnull);
	if (isnull)
		return false;
	MemoryContextReset(fetch->row);
	before = MemoryContextSwitchTo(fetch->row);
	*vector = DatumGetHybridDense(value, fetch->dtype);
	MemoryContextSwitchTo(before);
	return true;
}

void
hybrid_fetch_end(HybridFetch *fetch)
{
	ExecDropSingleTupleTableSlot(fetch->slot);
	table_index_fetch_end(fetch->scan);
	MemoryContextDelete(fetch->row);
	pfree(fetch);
}
