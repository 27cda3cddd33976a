/*
 * sphere.h
 *		The type hybrid_sphere: all vectors within a distance of a center.
 *
 * It is a composite type, (center vector, radius float8). A value need not come from its
 * constructor function, and either field may be NULL.
 */
#ifndef HYBRID_SPHERE_H
#define HYBRID_SPHERE_H

#include "postgres.h"

#include "types/vector.h"

/*
 * HybridSphere: contains a row if its distance from the center is <= radius. A NaN distance is
 * never within.
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
