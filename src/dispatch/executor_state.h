/*
 * executor_state.h
 *		The parts of an executor, for the dispatcher's own files and its unit tests only.
 *
 * executor.c creates an executor and gives the views access to it.  decide.c chooses a side, and
 * gauge.c measures the load.  device_run.c runs a task on a device, attempt.c evaluates the
 * outcome, and pieces.c decides whether a task is cut.  dispatcher.c combines these steps, record.c
 * counts and logs calls, and share.c exchanges results with other processes.
 */
#ifndef HY_EXECUTOR_STATE_H
#define HY_EXECUTOR_STATE_H

#include <sys/types.h>

#include "dispatch/batch_size.h"
#include "dispatch/bulk.h"
#include "dispatch/dispatcher.h"
#include "dispatch/memo.h"
#include "dispatch/resident.h"
#include "dispatch/share.h"

#define HY_ROUTES 512
#define HY_NO_QUEUE (-2)
#define HY_QUEUE_LOOK_NS 50000 /* interval between two polls of the queue */
#define HY_MAX_FLIGHTS 16      /* maximum flights of one executor on a device */
#define HY_BATCH_KIND_BITS 5
#define HY_EVENT_SLOTS (HY_EVENT_RING + 1)

/* HyMember: a device of the executor; number 0 is the CPU. */
typedef struct HyMember
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
	bool absent;              /* no device, but no failure either: a machine without a card */
	bool told;                /* the reason was logged */

	/*
	 * Ski rental: time that the CPU spent on tasks that this device could have run if it had been
	 * open.
	 */
	double open_credit_ns;
	uint64_t open_after_ns; /* after a failed open, time of the next attempt */
	uint64_t open_wait_ns;  /* delay after the last failed open */
	HyStatus
		open_status; /* status of the last open, so that an identical failure is not logged again */
	HyFailure open_failure; /* failure of the last failed open */
	HyTablePlace place;     /* the place in the shared table that counts this context */

	/* tasks of all processes that waited or were in flight on the device at the last poll */
	HyQueueLoad queue;
	/*
	 * duration of the last failed wait for a turn, at least doubled by each further failure; 0: the
	 * last wait succeeded
	 */
	uint64_t taken_ns;
	uint64_t taken_until_ns; /* until this time, a turn is expected to take taken_ns */

	/* free memory at the last query */
	bool free_known;
	uint64_t free_bytes;
	uint64_t total_bytes;
	uint64_t free_at_ns;
	uint64_t held_bytes;   /* bytes that the querying bulk lane has in flight, counted as free */
	uint64_t budget_bytes; /* budget of a task at the last query; 0: never queried */
	uint64_t cap_bytes;    /* cap after a task that did not fit (budget.c); 0: none */
	uint64_t cap_step;
	uint64_t cap_since_ns;

	/* resident rows (resident.c) */
	HyResidency *residency; /* NULL: no unit was requested in this context */
	HyResidencyCounts resident;
	uint64_t send_after_ns; /* after the device refused a unit, time of the next attempt */
	uint64_t unit_bytes;    /* hy_resident_unit_bytes; 0: never queried */
	int32_t left_alone;     /* resident units not used because the CPU was predicted to be faster */

	/* tickets of tasks that were given up and have not ended yet */
	int32_t leftovers;
	uint64_t left_ns; /* time at which the first of these tasks was given up */
	HyTicket leftover[HY_MAX_FLIGHTS];

	HyBreaker breakers[HY_OP_COUNT];
	HyCounters counters[HY_OP_COUNT];
} HyMember;

/*
 * HyRoute: the side that recent tasks of one class ran on; an entry of a direct-mapped table of
 * hints.
 */
typedef struct HyRoute
{
	uint32_t number; /* hy_shape_class, 0: empty */
	bool on_device;  /* the side that hysteresis favors */
	bool refused;    /* the last attempt on a device fell back to the CPU */
} HyRoute;

