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
 * Maximum number of hops until convergence. On a graph with 16 million edges, that many hops take about an
 * hour on one processor.
 */
#define HYBRID_MOST_STEPS 100000

/*
 * hybrid_spreading_steps: return the maximum number of hops until the activation that is still passed on
 * falls below the share `tolerance`. Each hop passes on at most the share `kept`, which is below 1.
 */
extern double hybrid_spreading_steps(double kept, double tolerance);

/*
 * hybrid_spreading_check_converges: raise an error if hops is -1, and spreading may never end or may take
 * more than HYBRID_MOST_STEPS hops. Spreading may never end if a hop can pass on at least as much activation
 * as it received.
 */
extern void hybrid_spreading_check_converges(HybridCall *call, const HySpreadParams *params);

/*
 * hybrid_spreading_run: set the result for each set, as hy_spread does. If reached is not NULL, results are
 * valid only for the nodes whose bits in reached are set on return. Uses at most call->room additional bytes
 * to keep the graph on a device.
 */
extern void
hybrid_spreading_run(HybridCall *call, const HySpreadParams *params, const HySpreadSeeds *seeds,
                     const HySpreadResult *result, uint64 *reached);

#endif
