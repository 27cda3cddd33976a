/*
 * finds.h
 *		The rows that a search has found, and which of them are returned next.
 */
#ifndef HYBRID_INDEX_FINDS_H
#define HYBRID_INDEX_FINDS_H

#include "postgres.h"

#include "core/topk.h"

/* HybridFind: a row that was found. */
typedef struct HybridFind
{
	double distance; /* at most what the operator returns */
	float width;     /* which is at most that and this */
	int64 position;  /* server/position.h */
} HybridFind;

/* HybridFinds: the first `returned` of them are with the caller. */
typedef struct HybridFinds
{
	HybridFind *items;
	int count;
	int allocated;
	int returned;
	int64 returned_before; /* which are here no more */
} HybridFinds;

/* hybrid_finds_clear: there are none; the room stays. */
extern void hybrid_finds_clear(HybridFinds *finds);

/* hybrid_finds_add: one more; room for it comes from context. */
extern void hybrid_finds_add(HybridFinds *finds, MemoryContext context, const HybridFind *find);

/* hybrid_finds_leave: those that were returned go. */
extern void hybrid_finds_leave(HybridFinds *finds);

/*
 * hybrid_finds_return: by distance and position those that are among the k nearest, and those that may be; all
 * where there are not so many, or nearest is NULL.
 */
extern const HybridFind *hybrid_finds_return(HybridFinds *finds, const HyTopK *nearest, int *count);

#endif
