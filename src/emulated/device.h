/*
 * device.h
 *		A context on an emulated device; shared by emulated.c, engine.c, memory.c, idle.c, compute.c and
 *		loss.c.
 */
#ifndef HY_EMULATED_DEVICE_H
#define HY_EMULATED_DEVICE_H

#include "emulated/emulated.h"

#define EMULATED_TICKETS 16
#define EMULATED_DEVICES 64
#define EMULATED_MAX_K 1024 /* as devices that keep the heap in fast memory have one */

/* Native codes of the failures; 0 is none. */
#define NATIVE_FAULT 900  /* + HyStatus: asked for by emulated_faults */
#define NATIVE_SYNTAX 800 /* emulated_faults cannot be read */
#define NATIVE_MEMORY 2   /* the device's memory is used up */
#define NATIVE_LIMIT 3    /* the limit given to open is reached */
#define NATIVE_ARGUMENT 1 /* the task or a buffer makes no sense */

typedef enum TicketState
{
	TICKET_FREE = 0,
	TICKET_RUNNING,
	TICKET_CANCELLED
} TicketState;

typedef struct Ticket
{
	TicketState state;
	HyTicket number;
	HyTask task;
	FaultVerdict fault;
	EmulatedLoad load;
	uint64_t submitted_ns; /* by the host's clock, like all that follow */
	uint64_t start_ns;
	uint64_t end_ns;
	bool wait;
	bool exact;
} Ticket;

struct HyBuffer
{
	HyDevice *device;
	HyBuffer *previous; /* all buffers of a context, so that closing it gives them back */
	HyBuffer *next;
	uint64_t bytes;
	char *data;
};

struct HyDevice
{
	int32_t number;
	uint64_t limit; /* 0: the memory of the device */
	uint64_t used;  /* buffers and running tasks */
	uint64_t serial;
	uint32_t warm; /* bit op: it has run in this context */
	bool lost;
	bool idle;        /* it has closed itself */
	uint64_t used_ns; /* when it was last used, by the host's clock */
	uint64_t *place;  /* HyLimits */
	uint64_t place_value;
	HyBuffer *buffers;
	HyFailure failure;
	Ticket tickets[EMULATED_TICKETS];
};

/* Who loaded the plug-in. */
extern const HyHost *emulated_host;

/* emulated_caps: as HyBackend.caps. */
extern HyCaps emulated_caps(const HyDevice *device, const HyShape *shape);

/* memory.c: as in HyBackend; reserve: device memory for a buffer or a task. */
extern HyStatus emulated_mem_info(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes);
extern HyStatus emulated_buf_alloc(HyDevice *device, uint64_t bytes, HyBuffer **buffer);
extern void emulated_buf_free(HyDevice *device, HyBuffer *buffer);
extern HyStatus emulated_upload(HyDevice *device, HyBuffer *buffer, uint64_t offset,
                                const void *data, uint64_t bytes);
extern HyStatus emulated_download(HyDevice *device, const HyBuffer *buffer, uint64_t offset,
                                  void *data, uint64_t bytes);
extern HyStatus emulated_reserve(HyDevice *device, uint64_t bytes);

/* emulated_on_host: the same matrix with its rows where core can read them. */
extern HyStatus
emulated_on_host(const HyDevice *device, const HyMatrix *matrix, HyMatrix *host_matrix);

/* emulated_free_data: what lies in all buffers, which stay. */
extern void emulated_free_data(HyDevice *device);

/*
 * idle.c: emulated_idle: as HyBackend.idle; used: somebody uses the device now; awake: it has not closed
 * itself, else why a task or a copy fails.
 */
extern bool emulated_idle(const HyDevice *device);
extern void emulated_used(HyDevice *device);
extern HyStatus emulated_awake(HyDevice *device);

/* compute.c: the task's outputs, exact: by the canonical kernels alone; scribble: what a failed copy back may leave in them. */
extern HyStatus emulated_compute(const HyDevice *device, const HyTask *task, bool exact);
extern void emulated_scribble(const HyTask *task);

/* engine.c: as in HyBackend; reset: nothing runs on any device; pass_time: ns of made-up time. */
extern HyStatus emulated_submit(HyDevice *device, const HyTask *task, HyTicket *ticket);
extern HyStatus emulated_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings);
extern void emulated_cancel(HyDevice *device, HyTicket ticket);
extern void emulated_engine_reset(void);
extern void emulated_pass_time(uint64_t ns, bool wait);

/* emulated_fail: notes why; returns status. */
extern HyStatus emulated_fail(HyFailure *failure, HyStatus status, int32_t code, const char *text);

/* emulated_lost: HY_OK, or what every call is answered once something is lost. */
extern HyStatus emulated_lost(const HyDevice *device, int32_t number, HyFailure *failure);

/*
 * emulated_meet: what emulated_faults has in mind for this call of a context, or, device being
 * NULL, for opening one; not HY_OK where it cannot be read, or something was lost before.
 */
extern HyStatus emulated_meet(HyDevice *device, int32_t number, FaultPlace call, HyOp op,
                              uint64_t bytes, FaultVerdict *fault, HyFailure *failure);

/* emulated_strike: a fault happens: what it takes along is lost; returns its status. */
extern HyStatus
emulated_strike(HyDevice *device, int32_t number, const FaultVerdict *fault, HyFailure *failure);

/* emulated_loss_reset: nothing is lost. */
extern void emulated_loss_reset(void);

#endif
