/*
 * memo.h
 *		Decisions for the CPU that hold for a while, and calls that were only jotted down.
 *
 * A task like an earlier one, with nothing changed since, goes where that one went: to the CPU, at
 * the price of a look-up.  What happened is written to one cache line of the ring of events
 * (HyBrief); counters, latencies, history and a closed device's rent take it in later, every
 * HY_MEMO_CALLS calls or 100 ms, or before anybody looks (hy_memo_fold).
 *
 * Like is: the same in all but the number of targets, of which a memo covers those whose work is in
 * the same half of a power of two, as far as the decision was asked for at both ends and was the
 * same.  Between them predictions lie on a line, since the law is linear and its correction one for
 * a size class; history takes the calls in as so many of their mean size.
 *
 * What changed shows in HyExecutor.generation, which is stepped wherever a decision could turn out
 * differently, and in HyExecutor.moved for what a memo owes to history.  Besides, no memo lives
 * longer than 100 ms, nor for more calls than exploring, or opening a device, can wait.
 */
#ifndef HY_MEMO_H
#define HY_MEMO_H

#include "dispatch/dispatcher.h"

#define HY_MEMOS 128      /* a power of two */
#define HY_MEMO_CALLS 192 /* so that fewer than one call in a hundred pays for the others */
#define HY_MEMO_NS UINT64_C(100000000)

/* HyBrief: a call that a memo decided, as the ring keeps it; or a mark that the full event is there. */
typedef struct HyBrief
{
	uint64_t time_ns;
	uint64_t actual_ns;
	int64_t queries;
	int64_t targets;
	int32_t dims;
	int32_t k;
	float cpu_ns; /* predicted */
	float device_ns;
	float bytes_required;
	float bytes_available;
	uint8_t op;
	uint8_t dtype;
	uint8_t metric;
	uint8_t numeric_class;
	uint8_t reason : 5;
	uint8_t
		missed : 3; /* the device that the decision tells about, which cannot be used; 0: none */
	uint8_t execution;
	uint8_t load; /* runnable processes a core, in sixteenths */
	uint8_t memo; /* its number; HY_BRIEF_FULL: HyExecutor.event holds the call */
} HyBrief;

#define HY_BRIEF_FULL 255
#define HY_BRIEF_DEVICE 7

_Static_assert(HY_REASON_COUNT <= 32 && HY_MAX_DEVICES - 1 <= HY_BRIEF_DEVICE, "a brief has room");

_Static_assert(sizeof(HyBrief) == 64, "a brief is one cache line");

/* HyWatch: what of history a decision rests on. */
typedef enum HyWatch
{
	HY_WATCH_NOTHING, /* rules that do not ask it */
	HY_WATCH_LEAPS,   /* the other side is far off */
	HY_WATCH_MOVES,
	HY_WATCH_COUNT
} HyWatch;

/* HyLine: what is so much at the least number of targets, and so much more with each one. */
typedef struct HyLine
{
	float low;
	float slope;
} HyLine;

/* HyMemo: what holds for shapes that differ in their targets only. */
typedef struct HyMemo
{
	HyBrief like;        /* of the next call, but for times and what depends on the targets */
	uint64_t expires_ns; /* 0: empty */
	uint64_t generation;
	int64_t low; /* targets */
	int64_t high;
	uint64_t until; /* HyExecutor.noted at which something may be due */
	uint32_t moved;
	uint8_t watch;     /* a HyWatch */
	uint8_t candidate; /* whose rent the calls pay, 0: nobody's */
	bool dirty;        /* there may be some that history has not taken in */
	int32_t count;     /* how many */
	double sum_ns;     /* of them, clipped */
	double sum_targets;
	HyLine cpu; /* predictions, as in the brief */
	HyLine device;
	HyLine bytes;
	HyLine expected; /* of the CPU's ns; observations are clipped to a band around it */
} HyMemo;

struct HyChoice;

/* hy_memo_keep: the CPU was chosen for a task of this shape and has run it. */
extern void hy_memo_keep(HyExecutor *executor, const HyTask *task, const HyShape *shape,
                         const struct HyChoice *choice, uint64_t now);

/* hy_memo_note: a call with so many targets that the memo decided ended well. */
extern void hy_memo_note(HyExecutor *executor, HyMemo *memo, int64_t targets, uint64_t started,
                         uint64_t finished, HyDecision *decision);

/* hy_memo_brief: what the memo says of a call with so many targets; the times are the caller's. */
extern void hy_memo_brief(const HyMemo *memo, int64_t targets, HyBrief *brief);

/* hy_memo_fold: what was jotted down is counted and, with all, also what history can wait for. */
extern void hy_memo_fold(HyExecutor *executor, bool all);

/* hy_memo_like: the memo that decides a task of this shape now, NULL when none does. */
extern HyMemo *
hy_memo_like(HyExecutor *executor, const HyShape *shape, HyClass numeric_class, uint64_t now);

/* hy_memo_forget: what was not counted yet never will be. */
extern void hy_memo_forget(HyExecutor *executor);

/* hy_brief_expand: the event that a brief stands for. */
extern void hy_brief_expand(const HyExecutor *executor, const HyBrief *brief, HyDecision *decision);

/*
 * hy_memo_slot: the half powers of two of the work of one kind of task lie side by side, so they do
 * not put each other out.  Work that overflows has a slot like any other.
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

/* hy_line_at: at so many targets. */
static inline float
hy_line_at(HyLine line, int64_t above_low)
{
	return line.low + line.slope * (float) above_low;
}

#endif
