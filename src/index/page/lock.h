/*
 * lock.h
 *		Heavyweight locks of an index's lists, of its meta page, and the gate; README.md has their order.
 *
 * Each has the name of a tuple of the index, which nobody else locks, and not of a page: PostgreSQL takes
 * it that who holds the lock of a page waits for nothing but the extension of the file.  Its deadlock
 * detector does not look at such locks, and builds with assertions abort at a second one.  Between processes of one
 * parallel operation these locks do not conflict, other than those of pages: only one of them takes any.
 */
#ifndef HYBRID_INDEX_LOCK_H
#define HYBRID_INDEX_LOCK_H

#include "postgres.h"

#include "storage/itemptr.h"
#include "storage/lmgr.h"
#include "storage/lock.h"
#include "utils/rel.h"

/* hybrid_lock, hybrid_unlock: of a block, in a mode. */
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

/* hybrid_lock_now: false: somebody has it. */
static inline bool
hybrid_lock_now(Relation index, BlockNumber block, LOCKMODE mode)
{
	ItemPointerData name;

	ItemPointerSet(&name, block, FirstOffsetNumber);
	return ConditionalLockTuple(index, &name, mode);
}

/* hybrid_lock_awaited: whether somebody waits for a lock that is ours, in this mode. */
static inline bool
hybrid_lock_awaited(Relation index, BlockNumber block, LOCKMODE mode)
{
	LOCKTAG tag;

	SET_LOCKTAG_TUPLE(tag, index->rd_lockInfo.lockRelId.dbId, index->rd_lockInfo.lockRelId.relId,
	                  block, FirstOffsetNumber);
	return LockHasWaiters(&tag, mode, false);
}

#endif
