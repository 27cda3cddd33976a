/*
 * store.h
 *		The vectors that an index keeps, for whoever wants to read them all.
 *
 * The access method registers how its stores are read; whoever reads them includes nothing of it.
 *
 * A store holds an entry for every row that a snapshot sees, except where the vector is NULL, or all
 * zeroes and the index orders by cosine; and entries of rows that nobody sees any more.  An entry's
 * tid is the root of a chain of versions: which of them is visible, the table says.
 */
#ifndef HYBRID_STORE_H
#define HYBRID_STORE_H

#include "postgres.h"

#include "core/batch.h"
#include "dispatch/residency.h"
#include "utils/relcache.h"
#include "utils/snapshot.h"

/* HybridStoreShape: what never changes while an index has the same file. */
typedef struct HybridStoreShape
{
	HyMetric metric; /* of the index's order; a store may be read for any */
	HyDtype dtype;
	int dims;
	Size stride;   /* bytes of a stored vector, and from one to the next */
	bool lossless; /* vectors are stored as they were given */
	int64 places;  /* entries there is room for, about */
} HybridStoreShape;

/* HybridStoreRows: where entries are put, the caller's arrays; NULL: not wanted.  No vectors: positions only. */
typedef struct HybridStoreRows
{
	char *vectors;
	float *norms;     /* canonical squared norms of the stored vectors */
	float *residuals; /* at least |given - stored| */
	int64 *positions; /* of the tids: server/position.h */
} HybridStoreRows;

/* HybridProbe: a query with what the lower bounds need of it. */
typedef struct HybridProbe
{
	HyMetric metric;
	int dims;
	const float *x;
	double norm; /* |x|, at least; double precision */
} HybridProbe;

/* HybridLoss: how far stored vectors may be from those given; {0, 0}: not at all. */
typedef struct HybridLoss
{
	float norm;
	float residual;
} HybridLoss;

/* HybridStoreUnit: a run of lists that may stay on a device (dispatch/resident.h). */
typedef struct HybridStoreUnit
{
	bool named; /* there is a key; else it is empty */
	HyUnitKey key;
	int64 rows;
	int first; /* list; the store's business, as the next */
	int end;
} HybridStoreUnit;

typedef struct HybridStore HybridStore;

typedef struct HybridStoreMethods
{
	/* false: this is not an index with a store of vectors or halfvecs; raises on damage */
	bool (*describe)(Relation index, HybridStoreShape *shape);

	/*
	 * An MVCC snapshot; the index is open and locked for as long.  In the current memory context.
	 * Takes the predicate lock that a serializable transaction needs.
	 */
	HybridStore *(*begin)(Relation index, Snapshot snapshot);

	/* the next entries, at most most of them; 0: there are no more */
	int (*read)(HybridStore *store, const HybridStoreRows *rows, int most);

	/*
	 * From now on read stops where the unit ends that begins here, of at most so many bytes of
	 * vectors unless it is one list; false: nothing is left.  Its key names the entries that it has at this
	 * moment: whoever read them under the same key has the same.  Where a unit ends depends on its
	 * lists alone, not on what came before it.
	 */
	bool (*unit)(HybridStore *store, Size bytes, HybridStoreUnit *unit);

	/* the unit is read from its beginning, the entries with positions of least .. most alone */
	void (*again)(HybridStore *store, const HybridStoreUnit *unit, int64 least, int64 most);

	/* unchanged: whether what was read of the unit since is what its key names; pass: it need not be. */
	bool (*unchanged)(HybridStore *store, const HybridStoreUnit *unit);
	void (*pass)(HybridStore *store, const HybridStoreUnit *unit);

	/* how much of the store was read, 0 .. 1 */
	double (*share)(const HybridStore *store);

	void (*end)(HybridStore *store);

	void (*probe)(HybridProbe *probe, HyMetric metric, const float *x, int dims);

	/* a number that grows with what an entry's copy lost, as far as queries of this metric see it */
	double (*lost)(HyMetric metric, float norm, float residual);

	/* makes loss cover this entry too, for lower_bound and queries of this metric */
	void (*cover)(HyMetric metric, HybridLoss *loss, float norm, float residual);

	/*
	 * At most the canonical distance to the vector that was given, from that of the stored one, for
	 * every entry that the loss (its norm, its residual) covers; the distance itself when the
	 * residual is 0.
	 */
	double (*lower_bound)(const HybridProbe *query, double distance, float norm, float residual);
} HybridStoreMethods;

extern void hybrid_register_stores(const HybridStoreMethods *methods);

/* hybrid_stores: NULL before anybody registered. */
extern const HybridStoreMethods *hybrid_stores(void);

#endif
