/*
 * entry.c
 *		Make index entries from values of the table.
 */
#include "postgres.h"

#include "fmgr.h"

#include "index/page/index.h"

bool
hybrid_entry_form(const HybridIndex *index, Datum datum, const ItemPointerData *tid,
                  HybridEntry *entry)
{
	const HybridLayout *layout = &index->layout;
	const HybridType *type = index->opclass->type;
	const void *value = PG_DETOAST_DATUM(datum);
	int dims = type->dims(value);

	if (dims != layout->dims)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("expected %d dimensions, not %d", layout->dims, dims)));
	entry->tid = *tid;
	return type->store(index->metric, layout, value, entry->vector, &entry->stored);
}