/* HyShare: the state of the exchange with the shared table. */
typedef struct HyShare
{
	HySharedTable *table; /* NULL: nothing is shared */
	const HyShareHost *host;
	uint64_t epoch;
	uint64_t transitions;
	uint64_t flushed_ns;     /* time of the last flush by the executor's clock */
	uint64_t flushed_events; /* HyExecutor.kept at the last flush */
	uint64_t models_ns;      /* time of the last flush of the models */
	bool postponed; /* some calls made before until_flush was last set are not flushed yet */
	int32_t slot[HY_MAX_DEVICES];
	/* successes that were not reported to the shared breaker yet */
	int32_t successes[HY_MAX_DEVICES][HY_OP_COUNT];
	HyCounters flushed[HY_MAX_DEVICES][HY_OP_COUNT];
} HyShare;

struct HyExecutor
{
	/* The fields used by a call that a memo decides, kept together for the CPU's cache. */
	const HyClock *clock;
	uint64_t generation;  /* incremented when a decision could turn out differently */
	uint64_t fold_at_ns;  /* time at which logged calls are next counted (memo.h) */
	uint64_t flush_at_ns; /* time of the next flush (share.h) */
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
	int32_t unsettled;              /* calls kept in memos that are not in history yet */
	uint64_t settled_ns;            /* time at which such calls were last added to history */
	uint64_t noted;                 /* calls since the executor began */
	uint32_t moved[HY_WATCH_COUNT]; /* the tracker's change counts when last copied; [0] stays 0 */

	const HyAllocator *allocator;
	HyLog log;
	HyConfig config;
	pid_t owner;  /* process that created the executor, since contexts do not survive fork */
	bool foreign; /* this process is not the owner, so devices are refused */
	int32_t members;
	HyMember member[HY_MAX_DEVICES];
	HyTracker *tracker;
	HyRoute routes[HY_ROUTES];
	HyBatchSize batch_sizes[1 << HY_BATCH_KIND_BITS];
	HyLoad load;      /* load of the machine at the last report */
	double load_seen; /* average runnable processes per core while the CPU's history was recorded */
	bool cuts;        /* tasks may be cut into pieces */
	/* no periodic trials by rule 9, since the caller asks for the best known side */
	bool no_trials;
	bool queued; /* tasks for devices wait for their turn in the queue of the seat below */
	/* timeout of the current task's wait for its turn; 0: config.timeout_ns */
	uint64_t turn_timeout_ns;
	HyQueueSeat seat;
	HyLosses *losses; /* NULL: losses are not recorded */
	double spent_ns;  /* total time of all calls */
	double
		regret_ns; /* time lost by trials, compared with the side that was predicted to be faster */
	HyShare share;
	HyDecision event[HY_EVENT_SLOTS]; /* one more slot than the ring, for the call in progress */
};

static inline uint64_t
hy_now(const HyExecutor *executor)
{
	return executor->clock->now(executor->clock->arg);
}

/* HyChoice: the decision of decide.c for a task. */
typedef struct HyChoice HyChoice;

struct HyChoice
{
	int32_t device;    /* device that the task goes to */
	int32_t candidate; /* device that was compared with the CPU, 0: none */
	HyReason reason;
	bool forced; /* the user named the side, so there is no fallback */
	HyStatus
		refusal; /* status if the forced side cannot run the task, and no side runs it; else HY_OK */
	const char *why; /* text for a refusal, or if no device is able; static or owned by a member */
	const HyMember *missed; /* an unusable device that the decision reports; NULL: none */
	double cpu_ns;          /* predictions for both sides, < 0: none */
	double device_ns;
	double instead_ns; /* for a trial: prediction for the side not chosen, < 0: none */
	uint32_t devices;  /* bit d: device d is able */
	bool chunked;      /* by rule 7, the task fits the device only in pieces */
	bool split;        /* by rule 10, the task should run on device and CPU at once */
	double share;      /* device's share of a split task, 0 .. 1 */
	double split_ns;   /* predicted time of the split; < 0: unknown, or too long to be worthwhile */
	uint32_t unable;   /* bit d: device d was considered and is not able */
	int32_t tasks_until_trial; /* tasks of this kind until a trial may be due */
	uint64_t holds_ns;         /* time until which the breakers do not change the decision */
	uint64_t bytes_required;
	uint64_t bytes_available;
};

