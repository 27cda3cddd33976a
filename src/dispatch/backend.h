/*
 * backend.h
 *		The interface between the dispatcher and a backend: plain C structs behind an ABI number.
 *
 * A backend runs tasks on some hardware.  The CPU backend is linked in.  Others are plug-ins:
 * shared libraries with one entry symbol, found by name next to hybrid.so.  No PostgreSQL type,
 * exception or longjmp crosses this interface.  A backend calls only the functions of HyHost, and
 * only from one thread.  Only the parts of a task that it passes to HyHost.run may run on other
 * threads.
 *
 * Life of a device: probe (cheap, opens nothing) -> open -> submit / poll ... -> close.  Life of a
 * task: submit returns a ticket, and poll says whether the task is done.  A poll that reports done
 * or an error also releases the ticket.  cancel asks a running task to stop; the caller then polls
 * until the task is done.  A backend reads and writes the task's memory only inside submit and
 * poll, and never after cancel was called.  So the caller may reuse the task's memory immediately
 * after cancel.  It polls later to learn whether the device has stopped.
 *
 * A device that was idle for a while may close itself.  Its context, its memory and the contents of
 * its buffers are then gone.  The next task fails with HY_CONTEXT_LOST, and the function idle
 * returns true.  Calling idle does not count as use of the device.  The caller must still call
 * close, and may free buffers before it does.
 */
#ifndef HY_BACKEND_H
#define HY_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allocator.h"
#include "core/assign.h"
#include "core/batch.h"
#include "core/cancel.h"
#include "core/clock.h"
#include "core/packed_graph.h"
#include "core/score.h"
#include "core/spread.h"
#include "core/status.h"
#include "core/threads.h"

#define HY_BACKEND_ABI 10
#define HY_NAME_LENGTH 64
#define HY_BACKEND_DEVICES 64 /* a backend has at most this many devices, numbered from 0 */
#define HY_TEXT_LENGTH 160

typedef enum HyOp
{
	HY_OP_DISTANCE = 0, /* Q x N distances */
	HY_OP_TOPK,         /* the k nearest of N targets for each of Q queries, in one pass */
	HY_OP_ASSIGN,       /* the nearest of C centroids for each of N rows */
	HY_OP_SCORE_CODES,  /* the k codes of N with the smallest lower bounds, for each of Q queries */
	HY_OP_SPREAD        /* activation spreading over a CSR graph from S seed sets */
} HyOp;

#define HY_OP_COUNT (HY_OP_SPREAD + 1)

typedef enum HyClass
{
	HY_CLASS_EXACT = 0, /* output bits equal the canonical result */
	HY_CLASS_FILTER     /* approximate result: candidates that the caller rescores */
} HyClass;

/*
 * The comment of an array in the following structs gives its number of elements, and says "host" if
 * it is in host memory.
 */
typedef struct HyDistanceTask
{
	HyMetric metric;
	HyMatrix queries; /* fp32, host */
	HyMatrix targets;
	double *out; /* queries.rows * targets.rows, host */
	/*
	 * number of doubles from the start of a query's output to the start of the next; 0:
	 * targets.rows
	 */
	int64_t out_stride;
} HyDistanceTask;

typedef struct HyTopKTask
{
	HyMetric metric;
	HyMatrix queries; /* fp32, host */
	HyMatrix targets;
	int32_t k;
	HyNeighbor *out; /* queries.rows * k, host */
	int32_t *counts; /* queries.rows, host */
	/* queries.rows, host; rows farther than limits[q] from query q may be omitted; NULL: no limits */
	const double *limits;
} HyTopKTask;

typedef struct HyAssignTask
{
	HyMatrix rows;      /* fp32 */
	HyMatrix centroids; /* fp32, host; the groups are in host memory, too */
	HyGroups groups;    /* centers.rows 0: no groups */
	int32_t *nearest;   /* rows.rows, host */
} HyAssignTask;

typedef struct HyScoreTask
{
	HyScoreRows rows; /* all arrays are in host memory */
	HyScoreQueries queries;
	int32_t k;       /* 1 .. HY_SCORE_MOST */
	HyNeighbor *out; /* queries.count * k, host; each element is a lower bound and a row number */
	int32_t *counts; /* queries.count, host */
} HyScoreTask;

typedef struct HySpreadTask
{
	/*
	 * host; if buffer is set, only nodes, edges and out_weight of the graph are read, and out_weight
	 * may be NULL
	 */
	const HyCsr *graph;
	const HyPackedGraph *packed; /* packed form of this graph, host; NULL: none */
	HyBuffer *buffer;            /* device buffer with the packed graph; NULL: none */
	/*
	 * params.hub is an array of graph->nodes elements, host.  If buffer is set, params.hub is only
	 * a flag: a value other than NULL selects the divisors in the buffer.
	 */
	HySpreadParams params;
	HySpreadSeeds seeds;
	double *activation; /* seeds.sets * graph->nodes, host */
	int32_t *hop;       /* same size as activation */
	double *sent;       /* same size as activation; NULL: not wanted */
	/*
	 * hy_spread_words(graph->nodes) words for each set, host; NULL: none.  The caller sets all
	 * bits.  A backend may clear the bits of nodes that were not reached.  The results of these
	 * nodes are then undefined.
	 */
	uint64_t *reached;
} HySpreadTask;

