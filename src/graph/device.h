/*
 * device.h
 *		Keeps a registered graph on a device.
 *
 * When a session uses its copy of a registered graph (copy.h) again, the copy is sent to a device. This
 * requires an open device and enough space within hybrid.gpu_resident_memory. Later calls send only
 * their seeds.
 */
#ifndef HYBRID_GRAPH_DEVICE_H
#define HYBRID_GRAPH_DEVICE_H

#include "postgres.h"

#include "dispatch/backend.h"
#include "graph/graph.h"

/*
 * hybrid_graph_run: run a task of HY_OP_SPREAD over the graph, like hybrid_run. The task runs on a
 * device if the graph is there or should be sent there. Otherwise the task is dispatched as usual.
 * room is the number of additional bytes that the host may use to keep the graph on a device.
 */
extern void hybrid_graph_run(HybridGraph *graph, HyTask *task, uint64 room);

/*
 * hybrid_graph_unpack: free the packed layout of a graph that has changed, and let the cache evict the graph
 * from the device.
 */
extern void hybrid_graph_unpack(HybridGraph *graph);

/* hybrid_graph_device_possible: return whether a device might run tasks over graphs now. */
extern bool hybrid_graph_device_possible(void);

#endif
