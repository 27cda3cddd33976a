/*
 * progress.h
 *		Reports the progress of a long call by NOTICE messages: the first after 5 seconds, the
 *		next whenever the elapsed time has doubled.
 */
#ifndef HYBRID_PROGRESS_H
#define HYBRID_PROGRESS_H

#include "postgres.h"

typedef struct HybridProgress
{
	const char *what; /* function name, e.g. "hybrid_knn" */
	uint64 began_ns;
	uint64 next_ns; /* time of the next report */
	double from;    /* from, to: part of the whole call that is in progress */
	double to;
	double share; /* share of the whole call that is done; never decreases */
} HybridProgress;

/*
 * hybrid_progress_begin: start the clock. `what` is not copied and must live as long as progress.
 */
extern void hybrid_progress_begin(HybridProgress *progress, const char *what);

/*
 * hybrid_progress_range: begin a part of the call. The part goes from the share `from` of the whole
 * call to the share `to`.
 */
extern void hybrid_progress_range(HybridProgress *progress, double from, double to);

/*
 * hybrid_progress_update: record the share of the current part that is done; < 0 means unknown.
 * Reports progress if a report is due.
 */
extern void hybrid_progress_update(HybridProgress *progress, double share);

#endif
