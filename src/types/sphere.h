/*
 * sphere.h
 *		The type hybrid_sphere: all vectors within a distance of a center.
 *
 * It is a composite type, (center vector, radius float8). SQL may build a value without the
 * constructor function, and either field may be NULL.
 */
#ifndef HYBRID_SPHERE_H
#define HYBRID_SPHERE_H

#include "postgres.h"

#include "types/vector.h"

/*
 * HybridSphere: a sphere contains a row if the row's distance from the center is <= radius. A row
 * whose distance is NaN is never within a sphere.
 */
typedef struct HybridSphere
{
	HybridVector *center;
	double radius;
} HybridSphere;

/*
 * hybrid_sphere_open: read the fields in the current memory context. Returns false if a field is
 * NULL.
 */
extern bool hybrid_sphere_open(Datum datum, HybridSphere *sphere);

#endif
