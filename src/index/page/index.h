/*
 * index.h
 *		What the files of the access method share: an open index, its tree, the callbacks.
 */
#ifndef HYBRID_INDEX_H
#define HYBRID_INDEX_H

#include "postgres.h"

#include "access/amapi.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "core/batch.h"
#include "index/page/type.h"
#include "server/store.h"

#define HYBRID_DISTANCE_STRATEGY 1 /* the ordering operator */
#define HYBRID_SPHERE_STRATEGY 2   /* within a sphere around a vector, by the same distance */
#define HYBRID_STRATEGIES 2
#define HYBRID_METRIC_PROC 1 /* (internal) returns internal: const HybridOpclass * */

/*
 * HYBRID_GATE: the lock (lock.h) of no page: shared by who adds an entry or splits a list, exclusive by who
 * puts another tree in the place of the one there is.
 */
#define HYBRID_GATE MaxBlockNumber

#define HYBRID_LIST_SIZE 192 /* entries of a leaf before it is split, unless WITH (list_size) */
#define HYBRID_LIST_SIZE_MIN 32
#define HYBRID_LIST_SIZE_MAX 16384
#define HYBRID_INNER_SIZE 512 /* entries of an inner list before it is split */

/* HybridIndex: what never changes while an index has the same file. */
typedef struct HybridIndex
{
	const HybridOpclass *opclass;
	HyMetric metric; /* of the opclass */
	bool lossless;   /* values are stored as they were given */
	bool coded;      /* there are codes and a tree of lists; else one list, searched exactly */
	int list_size;
	uint64 seed;
	HybridLayout layout;
} HybridIndex;

/* HybridTree: what of the meta page changes, as of one moment. */
typedef struct HybridTree
{
	BlockNumber centre;
	HybridLink root;
	int height;
	uint32 leaves;
	int curve_size;
	uint32 curve_leaves;   /* that there were when the curve was measured */
	bool curve_by_queries; /* it was measured on a user's queries, not on rows */
	uint32 regroup_leaves; /* from so many on VACUUM makes another tree */
	bool noting;           /* it is at it: copy_log.h */
	HybridCurvePoint curve[HYBRID_CURVE_POINTS];
} HybridTree;

/* hybrid_regroup_next: how many leaves there will be when the next tree is made after one of so many. */
static inline uint32
hybrid_regroup_next(uint32 leaves)
{
	return (uint32) Min((uint64) leaves * 2, PG_UINT32_MAX);
}

#define HYBRID_STORAGE_UNSET (-1) /* float16, or the only one of a type that is not dense */

/* HybridOptions: WITH (...). */
typedef struct HybridOptions
{
	int32 vl_len_; /* varlena header (do not touch directly!) */
	int storage;   /* HybridStorage, or HYBRID_STORAGE_UNSET */
	int list_size;
} HybridOptions;

/* HybridEntry: a row as the index stores it. */
typedef struct HybridEntry
{
	ItemPointerData tid;
	HybridStored stored;
	void *vector; /* layout.stride bytes at most */
} HybridEntry;

/* meta.c */

/*
 * hybrid_index_open: reads and checks the meta page once a relcache entry; raises on damage.  A
 * copy: what the relcache keeps goes whenever an invalidation arrives, as it may on any detoasting.
 */
extern HybridIndex hybrid_index_open(Relation index);

/* hybrid_index_define: from the column and the options, for a file that is yet to be written. */
extern void hybrid_index_define(Relation index, HybridIndex *definition);

/* hybrid_index_check_options: raises where hybrid_index_define would, with these options; NULL: none. */
extern void hybrid_index_check_options(Relation index, const HybridOptions *options);

/* hybrid_meta_init: a whole meta page, of an index without a root. */
extern void hybrid_meta_init(Page page, const HybridIndex *index);

/* hybrid_tree_read: the tree as it is now. */
extern void hybrid_tree_read(Relation index, HybridTree *tree);

/* HybridMetaChange: of what the meta page says, in a record of its own. */
typedef struct HybridMetaChange
{
	Buffer buffer;
	struct GenericXLogState *record;
} HybridMetaChange;

/*
 * hybrid_meta_begin, hybrid_meta_end: around such a change; the meta page is locked between the two, as
 * the last of all pages.
 */
extern HybridMeta *hybrid_meta_begin(Relation index, HybridMetaChange *change);
extern void hybrid_meta_end(HybridMetaChange *change);

/* hybrid_index_register: set the build callback by which indexes of this access method are known; once, at load. */
extern void hybrid_index_register(ambuild_function build);

/* hybrid_is_our_index: test whether an open relation is an index of this access method. */
extern bool hybrid_is_our_index(Relation relation);

/* hybrid_open_index: for SQL functions; raises unless oid is an index of ours, accessible and valid. */
extern Relation hybrid_open_index(Oid oid, LOCKMODE lock);

/* entry.c */

/*
 * hybrid_entry_form: the entry of a value of the indexed type; entry->vector has layout.stride bytes,
 * allocated by the caller.  false: this value is not indexed (the metric is cosine and it has none).
 * Raises when the dimensions differ from the index's.
 */
extern bool hybrid_entry_form(const HybridIndex *index, Datum datum, const ItemPointerData *tid,
                              HybridEntry *entry);

#endif
