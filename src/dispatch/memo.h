/*
 * memo.h
 *		Decisions for the CPU that hold for a while, and calls that were only jotted down.
 *
 * A task of the very shape of an earlier one, with nothing changed since, goes where that one went:
 * to the CPU, at the price of a look-up.  What happened is written to one cache line of the ring of
 * events (HyBrief); counters, latencies and history take it in later, every HY_MEMO_CALLS calls or
 * 100 ms, or before anybody looks (hy_memo_fold).
 *
 * What changed shows in HyExecutor.generation, which is stepped wherever a decision could turn out
 * differently; besides, no memo lives longer than 100 ms, nor for more calls than exploring can wait.
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
	uint8_t reason;
	uint8_t execution;
	uint8_t load; /* runnable processes a core, in sixteenths */
	uint8_t memo; /* its number; HY_BRIEF_FULL: HyExecutor.event holds the call */
} HyBrief;

#define HY_BRIEF_FULL 255

_Static_assert(sizeof(HyBrief) == 64, "a brief is one cache line");

/* HyMemo: what holds for one shape. */
typedef struct HyMemo
{
	HyBrief like;        /* of the next call, times and marks aside; its shape is the key */
	uint64_t expires_ns; /* 0: empty */
	uint64_t generation;
	int32_t left;  /* calls until something may be due */
	int32_t count; /* observations that history has not taken in */
	double sum_ns; /* of them, clipped */
	float low_ns;  /* the band they are clipped to */
	float high_ns;
	uint64_t since_ns; /* of the first of them */
	bool dirty;        /* there may be some */
} HyMemo;

struct HyChoice;

/* hy_memo_keep: the CPU was chosen for a task of this shape and has run it. */
extern void hy_memo_keep(HyExecutor *executor, const HyShape *shape, HyClass numeric_class,
                         const struct HyChoice *choice, uint64_t now);

/* hy_memo_note: a call that the memo decided ended well. */
extern void hy_memo_note(HyExecutor *executor, HyMemo *memo, uint64_t started, uint64_t finished,
                         HyDecision *decision);

/* hy_memo_fold: what was jotted down is counted and, with all, also what history can wait for. */
extern void hy_memo_fold(HyExecutor *executor, bool all);

/* hy_memo_like: the memo that decides a task of this shape now, NULL when none does. */
extern HyMemo *
hy_memo_like(HyExecutor *executor, const HyShape *shape, HyClass numeric_class, uint64_t now);

/* hy_memo_forget: what was not counted yet never will be. */
extern void hy_memo_forget(HyExecutor *executor);

/* hy_brief_expand: the event that a brief stands for. */
extern void hy_brief_expand(const HyBrief *brief, HyDecision *decision);

static inline uint32_t
hy_memo_slot(int64_t queries, int64_t targets, int32_t dims, int32_t k, uint32_t kind)
{
	uint64_t mix = (uint64_t) targets * UINT64_C(0x9e3779b97f4a7c15);

	mix ^= ((uint64_t) queries + ((uint64_t) (uint32_t) dims << 32)) * UINT64_C(0xbf58476d1ce4e5b9);
	mix ^= ((uint64_t) (uint32_t) k << 8 | kind) * UINT64_C(0x94d049bb133111eb);
	return (uint32_t) (mix >> 40) & (HY_MEMOS - 1);
}

#endif
