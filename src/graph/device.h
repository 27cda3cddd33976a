/*
 * device.h
 *		A kept graph that stays on a device.
 *
 * Where a device is open and hybrid.gpu_resident_memory leaves room, a graph that a call site keeps is
 * sent there when it is used again, and the calls that follow send their seeds only.
 */
#ifndef HYBRID_GRAPH_DEVICE_H
#define HYBRID_GRAPH_DEVICE_H

#include "postgres.h"

#include "dispatch/backend.h"
#include "graph/kept.h"

/*
 * hybrid_graph_run: as hybrid_run, a task of HY_OP_SPREAD over the graph; on a device that has it, or
 * gets it, or as any task.  room: bytes that the host may take besides to keep it there.
 */
extern void hybrid_graph_run(HybridGraph *graph, HyTask *task, uint64 room);

#endif
