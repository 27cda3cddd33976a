/*
 * entry.c
 *		Make index entries from values of the table.
 */
#include "postgres.h"

#include "fmgr.h"

#include "index/page/index.h"

bool
hybrid_entry_form(const HybridIndex *index, const Datum *values, const bool *isnull,
                  const ItemPointerData *tid, HybridEntry *entry)
{
	const HybridLayout *layout = &index->layout;
	const HybridType *type = index->opclass->type;
	const void *value;
	uint64 *words = hybrid_words(layout, entry->vector);
	int dims, i;

	if (isnull[0])
		return false;
	value = PG_DETOAST_DATUM(values[0]);
	dims = type->dims(value);

	if (dims != layout->dims)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("expected %d dimensions, not %d", layout->dims, dims)));
	entry->tid = *tid;
	for (i = 0; i < layout->words; i++)
		words[i] = isnull[1 + i] ? HY_WORD_NULL
		                         : hybrid_included_word(&index->included[i],
		                                                index->included[i].type, values[1 + i]);
	return type->store(index->metric, layout, value, entry->vector, &entry->stored);
}
