/*
 * copy_log.c
 *		Log which leaves received rows while VACUUM copies all rows to other lists.
 *
 * VACUUM takes the log from the meta page before it reads leaves. An insert writes to the log after it has
 * added its entry. If an entry arrives in a leaf after VACUUM has read this leaf, the leaf is therefore
 * logged later, and the next round of copying finds the entry. If an insert fails between the two steps,
 * its entry belongs to a row that no transaction will ever see.
 */
#include "postgres.h"

#include "storage/bufmgr.h"

#include "index/page/lock.h"
#include "index/tree/copy_log.h"

static void set_logging(Relation index, bool logging);
static uint32 bit_of(BlockNumber leaf);

void
hybrid_copy_log_begin(Relation index)
{
	set_logging(index, true);
	/* wait for processes that hold the gate now, because they may not have seen the flag */
	hybrid_lock(index, HYBRID_GATE, ExclusiveLock);
	hybrid_unlock(index, HYBRID_GATE, ExclusiveLock);
}

void
hybrid_copy_log_end(Relation index)
{
	HybridTree tree;

	hybrid_tree_read(index, &tree);
	if (tree.logging)
		set_logging(index, false);
}

void
hybrid_copy_log_add(Relation index, BlockNumber leaf)
{
	Buffer buffer = ReadBuffer(index, HYBRID_META_BLOCK);
	uint32 bit = bit_of(leaf);
	HybridMetaChange change;
	bool there;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	there = (hybrid_meta(BufferGetPage(buffer))->log_bits[bit / 8] & 1 << bit % 8) != 0;
	UnlockReleaseBuffer(buffer);
	if (there)
		return;
	hybrid_meta_begin(index, &change)->log_bits[bit / 8] |= 1 << bit % 8;
	hybrid_meta_end(&change);
}

void
hybrid_copy_log_take(Relation index, HybridCopyLog *copy_log)
{
	HybridMetaChange change;
	HybridMeta *meta = hybrid_meta_begin(index, &change);
	int i;

	for (i = 0; i < HYBRID_COPY_LOG_BYTES; i++)
		copy_log->bits[i] |= meta->log_bits[i];
	memset(meta->log_bits, 0, HYBRID_COPY_LOG_BYTES);
	hybrid_meta_end(&change);
}

bool
hybrid_copy_log_has(const HybridCopyLog *copy_log, BlockNumber leaf)
{
	uint32 bit = bit_of(leaf);

	return (copy_log->bits[bit / 8] & 1 << bit % 8) != 0;
}

/* set_logging: turn logging on or off, and clear the log. */
static void
set_logging(Relation index, bool logging)
{
	HybridMetaChange change;
	HybridMeta *meta = hybrid_meta_begin(index, &change);

	meta->logging = logging;
	memset(meta->log_bits, 0, HYBRID_COPY_LOG_BYTES);
	hybrid_meta_end(&change);
}

/*
 * bit_of: map a leaf to a bit. The block numbers of heads often follow at regular intervals, so they are
 * hashed to spread them over the bits.
 */
static uint32
bit_of(BlockNumber leaf)
{
	return (uint32) ((uint64) (leaf * 0x9E3779B1U) * HYBRID_COPY_LOG_BYTES * 8 >> 32);
}
