/*
 * memo.h
 *		Keeps decisions for the CPU that stay valid for a while, and logs calls to count them later.
 *
 * A task like an earlier one goes to the CPU again at the cost of a look-up, if nothing has changed
 * since.  The call is written to one cache line of the ring of events (HyBrief).  Later it is added
 * to counters, latencies, history and the ski rental of a closed device.  This is done every
 * HY_MEMO_CALLS calls or 100 ms, and before data is read (hy_memo_fold).
 *
 * Two tasks are alike if they are equal except for the number of targets, and their work lies in
 * the same half of a power of two.  A memo covers the targets between two ends at which the
 * decision was evaluated and was the same.  Between the ends predictions lie on a line, since the
 * regression is linear and its correction is the same within a size class.  The calls of a memo are
 * added to history as an equal number of calls of their mean size.
 *
 * HyExecutor.generation is incremented whenever a decision could turn out differently, and
 * HyExecutor.moved shows changes of history that a memo depends on.  In addition, a memo expires
 * after 100 ms, and before the call at which a trial or an open may be due.
 */
#ifndef HY_MEMO_H
#define HY_MEMO_H

#include "dispatch/dispatcher.h"

#define HY_MEMOS 128 /* a power of two */
/* calls between two folds; large enough that fewer than one call in a hundred pays for a fold */
#define HY_MEMO_CALLS 192
#define HY_MEMO_NS UINT64_C(100000000)

/*
 * HyBrief: a call decided by a memo, as stored in the ring; or a mark that HyExecutor.event holds
 * the call.
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

/* HyWatch: the changes of history that a decision depends on. */
typedef enum HyWatch
{
	HY_WATCH_NOTHING, /* none; the decision rules did not use history */
	HY_WATCH_LEAPS,   /* large changes; the device is far slower or not open */
	HY_WATCH_MOVES,   /* all changes that the tracker counts */
	HY_WATCH_COUNT
} HyWatch;

/* HyLine: a value at the memo's smallest number of targets, and the increase per target. */
typedef struct HyLine
{
	float low;
	float slope;
} HyLine;

/* HyMemo: a decision for shapes that differ only in their targets. */
typedef struct HyMemo
{
	HyBrief like; /* brief of the next call, without times and values that depend on targets */
	uint64_t expires_ns; /* 0: empty */
	uint64_t generation;
	int64_t low; /* smallest number of targets */
	int64_t high;
	uint64_t until;    /* value of HyExecutor.noted at which a trial or an open may be due */
	uint32_t moved;    /* HyExecutor.moved[watch] when the memo was made */
	uint8_t watch;     /* a HyWatch */
	uint8_t candidate; /* device whose ski rental grows with the calls; 0: no device */
	bool dirty;        /* the memo is in HyExecutor.dirty_memo */
	int32_t count;     /* calls that were not added to history yet */
	double sum_ns;     /* sum of the clipped times of these calls */
	double sum_targets;
	HyLine cpu; /* predictions, as in the brief */
	HyLine device;
	HyLine bytes;
	HyLine expected; /* expected CPU time; observations are clipped to a band around it */
} HyMemo;

struct HyChoice;

/* hy_memo_keep: make a memo, after the CPU was chosen for a task of this shape and has run it. */
extern void hy_memo_keep(HyExecutor *executor, const HyTask *task, const HyShape *shape,
                         const struct HyChoice *choice, uint64_t now);

/* hy_memo_note: log a successful call with this many targets that the memo decided. */
extern void hy_memo_note(HyExecutor *executor, HyMemo *memo, int64_t targets, uint64_t started,
                         uint64_t finished, HyDecision *decision);

/* hy_memo_brief: set *brief for a call with this many targets; the caller fills in the times. */
extern void hy_memo_brief(const HyMemo *memo, int64_t targets, HyBrief *brief);

/*
 * hy_memo_fold: count the logged calls.  With all, also add the calls held by memos to history.
 */
extern void hy_memo_fold(HyExecutor *executor, bool all);

/* hy_memo_like: return the memo that decides a task of this shape now, or NULL without such a memo. */
extern HyMemo *
hy_memo_like(HyExecutor *executor, const HyShape *shape, HyClass numeric_class, uint64_t now);

/* hy_memo_forget: drop all memos and uncounted calls. */
extern void hy_memo_forget(HyExecutor *executor);

/* hy_brief_expand: convert a brief to the event it represents. */
extern void hy_brief_expand(const HyExecutor *executor, const HyBrief *brief, HyDecision *decision);

/*
 * hy_memo_slot: return the slot of a task.  For one kind of task, consecutive half powers of two of
 * the work get consecutive slots, so they do not evict each other.  If the work overflows, the slot
 * is arbitrary.
 */
static inline uint32_t
hy_memo_slot(int64_t queries, int64_t targets, int32_t dims, int32_t k, uint32_t kind)
{
	uint64_t rows = (uint64_t) queries * (uint64_t) (int64_t) dims;
	uint64_t work = rows * (uint64_t) targets | 2;
	int power = 63 - __builtin_clzll(work);
	uint64_t mix;

	mix = ((uint64_t) queries + ((uint64_t) (uint32_t) dims << 32)) * UINT64_C(0xbf58476d1ce4e5b9);
	mix ^= ((uint64_t) (uint32_t) k << 8 | kind) * UINT64_C(0x94d049bb133111eb);
	return ((uint32_t) (mix >> 40) + 2 * (uint32_t) power + (uint32_t) (work >> (power - 1) & 1)) &
	       (HY_MEMOS - 1);
}

/* hy_line_at: return the value of a line at this many targets above the smallest number. */
static inline float
hy_line_at(HyLine line, int64_t above_low)
{
	return line.low + line.slope * (float) above_low;
}

#endif
