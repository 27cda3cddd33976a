/*
 * gate.c
 *		How VACUUM shuts the gate, and how long it may make other sessions wait.
 */
#include "postgres.h"

#include "storage/proc.h"

#include "index/tree/gate.h"
#include "index/page/index.h"
#include "index/page/lock.h"

#define LOOKS 32 /* number of checks for waiters per deadlock_timeout */

static double since_asked(const HybridGate *gate);

void
hybrid_gate_shut(HybridGate *gate, Relation index, bool to_the_end)
{
	memset(gate, 0, sizeof(*gate));
	gate->index = index;
	gate->to_the_end = to_the_end;
	/* from now on other sessions queue for the lock, even while this process itself waits for it */
	INSTR_TIME_SET_CURRENT(gate->asked);
	hybrid_lock(index, HYBRID_GATE, ExclusiveLock);
	gate->shut = since_asked(gate);
}

bool
hybrid_gate_waited_too_long(HybridGate *gate)
{
	double now;

	if (gate->to_the_end)
		return false;
	now = since_asked(gate);
	if (now - gate->looked < (double) DeadlockTimeout / LOOKS)
		return false;
	gate->looked = now;
	if (!hybrid_lock_awaited(gate->index, HYBRID_GATE, ExclusiveLock))
		gate->nobody = now;
	return now - gate->nobody > (double) DeadlockTimeout / 2;
}

bool
hybrid_gate_short_enough(double time)
{
	return time < (double) DeadlockTimeout / 4;
}

double
hybrid_gate_open(HybridGate *gate)
{
	double held = since_asked(gate) - gate->shut;

	hybrid_unlock(gate->index, HYBRID_GATE, ExclusiveLock);
	return held;
}

static double
since_asked(const HybridGate *gate)
{
	instr_time now;

	INSTR_TIME_SET_CURRENT(now);
	INSTR_TIME_SUBTRACT(now, gate->asked);
	return INSTR_TIME_GET_MILLISEC(now);
}
