/*
 * position.h
 *		A tid as a number that sorts as the table does, so that ties go by it.
 */
#ifndef HYBRID_POSITION_H
#define HYBRID_POSITION_H

#include "postgres.h"

#include "storage/itemptr.h"

/* NoCheck: a tid from a query may be invalid, which the others assert against */
static inline int64
hybrid_encode_tid(const ItemPointerData *tid)
{
	return ((int64) ItemPointerGetBlockNumberNoCheck(tid) << 16) |
	       ItemPointerGetOffsetNumberNoCheck(tid);
}

static inline void
hybrid_decode_tid(int64 position, ItemPointer tid)
{
	ItemPointerSet(tid, (BlockNumber) (position >> 16), (OffsetNumber) (position & 0xffff));
}

#endif
