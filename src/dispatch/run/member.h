/*
 * member.h
 *		Manages a device of an executor: opens and closes its context, waits for canceled tasks,
 *		and latches it off.
 */
#ifndef HY_MEMBER_H
#define HY_MEMBER_H

#include "dispatch/route/config.h"

/*
 * hy_member_open, hy_member_close: open or close the device's context.  Both functions write to the
 * log, and hy_member_open records its failures.
 * hy_member_idle: return whether the device has closed itself although the executor still has it as
 * open.
 */
extern HyStatus hy_member_open(HyExecutor *executor, HyMember *member, uint64_t now);
extern void hy_member_close(HyExecutor *executor, HyMember *member);
extern bool hy_member_idle(const HyMember *member);

/*
 * hy_member_latch: exclude the device from further use in this process.  If `all` is set, exclude
 * all devices of its backend.  The text `what` says why, as in "device 1 (cuda 0) has left".  If
 * `abandon` is set, the device is not closed, because closing might block.
 */
extern void
hy_member_latch(HyExecutor *executor, HyMember *member, bool all, bool abandon, const char *what);

/* hy_member_apply_losses: latch off a device that this process lost earlier. */
extern void hy_member_apply_losses(const HyExecutor *executor, HyMember *member);

/*
 * hy_member_yield: evict resident units that exceed hy_member_room.
 * hy_member_forget: drop all units, without calls to the device, because the context is about to
 * close.
 */
extern void hy_member_yield(HyExecutor *executor, HyMember *member);
extern void hy_member_forget(HyMember *member);

/*
 * hy_member_settle: return whether every canceled task on an open device has ended.  If one has not
 * ended within 50 ms, the device is latched off.
 * hy_member_settle_wait: wait at most 50 ms for these tasks, and return whether they have ended.
 * Does not latch off the device.
 */
extern bool hy_member_settle(HyExecutor *executor, HyMember *member);
extern bool hy_member_settle_wait(HyExecutor *executor, HyMember *member);

/* hy_set_text: copy text, truncated to size and cleaned. */
extern void hy_set_text(char *target, size_t size, const char *text);

/*
 * hy_clean_text: terminate a text from a backend or the system, and replace all characters that are
 * not printable ASCII.
 */
extern void hy_clean_text(char *text, size_t size);

#endif
