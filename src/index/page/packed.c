/*
 * packed.c
 *		Values of varying length.
 *
 * The VALUES pages that a list page names form one stream of bytes. The values are stored in the stream
 * one after another, across page boundaries. The pieces of the list page determine where the stream ends.
 * If bytes were written for an entry that never became live, they are past this end and are overwritten.
 * A dead entry leaves a gap of the size that its piece reserved. The next value that fits takes this gap.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "core/sparse.h"

#include "index/page/packed.h"
#include "index/page/list_read.h"

/* Composition: a list being made, one list page and its VALUES pages at a time. */
typedef struct Composition
{
	const HybridLayout *layout;
	HybridSink *sink;
	HybridLink list;
	HybridLink at; /* link of the list page being made */
	PGAlignedBlock page;
	PGAlignedBlock head;
	PGAlignedBlock *values;
	int values_count;
	uint32 pages;
} Composition;

static bool put_entry(Composition *composition, const HybridNewEntry *entry);
static void write_group(Composition *composition, bool more);
static bool is_value(const HybridLayout *layout, const HybridSparse *value, Size length);
static int compare_starts(const void *a, const void *b);

int
hybrid_packed_place(const HybridListLayout *shape, Page page, Size length, HybridPiece *piece)
{
	int used = hybrid_list_page(page)->used, dead = -1, fits = -1, slot;
	Size end = 0;

	for (slot = 0; slot < used; slot++)
	{
		const HybridPiece *there = hybrid_piece(shape, page, slot);
		uint32 live = hybrid_block(shape, page, slot / HY_CODE_ROWS)->live;

		end = Max(end, (Size) there->start + there->room);
		if ((live & (1U << slot % HY_CODE_ROWS)) != 0)
			continue;
		dead = slot;
		/* choose the smallest gap that is large enough */
		if (there->room >= length &&
		    (fits < 0 || there->room < hybrid_piece(shape, page, fits)->room))
			fits = slot;
	}
	if (fits >= 0)
	{
		*piece = *hybrid_piece(shape, page, fits);
		piece->length = (uint32) length;
		return fits;
	}
	if (end + length > (Size) shape->vector_pages * HYBRID_STREAM_PAGE)
		return -1;
	piece->start = (uint32) end;
	piece->length = (uint32) length;
	piece->room = (uint32) length;
	return used < shape->rows ? used : dead;
}

void
hybrid_packed_pages(const HybridPiece *piece, int *first, int *last)
{
	*first = (int) (piece->start / HYBRID_STREAM_PAGE);
	*last = (int) ((piece->start + Max(piece->length, 1) - 1) / HYBRID_STREAM_PAGE);
}

void
hybrid_packed_put(Page page, int number, const HybridPiece *piece, const void *value)
{
	PageHeader header = (PageHeader) page;
	Size origin = (Size) number * HYBRID_STREAM_PAGE;
	Size begin = Max(origin, piece->start);
	Size end = Min(origin + HYBRID_STREAM_PAGE, (Size) piece->start + piece->length);

	memcpy(PageGetContents(page) + (begin - origin), (const char *) value + (begin - piece->start),
	       end - begin);
	header->pd_lower = (LocationIndex) Max(header->pd_lower, SizeOfPageHeaderData + (end - origin));
}

void
hybrid_packed_read(Relation index, const HybridLayout *layout, Page list_page, int slot,
                   HybridStored *stored, void *value, BufferAccessStrategy strategy)
{
	const HybridListLayout *shape = &layout->leaf;
	const HybridPageSpecial *special = hybrid_special(list_page);
	const HybridPiece piece = *hybrid_piece(shape, list_page, slot);
	HybridLink list = {special->list, special->generation};
	bool sane =
		piece.length >= hybrid_sparse_bytes(0) && piece.length <= layout->stride &&
		(Size) piece.start + piece.length <= (Size) shape->vector_pages * HYBRID_STREAM_PAGE;
	int first = 0, last = -1, number;

	if (sane)
		hybrid_packed_pages(&piece, &first, &last);
	for (number = first; number <= last && sane; number++)
	{
		BlockNumber block = hybrid_directory(list_page)[number];
		Size origin = (Size) number * HYBRID_STREAM_PAGE;
		Size begin = Max(origin, piece.start);
		Size end = Min(origin + HYBRID_STREAM_PAGE, (Size) piece.start + piece.length);
		Buffer buffer;

		sane = BlockNumberIsValid(block);
		if (!sane)
			break;
		buffer = hybrid_part_read(index, &list, HYBRID_PAGE_VALUES, block, strategy);
		memcpy((char *) value + (begin - piece.start),
		       PageGetContents(BufferGetPage(buffer)) + (begin - origin), end - begin);
		UnlockReleaseBuffer(buffer);
	}
	if (!sane || !is_value(layout, (const HybridSparse *) value, piece.length))
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" has a damaged value in list %u",
		                       RelationGetRelationName(index), list.head),
		                errdetail("Slot %d, %u bytes at %u.", slot, piece.length, piece.start),
		                errhint("REINDEX it.")));
	hybrid_store_as_given(stored);
}

