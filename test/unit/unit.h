/*
 * unit.h
 *		The harness of the unit tests: one header, one program a test file.
 *
 *		int
 *		main(void)
 *		{
 *			UNIT_RUN(test_something);
 *			return unit_finish();
 *		}
 *
 * Each UNIT_RUN prints 'ok N - name' or 'not ok N - name', unit_finish prints the plan.  The exit
 * status is 0 when all passed.  A failed check prints where and what, and the test goes on, so
 * that one run shows all that is wrong (of the repeats at one place, only the first few).
 */
#ifndef HY_UNIT_H
#define HY_UNIT_H

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/allocator.h"
#include "core/cancel.h"
#include "core/clock.h"

#define UNIT_UNUSED __attribute__((unused))
#define UNIT_REPORTS_A_TEST 10

static int unit_tests UNIT_UNUSED;
static int unit_failed_tests UNIT_UNUSED;
static int unit_failed_checks UNIT_UNUSED;

/* UNIT_RUN: runs one void function as a test of that name. */
#define UNIT_RUN(function) unit_run(#function, function)

/* CHECK: the condition holds.  CHECK_MSG: with a printf message for when it does not. */
#define CHECK(condition) ((condition) ? (void) 0 : unit_fail(__FILE__, __LINE__, "%s", #condition))
#define CHECK_MSG(condition, ...)                                                                  \
	((condition) ? (void) 0 : unit_fail(__FILE__, __LINE__, __VA_ARGS__))

