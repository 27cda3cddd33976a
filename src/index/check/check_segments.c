/*
 * check_segments.c
 *		Checks the segments of an index on sparse vectors: they must have exactly the elements of the
 *		rows that they describe.
 *
 * Consecutive list pages that name one segment are checked together. Their rows are read again, in the
 * order of the segment's postings, and compared with the postings. Postings of rows that are gone, or
 * whose slots now have other rows, are skipped. The caller's lock on the table excludes VACUUM. On a
 * standby, VACUUM's changes may be replayed meanwhile. There, it is only checked that the pages of a
 * segment can be read.
 */
#include "postgres.h"

#include <math.h>

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "server/compat.h"

#include "index/check/check.h"
#include "index/page/segment.h"
#include "index/tree/tree.h"
#include "index/write/segment_rows.h"

/* PageGroup: consecutive list pages that name one segment. */
typedef struct PageGroup
{
	HybridCheck *check;
	HybridLink list;
	HybridLink segment; /* its head is InvalidBlockNumber if the pages name no segment */
	uint32 first;       /* number of the first page, from 0 */
	BlockNumber *blocks;
	int pages;
	/* bitmap of the rows that are live and not fresh, like HybridSegmentRows.live */
	uint32 *described;
	float *measures;
} PageGroup;

/* Stream: the postings of a segment, compared with the rows that it describes. */
typedef struct Stream
{
	PageGroup *group;
	HybridSegmentReader reader;
	HybridSegmentRows rows;
	int64 at; /* index of the next posting in rows.postings */
	bool more;
	int32 dim; /* dimension of the last posting; -1 before the first one */
	int row;
	uint64 postings;
} Stream;

static void add_page(PageGroup *group, BlockNumber block, Page page);
static void check_group(PageGroup *group);
static void check_dimensions(Stream *stream, uint32 number, BlockNumber *expected);
static void check_postings(Stream *stream, const HybridDimension *entry, BlockNumber *expected);
static void check_run(Stream *stream, BlockNumber block, const HybridRun *run);
static bool is_described(const PageGroup *group, int row);
static void next_rows(Stream *stream);
static void check_measures(const Stream *stream);
pg_noreturn static void corrupted(const PageGroup *group, const char *what, BlockNumber block);

