/*
 * overflow.c
 *		Writes the parts of an entry that are not on its list page.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "index/page/packed.h"
#include "index/write/overflow.h"
#include "index/tree/free_pages.h"
#include "index/tree/tree.h"

static Page begin_part(Relation index, GenericXLogState *record, const HybridLink *list,
                       HybridPageKind kind, BlockNumber *block, Buffer *buffer);
static Buffer
part_to_write(Relation index, const HybridLink *list, BlockNumber *named, bool *fresh);

void
hybrid_write_vector(Relation index, const HybridLayout *layout, const HybridOverflow *slot,
                    const HybridStored *stored, const void *vector)
{
	const HybridListLayout *shape = hybrid_list_layout(layout, slot->level);
	BlockNumber *named =
		slot->directory + shape->code_pages + slot->slot / shape->per_page * shape->span;
	int p;

	for (p = 0; p < shape->span; p++)
	{
		GenericXLogState *record = GenericXLogStart(index);
		HybridPageKind kind = p == 0 ? HYBRID_PAGE_VECTORS : HYBRID_PAGE_VECTOR_TAIL;
		Buffer buffer;
		Page page = begin_part(index, record, slot->list, kind, &named[p], &buffer);

		if (p == 0)
			hybrid_vector_put(shape, page, slot->slot % shape->per_page, stored, vector);
		else
			hybrid_tail_put(shape, page, p, vector);
		GenericXLogFinish(record);
		UnlockReleaseBuffer(buffer);
	}
}

void
hybrid_write_piece(Relation index, const HybridLayout *layout, const HybridOverflow *slot,
                   const HybridPiece *piece, const void *value)
{
	int first, last, number;

	Assert(layout->packed);
	(void) layout;
	hybrid_packed_pages(piece, &first, &last);
	for (number = first; number <= last; number++)
	{
		GenericXLogState *record = GenericXLogStart(index);
		Buffer buffer;
		Page page = begin_part(index, record, slot->list, HYBRID_PAGE_VALUES,
		                       &slot->directory[number], &buffer);

		hybrid_packed_put(page, number, piece, value);
		GenericXLogFinish(record);
		UnlockReleaseBuffer(buffer);
	}
}

void
hybrid_write_codes(Relation index, const HybridLayout *layout, const HybridOverflow *slot,
                   const uint8 *bits, const HyCode *code)
{
	int pages = hybrid_list_layout(layout, slot->level)->code_pages, i;
	BlockNumber *directory = slot->directory;
	HyCodeFactors unused;
	Size begin, length;
	uint8 *codes;

	if (pages == 0)
		return;
	codes = palloc0(layout->code_bytes);
	for (i = 0; i < pages; i++)
	{
		Buffer buffer;

		if (!BlockNumberIsValid(directory[i]))
			continue;
		buffer = hybrid_part_read(index, slot->list, HYBRID_PAGE_CODES, directory[i], NULL);
		hybrid_codes_range(layout, i, &begin, &length);
		memcpy(codes + begin, PageGetContents(BufferGetPage(buffer)), length);
		UnlockReleaseBuffer(buffer);
	}
	hy_code_put(codes, &unused, layout->padded, slot->slot, bits, code);
	for (i = 0; i < pages; i++)
	{
		GenericXLogState *record = GenericXLogStart(index);
		Buffer buffer;
		Page page =
			begin_part(index, record, slot->list, HYBRID_PAGE_CODES, &directory[i], &buffer);

		hybrid_codes_put(layout, page, i, codes);
		GenericXLogFinish(record);
		UnlockReleaseBuffer(buffer);
	}
	pfree(codes);
}

/*
 * begin_part: get a page from part_to_write, and return its image in the WAL record. A fresh page is
 * first made an empty page of this kind.
 */
static Page
begin_part(Relation index, GenericXLogState *record, const HybridLink *list, HybridPageKind kind,
           BlockNumber *block, Buffer *buffer)
{
	bool fresh;
	Page page;

	*buffer = part_to_write(index, list, block, &fresh);
	page = GenericXLogRegisterBuffer(record, *buffer, fresh ? GENERIC_XLOG_FULL_IMAGE : 0);
	if (fresh)
		hybrid_page_empty(page, kind, list);
	return page;
}

/*
 * part_to_write: return the page *named, exclusively locked. If it is not valid yet, allocate a page,
 * set *named to it, and set *fresh.
 */
static Buffer
part_to_write(Relation index, const HybridLink *list, BlockNumber *named, bool *fresh)
{
	uint16 generation;
	Buffer buffer;

	*fresh = !BlockNumberIsValid(*named);
	if (*fresh)
	{
		buffer = hybrid_page_allocate(index, &generation);
		*named = BufferGetBlockNumber(buffer);
		return buffer;
	}
	buffer = ReadBuffer(index, *named);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	if (!hybrid_page_of_list(BufferGetPage(buffer), list))
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" refers to block %u as part of list %u, but it is not",
		                       RelationGetRelationName(index), *named, list->head),
		                errhint("REINDEX it.")));
	return buffer;
}