typedef struct HyTask
{
	HyOp op;
	HyClass numeric_class;
	union
	{
		HyDistanceTask distance;
		HyTopKTask topk;
		HyAssignTask assign;
		HyScoreTask score;
		HySpreadTask spread;
	} u;
	const HyAllocator *allocator; /* scratch memory for work on the host; outlives the task */
	const HyCancel *cancel;       /* NULL: not cancelable */
} HyTask;

/*
 * HyShape: the properties of a task that determine its cost.  The history of observed times and the
 * capabilities of a device are looked up by shape.
 */
typedef struct HyShape
{
	HyOp op;
	HyDtype dtype;
	HyMetric metric; /* HY_METRIC_L2 for operations without a metric */
	int32_t dims;    /* 0 for spread; the padded count for codes */
	int64_t queries; /* Q, or seed sets, or rows to be assigned */
	int64_t targets; /* N, or edges, or the centers and centroids that a row is compared with */
	int32_t k;       /* 0 for operations without k */
	bool resident;   /* the large input is on the device already */
	/* number of CPU threads that run the task; 0: one, or not known; ignored on other devices */
	int32_t threads;
} HyShape;

/* HyDeviceInfo: the properties of a device that probe finds without opening it. */
typedef struct HyDeviceInfo
{
	char name[HY_NAME_LENGTH];         /* e.g. 'NVIDIA H100 80GB HBM3' */
	char architecture[HY_NAME_LENGTH]; /* e.g. 'sm_90', 'avx2' */
	int32_t cores;                     /* multiprocessors or processor cores */
	uint64_t memory_total;             /* bytes; 0: not known before the device is open */
	uint64_t memory_free;
	uint64_t open_cost_ns; /* expected time to open a context */
	int32_t tasks;         /* tasks that an open device accepts at a time; 0: no limit */
	bool virtual_time;     /* its times come from a model instead of hardware */
} HyDeviceInfo;

typedef struct HyCaps
{
	bool ok;
	int64_t max_targets; /* largest N (or edges) of one task */
	int32_t max_k;
	HyClass numeric_class;
	const char *reason; /* why ok is false, or NULL; the caller does not free it */
} HyCaps;

/* HyEstimate: the resources that a task would need, in bytes. */
typedef struct HyEstimate
{
	uint64_t device_bytes;
	uint64_t pinned_bytes;
	uint64_t bytes_up;
	uint64_t bytes_down;
	/*
	 * Duration of the warm task without jitter, for a device with virtual time; else 0.  The value
	 * is used only to evaluate decisions, never to make them, because a real device could not
	 * report it.
	 */
	uint64_t virtual_ns;
	int32_t threads; /* CPU: threads on which the task would run now; 0: one */
} HyEstimate;

typedef struct HyLimits
{
	uint64_t memory; /* bytes that this context may use; 0: 80% of free memory */
	/*
	 * Word in shared memory.  While it is not 0, this context counts as one of the open contexts of
	 * all processes.  NULL: not counted.  A backend that closes itself sets the word to 0
	 * atomically, but only if the word still has the value that it had at open.
	 */
	uint64_t *place;
} HyLimits;

/* HyTimings: times and transfers of one task, by the host's clock. */
typedef struct HyTimings
{
	/*
	 * Time from submit to done.  While the task runs, it is the time from submit to the end of the
	 * last part that has ended, or 0 if no part has ended yet.  When this value changes, the caller
	 * polls again soon.  On the CPU it is always 0, because there the caller reads a clock.
	 */
	uint64_t total_ns;
	/* valid once done */
	uint64_t bytes_up;
	uint64_t bytes_down;
	int32_t threads; /* CPU: threads that ran the task; 0: one */
	uint64_t
		main_thread_work_ns; /* CPU: time that the calling thread spent on other work meanwhile */
	/* valid while not done */
	uint64_t remaining_ns; /* lower bound of the time until done; 0: not known */
	bool may_skip;         /* virtual time: advance the clock by remaining_ns instead of sleeping */
} HyTimings;

/* HyFailure: the last error of a device, with the device's own code and text. */
typedef struct HyFailure
{
	int32_t native_code;
	char text[HY_TEXT_LENGTH];
} HyFailure;

