/*
 * packed.c
 *		Values of varying length.
 *
 * The VALUES pages that a list page names form one stream of bytes. The values are stored in the stream
 * one after another, across page boundaries. Each entry of the list page has a piece (HybridPiece) that
 * says where its value is. The last piece determines where the stream ends. If bytes were written for an
 * entry that never became live, they are past this end and are overwritten. A dead entry leaves a gap of
 * the size that its piece reserved. A later value that fits takes this gap.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "core/sparse.h"

#include "index/page/packed.h"
#include "index/page/list_read.h"

/* ListWriter: a list being made, one group at a time: a list page and its VALUES pages. */
typedef struct ListWriter
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
} ListWriter;

static bool put_entry(ListWriter *writer, const HybridNewEntry *entry);
static void write_group(ListWriter *writer, bool more);
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
		piece.length >= hybrid_sparse_bytes(0) && piece.length <= layout->leaf.stride &&
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
		    piece->length > layout->leaf.stride)
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
hybrid_packed_write_list(const HybridLayout *layout, HybridSink *sink,
                         const HybridNewEntries *entries)
{
	ListWriter *writer = palloc0(sizeof(ListWriter));
	HybridLink list;
	HybridNewEntry entry;
	int64 left = entries->count;
	HybridListPage *head;

	writer->layout = layout;
	writer->sink = sink;
	writer->values = palloc(layout->leaf.vector_pages * sizeof(PGAlignedBlock));
	writer->list = list = sink->reserve(sink, HYBRID_PAGE_LIST);
	writer->at = list;
	hybrid_list_page_init(layout, (Page) writer->page.data, 0, &list, list.head);
	while (left > 0)
	{
		CHECK_FOR_INTERRUPTS();
		entries->next(entries->arg, &entry);
		if (!put_entry(writer, &entry))
		{
			write_group(writer, true);
			hybrid_list_page_init(layout, (Page) writer->page.data, 0, &list, writer->at.head);
			if (!put_entry(writer, &entry))
				elog(ERROR, "a value does not fit a list page");
		}
		left--;
	}
	write_group(writer, false);

	/* fill in the totals of the list */
	head = hybrid_list_page((Page) writer->head.data);
	head->total = (uint32) entries->count;
	head->pages = writer->pages;
	head->tail = writer->at.head;
	sink->write(sink, list.head, (Page) writer->head.data);
	pfree(writer->values);
	pfree(writer);
	return list;
}

/* put_entry: add an entry to the current group. Returns false if the group is full. */
static bool
put_entry(ListWriter *writer, const HybridNewEntry *entry)
{
	const HybridLayout *layout = writer->layout;
	const HybridListLayout *shape = &layout->leaf;
	Page page = (Page) writer->page.data;
	Size length = hybrid_stored_bytes(layout->leaf.storage, layout->dims, entry->vector);
	HyCode code = {0, 0, 0};
	HybridPiece piece;
	int slot = hybrid_packed_place(shape, page, length, &piece), first, last, number;

	if (slot < 0)
		return false;
	hybrid_packed_pages(&piece, &first, &last);
	for (number = first; number <= last; number++)
	{
		Page values = (Page) writer->values[number].data;

		if (number == writer->values_count)
		{
			HybridLink link = writer->sink->reserve(writer->sink, HYBRID_PAGE_VECTORS);

			hybrid_directory(page)[number] = link.head;
			hybrid_page_init(values, HYBRID_PAGE_VALUES, writer->list.head,
			                 writer->list.generation);
			hybrid_special(values)->heads = link.generation - 1;
			writer->values_count++;
		}
		hybrid_packed_put(values, number, &piece, entry->vector);
	}
	hybrid_list_put(layout, (HybridSlot){page, 0, slot}, NULL, &code, &entry->tid, 0);
	*hybrid_piece(shape, page, slot) = piece;
	hybrid_words_put(layout, (HybridSlot){page, 0, slot}, entry->vector);
	return true;
}

/* write_group: write the current list page and its VALUES pages. `more` says that another list page follows. */
static void
write_group(ListWriter *writer, bool more)
{
	HybridSink *sink = writer->sink;
	Page page = (Page) writer->page.data;
	HybridLink at = writer->at;
	int i;

	hybrid_special(page)->heads = at.generation - (at.head != writer->list.head ? 1 : 0);
	if (more)
	{
		writer->at = sink->reserve(sink, HYBRID_PAGE_LIST);
		hybrid_list_page(page)->next = writer->at.head;
	}
	if (at.head == writer->list.head)
		writer->head = writer->page;
	sink->write(sink, at.head, page);
	for (i = 0; i < writer->values_count; i++)
		sink->write(sink, hybrid_directory(page)[i], (Page) writer->values[i].data);
	writer->values_count = 0;
	writer->pages++;
}

/* is_value: test whether `length` bytes are a valid value, for which distances can be computed. */
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
