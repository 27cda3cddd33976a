/*
 * spread_sets.h
 *		Spreads activation from sets of seeds, and ranks the nodes that each set reaches.
 */
#ifndef HYBRID_GRAPH_SPREAD_SETS_H
#define HYBRID_GRAPH_SPREAD_SETS_H

#include "postgres.h"

#include "core/spread.h"
#include "graph/ranking.h"
#include "graph/seeds.h"

/* HybridSpreadRow: a row of the answer. */
typedef struct HybridSpreadRow
{
	int64 set;
	int64 id;
	double activation;
	int32 hop;
	int64 via; /* number of the node that sent this node the most activation; -1: none */
} HybridSpreadRow;

/* HybridSpreadSets: what to spread, and which rows are wanted. */
typedef struct HybridSpreadSets
{
	HybridCall *call;      /* its graph is open */
	HySpreadParams params; /* hybrid_spread_sets sets its field hub */
	double hub;            /* hub exponent */
	const HybridSeed *seeds;
	int seed_count;
	int64 k; /* maximum number of rows for each set */
	bool normalized;
	bool unknown; /* whether seeds that are not in the graph are wanted */
	void (*take)(void *arg, const HybridSpreadRow *row);
	void *arg;
} HybridSpreadSets;

/* hybrid_spread_sets: spread from each set, and pass its rows to `take`, by descending activation, then by id. */
extern void hybrid_spread_sets(HybridSpreadSets *sets);

#endif
