/*
 * breaker.c
 *		Decides whether a device may still run an operation: see breaker.h.
 */
#include "dispatch/model/breaker.h"

#include <string.h>

static void trip(HyBreaker *breaker, uint64_t now_ns, bool again);
static void remember(HyBreaker *breaker, bool success);

void
hy_breaker_init(HyBreaker *breaker)
{
	memset(breaker, 0, sizeof(*breaker));
}

bool
hy_breaker_allow(HyBreaker *breaker, uint64_t now_ns, bool *probe)
{
	*probe = false;
	if (breaker->state == HY_BREAKER_CLOSED)
		return true;
	if (!hy_breaker_would_allow(breaker, now_ns))
		return false;
	if (breaker->state == HY_BREAKER_OPEN)
	{
		breaker->state = HY_BREAKER_HALF_OPEN;
		breaker->probes = 0;
	}
	breaker->probing = true;
	breaker->probe_since_ns = now_ns;
	*probe = true;
	return true;
}

bool
hy_breaker_would_allow(const HyBreaker *breaker, uint64_t now_ns)
{
	switch (breaker->state)
	{
		case HY_BREAKER_CLOSED:
			return true;
		case HY_BREAKER_OPEN:
			return now_ns >= breaker->open_until_ns;
		case HY_BREAKER_HALF_OPEN:
			break;
	}
	/* A probe whose caller was killed never reports.  It must not block the breaker forever. */
	return !breaker->probing || now_ns - breaker->probe_since_ns >= HY_BREAKER_PROBE_TIMEOUT_NS;
}

bool
hy_breaker_record(HyBreaker *breaker, uint64_t now_ns, bool success, double threshold)
{
	remember(breaker, success);
	breaker->streak = success ? 0 : breaker->streak + 1;
	switch (breaker->state)
	{
		case HY_BREAKER_OPEN:
			/* The attempt began before the breaker opened, so it is only recorded. */
			return false;
		case HY_BREAKER_HALF_OPEN:
			breaker->probing = false;
			if (!success)
			{
				trip(breaker, now_ns, true);
				return true;
			}
			if (++breaker->probes < HY_BREAKER_PROBES)
				return false;
			/*
			 * Clear the window.  Otherwise the failures that opened the breaker could open it again
			 * at the next failure.
			 */
			{
				int64_t opened = breaker->opened;

				hy_breaker_init(breaker);
				breaker->opened = opened;
			}
			return true;
		case HY_BREAKER_CLOSED:
			break;
	}
	if (success)
		return false;
	if (breaker->streak >= HY_BREAKER_STREAK ||
	    (breaker->count >= HY_BREAKER_MIN_SAMPLES && hy_breaker_rate(breaker) < threshold))
	{
		trip(breaker, now_ns, false);
		return true;
	}
	return false;
}

void
hy_breaker_abandon(HyBreaker *breaker)
{
	breaker->probing = false;
}

double
hy_breaker_rate(const HyBreaker *breaker)
{
	if (breaker->count == 0)
		return 1.0;
	return (double) breaker->successes / breaker->count;
}

const char *
hy_breaker_state_name(HyBreakerState state)
{
	switch (state)
	{
		case HY_BREAKER_CLOSED:
			return "closed";
		case HY_BREAKER_OPEN:
			return "open";
		case HY_BREAKER_HALF_OPEN:
			return "half-open";
	}
	return "unknown";
}

static void
trip(HyBreaker *breaker, uint64_t now_ns, bool again)
{
	if (!again)
		breaker->open_for_ns = HY_BREAKER_FIRST_NS;
	else if (breaker->open_for_ns >= HY_BREAKER_LAST_NS / 2)
		breaker->open_for_ns = HY_BREAKER_LAST_NS;
	else
		breaker->open_for_ns *= 2;
	breaker->state = HY_BREAKER_OPEN;
	breaker->probing = false;
	breaker->open_until_ns = now_ns + breaker->open_for_ns;
	breaker->opened++;
}

static void
remember(HyBreaker *breaker, bool success)
{
	int word = breaker->next / 64;
	uint64_t bit = UINT64_C(1) << (breaker->next % 64);

	if (breaker->count == HY_BREAKER_WINDOW)
		breaker->successes -= (breaker->outcomes[word] & bit) != 0;
	else
		breaker->count++;
	if (success)
		breaker->outcomes[word] |= bit;
	else
		breaker->outcomes[word] &= ~bit;
	breaker->successes += success;
	breaker->next = (breaker->next + 1) % HY_BREAKER_WINDOW;
}
