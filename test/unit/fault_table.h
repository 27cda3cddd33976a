/*
 * fault_table.h
 *		What each fault must leave behind, under each wish of the user's: the table of the fault matrix.
 *
 * A row is played with tasks of one operation, CALLS of them with the fault on.  Unless it is cold,
 * both sides have run that operation before.
 */
#ifndef FAULT_TABLE_H
#define FAULT_TABLE_H

#include "dispatch/run/dispatcher.h"

#define CALLS 8
#define WARM_UP 4 /* on each side */

#define CUT 1   /* distance and topk, which can be cut into pieces */
#define WHOLE 2 /* spread over one seed set, which cannot */
#define EACH (CUT | WHOLE)

/*
 * Outcome: of the calls while the fault is on.  failures: attempts on the device that ended in the
 * row's status.  given_up: calls that the CPU answered instead, or where the user insists on the
 * device calls that were refused with that status.  kept: calls that were not sent to the device for
 * the reason of the row's then, and refused for it where the user insists.  ANY: one or more.
 */
#define ANY (-1)

typedef struct Outcome
{
	int failures;
	int given_up;
	int kept;
} Outcome;

typedef struct Row
{
	const char *name;
	const char *faults; /* emulated_faults */
	bool cold;
	int ops;
	HyStatus status;  /* that the device's attempts end in */
	HyReason then;    /* of the calls that were not sent there any more */
	bool latched;     /* it is never used again in this process */
	uint64_t back_ns; /* the back-off, after which it is used again at once */
	/* auto and split, where a side is chosen; gpu; prefer_gpu */
	Outcome automatic, split, gpu, prefer_gpu;
} Row;

#define SECOND UINT64_C(1000000000)
#define MEMORY_SECONDS (40 * SECOND) /* until all of a cap is gone, in steps of a second */

/* failures count against the device: three open the breaker */
#define THREE                                                                                      \
	{3, 3, CALLS - 3}, {3, 3, CALLS - 3}, {3, 3, CALLS - 3},                                       \
	{                                                                                              \
		3, 3, CALLS - 3                                                                            \
	}
/* one call fails, the next one is like those before */
#define ONCE                                                                                       \
	{1, 1, 0}, {1, 1, 0}, {1, 1, 0},                                                               \
	{                                                                                              \
		1, 1, 0                                                                                    \
	}
/* one call fails, and there is no device any more */
#define LAST                                                                                       \
	{1, 1, CALLS - 1}, {1, 1, CALLS - 1}, {1, 1, CALLS - 1},                                       \
	{                                                                                              \
		1, 1, CALLS - 1                                                                            \
	}
/* says nothing of the device, which is asked each time */
#define EACH_TIME                                                                                  \
	{CALLS, CALLS, 0}, {CALLS, CALLS, 0}, {CALLS, CALLS, 0},                                       \
	{                                                                                              \
		CALLS, CALLS, 0                                                                            \
	}

