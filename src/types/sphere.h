/*
 * sphere.h
 *		The type hybrid_sphere: what lies within a distance of a vector.
 *
 * A composite type, (center vector, radius float8): a value need not be made by its constructor, and
 * either of its fields may be NULL.
 */
#ifndef HYBRID_SPHERE_H
#define HYBRID_SPHERE_H

#include "postgres.h"

#include "types/vector.h"

/* HybridSphere: a row is within if its distance from the centre is <= radius; a NaN is never. */
typedef struct HybridSphere
{
	HybridVector *center;
	double radius;
} HybridSphere;

/* hybrid_sphere_open: in the current memory context; false: a field is NULL. */
extern bool hybrid_sphere_open(Datum datum, HybridSphere *sphere);

#endif
