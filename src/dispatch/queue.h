/*
 * queue.h
 *		Whose turn it is on a device: at most so many tasks in flight there, over all clients.
 *
 * Clients (backends, in a server) ask for a place before they submit and leave it when the task has
 * ended.  Free places are granted
 *
 *		to small calls before the pieces of bulk jobs, which however get at least every other grant
 *		while both wait, and leave one place free for small calls as long as such come;
 *		within each sort to the role that has been served least lately;
 *		within a role in the order of asking.
 *
 * A bulk job beside small calls is told to keep its pieces short (hy_queue_quantum), so that a call
 * waits for one short piece, not for a long one: it lasts a few times as long as alone.
 *
 * The queue is one fixed block of plain data without pointers, so it may lie in memory that several
 * processes share; a lock is then theirs to bring.  Nobody waits inside: who is not granted asks
 * again.  A place is granted to who asked last within HY_QUEUE_AWAKE_NS only, so a client that
 * sleeps or died keeps nobody waiting, and hy_queue_forget gives back what it held.
 *
 * So clients must agree on what time it is.  An emulated device shifts the clock of the process that
 * uses it; clients in several processes bring one that nobody shifts (HyQueueSeat.clock).
 */
#ifndef HY_QUEUE_H
#define HY_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "core/clock.h"

#define HY_QUEUE_DEVICES 8
#define HY_QUEUE_PLACES 256 /* clients that wait or are in flight, times devices */
#define HY_QUEUE_ROLES 64
#define HY_QUEUE_AWAKE_NS UINT64_C(2000000)
#define HY_QUEUE_SMALL_NS 1e6 /* a whole task up to this long is a small call */
#define HY_QUEUE_RECENT_NS                                                                         \
	UINT64_C(100000000) /* for how long what came is expected to come again */

typedef struct HyQueuePlace
{
	int32_t state; /* 0: free, else a HyQueueState */
	int32_t device;
	int32_t client;
	int32_t role;
	int32_t small;
	int32_t behind;    /* places that others had on the device when this one was granted */
	uint64_t order;    /* of asking */
	uint64_t asked_ns; /* when it asked last */
	double ns;         /* predicted, 0: not known */
} HyQueuePlace;

typedef struct HyQueueRole
{
	int32_t role;
	int32_t used;
	uint64_t served; /* order of the last grant */
} HyQueueRole;

typedef struct HyQueueDevice
{
	int32_t in_flight;
	int32_t bulk_in_flight;
	double work_ns;    /* predicted, of all that waits or is in flight */
	int32_t tasks;     /* that do */
	int32_t unknown;   /* of them, those of which no time was predicted */
	int32_t small_row; /* grants to small calls in a row while bulk waited */
	int32_t padding;
	double small_ns;      /* what a small call takes, as lately predicted */
	uint64_t small_at_ns; /* when one came last; 0: never */
	int32_t last_client;  /* who came last, and when somebody else did */
	int32_t padding2;
	uint64_t other_at_ns;
} HyQueueDevice;

typedef struct HyQueue
{
	uint64_t order;
	HyQueueDevice device[HY_QUEUE_DEVICES];
	HyQueueRole role[HY_QUEUE_ROLES];
	HyQueuePlace place[HY_QUEUE_PLACES];
} HyQueue;

/* HyQueueLock: held around every look into the queue; NULL functions: one process, one thread. */
typedef struct HyQueueLock
{
	void (*lock)(void *arg);
	void (*unlock)(void *arg);
	void *arg;
} HyQueueLock;

/* HyQueueSeat: a client of a queue. */
typedef struct HyQueueSeat
{
	HyQueue *queue;
	HyQueueLock lock;
	int32_t client;         /* unique among those that use the queue */
	int32_t role;           /* in whose name */
	const int32_t *numbers; /* its device d is the queue's numbers[d]; NULL: they are the same */
	const HyClock *clock;   /* the same for all clients; NULL: their executors' own is */
} HyQueueSeat;

/* HyQueueLoad: what waits or is in flight on a device. */
typedef struct HyQueueLoad
{
	int32_t tasks;
	int32_t unknown; /* of them, those of which no time was predicted */
	double ns;       /* predicted, of the others together */
} HyQueueLoad;

/* hy_queue_init: empty. */
extern void hy_queue_init(HyQueue *queue);

/*
 * hy_queue_ask: wants a place on device for a task of about ns (0: not known), whole or a piece of a
 * bulk job; a place to ask again for, or -1 when the queue is full.
 */
extern int32_t
hy_queue_ask(const HyQueueSeat *seat, int32_t device, double ns, bool whole, uint64_t now);

/* hy_queue_granted: whether the task may be submitted now, with depth places on the device. */
extern bool hy_queue_granted(const HyQueueSeat *seat, int32_t place, int32_t depth, uint64_t now);

/*
 * hy_queue_alone: whether nothing of others was in flight when the place was granted: else the
 * task's time is not its own, and says nothing of the device.
 */
extern bool hy_queue_alone(const HyQueueSeat *seat, int32_t place);

/* hy_queue_leave: the task has ended, or is not wanted any more; place -1 is allowed. */
extern void hy_queue_leave(const HyQueueSeat *seat, int32_t place);

/* hy_queue_forget: the same for all that a client has. */
extern void hy_queue_forget(const HyQueueSeat *seat, int32_t client);

/*
 * hy_queue_quantum: how long a piece of a bulk job should last, so that others get their turn;
 * 0: as long as it likes, there are no others.
 */
extern double hy_queue_quantum(const HyQueueSeat *seat, int32_t device, uint64_t now);

extern HyQueueLoad hy_queue_load(const HyQueueSeat *seat, int32_t device);

#endif
