/*
 * list_rows.h
 *		The visible rows of a table in memory, in the order of the lists of an index.
 */
#ifndef HYBRID_LIST_ROWS_H
#define HYBRID_LIST_ROWS_H

#include "postgres.h"

#include "core/batch.h"
#include "knn/candidates.h"

/* HybridListRows: rows by number, from 0. Rows that follow each other are usually near each other. */
typedef struct HybridListRows
{
	HyDtype dtype;
	int dims;
	Size stride;
	int64 count;
	int64 room;
	char *vectors;
	int64 *positions;
	int64 *ids;

	/* runs of rows: whole short lists, or parts of a long one; run i has the rows from first[i] to first[i + 1] - 1 */
	int32 runs;
	int32 runs_room;
	int32 *first;
	int32 *run_of; /* run of each row */
} HybridListRows;

/* HYBRID_RUN_MOST: maximum number of rows of a run */
#define HYBRID_RUN_MOST 256

/* hybrid_list_rows_bytes: return the bytes of memory that each row takes. */
extern Size hybrid_list_rows_bytes(const HybridCandidates *candidates, HyDtype dtype);

/*
 * hybrid_list_rows_read: read at most `most` rows that the snapshot sees, in the current memory context.
 * Returns false if there are more.
 */
extern bool hybrid_list_rows_read(const HybridCandidates *candidates, HybridRows *rows, int64 most,
                                  HybridListRows *read);

/* hybrid_list_rows_matrix: return a view of `count` rows from row `first`. */
extern HyMatrix hybrid_list_rows_matrix(const HybridListRows *rows, int64 first, int64 count);

/* hybrid_list_rows_widen: write row number `row` to out as fp32. */
extern void hybrid_list_rows_widen(const HybridListRows *rows, int64 row, float *out);

#endif
