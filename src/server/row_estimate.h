/*
 * row_estimate.h
 *		Estimates for the planner from arguments that are arrays.
 */
#ifndef HYBRID_ROW_ESTIMATE_H
#define HYBRID_ROW_ESTIMATE_H

#include "postgres.h"

#include "nodes/pathnodes.h"

#define HYBRID_QUERY_VECTORS 32 /* number of vectors of a MaxSim query, if not known */

/*
 * hybrid_query_vectors: return the number of vectors of the query of a MaxSim call, from the first argument whose
 * number of elements can be estimated, or HYBRID_QUERY_VECTORS if there is none.
 */
extern double hybrid_query_vectors(PlannerInfo *root, const List *arguments);

#endif
