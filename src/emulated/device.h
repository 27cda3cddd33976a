/*
 * device.h
 *		Defines a context on an emulated device, for emulated.c, engine.c, memory.c, idle.c,
 *		compute.c and loss.c.
 */
#ifndef HY_EMULATED_DEVICE_H
#define HY_EMULATED_DEVICE_H

#include "emulated/emulated.h"

#define EMULATED_TICKETS 16
#define EMULATED_DEVICES 64
#define EMULATED_MAX_K 1024 /* a typical limit of devices that keep the k best in fast memory */

/* native codes of failures; 0: no failure */
#define NATIVE_FAULT 900  /* plus the HyStatus; a failure requested by emulated_faults */
#define NATIVE_SYNTAX 800 /* emulated_faults cannot be parsed */
#define NATIVE_MEMORY 2   /* the device's memory is used up */
#define NATIVE_LIMIT 3    /* the limit given to open is reached */
#define NATIVE_ARGUMENT 1 /* the task or a buffer is invalid */

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
	uint64_t submitted_ns; /* time by the host's clock, like the two times below */
	uint64_t start_ns;
	uint64_t end_ns;
	bool wait;
	bool exact;
} Ticket;

struct HyBuffer
{
	HyDevice *device;
	HyBuffer *previous; /* links in the list of the context's buffers, which close frees */
	HyBuffer *next;
	uint64_t bytes;
	char *data;
};

struct HyDevice
{
	int32_t number;
	uint64_t limit; /* HyLimits.memory; 0: the memory of the device */
	uint64_t used;  /* bytes of buffers and running tasks */
	uint64_t serial;
	uint32_t warm; /* bit op: the operation has run in this context */
	bool lost;
	bool idle;        /* the context has closed itself */
	uint64_t used_ns; /* time of the last use, by the host's clock */
	uint64_t *place;  /* HyLimits.place */
	uint64_t place_value;
	HyBuffer *buffers;
	HyFailure failure;
	Ticket tickets[EMULATED_TICKETS];
};

/* the host that loaded the plug-in */
extern const HyHost *emulated_host;

/* emulated_caps: implement HyBackend.caps. */
extern HyCaps emulated_caps(const HyDevice *device, const HyShape *shape);

/*
 * memory.c: the functions mem_info to download of HyBackend. emulated_reserve reserves device
 * memory for a buffer or a task.
 */
extern HyStatus emulated_mem_info(HyDevice *device, uint64_t *free_bytes, uint64_t *total_bytes);
extern HyStatus emulated_buf_alloc(HyDevice *device, uint64_t bytes, HyBuffer **buffer);
extern void emulated_buf_free(HyDevice *device, HyBuffer *buffer);
extern HyStatus emulated_upload(HyDevice *device, HyBuffer *buffer, uint64_t offset,
                                const void *data, uint64_t bytes);
extern HyStatus emulated_download(HyDevice *device, const HyBuffer *buffer, uint64_t offset,
                                  void *data, uint64_t bytes);
extern HyStatus emulated_reserve(HyDevice *device, uint64_t bytes);

/*
 * emulated_on_host: set *host_matrix to a copy of *matrix that refers to rows in host memory.
 * Returns HY_INVALID if the matrix's buffer belongs to another context or is too small for the
 * rows.
 */
extern HyStatus
emulated_on_host(const HyDevice *device, const HyMatrix *matrix, HyMatrix *host_matrix);

/* emulated_free_data: free the contents of all buffers, but not the HyBuffer structures. */
extern void emulated_free_data(HyDevice *device);

/*
 * idle.c: emulated_idle is HyBackend.idle. emulated_used marks the context as used now.
 * emulated_check_not_idle returns HY_CONTEXT_LOST and records the failure if the context has closed
 * itself. Otherwise it marks the context as used and returns HY_OK.
 */
extern bool emulated_idle(const HyDevice *device);
extern void emulated_used(HyDevice *device);
extern HyStatus emulated_check_not_idle(HyDevice *device);

/*
 * compute.c: emulated_compute computes the task's outputs. If `exact` is set, it does not use the
 * CPU's prefilter (core/prefilter.h). emulated_fill_with_garbage fills the outputs with garbage, as
 * a failed copy to the host may do.
 */
extern HyStatus emulated_compute(const HyDevice *device, const HyTask *task, bool exact);
extern void emulated_fill_with_garbage(const HyTask *task);

/*
 * engine.c: the functions submit, poll and cancel of HyBackend. emulated_engine_reset marks the
 * engines of all devices as free. emulated_pass_time lets ns of virtual time pass.
 */
extern HyStatus emulated_submit(HyDevice *device, const HyTask *task, HyTicket *ticket);
extern HyStatus emulated_poll(HyDevice *device, HyTicket ticket, bool *done, HyTimings *timings);
extern void emulated_cancel(HyDevice *device, HyTicket ticket);
extern void emulated_engine_reset(void);
extern void emulated_pass_time(uint64_t ns, bool wait);

/* emulated_fail: fill in the failure and return `status`. */
extern HyStatus emulated_fail(HyFailure *failure, HyStatus status, int32_t code, const char *text);

/*
 * emulated_lost: return HY_OK, or the status for any call if the context, the device or the process
 * is lost.
 */
extern HyStatus emulated_lost(const HyDevice *device, int32_t number, HyFailure *failure);

/*
 * emulated_look_up_fault: set *fault to the fault that emulated_faults requests for this call.
 * `device` is the context of the call, or NULL for a call that opens a context. Returns an error if
 * the setting cannot be parsed, or if the context, the device or the process was lost before.
 */
extern HyStatus emulated_look_up_fault(HyDevice *device, int32_t number, FaultPlace call, HyOp op,
                                       uint64_t bytes, FaultVerdict *fault, HyFailure *failure);

/*
 * emulated_apply_fault: make a call fail as *fault says. Marks the context, device or process as
 * lost if that is the fault, and returns the status of the call.
 */
extern HyStatus emulated_apply_fault(HyDevice *device, int32_t number, const FaultVerdict *fault,
                                     HyFailure *failure);

/* emulated_loss_reset: clear the losses of all devices and of the process. */
extern void emulated_loss_reset(void);

#endif
