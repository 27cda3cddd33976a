/*
 * position.h
 *		A row's place in its table as one number that sorts as the table does: the block number, then 16
 *		bits of offset.
 */
#ifndef HYBRID_POSITION_H
#define HYBRID_POSITION_H

#include "postgres.h"

#include "storage/itemptr.h"

/* hybrid_position: of any tid; one that a query returns need not be valid. */
static inline int64
hybrid_position(const ItemPointerData *tid)
{
	return ((int64) ItemPointerGetBlockNumberNoCheck(tid) << 16) |
	       ItemPointerGetOffsetNumberNoCheck(tid);
}

/* hybrid_position_tid: the tid at a position. */
static inline ItemPointerData
hybrid_position_tid(int64 position)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, (BlockNumber) (position >> 16), (OffsetNumber) (position & 0xffff));
	return tid;
}

/*
 * hybrid_compare_positions: for qsort and bsearch over positions, or over what begins with one.
 * Heeds a cancel, however many they are.
 */
extern int hybrid_compare_positions(const void *a, const void *b);

#endif
