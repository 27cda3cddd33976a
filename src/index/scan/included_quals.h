/*
 * included_quals.h
 *		Conditions on keys and on included columns, which a scan judges by the words of the index.
 *
 * Judged are comparisons of a column with an expression that has no column of the table, by an operator of the
 * column's family (included.h); = ANY of an array; IS NULL and IS NOT NULL; and a boolean column and its negation.
 * The conditions on keys that the planner has made index conditions come as scan keys (hybrid_included_quals_begin).
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
 * hybrid_included_judges: return the number of the column, among those besides the vector, on which words judge a
 * condition on the table that has this number in the range table. The number is INDEX_VAR if the condition is one on
 * the columns of the index. Returns -1 if they do not judge it.
 */
extern int hybrid_included_judges(const HybridIndex *open, Index table, Node *clause);

/* HybridIncludedQuals: the conditions of a plan node that words judge. */
typedef struct HybridIncludedQuals
{
	int count;
	HyWordCondition *
		conditions; /* `count` conditions on words, for the current query: of clauses, then of scan keys */
	bool all; /* words judge all conditions of the node */
	/* how to compute them */
	const HybridIncluded *columns;
	int keys;  /* number of columns that are keys */
	bool none; /* the words are outdated: judge no scan key */
	ScanState *node;
	struct HybridIncludedClause *clauses;
	int clauses_count;
} HybridIncludedQuals;

/*
 * hybrid_included_quals_new: find the conditions of a plan node that words judge, in the current memory context,
 * and make space for those of `keys` scan keys. Returns NULL if there are none. node may be NULL.
 */
extern HybridIncludedQuals *
hybrid_included_quals_new(const HybridIndex *open, ScanState *node, int keys);

/*
 * hybrid_included_quals_begin: compute the conditions on words from the current values of parameters and from the
 * scan keys, of which those on the vector are ignored. Memory comes from the current memory context. Returns false
 * if no row can satisfy them.
 */
extern bool
hybrid_included_quals_begin(HybridIncludedQuals *quals, const ScanKeyData *keys, int count);

#endif
