/*
 * executor_state.h
 *		What an executor is made of; shared by the dispatcher's own files and its unit tests only.
 *
 * executor.c owns its life and what the views see, decide.c chooses a side, gauge.c knows the load,
 * device_run.c runs a task on a device, attempt.c judges the device by it, pieces.c has a task cut,
 * dispatcher.c puts them together, record.c remembers, share.c tells others.
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
#define HY_QUEUE_LOOK_NS 50000 /* between two looks at the queue */
#define HY_MAX_FLIGHTS 16      /* on a device by one executor */
#define HY_BATCH_KIND_BITS 5
#define HY_EVENT_SLOTS (HY_EVENT_RING + 1)

/* HyMember: a device of the executor, number 0 being the CPU. */
typedef struct HyMember
{
	const HyBackend *backend; /* NULL: a plug-in that could not be had */
	HyDevice *device;         /* NULL: not open */
	char name[HY_NAME_LENGTH];
	int32_t number; /* the backend's own */
	HyDeviceInfo info;
	uint64_t opened_limit;    /* HyConfig.memory_limit it was opened with */
	bool latched;             /* never again in this process */
	char why[HY_TEXT_LENGTH]; /* empty: usable */
	int32_t native_code;      /* the backend's own number for it; 0: none */
	bool absent;              /* there is none, and nothing is broken: a machine without a card */
	bool told;                /* the log has said why */

	/* Ski rental: what the CPU spent on tasks that this device could have taken when open. */
	double rent_ns;
	uint64_t open_after_ns; /* an open that failed is not tried again before this */
	uint64_t open_wait_ns;  /* by how much it was last put off */
	HyStatus open_status;   /* of the last open: a failure that is the same again is not logged */
	HyFailure open_failure; /* of the last open that failed */
	HyTablePlace place;     /* of the context, among those that the table counts */

	HyQueueLoad queue; /* what waits or is in flight there, of everybody, when last looked at */
	uint64_t
		taken_ns; /* so long a turn was last waited for in vain, doubled each time; 0: it came */
	uint64_t taken_until_ns; /* so long it is believed to take again */

	/* Memory: what was free when last asked. */
	bool free_known;
	uint64_t free_bytes;
	uint64_t total_bytes;
	uint64_t free_at_ns;
	uint64_t held_bytes; /* of what is not free, so much is the asker's and to be counted as free */
	uint64_t budget_bytes; /* what a task might take when that was last asked; 0: never */
	uint64_t cap_bytes;    /* what was too much has left this behind (budget.c); 0: none */
	uint64_t cap_step;
	uint64_t cap_since_ns;

	/* Rows that stay there (resident.c). */
	HyResidency *residency; /* NULL: nothing was asked for in this context */
	HyResidencyCounts resident;
	uint64_t send_after_ns; /* none is sent before, since the last was not taken */
	uint64_t unit_bytes;    /* hy_resident_unit_bytes; 0: nobody has asked yet */
	int32_t left_alone;     /* units that stayed unused since the CPU would have been faster */

	/* Tickets that were given up and have not ended yet. */
	int32_t leftovers;
	uint64_t left_ns; /* when the first of them was */
	HyTicket leftover[HY_MAX_FLIGHTS];

	HyBreaker breakers[HY_OP_COUNT];
	HyCounters counters[HY_OP_COUNT];
} HyMember;

/* HyRoute: where the tasks of one class went lately; a direct-mapped table of hints. */
typedef struct HyRoute
{
	uint32_t number; /* hy_shape_class, 0: empty */
	bool on_device;  /* the side that hysteresis holds to */
	bool refused;    /* the last try of a device ended on the CPU */
} HyRoute;

/* HyShare: what the table has been told. */
typedef struct HyShare
{
	HySharedTable *table; /* NULL: this executor shares nothing */
	const HyShareHost *host;
	uint64_t epoch;
	uint64_t transitions;
	uint64_t flushed_ns;     /* when, by the executor's clock */
	uint64_t flushed_events; /* of HyExecutor.kept */
	uint64_t models_ns;      /* when the models were flushed */
	bool postponed;          /* there is something from before until_flush was set */
	int32_t slot[HY_MAX_DEVICES];
	int32_t successes[HY_MAX_DEVICES][HY_OP_COUNT]; /* that its breaker was not told of */
	HyCounters flushed[HY_MAX_DEVICES][HY_OP_COUNT];
} HyShare;

