/*
 * found_rows.h
 *		The rows that a search has found, and which of them are returned next.
 */
#ifndef HYBRID_INDEX_FOUND_ROWS_H
#define HYBRID_INDEX_FOUND_ROWS_H

#include "postgres.h"

#include "core/topk.h"
#include "server/store.h"

/* HybridFoundRows: rows found so far. The first `returned` of them were returned, and the caller still uses them. */
typedef struct HybridFoundRows
{
	HybridFoundRow *items;
	int count;
	int allocated;
	int returned;
} HybridFoundRows;

/*
 * hybrid_found_row_upper: return the upper bound of a row's distance, or the lower bound if the upper one is
 * infinite. The bounds differ if the vector stored in the index is rounded. If searches used the middle of the bounds,
 * the k-th best of many rows that rounding cannot separate would appear nearer than it is, and nearer rows would not be
 * read. (With the middle, recall was .80 at a target of .95 on vectors that differ by less than float16 resolves; with
 * the upper bound it is .98.)
 */
extern double hybrid_found_row_upper(const HybridFoundRow *row);

/* hybrid_found_rows_clear: remove all rows, but keep the memory. */
extern void hybrid_found_rows_clear(HybridFoundRows *found);

/* hybrid_found_rows_add: add a copy of a row. Memory for it comes from `context`. */
extern void
hybrid_found_rows_add(HybridFoundRows *found, MemoryContext context, const HybridFoundRow *row);

/* hybrid_found_rows_leave: remove the rows that were returned, and leave the others. */
extern void hybrid_found_rows_leave(HybridFoundRows *found);

/*
 * hybrid_found_rows_return: return the k nearest rows and all rows that may be among the k nearest, sorted by
 * distance and position. `nearest` has the upper bounds of the k nearest rows. Returns all rows if there are
 * fewer than k, or if `nearest` is NULL.
 */
extern const HybridFoundRow *
hybrid_found_rows_return(HybridFoundRows *found, const HyTopK *nearest, int *count);

#endif
