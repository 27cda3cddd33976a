/*
 * query.c
 *		A user's query as a read-only cursor: see query.h.
 *
 * read_only makes SPI use the active snapshot as it is, and refuse whatever is not a plain read
 * (a data-modifying WITH, FOR UPDATE).
 */
#include "postgres.h"

#include "miscadmin.h"
#include "server/query.h"

void
hybrid_query_open(HybridQuery *query, const char *text, const char *what)
{
	MemoryContext context = CurrentMemoryContext;

	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	/* SPI made its own context current, which goes with the connection */
	MemoryContextSwitchTo(context);
	query->plan = SPI_prepare(text, 0, NULL);
	if (query->plan == NULL)
		elog(ERROR, "could not prepare the %s: %s", what, SPI_result_code_string(SPI_result));
	if (!SPI_is_cursor_plan(query->plan))
		ereport(ERROR, (errcode(ERRCODE_INVALID_CURSOR_DEFINITION),
		                errmsg("the %s must be a single query that returns rows", what)));
	query->portal = SPI_cursor_open(NULL, query->plan, NULL, NULL, true);
}

uint64
hybrid_query_fetch(HybridQuery *query, long count)
{
	CHECK_FOR_INTERRUPTS();
	SPI_freetuptable(SPI_tuptable);
	SPI_cursor_fetch(query->portal, true, count);
	return SPI_processed;
}

void
hybrid_query_close(HybridQuery *query)
{
	SPI_freetuptable(SPI_tuptable);
	SPI_cursor_close(query->portal);
	SPI_freeplan(query->plan);
	SPI_finish();
}
