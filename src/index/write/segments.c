/*
 * segments.c
 *		Makes the segments of a list of sparse vectors.
 *
 * Inserts do not change segments, because one row would change as many inverted lists as it has
 * elements. Until a segment describes an inserted row, each scan computes the distance of that row.
 * CREATE INDEX and VACUUM make segments, as VACUUM empties the pending list of a GIN index. A range of
 * list pages gets a new segment if more than HYBRID_UNDESCRIBED_LEAST rows plus a share of its rows are
 * not described, or if most described rows are gone. Thus many inserted rows share the cost of a
 * segment, and few distances of gone or undescribed rows are computed.
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "server/compat.h"
#include "server/memory.h"

#include "index/page/list_read.h"
#include "index/tree/free_pages.h"
#include "index/tree/tree.h"
#include "index/write/segment_rows.h"
#include "index/write/segments.h"

/*
 * a range gets a new segment if more than HYBRID_UNDESCRIBED_LEAST rows plus this share of its rows are
 * not described
 */
#define UNDESCRIBED_SHARE (1.0 / 16)
#define LEAST_OF_RUN 8 /* a list of at least this many postings begins a new page if fewer fit */

/* Range: consecutive list pages that one segment describes. */
typedef struct Range
{
	Relation index;
	const HybridIndex *open;
	HybridLink list;
	uint32 first;        /* number of the first page */
	BlockNumber *blocks; /* list pages */
	int pages;
	int64 live;         /* number of live rows of these pages */
	int64 undescribed;  /* number of live rows that `segment` does not describe */
	HybridLink segment; /* the first segment that a page names; its head is invalid if none */
	HybridLink *others; /* further segments, which pages name only after a crash */
	int others_count;
} Range;

/* Writer: a segment being written. */
typedef struct Writer
{
	HybridSink *sink;
	HybridLink link;
	PGAlignedBlock page; /* POSTINGS page being filled */
	HybridLink at; /* the block of this page, and the generation that it would have as a head */
	HybridDimension *dimensions; /* first dimension and block of each POSTINGS page */
	int64 count;
	int64 room;
	float *values; /* space for the values of one run */
	uint64 postings;
} Writer;

static BlockNumber read_range(Range *range, BlockNumber block);
static void note_segment(Range *range, const HybridLink *link);
static bool is_due(const Range *range);
static HybridLink write_segment(Range *range, HybridSink *sink, HybridSegmentRows *rows);
static void begin_page(Writer *writer, int32 dim);
static void end_page(Writer *writer, HybridLink next);
static void put_list(Writer *writer, const HybridPosting *postings, int count);
static void write_head(Writer *writer, const Range *range, const HybridSegmentRows *rows);
static BlockNumber write_dimensions(Writer *writer, const HybridDimension *dimensions, int count);
static void
name_segment(Range *range, HybridLink segment, const HybridSegmentRows *rows, bool logged);
static void describe_page(const HybridListLayout *shape, Page page, HybridLink segment,
                          const uint32 *described, const float *measures);

