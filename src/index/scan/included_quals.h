/*
 * included_quals.h
 *		Conditions on included columns, which a scan judges by the words of the index.
 *
 * Judged are comparisons of a column with an expression that has no column of the table, by an operator of the
 * column's family (included.h); = ANY of an array; IS NULL and IS NOT NULL; and a boolean column and its negation.
 * A word can be that of several values, so the executor checks the conditions again. No operator of a user runs
 * on the value of a row here, whose row may be dead or hidden from the user.
 */
#ifndef HYBRID_INDEX_INCLUDED_QUALS_H
#define HYBRID_INDEX_INCLUDED_QUALS_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"

#include "core/filter_words.h"
#include "index/page/index.h"

/*
 * hybrid_included_judges: test whether words judge a condition on the table that has this number in the range
 * table.
 */
extern bool hybrid_included_judges(const HybridIndex *open, Index table, Node *clause);

/* HybridIncludedQuals: the conditions of a plan node that words judge. */
typedef struct HybridIncludedQuals
{
	int count;
	HyWordCondition *conditions; /* `count` conditions on words, for the current query */
	bool all;                    /* words judge all conditions of the node */
	/* how to compute them */
	const HybridIncluded *columns;
	IndexScanState *node;
	struct HybridIncludedClause *clauses;
} HybridIncludedQuals;

/*
 * hybrid_included_quals_new: find the conditions of a plan node that words judge, in the current memory context.
 * Returns NULL if there are none. node may be NULL.
 */
extern HybridIncludedQuals *
hybrid_included_quals_new(const HybridIndex *open, IndexScanState *node);

/*
 * hybrid_included_quals_begin: compute the conditions on words from the current values of parameters. Memory
 * comes from the current memory context. Returns false if no row can satisfy them.
 */
extern bool hybrid_included_quals_begin(HybridIncludedQuals *quals);

#endif
