/*
 * position.h
 *		The position of a row in its table, as one number that sorts in table order: the block number,
 *		then 16 bits of offset.
 */
#ifndef HYBRID_POSITION_H
#define HYBRID_POSITION_H

#include "postgres.h"

#include "storage/itemptr.h"

/* hybrid_position: return the position of a tid, which need not be valid. */
static inline int64
hybrid_position(const ItemPointerData *tid)
{
	return ((int64) ItemPointerGetBlockNumberNoCheck(tid) << 16) |
	       ItemPointerGetOffsetNumberNoCheck(tid);
}

/* hybrid_position_tid: return the tid at a position. */
static inline ItemPointerData
hybrid_position_tid(int64 position)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, (BlockNumber) (position >> 16), (OffsetNumber) (position & 0xffff));
	return tid;
}

/*
 * hybrid_compare_positions: compare for qsort and bsearch over positions, or over structs that begin with
 * one.  Checks for interrupts, so that a sort of any length can be canceled.
 */
extern int hybrid_compare_positions(const void *a, const void *b);

#endif