/*
 * hy_decide: choose a side at time now.  Only the cached memory figures of the devices are changed.
 * If task is NULL, decides for any exact task of that shape.
 */
extern void hy_decide(HyExecutor *executor, const HyTask *task, const HyShape *shape, uint64_t now,
                      HyChoice *choice);

/*
 * hy_turn_limit: return the timeout in ns for the current task's wait for its turn.
 * hy_turn_set_timeout: set that timeout.  If the dispatcher itself chose the device, the timeout is
 * the predicted CPU time.  So a failed wait at most doubles the time of the call.  Otherwise the
 * task timeout applies.
 */
extern uint64_t hy_turn_limit(const HyExecutor *executor);
extern void hy_turn_set_timeout(HyExecutor *executor, const HyChoice *choice);

/*
 * hy_turn_missed: record that no turn came within waited_ns.
 * hy_turn_came: record that a turn came.
 */
extern void hy_turn_missed(HyExecutor *executor, HyMember *member, uint64_t waited_ns);
extern void hy_turn_came(HyMember *member);

/*
 * hy_left_out: return whether the settings exclude the device.  The settings use the backend's own
 * device numbers.
 */
static inline bool
hy_left_out(const HyConfig *config, const HyMember *member)
{
	return config->devices != 0 && member->backend != NULL &&
	       (member->number >= 64 || !(config->devices >> member->number & 1));
}

/* hy_device_asked: return whether the settings request a device instead of only allowing one. */
static inline bool
hy_device_asked(const HyConfig *config)
{
	if (config->force_cpu || config->execution == HY_EXECUTION_CPU ||
	    config->execution == HY_EXECUTION_PREFER_CPU)
		return false;
	return config->execution != HY_EXECUTION_AUTO || config->devices != 0;
}

/*
 * hy_gauge_update: update the load on each device.
 * hy_gauge_queue: return the tasks that wait or are in flight on one device now.
 */
extern void hy_gauge_update(HyExecutor *executor);
extern HyQueueLoad hy_gauge_queue(const HyExecutor *executor, int32_t device);

/* hy_gauge_less: return whether device has less work waiting or in flight than other. */
extern bool hy_gauge_less(const HyExecutor *executor, int32_t device, int32_t other);

/*
 * hy_gauge_ns: predict the time under the current load of a task that takes ns on an idle side.  A
 * negative ns is returned unchanged.
 */
extern double
hy_gauge_ns(const HyExecutor *executor, const HyShape *shape, int32_t device, double ns);

/*
 * hy_side_ns: predict the time on a side, including its load and the work in flight; < 0: unknown.
 */
extern double hy_side_ns(const HyExecutor *executor, const HyShape *shape, int32_t device);

/* hy_device_meant: return whether the settings allow tasks on this device. */
extern bool hy_device_meant(const HyExecutor *executor, int32_t device);

/* hy_side_able: return whether rules 3 to 7 allow an exact task of this shape on device. */
extern bool hy_side_able(HyExecutor *executor, const HyShape *shape, uint64_t now, int32_t device);

/*
 * hy_side_fits: return whether a task of this shape fits the device's memory budget in one piece.
 */
extern bool hy_side_fits(HyExecutor *executor, const HyShape *shape, int32_t device);

/* hy_side_can: the same as hy_side_able, but only for rules 3, 4 and 7. */
extern bool hy_side_can(HyExecutor *executor, const HyShape *shape, int32_t device);

/*
 * hy_decision_begin: initialize a decision about shape.
 * hy_decision_describe: copy the choice into the decision.
 */
extern void hy_decision_begin(const HyExecutor *executor, const HyShape *shape, uint64_t now,
                              HyDecision *decision);
extern void hy_decision_describe(const HyChoice *choice, HyDecision *decision);

/*
 * hy_route_note: record that a task went to 'device' for this reason.  If 'fallback' is set, the
 * task then ran on the CPU.
 */
extern void hy_route_note(HyExecutor *executor, const HyShape *shape, int32_t device,
                          HyReason reason, bool fallback);

