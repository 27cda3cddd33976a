/*
 * queue.h
 *		Decides which client may submit a task to a device next, and limits the tasks in flight
 *		of all clients together.
 *
 * Clients (backends, in a server) ask for a slot before they submit, and leave it when the task
 * has ended.  Free slots are granted in this order:
 *
 *		small calls before all other tasks, which are longer calls, calls without a prediction, and
 *		pieces of bulk jobs.  While tasks of both sorts wait, the other tasks still get at least
 *		every other grant.  On a device with several slots, one stays free for small calls while
 *		such calls keep arriving; within each of the two sorts, the role that was served least
 *		recently; within a role, the order of asking.
 *
 * While small calls arrive, a bulk job should keep its pieces short (hy_queue_quantum).  A small
 * call then waits for a short piece instead of a long one, and takes only a few times as long as
 * without the bulk job.
 *
 * The queue is a block of fixed size without pointers, so it may lie in memory that several
 * processes share.  These processes supply the lock.  The queue's functions never wait for a grant:
 * a client without a grant asks again.  A slot is granted only to a client that asked within the
 * last HY_QUEUE_ASK_TIMEOUT_NS.  So a client that sleeps or has died while it waits for a slot does
 * not delay other clients.  hy_queue_forget frees the slots of a client that exits.
 *
 * Because of this timeout, all clients must use the same clock.  An emulated device moves the clock
 * of its own process, so clients in several processes supply a clock that nothing moves
 * (HyQueueClient.clock).
 */
#ifndef HY_QUEUE_H
#define HY_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/clock.h"
#include "dispatch/model/decision.h"
#include "dispatch/share/lock.h"

#define HY_QUEUE_SLOTS 256 /* slots, waiting or granted, of all clients on all devices */
#define HY_QUEUE_ROLES 64
#define HY_QUEUE_ASK_TIMEOUT_NS UINT64_C(2000000)
/* maximum predicted time of a small call, which is always a whole task */
#define HY_QUEUE_SMALL_NS 1e6
/* after an arrival, another one is expected within this time */
#define HY_QUEUE_RECENT_NS UINT64_C(100000000)

typedef struct HyQueueSlot
{
	int32_t state; /* a HyQueueState; 0: free */
	int32_t device;
	int32_t client;
	int32_t role;
	int32_t small;
	int32_t behind;    /* slots that other clients held on the device at the grant */
	uint64_t order;    /* serial number of the request */
	uint64_t asked_ns; /* time when the client last asked */
	double ns;         /* predicted time of the task; 0: not known */
} HyQueueSlot;

typedef struct HyQueueRole
{
	int32_t role;
	int32_t used;
	/* serial number of the last grant; requests and grants are numbered together */
	uint64_t served;
} HyQueueRole;

typedef struct HyQueueDevice
{
	int32_t in_flight;
	int32_t bulk_in_flight;
	double work_ns;    /* sum of the predicted times of all tasks that wait or are in flight */
	int32_t tasks;     /* number of these tasks */
	int32_t unknown;   /* number of these tasks without a prediction */
	int32_t small_row; /* consecutive grants to small calls while other tasks waited */
	int32_t padding;
	double small_ns;      /* moving mean of the predicted time of small calls */
	uint64_t small_at_ns; /* last arrival of a small call; 0: never */
	int32_t last_client;  /* client that asked last */
	int32_t padding2;
	uint64_t other_at_ns; /* last time that last_client changed to another client */
} HyQueueDevice;

typedef struct HyQueue
{
	uint64_t order;
	HyQueueDevice device[HY_MAX_DEVICES];
	HyQueueRole role[HY_QUEUE_ROLES];
	HyQueueSlot slot[HY_QUEUE_SLOTS];
} HyQueue;

/* HyQueueClient: a client of a queue. */
typedef struct HyQueueClient
{
	HyQueue *queue;
	HyLock lock;  /* held during every access to the queue, except in hy_queue_alone */
	int32_t id;   /* unique among the users of the queue, not 0 */
	int32_t role; /* the role that the client works for */
	/*
	 * numbers[d] is the queue's number for device d of the executor; NULL: both use the same
	 * numbers
	 */
	const int32_t *numbers;
	const HyClock *clock; /* clock shared by all clients; NULL: the clocks of their executors */
} HyQueueClient;

/* HyQueueLoad: the tasks that wait or are in flight on a device. */
typedef struct HyQueueLoad
{
	int32_t tasks;
	int32_t unknown; /* tasks without a prediction */
	double ns;       /* total predicted time of the tasks with a prediction */
} HyQueueLoad;

/* hy_queue_init: make the queue empty. */
extern void hy_queue_init(HyQueue *queue);

/*
 * hy_queue_ask: request a slot on device for a task whose predicted time is ns (0: not known).
 * `whole` is false for a piece of a bulk job.  Returns a slot for hy_queue_granted, or -1 if the
 * queue is full.
 */
extern int32_t
hy_queue_ask(const HyQueueClient *client, int32_t device, double ns, bool whole, uint64_t now);

/*
 * hy_queue_granted: return whether the task may be submitted now.  depth is the number of tasks that
 * may be in flight on the device.
 */
extern bool
hy_queue_granted(const HyQueueClient *client, int32_t slot, int32_t depth, uint64_t now);

/*
 * hy_queue_alone: return whether no task of another client was in flight when the slot was granted.
 * If there was one, the observed time includes that task and does not measure the device.
 */
extern bool hy_queue_alone(const HyQueueClient *client, int32_t slot);

/* hy_queue_leave: free a slot whose task has ended or was given up; slot -1 is allowed. */
extern void hy_queue_leave(const HyQueueClient *client, int32_t slot);

/* hy_queue_forget: free all slots of the client with this id. */
extern void hy_queue_forget(const HyQueueClient *client, int32_t id);

/*
 * hy_queue_quantum: return how many ns a piece of a bulk job should last so that other clients get
 * their turn.  Returns 0 (no limit) if neither a small call nor another client came recently.
 */
extern double hy_queue_quantum(const HyQueueClient *client, int32_t device, uint64_t now);

extern HyQueueLoad hy_queue_load(const HyQueueClient *client, int32_t device);

#endif
