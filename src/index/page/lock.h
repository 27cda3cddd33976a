/*
 * lock.h
 *		Heavyweight locks of lists and of the meta page, and the gate. src/index/README.md has their order.
 *
 * Each lock is a tuple lock on the index, a kind of lock that nothing else takes on an index. Page locks
 * are not suitable. PostgreSQL assumes that the holder of a page lock waits for nothing but the extension
 * of the file. Its deadlock detector therefore ignores page locks, and builds with assertions abort when
 * a process takes a second one. Unlike page locks, tuple locks do not conflict between the processes of a
 * parallel operation. That does no harm here, because only one process of such an operation takes any of
 * these locks.
 */
#ifndef HYBRID_INDEX_LOCK_H
#define HYBRID_INDEX_LOCK_H

#include "postgres.h"

#include "storage/itemptr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/rel.h"

#include "server/compat.h"

/* hybrid_lock, hybrid_unlock: take and release the lock of a block in this mode. */
static inline void
hybrid_lock(Relation index, BlockNumber block, LOCKMODE mode)
{
	ItemPointerData name;

	ItemPointerSet(&name, block, FirstOffsetNumber);
	LockTuple(index, &name, mode);
}

static inline void
hybrid_unlock(Relation index, BlockNumber block, LOCKMODE mode)
{
	ItemPointerData name;

	ItemPointerSet(&name, block, FirstOffsetNumber);
	UnlockTuple(index, &name, mode);
}

/* hybrid_lock_now: take the lock without waiting. Returns false if it is not available. */
static inline bool
hybrid_lock_now(Relation index, BlockNumber block, LOCKMODE mode)
{
	ItemPointerData name;

	ItemPointerSet(&name, block, FirstOffsetNumber);
	return ConditionalLockTuple(index, &name, mode, false);
}

/* hybrid_lock_awaited: test whether any process waits for a lock that this process holds in this mode. */
static inline bool
hybrid_lock_awaited(Relation index, BlockNumber block, LOCKMODE mode)
{
	LOCKTAG tag;

	SET_LOCKTAG_TUPLE(tag, index->rd_lockInfo.lockRelId.dbId, index->rd_lockInfo.lockRelId.relId,
	                  block, FirstOffsetNumber);
	return LockHasWaiters(&tag, mode, false);
}

#endif