/* hy_executor_foreign: return whether this process is a fork of the owner; logs this once. */
extern bool hy_executor_foreign(HyExecutor *executor);

/*
 * hy_member_open, hy_member_close: open or close the device's context.  Both functions write to the
 * log, and hy_member_open records its failures.  hy_member_idle: return whether the device has
 * closed itself although the executor still records it as open.
 */
extern HyStatus hy_member_open(HyExecutor *executor, HyMember *member, uint64_t now);
extern void hy_member_close(HyExecutor *executor, HyMember *member);
extern bool hy_member_idle(const HyMember *member);

/*
 * hy_member_latch: never use the device again in this process.  If 'all' is set, never use any
 * device of its backend again.  The log line is "device 1 (cuda 0) " followed by the text 'what'.
 * If 'abandon' is set, the device is not closed, since closing might block.
 */
extern void
hy_member_latch(HyExecutor *executor, HyMember *member, bool all, bool abandon, const char *what);

/* hy_member_failure: store the reason why the device cannot be used, in the form used by events. */
extern void hy_member_failure(const HyMember *member, HyFailure *failure);

/* hy_member_apply_losses: latch off a device that this process lost earlier. */
extern void hy_member_apply_losses(const HyExecutor *executor, HyMember *member);

/*
 * hy_open_credit_add: add the CPU time of a task to the ski rental of a device that stayed closed.
 * If a prediction for the device exists because the device was open before, only the difference is
 * added.
 */
extern void
hy_open_credit_add(HyExecutor *executor, int32_t device, double cpu_ns, double device_ns);

/* HyDeviceRun: one run of a task on one device, from submit to its end. */
typedef struct HyDeviceRun
{
	HyStatus status;
	HyTimings timings;
	HyFailure failure;    /* set when status is not HY_OK */
	uint64_t started_ns;  /* by the executor's clock */
	uint64_t finished_ns; /* 0 unless status is HY_OK */
	bool shared;          /* it ran after tasks of other clients, so its time includes theirs */
} HyDeviceRun;

/*
 * hy_member_budget: return the bytes that all tasks in flight on the device may use together.
 * hy_member_refused: record that a task of this many bytes did not fit.
 * hy_member_fitted: record that a task of this many bytes fitted.
 */
extern uint64_t hy_member_budget(HyExecutor *executor, HyMember *member, uint64_t now);
extern void hy_member_refused(HyMember *member, uint64_t bytes, uint64_t now);
extern void hy_member_fitted(HyMember *member, uint64_t bytes);

/*
 * hy_member_room: return the bytes that resident units may use: half of the memory that this
 * process may use.
 * hy_member_yield: evict units that exceed those bytes.
 * hy_member_forget: drop all units because the context is about to close.
 */
extern uint64_t hy_member_room(HyExecutor *executor, HyMember *member, uint64_t now);
extern void hy_member_yield(HyExecutor *executor, HyMember *member);
extern void hy_member_forget(HyMember *member);

/*
 * hy_attempt_begin: prepare a task of op for the device: ask the breaker, and open the context.  On
 * failure, returns false, and *run has the reason.  If an attempt took place, it was counted and
 * evaluated.  The exception is HY_PROCESS_LOST, which the caller evaluates, because only the caller
 * knows which other tasks are in flight and must end first.
 * hy_attempt_report: report an outcome to the breaker, and latch off devices that the outcome shows
 * to be lost.
 */
extern bool hy_attempt_begin(HyExecutor *executor, HyMember *member, HyOp op, HyDeviceRun *run);
extern void hy_attempt_report(HyExecutor *executor, HyMember *member, HyOp op, HyStatus status);

/*
 * hy_attempt_run: run a whole task on decision->device, with one retry after a lost context.
 * Counts and records the attempts.
 */
extern HyStatus
hy_attempt_run(HyExecutor *executor, const HyTask *task, HyDecision *decision, HyDeviceRun *run);

/* hy_pieces_plan: return whether a task should be cut; *plan has the devices that take part. */
extern bool hy_pieces_plan(const HyExecutor *executor, const HyShape *shape, const HyChoice *choice,
                           HyBulkPlan *plan);

