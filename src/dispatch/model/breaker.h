/*
 * breaker.h
 *		Decides whether a device may still run an operation.
 *
 * A closed breaker opens after 3 failures in a row.  It also opens at a failure if the window (the
 * last 100 attempts) holds at least 20 attempts and their success rate is below the threshold.  The
 * first task after 1 s makes it half-open.  Each time a half-open breaker opens again, it stays
 * open twice as long, up to 5 min.  A half-open breaker allows one task at a time, the probe.  A
 * probe that was not reported within 60 s no longer blocks the next one.  Three successful probes
 * close the breaker, and one failure opens it again.  The current time is an argument, so every
 * transition can be tested deterministically.  (M. Nygard, "Release It!", circuit breaker.)
 */
#ifndef HY_BREAKER_H
#define HY_BREAKER_H

#include <stdbool.h>
#include <stdint.h>

#define HY_BREAKER_WINDOW 100
#define HY_BREAKER_MIN_SAMPLES 20
#define HY_BREAKER_STREAK 3
#define HY_BREAKER_PROBES 3
#define HY_BREAKER_FIRST_NS UINT64_C(1000000000)
#define HY_BREAKER_LAST_NS UINT64_C(300000000000)
#define HY_BREAKER_PROBE_TIMEOUT_NS UINT64_C(60000000000)

typedef enum HyBreakerState
{
	HY_BREAKER_CLOSED = 0,
	HY_BREAKER_OPEN,
	HY_BREAKER_HALF_OPEN
} HyBreakerState;

typedef struct HyBreaker
{
	HyBreakerState state;
	uint64_t outcomes[2]; /* a ring of 100 bits; bit i: attempt i of the window succeeded */
	int32_t count;        /* attempts in the window */
	int32_t next;
	int32_t successes; /* successes in the window */
	int32_t streak;    /* failures in a row */
	int32_t probes;    /* successes while half-open */
	bool probing;      /* a probe is under way */
	uint64_t probe_since_ns;
	uint64_t open_until_ns;
	uint64_t open_for_ns;
	int64_t opened; /* times it opened */
} HyBreaker;

/* hy_breaker_init: make the breaker closed and its window empty. */
extern void hy_breaker_init(HyBreaker *breaker);

/*
 * hy_breaker_allow: return whether a task may go to the device now.  *probe is set if the task is
 * the probe of a half-open breaker.  The caller must then report its outcome (hy_breaker_record or
 * hy_breaker_abandon).
 */
extern bool hy_breaker_allow(HyBreaker *breaker, uint64_t now_ns, bool *probe);

/*
 * hy_breaker_would_allow: return what hy_breaker_allow would return, but leave the breaker
 * unchanged and start no probe.
 */
extern bool hy_breaker_would_allow(const HyBreaker *breaker, uint64_t now_ns);

/* hy_breaker_record: record the outcome of an attempt; return true when the state changed. */
extern bool hy_breaker_record(HyBreaker *breaker, uint64_t now_ns, bool success, double threshold);

/* hy_breaker_abandon: end a probe that shows nothing about the device (canceled, out of memory). */
extern void hy_breaker_abandon(HyBreaker *breaker);

/* hy_breaker_rate: return the success rate over the window; 1 without attempts. */
extern double hy_breaker_rate(const HyBreaker *breaker);

/* hy_breaker_state_name: return 'closed', 'open' or 'half-open'. */
extern const char *hy_breaker_state_name(HyBreakerState state);

#endif
