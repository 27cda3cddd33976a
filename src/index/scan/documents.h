/*
 * documents.h
 *		Scans of an index on arrays of vectors: documents in the order of MaxSim.
 */
#ifndef HYBRID_INDEX_DOCUMENTS_H
#define HYBRID_INDEX_DOCUMENTS_H

#include "index/scan/scan.h"

/*
 * hybrid_documents_begin: take the query of a scan of an index on arrays, and set state->documents. Returns false if
 * the query is NULL or an empty array.
 */
extern bool hybrid_documents_begin(IndexScanDesc scan);

/*
 * hybrid_documents_next: find the next document. Sets *position and the values of the ORDER BY expressions
 * (state->distances). Returns false if there is no next document, or if exact passes have to find it. In the latter
 * case, state->exact is set.
 */
extern bool hybrid_documents_next(HybridScan *state, int64 *position);

/* hybrid_documents_wanted: return the largest number of wanted documents for which a scan uses searches. */
extern double hybrid_documents_wanted(double mem_multiplier);

/* hybrid_documents_candidates: return the number of candidates that an exact pass keeps. */
extern int hybrid_documents_candidates(const HybridScan *state);

/* hybrid_documents_compare_all: offer all documents that were not returned yet as candidates of an exact pass. */
extern void hybrid_documents_compare_all(HybridScan *state);

#endif
