/*
 * units.h
 *		A search of a store by way of rows that stay on a device, unit by unit.
 *
 * What the device has of a unit are vectors.  What the host needs to know of the rows besides, their
 * positions and what their copies lost, is in the unit's notes, so that a unit that is there is not
 * read at all.
 */
#ifndef HYBRID_UNITS_H
#define HYBRID_UNITS_H

#include "postgres.h"

#include "knn/outliers.h"
#include "knn/search.h"
#include "server/store.h"

/* HybridUnits: a way through a store. */
typedef struct HybridUnits
{
	HybridSearch *search;
	HybridStore *store;
	HybridOutliers *outliers;
	const HybridStoreShape *shape;
	HyMetric metric;
	Size bytes;    /* of vectors that a unit has, as a rule */
	Size most;     /* and at most, where it is one list */
	bool possible; /* some device may have units, or get them */
	bool begun;
} HybridUnits;

/*
 * hybrid_units_begin: search and store, which is of this shape, stand at the beginning; all outlive
 * the way.
 */
extern void
hybrid_units_begin(HybridUnits *units, HybridSearch *search, HybridStore *store,
                   const HybridStoreShape *shape, HybridOutliers *outliers, HyMetric metric);

/*
 * hybrid_units_next: searches units as long as devices do it; then says that the store is to be read
 * until its read returns 0, or, with false, that nothing is left.
 */
extern bool hybrid_units_next(HybridUnits *units);

#endif
