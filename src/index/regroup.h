/*
 * regroup.h
 *		Leaves of an index that has grown are made anew, from all their rows at once.
 */
#ifndef HYBRID_INDEX_REGROUP_H
#define HYBRID_INDEX_REGROUP_H

#include "utils/hsearch.h"

#include "index/copy.h"
#include "index/walk.h"

/* HybridRegroup: new lists of a level. */
typedef struct HybridRegroup
{
	Relation index;
	const HybridIndex *open;
	HybridFrame frame;
	MemoryContext context; /* of what follows */
	HybridContents made;   /* new lists, as entries of the one above */
	int made_allocated;
	int leaves;    /* below new inner lists */
	int64 *copied; /* positions of the rows that they have, sorted */
	int64 copied_count;
	int64 copied_allocated;
	HTAB *seen; /* leaves as they were when their rows were copied */
} HybridRegroup;

/* regroup_rows.c */

/*
 * hybrid_regroup_rows: rows of these leaves that were not copied yet go to new leaves, which nobody names;
 * returns how many they were.  Rows that come meanwhile may be among them.  hurry: without naps.
 */
extern int64 hybrid_regroup_rows(HybridRegroup *regroup, const HybridLevel *leaves, bool hurry);

/* hybrid_regroup_keep: a new list becomes one of those made. */
extern void hybrid_regroup_keep(HybridRegroup *regroup, const HybridCopy *copy);

/* regroup.c */

/*
 * hybrid_regroup: all leaves of an index with so many rows are made anew, and the lists above them;
 * returns whether they were: not where memory, or temp_file_limit, does not suffice, which a message says.  The caller holds the meta page's page
 * lock, shared, which is given up in the end.
 */
extern bool hybrid_regroup(Relation index, const HybridIndex *open, double rows, int message_level);

#endif
