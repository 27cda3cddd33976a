/*
 * backend.h
 *		What the dispatcher and a backend promise each other: plain C structs behind an ABI number.
 *
 * A backend runs tasks on some hardware.  The CPU's is linked in; others are plug-ins, shared
 * libraries with one entry symbol, found by name next to hybrid.so.  No PostgreSQL type crosses this
 * line, no exception, no longjmp; a backend calls nothing of the host but the functions of HyHost,
 * and from one thread only.
 *
 * Life of a device: probe (cheap, opens nothing) -> open -> submit / poll ... -> close.
 * Life of a task: submit gives a ticket, poll says whether it is done; a poll that says done (or
 * any error) has released the ticket.  cancel asks a running task to stop; poll until it is done.
 * The task's memory is read and written only inside submit and poll, never behind the caller's back,
 * and not at all once cancel was called: who has cancelled may reuse that memory at once, and ask
 * later whether the device has heard.
 *
 * A device that nobody has used for a while may close itself, behind the caller's back: its context,
 * its memory and what lay in its buffers are gone then, a task that comes gets HY_CONTEXT_LOST, and
 * idle says that this is why.  Looking at it is no use.  It is not open any more, only close is left to
 * be called; buffers may still be freed before.
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

#define HY_BACKEND_ABI 7
#define HY_NAME_LENGTH 64
#define HY_TEXT_LENGTH 160

typedef enum HyOp
{
	HY_OP_DISTANCE = 0, /* Q x N distances */
	HY_OP_TOPK,         /* the k nearest of N for each of Q, fused */
	HY_OP_ASSIGN,       /* the nearest of C centroids for each of N */
	HY_OP_SCORE_CODES,  /* the k least lower bounds of N codes for each of Q */
	HY_OP_SPREAD        /* activation spreading over a CSR, S seed sets */
} HyOp;

#define HY_OP_COUNT (HY_OP_SPREAD + 1)

typedef enum HyClass
{
	HY_CLASS_EXACT = 0, /* canonical bits */
	HY_CLASS_FILTER     /* proposes candidates that somebody rescores */
} HyClass;

typedef struct HyDistanceTask
{
	HyMetric metric;
	HyMatrix queries; /* fp32, host */
	HyMatrix targets;
	double *out;        /* queries.rows * targets.rows, host */
	int64_t out_stride; /* from one query's distances to the next; 0: targets.rows */
} HyDistanceTask;

typedef struct HyTopKTask
{
	HyMetric metric;
	HyMatrix queries; /* fp32, host */
	HyMatrix targets;
	int32_t k;
	HyNeighbor *out; /* queries.rows * k, host */
	int32_t *counts; /* queries.rows, host */
	/* queries.rows, host, or NULL: rows farther away than its query's limit may be left out */
	const double *limits;
} HyTopKTask;

typedef struct HyAssignTask
{
	HyMatrix rows;      /* fp32 */
	HyMatrix centroids; /* fp32, host; so are the groups */
	HyGroups groups;    /* centers.rows 0: none */
	int32_t *nearest;   /* rows.rows, host */
} HyAssignTask;

typedef struct HyScoreTask
{
	HyScoreRows rows; /* host; so are all */
	HyScoreQueries queries;
	int32_t k;       /* 1 .. HY_SCORE_MOST */
	HyNeighbor *out; /* queries.count * k, host: lower bounds and numbers of rows */
	int32_t *counts; /* queries.count, host */
} HyScoreTask;

typedef struct HySpreadTask
{
	const HyCsr *graph;          /* host; with a buffer its numbers, and out_weight or NULL */
	const double *gain;          /* graph->nodes, host; not looked at with a buffer */
	const HyPackedGraph *packed; /* of this graph, or NULL; host */
	HyBuffer *buffer;            /* where it lies, packed so, with this gain; or NULL */
	HySpreadParams params;
	HySpreadSeeds seeds;
	double *activation; /* seeds.sets * graph->nodes, host */
	int32_t *hop;       /* the same */
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
	const HyAllocator *allocator; /* scratch for host-side work; outlives the task */
	const HyCancel *cancel;       /* or NULL */
} HyTask;

/* HyShape: what the cost of a task depends on; the key of history and of capabilities. */
typedef struct HyShape
{
	HyOp op;
	HyDtype dtype;
	HyMetric metric; /* HY_METRIC_L2 where the operation has none */
	int32_t dims;    /* 0 for spread; padded ones of codes */
	int64_t queries; /* Q, or seed sets, or rows to be assigned */
	int64_t targets; /* N, or edges, or centroids and centers that a row meets */
	int32_t k;       /* 0 where the operation has none */
	bool resident;   /* the large input already lies on the device */
} HyShape;

/* HyDeviceInfo: what probe knows of one device without opening it. */
typedef struct HyDeviceInfo
{
	char name[HY_NAME_LENGTH];         /* e.g. 'NVIDIA H100 80GB HBM3' */
	char architecture[HY_NAME_LENGTH]; /* e.g. 'sm_90', 'avx2' */
	int32_t cores;                     /* multiprocessors or processor cores */
	uint64_t memory_total;             /* bytes; 0: not known without opening */
	uint64_t memory_free;
	uint64_t open_cost_ns; /* expected time to open a context */
	bool virtual_time;     /* its timings are made up by a model, never those of hardware */
} HyDeviceInfo;

typedef struct HyCaps
{
	bool ok;
	int64_t max_targets; /* largest N (or edges) of one task; size is tested with <= */
	int32_t max_k;
	HyClass numeric_class;
	const char *reason; /* static text when not ok */
} HyCaps;

