/*
 * query.h
 *		Run a user's query, and take its rows one at a time as the executor produces them.
 *
 * The query runs with the caller's rights, row security and snapshot.  It cannot change anything.
 */
#ifndef HYBRID_QUERY_H
#define HYBRID_QUERY_H

#include "postgres.h"

#include "executor/spi.h"
#include "executor/tuptable.h"
#include "utils/array.h"

/* HybridReader: callbacks for a query and its rows. */
typedef struct HybridReader
{
	const char *what; /* names the query in errors, e.g. "edges query" */

	/*
	 * gets the plan before the query runs, and raises if the query must not run; NULL: any query that
	 * returns rows may run
	 */
	void (*check)(void *arg, SPIPlanPtr plan);

	/* raises, before the first row, if the columns are unsuitable */
	void (*columns)(void *arg, TupleDesc columns);

	/*
	 * Takes a row; returns false to stop the query. The current memory context belongs to the row and is
	 * reset afterwards.
	 */
	bool (*row)(void *arg, TupleTableSlot *slot);

	void *arg;

	const ArrayType *params; /* text[]: the values of $1, $2, ..., each of type text; NULL: none */
} HybridReader;

/*
 * hybrid_query_run: plan and run text, which must be a single query that only reads, and pass its rows to the
 * reader.  Frees everything that the query holds, and leaves the current memory context unchanged.
 */
extern void hybrid_query_run(const char *text, const HybridReader *reader);

#endif
