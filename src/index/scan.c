/*
 * scan.c
 *		Rows in the order of their distance from a query: exact, in bounded memory.
 *
 * A pass reads the whole store once, copies it in batches, has the dispatcher compute the
 * distances, and keeps the nearest M candidates that lie beyond the last one returned, in the total
 * order (distance, heap position).  When the executor has taken them all and wants more, another
 * pass follows with four times as many, as far as work_mem reaches.  So a LIMIT costs one pass, and
 * a scan to the end costs as many as work_mem makes necessary.
 *
 * Reported distances are the operator's own bits when vectors are stored as given.  With float16
 * they are lower bounds and the executor orders by the true distance (xs_recheckorderby).  The
 * same mechanism serves further ORDER BY expressions after the first: they are reported as minus
 * infinity, and the executor sorts rows that tie on the first.
 *
 * No lock is held between calls, nor while distances are computed: README.md says why that is
 * enough under an MVCC snapshot.
 */
#include "postgres.h"

#include <math.h>

#include "access/relscan.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "core/distance.h"
#include "core/topk.h"
#include "server/executor.h"

#include "index/index.h"

#define FIRST_CANDIDATES 512
#define CANDIDATES_GROWTH 4
#define MAX_BATCH_ROWS 4096
#define MAX_BATCH_BYTES (4 * 1024 * 1024)

/*
 * A candidate's row is its heap position, so that HyTopK's order is ours.  HyTopK keeps no NaN, and
 * ORDER BY puts NaN after infinity: such a row goes in as an infinity with this bit set.
 */
#define ROW_IS_NAN (INT64CONST(1) << 62)

/* Batch: live rows copied from the index. */
typedef struct Batch
{
	int rows;
	int capacity;
	HybridStoreRows store;
	double *distances;
} Batch;

typedef struct HybridScan
{
	HybridIndex index;
	MemoryContext scan_context;
	MemoryContext context; /* of the query: reset at rescan; a child of that of the scan */
	MemoryContext scratch; /* of one dispatch */
	bool first;
	bool null_query; /* ORDER BY distance to NULL: every row, in heap order */
	HybridProbe query;
	Batch batch;
	HybridStore store;
	int pass;
	HyTopK candidates;
	int next;        /* candidates handed out of this pass */
	bool exhausted;  /* nothing lies beyond this pass */
	bool bounded;    /* last is set */
	HyNeighbor last; /* last candidate handed out */
	Oid *orderby_types;
	IndexOrderByDistance *distances;
} HybridScan;

static void begin_query(IndexScanDesc scan);
static void run_pass(IndexScanDesc scan);
static void score_batch(IndexScanDesc scan, const HybridIndex *index);
static void report(IndexScanDesc scan, const HyNeighbor *candidate);
static Batch allocate_batch(const HybridLayout *layout);

IndexScanDesc
hybridbeginscan(Relation index, int keys, int orderbys)
{
	IndexScanDesc scan = RelationGetIndexScan(index, keys, orderbys);
	HybridScan *state = palloc0(sizeof(HybridScan));
	int i;

	state->scan_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid scan", ALLOCSET_DEFAULT_SIZES);
	state->context =
		AllocSetContextCreate(state->scan_context, "hybrid scan query", ALLOCSET_DEFAULT_SIZES);
	state->scratch =
		AllocSetContextCreate(state->scan_context, "hybrid scan batch", ALLOCSET_DEFAULT_SIZES);
	state->first = true;
	if (orderbys > 0)
	{
		scan->xs_orderbyvals = palloc0(orderbys * sizeof(Datum));
		scan->xs_orderbynulls = palloc(orderbys * sizeof(bool));
		memset(scan->xs_orderbynulls, true, orderbys * sizeof(bool));
		state->orderby_types = palloc(orderbys * sizeof(Oid));
		for (i = 0; i < orderbys; i++)
			state->orderby_types[i] = FLOAT8OID;
		state->distances = palloc0(orderbys * sizeof(IndexOrderByDistance));
	}
	scan->opaque = state;
	return scan;
}

