/*
 * position.c
 *		The position of a row in its table as one number: see position.h.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "server/position.h"

int
hybrid_compare_positions(const void *a, const void *b)
{
	int64 x = *(const int64 *) a;
	int64 y = *(const int64 *) b;

	CHECK_FOR_INTERRUPTS();
	return x < y ? -1 : x > y;
}
