/*
 * distance_bound.h
 *		How near a vector can be when only its rounded copy was measured.
 */
#ifndef HYBRID_INDEX_DISTANCE_BOUND_H
#define HYBRID_INDEX_DISTANCE_BOUND_H

#include "core/batch.h"
#include "server/store.h"

/* hybrid_probe_init: x stays the caller's. */
extern void hybrid_probe_init(HybridProbe *probe, HyMetric metric, const float *x, int dims);

/*
 * hybrid_lower_bound: at most the distance the operator returns for the vector that was given,
 * from the canonical distance of the stored one, its canonical squared norm and its residual.
 * The distance itself when the residual is 0.
 */
extern double
hybrid_lower_bound(const HybridProbe *query, double distance, float norm, float residual);

/* hybrid_upper_bound: the same from the other side: at least the distance the operator returns. */
extern double
hybrid_upper_bound(const HybridProbe *query, double distance, float norm, float residual);

/*
 * hybrid_loss_cover: makes *loss such that the bound from its norm and residual is at most that from
 * these, whatever the query and the distance.
 */
extern void hybrid_loss_cover(HyMetric metric, HybridLoss *loss, float norm, float residual);

/* hybrid_lost: what orders rows by how loose the bound for them is. */
extern double hybrid_lost(HyMetric metric, float norm, float residual);

#endif