/* hy_pieces_run: run a task in pieces.  If *begun is false, no piece was tried or counted. */
extern HyStatus hy_pieces_run(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan,
                              HyDecision *decision, uint64_t *finished, bool *begun);

/* HyFlight: a task in flight on a device. */
typedef struct HyFlight
{
	HyMember *member;
	const HyTask *task; /* must outlive the flight, with its inputs and outputs */
	HyTicket ticket;
	bool flying;
	HyDeviceRun run; /* complete once flying is false */
	uint64_t limit_ns;
	/*
	 * For a device that does not report its remaining time: whenever the task progresses, polling
	 * restarts at the short interval.
	 */
	uint64_t moved_ns; /* HyTimings.total_ns at the last poll */
	uint64_t step_ns;  /* the next wait */
	int spins;         /* number of polls since the last progress */
} HyFlight;

/*
 * hy_flight_start: submit to an open device.  A device that has closed itself meanwhile is opened
 * again, except for a resident task.  If submit fails, the flight is over at once.
 */
extern void
hy_flight_start(HyExecutor *executor, HyMember *member, const HyTask *task, HyFlight *flight);

/*
 * hy_flight_over: poll the device; return whether the flight is over.  Cancels the task on request,
 * or when its time is up.
 */
extern bool hy_flight_over(HyExecutor *executor, HyFlight *flight);

/* hy_flight_stop: cancel the flight; its status becomes HY_CANCELLED. */
extern void hy_flight_stop(HyExecutor *executor, HyFlight *flight);

/*
 * hy_flight_poll_delay: return the time in ns during which another poll is useless; 0: poll at
 * once.
 */
extern uint64_t hy_flight_poll_delay(HyExecutor *executor, HyFlight *flight, bool *may_skip);

/* hy_wait: skip ns if may_skip is set; otherwise sleep for ns, but for at most a millisecond. */
extern void hy_wait(HyExecutor *executor, uint64_t ns, bool may_skip);

/* hy_device_run: run one flight from start to end, including the wait for its turn. */
extern void
hy_device_run(HyExecutor *executor, HyMember *member, const HyTask *task, HyDeviceRun *run);

/*
 * hy_device_ask: request a place in the queue for a task of about ns on this device.  Returns
 * HY_NO_QUEUE when the executor has no queue, and -1 when the queue is full.
 */
extern int32_t hy_device_ask(HyExecutor *executor, const HyMember *member, double ns, bool whole);

/*
 * hy_device_granted: return whether the task may be submitted now.
 * hy_device_shared: return whether tasks of other clients were in flight when the place was
 * granted.
 */
extern bool hy_device_granted(HyExecutor *executor, int32_t place);
extern bool hy_device_shared(const HyExecutor *executor, int32_t place);

/*
 * hy_device_quantum: return how long a piece should last so that other clients get their turn; 0:
 * no other clients.
 * hy_device_leave: give the place back because the task has ended.
 */
extern double hy_device_quantum(const HyExecutor *executor, int32_t device);
extern void hy_device_leave(HyExecutor *executor, int32_t place);

/*
 * hy_member_settle: return whether every task that was given up on an open device has ended.  A
 * device that keeps such a task for too long is latched off.
 * hy_member_settle_wait: return the same after waiting for such tasks, at most that long.  Latches
 * no device off.
 */
extern bool hy_member_settle(HyExecutor *executor, HyMember *member);
extern bool hy_member_settle_wait(HyExecutor *executor, HyMember *member);

/* hy_event_step: advance the ring after an event, full or brief, was written. */
static inline void
hy_event_step(HyExecutor *executor)
{
	executor->next_event =
		executor->next_event == HY_EVENT_SLOTS - 1 ? 0 : executor->next_event + 1;
	executor->kept++;
	if (executor->events < HY_EVENT_RING)
		executor->events++;
}

/*
 * hy_generation_check: copy the tracker's change counts, so that memos notice changes in history.
 */
static inline void
hy_generation_check(HyExecutor *executor)
{
	executor->moved[HY_WATCH_LEAPS] = hy_tracker_leaps(executor->tracker);
	executor->moved[HY_WATCH_MOVES] = hy_tracker_generation(executor->tracker);
}