void
hybridrescan(IndexScanDesc scan, ScanKey keys, int nkeys, ScanKey orderbys, int norderbys)
{
	HybridScan *state = (HybridScan *) scan->opaque;

	if (keys != NULL && scan->numberOfKeys > 0)
		memmove(scan->keyData, keys, scan->numberOfKeys * sizeof(ScanKeyData));
	if (orderbys != NULL && scan->numberOfOrderBys > 0)
		memmove(scan->orderByData, orderbys, scan->numberOfOrderBys * sizeof(ScanKeyData));

	(void) nkeys;
	(void) norderbys;
	MemoryContextReset(state->context);
	state->batch.rows = 0;
	memset(&state->candidates, 0, sizeof(state->candidates));
	state->first = true;
}

bool
hybridgettuple(IndexScanDesc scan, ScanDirection direction)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->context);

	(void) direction;
	Assert(ScanDirectionIsForward(direction));
	if (state->first)
	{
		begin_query(scan);
		state->first = false;
	}
	if (state->next >= state->candidates.count && !state->exhausted)
		run_pass(scan);
	MemoryContextSwitchTo(old);

	if (state->next >= state->candidates.count)
		return false;
	state->last = state->candidates.items[state->next++];
	state->bounded = true;
	report(scan, &state->last);
	return true;
}

void
hybridendscan(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;

	MemoryContextDelete(state->scan_context);
	pfree(state);
	scan->opaque = NULL;
}

int
hybrid_scan_candidates(int pass)
{
	Size limit = Min((Size) work_mem * 1024, MaxAllocSize) / sizeof(HyNeighbor);
	Size candidates = FIRST_CANDIDATES;

	while (pass-- > 0 && candidates < limit)
		candidates *= CANDIDATES_GROWTH;
	return (int) Min(candidates, limit);
}

/* begin_query: takes the query apart and makes ready for the first pass. */
static void
begin_query(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	const HybridIndex *index = &state->index;
	HybridVector *vector;

	state->index = hybrid_index_open(scan->indexRelation);
	if (scan->numberOfOrderBys < 1)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		                errmsg("index \"%s\" can only be scanned in the order of a distance",
		                       RelationGetRelationName(scan->indexRelation))));
	/* A candidate waits without a pin while its row may be removed and the place reused. */
	if (!IsMVCCSnapshot(scan->xs_snapshot))
		elog(ERROR, "non-MVCC snapshots are not supported with access method hybrid");

	pgstat_count_index_scan(scan->indexRelation);

	state->pass = 0;
	state->next = 0;
	state->exhausted = false;
	state->bounded = false;
	state->null_query = (scan->orderByData[0].sk_flags & SK_ISNULL) != 0;
	if (!state->null_query)
	{
		vector = DatumGetHybridVector(scan->orderByData[0].sk_argument);
		if (vector->dim != index->layout.dims)
			ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
			                errmsg("different vector dimensions %d and %d", index->layout.dims,
			                       vector->dim)));
		hybrid_probe_init(&state->query, index->metric, vector->x, vector->dim);
	}
	if (state->batch.store.vectors == NULL)
	{
		/* once a scan: it may be started anew for every row of another table */
		MemoryContextSwitchTo(state->scan_context);
		state->batch = allocate_batch(&index->layout);
		hybrid_store_init(&state->store, scan->indexRelation, scan->xs_snapshot, &index->layout);
		MemoryContextSwitchTo(state->context);
	}
}

/* run_pass: the next candidates after state->last, sorted. */
static void
run_pass(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	const HybridIndex *index = &state->index;
	int k = hybrid_scan_candidates(state->pass++);

	if (state->candidates.items != NULL)
		pfree(state->candidates.items);
	hy_topk_init(&state->candidates, palloc(k * sizeof(HyNeighbor)), k);
	state->next = 0;

	hybrid_store_rewind(&state->store);
	while ((state->batch.rows =
	            hybrid_store_read(&state->store, &state->batch.store, state->batch.capacity)) > 0)
		score_batch(scan, index);

	hy_topk_sort(&state->candidates);
	state->exhausted = state->candidates.count < k;
}