struct HyExecutor
{
	/* What a call on known ground touches lies together. */
	const HyClock *clock;
	uint64_t generation;  /* stepped when a decision could turn out differently */
	uint64_t fold_at_ns;  /* memo.h: when what was jotted down is taken in */
	uint64_t flush_at_ns; /* share.h */
	uint64_t kept;        /* events ever */
	uint64_t forgotten;   /* times that history was */
	int32_t jotted;       /* events that may not have been counted yet */
	int32_t until_flush;  /* calls */
	int32_t events;
	int32_t next_event;
	HyMemo memos[HY_MEMOS];
	HyBrief briefs[HY_EVENT_RING + 1];
	uint8_t dirty_memo[HY_MEMOS];
	int32_t dirty;
	int32_t unsettled;              /* calls that memos have for history */
	uint64_t settled_ns;            /* when it last took them in */
	uint64_t noted;                 /* calls ever */
	uint32_t moved[HY_WATCH_COUNT]; /* the tracker's counts, when last looked at; [0] stays 0 */

	const HyAllocator *allocator;
	HyLog log;
	HyConfig config;
	pid_t owner;  /* contexts do not survive fork */
	bool foreign; /* this process is not the owner: devices are refused */
	int32_t members;
	HyMember member[HY_MAX_DEVICES];
	HyTracker *tracker;
	HyRoute routes[HY_ROUTES];
	HyBatchSize batch_sizes[1 << HY_BATCH_KIND_BITS];
	HyLoad load;      /* of the machine, as last told */
	double load_seen; /* runnable processes a core while the CPU's history was made, on average */
	bool cuts;        /* tasks may be cut into pieces: whoever runs pieces says so */
	bool no_trials;   /* rule 9 is left out: who asks wants to know what is known */
	bool queued;      /* tasks for devices go through the queue of seat */
	uint64_t patience_ns; /* of the task at hand, for its turn; 0: as long as for its answer */
	HyQueueSeat seat;
	HyLosses *losses; /* NULL: nobody asks */
	double spent_ns;  /* by all calls */
	double regret_ns; /* lost by exploring instead of taking the side predicted to be cheaper */
	HyShare share;
	HyDecision event[HY_EVENT_SLOTS]; /* one more, for the call that is under way */
};

static inline uint64_t
hy_now(const HyExecutor *executor)
{
	return executor->clock->now(executor->clock->arg);
}

/* HyChoice: what decide.c makes of a task. */
typedef struct HyChoice HyChoice;

struct HyChoice
{
	int32_t device;    /* where the task goes */
	int32_t candidate; /* the device weighed against the CPU, 0: none */
	HyReason reason;
	bool forced;      /* no fallback: the user named the side */
	HyStatus refusal; /* not HY_OK: the forced side is not able, nothing runs */
	const char *why;  /* with a refusal, or when the device is not able; static or member's text */
	const HyMember
		*missed;   /* the device that the decision tells about, which cannot be used; NULL: none */
	double cpu_ns; /* predictions, < 0: none */
	double device_ns;
	double instead_ns; /* when exploring: the prediction of the side not taken, < 0: none */
	uint32_t devices;  /* bit d: device d could have it */
	bool chunked;      /* rule 7: only pieces of it fit the device */
	bool split;        /* rule 10: worth running on device and CPU at once */
	double share;      /* of a split task: the device's part, 0 .. 1 */
	double split_ns;   /* predicted, < 0: none, or more than is of use */
	uint32_t unable;   /* bit d: device d was looked at and cannot have it */
	int32_t calm;      /* tasks of this kind until a trial may be due */
	uint64_t holds_ns; /* until then, as far as the breakers go */
	uint64_t bytes_required;
	uint64_t bytes_available;
};

/*
 * hy_decide: chooses a side at time now; changes nothing but the memo of free memory.  With task
 * NULL for any task of that shape, exact.
 */
extern void hy_decide(HyExecutor *executor, const HyTask *task, const HyShape *shape, uint64_t now,
                      HyChoice *choice);

/*
 * hy_turn_limit: for how long the task at hand may wait for its turn.  Where it is the dispatcher's
 * own idea to use a device, as long as the CPU would take: then no wait costs more than twice that.
 */
extern uint64_t hy_turn_limit(const HyExecutor *executor);
extern void hy_turn_patience(HyExecutor *executor, const HyChoice *choice);

/* hy_turn_missed, hy_turn_came: after waiting so long in vain, or not. */
extern void hy_turn_missed(HyExecutor *executor, HyMember *member, uint64_t waited_ns);
extern void hy_turn_came(HyMember *member);

