/*
 * units.h
 *		Searches a store by units whose vectors may stay on a device.
 *
 * The device holds the vectors of a unit. The positions of its rows and the precision that their
 * copies lost are in the unit's notes on the host. So a unit that is on a device is not read at
 * all.
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
	Size bytes;    /* usual size of a unit, in bytes of vectors */
	Size most;     /* largest size, which a unit of a single list may reach */
	bool possible; /* whether a device may hold units or receive them */
	bool begun;
} HybridUnits;

/*
 * hybrid_units_begin: start the iteration. shape describes store. search and store are at their
 * beginning, and all arguments outlive the iteration.
 */
extern void
hybrid_units_begin(HybridUnits *units, HybridSearch *search, HybridStore *store,
                   const HybridStoreShape *shape, HybridOutliers *outliers, HyMetric metric);

/*
 * hybrid_units_next: search units on devices until one cannot be searched there. Returns true if
 * the caller is to read that unit from the store until its read returns 0, or false if nothing is
 * left.
 */
extern bool hybrid_units_next(HybridUnits *units);

#endif