/* hy_memo_holds: return whether a memo covers this many queries and targets, and is still valid. */
static inline bool
hy_memo_holds(const HyExecutor *executor, const HyMemo *memo, uint64_t now, int64_t queries,
              int64_t targets)
{
	return memo->generation == executor->generation && memo->expires_ns > now &&
	       memo->until > executor->noted && memo->moved == executor->moved[memo->watch] &&
	       memo->like.queries == queries && memo->low <= targets && targets <= memo->high;
}

/*
 * hy_load_seen: record that count observations of the CPU under the current load were added to
 * history.
 */
static inline void
hy_load_seen(HyExecutor *executor, int32_t count)
{
	double share = count < executor->config.window ? (double) count / executor->config.window : 1;

	if (executor->load.runnable > 0 && executor->load_seen > 0)
		executor->load_seen += share * (executor->load.runnable - executor->load_seen);
	else if (executor->load.runnable > 0)
		executor->load_seen = executor->load.runnable;
}

/*
 * hy_event_slot: return the slot for the next event.
 * hy_event_keep: keep the event written in that slot, and drop the oldest event.
 */
extern HyDecision *hy_event_slot(HyExecutor *executor);
extern void hy_event_keep(HyExecutor *executor);

/*
 * hy_record_tick: record that a call ended at 'now'.  If no flush is due, this function is the only
 * cost of the shared table for a call.  hy_record_flush: flush if a flush is due.
 */
extern void hy_record_flush(HyExecutor *executor, uint64_t now);

static inline void
hy_record_tick(HyExecutor *executor, uint64_t now)
{
	if (__builtin_expect(--executor->until_flush <= 0 || now >= executor->flush_at_ns, 0))
		hy_record_flush(executor, now);
}

/*
 * hy_share_allow, hy_share_record, hy_share_abandon: as hy_breaker_allow, hy_breaker_record and
 * hy_breaker_abandon.  They apply to the member's breaker of op and, if it is shared, to the
 * table's breaker.  hy_share_allow also returns false while another process runs the only probe.
 */
extern bool hy_share_allow(HyExecutor *executor, HyMember *member, HyOp op, uint64_t now);
extern bool
hy_share_record(HyExecutor *executor, HyMember *member, HyOp op, uint64_t now, bool success);
extern void hy_share_abandon(HyExecutor *executor, HyMember *member, HyOp op);

/*
 * hy_share_take_context: count one more context; returns false when hybrid.gpu_max_contexts
 * contexts are open.
 * hy_share_give_context: stop counting a closed context.
 * hy_share_contexts: return the number of open contexts on the device over all processes of the
 * table.  The number includes the member's own context, even before that is open.  Returns 1 if
 * nothing is shared.
 */
extern bool hy_share_take_context(HyExecutor *executor, HyMember *member);
extern void hy_share_give_context(HyMember *member);
extern uint64_t hy_share_contexts(const HyExecutor *executor, const HyMember *member);

/* hy_share_reset: reset the table, after hy_executor_forget. */
extern void hy_share_reset(HyExecutor *executor);

/* hy_executor_forget: clear counters, events, history and breakers of this process. */
extern void hy_executor_forget(HyExecutor *executor);

/* hy_count_attempt: count an attempt that ended with status. */
extern void hy_count_attempt(HyCounters *counters, HyStatus status);

/*
 * hy_count_fallback: count a task that fell back to the CPU after its last attempt on this device
 * ended with status.
 */
extern void hy_count_fallback(HyCounters *counters, HyStatus status);

/* hy_count_call: count a task of this many items that took ns. */
extern void hy_count_call(HyCounters *counters, int64_t items, uint64_t ns);

/* hy_set_text: copy text, truncated to size and cleaned. */
extern void hy_set_text(char *target, size_t size, const char *text);

/*
 * hy_clean_text: terminate a text from a backend or the system, and replace all characters except
 * printable ASCII.
 */
extern void hy_clean_text(char *text, size_t size);

/* hy_log: write one line to the log, printf-style. */
extern void
hy_log(const HyExecutor *executor, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