void
hybrid_check_segments(HybridCheck *check)
{
	const HybridListLayout *shape = &check->open.layout.leaf;
	int most = hybrid_segment_pages(&check->open.layout);
	MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "hybrid check segments",
	                                              ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	PageGroup group = {
		.check = check, .list = check->tree.root, .segment = {InvalidBlockNumber, 0}};
	BlockNumber block = group.list.head;
	uint32 pages = 0;
	PGAlignedBlock image;

	group.blocks = palloc(most * sizeof(BlockNumber));
	group.described = palloc((Size) most * shape->blocks * sizeof(uint32));
	group.measures = palloc(HY_POSTING_ROWS * sizeof(float));
	while (BlockNumberIsValid(block))
	{
		HybridListPage *content = hybrid_list_page((Page) image.data);
		HybridLink segment;

		hybrid_check_copy(check, &group.list, 0, block, (Page) image.data);
		segment = *hybrid_list_segment(content);
		if (!hybrid_same_link(&segment, &group.segment) || group.pages == most)
		{
			check_group(&group);
			group.segment = segment;
			group.first = pages;
			group.pages = 0;
		}
		if (BlockNumberIsValid(segment.head))
			add_page(&group, block, (Page) image.data);
		block = content->next;
		hybrid_chain_step(check->index, &group.list, &pages);
	}
	check_group(&group);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

/* add_page: add a list page to the group. `page` is a copy of the list page. */
static void
add_page(PageGroup *group, BlockNumber block, Page page)
{
	const HybridListLayout *shape = &group->check->open.layout.leaf;
	int used = hybrid_list_page(page)->used, b, row;

	for (b = 0; b < shape->blocks; b++)
	{
		const HybridBlock *rows = hybrid_block(shape, page, b);
		bool there = b * HY_CODE_ROWS < used;

		group->described[group->pages * shape->blocks + b] = there ? rows->live & ~rows->fresh : 0;
		for (row = 0; there && row < HY_CODE_ROWS; row++)
			group->measures[group->pages * shape->rows + b * HY_CODE_ROWS + row] =
				rows->factors.add[row];
	}
	group->blocks[group->pages++] = block;
}

/* check_group: check the segment of a group, if there is one. */
static void
check_group(PageGroup *group)
{
	HybridCheck *check = group->check;
	Stream stream = {.group = group, .dim = -1};
	BlockNumber *blocks = NULL, expected = InvalidBlockNumber;
	int count = 0, i;
	uint32 d;

	if (group->pages == 0 || !BlockNumberIsValid(group->segment.head))
		return;
	if (hybrid_segment_open(check->index, group->segment, &stream.reader))
		blocks = hybrid_segment_blocks(&stream.reader, &count);
	if (blocks == NULL)
	{
		/* replay has replaced the segment */
		if (RecoveryInProgress())
			return;
		corrupted(group, "refers to a segment that does not exist", group->segment.head);
	}
	for (i = 0; i < count; i++)
		hybrid_check_own(check, blocks[i], &group->segment);
	pfree(blocks);
	if (RecoveryInProgress())
		return;
	if (group->first < stream.reader.head.first ||
	    group->first + group->pages > stream.reader.head.first + stream.reader.head.pages)
		corrupted(group, "has a segment of other pages", group->segment.head);
	hybrid_segment_rows_begin(&stream.rows, check->index, &check->open, group->list, group->blocks,
	                          group->pages, group->described);
	next_rows(&stream);
	/* the segment may count more rows than are left, because some of its rows may be gone */
	if (stream.rows.rows > stream.reader.head.rows)
		corrupted(group, "has a segment with a wrong number of rows", group->segment.head);
	check_measures(&stream);
	for (d = 0; d < stream.reader.head.count; d++)
		check_dimensions(&stream, d, &expected);
	if (BlockNumberIsValid(expected))
		corrupted(group, "has a segment without an end", group->segment.head);
	if (stream.more)
		corrupted(group, "has a segment that lacks postings", group->segment.head);
	if (stream.postings != stream.reader.head.postings)
		corrupted(group, "has a segment with a wrong number of postings", group->segment.head);
	hybrid_segment_rows_end(&stream.rows);
	hybrid_segment_close(&stream.reader);
}

/*
 * check_dimensions: check a DIMENSIONS page, and the POSTINGS pages that it names. *expected is the
 * POSTINGS page that should come next, according to the page before; InvalidBlockNumber at the
 * beginning.
 */
static void
check_dimensions(Stream *stream, uint32 number, BlockNumber *expected)
{
	const HybridDimension *named = &stream->reader.dimensions[number];
	Buffer buffer = hybrid_segment_page(&stream->reader, HYBRID_PAGE_DIMENSIONS, named->block);
	PGAlignedBlock image;
	const HybridDimension *entries = (const HybridDimension *) PageGetContents((Page) image.data);
	int count, i;

	if (!BufferIsValid(buffer))
		corrupted(stream->group, "has a segment that lacks a page", named->block);
	memcpy(image.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	count = hybrid_dimensions_count((Page) image.data);
	if (count == 0 || entries[0].least != named->least)
		corrupted(stream->group, "has a segment with unordered dimensions", named->block);
	for (i = 0; i < count; i++)
	{
		if ((number > 0 || i > 0) && entries[i].block != *expected)
			corrupted(stream->group, "has a segment with unordered pages", entries[i].block);
		check_postings(stream, &entries[i], expected);
	}
}

/* check_postings: check a POSTINGS page. Sets *expected to the page that follows. */
static void
check_postings(Stream *stream, const HybridDimension *entry, BlockNumber *expected)
{
	Buffer buffer = hybrid_segment_page(&stream->reader, HYBRID_PAGE_POSTINGS, entry->block);
	const HybridRun *run = NULL;
	PGAlignedBlock image;
	Page page = (Page) image.data;
	bool first = true;

	if (!BufferIsValid(buffer))
		corrupted(stream->group, "has a segment that lacks a page", entry->block);
	memcpy(image.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	while ((run = hybrid_run_next(stream->group->check->index, entry->block, page, run)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (first && run->dim != entry->least)
			corrupted(stream->group, "has a segment with unordered dimensions", entry->block);
		first = false;
		check_run(stream, entry->block, run);
	}
	if (first)
		corrupted(stream->group, "has an empty page of postings", entry->block);
	*expected = ((const HybridPostings *) PageGetContents(page))->next;
}

/* check_run: compare the postings of a run with the rows. */
static void
check_run(Stream *stream, BlockNumber block, const HybridRun *run)
{
	const HybridSegment *head = &stream->reader.head;
	const HybridListLayout *shape = &stream->group->check->open.layout.leaf;
	int offset = (int) (stream->group->first - head->first) * shape->rows, i;

	if (run->dim < stream->dim || !isfinite(run->step) || !(run->step > 0) || !(run->loss >= 0) ||
	    run->loss > run->step)
		corrupted(stream->group, "has an impossible run of postings", block);
	for (i = 0; i < run->count; i++)
	{
		int row = hybrid_run_rows(run)[i];
		const HybridPosting *posting = NULL;

		if ((run->dim == stream->dim && row <= stream->row) ||
		    row >= (int) head->pages * shape->rows)
			corrupted(stream->group, "has unordered postings", block);
		stream->dim = run->dim;
		stream->row = row;
		stream->postings++;
		if (!is_described(stream->group, row - offset))
			continue;
		if (stream->more)
			posting = &stream->rows.postings[stream->at];
		if (posting == NULL || posting->dim != run->dim || posting->row != row - offset ||
		    fabs((double) posting->value - (double) run->step * hybrid_run_multiples(run)[i]) >
		        (double) run->loss)
			corrupted(stream->group, "has postings that are not those of the rows", block);
		stream->at++;
		if (stream->at == stream->rows.count)
			next_rows(stream);
	}
}

/*
 * is_described: test whether the segment describes a row. Rows are numbered from the first page of the
 * group.
 */
static bool
is_described(const PageGroup *group, int row)
{
	const HybridListLayout *shape = &group->check->open.layout.leaf;

	return row >= 0 && row < group->pages * shape->rows &&
	       (group->described[row / HY_CODE_ROWS] & (1U << row % HY_CODE_ROWS)) != 0;
}

/* next_rows: read the next postings of the rows. */
static void
next_rows(Stream *stream)
{
	stream->at = 0;
	stream->more = hybrid_segment_rows_next(&stream->rows);
}

/* check_measures: check the measures of the rows, which next_rows has just computed again. */
static void
check_measures(const Stream *stream)
{
	const PageGroup *group = stream->group;
	const HybridListLayout *shape = &group->check->open.layout.leaf;
	int row;

	for (row = 0; row < group->pages * shape->rows; row++)
	{
		if (is_described(group, row) &&
		    memcmp(&group->measures[row], &stream->rows.measures[row], sizeof(float)) != 0)
			corrupted(group, "has a row with a wrong measure", group->blocks[row / shape->rows]);
	}
}

static void
corrupted(const PageGroup *group, const char *what, BlockNumber block)
{
	ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
	                errmsg("index \"%s\" %s at block %u",
	                       RelationGetRelationName(group->check->index), what, block),
	                errdetail("Segment %u, generation %u.", group->segment.head,
	                          group->segment.generation),
	                errhint("REINDEX it.")));
}
