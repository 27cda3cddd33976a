/*
 * search_team.h
 *		Searches an index by codes for many queries, in several processes.
 */
#ifndef HYBRID_SEARCH_TEAM_H
#define HYBRID_SEARCH_TEAM_H

#include "postgres.h"

#include "knn/candidates.h"

/* HybridTakeFound: receives the entries that were found for a query. */
typedef void (*HybridTakeFound)(void *arg, int query, const HybridFoundRow *found, int count);

/*
 * hybrid_search_team: find the `many` nearest entries of each query, as HybridSearchMethods does, and pass
 * them to `take`, query by query. Uses parallel workers if there are enough queries. Reports progress.
 */
extern void hybrid_search_team(const HybridCandidates *candidates, const HybridQueries *queries,
                               int many, HybridTakeFound take, void *arg);

#endif