/* hy_left_out: whether the settings leave the device out; numbers are a backend's own. */
static inline bool
hy_left_out(const HyConfig *config, const HyMember *member)
{
	return config->devices != 0 && member->backend != NULL &&
	       (member->number >= 64 || !(config->devices >> member->number & 1));
}

/* hy_device_asked: whether the settings ask for a device, and do not just allow one. */
static inline bool
hy_device_asked(const HyConfig *config)
{
	if (config->force_cpu || config->execution == HY_EXECUTION_CPU ||
	    config->execution == HY_EXECUTION_PREFER_CPU)
		return false;
	return config->execution != HY_EXECUTION_AUTO || config->devices != 0;
}

/* hy_gauge_look: what there is under way on each device now. */
extern void hy_gauge_look(HyExecutor *executor);
extern HyQueueLoad hy_gauge_queue(const HyExecutor *executor, int32_t device);

/* hy_gauge_less: whether less was under way on device than on the other. */
extern bool hy_gauge_less(const HyExecutor *executor, int32_t device, int32_t other);

/* hy_gauge_ns: ns, what the task takes on an idle device, with the load there is; < 0 stays so. */
extern double
hy_gauge_ns(const HyExecutor *executor, const HyShape *shape, int32_t device, double ns);

/* hy_side_ns: what a side is predicted to take, with the load and what is in flight, < 0: unknown. */
extern double hy_side_ns(const HyExecutor *executor, const HyShape *shape, int32_t device);

/* hy_device_meant: whether the settings let this device have tasks. */
extern bool hy_device_meant(const HyExecutor *executor, int32_t device);

/* hy_side_able: whether rules 3 to 7 let an exact task of this shape go to device. */
extern bool hy_side_able(HyExecutor *executor, const HyShape *shape, uint64_t now, int32_t device);

/* hy_side_fits: whether a task of this shape fits the budget of the device in one piece. */
extern bool hy_side_fits(HyExecutor *executor, const HyShape *shape, int32_t device);

/* hy_side_can: the same, by rules 3, 4 and 7 only. */
extern bool hy_side_can(HyExecutor *executor, const HyShape *shape, int32_t device);

/* hy_decision_begin: a decision about shape, of which nothing is known; describe: what it was. */
extern void hy_decision_begin(const HyExecutor *executor, const HyShape *shape, uint64_t now,
                              HyDecision *decision);
extern void hy_decision_describe(const HyChoice *choice, HyDecision *decision);

/* hy_route_note: the task went to this device for this reason, and from there to the CPU. */
extern void hy_route_note(HyExecutor *executor, const HyShape *shape, int32_t device,
                          HyReason reason, bool fallback);

/* hy_executor_foreign: whether this process is a fork of the owner; logs it once. */
extern bool hy_executor_foreign(HyExecutor *executor);

/*
 * hy_member_open, hy_member_close: the device's context; opening logs, and notes failures.
 * hy_member_idle: whether it is open as far as the executor knows, and has closed itself.
 */
extern HyStatus hy_member_open(HyExecutor *executor, HyMember *member, uint64_t now);
extern void hy_member_close(HyExecutor *executor, HyMember *member);
extern bool hy_member_idle(const HyMember *member);

/*
 * hy_member_latch: the device (with all, every device of its backend) is not used again in this
 * process; what completes "device 1 (cuda 0) ...".  abandon: closing it might block, so leave it.
 */
extern void
hy_member_latch(HyExecutor *executor, HyMember *member, bool all, bool abandon, const char *what);

/* hy_member_excuse: why there is no such device, as an event has it. */
extern void hy_member_excuse(const HyMember *member, HyFailure *failure);

/* hy_member_heed: a device that the process has lost is latched from the start. */
extern void hy_member_heed(const HyExecutor *executor, HyMember *member);

/*
 * hy_rent_pay: what the CPU took while the device stayed closed.  Where the device's time is known
 * (it was open before), only the difference would have been saved.
 */
extern void hy_rent_pay(HyExecutor *executor, int32_t device, double cpu_ns, double device_ns);

/* HyDeviceRun: one task on one device, from submit to its end. */
typedef struct HyDeviceRun
{
	HyStatus status;
	HyTimings timings;
	HyFailure failure;    /* when status is not HY_OK */
	uint64_t started_ns;  /* by the executor's clock */
	uint64_t finished_ns; /* 0 unless status is HY_OK */
	bool shared;          /* behind tasks of others: its time is not its own */
} HyDeviceRun;

/*
 * hy_member_budget: bytes that what is in flight on the device may take together; refused: so much
 * was too much; fitted: so much was not.
 */
