/*
 * session.h
 *		Defines the state of an executor, for the dispatcher's own files and its unit tests only.
 */
#ifndef HY_SESSION_H
#define HY_SESSION_H

#include <sys/types.h>

#include "core/allocator.h"
#include "core/clock.h"
#include "dispatch/model/tracker.h"
#include "dispatch/route/config.h"
#include "dispatch/share/queue.h"
#include "dispatch/share/share.h"

#define HY_ROUTES 512
#define HY_MEMOS 128      /* a power of two */
#define HY_MAX_FLIGHTS 16 /* maximum tasks and pieces of one executor in flight on a device */
#define HY_BATCH_SIZES 24 /* 2^0 .. 2^23 items */
#define HY_EVENT_SLOTS (HY_EVENT_RING + 1)

/* HyMember: a device of the executor; number 0 is the CPU. */
struct HyMember
{
	const HyBackend *backend; /* NULL: a plug-in that could not be loaded */
	HyDevice *device;         /* NULL: not open */
	char name[HY_NAME_LENGTH];
	int32_t number; /* the backend's own number of the device */
	HyDeviceInfo info;
	uint64_t opened_limit;    /* HyConfig.memory_limit when the device was opened */
	bool latched;             /* not used again in this process */
	char why[HY_TEXT_LENGTH]; /* reason why it cannot be used; empty: usable */
	int32_t native_code;      /* the backend's own code for the reason; 0: none */
	bool absent;              /* the machine has no such device, which is not a failure */
	bool told;                /* the reason was logged */

	/*
	 * Ski rental: CPU time of tasks that this device could have run if it had been open.  Once a
	 * prediction exists, only the time that the device would have saved is added.
	 */
	double open_credit_ns;
	uint64_t open_after_ns; /* time of the next attempt to open, after a failed one */
	uint64_t open_wait_ns;  /* delay from the failed open to that attempt */
	/* status of the last open, so that an identical failure is not logged again */
	HyStatus open_status;
	HyFailure open_failure; /* failure of the last failed open */
	HyTablePlace place;     /* the entry of this context in the shared table */

	/*
	 * tasks of all processes that waited or were in flight on the device at the last
	 * hy_gauge_update
	 */
	HyQueueLoad queue;
	/*
	 * expected wait for a turn: the duration of the last failed wait, at least 1 ms and twice the
	 * earlier value, at most 10 s; 0: the last wait succeeded
	 */
	uint64_t missed_turn_ns;
	uint64_t missed_turn_until_ns; /* until then, a wait of at least missed_turn_ns is expected */

	/* free memory at the last query */
	bool free_known;
	uint64_t free_bytes;
	uint64_t total_bytes;
	uint64_t free_at_ns;
	uint64_t held_bytes;   /* bytes of pieces in flight that count as free (hy_bulk_fit) */
	uint64_t budget_bytes; /* budget of a task at the last query; 0: never queried */
	uint64_t cap_bytes;    /* limit set after a task that did not fit (budget.c); 0: none */
	uint64_t cap_step;
	uint64_t cap_since_ns;

	/* resident rows (resident.c) */
	struct HyResidency *residency; /* NULL: no unit was requested in this context */
	HyResidencyCounts resident;
	uint64_t send_after_ns; /* time of the next attempt, after the device refused a unit */
	uint64_t unit_bytes;    /* hy_resident_unit_bytes; 0: never queried */
	int32_t left_alone;     /* times that the CPU was predicted to be faster than a resident unit */

	/* tickets of tasks that were given up and have not ended yet */
	int32_t leftovers;
	uint64_t left_ns; /* time at which the first of these tasks was given up */
	HyTicket leftover[HY_MAX_FLIGHTS];

	HyBreaker breakers[HY_OP_COUNT];
	HyCounters counters[HY_OP_COUNT];
};

/*
 * HyRoute: where recent tasks of one class (hy_shape_class) ran; an entry of a direct-mapped table
 * of hints.
 */
typedef struct HyRoute
{
	uint32_t number; /* hy_shape_class, 0: empty */
	bool on_device;  /* the last choice by cost was a device, which hysteresis now favors */
	bool refused;    /* the last attempt on a device fell back to the CPU */
} HyRoute;

/*
 * HyBrief: an entry of the ring of events.  It describes a call that a memo decided.  For any other
 * call, it only says that HyExecutor.event has the description.
 */
typedef struct HyBrief
{
	uint64_t time_ns;
	uint64_t actual_ns;
	int64_t queries;
	int64_t targets;
	int32_t dims;
	int32_t k;
	float cpu_ns; /* predicted time */
	float device_ns;
	float bytes_required;
	float bytes_available;
	uint8_t op;
	uint8_t dtype;
	uint8_t metric;
	uint8_t numeric_class;
	uint8_t reason : 5;
	uint8_t missed : 3; /* an unusable device that the decision reports; 0: no device */
	uint8_t execution;
	uint8_t load; /* runnable processes per core, in sixteenths */
	uint8_t memo; /* number of the memo; HY_BRIEF_FULL: HyExecutor.event holds the call */
} HyBrief;

#define HY_BRIEF_FULL 255
#define HY_BRIEF_DEVICE 7

_Static_assert(HY_REASON_COUNT <= 32 && HY_MAX_DEVICES - 1 <= HY_BRIEF_DEVICE, "a brief has room");

_Static_assert(sizeof(HyBrief) == 64, "a brief is one cache line");

/*
 * HyWatch: the changes of history that end a memo, because its decision could then turn out
 * differently.
 */
