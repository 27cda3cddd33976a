/*
 * build_sort.c
 *		CREATE INDEX: sorts rows by list, and within a list by heap position; with keys, by key first.
 */
#include "postgres.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"

#include "server/position.h"

#include "index/build/build.h"

#define COLUMNS 4 /* columns of the sort: list, position, vector, and the word of the first key */
#define SIGN (UINT64CONST(1) << 63)

void
hybrid_row_sort_begin(HybridRowSort *sort, const HybridLayout *layout, int kilobytes,
                      SortCoordinate coordinate)
{
	TupleDesc descriptor = CreateTemplateTupleDesc(COLUMNS);
	/* the key comes first, if there are keys */
	AttrNumber columns[] = {4, 1, 2};
	Oid operators[] = {Int8LessOperator, Int4LessOperator, Int8LessOperator};
	Oid collations[] = {InvalidOid, InvalidOid, InvalidOid};
	bool nulls_first[] = {false, false, false};
	int from = layout->bounds > 0 ? 0 : 1;

	TupleDescInitEntry(descriptor, 1, "list", INT4OID, -1, 0);
	TupleDescInitEntry(descriptor, 2, "position", INT8OID, -1, 0);
	TupleDescInitEntry(descriptor, 3, "vector", BYTEAOID, -1, 0);
	TupleDescInitEntry(descriptor, 4, "key", INT8OID, -1, 0);
	sort->layout = layout;
	sort->given = MakeSingleTupleTableSlot(descriptor, &TTSOpsVirtual);
	sort->taken = MakeSingleTupleTableSlot(descriptor, &TTSOpsMinimalTuple);
	sort->payload = palloc(VARHDRSZ + sizeof(HybridStored) + layout->leaf.carried);
	sort->state = tuplesort_begin_heap(descriptor, 3 - from, columns + from, operators + from,
	                                   collations + from, nulls_first + from, kilobytes, coordinate,
	                                   TUPLESORT_NONE);
}

void
hybrid_row_sort_put(HybridRowSort *sort, int list, const HybridEntry *entry)
{
	const HybridLayout *layout = sort->layout;
	Size words = layout->words * sizeof(uint64);
	Size bytes = hybrid_stored_bytes(layout->leaf.storage, layout->dims, entry->vector);
	TupleTableSlot *slot = sort->given;
	char *content = VARDATA(sort->payload);

	memcpy(content, &entry->stored, sizeof(HybridStored));
	content += sizeof(HybridStored);
	memcpy(content, hybrid_words(layout, entry->vector), words);
	memcpy(content + words, entry->vector, bytes);
	SET_VARSIZE(sort->payload, VARHDRSZ + sizeof(HybridStored) + words + bytes);
	ExecClearTuple(slot);
	slot->tts_values[0] = Int32GetDatum(list);
	slot->tts_values[1] = Int64GetDatum(hybrid_position(&entry->tid));
	slot->tts_values[2] = PointerGetDatum(sort->payload);
	memset(slot->tts_isnull, 0, COLUMNS * sizeof(bool));
	slot->tts_isnull[3] = layout->bounds == 0;
	/* with the highest bit flipped, signed numbers have the order of the unsigned words */
	if (layout->bounds > 0)
		slot->tts_values[3] = Int64GetDatum((int64) (*hybrid_words(layout, entry->vector) ^ SIGN));
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(sort->state, slot);
}

void
hybrid_row_sort_next(HybridRowSort *sort, int64 *position, HybridStored *stored, void *vector)
{
	Size words = sort->layout->words * sizeof(uint64);
	const bytea *payload;
	const char *content;
	bool isnull;

	if (!tuplesort_gettupleslot(sort->state, true, false, sort->taken, NULL))
		elog(ERROR, "rows to be indexed are missing from the sort");
	*position = DatumGetInt64(slot_getattr(sort->taken, 2, &isnull));
	payload = DatumGetByteaPP(slot_getattr(sort->taken, 3, &isnull));
	content = VARDATA_ANY(payload);
	memcpy(stored, content, sizeof(HybridStored));
	content += sizeof(HybridStored);
	memcpy(hybrid_words(sort->layout, vector), content, words);
	memcpy(vector, content + words, VARSIZE_ANY_EXHDR(payload) - sizeof(HybridStored) - words);
}

void
hybrid_row_sort_end(HybridRowSort *sort)
{
	ExecDropSingleTupleTableSlot(sort->given);
	ExecDropSingleTupleTableSlot(sort->taken);
	pfree(sort->payload);
	tuplesort_end(sort->state);
}
