/*
 * index.h
 *		What the files of the access method share: an open index, its tree, the callbacks.
 */
#ifndef HYBRID_INDEX_H
#define HYBRID_INDEX_H

#include "postgres.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "nodes/tidbitmap.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "core/batch.h"
#include "index/type.h"
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
	bool noting;           /* it is at it: notes.h */
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

/* bound.c */

/* hybrid_probe_init: x stays the caller's. */
extern void hybrid_probe_init(HybridProbe *probe, HyMetric metric, const float *x, int dims);

/*
 * hybrid_lower_bound: at most the distance the operator returns for the vector that was given,
 * from the canonical distance of the stored one, its canonical squared norm and its residual.
 * The distance itself when the residual is 0.
 */
extern double
hybrid_lower_bound(const HybridProbe *query, double distance, float norm, float residual);

/* hybrid_upper_bound: the same from the other side: at least the distance the operator returns. */
extern double
hybrid_upper_bound(const HybridProbe *query, double distance, float norm, float residual);

/*
 * hybrid_loss_cover: makes *loss such that the bound from its norm and residual is at most that from
 * these, whatever the query and the distance.
 */
extern void hybrid_loss_cover(HyMetric metric, HybridLoss *loss, float norm, float residual);

/* hybrid_lost: what orders rows by how loose the bound for them is. */
extern double hybrid_lost(HyMetric metric, float norm, float residual);

/* read.c */

/* hybrid_store_methods: how other features read stores. */
extern const HybridStoreMethods hybrid_store_methods;

/* The callbacks of IndexAmRoutine. */
extern IndexBuildResult *hybridbuild(Relation heap, Relation index, IndexInfo *info);
extern void hybridbuildempty(Relation index);
extern char *hybridbuildphasename(int64 phase);
extern bool hybridinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid,
                         Relation heap, IndexUniqueCheck unique, bool unchanged, IndexInfo *info);
extern IndexBulkDeleteResult *hybridbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                                               IndexBulkDeleteCallback callback, void *state);
extern IndexBulkDeleteResult *
hybridvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);
extern void
hybridcostestimate(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup,
                   Cost *total, Selectivity *selectivity, double *correlation, double *pages);
extern bytea *hybridoptions(Datum reloptions, bool validate);
extern bool hybridproperty(Oid index, int attno, IndexAMProperty property, const char *name,
                           bool *result, bool *isnull);
extern bool hybridvalidate(Oid opclass);
extern IndexScanDesc hybridbeginscan(Relation index, int keys, int orderbys);
extern void
hybridrescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys);
extern bool hybridgettuple(IndexScanDesc scan, ScanDirection direction);
extern int64 hybridgetbitmap(IndexScanDesc scan, TIDBitmap *bitmap);
extern void hybridendscan(IndexScanDesc scan);

/* Rows of the first pass of a scan that does not know how many will be wanted, and of others. */
#define HYBRID_FIRST_CANDIDATES 512 /* over all vectors */
#define HYBRID_FIRST_NEAREST 12     /* by codes */
#define HYBRID_BESIDE                                                                              \
	2 /* more than wanted: by which the executor knows that it has them in order */

/* hybrid_scan_candidates: how many rows pass number `pass` keeps, from 0, if the first keeps `first`. */
extern int hybrid_scan_candidates(int pass, int first);

#endif
