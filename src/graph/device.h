/*
 * device.h
 *		Keeps the graph of a call site on a device.
 *
 * If a device is open and hybrid.gpu_resident_memory leaves room, a graph that a call site keeps is
 * sent to the device when it is used again. The calls that follow send only their seeds.
 */
#ifndef HYBRID_GRAPH_DEVICE_H
#define HYBRID_GRAPH_DEVICE_H

#include "postgres.h"

#include "dispatch/backend.h"
#include "graph/kept.h"

/*
 * hybrid_graph_run: run a task of HY_OP_SPREAD over the graph, like hybrid_run. The graph is used
 * on a device if it is there or should be sent there. Otherwise the task is dispatched as usual.
 * room is the number of bytes that the host may additionally use to keep the graph on a device.
 */
extern void hybrid_graph_run(HybridGraph *graph, HyTask *task, uint64 room);

#endif
