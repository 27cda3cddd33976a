/*
 * memo_stage.h
 *		What the tests of memos share: getting one, and telling whether a call went by it.
 */
#ifndef HY_MEMO_STAGE_H
#define HY_MEMO_STAGE_H

#include "dispatch_stage.h"

/* settled: so many calls that a memo is there; no device can want them. */
static void
settled(int64_t rows)
{
	int i;

	for (i = 0; i < 6; i++)
		CHECK_INT(stage_dispatch(rows, NULL), HY_OK);
	CHECK(stage.executor->uncounted > 0);
}

/* long_way: whether the next call is decided anew. */
static bool
long_way(int64_t rows)
{
	int32_t uncounted = stage.executor->uncounted;
	uint64_t kept = stage.executor->kept;

	CHECK_INT(stage_dispatch(rows, NULL), HY_OK);
	CHECK(stage.executor->kept == kept + 1);
	return stage.executor
	               ->briefs[(stage.executor->next_event + HY_EVENT_SLOTS - 1) % HY_EVENT_SLOTS]
	               .memo == HY_BRIEF_FULL &&
	       stage.executor->uncounted <= uncounted + 1;
}

/* known: the CPU takes 10 us and the device, that is open, so much; a memo is there. */
static void
known(double device_ns)
{
	HyDecision decision;
	int i;

	stage_begin(1);
	CHECK_INT(hy_member_open(stage.executor, &stage.executor->member[1], stage.clock.time), HY_OK);
	stage.cpu_item_ns = 10;
	stage_teach_one(1000, 10000, (uint64_t) device_ns);
	for (i = 0; i < 3; i++)
		CHECK_INT(stage_dispatch(1000, &decision), HY_OK);
	stage_expect(decision, 0, HY_REASON_COST);
	CHECK(!long_way(1000));
}

#endif
