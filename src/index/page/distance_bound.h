/*
 * distance_bound.h
 *		Bounds of the distance to a vector, computed from the distance to its rounded copy.
 */
#ifndef HYBRID_INDEX_DISTANCE_BOUND_H
#define HYBRID_INDEX_DISTANCE_BOUND_H

#include "core/batch.h"
#include "server/store.h"

/* hybrid_probe_init: prepare a query for the bounds. The caller keeps x valid while the probe is used. */
extern void hybrid_probe_init(HybridProbe *probe, HyMetric metric, const float *x, int dims);

/*
 * hybrid_lower_bound: return a lower bound of the distance that the operator returns for the original
 * vector. The arguments are the canonical distance of the stored vector, its canonical squared norm and
 * its residual. Returns the distance itself if the residual is 0.
 */
extern double
hybrid_lower_bound(const HybridProbe *query, double distance, float norm, float residual);

/* hybrid_upper_bound: return an upper bound of that distance, from the same arguments. */
extern double
hybrid_upper_bound(const HybridProbe *query, double distance, float norm, float residual);

/*
 * hybrid_loss_cover: extend *loss to cover one more row, given its norm and residual. For any query and
 * distance, the lower bound computed from *loss is then at most the lower bound computed from this norm
 * and residual.
 */
extern void hybrid_loss_cover(HyMetric metric, HybridLoss *loss, float norm, float residual);

/* hybrid_lost: return a number that orders rows by how loose the bounds of their distances are. */
extern double hybrid_lost(HyMetric metric, float norm, float residual);

#endif
