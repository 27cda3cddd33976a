/*
 * store.h
 *		Reads the store of an index: all vectors that the index keeps.
 *
 * The access method registers the functions that read its stores, so callers include none of its headers.
 *
 * If the index is not partial, its store has an entry for every row that a snapshot sees, except rows with a NULL
 * vector. If the index orders by cosine, its store also has no entries for vectors of all zeroes. `describe`
 * accepts partial indexes as well; the caller must reject them if it needs all rows. A store may have entries of
 * rows that no snapshot sees any more. An entry's tid is the root of a HOT chain, and the table says which version
 * is visible.
 */
#ifndef HYBRID_STORE_H
#define HYBRID_STORE_H

#include "postgres.h"

#include "core/batch.h"
#include "dispatch/run/residency.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* HybridStoreShape: the properties of an index that never change while the index keeps the same file. */
typedef struct HybridStoreShape
{
	HyMetric metric; /* the metric of the index's order; a store may be read for any metric */
	HyDtype dtype;
	int dims;
	Size stride;   /* bytes of a stored vector; arrays of vectors have no gaps */
	bool lossless; /* vectors are stored exactly as given */
	int keys;      /* number of key columns before the vector */
	int64 places;  /* approximate number of slots for entries */
} HybridStoreShape;

/*
 * HybridStoreRows: the caller's arrays for entries.  A NULL array is not filled.  If vectors is NULL, only
 * positions are filled.
 */
typedef struct HybridStoreRows
{
	char *vectors;
	float *norms;     /* canonical squared norms of the stored vectors */
	float *residuals; /* upper bounds of |given - stored| */
	int64 *positions; /* positions of the tids: server/position.h */
} HybridStoreRows;

/* HybridProbe: a query vector, and the numbers about it that the computation of lower bounds needs. */
typedef struct HybridProbe
{
	HyMetric metric;
	int dims;
	const float *x;
	double norm; /* upper bound of |x|, in double precision */
} HybridProbe;

/* HybridLoss: bounds for the rounding loss of stored vectors; {0, 0} if there is no loss. */
typedef struct HybridLoss
{
	float norm;
	float residual;
} HybridLoss;

/* HybridStoreUnit: a run of lists that may stay on a device (dispatch/run/resident.h). */
typedef struct HybridStoreUnit
{
	bool named; /* whether the unit has entries and a key */
	HyUnitKey key;
	int64 rows;
	int first; /* first list; like the next field, private to the store */
	int end;
} HybridStoreUnit;

typedef struct HybridStore HybridStore;

typedef struct HybridStoreMethods
{
	/* returns false for an index without a store of vectors or halfvecs; raises on damage */
	bool (*describe)(Relation index, HybridStoreShape *shape);

	/*
	 * Begins to read, under an MVCC snapshot, in the current memory context.  The caller keeps the index open
	 * and locked until `end`.  Takes the predicate lock that a serializable transaction needs.
	 */
	HybridStore *(*begin)(Relation index, Snapshot snapshot);

	/* reads the next entries, at most `most`; returns their number, 0 at the end */
	int (*read)(HybridStore *store, const HybridStoreRows *rows, int most);

	/*
	 * Makes `read` stop at the end of the unit that begins at the current entry.  A unit has at most `bytes` of
	 * vectors, unless it is a single list.  Returns false if nothing is left.  The unit's key identifies its
	 * present entries: two reads of a unit under the same key return the same entries.  The end of a unit
	 * depends only on its lists, not on the lists before it.
	 */
	bool (*unit)(HybridStore *store, Size bytes, HybridStoreUnit *unit);

	/* makes `read` start again at the unit's beginning, and return only entries with positions in least .. most */
	void (*again)(HybridStore *store, const HybridStoreUnit *unit, int64 least, int64 most);

	/*
	 * unchanged: tests whether the unit's key still identifies the entries that were read.
	 * pass: skips to the end of the unit.
	 */
	bool (*unchanged)(HybridStore *store, const HybridStoreUnit *unit);
	void (*pass)(HybridStore *store, const HybridStoreUnit *unit);

	/* Returns the share of the store that was read, 0 .. 1. */
	double (*share)(const HybridStore *store);

	void (*end)(HybridStore *store);

	void (*probe)(HybridProbe *probe, HyMetric metric, const float *x, int dims);

	/*
	 * Returns a number that grows with the rounding loss of an entry's stored copy. Only loss that matters to
	 * queries of this metric counts.
	 */
	double (*lost)(HyMetric metric, float norm, float residual);

	/* extends loss to cover this entry, for lower_bound and queries of this metric */
	void (*cover)(HyMetric metric, HybridLoss *loss, float norm, float residual);

	/*
	 * Returns a lower bound of the canonical distance between the query and the original vector of an entry,
	 * computed from the distance to the stored copy. The bound holds for every entry that the loss (norm and
	 * residual) covers. If the residual is 0, the bound is the distance itself.
	 */
	double (*lower_bound)(const HybridProbe *query, double distance, float norm, float residual);
} HybridStoreMethods;

/* HybridFoundRow: a row that a search by codes has found. */
typedef struct HybridFoundRow
{
	double distance; /* lower bound of the operator's distance; infinite if there is no distance */
	float width;     /* the operator's distance is at most distance + width */
	float bound;     /* lower bound from the row's code; the same for copies of a row in one list */
	int32 list;      /* private to the search, as is the next field */
	int32 row;
	int64 position; /* position of the entry's tid */
} HybridFoundRow;

/* minimum number of entries that is requested from a search by codes; recall is measured with this number */
#define HYBRID_FIRST_NEAREST 12

/*
 * hybrid_first_nearest: return the number of entries to request first from a search by codes for k rows. A few more
 * than k are requested, because the executor must know that the first k rows are in order. The larger k is, the
 * closer together the rows are, so the surplus grows with k.
 */
static inline int64
hybrid_first_nearest(int64 k)
{
	return Max(k + 2 + k / 64, HYBRID_FIRST_NEAREST);
}

typedef struct HybridIndexSearch HybridIndexSearch;

/*
 * HybridSearchMethods: searches an index by codes for many queries, one after the other. Each search is like that
 * of an index scan.
 */
typedef struct HybridSearchMethods
{
	/*
	 * Begins to search under an MVCC snapshot, in the current memory context, for this recall, from 0.5 to below
	 * 1.  The caller keeps the index open and locked until `end`.  Takes the predicate lock that a serializable
	 * transaction needs.
	 */
	HybridIndexSearch *(*begin)(Relation index, Snapshot snapshot, double recall);

	/*
	 * Returns the `many` entries nearest to x, and entries that may be nearer than one of these because their
	 * copies are rounded, sorted by distance.  Fewer entries mean that there are no more.  The array is valid
	 * until the next call.
	 */
	const HybridFoundRow *(*find)(HybridIndexSearch *search, const float *x, int many, int *count);

	void (*end)(HybridIndexSearch *search);
} HybridSearchMethods;

extern void
hybrid_register_stores(const HybridStoreMethods *methods, const HybridSearchMethods *searches);

/*
 * hybrid_stores, hybrid_searches: return the registered methods, or NULL before any were registered.
 */
extern const HybridStoreMethods *hybrid_stores(void);
extern const HybridSearchMethods *hybrid_searches(void);

#endif
