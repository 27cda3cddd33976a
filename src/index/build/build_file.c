/*
 * build_file.c
 *		CREATE INDEX: extends the file of the index.
 *
 * No other session can see the file yet, so this code writes no WAL.
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "storage/indexfsm.h"
#include "utils/rel.h"

#include "index/build/build.h"
#include "index/write/extent.h"

static HybridLink append_reserve(HybridSink *sink, HybridPageKind kind);
static void append_write(HybridSink *sink, BlockNumber block, Page image);
static void put(Buffer buffer, Page image);

/*
 * hybrid_appender_init: prepare to write a file of about `blocks` blocks. The pages of a file of at
 * most half of shared buffers stay there, because they will soon be searched and logged. A longer file
 * is written through a small ring of buffers.
 */
void
hybrid_appender_init(HybridAppender *appender, Relation index, double blocks)
{
	memset(appender, 0, sizeof(*appender));
	appender->sink.reserve = append_reserve;
	appender->sink.write = append_write;
	appender->index = index;
	if (blocks > NBuffers / 2)
		appender->strategy = GetAccessStrategy(BAS_BULKWRITE);
}

BlockNumber
hybrid_appender_put(HybridAppender *appender, HybridPageKind kind, Page image)
{
	BlockNumber block = append_reserve(&appender->sink, kind).head;

	append_write(&appender->sink, block, image);
	return block;
}

/*
 * hybrid_appender_finish: enter the unused blocks of the last run of list pages into the free space
 * map.
 */
void
hybrid_appender_finish(HybridAppender *appender)
{
	BlockNumber block, end = Min(appender->extent_end, appender->written);

	for (block = appender->extent; block < end; block++)
		RecordFreeIndexPage(appender->index, block);
	if (appender->extent < end)
		IndexFreeSpaceMapVacuum(appender->index);
	if (appender->strategy != NULL)
		FreeAccessStrategy(appender->strategy);
}

static HybridLink
append_reserve(HybridSink *sink, HybridPageKind kind)
{
	HybridAppender *appender = (HybridAppender *) sink;
	HybridLink link = {appender->reserved, 1};

	if (kind != HYBRID_PAGE_LIST)
	{
		appender->reserved++;
		return link;
	}
	if (appender->extent == appender->extent_end)
	{
		appender->extent = appender->reserved;
		appender->reserved += hybrid_extent_size(appender->reserved);
		appender->extent_end = appender->reserved;
	}
	link.head = appender->extent++;
	return link;
}

/* append_write: write a page that was reserved. The file is extended up to this page if necessary. */
static void
append_write(HybridSink *sink, BlockNumber block, Page image)
{
	HybridAppender *appender = (HybridAppender *) sink;
	Buffer buffer;
	bool extend;

	for (; appender->written < block; appender->written++)
		ReleaseBuffer(ReadBufferExtended(appender->index, MAIN_FORKNUM, P_NEW, RBM_NORMAL,
		                                 appender->strategy));
	extend = block == appender->written;
	buffer = ReadBufferExtended(appender->index, MAIN_FORKNUM, extend ? P_NEW : block,
	                            RBM_ZERO_AND_LOCK, appender->strategy);
	if (BufferGetBlockNumber(buffer) != block)
		elog(ERROR, "unexpected block %u instead of %u", BufferGetBlockNumber(buffer), block);
	if (extend)
		appender->written++;
	put(buffer, image);
}

static void
put(Buffer buffer, Page image)
{
	memcpy(BufferGetPage(buffer), image, BLCKSZ);
	MarkBufferDirty(buffer);
	UnlockReleaseBuffer(buffer);
}