/* HyEstimate: what a task would need; bytes. */
typedef struct HyEstimate
{
	uint64_t device_bytes;
	uint64_t pinned_bytes;
	uint64_t bytes_up;
	uint64_t bytes_down;
	/* where time is made up: what it takes once warm, less its jitter; else 0.  To judge a decision
	 * by, never to take it by: no real device could say. */
	uint64_t virtual_ns;
} HyEstimate;

typedef struct HyLimits
{
	uint64_t memory; /* bytes this context may hold; 0: 80% of what is free */
	/* NULL, or a word that stands for the context where all processes' are counted.  A backend that
	 * closes itself sets it to 0, atomically, if it still is what it was at open. */
	uint64_t *place;
} HyLimits;

/* HyTimings: of one task, by the host's clock. */
typedef struct HyTimings
{
	/* submit to done; while not done, submit to when a part of it last ended: whenever this changes the
	 * caller polls again soon.  0: no part has ended, or the CPU, whose caller has a clock */
	uint64_t total_ns;
	/* once done */
	uint64_t bytes_up;
	uint64_t bytes_down;
	/* while not done */
	uint64_t remaining_ns; /* it will not be done before; 0: not known */
	bool may_skip;         /* nothing happens until then: skip, there is nothing to sleep for */
} HyTimings;

/* HyFailure: the last error of a device, in its own terms. */
typedef struct HyFailure
{
	int32_t native_code;
	char text[HY_TEXT_LENGTH];
} HyFailure;

/* HyHost: what a plug-in may use of the process it lives in. */
typedef struct HyHost
{
	uint32_t abi; /* HY_BACKEND_ABI of the host */
	const HyClock *clock;
	const HyAllocator *allocator;
	/* a setting's current text, e.g. setting(arg, "emulated_faults"); NULL when there is none */
	const char *(*setting)(void *arg, const char *name);
	void *setting_arg;
} HyHost;

typedef struct HyDevice HyDevice; /* an open context, opaque to the dispatcher */
typedef uint64_t HyTicket;

typedef struct HyBackend
{
	uint32_t abi;     /* HY_BACKEND_ABI it was built for; first, so that any host can read it */
	uint32_t size;    /* sizeof(HyBackend) it was built for */
	const char *name; /* 'cpu', 'cuda', 'emulated'; what it may be: hy_backend_name_allowed */

	/*
	 * The number of devices in *count and device number i in *info; opens nothing.  HY_OK with 0 is a
	 * machine without a device, where nothing is broken; last_error has the reason either way.
	 */
	HyStatus (*device_count)(int32_t *count);
	HyStatus (*probe)(int32_t device, HyDeviceInfo *info);

	HyStatus (*open)(int32_t device, const HyLimits *limits, HyDevice **opened);
	void (*close)(HyDevice *device);
	/* whether it has closed itself, which is for good; NULL: it never does */
	bool (*idle)(const HyDevice *device);

	/* may be asked with device NULL: what the backend could do once open */
	HyCaps (*caps)(const HyDevice *device, const HyShape *shape);
	HyEstimate (*estimate)(const HyDevice *device, const HyShape *shape);
	HyStatus (*mem_info)(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes);

	HyStatus (*buf_alloc)(HyDevice *device, uint64_t bytes, HyBuffer **buffer); /* reads as zero */
	/* no task reads it; what it held nobody else ever sees */
	void (*buf_free)(HyDevice *device, HyBuffer *buffer);
	HyStatus (*upload)(HyDevice *device, HyBuffer *buffer, uint64_t offset, const void *data,
	                   uint64_t bytes);
	HyStatus (*download)(HyDevice *device, const HyBuffer *buffer, uint64_t offset, void *data,
	                     uint64_t bytes);

	HyStatus (*submit)(HyDevice *device, const HyTask *task, HyTicket *ticket);
	/* HY_OK with *done false: still running.  Any other status: the task ended so. */
	HyStatus (*poll)(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings);
	void (*cancel)(HyDevice *device, HyTicket ticket);
	void (*last_error)(const HyDevice *device,
	                   HyFailure *failure); /* device may be NULL: of open */
} HyBackend;

/*
 * The entry symbol of a plug-in, HY_PLUGIN_ENTRY: returns a backend that lives as long as the
 * library, or NULL when it cannot serve this host.  It must not touch any device.
 */
#define HY_PLUGIN_ENTRY "hy_plugin_entry"
typedef const HyBackend *(*HyPluginEntry)(const HyHost *host);

/* hy_op_name: 'distance', 'topk', 'assign', 'score_codes', 'spread'. */
extern const char *hy_op_name(HyOp op);

/* hy_op_has_k: whether the k best are kept for each query. */
static inline bool
hy_op_has_k(HyOp op)
{
	return op == HY_OP_TOPK || op == HY_OP_SCORE_CODES;
}

/* hy_task_shape: the shape of a task. */
extern HyShape hy_task_shape(const HyTask *task);

/* hy_shape_items: results asked for: Q x N, or edges x seed sets, or rows; saturates at INT64_MAX. */
extern int64_t hy_shape_items(const HyShape *shape);

/* hy_distance_stride: doubles from one query's distances to the next. */
static inline int64_t
hy_distance_stride(const HyDistanceTask *task)
{
	return task->out_stride > 0 ? task->out_stride : task->targets.rows;
}

/* hy_task_check: HY_INVALID when the task contradicts itself, else HY_OK. */
extern HyStatus hy_task_check(const HyTask *task);

#endif
