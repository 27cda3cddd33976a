/*
 * index.h
 *		What the files of the access method share: an open index and the callbacks.
 */
#ifndef HYBRID_INDEX_H
#define HYBRID_INDEX_H

#include "postgres.h"

#include "access/amapi.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"
#include "storage/lockdefs.h"
#include "utils/relcache.h"

#include "core/batch.h"
#include "index/page.h"
#include "server/store.h"
#include "types/vector.h"

#define HYBRID_DISTANCE_STRATEGY 1 /* the ordering operator */
#define HYBRID_METRIC_PROC 1       /* (internal) returns internal: const HybridOpclass * */

/* HybridOpclass: what an operator class's support function says of it. */
typedef struct HybridOpclass
{
	HyMetric metric;
} HybridOpclass;

/* HybridIndex: what never changes while an index has the same file. */
typedef struct HybridIndex
{
	HyMetric metric;
	HybridLayout layout;
} HybridIndex;

/* HybridOptions: WITH (...). */
typedef struct HybridOptions
{
	int32 vl_len_; /* varlena header (do not touch directly!) */
	int storage;   /* HyDtype */
} HybridOptions;

/* HybridEntry: a vector as the index stores it. */
typedef struct HybridEntry
{
	HybridSlot slot;
	void *vector; /* layout.stride bytes */
} HybridEntry;

/* meta.c */

/*
 * hybrid_index_open: reads and checks the meta page once a relcache entry; raises on damage.  A
 * copy: what the relcache keeps goes whenever an invalidation arrives, as it may on any detoasting.
 */
extern HybridIndex hybrid_index_open(Relation index);

/* hybrid_index_define: from the column and the options, for a file that is yet to be written. */
extern void hybrid_index_define(Relation index, HybridIndex *definition);

/* hybrid_index_metric: of the index's operator class. */
extern HyMetric hybrid_index_metric(Relation index);

/* hybrid_open_index: for SQL functions; raises unless oid is an index of ours and accessible. */
extern Relation hybrid_open_index(Oid oid, LOCKMODE lock);

/* entry.c */

/*
 * hybrid_entry_form: the entry of a vector; entry->vector has layout.stride bytes, allocated by the
 * caller.  false: this vector is not indexed (the metric is cosine and it has none).  Raises
 * when the dimensions differ from the index's or a value does not fit the storage.
 */
extern bool hybrid_entry_form(const HybridIndex *index, const HybridVector *vector, ItemPointer tid,
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

/*
 * hybrid_loss_cover: makes *loss such that the bound from its norm and residual is at most that from
 * these, whatever the query and the distance.
 */
extern void hybrid_loss_cover(HyMetric metric, HybridLoss *loss, float norm, float residual);

/* hybrid_lost: what orders rows by how loose the bound for them is. */
extern double hybrid_lost(HyMetric metric, float norm, float residual);

/* read.c */

/* HybridStore: a way through all live entries, in the order of the file; public for who embeds it. */
struct HybridStore
{
	Relation index;
	Snapshot snapshot; /* MVCC */
	HybridLayout layout;
	BufferAccessStrategy strategy; /* or NULL */
	BlockNumber groups;            /* as many as there were at the start */
	BlockNumber group;             /* the next */
	int slot;                      /* of that group, the next */
};

/* hybrid_store_init: a large index gets a strategy, in the current memory context. */
extern void hybrid_store_init(HybridStore *store, Relation index, Snapshot snapshot,
                              const HybridLayout *layout);

/* hybrid_store_rewind: back to the beginning of the file as it is now. */
extern void hybrid_store_rewind(HybridStore *store);

/* hybrid_store_read: see HybridStoreMethods. */
extern int hybrid_store_read(HybridStore *store, const HybridStoreRows *rows, int most);

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
extern void hybridendscan(IndexScanDesc scan);

/* hybrid_scan_candidates: how many rows pass number `pass` of a scan keeps, from 0. */
extern int hybrid_scan_candidates(int pass);

/* Free space: a group either has room for an entry or has none. */
#define HYBRID_FSM_ROOM (BLCKSZ - 1)
#define HYBRID_FSM_NEED (BLCKSZ / 2)

#endif
