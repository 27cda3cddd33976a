/*
 * fetch.h
 *		Fetches rows of a table by the tids that an index stores.
 */
#ifndef HYBRID_FETCH_H
#define HYBRID_FETCH_H

#include "postgres.h"

#include "knn/tid_set.h"
#include "types/vector.h"
#include "utils/relcache.h"

typedef struct HybridFetch HybridFetch;

/*
 * hybrid_fetch_begin: prepare to fetch rows that the active snapshot sees. Unless filter is NULL,
 * only rows in filter are fetched. attnum is the vector column and dtype its element type. Allocates
 * in the current memory context.
 */
extern HybridFetch *
hybrid_fetch_begin(Relation table, AttrNumber attnum, HyDtype dtype, const HybridTidSet *filter);

/*
 * hybrid_fetch: find the visible version of the row whose root has the position `root`. Stores the
 * version's position and, unless vector is NULL, its vector or halfvec. The vector is valid until
 * the next call. Returns false if there is no visible version, if the filter excludes the row, or if
 * the requested vector is NULL.
 */
extern bool
hybrid_fetch(HybridFetch *fetch, int64 root, int64 *position, const HybridDense **vector);

extern void hybrid_fetch_end(HybridFetch *fetch);

#endif
