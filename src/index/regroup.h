/*
 * regroup.h
 *		Leaves of an index that has grown are made anew, from all their rows at once.
 */
#ifndef HYBRID_INDEX_REGROUP_H
#define HYBRID_INDEX_REGROUP_H

#include "lib/integerset.h"
#include "utils/hsearch.h"

#include "index/copy.h"
#include "index/extent.h"
#include "index/walk.h"

#define HYBRID_REGROUP_ROUNDS 8 /* of copying what came in meanwhile, at most */

/* HybridRegroup: new lists of a level. */
typedef struct HybridRegroup
{
	Relation index;
	const HybridIndex *open;
	HybridFrame frame;
	HybridExtentSink sink;
	MemoryContext context; /* of what follows */
	HybridContents made;   /* new lists, as entries of the one above */
	int made_allocated;
	int leaves;                                /* below new inner lists */
	IntegerSet *copied[HYBRID_REGROUP_ROUNDS]; /* positions of the rows that they have, by rounds */
	int rounds;
	int64 copied_count;
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

/* hybrid_regroup_memory: kB that this VACUUM may use. */
extern int hybrid_regroup_memory(void);

/*
 * hybrid_regroup_due: whether the index has twice as many leaves as when all were made together, or a third
 * of them is gone; or where that failed since, as by cancel or on a full disk, a quarter more than then.
 */
extern bool hybrid_regroup_due(Relation index, const HybridIndex *open);

/*
 * hybrid_regroup: all leaves of an index with so many rows are made anew, and the lists above them;
 * returns whether they were: not where memory, or temp_file_limit, does not suffice, which a message says.  The caller holds the meta page's page
 * lock, shared, which is given up in the end.
 */
extern bool hybrid_regroup(Relation index, const HybridIndex *open, double rows, int message_level);

#endif
