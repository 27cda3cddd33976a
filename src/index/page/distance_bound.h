/*
 * distance_bound.h
 *		Bounds of the distance to a vector, computed from the distance to its rounded copy.
 */
#ifndef HYBRID_INDEX_DISTANCE_BOUND_H
#define HYBRID_INDEX_DISTANCE_BOUND_H

#include "core/batch.h"
#include "server/store.h"

/* hybrid_probe_init: prepare a query for the functions below. The caller keeps x valid while the probe is used. */
extern void hybrid_probe_init(HybridProbe *probe, HyMetric metric, const float *x, int dims);

/*
 * hybrid_lower_bound: return a lower bound of the distance that the operator returns for the original
 * vector. `distance` is the canonical distance of the stored vector, `norm` its canonical squared norm, and
 * `residual` its rounding error (HybridStored). If the residual is 0, returns `distance`.
 */
extern double
hybrid_lower_bound(const HybridProbe *query, double distance, float norm, float residual);

/* hybrid_upper_bound: return an upper bound of the same distance, from the same arguments. */
extern double
hybrid_upper_bound(const HybridProbe *query, double distance, float norm, float residual);

/*
 * hybrid_loss_cover: extend *loss to cover one more row, given its norm and residual. Afterwards, for any
 * query and distance, the lower bound computed from *loss is at most the one computed from this norm and
 * residual.
 */
extern void hybrid_loss_cover(HyMetric metric, HybridLoss *loss, float norm, float residual);

/* hybrid_lost: return a number that orders rows by how loose the bounds of their distances are. */
extern double hybrid_lost(HyMetric metric, float norm, float residual);

#endif
