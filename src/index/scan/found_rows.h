/*
 * found_rows.h
 *		The rows that a search has found, and which of them are returned next.
 */
#ifndef HYBRID_INDEX_FOUND_ROWS_H
#define HYBRID_INDEX_FOUND_ROWS_H

#include "postgres.h"

#include "core/topk.h"

/* HybridFoundRow: a row that was found. */
typedef struct HybridFoundRow
{
	double distance; /* at most what the operator returns */
	float width;     /* which is at most that and this */
	int64 position;  /* server/position.h */
} HybridFoundRow;

/* HybridFoundRows: the first `returned` of them are with the caller. */
typedef struct HybridFoundRows
{
	HybridFoundRow *items;
	int count;
	int allocated;
	int returned;
	int64 returned_before; /* which are here no more */
} HybridFoundRows;

/* hybrid_found_rows_clear: there are none; the room stays. */
extern void hybrid_found_rows_clear(HybridFoundRows *finds);

/* hybrid_found_rows_add: one more; room for it comes from context. */
extern void
hybrid_found_rows_add(HybridFoundRows *finds, MemoryContext context, const HybridFoundRow *find);

/* hybrid_found_rows_leave: those that were returned go. */
extern void hybrid_found_rows_leave(HybridFoundRows *finds);

/*
 * hybrid_found_rows_return: by distance and position those that are among the k nearest, and those that may be; all
 * where there are not so many, or nearest is NULL.
 */
extern const HybridFoundRow *
hybrid_found_rows_return(HybridFoundRows *finds, const HyTopK *nearest, int *count);

#endif
