/*
 * buffers.c
 *		Find pages without the buffer table, and prefetch them.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "pgstat.h"
#include "storage/buf_internals.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "core/look_ahead.h"
#include "server/compat.h"

#include "index/page/buffers.h"

#define REMEMBERED 65536 /* number of pages remembered, a power of two */

/* Remembered: the buffer that last held a page; only a hint. */
typedef struct Remembered
{
	Oid file;
	BlockNumber block;
	Buffer buffer;
} Remembered;

static Remembered *remembered = NULL;

static const Remembered *guess(Relation index, BlockNumber block);
static Remembered *place_of(Relation index, BlockNumber block);

Buffer
hybrid_buffer_read(Relation index, BlockNumber block, BufferAccessStrategy strategy)
{
	Remembered *at;
	Buffer buffer;

	/* InvalidBlockNumber is P_NEW, for which ReadBuffer would extend the file */
	if (!BlockNumberIsValid(block))
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" refers to a page that does not exist",
		                       RelationGetRelationName(index)),
		                errhint("REINDEX it.")));
	if (strategy != NULL)
		return ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_NORMAL, strategy);
	if (remembered == NULL)
		remembered = MemoryContextAllocZero(TopMemoryContext, REMEMBERED * sizeof(Remembered));
	at = place_of(index, block);
	if (at->block == block && at->file == index->rd_locator.relNumber &&
	    BufferIsValid(at->buffer) &&
	    ReadRecentBuffer(index->rd_locator, MAIN_FORKNUM, block, at->buffer))
	{
		/* ReadRecentBuffer counts the hit for EXPLAIN, but not for the relation, which it does not know */
		pgstat_count_buffer_read(index);
		pgstat_count_buffer_hit(index);
		return at->buffer;
	}
	buffer = ReadBuffer(index, block);
	at->file = index->rd_locator.relNumber;
	at->block = block;
	at->buffer = buffer;
	return buffer;
}

void
hybrid_buffer_expect(Relation index, BlockNumber block, Size offset, Size bytes)
{
	const Remembered *at = guess(index, block);
	const char *page;

	if (at == NULL)
		return;
	page = (const char *) BufferGetPage(at->buffer);
	__builtin_prefetch(GetBufferDescriptor(at->buffer - 1), 1);
	__builtin_prefetch(page);
	__builtin_prefetch(page + BLCKSZ - HY_CACHE_LINE);
	hy_fetch((uintptr_t) page + offset, bytes);
}

void
hybrid_buffer_expect_row(Relation heap, const ItemPointerData *tid, bool item)
{
	const Remembered *at = guess(heap, ItemPointerGetBlockNumber(tid));
	const char *page, *id;

	if (at == NULL)
		return;
	page = (const char *) BufferGetPage(at->buffer);
	id = page + SizeOfPageHeaderData +
	     (ItemPointerGetOffsetNumber(tid) - 1) % MaxHeapTuplesPerPage * sizeof(ItemIdData);
	if (item)
	{
		/* the buffer may hold another page by now; then the prefetch is useless but harmless */
		__builtin_prefetch(page + ((const volatile ItemIdData *) id)->lp_off % BLCKSZ);
		return;
	}
	__builtin_prefetch(GetBufferDescriptor(at->buffer - 1), 1);
	__builtin_prefetch(page);
	__builtin_prefetch(id);
}

const char *
hybrid_buffer_guess(Relation index, BlockNumber block)
{
	const Remembered *at = guess(index, block);

	return at == NULL ? NULL : (const char *) BufferGetPage(at->buffer);
}

/* guess: return the record of the buffer that last held a page, or NULL if there is no record. */
static const Remembered *
guess(Relation index, BlockNumber block)
{
	const Remembered *at;

	if (remembered == NULL || !BlockNumberIsValid(block))
		return NULL;
	at = place_of(index, block);
	/* a local buffer has a negative number, and the memory of its page may not be allocated yet */
	if (at->block != block || at->file != index->rd_locator.relNumber || at->buffer <= 0)
		return NULL;
	return at;
}

static Remembered *
place_of(Relation index, BlockNumber block)
{
	return &remembered[(block ^ (index->rd_locator.relNumber * 0x9E3779B1U)) & (REMEMBERED - 1)];
}