/* score_batch: offers the rows of the batch as candidates and empties it. */
static void
score_batch(IndexScanDesc scan, const HybridIndex *index)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	const HybridLayout *layout = &index->layout;
	Batch *batch = &state->batch;
	HyTask task;
	int i;

	CHECK_FOR_INTERRUPTS();
	if (batch->rows == 0)
		return;

	if (!state->null_query)
	{
		MemoryContext old = MemoryContextSwitchTo(state->scratch);

		memset(&task, 0, sizeof(task));
		task.op = HY_OP_DISTANCE;
		task.numeric_class = HY_CLASS_EXACT;
		task.u.distance.metric = index->metric;
		task.u.distance.queries.dtype = HY_F32;
		task.u.distance.queries.dims = layout->dims;
		task.u.distance.queries.rows = 1;
		task.u.distance.queries.stride = layout->dims * sizeof(float);
		task.u.distance.queries.data = state->query.x;
		task.u.distance.targets.dtype = layout->dtype;
		task.u.distance.targets.dims = layout->dims;
		task.u.distance.targets.rows = batch->rows;
		task.u.distance.targets.stride = layout->stride;
		task.u.distance.targets.data = batch->store.vectors;
		task.u.distance.targets.norms = batch->store.norms;
		task.u.distance.out = batch->distances;
		hybrid_run(&task, "scan the index");
		MemoryContextSwitchTo(old);
		MemoryContextReset(state->scratch);
	}

	for (i = 0; i < batch->rows; i++)
	{
		HyNeighbor candidate;

		candidate.distance = 0;
		candidate.row = batch->store.positions[i];
		if (!state->null_query)
			candidate.distance =
				hybrid_lower_bound(&state->query, batch->distances[i], batch->store.norms[i],
			                       batch->store.residuals[i]);
		if (isnan(candidate.distance))
		{
			candidate.distance = INFINITY;
			candidate.row |= ROW_IS_NAN;
		}
		if (!state->bounded || hy_neighbor_compare(&candidate, &state->last) > 0)
			hy_topk_push(&state->candidates, candidate.distance, candidate.row);
	}
	batch->rows = 0;
}

/* report: what the executor reads from the scan descriptor. */
static void
report(IndexScanDesc scan, const HyNeighbor *candidate)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	bool lossy = state->index.layout.dtype != HY_F32;
	int64 position = candidate->row & ~ROW_IS_NAN;
	int i;

	scan->xs_heaptid = hybrid_position_tid(position);
	scan->xs_recheck = false;

	state->distances[0].value =
		(candidate->row & ROW_IS_NAN) != 0 ? get_float8_nan() : candidate->distance;
	state->distances[0].isnull = state->null_query;
	for (i = 1; i < scan->numberOfOrderBys; i++)
	{
		state->distances[i].value = -get_float8_infinity();
		state->distances[i].isnull = false;
	}
	index_store_float8_orderby_distances(scan, state->orderby_types, state->distances,
	                                     lossy || scan->numberOfOrderBys > 1);
}

/* allocate_batch: as many rows as pay for a dispatch, within work_mem. */
static Batch
allocate_batch(const HybridLayout *layout)
{
	Size bytes = Min((Size) work_mem * 1024, MAX_BATCH_BYTES);
	Batch batch;

	memset(&batch, 0, sizeof(batch));
	batch.capacity = (int) Min(bytes / layout->stride, MAX_BATCH_ROWS);
	batch.capacity = Max(batch.capacity, 1);
	batch.store.vectors = palloc(batch.capacity * layout->stride);
	batch.store.norms = palloc(batch.capacity * sizeof(float));
	batch.store.residuals = palloc(batch.capacity * sizeof(float));
	batch.store.positions = palloc(batch.capacity * sizeof(int64));
	batch.distances = palloc(batch.capacity * sizeof(double));
	return batch;
}
