/*
 * distance_bound.h
 *		Bounds of the distance to a vector of which only the rounded copy was measured.
 */
#ifndef HYBRID_INDEX_DISTANCE_BOUND_H
#define HYBRID_INDEX_DISTANCE_BOUND_H

#include "core/batch.h"
#include "server/store.h"

/* hybrid_probe_init: prepare a query for the bounds. x stays the caller's. */
extern void hybrid_probe_init(HybridProbe *probe, HyMetric metric, const float *x, int dims);

/*
 * hybrid_lower_bound: return a lower bound of the distance that the operator returns for the original
 * vector. The arguments are the canonical distance of the stored vector, its canonical squared norm and
 * its residual. Returns the distance itself if the residual is 0.
 */
extern double
hybrid_lower_bound(const HybridProbe *query, double distance, float norm, float residual);

/* hybrid_upper_bound: the same for an upper bound. */
extern double
hybrid_upper_bound(const HybridProbe *query, double distance, float norm, float residual);

/*
 * hybrid_loss_cover: extend *loss so that, for any query and distance, the lower bound computed from it
 * is at most the one computed from this norm and residual.
 */
extern void hybrid_loss_cover(HyMetric metric, HybridLoss *loss, float norm, float residual);

/* hybrid_lost: return a number that orders rows by how loose the bounds of their distances are. */
extern double hybrid_lost(HyMetric metric, float norm, float residual);

#endif
