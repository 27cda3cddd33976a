/*
 * gate.h
 *		The gate, shut by VACUUM, and who waits at it.
 *
 * Who waits for a lock for longer than deadlock_timeout cancels an autovacuum that has it.  So what is done behind
 * the gate is given up in time, as long as it may be, and done again later.
 */
#ifndef HYBRID_INDEX_GATE_H
#define HYBRID_INDEX_GATE_H

#include "portability/instr_time.h"
#include "utils/relcache.h"

/* HybridGate: while it is shut; times are in milliseconds since it was asked for. */
typedef struct HybridGate
{
	Relation index;
	bool to_the_end; /* whoever waits */
	instr_time asked;
	double shut;
	double looked; /* when it was last seen whether somebody waits */
	double nobody; /* when it was last seen that nobody does */
} HybridGate;

/* hybrid_gate_shut: to_the_end: until the work is done. */
extern void hybrid_gate_shut(HybridGate *gate, Relation index, bool to_the_end);

/* hybrid_gate_give_up: whether others have waited for half of deadlock_timeout. */
extern bool hybrid_gate_give_up(HybridGate *gate);

/* hybrid_gate_bearable: whether others may be kept waiting for so many milliseconds, about. */
extern bool hybrid_gate_bearable(double time);

/* hybrid_gate_open: returns for how long it was shut. */
extern double hybrid_gate_open(HybridGate *gate);

#endif
