/*
 * associate_statement.h
 *		The statement that hybrid_associate runs.
 */
#ifndef HYBRID_GRAPH_ASSOCIATE_STATEMENT_H
#define HYBRID_GRAPH_ASSOCIATE_STATEMENT_H

#include "postgres.h"
#include "fmgr.h"

/* Argument n is $(n + 1) in the statement. */
enum HybridAssociateArgument
{
	REL_ARGUMENT,
	ID_ARGUMENT,
	COL_ARGUMENT,
	QUERY_ARGUMENT,
	GRAPH_ARGUMENT,
	K_ARGUMENT,
	SEEDS_ARGUMENT,
	WEIGHT_ARGUMENT,
	METRIC_ARGUMENT,
	/* the last of the arguments that are passed to hybrid_spread, which checks them */
	LAST_ARGUMENT = 15
};

/*
 * hybrid_associate_statement: return the text of the statement. Raises on unsuitable columns and on the
 * metric. The relation stays locked until the transaction ends.
 */
extern char *hybrid_associate_statement(FunctionCallInfo fcinfo);

#endif
