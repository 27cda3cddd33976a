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
	/* arguments 9 to 15 are passed to hybrid_spread, which checks them */
	LAST_ARGUMENT = 15
};

/*
 * hybrid_associate_statement: return the text of the statement. Raises if the relation does not exist, a column
 * is unsuitable, or the metric is unknown. The relation stays locked until the transaction ends.
 */
extern char *hybrid_associate_statement(FunctionCallInfo fcinfo);

#endif
