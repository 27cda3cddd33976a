/*
 * share.c
 *		Shares breakers and the count of open contexts between processes: see share.h.
 *
 * A success under a closed breaker changes only the executor's copy of the breaker, until the next
 * flush.  A failure, and any attempt under a breaker that is not closed, changes the breaker in the
 * table under the table's lock.  The result is then copied to the executor.
 */
#include "dispatch/share/share.h"

/* interval at which to check whether another process's probe has ended */
#define ASK_AGAIN_NS UINT64_C(100000000)

/*
 * BreakerUse: a copy of a breaker of the table, converted to the executor's clock.  take_breaker
 * makes the copy and locks the table; put_breaker writes the copy back and unlocks the table.
 */
typedef struct BreakerUse
{
	HyBreaker breaker;
	HyBreakerState before;
	uint64_t shift; /* executor's clock - table's clock */
} BreakerUse;

static bool apply(HyBreaker *breaker, uint64_t now, HyOutcome outcome, double threshold);
static void take_breaker(HyShare *share, int32_t device, HyOp op, uint64_t now, BreakerUse *use);
static void
put_breaker(HyShare *share, int32_t device, HyOp op, BreakerUse *use, HyBreaker *breaker);
static void put_off(HyBreaker *breaker, uint64_t now);
static uint64_t clock_shift(const HyShare *share, uint64_t now);
static bool shared(const HyShare *share, int32_t device);

bool
hy_share_allow(HyShare *share, int32_t device, HyOp op, HyBreaker *breaker, uint64_t now)
{
	BreakerUse use;
	bool allowed;
	bool probe;

	if (breaker->state == HY_BREAKER_CLOSED || !shared(share, device))
		return hy_breaker_allow(breaker, now, &probe);
	take_breaker(share, device, op, now, &use);
	allowed = hy_breaker_allow(&use.breaker, now, &probe);
	put_breaker(share, device, op, &use, breaker);
	if (!allowed)
		put_off(breaker, now);
	return allowed;
}

bool
hy_share_report(HyShare *share, int32_t device, HyOp op, HyBreaker *breaker, uint64_t now,
                HyOutcome outcome, double threshold)
{
	BreakerUse use;
	bool changed;

	if (!shared(share, device))
		return apply(breaker, now, outcome, threshold);
	if (outcome != HY_OUTCOME_FAILURE && breaker->state == HY_BREAKER_CLOSED)
	{
		share->successes[device][op] += outcome == HY_OUTCOME_SUCCESS;
		return apply(breaker, now, outcome, threshold);
	}
	take_breaker(share, device, op, now, &use);
	changed = apply(&use.breaker, now, outcome, threshold);
	put_breaker(share, device, op, &use, breaker);
	return changed;
}

void
hy_share_adopt(HyShare *share, int32_t device, HyOp op, HyBreaker *breaker, uint64_t now)
{
	uint64_t shift;

	if (!shared(share, device))
		return;
	shift = clock_shift(share, now);
	hy_lock(&share->host->lock);
	hy_table_breaker(share->table, share->slot[device], op, breaker);
	hy_unlock(&share->host->lock);
	breaker->open_until_ns += shift;
	breaker->probe_since_ns += shift;
	put_off(breaker, now);
}

void
hy_share_flush_successes(HyShare *share)
{
	int32_t i;
	int op;

	for (i = 0; i < HY_MAX_DEVICES; i++)
	{
		for (op = 0; op < HY_OP_COUNT; op++)
		{
			int32_t count = share->successes[i][op];
			HyBreaker breaker;

			if (count == 0)
				continue;
			share->successes[i][op] = 0;
			hy_table_breaker(share->table, share->slot[i], (HyOp) op, &breaker);
			/*
			 * Failures in another process have opened the breaker.  The successes are older, so
			 * drop them.
			 */
			if (breaker.state != HY_BREAKER_CLOSED)
				continue;
			for (; count > 0; count--)
				(void) hy_breaker_record(&breaker, 0, true, 0);
			hy_table_put_breaker(share->table, share->slot[i], (HyOp) op, &breaker, false);
		}
	}
}

bool
hy_share_take_context(HyShare *share, int32_t device, int32_t most, HyTablePlace *place)
{
	bool taken;

	if (!shared(share, device) || place->word != NULL)
		return true;
	hy_lock(&share->host->lock);
	taken = hy_table_take_context(share->table, share->slot[device], most, place);
	hy_unlock(&share->host->lock);
	/* if there is no limit, allow even a context that the table has no space to count */
	return taken || most <= 0;
}

uint64_t
hy_share_contexts(const HyShare *share, int32_t device, const HyTablePlace *place)
{
	int32_t others;

	if (!shared(share, device))
		return 1;
	others = hy_table_contexts(share->table, share->slot[device]);
	if (place->word != NULL && __atomic_load_n(place->word, __ATOMIC_ACQUIRE) == place->value)
		others--;
	return others > 0 ? (uint64_t) others + 1 : 1;
}

static bool
apply(HyBreaker *breaker, uint64_t now, HyOutcome outcome, double threshold)
{
	if (outcome != HY_OUTCOME_NONE)
		return hy_breaker_record(breaker, now, outcome == HY_OUTCOME_SUCCESS, threshold);
	hy_breaker_abandon(breaker);
	return false;
}

static void
take_breaker(HyShare *share, int32_t device, HyOp op, uint64_t now, BreakerUse *use)
{
	int32_t *successes = &share->successes[device][op];

	use->shift = clock_shift(share, now);
	hy_lock(&share->host->lock);
	hy_table_breaker(share->table, share->slot[device], op, &use->breaker);
	use->before = use->breaker.state;
	use->breaker.open_until_ns += use->shift;
	use->breaker.probe_since_ns += use->shift;
	/* record the earlier successes first */
	for (; *successes > 0; --*successes)
	{
		if (use->breaker.state == HY_BREAKER_CLOSED)
			(void) hy_breaker_record(&use->breaker, 0, true, 0);
	}
}

static void
put_breaker(HyShare *share, int32_t device, HyOp op, BreakerUse *use, HyBreaker *breaker)
{
	bool transition = use->breaker.state != use->before;

	*breaker = use->breaker;
	use->breaker.open_until_ns -= use->shift;
	use->breaker.probe_since_ns -= use->shift;
	hy_table_put_breaker(share->table, share->slot[device], op, &use->breaker, transition);
	hy_unlock(&share->host->lock);
}

/*
 * put_off: while another process runs the probe, let the probe in the executor's copy time out
 * after ASK_AGAIN_NS, so that the table is asked again.  Only the table shows when the probe has
 * ended.
 */
static void
put_off(HyBreaker *breaker, uint64_t now)
{
	if (breaker->state == HY_BREAKER_HALF_OPEN && breaker->probing)
		breaker->probe_since_ns = now - HY_BREAKER_PROBE_TIMEOUT_NS + ASK_AGAIN_NS;
}

static uint64_t
clock_shift(const HyShare *share, uint64_t now)
{
	const HyClock *clock = share->host->clock;

	return now - clock->now(clock->arg);
}

/* shared: return whether the device is in a table. */
static bool
shared(const HyShare *share, int32_t device)
{
	return share->table != NULL && share->slot[device] != HY_TABLE_NO_DEVICE;
}