/* HyHost: the functions of the host process that a plug-in may use. */
typedef struct HyHost
{
	uint32_t abi; /* HY_BACKEND_ABI of the host */
	const HyClock *clock;
	const HyAllocator *allocator;
	/* returns the current text of a setting, e.g. setting(arg, "emulated_faults"); NULL: no such setting */
	const char *(*setting)(void *arg, const char *name);
	void *setting_arg;
	/*
	 * Runs each of the parts 0 .. parts - 1 once, on the calling thread and on threads that the
	 * host lends for this call only.  op is the operation of the backend's task, and work is the
	 * size of all parts together, in the unit of hy_threads_for.  A backend calls this function in
	 * submit and poll.  A part is pure code: it calls neither the host nor the device, and
	 * allocates no memory.  Returns HY_OK if all parts have returned HY_OK.  After another status,
	 * some parts may not have run.  All parts that have begun have ended when the function returns.
	 * NULL: the backend runs the parts itself.
	 */
	HyStatus (*run)(void *arg, HyOp op, double work, int64_t parts, HyPart part, void *part_arg);
	void *run_arg;
} HyHost;

typedef struct HyDevice HyDevice; /* an open context, opaque to the dispatcher */
typedef uint64_t HyTicket;

typedef struct HyBackend
{
	/* HY_BACKEND_ABI that the backend was built for; the first field, so that any host can read it */
	uint32_t abi;
	uint32_t size;    /* sizeof(HyBackend) that the backend was built for */
	const char *name; /* 'cpu', 'cuda', 'emulated'; allowed names: hy_backend_name_allowed */

	/*
	 * device_count stores the number of devices in *count, and probe describes device number i in
	 * *info.  Neither opens a device.  HY_OK with 0 devices means that the machine has no such
	 * device, which is not an error.  With 0 devices, or after an error, last_error returns the
	 * reason.
	 */
	HyStatus (*device_count)(int32_t *count);
	HyStatus (*probe)(int32_t device, HyDeviceInfo *info);

	HyStatus (*open)(int32_t device, const HyLimits *limits, HyDevice **opened);
	void (*close)(HyDevice *device);
	/* returns whether the device has closed itself for good; NULL: it never does that */
	bool (*idle)(const HyDevice *device);

	/* If device is NULL, these two return the properties that the device would have once open. */
	HyCaps (*caps)(const HyDevice *device, const HyShape *shape);
	HyEstimate (*estimate)(const HyDevice *device, const HyShape *shape);
	HyStatus (*mem_info)(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes);

	/* allocates a buffer filled with zeros */
	HyStatus (*buf_alloc)(HyDevice *device, uint64_t bytes, HyBuffer **buffer);
	/*
	 * The caller guarantees that no task reads the buffer.  Its contents must not be readable in a
	 * later buffer.
	 */
	void (*buf_free)(HyDevice *device, HyBuffer *buffer);
	HyStatus (*upload)(HyDevice *device, HyBuffer *buffer, uint64_t offset, const void *data,
	                   uint64_t bytes);
	HyStatus (*download)(HyDevice *device, const HyBuffer *buffer, uint64_t offset, void *data,
	                     uint64_t bytes);

	HyStatus (*submit)(HyDevice *device, const HyTask *task, HyTicket *ticket);
	/* HY_OK with *done false means that the task still runs.  Any other status ends the task. */
	HyStatus (*poll)(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings);
	void (*cancel)(HyDevice *device, HyTicket ticket);
	void (*last_error)(const HyDevice *device,
	                   HyFailure *failure); /* device NULL: the last failure of open */
} HyBackend;

/*
 * HY_PLUGIN_ENTRY: the entry symbol of a plug-in.  The function returns a backend that stays valid
 * as long as the library is loaded, or NULL if the plug-in cannot serve this host.  The function
 * must not access any device.
 */
#define HY_PLUGIN_ENTRY "hy_plugin_entry"
typedef const HyBackend *(*HyPluginEntry)(const HyHost *host);

/*
 * hy_op_name: return 'distance', 'topk', 'assign', 'score_codes' or 'spread'; 'unknown' for another
 * value.
 */
extern const char *hy_op_name(HyOp op);

/* hy_op_has_k: return whether the operation keeps the k best results of each query. */
static inline bool
hy_op_has_k(HyOp op)
{
	return op == HY_OP_TOPK || op == HY_OP_SCORE_CODES;
}

/* hy_task_shape: return the shape of a task. */
extern HyShape hy_task_shape(const HyTask *task);

/*
 * hy_shape_items: return the number of items (Q x N, edges x seed sets, or rows x centroids), at most
 * INT64_MAX.
 */
extern int64_t hy_shape_items(const HyShape *shape);

/*
 * hy_distance_stride: return the number of doubles from the start of a query's output to the start
 * of the next.
 */
static inline int64_t
hy_distance_stride(const HyDistanceTask *task)
{
	return task->out_stride > 0 ? task->out_stride : task->targets.rows;
}

/* hy_task_check: return HY_INVALID if the task contradicts itself, else HY_OK. */
extern HyStatus hy_task_check(const HyTask *task);

#endif
