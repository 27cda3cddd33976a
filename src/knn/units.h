/*
 * units.h
 *		Searches a store by units whose vectors may stay on a device.
 *
 * The device holds the vectors of a unit. The host keeps the positions of the unit's rows and the
 * loss of precision of their copies. So a unit that is on a device can be searched without reading
 * the store.
 */
#ifndef HYBRID_UNITS_H
#define HYBRID_UNITS_H

#include "postgres.h"

#include "knn/outliers.h"
#include "knn/search.h"
#include "server/store.h"

/* HybridUnits: an iteration over a store. */
typedef struct HybridUnits
{
	HybridSearch *search;
	HybridStore *store;
	HybridOutliers *outliers;
	const HybridStoreShape *shape;
	HyMetric metric;
	Size bytes; /* usual size of a unit, in bytes of vectors */
	Size most;  /* largest size of a unit; only a unit of a single list may exceed the usual size */
	bool possible; /* whether a device may hold units or receive them */
	bool begun;
} HybridUnits;

/*
 * hybrid_units_begin: start the iteration. shape describes store. search and store must be at their
 * beginning, and all arguments must outlive the iteration.
 */
extern void
hybrid_units_begin(HybridUnits *units, HybridSearch *search, HybridStore *store,
                   const HybridStoreShape *shape, HybridOutliers *outliers, HyMetric metric);

/*
 * hybrid_units_next: search units on devices until one cannot be searched there. Returns true if there is
 * such a unit; the caller then reads it from the store until the store returns 0 rows. Returns false if no
 * unit is left. Without devices, the whole store is one unit for the caller to read.
 */
extern bool hybrid_units_next(HybridUnits *units);

#endif
