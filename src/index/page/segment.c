/*
 * segment.c
 *		Reads the segments of an index on sparse vectors.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "index/page/buffers.h"
#include "index/page/segment.h"

static int find(const HybridDimension *dimensions, int count, int32 dim);
static int content_bytes(Page page);

const HybridRun *
hybrid_run_next(Relation index, BlockNumber block, Page page, const HybridRun *run)
{
	const char *end = (const char *) page + ((PageHeader) page)->pd_lower, *at;
	Size left, needed = sizeof(HybridRun);

	if (run == NULL)
		at = PageGetContents(page) + sizeof(HybridPostings);
	else
		at = (const char *) (run + 1) + run->count * HYBRID_POSTING_BYTES;
	if (at == end)
		return NULL;
	left = at < end ? (Size) (end - at) : 0;
	if (left >= needed)
		needed += ((const HybridRun *) at)->count * HYBRID_POSTING_BYTES;
	if (left < needed || ((const HybridRun *) at)->count == 0)
		hybrid_page_damaged(index, block, "postings that do not end on their page");
	return (const HybridRun *) at;
}

bool
hybrid_segment_open(Relation index, HybridLink link, HybridSegmentReader *reader)
{
	Buffer buffer;
	Page page;
	Size bytes;

	reader->index = index;
	reader->link = link;
	reader->dimensions = NULL;
	buffer = hybrid_segment_page(reader, HYBRID_PAGE_SEGMENT, link.head);
	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	reader->head = *(const HybridSegment *) PageGetContents(page);
	bytes = reader->head.count * sizeof(HybridDimension);
	if (reader->head.count > HYBRID_SEGMENT_MOST ||
	    (Size) content_bytes(page) != sizeof(HybridSegment) + bytes ||
	    reader->head.pages > HY_POSTING_ROWS || reader->head.rows > HY_POSTING_ROWS)
		hybrid_page_damaged(index, link.head, "an impossible segment");
	reader->dimensions = palloc(Max(bytes, 1));
	memcpy(reader->dimensions, PageGetContents(page) + sizeof(HybridSegment), bytes);
	UnlockReleaseBuffer(buffer);
	return true;
}

void
hybrid_segment_close(HybridSegmentReader *reader)
{
	if (reader->dimensions != NULL)
		pfree(reader->dimensions);
	reader->dimensions = NULL;
}

Buffer
hybrid_segment_page(const HybridSegmentReader *reader, HybridPageKind kind, BlockNumber block)
{
	Buffer buffer;
	Page page;
	int least = 0;

	buffer = hybrid_buffer_read(reader->index, block, NULL);
	page = BufferGetPage(buffer);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!hybrid_page_belongs(page, kind, &reader->link))
	{
		UnlockReleaseBuffer(buffer);
		return InvalidBuffer;
	}
	hybrid_page_check(reader->index, page, block, kind);
	if (kind == HYBRID_PAGE_SEGMENT)
		least = sizeof(HybridSegment);
	else if (kind == HYBRID_PAGE_POSTINGS)
		least = sizeof(HybridPostings);
	if (content_bytes(page) < least)
		hybrid_page_damaged(reader->index, block, "a page of a segment without a beginning");
	return buffer;
}

bool
hybrid_segment_find(const HybridSegmentReader *reader, int32 dim, BlockNumber *block)
{
	const HybridDimension *dimensions;
	int above = find(reader->dimensions, (int) reader->head.count, dim), at;
	Buffer buffer;
	Page page;

	*block = InvalidBlockNumber;
	if (reader->head.count == 0)
		return true;
	buffer = hybrid_segment_page(reader, HYBRID_PAGE_DIMENSIONS, reader->dimensions[above].block);
	if (!BufferIsValid(buffer))
		return false;
	page = BufferGetPage(buffer);
	dimensions = (const HybridDimension *) PageGetContents(page);
	at = hybrid_dimensions_count(page);
	if (at == 0)
		hybrid_page_damaged(reader->index, reader->dimensions[above].block,
		                    "a page without dimensions");
	*block = dimensions[find(dimensions, at, dim)].block;
	UnlockReleaseBuffer(buffer);
	return true;
}

BlockNumber *
hybrid_segment_blocks(const HybridSegmentReader *reader, int *count)
{
	int room = (int) (reader->head.count * (HYBRID_DIMENSIONS_MOST + 1) + 1);
	BlockNumber *blocks = MemoryContextAllocHuge(CurrentMemoryContext, room * sizeof(BlockNumber));
	uint32 i;
	int d;

	*count = 0;
	for (i = 0; i < reader->head.count; i++)
	{
		BlockNumber block = reader->dimensions[i].block;
		const HybridDimension *dimensions;
		Buffer buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = hybrid_segment_page(reader, HYBRID_PAGE_DIMENSIONS, block);
		if (!BufferIsValid(buffer))
		{
			pfree(blocks);
			return NULL;
		}
		dimensions = (const HybridDimension *) PageGetContents(BufferGetPage(buffer));
		for (d = hybrid_dimensions_count(BufferGetPage(buffer)); d > 0; d--)
			blocks[(*count)++] = dimensions[d - 1].block;
		blocks[(*count)++] = block;
		UnlockReleaseBuffer(buffer);
	}
	blocks[(*count)++] = reader->link.head;
	return blocks;
}

/*
 * find: return the number of the last page whose first dimension is less than `dim`, or 0 if there is none. The
 * postings of `dim` begin on this page or on the next one.
 */
static int
find(const HybridDimension *dimensions, int count, int32 dim)
{
	int low = 0, high = count;

	while (high - low > 1)
	{
		int middle = low + (high - low) / 2;

		if (dimensions[middle].least < dim)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* content_bytes: return the number of bytes of a page's content. */
static int
content_bytes(Page page)
{
	return ((PageHeader) page)->pd_lower - (int) SizeOfPageHeaderData;
}
