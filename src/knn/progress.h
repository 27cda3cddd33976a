/*
 * progress.h
 *		Reports the progress of a long call: a NOTICE after 5 seconds, and then whenever the
 *		elapsed time has doubled.
 */
#ifndef HYBRID_PROGRESS_H
#define HYBRID_PROGRESS_H

#include "postgres.h"

typedef struct HybridProgress
{
	const char *what; /* function name, e.g. "hybrid_knn" */
	uint64 began_ns;
	uint64 next_ns; /* time of the next report */
	double from;    /* part of the whole call that is in progress */
	double to;
	double share; /* share of the whole call that is done; never decreases */
} HybridProgress;

/* hybrid_progress_begin: start the clock. `what` must live as long as progress. */
extern void hybrid_progress_begin(HybridProgress *progress, const char *what);

/* hybrid_progress_stretch: from now on, shares refer to the part from .. to of the whole call. */
extern void hybrid_progress_stretch(HybridProgress *progress, double from, double to);

/*
 * hybrid_progress_update: record that share of the current part is done, or that the share is unknown
 * (< 0). Reports if it is time.
 */
extern void hybrid_progress_update(HybridProgress *progress, double share);

#endif
