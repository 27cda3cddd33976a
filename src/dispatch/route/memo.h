/*
 * memo.h
 *		Keeps decisions for the CPU that stay valid for a while (memos), and logs the calls that
 *		they decide, to count them later.
 *
 * A task like an earlier one goes to the CPU again at the cost of a look-up, if nothing has changed
 * since.  The call is written to one cache line of the ring of events (HyBrief).  Every
 * HY_MEMO_CALLS calls or 100 ms, and before a view reads the counters, the logged calls are added
 * to counters, latencies, history and the ski rental credit of a closed device (hy_memo_fold).
 *
 * Two tasks are alike if they are equal except for the number of targets, and their work lies in
 * the same half of the range between two powers of two.  A memo covers a range of numbers of
 * targets.  At both ends of the range, the rules gave the same decision.  Between the ends,
 * predictions lie on a line, because the regression is linear and its correction is the same within
 * a size class.  The calls of a memo are added to history as an equal number of calls of their mean
 * size.
 *
 * A task that is worth several threads has no memo, because its time depends on the number of
 * threads that it gets.
 *
 * A memo becomes invalid when HyExecutor.generation changes, which happens whenever a decision
 * could turn out differently.  It also becomes invalid when the history that it depends on changes
 * (HyExecutor.moved).  It expires after 100 ms, and before the call at which a trial or the opening
 * of a device may be due.
 *
 * bench/dispatch.c measures what memos save (three runs with memos and three without, alternating).
 * With memos, the dispatcher adds 70 to 90 ns to a small call of the CPU backend, and at most 1% to
 * a batch of 64 vectors of 768 dims.  Without memos, it added 3.4% to 3.9% to such a batch, and 150
 * to 300 ns to a small call that no device can run.  If an open but slower device could run the
 * call, it added 1,100 to 2,000 ns, or 2,300 to 3,000 ns with a shared table.  The version without
 * memos added only one call in eight to the history.
 */
#ifndef HY_MEMO_H
#define HY_MEMO_H

#include "dispatch/route/decide.h"
#include "dispatch/route/session.h"

/*
 * number of calls between two calls of hy_memo_fold, so that fewer than 1% of the calls pay for it
 */
#define HY_MEMO_CALLS 192
#define HY_MEMO_NS UINT64_C(100000000)

/*
 * hy_memo_recall: return the memo that decides the task now, or NULL if there is none.  *targets is
 * set to the number of targets of the task.
 */
extern HyMemo *
hy_memo_recall(HyExecutor *executor, const HyTask *task, uint64_t now, int64_t *targets);

/*
 * hy_memo_keep: make a memo if possible, after the CPU was chosen for a task of this shape and has
 * run the task.
 */
extern void hy_memo_keep(HyExecutor *executor, const HyShape *shape, HyClass numeric_class,
                         const HyChoice *choice, uint64_t now);

/* hy_memo_log: log a successful call with this many targets that the memo decided. */
extern void hy_memo_log(HyExecutor *executor, HyMemo *memo, int64_t targets, uint64_t started,
                        uint64_t finished, HyDecision *decision);

/* hy_memo_brief: set *brief for a call with this many targets; the caller fills in the times. */
extern void hy_memo_brief(const HyMemo *memo, int64_t targets, HyBrief *brief);

/*
 * hy_memo_fold: count the logged calls.  Also add the calls of all memos to history if `all` is
 * set, if at least HY_MEMO_CALLS calls are not in history yet, or if HY_MEMO_NS have passed since
 * calls were last added.
 */
extern void hy_memo_fold(HyExecutor *executor, bool all);

/* hy_memo_like: return the memo that decides a task of this shape now, or NULL without such a memo. */
extern HyMemo *
hy_memo_like(HyExecutor *executor, const HyShape *shape, HyClass numeric_class, uint64_t now);

/* hy_memo_forget: drop all memos and all logged calls. */
extern void hy_memo_forget(HyExecutor *executor);

/* hy_brief_expand: convert a brief to the event it represents. */
extern void hy_brief_expand(const HyExecutor *executor, const HyBrief *brief, HyDecision *decision);

/*
 * hy_generation_check: copy the tracker's change counts to HyExecutor.moved, which ends the memos
 * that depend on what changed.
 */
extern void hy_generation_check(HyExecutor *executor);

#endif
