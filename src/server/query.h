/*
 * query.h
 *		A user's query as a read-only cursor, fetched in batches.
 *
 * It runs with the caller's rights and the caller's snapshot, row security and all, and can change
 * nothing.
 */
#ifndef HYBRID_QUERY_H
#define HYBRID_QUERY_H

#include "postgres.h"

#include "executor/spi.h"

typedef struct HybridQuery
{
	Portal portal;
	SPIPlanPtr plan;
} HybridQuery;

/*
 * hybrid_query_open: plans and opens text, which must be a single query that returns rows; what
 * names it in errors, e.g. "edges query".  Connects to SPI, and leaves the current memory context as
 * it is; that context must live until hybrid_query_close, which makes it current again.
 */
extern void hybrid_query_open(HybridQuery *query, const char *text, const char *what);

/*
 * hybrid_query_fetch: the next rows, at most count, in SPI_tuptable; their number, 0 at the end.
 * Gives back the previous batch.
 */
extern uint64 hybrid_query_fetch(HybridQuery *query, long count);

/* hybrid_query_close: closes the cursor and disconnects from SPI. */
extern void hybrid_query_close(HybridQuery *query);

#endif
