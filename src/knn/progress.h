/*
 * progress.h
 *		How far a long call is: a NOTICE after 5 seconds, and then each time that twice as many have
 *		passed.
 */
#ifndef HYBRID_PROGRESS_H
#define HYBRID_PROGRESS_H

#include "postgres.h"

typedef struct HybridProgress
{
	const char *what; /* whose progress it is, e.g. "hybrid_knn" */
	uint64 began_ns;
	uint64 next_ns; /* when there is something to say */
	double from;    /* what is done now is this stretch of the whole */
	double to;
	double share; /* of the whole that is done; it never falls */
} HybridProgress;

/* hybrid_progress_begin: what must live as long as the progress. */
extern void hybrid_progress_begin(HybridProgress *progress, const char *what);

/* hybrid_progress_stretch: from here on shares are of the stretch from .. to of the whole. */
extern void hybrid_progress_stretch(HybridProgress *progress, double from, double to);

/* hybrid_progress_tell: share of the stretch is done, < 0: nobody knows; says so when it is time. */
extern void hybrid_progress_tell(HybridProgress *progress, double share);

#endif
