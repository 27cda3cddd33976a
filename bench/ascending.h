/*
 * ascending.h
 *		For qsort: doubles, the smallest first.
 */
#ifndef ASCENDING_H
#define ASCENDING_H

static int
ascending(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

#endif