void
hybrid_segments_make(Relation index, const HybridIndex *open, HybridLink list, HybridSink *sink,
                     bool logged)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid segments", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	BlockNumber block = list.head;
	uint32 first = 0;

	while (BlockNumberIsValid(block))
	{
		Range range = {.index = index, .open = open, .list = list, .first = first};
		HybridSegmentRows rows;
		int i;

		block = read_range(&range, block);
		first += (uint32) range.pages;
		if (is_due(&range))
		{
			HybridLink segment;

			hybrid_segment_rows_begin(&rows, index, open, list, range.blocks, range.pages, NULL);
			segment = write_segment(&range, sink, &rows);
			if (BlockNumberIsValid(segment.head) || BlockNumberIsValid(range.segment.head))
				name_segment(&range, segment, &rows, logged);
			if (BlockNumberIsValid(range.segment.head))
				(void) hybrid_segment_free(index, range.segment);
			for (i = 0; i < range.others_count; i++)
				(void) hybrid_segment_free(index, range.others[i]);
		}
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

int
hybrid_segment_free(Relation index, HybridLink link)
{
	HybridSegmentReader reader;
	BlockNumber *blocks;
	int count, freed = 0;

	if (!hybrid_segment_open(index, link, &reader))
		return 0;
	blocks = hybrid_segment_blocks(&reader, &count);
	if (blocks != NULL)
	{
		freed = hybrid_pages_free(index, &link, blocks, count);
		pfree(blocks);
	}
	hybrid_segment_close(&reader);
	return freed;
}

/* read_range: read the list pages of the range that begins at `block`. Returns the first block of the next range. */
static BlockNumber
read_range(Range *range, BlockNumber block)
{
	const HybridLayout *layout = &range->open->layout;
	int most = hybrid_segment_pages(layout), b;
	uint32 chain = range->first;

	range->segment.head = InvalidBlockNumber;
	range->blocks = palloc(most * sizeof(BlockNumber));
	while (BlockNumberIsValid(block) && range->pages < most)
	{
		Buffer buffer = hybrid_list_read(range->index, layout, &range->list, 0, block, NULL);
		Page page = BufferGetPage(buffer);
		HybridListPage *content = hybrid_list_page(page);
		HybridLink link = *hybrid_list_segment(content);

		range->blocks[range->pages++] = block;
		note_segment(range, &link);
		for (b = 0; b * HY_CODE_ROWS < content->used; b++)
		{
			const HybridBlock *rows = hybrid_block(&layout->leaf, page, b);
			bool described =
				BlockNumberIsValid(link.head) && hybrid_same_link(&link, &range->segment);

			range->live += pg_popcount32(rows->live);
			range->undescribed += pg_popcount32(described ? rows->live & rows->fresh : rows->live);
		}
		block = content->next;
		UnlockReleaseBuffer(buffer);
		hybrid_chain_step(range->index, &range->list, &chain);
		vacuum_delay_point(false);
	}
	return block;
}

/* note_segment: record a segment that a page names. */
static void
note_segment(Range *range, const HybridLink *link)
{
	int i;

	if (!BlockNumberIsValid(link->head) || hybrid_same_link(link, &range->segment))
		return;
	if (!BlockNumberIsValid(range->segment.head))
	{
		range->segment = *link;
		return;
	}
	for (i = 0; i < range->others_count; i++)
	{
		if (hybrid_same_link(link, &range->others[i]))
			return;
	}
	if (range->others == NULL)
		range->others = palloc(hybrid_segment_pages(&range->open->layout) * sizeof(HybridLink));
	range->others[range->others_count++] = *link;
}

/* is_due: test whether a range needs a new segment. */
static bool
is_due(const Range *range)
{
	HybridSegmentReader reader;
	int64 rows;

	if (range->others_count > 0 ||
	    range->undescribed > HYBRID_UNDESCRIBED_LEAST + range->live * UNDESCRIBED_SHARE)
		return true;
	if (!BlockNumberIsValid(range->segment.head))
		return false;
	/* the segment is missing: the index is damaged, and a new segment repairs it */
	if (!hybrid_segment_open(range->index, range->segment, &reader))
		return true;
	rows = reader.head.rows;
	hybrid_segment_close(&reader);
	return range->live - range->undescribed < rows / 2;
}

/*
 * write_segment: write a segment with the rows of a range. Returns its link. If there are no rows, or too many
 * postings, the head is InvalidBlockNumber.
 */
static HybridLink
write_segment(Range *range, HybridSink *sink, HybridSegmentRows *rows)
{
	Writer *writer = palloc0(sizeof(Writer));
	HybridLink none = {InvalidBlockNumber, 0};
	bool begun = false;

	writer->sink = sink;
	writer->values = palloc(HYBRID_PAGE_BYTES / HYBRID_POSTING_BYTES * sizeof(float));
	while (hybrid_segment_rows_next(rows))
	{
		int64 i, end;

		if (!begun)
		{
			writer->link = sink->reserve(sink, HYBRID_PAGE_SEGMENT);
			writer->at = sink->reserve(sink, HYBRID_PAGE_POSTINGS);
			begin_page(writer, rows->postings[0].dim);
			begun = true;
		}
		for (i = 0; i < rows->count; i = end)
		{
			for (end = i + 1;
			     end < rows->count && rows->postings[end].dim == rows->postings[i].dim;)
				end++;
			put_list(writer, rows->postings + i, (int) (end - i));
		}
	}
	if (rows->total > HYBRID_POSTINGS_MOST || (!begun && rows->rows == 0))
		return none;
	if (!begun)
		writer->link = sink->reserve(sink, HYBRID_PAGE_SEGMENT);
	else
		end_page(writer, none);
	write_head(writer, range, rows);
	return writer->link;
}

/* begin_page: begin the POSTINGS page writer->at, whose first posting has this dimension. */
static void
begin_page(Writer *writer, int32 dim)
{
	Page page = (Page) writer->page.data;

	hybrid_page_init(page, HYBRID_PAGE_POSTINGS, writer->link.head, writer->link.generation);
	hybrid_special(page)->heads = writer->at.generation - 1;
	((PageHeader) page)->pd_lower = SizeOfPageHeaderData + sizeof(HybridPostings);
	if (writer->count == writer->room)
	{
		writer->room = Max(writer->room * 2, 1024);
		writer->dimensions = hybrid_enlarge(CurrentMemoryContext, writer->dimensions,
		                                    writer->room * sizeof(HybridDimension));
	}
	writer->dimensions[writer->count].least = dim;
	writer->dimensions[writer->count++].block = writer->at.head;
}

/* end_page: write the POSTINGS page, with `next` as the page that follows. */
static void
end_page(Writer *writer, HybridLink next)
{
	Page page = (Page) writer->page.data;

	((HybridPostings *) PageGetContents(page))->next = next.head;
	vacuum_delay_point(false);
	writer->sink->write(writer->sink, writer->at.head, page);
	writer->at = next;
}

/* put_list: write the postings of one dimension, on one or more pages. */
static void
put_list(Writer *writer, const HybridPosting *postings, int count)
{
	Page page = (Page) writer->page.data;
	PageHeader header = (PageHeader) page;

	while (count > 0)
	{
		int space = ((int) header->pd_special - (int) header->pd_lower - (int) sizeof(HybridRun)) /
		            (int) HYBRID_POSTING_BYTES;
		HybridRun *run = (HybridRun *) ((char *) page + header->pd_lower);
		int taken = Min(space, count), i;

		if (space < Min(count, LEAST_OF_RUN))
		{
			end_page(writer, writer->sink->reserve(writer->sink, HYBRID_PAGE_POSTINGS));
			begin_page(writer, postings->dim);
			continue;
		}
		memset(run, 0, sizeof(*run));
		run->dim = postings->dim;
		run->count = (uint16) taken;
		for (i = 0; i < taken; i++)
		{
			writer->values[i] = postings[i].value;
			hybrid_run_rows(run)[i] = postings[i].row;
		}
		hy_postings_round(writer->values, taken, hybrid_run_multiples(run), &run->step, &run->loss);
		header->pd_lower += sizeof(HybridRun) + taken * HYBRID_POSTING_BYTES;
		writer->postings += (uint64) taken;
		postings += taken;
		count -= taken;
	}
}

/* write_head: write the DIMENSIONS pages and the head of a segment. */
static void
write_head(Writer *writer, const Range *range, const HybridSegmentRows *rows)
{
	PGAlignedBlock image;
	Page page = (Page) image.data;
	HybridSegment *head = (HybridSegment *) PageGetContents(page);
	HybridDimension *dimensions = (HybridDimension *) (head + 1);
	int64 i;

	hybrid_page_init(page, HYBRID_PAGE_SEGMENT, writer->link.head, writer->link.generation);
	hybrid_special(page)->heads = writer->link.generation;
	head->first = range->first;
	head->pages = (uint32) range->pages;
	head->rows = rows->rows;
	head->postings = writer->postings;
	for (i = 0; i < writer->count; i += HYBRID_DIMENSIONS_MOST)
	{
		int count = (int) Min(writer->count - i, (int64) HYBRID_DIMENSIONS_MOST);

		if (head->count == HYBRID_SEGMENT_MOST)
			elog(ERROR, "a segment has too many pages");
		dimensions[head->count].least = writer->dimensions[i].least;
		dimensions[head->count++].block = write_dimensions(writer, writer->dimensions + i, count);
	}
	((PageHeader) page)->pd_lower =
		SizeOfPageHeaderData + sizeof(HybridSegment) + head->count * sizeof(HybridDimension);
	writer->sink->write(writer->sink, writer->link.head, page);
}

/* write_dimensions: write a DIMENSIONS page. Returns its block. */
static BlockNumber
write_dimensions(Writer *writer, const HybridDimension *dimensions, int count)
{
	HybridLink at = writer->sink->reserve(writer->sink, HYBRID_PAGE_DIMENSIONS);
	PGAlignedBlock image;
	Page page = (Page) image.data;

	hybrid_page_init(page, HYBRID_PAGE_DIMENSIONS, writer->link.head, writer->link.generation);
	hybrid_special(page)->heads = at.generation - 1;
	memcpy(PageGetContents(page), dimensions, count * sizeof(HybridDimension));
	((PageHeader) page)->pd_lower = SizeOfPageHeaderData + count * sizeof(HybridDimension);
	writer->sink->write(writer->sink, at.head, page);
	return at.head;
}

/* name_segment: name the segment on all list pages of a range. */
static void
name_segment(Range *range, HybridLink segment, const HybridSegmentRows *rows, bool logged)
{
	const HybridListLayout *shape = &range->open->layout.leaf;
	int i;

	for (i = 0; i < range->pages; i++)
	{
		Buffer buffer = ReadBuffer(range->index, range->blocks[i]);
		GenericXLogState *record = NULL;
		Page page = BufferGetPage(buffer);

		vacuum_delay_point(false);
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		if (logged)
		{
			record = GenericXLogStart(range->index);
			page = GenericXLogRegisterBuffer(record, buffer, 0);
		}
		describe_page(shape, page, segment, rows->live + (Size) i * shape->blocks,
		              rows->measures + (Size) i * shape->rows);
		if (logged)
			GenericXLogFinish(record);
		else
			MarkBufferDirty(buffer);
		UnlockReleaseBuffer(buffer);
	}
}

/*
 * describe_page: name the segment on a list page. Mark the live rows that it does not describe as
 * fresh, and store the measures of all rows.
 */
static void
describe_page(const HybridListLayout *shape, Page page, HybridLink segment, const uint32 *described,
              const float *measures)
{
	HybridListPage *content = hybrid_list_page(page);
	int b, row;

	*hybrid_list_segment(content) = segment;
	for (b = 0; b * HY_CODE_ROWS < content->used; b++)
	{
		HybridBlock *block = hybrid_block(shape, page, b);

		block->fresh = block->live & ~described[b];
		for (row = 0; row < HY_CODE_ROWS; row++)
			block->factors.add[row] = measures[b * HY_CODE_ROWS + row];
	}
}