extern uint64_t hy_member_budget(HyExecutor *executor, HyMember *member, uint64_t now);
extern void hy_member_refused(HyMember *member, uint64_t bytes, uint64_t now);
extern void hy_member_fitted(HyMember *member, uint64_t bytes);

/*
 * hy_member_room: the same for units of rows that stay there: half of what is this process's to take.
 * hy_member_yield: units beyond that give way.  hy_member_forget: the context goes, and all with it.
 */
extern uint64_t hy_member_room(HyExecutor *executor, HyMember *member, uint64_t now);
extern void hy_member_yield(HyExecutor *executor, HyMember *member);
extern void hy_member_forget(HyMember *member);

/*
 * hy_attempt_begin: a task of op is about to go to the device: the breaker, and an open context;
 * false: *run says why not, and the attempt, if it was one, is counted and judged; but the loss of
 * the process is the caller's to judge, who knows what else is in flight and must end first.
 * hy_attempt_judge: what its outcome says of the device.
 */
extern bool hy_attempt_begin(HyExecutor *executor, HyMember *member, HyOp op, HyDeviceRun *run);
extern void hy_attempt_judge(HyExecutor *executor, HyMember *member, HyOp op, HyStatus status);

/*
 * hy_attempt_run: a whole task on decision->device, with the one retry that a lost context is worth;
 * counted and recorded.
 */
extern HyStatus
hy_attempt_run(HyExecutor *executor, const HyTask *task, HyDecision *decision, HyDeviceRun *run);

/* hy_pieces_plan: whether a task had better be cut, and over whom. */
extern bool hy_pieces_plan(const HyExecutor *executor, const HyShape *shape, const HyChoice *choice,
                           HyBulkPlan *plan);

/* hy_pieces_run: where not even *begun is true, nothing was tried, and nothing counted. */
extern HyStatus hy_pieces_run(HyExecutor *executor, const HyTask *task, const HyBulkPlan *plan,
                              HyDecision *decision, uint64_t *finished, bool *begun);

/* HyFlight: a task under way on a device. */
typedef struct HyFlight
{
	HyMember *member;
	const HyTask *task; /* outlives it, as its inputs and outputs do */
	HyTicket ticket;
	bool flying;
	HyDeviceRun run; /* complete when it flies no more */
	uint64_t limit_ns;
	/* where the device does not say how long it will take, asking starts anew whenever it moves on */
	uint64_t moved_ns; /* HyTimings.total_ns, when last asked */
	uint64_t step_ns;  /* the next wait */
	int spins;         /* polls without one */
} HyFlight;

/*
 * hy_flight_start: submits to an open device, which is opened again where it has closed itself since
 * it was; may be over at once, when submit fails.
 */
extern void
hy_flight_start(HyExecutor *executor, HyMember *member, const HyTask *task, HyFlight *flight);

/* hy_flight_over: asks the device; cancels when asked to or when the time is up. */
extern bool hy_flight_over(HyExecutor *executor, HyFlight *flight);

/* hy_flight_stop: ends it as HY_CANCELLED, or as the loss of the device that this brought out. */
extern void hy_flight_stop(HyExecutor *executor, HyFlight *flight);

/* hy_flight_patience: ns for which asking again is of no use; 0: ask at once. */
extern uint64_t hy_flight_patience(HyExecutor *executor, HyFlight *flight, bool *may_skip);

/* hy_wait: skips ns, or sleeps for at most that and at most a millisecond. */
extern void hy_wait(HyExecutor *executor, uint64_t ns, bool may_skip);

/* hy_device_run: one flight from its start to its end. */
extern void
hy_device_run(HyExecutor *executor, HyMember *member, const HyTask *task, HyDeviceRun *run);

/*
 * hy_device_ask: a place in the queue for a task of about ns on this device; HY_NO_QUEUE where the
 * executor has none, -1 where the queue is full.
 */
extern int32_t hy_device_ask(HyExecutor *executor, const HyMember *member, double ns, bool whole);

/* hy_device_granted: whether it may be submitted now; hy_device_leave: it has ended. */
extern bool hy_device_granted(HyExecutor *executor, int32_t place);
extern bool hy_device_shared(const HyExecutor *executor, int32_t place);

/* hy_device_quantum: how long a piece should last for the others' sake, 0: there are none. */
extern double hy_device_quantum(const HyExecutor *executor, int32_t device);
extern void hy_device_leave(HyExecutor *executor, int32_t place);

/*
 * hy_member_settle: whether nothing that was given up is still under way on an open device.  A
 * device that has not let go for too long is latched off.  _wait: gives it that time, latches not.
 */