/* CHECK_INT: two integers are equal.  CHECK_STR: two strings are. */
#define CHECK_INT(actual, expected)                                                                \
	unit_check_int(__FILE__, __LINE__, #actual, (long long) (actual), (long long) (expected))
#define CHECK_STR(actual, expected)                                                                \
	unit_check_str(__FILE__, __LINE__, #actual, (actual), (expected))

/* CHECK_SAME_F32, CHECK_SAME_F64: the same bits, any NaN being equal to any other. */
#define CHECK_SAME_F32(actual, expected)                                                           \
	unit_check_f64(__FILE__, __LINE__, #actual, (double) (actual), (double) (expected))
#define CHECK_SAME_F64(actual, expected)                                                           \
	unit_check_f64(__FILE__, __LINE__, #actual, (actual), (expected))

/* CHECK_NEAR: within tolerance, absolute. */
#define CHECK_NEAR(actual, expected, tolerance)                                                    \
	unit_check_near(__FILE__, __LINE__, #actual, (actual), (expected), (tolerance))

/* unit_share: a long sweep takes one of so many of its combinations: UNIT_SHARE, or 1. */
static UNIT_UNUSED int
unit_share(void)
{
	const char *text = getenv("UNIT_SHARE");
	int share = text != NULL ? atoi(text) : 1;

	return share > 1 ? share : 1;
}

/*
 * unit_repeats: return how often to run a case with other random values: `often`, or a third of it
 * under the address sanitizer, which finds the same errors with fewer values, or one of UNIT_SHARE.
 */
static UNIT_UNUSED int
unit_repeats(int often)
{
	int share = unit_share();

#ifdef __SANITIZE_ADDRESS__
	share = share > 3 ? share : 3;
#endif
	return often > share ? often / share : 1;
}

static UNIT_UNUSED __attribute__((format(printf, 3, 4))) void
unit_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	if (++unit_failed_checks > UNIT_REPORTS_A_TEST)
		return;
	printf("# %s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

static UNIT_UNUSED void
unit_check_int(const char *file, int line, const char *what, long long actual, long long expected)
{
	if (actual != expected)
		unit_fail(file, line, "%s is %lld, expected %lld", what, actual, expected);
}

static UNIT_UNUSED void
unit_check_str(const char *file, int line, const char *what, const char *actual,
               const char *expected)
{
	if (actual == NULL || expected == NULL ? actual != expected : strcmp(actual, expected) != 0)
		unit_fail(file, line, "%s is \"%s\", expected \"%s\"", what, actual ? actual : "(null)",
		          expected ? expected : "(null)");
}

static UNIT_UNUSED bool
unit_same_f64(double a, double b)
{
	return (isnan(a) && isnan(b)) || memcmp(&a, &b, sizeof(a)) == 0;
}

static UNIT_UNUSED void
unit_check_f64(const char *file, int line, const char *what, double actual, double expected)
{
	if (!unit_same_f64(actual, expected))
		unit_fail(file, line, "%s is %a (%.17g), expected %a (%.17g)", what, actual, actual,
		          expected, expected);
}

static UNIT_UNUSED void
unit_check_near(const char *file, int line, const char *what, double actual, double expected,
                double tolerance)
{
	if (!(fabs(actual - expected) <= tolerance))
		unit_fail(file, line, "%s is %.17g, expected %.17g within %g", what, actual, expected,
		          tolerance);
}

static UNIT_UNUSED void
unit_run(const char *name, void (*function)(void))
{
	unit_failed_checks = 0;
	function();
	if (unit_failed_checks > UNIT_REPORTS_A_TEST)
		printf("# %d more\n", unit_failed_checks - UNIT_REPORTS_A_TEST);
	unit_tests++;
	if (unit_failed_checks != 0)
		unit_failed_tests++;
	printf("%s %d - %s\n", unit_failed_checks == 0 ? "ok" : "not ok", unit_tests, name);
	fflush(stdout);
}

static UNIT_UNUSED int
unit_finish(void)
{
	printf("1..%d\n", unit_tests);
	return unit_failed_tests == 0 && unit_tests > 0 ? 0 : 1;
}

/* Random numbers: xorshift64*, the same on every machine. */
typedef struct UnitRandom
{
	uint64_t state; /* not 0 */
} UnitRandom;

static UNIT_UNUSED uint64_t
unit_random(UnitRandom *random)
{
	random->state ^= random->state >> 12;
	random->state ^= random->state << 25;
	random->state ^= random->state >> 27;
	return random->state * UINT64_C(0x2545f4914f6cdd1d);
}

/* unit_random_below: 0 .. n - 1. */
static UNIT_UNUSED uint64_t
unit_random_below(UnitRandom *random, uint64_t n)
{
	return (unit_random(random) >> 11) % n;
}

/* unit_random_unit: uniform in [0, 1). */
static UNIT_UNUSED double
unit_random_unit(UnitRandom *random)
{
	return (double) (unit_random(random) >> 11) * 0x1p-53;
}

/* unit_random_gaussian: as good as of a normal law with mean 0 and deviation 1, and never beyond 6. */
static UNIT_UNUSED double
unit_random_gaussian(UnitRandom *random)
{
	double sum = -6;
	int i;

	for (i = 0; i < 12; i++)
		sum += unit_random_unit(random);
	return sum;
}

/* unit_random_float: uniform in [-1, 1). */
static UNIT_UNUSED float
unit_random_float(UnitRandom *random)
{
	return (float) ((int32_t) (unit_random(random) >> 40) - (1 << 23)) * 0x1p-23f;
}

/*
 * UnitMemory: an allocator over malloc that fails at the fail_at-th call (from 1; 0: never) and
 * counts blocks, so that a leak shows as outstanding != 0.  Every call after a failure succeeds
 * unless keep_failing is set.
 */
typedef struct UnitMemory
{
	HyAllocator allocator;
	int64_t fail_at;
	bool keep_failing;
	int64_t calls;
	int64_t failures;
	int64_t outstanding;
	int64_t peak;
} UnitMemory;

static UNIT_UNUSED void *
unit_memory_alloc(void *arg, size_t size)
{
	UnitMemory *memory = arg;
	void *pointer;

	memory->calls++;
	if (memory->fail_at > 0 && (memory->calls == memory->fail_at ||
	                            (memory->keep_failing && memory->calls > memory->fail_at)))
	{
		memory->failures++;
		return NULL;
	}
	pointer = malloc(size);
	if (pointer == NULL)
		abort();
	/* What is read before it is written shall not happen to be zero. */
	memset(pointer, 0xa5, size);
	if (++memory->outstanding > memory->peak)
		memory->peak = memory->outstanding;
	return pointer;
}

static UNIT_UNUSED void
unit_memory_free(void *arg, void *pointer)
{
	UnitMemory *memory = arg;

	if (pointer != NULL)
		memory->outstanding--;
	free(pointer);
}

/* unit_memory_init: use &memory->allocator; memory must not move while blocks are outstanding. */
static UNIT_UNUSED void
unit_memory_init(UnitMemory *memory, int64_t fail_at)
{
	memset(memory, 0, sizeof(*memory));
	memory->allocator.alloc = unit_memory_alloc;
	memory->allocator.free = unit_memory_free;
	memory->allocator.arg = memory;
	memory->fail_at = fail_at;
}

/* UnitClock: time stands still until somebody waits or skips, or the test adds to time. */
typedef struct UnitClock
{
	HyClock clock;
	uint64_t time;
	int64_t waits;
	int64_t skips;
} UnitClock;

static UNIT_UNUSED uint64_t
unit_clock_now(void *arg)
{
	return ((UnitClock *) arg)->time;
}

static UNIT_UNUSED void
unit_clock_wait(void *arg, uint64_t ns)
{
	UnitClock *clock = arg;

	clock->waits++;
	clock->time += ns > 0 ? ns : 1;
}

static UNIT_UNUSED void
unit_clock_skip(void *arg, int64_t ns)
{
	UnitClock *clock = arg;

	clock->skips++;
	clock->time += (uint64_t) ns;
}

/* unit_clock_init: use &clock->clock; clock must not move. */
static UNIT_UNUSED void
unit_clock_init(UnitClock *clock, uint64_t start)
{
	clock->clock.now = unit_clock_now;
	clock->clock.wait = unit_clock_wait;
	clock->clock.skip = unit_clock_skip;
	clock->clock.arg = clock;
	clock->time = start;
	clock->waits = 0;
	clock->skips = 0;
}

/* UnitCancel: says stop from the cancel_at-th poll on (from 1; 0: never), and counts polls. */
typedef struct UnitCancel
{
	HyCancel cancel;
	int64_t cancel_at;
	int64_t polls;
} UnitCancel;

static UNIT_UNUSED bool
unit_cancel_requested(void *arg)
{
	UnitCancel *cancel = arg;

	cancel->polls++;
	return cancel->cancel_at > 0 && cancel->polls >= cancel->cancel_at;
}

static UNIT_UNUSED void
unit_cancel_init(UnitCancel *cancel, int64_t cancel_at)
{
	cancel->cancel.requested = unit_cancel_requested;
	cancel->cancel.arg = cancel;
	cancel->cancel_at = cancel_at;
	cancel->polls = 0;
}

#endif
