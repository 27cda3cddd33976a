/*
 * entry.c
 *		Make index entries from values of the table.
 */
#include "postgres.h"

#include "fmgr.h"

#include "index/page/index.h"
#include "types/vector.h"

static void compute_words(const HybridIndex *index, HybridRow *row);

void
hybrid_row_begin(const HybridIndex *index, const Datum *values, const bool *isnull, HybridRow *row)
{
	memset(row, 0, sizeof(*row));
	row->values = values;
	row->isnull = isnull;
	if (isnull[index->keys])
		return;
	row->entries = 1;
	if (index->opclass->many)
	{
		row->array = DatumGetArrayTypeP(values[index->keys]);
		row->elements = hybrid_vectors_of(row->array, index->opclass->type->dtype);
		row->entries = (int) row->elements.rows;
	}
}

void
hybrid_row_end(const HybridIndex *index, HybridRow *row)
{
	if (row->array != NULL && PointerGetDatum(row->array) != row->values[index->keys])
		pfree(row->array);
	row->array = NULL;
}

bool
hybrid_entry_form(const HybridIndex *index, HybridRow *row, int which, const ItemPointerData *tid,
                  HybridEntry *entry)
{
	const HybridLayout *layout = &index->layout;
	const HybridType *type = index->opclass->type;
	const void *value;
	int dims;

	if (row->array != NULL)
		value = (const char *) hy_matrix_row(&row->elements, which) - offsetof(HybridDense, x);
	else
		value = PG_DETOAST_DATUM(row->values[index->keys]);
	dims = type->dims(value);

	if (dims != layout->dims)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("expected %d dimensions, not %d", layout->dims, dims)));
	entry->tid = *tid;
	if (!row->worded)
		compute_words(index, row);
	memcpy(hybrid_words(layout, entry->vector), row->words, layout->words * sizeof(uint64));
	return type->store(index->metric, layout, value, entry->vector, &entry->stored);
}

/* compute_words: compute the words of a row: one for each column of the index other than the vector. */
static void
compute_words(const HybridIndex *index, HybridRow *row)
{
	int i;

	for (i = 0; i < index->layout.words; i++)
	{
		const HybridIncluded *column = &index->included[i];
		int at = hybrid_included_column(index->keys, i);

		row->words[i] = row->isnull[at]
		                    ? HY_WORD_NULL
		                    : hybrid_included_word(column, column->type, row->values[at]);
	}
	row->worded = true;
}
