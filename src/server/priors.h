/*
 * priors.h
 *		The results of a calibration, in the table hybrid_calibration.
 */
#ifndef HYBRID_PRIORS_H
#define HYBRID_PRIORS_H

#include "postgres.h"

#include "dispatch/tools/calibration.h"

/* Columns of hybrid_calibration. hybrid_run_calibration() returns the columns before measured_at. */
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
	HYBRID_PRIOR_THREADS,
	HYBRID_PRIOR_SAMPLES,
	HYBRID_PRIOR_LAUNCH,
	HYBRID_PRIOR_WORK,
	HYBRID_PRIOR_BYTE,
	HYBRID_PRIOR_SERIAL,
	HYBRID_PRIOR_STATE,
	HYBRID_PRIOR_MEASURED_AT,
	HYBRID_PRIOR_COLUMNS
};

/* hybrid_prior_state: make the column `state`: the model's numbers, then four numbers for each size. */
extern Datum hybrid_prior_state(const HyPrior *prior);

/*
 * hybrid_load_priors: pass the table's rows about the executor's devices to the executor. The executor uses
 * them for kinds and sizes of tasks for which it has no history. Returns false if the table cannot be read
 * now; the caller should then try again. Waits for no lock. If another session holds a conflicting lock, the
 * table is tried at most once a second.
 */
extern bool hybrid_load_priors(HyExecutor *executor);

/*
 * hybrid_read_priors: pass every row about one of the executor's devices to `take`, with the executor's number
 * of the device. Returns false if the table cannot be read now. Waits for no lock.
 */
extern bool hybrid_read_priors(const HyExecutor *executor,
                               void (*take)(void *arg, const HyPrior *prior), void *arg);

#endif
