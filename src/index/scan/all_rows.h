/*
 * all_rows.h
 *		The positions of the rows of an index on arrays, each once and in the order of the table.
 */
#ifndef HYBRID_INDEX_ALL_ROWS_H
#define HYBRID_INDEX_ALL_ROWS_H

#include "postgres.h"

#include "access/relscan.h"

#include "index/page/index.h"
#include "index/scan/included_quals.h"

typedef struct HybridAllRows HybridAllRows;

/*
 * hybrid_all_rows_begin: begin to read the rows that the conditions on words do not exclude. `included` may be NULL.
 * The set of positions takes at most `memory` bytes.
 */
extern HybridAllRows *hybrid_all_rows_begin(IndexScanDesc scan, const HybridIndex *index,
                                            const HybridIncludedQuals *included, double memory);

/* hybrid_all_rows_next: get the next positions, at most `most`. Returns their number, 0 if there are no more. */
extern int hybrid_all_rows_next(HybridAllRows *rows, int64 *positions, int most);

/* hybrid_all_rows_end: free the memory. Returns the number of entries that the conditions on words have excluded. */
extern int64 hybrid_all_rows_end(HybridAllRows *rows);

#endif
