/*
 * rounds.h
 *		What is measured in rounds: the time each takes, and the median of them.
 */
#ifndef ROUNDS_H
#define ROUNDS_H

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ascending.h"

#define MAX_ROUNDS 101
#define MOST_VALUES 400 /* that a median is taken of */

/* now: seconds of processor time: other work on the machine then disturbs least. */
static inline double
now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

/* median: of n values, 1 .. MOST_VALUES. */
static inline double
median(const double *values, int n)
{
	double sorted[MOST_VALUES];

	memcpy(sorted, values, (size_t) n * sizeof(double));
	qsort(sorted, (size_t) n, sizeof(double), ascending);
	return sorted[n / 2];
}

#endif