static const Row rows[] = {
	/* at call 1, of a device that nobody has used yet */
	{"transient at call 1", "fail_at=1", true, EACH, HY_TRANSIENT, HY_REASON_UNRELIABLE, false,
     SECOND, ONCE},
	{"the same, heard of late", "in=poll,fail_at=1", true, EACH, HY_TRANSIENT, HY_REASON_UNRELIABLE,
     false, SECOND, ONCE},
	{"a sticky error at call 1", "fail_at=1,status=sticky", true, EACH, HY_PROCESS_LOST,
     HY_REASON_NO_DEVICE, true, SECOND, LAST},
	{"a lost device at call 1", "fail_at=1,status=device_gone", true, EACH, HY_DEVICE_GONE,
     HY_REASON_NO_DEVICE, true, SECOND, LAST},
	/* a new context, and nobody has noticed */
	{"a lost context at call 1",
     "fail_at=1,status=context_lost",
     true,
     EACH,
     HY_CONTEXT_LOST,
     HY_REASON_UNRELIABLE,
     false,
     SECOND,
     {1, 0, 0},
     {1, 0, 0},
     {1, 0, 0},
     {1, 0, 0}},
	/* at call 3, of one that is known */
	{"transient at call 3", "fail_at=3", false, EACH, HY_TRANSIENT, HY_REASON_UNRELIABLE, false,
     SECOND, ONCE},
	{"a hang at call 3", "fail_at=3,status=hang", false, EACH, HY_TIMEOUT, HY_REASON_UNRELIABLE,
     false, SECOND, ONCE},
	{"a lost context at call 3",
     "in=poll,fail_at=3,status=context_lost",
     false,
     EACH,
     HY_CONTEXT_LOST,
     HY_REASON_UNRELIABLE,
     false,
     SECOND,
     {1, 0, 0},
     {1, 0, 0},
     {1, 0, 0},
     {1, 0, 0}},
	/* always */
	{"transient", "status=transient", false, EACH, HY_TRANSIENT, HY_REASON_UNRELIABLE, false,
     SECOND, THREE},
	{"hang", "status=hang", false, EACH, HY_TIMEOUT, HY_REASON_UNRELIABLE, false, SECOND, THREE},
	{"timeout", "in=poll,status=timeout", false, EACH, HY_TIMEOUT, HY_REASON_UNRELIABLE, false,
     SECOND, THREE},
	{"invalid", "status=invalid", false, EACH, HY_INVALID, HY_REASON_UNRELIABLE, false, SECOND,
     THREE},
	{"bug", "status=bug", false, EACH, HY_BUG, HY_REASON_UNRELIABLE, false, SECOND, THREE},
	{"a cancel that nobody asked for", "status=cancelled", false, EACH, HY_BUG,
     HY_REASON_UNRELIABLE, false, SECOND, THREE},
	/* the second call has no other context: the breaker would not let it in */
	{"lost contexts",
     "status=context_lost",
     false,
     EACH,
     HY_CONTEXT_LOST,
     HY_REASON_UNRELIABLE,
     false,
     SECOND,
     {3, 2, CALLS - 2},
     {3, 2, CALLS - 2},
     {3, 2, CALLS - 2},
     {3, 2, CALLS - 2}},
	{"busy", "status=busy", false, EACH, HY_BUSY, HY_REASON_NOT_OPEN, false, 0, EACH_TIME},
	{"unsupported", "status=unsupported", false, EACH, HY_UNSUPPORTED, HY_REASON_NOT_OPEN, false, 0,
     EACH_TIME},
	{"a sticky error", "in=poll,status=sticky", false, EACH, HY_PROCESS_LOST, HY_REASON_NO_DEVICE,
     true, SECOND, LAST},
	{"a lost device", "in=poll,status=device_gone", false, EACH, HY_DEVICE_GONE,
     HY_REASON_NO_DEVICE, true, SECOND, LAST},
	/* what is too much goes in pieces, or where it has none to the CPU */
	{"out of memory above 1 KB",
     "above=1k",
     false,
     CUT,
     HY_NOMEM,
     HY_REASON_MEMORY,
     false,
     MEMORY_SECONDS,
     {ANY, 0, 0},
     {ANY, 0, 0},
     {ANY, 0, 0},
     {ANY, 0, 0}},
	{"out of memory above 1 KB", "above=1k", false, WHOLE, HY_NOMEM, HY_REASON_MEMORY, false,
     MEMORY_SECONDS, LAST},
	{"out of memory", "status=nomem", false, WHOLE, HY_NOMEM, HY_REASON_MEMORY, false,
     MEMORY_SECONDS, LAST},
	{"over the quota", "status=quota", false, WHOLE, HY_QUOTA, HY_REASON_MEMORY, false,
     MEMORY_SECONDS, LAST},
	/* opening: who insists tries each time, the others wait */
	{"transient as it opens",
     "in=open",
     true,
     EACH,
     HY_TRANSIENT,
     HY_REASON_NOT_OPEN,
     false,
     2 * SECOND,
     {1, 1, CALLS - 1},
     {1, 1, CALLS - 1},
     {3, 3, CALLS - 3},
     {1, 1, CALLS - 1}},
	{"busy as it opens",
     "in=open,status=busy",
     true,
     EACH,
     HY_BUSY,
     HY_REASON_NOT_OPEN,
     false,
     2 * SECOND,
     {1, 1, CALLS - 1},
     {1, 1, CALLS - 1},
     {CALLS, CALLS, 0},
     {1, 1, CALLS - 1}},
	{"a sticky error as it opens", "in=open,status=sticky", true, EACH, HY_PROCESS_LOST,
     HY_REASON_NO_DEVICE, true, SECOND, LAST},
	{"a lost device as it opens", "in=open,status=device_gone", true, EACH, HY_DEVICE_GONE,
     HY_REASON_NO_DEVICE, true, SECOND, LAST},
};

#define ROWS_OF_TABLE (sizeof(rows) / sizeof(rows[0]))

#endif
