/*
 * documents.h
 *		Scans of an index on arrays of vectors: documents in the order of MaxSim.
 */
#ifndef HYBRID_INDEX_DOCUMENTS_H
#define HYBRID_INDEX_DOCUMENTS_H

#include "index/scan/scan.h"

/*
 * hybrid_documents_begin: take the query of a scan of an index on arrays, and set state->documents. Returns false if
 * the query is NULL or an empty array, or if the scan has no ORDER BY.
 */
extern bool hybrid_documents_begin(IndexScanDesc scan);

/*
 * hybrid_documents_next: find the next document, set *position and state->distances (the values of the ORDER BY
 * expressions), and return true. Returns false if no document is left. Also returns false, and sets state->exact, if
 * exact passes have to find the remaining documents.
 */
extern bool hybrid_documents_next(HybridScan *state, int64 *position);

/* hybrid_documents_wanted: return the largest k for which searches find the k best documents, as memory allows. */
extern double hybrid_documents_wanted(double mem_multiplier);

/* hybrid_documents_candidates: return the number of candidates that an exact pass keeps. */
extern int hybrid_documents_candidates(const HybridScan *state);

/*
 * hybrid_documents_compare_all: offer all documents that were not returned yet and satisfy the conditions as candidates
 * of an exact pass. Stops early if the scan reaches hybrid.max_scan_tuples.
 */
extern void hybrid_documents_compare_all(HybridScan *state);

#endif
