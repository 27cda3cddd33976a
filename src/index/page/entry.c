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

	if (isnull[index->keys])
		return false;
	value = PG_DETOAST_DATUM(values[index->keys]);
	dims = type->dims(value);

	if (dims != layout->dims)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("expected %d dimensions, not %d", layout->dims, dims)));
	entry->tid = *tid;
	for (i = 0; i < layout->words; i++)
	{
		const HybridIncluded *column = &index->included[i];
		int at = hybrid_included_column(index->keys, i);

		words[i] =
			isnull[at] ? HY_WORD_NULL : hybrid_included_word(column, column->type, values[at]);
	}
	return type->store(index->metric, layout, value, entry->vector, &entry->stored);
}