const char *
hybrid_packed_fault(const HybridLayout *layout, Page page, Size *needed)
{
	const HybridListLayout *shape = &layout->leaf;
	int used = hybrid_list_page(page)->used, i;
	HybridPiece *pieces = palloc(Max(used, 1) * sizeof(HybridPiece));
	const char *fault = NULL;
	Size end = 0;

	for (i = 0; i < used; i++)
		pieces[i] = *hybrid_piece(shape, page, i);
	qsort(pieces, used, sizeof(HybridPiece), compare_starts);
	memset(needed, 0, shape->vector_pages * sizeof(Size));
	for (i = 0; i < used && fault == NULL; i++)
	{
		const HybridPiece *piece = &pieces[i];
		int first, last, number;

		if (piece->length > piece->room || piece->length < hybrid_sparse_bytes(0) ||
		    piece->length > layout->stride)
			fault = "has a value of an impossible length";
		else if (piece->start < end)
			fault = "has two values in one place";
		else if ((Size) piece->start + piece->room >
		         (Size) shape->vector_pages * HYBRID_STREAM_PAGE)
			fault = "has a value beyond the end of its pages";
		if (fault != NULL)
			break;
		end = (Size) piece->start + piece->room;
		hybrid_packed_pages(piece, &first, &last);
		for (number = first; number <= last; number++)
			needed[number] =
				Min((Size) piece->start + piece->length - (Size) number * HYBRID_STREAM_PAGE,
			        HYBRID_STREAM_PAGE);
	}
	pfree(pieces);
	return fault;
}

HybridLink
hybrid_packed_compose(const HybridLayout *layout, HybridSink *sink, const HybridNewEntries *entries)
{
	Composition *composition = palloc0(sizeof(Composition));
	HybridLink list;
	HybridNewEntry entry;
	int64 left = entries->count;
	HybridListPage *head;

	composition->layout = layout;
	composition->sink = sink;
	composition->values = palloc(layout->leaf.vector_pages * sizeof(PGAlignedBlock));
	composition->list = list = sink->reserve(sink, HYBRID_PAGE_LIST);
	composition->at = list;
	hybrid_list_page_init(layout, (Page) composition->page.data, 0, &list, list.head);
	while (left > 0)
	{
		CHECK_FOR_INTERRUPTS();
		entries->next(entries->arg, &entry);
		if (!put_entry(composition, &entry))
		{
			write_group(composition, true);
			hybrid_list_page_init(layout, (Page) composition->page.data, 0, &list,
			                      composition->at.head);
			if (!put_entry(composition, &entry))
				elog(ERROR, "a value does not fit a list page");
		}
		left--;
	}
	write_group(composition, false);

	/* fill in the totals of the list */
	head = hybrid_list_page((Page) composition->head.data);
	head->total = (uint32) entries->count;
	head->pages = composition->pages;
	head->tail = composition->at.head;
	sink->write(sink, list.head, (Page) composition->head.data);
	pfree(composition->values);
	pfree(composition);
	return list;
}

/* put_entry: add an entry to the group. Returns false if the group is full. */
static bool
put_entry(Composition *composition, const HybridNewEntry *entry)
{
	const HybridLayout *layout = composition->layout;
	const HybridListLayout *shape = &layout->leaf;
	Page page = (Page) composition->page.data;
	Size length = hybrid_stored_bytes(layout->storage, layout->dims, entry->vector);
	HyCode code = {0, 0, 0};
	HybridPiece piece;
	int slot = hybrid_packed_place(shape, page, length, &piece), first, last, number;

	if (slot < 0)
		return false;
	hybrid_packed_pages(&piece, &first, &last);
	for (number = first; number <= last; number++)
	{
		Page values = (Page) composition->values[number].data;

		if (number == composition->values_count)
		{
			HybridLink link = composition->sink->reserve(composition->sink, HYBRID_PAGE_VECTORS);

			hybrid_directory(page)[number] = link.head;
			hybrid_page_init(values, HYBRID_PAGE_VALUES, composition->list.head,
			                 composition->list.generation);
			hybrid_special(values)->heads = link.generation - 1;
			composition->values_count++;
		}
		hybrid_packed_put(values, number, &piece, entry->vector);
	}
	hybrid_list_put(layout, (HybridSlot){page, 0, slot}, NULL, &code, &entry->tid, 0);
	*hybrid_piece(shape, page, slot) = piece;
	hybrid_words_put(layout, (HybridSlot){page, 0, slot}, entry->vector);
	return true;
}

/* write_group: write the list page and its VALUES pages. `more` is true if another list page follows. */
static void
write_group(Composition *composition, bool more)
{
	HybridSink *sink = composition->sink;
	Page page = (Page) composition->page.data;
	HybridLink at = composition->at;
	int i;

	hybrid_special(page)->heads = at.generation - (at.head != composition->list.head ? 1 : 0);
	if (more)
	{
		composition->at = sink->reserve(sink, HYBRID_PAGE_LIST);
		hybrid_list_page(page)->next = composition->at.head;
	}
	if (at.head == composition->list.head)
		composition->head = composition->page;
	sink->write(sink, at.head, page);
	for (i = 0; i < composition->values_count; i++)
		sink->write(sink, hybrid_directory(page)[i], (Page) composition->values[i].data);
	composition->values_count = 0;
	composition->pages++;
}

/* is_value: test whether these bytes are a valid value, for which distances can be computed. */
static bool
is_value(const HybridLayout *layout, const HybridSparse *value, Size length)
{
	return value->count >= 0 && value->count <= HY_SPARSE_MAX_ELEMENTS &&
	       hybrid_sparse_bytes(value->count) == length &&
	       hy_sparse_check_indices(value->indices, value->count, layout->dims) == HY_SPARSE_OK;
}

static int
compare_starts(const void *a, const void *b)
{
	uint32 x = ((const HybridPiece *) a)->start, y = ((const HybridPiece *) b)->start;

	return (x > y) - (x < y);
}
