/*
 * regroup.h
 *		Rebuilds all leaves of an index that has grown or shrunk much, from all its rows at once.
 */
#ifndef HYBRID_INDEX_REGROUP_H
#define HYBRID_INDEX_REGROUP_H

#include <math.h>

#include "lib/integerset.h"
#include "utils/hsearch.h"
#include "utils/tuplesort.h"

#include "index/build/build.h"
#include "index/build/parent_entries.h"
#include "index/write/copy.h"
#include "index/write/extent.h"
#include "index/tree/gate.h"
#include "index/vacuum/merge.h"
#include "index/tree/copy_log.h"
#include "index/tree/walk.h"

#define HYBRID_REGROUP_TRIES 3 /* maximum number of attempts that shut the gate */
/*
 * maximum number of rounds that copy new rows in one call of catch_up; it is called at most twice
 * before the gate is shut
 */
#define HYBRID_REGROUP_ROUNDS 8
/* maximum number of new rows that are copied while the gate is shut */
#define HYBRID_REGROUP_FEW 256
#define HYBRID_REGROUP_COPIED (1 + 2 * HYBRID_REGROUP_ROUNDS * HYBRID_REGROUP_TRIES)
#define HYBRID_REGROUP_GIVEN_UP (-1)

/* HybridRegroup: the new lists of one level, and a record of the rows copied into them. */
typedef struct HybridRegroup
{
	Relation index;
	const HybridIndex *open;
	HybridFrame frame;
	HybridExtentSink sink;
	MemoryContext context;    /* context of the following fields */
	HybridParentEntries made; /* the new lists, which no inner list names yet */
	int leaves;               /* number of leaves below the new inner lists */
	/* keys of the rows that were copied, one set per round */
	IntegerSet *copied[HYBRID_REGROUP_COPIED];
	int rounds;
	int64 copied_count;
	int64 sample_most;      /* maximum number of rows of a sample */
	Size memory;            /* bytes for the work in progress, in addition to the new lists */
	HTAB *seen;             /* leaves that were copied, with their change counters at that time */
	HybridCopyLog copy_log; /* log of leaves that may have changed since they were copied */
	/*
	 * sample rows that are queries of the recall measurement, and do not contribute to centroids; NULL
	 * if none are needed
	 */
	HybridQueries *queries;
} HybridRegroup;

/* regroup_rows.c */

/*
 * hybrid_regroup_rows: copy the rows of these leaves that were not copied yet to new leaves, which no
 * inner list names. Returns the number of rows copied. These may include rows that are inserted during
 * the call. The caller took regroup->copy_log before it read the names of the leaves. This function
 * clears regroup->copy_log. `gate` is NULL while the gate is open. With the gate shut, the round runs
 * without vacuum delay, and is the last round unless it gives up. It gives up if other sessions wait
 * too long or if too many rows were added. (In the last attempt it never does.) If it gives up, it
 * copies nothing and returns HYBRID_REGROUP_GIVEN_UP.
 */
extern int64
hybrid_regroup_rows(HybridRegroup *regroup, const HybridLevel *leaves, HybridGate *gate);

/* hybrid_regroup_lists: return the number of lists expected for this number of rows. */
static inline double
hybrid_regroup_lists(const HybridIndex *open, double rows)
{
	return ceil(rows * HYBRID_LISTS_A_LIST / open->list_size);
}

/* regroup_seen.c */

/*
 * hybrid_regroup_may_differ: test whether a leaf was not copied yet, or may have new rows according to
 * the log. Reads no page. hybrid_regroup_differs: test whether the leaf has changed since it was
 * copied, by reading its head.
 */
extern bool hybrid_regroup_may_differ(const HybridRegroup *regroup, const HybridLink *list);
extern bool hybrid_regroup_differs(const HybridRegroup *regroup, const HybridLink *list);

/*
 * hybrid_regroup_record_leaf: record that a leaf's rows were copied when its change counter was
 * `changes`.
 */
extern void
hybrid_regroup_record_leaf(HybridRegroup *regroup, const HybridLink *list, uint64 changes);

/*
 * hybrid_regroup_key: return the key by which a copied row is recognized. The key is usually its heap
 * position, and `stored` and `vector` are not read. In an index on arrays, the key is a hash of the
 * position and the stored vector.
 */
extern int64 hybrid_regroup_key(const HybridIndex *open, const ItemPointerData *tid,
                                const HybridStored *stored, const void *vector);

/* hybrid_regroup_was_copied: test whether a row was copied in an earlier round. */
extern bool hybrid_regroup_was_copied(const HybridRegroup *regroup, int64 key);

/*
 * hybrid_regroup_record_rows: record that the rows with these keys were copied. Sorts the keys and ends
 * the sort. Heap positions in sorted order take one or two bytes each.
 */
extern void hybrid_regroup_record_rows(HybridRegroup *regroup, Tuplesortstate *keys);

/* regroup.c */

/*
 * hybrid_regroup_due: test whether the index has twice as many leaves as when all were last built
 * together, or has lost a third of them. After an attempt that failed, for example because of a cancel
 * or a full disk, the index is due again with a quarter more leaves. If memory or temp_file_limit did
 * not suffice for an attempt, the index is due at each VACUUM. A single list is never due.
 */
extern bool hybrid_regroup_due(Relation index, const HybridIndex *open);

/*
 * hybrid_regroup: rebuild all leaves of an index with `rows` rows, and the lists above them. Returns
 * whether the leaves were rebuilt. If memory or temp_file_limit is too small, they are not rebuilt, and
 * a message says so. `queries` is empty on input. On success it has rows with which to measure the new
 * recall curve, in the current memory context. (In an index without a curve, it has none.) The caller
 * holds the meta page's lock in share mode. The lock is released and taken again from time to time.
 */
extern bool hybrid_regroup(Relation index, const HybridIndex *open, double rows, int message_level,
                           HybridQueries *queries);

#endif