typedef enum HyWatch
{
	HY_WATCH_NOTHING, /* no change: the decision did not use history */
	/* changes by more than a quarter: the device is far slower than the CPU, or not open */
	HY_WATCH_LEAPS,
	HY_WATCH_MOVES, /* changes by more than 2% */
	HY_WATCH_COUNT
} HyWatch;

/*
 * HyLine: a linear function of the number of targets: its value at the memo's smallest number, and
 * its increase per target.
 */
typedef struct HyLine
{
	float low;
	float slope;
} HyLine;

/* HyMemo: a decision for shapes that differ only in their targets (memo.h). */
typedef struct HyMemo
{
	/*
	 * template for the brief of a call, without the times and the fields that depend on the targets
	 */
	HyBrief like;
	uint64_t expires_ns; /* 0: empty */
	uint64_t generation;
	int64_t low; /* smallest number of targets */
	int64_t high;
	uint64_t until;    /* HyExecutor.noted at which a trial or the opening of a device may be due */
	uint32_t moved;    /* HyExecutor.moved[watch] when the memo was made */
	uint8_t watch;     /* a HyWatch */
	uint8_t candidate; /* device whose ski rental credit grows with the calls; 0: none */
	bool dirty;        /* the memo is in HyExecutor.dirty_memo */
	int32_t count;     /* calls that were not added to history yet */
	double sum_ns;     /* sum of the clipped times of these calls */
	double sum_targets;
	HyLine cpu; /* predictions, as in the brief */
	HyLine device;
	HyLine bytes;
	HyLine expected; /* expected CPU time; observations are clipped to a band around it */
} HyMemo;

struct HyExecutor
{
	/* The fields used by a call that a memo decides, kept together for the CPU's cache. */
	const HyClock *clock;
	uint64_t generation;  /* incremented when a decision could turn out differently */
	uint64_t fold_at_ns;  /* time at which logged calls are next counted (memo.h) */
	uint64_t flush_at_ns; /* time of the next flush (flush.h) */
	uint64_t kept;        /* events since the executor began */
	uint64_t forgotten;   /* number of times that history was dropped */
	int32_t uncounted;    /* number of latest events that may include calls not counted yet */
	int32_t until_flush;  /* calls until the next flush */
	int32_t events;
	int32_t next_event;
	HyMemo memos[HY_MEMOS];
	HyBrief briefs[HY_EVENT_RING + 1];
	uint8_t dirty_memo[HY_MEMOS];
	int32_t dirty;
	int32_t unsettled;              /* calls in the sums of memos, not in history yet */
	uint64_t settled_ns;            /* time at which they were last added to history */
	uint64_t noted;                 /* calls since the executor began */
	uint32_t moved[HY_WATCH_COUNT]; /* the tracker's change counts when last copied; [0] stays 0 */

	const HyAllocator *allocator;
	HyLog log;
	HyConfig config;
	pid_t owner;  /* process that created the executor; only this process may use its contexts */
	bool foreign; /* this process is not the owner, so devices are refused */
	int32_t members;
	HyMember member[HY_MAX_DEVICES];
	HyTracker *tracker;
	HyRoute routes[HY_ROUTES];
	HyLoad load;      /* load of the machine at the last report */
	double load_seen; /* average runnable processes per core while the CPU's history was recorded */
	bool cuts;        /* tasks may be cut into pieces */
	/* no periodic trials by rule 9: the caller asks for the best known choice */
	bool no_trials;
	bool queued; /* tasks for devices wait for their turn in queue_client.queue */
	/* timeout of the current task's wait for its turn; 0: config.timeout_ns */
	uint64_t turn_timeout_ns;
	HyQueueClient queue_client; /* this process as a client of the queue */
	HyLosses *losses;           /* NULL: losses are not recorded */
	double spent_ns;            /* total time of all calls */
	/*
	 * [i]: spent_ns when a batch of 2^i items was last tried although another size was best
	 * (accumulator.c)
	 */
	double batch_tried_ns[HY_BATCH_SIZES];
	/* time lost by trials, compared with the predicted time of the choice without the trial */
	double regret_ns;
	HyShare share;
	HyDecision event[HY_EVENT_SLOTS]; /* one slot more than events, for the call in progress */
};

static inline uint64_t
hy_now(const HyExecutor *executor)
{
	return executor->clock->now(executor->clock->arg);
}

/*
 * hy_left_out: return whether the settings exclude the device.  They name a device by the backend's
 * own number.
 */
static inline bool
hy_left_out(const HyConfig *config, const HyMember *member)
{
	return config->devices != 0 && member->backend != NULL &&
	       (member->number >= HY_BACKEND_DEVICES || !(config->devices >> member->number & 1));
}

/* hy_event_step: advance the ring after an event was written, in full or as a brief. */
static inline void
hy_event_step(HyExecutor *executor)
{
	executor->next_event =
		executor->next_event == HY_EVENT_SLOTS - 1 ? 0 : executor->next_event + 1;
	executor->kept++;
	if (executor->events < HY_EVENT_RING)
		executor->events++;
}

/* hy_member_failure: store the reason why the device cannot be used, in the form used by events. */
extern void hy_member_failure(const HyMember *member, HyFailure *failure);

/*
 * hy_executor_foreign: return whether this process was forked from the executor's owner; log this
 * once.
 */
extern bool hy_executor_foreign(HyExecutor *executor);

/* hy_log: write one line to the log, printf-style. */
extern void
hy_log(const HyExecutor *executor, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
