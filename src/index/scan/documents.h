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
 * (state->distances). Returns false if there is none.
 */
extern bool hybrid_documents_next(HybridScan *state, int64 *position);

/* hybrid_documents_memory_of_all: return the bytes that a scan needs to return so many documents. */
extern double hybrid_documents_memory_of_all(double documents);

#endif
