/*
 * query.h
 *		A user's query, whose rows are taken one at a time, as the executor makes them.
 *
 * It runs with the caller's rights and the caller's snapshot, row security and all, and can change
 * nothing.
 */
#ifndef HYBRID_QUERY_H
#define HYBRID_QUERY_H

#include "postgres.h"

#include "executor/spi.h"
#include "executor/tuptable.h"

/* HybridReader: what is done with a query and its rows. */
typedef struct HybridReader
{
	const char *what; /* names the query in errors, e.g. "edges query" */

	/* raises at a query that shall not run, before it does; NULL: any that returns rows will do */
	void (*check)(void *arg, SPIPlanPtr plan);

	/* raises at columns that are not wanted, before the first row */
	void (*columns)(void *arg, TupleDesc columns);

	/*
	 * Takes a row; false: no more are wanted.  The memory context is the row's own, and emptied
	 * after it.
	 */
	bool (*row)(void *arg, TupleTableSlot *slot);

	void *arg;
} HybridReader;

/*
 * hybrid_query_run: plans and runs text, which must be a single query that only reads, and hands its
 * rows to the reader.  What the query holds is given back, and the current memory context is as it
 * was.
 */
extern void hybrid_query_run(const char *text, const HybridReader *reader);

#endif
