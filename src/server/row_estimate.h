/*
 * row_estimate.h
 *		Estimates for the planner from arguments that are arrays.
 */
#ifndef HYBRID_ROW_ESTIMATE_H
#define HYBRID_ROW_ESTIMATE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#define HYBRID_QUERY_VECTORS 32 /* number of vectors of a query for MaxSim, if it is not known */

/*
 * hybrid_query_vectors: return the number of vectors of the query among the arguments of MaxSim. It is known if the
 * value of an argument can be estimated.
 */
extern double hybrid_query_vectors(PlannerInfo *root, const List *arguments);

#endif
