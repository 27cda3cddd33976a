/*
 * priors.h
 *		What a calibration has left in the table hybrid_calibration.
 */
#ifndef HYBRID_PRIORS_H
#define HYBRID_PRIORS_H

#include "postgres.h"

#include "dispatch/calibration.h"

/* Columns of hybrid_calibration, and of what hybrid_run_calibration() returns up to measured_at. */
enum
{
	HYBRID_PRIOR_BACKEND,
	HYBRID_PRIOR_NUMBER,
	HYBRID_PRIOR_NAME,
	HYBRID_PRIOR_ARCHITECTURE,
	HYBRID_PRIOR_OPERATION,
	HYBRID_PRIOR_DTYPE,
	HYBRID_PRIOR_METRIC,
	HYBRID_PRIOR_DIMS,
	HYBRID_PRIOR_SAMPLES,
	HYBRID_PRIOR_LAUNCH,
	HYBRID_PRIOR_WORK,
	HYBRID_PRIOR_BYTE,
	HYBRID_PRIOR_SERIAL,
	HYBRID_PRIOR_STATE,
	HYBRID_PRIOR_MEASURED_AT,
	HYBRID_PRIOR_COLUMNS
};

/* hybrid_prior_state: the column state: the model's numbers, then four of each size. */
extern Datum hybrid_prior_state(const HyPrior *prior);

/*
 * hybrid_load_priors: tells the executor what the table knows of its devices, of kinds of tasks, and
 * of sizes of them, that it has no history of.  False when the table cannot be read now: ask again.
 * Waits for no lock; where another session holds one, the table is asked for once a second at most.
 */
extern bool hybrid_load_priors(HyExecutor *executor);

/*
 * hybrid_read_priors: all that the table knows of the executor's devices, by its numbers of them, to
 * take.  False when it cannot be read now, or only after waiting for a lock.
 */
extern bool hybrid_read_priors(const HyExecutor *executor,
                               void (*take)(void *arg, const HyPrior *prior), void *arg);

#endif
