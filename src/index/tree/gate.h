/*
 * gate.h
 *		How VACUUM shuts the gate, and how long it may make other sessions wait.
 *
 * The gate is a heavyweight lock (HYBRID_GATE). Backends hold it in share mode while they change lists.
 * VACUUM shuts the gate: it takes the lock exclusively. A backend that waits for a lock longer than
 * deadlock_timeout cancels the autovacuum that holds the lock. VACUUM therefore opens the gate in time, if
 * it can, and repeats the work later.
 */
#ifndef HYBRID_INDEX_GATE_H
#define HYBRID_INDEX_GATE_H

#include "portability/instr_time.h"
#include "utils/relcache.h"

/*
 * HybridGate: state of the gate while it is shut. Times are in milliseconds since the lock was
 * requested.
 */
typedef struct HybridGate
{
	Relation index;
	bool to_the_end;  /* keep the gate shut even if other sessions wait */
	instr_time asked; /* when the lock was requested */
	double shut;      /* time at which the lock was obtained */
	double looked;    /* time of the last check for waiters */
	double nobody;    /* time of the last check that found no waiter */
} HybridGate;

/* hybrid_gate_shut: shut the gate. With to_the_end, the gate stays shut until the work is done. */
extern void hybrid_gate_shut(HybridGate *gate, Relation index, bool to_the_end);

/*
 * hybrid_gate_waited_too_long: test whether other sessions may have waited for half of deadlock_timeout.
 * If so, the caller must open the gate. Always false with to_the_end.
 */
extern bool hybrid_gate_waited_too_long(HybridGate *gate);

/*
 * hybrid_gate_short_enough: test whether other sessions may be kept waiting for about `time`
 * milliseconds, which must be less than a quarter of deadlock_timeout.
 */
extern bool hybrid_gate_short_enough(double time);

/* hybrid_gate_open: open the gate. Returns the number of milliseconds for which the gate was shut. */
extern double hybrid_gate_open(HybridGate *gate);

#endif