extern bool hy_member_settle(HyExecutor *executor, HyMember *member);
extern bool hy_member_settle_wait(HyExecutor *executor, HyMember *member);

/* hy_event_step: the next event was written, full or brief. */
static inline void
hy_event_step(HyExecutor *executor)
{
	executor->next_event =
		executor->next_event == HY_EVENT_SLOTS - 1 ? 0 : executor->next_event + 1;
	executor->kept++;
	if (executor->events < HY_EVENT_RING)
		executor->events++;
}

/* hy_generation_check: memos see what has changed in history. */
static inline void
hy_generation_check(HyExecutor *executor)
{
	executor->moved[HY_WATCH_LEAPS] = hy_tracker_leaps(executor->tracker);
	executor->moved[HY_WATCH_MOVES] = hy_tracker_generation(executor->tracker);
}

/* hy_memo_holds: whether a memo speaks of so many queries and targets, and is still to be believed. */
static inline bool
hy_memo_holds(const HyExecutor *executor, const HyMemo *memo, uint64_t now, int64_t queries,
              int64_t targets)
{
	return memo->generation == executor->generation && memo->expires_ns > now &&
	       memo->until > executor->noted && memo->moved == executor->moved[memo->watch] &&
	       memo->like.queries == queries && memo->low <= targets && targets <= memo->high;
}

/* hy_load_seen: count observations of the CPU enter history, made under the load there is now. */
static inline void
hy_load_seen(HyExecutor *executor, int32_t count)
{
	double share = count < executor->config.window ? (double) count / executor->config.window : 1;

	if (executor->load.runnable > 0 && executor->load_seen > 0)
		executor->load_seen += share * (executor->load.runnable - executor->load_seen);
	else if (executor->load.runnable > 0)
		executor->load_seen = executor->load.runnable;
}

/* hy_event_slot: where the next event is written; hy_event_keep: it is, the oldest gives way. */
extern HyDecision *hy_event_slot(HyExecutor *executor);
extern void hy_event_keep(HyExecutor *executor);

/*
 * hy_record_tick: a call ended now; the only thing a call pays for the table when none is due.
 * hy_record_flush is the rest of it.
 */
extern void hy_record_flush(HyExecutor *executor, uint64_t now);

static inline void
hy_record_tick(HyExecutor *executor, uint64_t now)
{
	if (__builtin_expect(--executor->until_flush <= 0 || now >= executor->flush_at_ns, 0))
		hy_record_flush(executor, now);
}

/*
 * The member's breaker of op, and the table's where it is shared: as hy_breaker_allow, _record and
 * _abandon.  hy_share_allow is false also when another process has the one probe.
 */
extern bool hy_share_allow(HyExecutor *executor, HyMember *member, HyOp op, uint64_t now);
extern bool
hy_share_record(HyExecutor *executor, HyMember *member, HyOp op, uint64_t now, bool success);
extern void hy_share_abandon(HyExecutor *executor, HyMember *member, HyOp op);

/*
 * hy_share_take_context: false where hybrid.gpu_max_contexts are open; give: it is closed.
 * hy_share_contexts: how many are open on the device over all processes of the table, the member's
 * own among them even when it is not open yet; 1 where nothing is shared.
 */
extern bool hy_share_take_context(HyExecutor *executor, HyMember *member);
extern void hy_share_give_context(HyMember *member);
extern uint64_t hy_share_contexts(const HyExecutor *executor, const HyMember *member);

/* hy_share_reset: the table forgets; the executor has. */
extern void hy_share_reset(HyExecutor *executor);

/* hy_executor_forget: counters, events, history, breakers, of this process. */
extern void hy_executor_forget(HyExecutor *executor);

/* hy_count_attempt: an attempt on a device ended with status. */
extern void hy_count_attempt(HyCounters *counters, HyStatus status);

/* hy_count_fallback: a task was given up to the CPU, since its last attempt here ended with status. */
extern void hy_count_fallback(HyCounters *counters, HyStatus status);

/* hy_count_call: a task of so many items was finished in ns. */
extern void hy_count_call(HyCounters *counters, int64_t items, uint64_t ns);

/* hy_set_text: a copy cut to size, cleaned; text may be a longer sentence than the views have room for. */
extern void hy_set_text(char *target, size_t size, const char *text);

/* hy_clean_text: ends it, and makes printable ASCII of what a backend or the system wrote. */
extern void hy_clean_text(char *text, size_t size);

/* hy_log: one line, printf-style. */
extern void
hy_log(const HyExecutor *executor, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
