/*
 * spreading.h
 *		The operation `spread` of the dispatcher, over the graph of a call.
 */
#ifndef HYBRID_GRAPH_SPREADING_H
#define HYBRID_GRAPH_SPREADING_H

#include "postgres.h"

#include "core/spread.h"
#include "graph/call.h"

/* hybrid_spreading_tolerance: return argument n, a tolerance. Raises unless it is above 0. */
extern double hybrid_spreading_tolerance(FunctionCallInfo fcinfo, int n);

/*
 * hybrid_spreading_check_converges: raise if spreading may never end. That is possible if hops is
 * -1 and a hop may pass on at least as much activation as it received.
 */
extern void hybrid_spreading_check_converges(HybridCall *call, const HySpreadParams *params);

/*
 * hybrid_spreading_run: set activation and hop of each node for each set, as hy_spread does. Uses
 * at most call->room additional bytes to keep the graph on a device.
 */
extern void hybrid_spreading_run(HybridCall *call, const HySpreadParams *params,
                                 const HySpreadSeeds *seeds, double *activation, int32 *hop);

#endif
