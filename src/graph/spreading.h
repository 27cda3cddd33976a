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
 * Maximum number of hops until convergence. On a graph with 16 million edges, they take about an hour on one
 * processor.
 */
#define HYBRID_MOST_STEPS 100000

/*
 * hybrid_spreading_steps: return the maximum number of hops until the activation that moves is less
 * than this share, if a hop passes on at most the share `kept` of what it receives. kept is below 1.
 */
extern double hybrid_spreading_steps(double kept, double tolerance);

/*
 * hybrid_spreading_check_converges: raise an error if hops is -1, and spreading may never end or may
 * take more than HYBRID_MOST_STEPS hops. It may never end if a hop can pass on as much activation as
 * it received, or more.
 */
extern void hybrid_spreading_check_converges(HybridCall *call, const HySpreadParams *params);

/*
 * hybrid_spreading_run: set the result for each set, as hy_spread does. If reached is not NULL,
 * only the results of the nodes whose bits in reached are then set are valid. Uses at most
 * call->room additional bytes to keep the graph on a device.
 */
extern void
hybrid_spreading_run(HybridCall *call, const HySpreadParams *params, const HySpreadSeeds *seeds,
                     const HySpreadResult *result, uint64 *reached);

#endif
