/*
 * fetch.h
 *		Rows of a table by the tids that an index of it holds.
 */
#ifndef HYBRID_FETCH_H
#define HYBRID_FETCH_H

#include "postgres.h"

#include "knn/tid_set.h"
#include "types/vector.h"
#include "utils/relcache.h"

typedef struct HybridFetch HybridFetch;

/*
 * hybrid_fetch_begin: rows as the active snapshot sees them, and only those that filter, unless
 * NULL, lets through; attnum is the column of their vectors.  In the current memory context.
 */
extern HybridFetch *
hybrid_fetch_begin(Relation table, AttrNumber attnum, const HybridTidSet *filter);

/*
 * hybrid_fetch: the version of the row rooted at position root that the snapshot sees: its own
 * position, and, where asked for, its vector or halfvec, which lives until the next call.  False when there is
 * none.
 */
extern bool
hybrid_fetch(HybridFetch *fetch, int64 root, int64 *position, const HybridDense **vector);

extern void hybrid_fetch_end(HybridFetch *fetch);

#endif
