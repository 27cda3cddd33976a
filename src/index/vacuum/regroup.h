/*
 * regroup.h
 *		Leaves of an index that has grown are made anew, from all their rows at once.
 */
#ifndef HYBRID_INDEX_REGROUP_H
#define HYBRID_INDEX_REGROUP_H

#include <math.h>

#include "lib/integerset.h"
#include "utils/hsearch.h"
#include "utils/tuplesort.h"

#include "index/build/build.h"
#include "index/write/copy.h"
#include "index/write/extent.h"
#include "index/tree/gate.h"
#include "index/vacuum/merge.h"
#include "index/tree/copy_log.h"
#include "index/tree/walk.h"

#define HYBRID_REGROUP_TRIES 3  /* behind the gate */
#define HYBRID_REGROUP_ROUNDS 8 /* of copying what came in meanwhile, before each, at most */
#define HYBRID_REGROUP_FEW 256  /* rows that came in meanwhile may be copied behind the gate */
#define HYBRID_REGROUP_COPIED (1 + 2 * HYBRID_REGROUP_ROUNDS * HYBRID_REGROUP_TRIES)
#define HYBRID_REGROUP_GIVEN_UP (-1)

/* HybridRegroup: new lists of a level. */
typedef struct HybridRegroup
{
	Relation index;
	const HybridIndex *open;
	HybridFrame frame;
	HybridExtentSink sink;
	MemoryContext context; /* of what follows */
	HybridContents made;   /* new lists, as entries of the one above; without places */
	int made_allocated;
	int leaves;                                /* below new inner lists */
	IntegerSet *copied[HYBRID_REGROUP_COPIED]; /* positions of the rows that they have, by rounds */
	int rounds;
	int64 copied_count;
	int64 sample_most;      /* rows of a sample */
	Size memory;            /* bytes for what is under way beside new lists */
	HTAB *seen;             /* leaves as they were when their rows were copied */
	HybridNotes notes;      /* of leaves that may have changed since */
	HybridQueries *queries; /* rows that have no part in placing leaves; NULL: none are wanted */
} HybridRegroup;

/* regroup_rows.c */

/*
 * hybrid_regroup_rows: rows of these leaves that were not copied yet go to new leaves, which nobody names;
 * returns how many they were.  Rows that come meanwhile may be among them.  regroup->notes were taken before the
 * names of the leaves were read, and are done with then.  gate: shut, if not NULL: it is the last time, and without
 * naps; or HYBRID_REGROUP_GIVEN_UP, and nothing was copied.
 */
extern int64
hybrid_regroup_rows(HybridRegroup *regroup, const HybridLevel *leaves, HybridGate *gate);

/* hybrid_regroup_lists: about how many lists rows get. */
static inline double
hybrid_regroup_lists(const HybridIndex *open, double rows)
{
	return ceil(rows * HYBRID_LISTS_A_LIST / open->list_size);
}

/* hybrid_regroup_keep: a new list becomes one of those made. */
extern void hybrid_regroup_keep(HybridRegroup *regroup, const HybridCopy *copy);

/* regroup_seen.c */

/*
 * hybrid_regroup_may_differ: whether something may have come into a leaf since its rows were copied: nothing is
 * read for that; hybrid_regroup_differs: whether something has.
 */
extern bool hybrid_regroup_may_differ(const HybridRegroup *regroup, const HybridLink *list);
extern bool hybrid_regroup_differs(const HybridRegroup *regroup, const HybridLink *list);

/* hybrid_regroup_note_seen: the rows that a leaf had when its counter of changes was this are copied. */
extern void
hybrid_regroup_note_seen(HybridRegroup *regroup, const HybridLink *list, uint64 changes);

/* hybrid_regroup_was_copied: whether a row was, in an earlier round. */
extern bool hybrid_regroup_was_copied(const HybridRegroup *regroup, int64 position);

/*
 * hybrid_regroup_note_rows: so were the rows at these positions, which are not sorted yet; ends the sort.  In order
 * they take a byte or two each.
 */
extern void hybrid_regroup_note_rows(HybridRegroup *regroup, Tuplesortstate *positions);

/* regroup.c */

/*
 * hybrid_regroup_due: whether the index has twice as many leaves as when all were made together, or a third
 * of them is gone; or where that failed since, as by cancel or on a full disk, a quarter more than then.
 */
extern bool hybrid_regroup_due(Relation index, const HybridIndex *open);

/*
 * hybrid_regroup: all leaves of an index with so many rows are made anew, and the lists above them;
 * returns whether they were: not where memory, or temp_file_limit, does not suffice, which a message says.  Then
 * queries, which come empty, are rows that the recall of what was made is to be measured by, in the current memory
 * context.  The caller holds the meta page's lock, shared, which is given up now and then, and held again at the end.
 */
extern bool hybrid_regroup(Relation index, const HybridIndex *open, double rows, int message_level,
                           HybridQueries *queries);

#endif
