/*
 * included_quals.h
 *		Conditions on keys and included columns that a scan tests on the words of the index.
 *
 * A word is a 64-bit image of a column's value in the index (included.h). Words "judge" a condition if they can show
 * that a row does not satisfy the condition. They judge these conditions:
 *
 * - comparisons of a column with an expression that has no column of the table, by an operator of the column's
 *   operator family, and = ANY of an array
 * - IS NULL and IS NOT NULL
 * - a boolean column, and its negation
 *
 * Conditions on keys that the planner has made index conditions come as scan keys (hybrid_included_quals_begin).
 * Several values can have the same word, so the executor checks the conditions again. No user-defined operator runs
 * here on the value of a row, because the row may be dead or hidden from the user.
 */
#ifndef HYBRID_INDEX_INCLUDED_QUALS_H
#define HYBRID_INDEX_INCLUDED_QUALS_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/execnodes.h"

#include "core/filter_words.h"
#include "index/page/index.h"

/*
 * hybrid_included_judges: return the number of the key or included column whose words judge this condition, counted
 * from 0, or -1 if words do not judge it. `table` is the number of the table in the range table, or INDEX_VAR if the
 * condition is on the columns of the index.
 */
extern int hybrid_included_judges(const HybridIndex *open, Index table, Node *clause);

/* HybridIncludedQuals: the conditions of a plan node that words judge. */
typedef struct HybridIncludedQuals
{
	int count; /* number of `conditions` */
	HyWordCondition *
		conditions; /* conditions on words for the current query: first those of clauses, then of scan keys */
	bool all; /* words judge all conditions of the node */
	/* what the conditions are computed from */
	const HybridIncluded *columns;
	int keys;  /* number of columns that are keys */
	bool none; /* the words are outdated: judge no scan key */
	ScanState *node;
	struct HybridIncludedClause *clauses;
	int clauses_count;
} HybridIncludedQuals;

/*
 * hybrid_included_quals_new: find the conditions of a plan node that words judge, and make space for the conditions of
 * `keys` scan keys. Memory comes from the current memory context. Returns NULL if words judge no condition of the node
 * and there are no scan keys for key columns. `node` may be NULL.
 */
extern HybridIncludedQuals *
hybrid_included_quals_new(const HybridIndex *open, ScanState *node, int keys);

/*
 * hybrid_included_quals_begin: compute the conditions on words from the current values of parameters and from `count`
 * scan keys. Scan keys on the vector are ignored. Memory comes from the current memory context. Returns false if no row
 * can satisfy the conditions.
 */
extern bool
hybrid_included_quals_begin(HybridIncludedQuals *quals, const ScanKeyData *keys, int count);

#endif
