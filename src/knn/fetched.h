/*
 * fetched.h
 *		Reports that a call fetches many rows from a foreign server.
 */
#ifndef HYBRID_KNN_FETCHED_H
#define HYBRID_KNN_FETCHED_H

#include "postgres.h"

#include "executor/spi.h"

/* HybridFetched: counts the rows of a relation that a query fetches from a foreign server. */
typedef struct HybridFetched
{
	const char *function; /* name of the SQL function; NULL: report nothing */
	const char *relation;
	const char *column;
	bool counts; /* whether the plan is a foreign scan, so that each row counts */
	int64 rows;  /* number of rows so far, if counts is true */
} HybridFetched;

/* hybrid_fetched_expect: raise a NOTICE if the plan is expected to fetch many rows. Sets counts. */
extern void hybrid_fetched_expect(HybridFetched *fetched, SPIPlanPtr plan);

/*
 * hybrid_fetched_row: count a row, and raise the NOTICE when the rows have become many. This serves foreign
 * tables that were never analyzed, because their estimates are too low.
 */
extern void hybrid_fetched_row(HybridFetched *fetched);

#endif
