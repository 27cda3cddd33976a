/*
 * scan.c
 *		Index scans: rows in the order of their distance from a query, and rows within a distance.
 *
 * In a scan with codes, lookup.c finds the rows, one batch after another (scan_batches.c). It continues when
 * the executor requests more.
 *
 * The memory of an exact scan is limited. A pass reads the whole store once. It copies some rows at a time
 * and has the dispatcher compute their distances. (Distances of types that are not dense are computed here. In an
 * index on arrays, documents.c computes them from the values in the table.) The pass keeps the nearest M candidates
 * after the last one returned, in the total order (distance, heap position). When the executor has taken them all and
 * requests more, another pass follows. It keeps four times as many candidates, up to the limit that work_mem sets. A
 * scan with a LIMIT therefore usually takes one pass. A scan to the end takes as many passes as work_mem makes
 * necessary.
 *
 * Conditions on the vector are spheres. Without ORDER BY, the center of the first sphere serves as the
 * query. A sphere around the query sets the radius. Rows beyond the radius are not wanted, and a scan with
 * codes ends when a lower bound exceeds the radius. The executor checks the other spheres. Without ORDER BY
 * every stored vector is read once, in the order of the lists, so the result is complete whatever the target
 * recall.
 *
 * If vectors are stored as given, distances equal the operator's result bit for bit. Otherwise they are
 * lower bounds, and rows are ordered by their true distances, computed from the table (true_order.c). The
 * values of further ORDER BY expressions are computed there, too.
 *
 * No lock is held between calls, nor while the dispatcher computes distances. src/index/README.md explains
 * why no lock is needed under an MVCC snapshot.
 */
#include "postgres.h"

#include <math.h>

#include "access/relscan.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "utils/float.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "core/distance.h"
#include "core/topk.h"
#include "server/compat.h"
#include "server/executor.h"
#include "server/position.h"
#include "types/sphere.h"

#include "index/scan/documents.h"
#include "index/scan/postings_pass.h"
#include "index/scan/scan.h"
#include "index/scan/settings.h"
#include "index/page/distance_bound.h"

#define MAX_BATCH_ROWS 4096
#define MAX_BATCH_BYTES (4 * 1024 * 1024)

/*
 * A candidate's `row` is its heap position, so HyTopK orders ties by heap position. HyTopK keeps no NaN,
 * and ORDER BY puts NaN after infinity. A row whose distance is NaN is therefore stored with an infinite
 * distance, and with this bit set in `row`.
 */
#define ROW_IS_NAN (INT64CONST(1) << 62)

static bool next_row(IndexScanDesc scan, int64 *found_at, const HybridFoundRow **row);
static const HyNeighbor *next_candidate(IndexScanDesc scan);
static bool batch_is_enough(const HybridScan *state);
static void begin_query(IndexScanDesc scan);
static void take_query(IndexScanDesc scan);
static void set_query(HybridScan *state, const HybridType *type, const void *value);
static void take_conditions(IndexScanDesc scan);
static bool take_sphere(HybridScan *state, const HybridSphere *sphere);
static void choose_passes(IndexScanDesc scan);
static void take_plan(IndexScanDesc scan);
static void prepare_passes(IndexScanDesc scan);
static void run_stream(IndexScanDesc scan);
static void measure_batch(HybridScan *state, HybridScanBatch *batch);
static void run_pass(IndexScanDesc scan);
static bool in_place(HybridScan *state, const HyNeighbor *candidate);
static HybridScanBatch allocate_batch(const HybridStore *store);

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
	state->index = hybrid_index_open(index);
	state->ordered = orderbys > 0;
	state->first = true;
	state->end.func = hybrid_last_scan_end;
	state->end.arg = &state->done;
	MemoryContextRegisterResetCallback(state->scan_context, &state->end);
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
	hybrid_last_scan_end(&state->done);
	MemoryContextReset(state->context);
	if (state->order != NULL)
		hybrid_true_order_clear(state->order);
	state->reorders = false;
	state->waiting = NULL;
	state->documents = NULL;
	state->batch.rows = 0;
	memset(&state->candidates, 0, sizeof(state->candidates));
	state->next = 0;
	state->pass = 0;
	state->filtered = 0;
	state->counted = 0;
	state->limit_reached = HY_SCAN_NO_LIMIT;
	state->exhausted = false;
	state->bounded = false;
	state->farthest = -INFINITY;
	state->complete = -INFINITY;
	memset(&state->query, 0, sizeof(state->query));
	state->value = NULL;
	state->first = true;
}

bool
hybridgettuple(IndexScanDesc scan, ScanDirection direction)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	const HybridFoundRow *row;
	int64 position;

	(void) direction;
	Assert(ScanDirectionIsForward(direction));
	if (state->first)
		begin_query(scan);
	if (scan->xs_want_itup && state->only == NULL)
		state->only =
			hybrid_index_only_new(scan, &state->index, state->asked.node, state->scan_context);
	do
	{
		if (!next_row(scan, &position, &row))
			return false;
	} while (scan->xs_want_itup &&
	         !hybrid_index_only_form(state->only, position, state->search, row));
	state->done.returned++;
	scan->xs_heaptid = hybrid_position_tid(position);
	scan->xs_recheck = state->recheck;
	if (state->ordered)
		index_store_float8_orderby_distances(scan, state->orderby_types, state->distances, false);
	return true;
}

/*
 * next_row: find the next row, and set *found_at to its position. Rows come in the order of the lower bounds of their
 * distances, or in the order of the true distances if state->reorders is set. If the bounds prove that a row is the
 * next one (in_place), it is returned with its lower bound, and its value in the table is not read. *row is set to the
 * row as the search with codes has found it, or to NULL in an exact scan or if state->reorders is set.
 */
static bool
next_row(IndexScanDesc scan, int64 *found_at, const HybridFoundRow **row)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	bool found = false;
	int64 position;

	*row = NULL;
	if (state->documents != NULL && !state->exact)
	{
		found = hybrid_documents_next(state, &position);
		if (!found && !state->exact)
			return false;
	}
	while (!found)
	{
		IndexOrderByDistance bound;

		CHECK_FOR_INTERRUPTS();
		if (state->waiting == NULL && batch_is_enough(state))
		{
			position = hybrid_true_order_remove(state->order, state->distances);
			state->last.distance = Max(state->last.distance, state->distances[0].value);
			break;
		}
		if (state->waiting == NULL && (state->waiting = next_candidate(scan)) != NULL)
			state->waiting_in_place = !state->reorders || (scan->numberOfOrderBys == 1 &&
			                                               in_place(state, state->waiting));
		if (state->waiting != NULL)
		{
			bound.isnull = state->null_query;
			bound.value = (state->waiting->row & ROW_IS_NAN) != 0 ? get_float8_nan()
			                                                      : state->waiting->distance;
		}
		if (state->reorders &&
		    hybrid_true_order_ready(state->order, state->waiting != NULL ? &bound : NULL))
		{
			position = hybrid_true_order_remove(state->order, state->distances);
			break;
		}
		if (state->waiting == NULL)
			return false;
		position = state->waiting->row & ~ROW_IS_NAN;
		state->waiting = NULL;
		if (state->waiting_in_place)
		{
			if (state->ordered)
				state->distances[0] = bound;
			break;
		}
		hybrid_true_order_add(state->order, position, &bound);
	}
	if (state->reorders)
		hybrid_scan_quals_rest(state->filter);
	else if (!state->exact)
		*row = &state->found[state->next - 1];
	*found_at = position;
	return true;
}

int64
hybridgetbitmap(IndexScanDesc scan, TIDBitmap *bitmap)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	const HyNeighbor *candidate;
	int64 count = 0;

	if (state->first)
		begin_query(scan);
	while ((candidate = next_candidate(scan)) != NULL)
	{
		ItemPointerData tid = hybrid_position_tid(candidate->row);

		tbm_add_tuples(bitmap, &tid, 1, state->recheck);
		state->done.returned++;
		count++;
	}
	return count;
}

void
hybridendscan(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;

	if (state->filter != NULL)
		hybrid_scan_quals_end(state->filter);
	if (state->order != NULL)
		hybrid_true_order_end(state->order);
	if (state->search != NULL)
		hybrid_lookup_end(state->search);
	if (state->only != NULL)
		hybrid_index_only_end(state->only);
	MemoryContextDelete(state->scan_context);
	pfree(state);
	scan->opaque = NULL;
}

/* next_candidate: take the next candidate; with ORDER BY, the one with the least lower bound. NULL: none left. */
static const HyNeighbor *
next_candidate(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->context);

	while (state->next >= state->candidates.count && !state->exhausted)
		run_pass(scan);
	MemoryContextSwitchTo(old);

	if (state->next >= state->candidates.count)
	{
		hybrid_scan_ended(scan);
		return NULL;
	}
	state->last = state->candidates.items[state->next++];
	state->bounded = state->ordered;
	return &state->last;
}

/*
 * batch_is_enough: test whether all candidates of a batch were taken, and the first row of state->order precedes all
 * rows of later batches. Without this test, the scan would run another batch. It would read more lists only to prove the
 * order of rows that rounding cannot separate, such as copies of one vector. (1,000 vectors 11 times each and 5,000
 * others, random queries, LIMIT 10 at .9, .95 and .99: searches score 66, 78 and 85% of the rows with this test, and 81,
 * 87 and 91% without it. The answers are the same.)
 */
static bool
batch_is_enough(const HybridScan *state)
{
	IndexOrderByDistance bound = {.value = state->complete, .isnull = false};

	return state->reorders && state->next >= state->candidates.count && !state->exhausted &&
	       state->complete > -INFINITY && hybrid_true_order_ready(state->order, &bound);
}

/* begin_query: take the query, its conditions, the settings and the plan's LIMIT. The tree is not read yet. */
static void
begin_query(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	MemoryContext old = MemoryContextSwitchTo(state->context);

	/* Candidates are not pinned. While one waits, its row may be removed and its TID reused. */
	if (!IsMVCCSnapshot(scan->xs_snapshot))
		elog(ERROR, "non-MVCC snapshots are not supported with access method hybrid");
	hybrid_count_search(scan);
	take_query(scan);
	take_conditions(scan);
	choose_passes(scan);
	take_plan(scan);
	if (state->nothing)
	{
		state->exhausted = true;
		state->reorders = false;
	}
	else
		prepare_passes(scan);
	state->first = false;
	MemoryContextSwitchTo(old);
}

/* take_query: take the query from the first ORDER BY expression, if there is one. For arrays, documents.c does this. */
static void
take_query(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	const HybridOpclass *opclass = state->index.opclass;

	state->null_query = state->ordered && (scan->orderByData[0].sk_flags & SK_ISNULL) != 0;
	if (opclass->many)
		state->null_query |= !hybrid_documents_begin(scan);
	else if (state->ordered && !state->null_query)
		set_query(state, opclass->type, PG_DETOAST_DATUM(scan->orderByData[0].sk_argument));
}

/* set_query: set the query from a detoasted value of the indexed type. */
static void
set_query(HybridScan *state, const HybridType *type, const void *value)
{
	int dims = state->index.layout.dims;

	if (type->dims(value) != dims)
		ereport(ERROR,
		        (errcode(ERRCODE_DATA_EXCEPTION),
		         errmsg("different %s %d and %d", type->dimension, dims, type->dims(value))));
	if (!type->dense)
		state->value = value;
	if (type->dense || state->index.coded)
		hybrid_probe_init(&state->query, state->index.metric, hybrid_type_floats(type, value),
		                  dims);
}

/*
 * take_conditions: read the spheres among the conditions. Sets the radius within which rows are wanted,
 * and whether the executor must check the conditions.
 */
static void
take_conditions(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	int i;

	state->radius = INFINITY;
	state->within = false;
	state->nothing = false;
	/* several values of a key may have the same word, so the executor must check conditions on keys */
	state->recheck = state->index.keys > 0 && scan->numberOfKeys > 0;
	for (i = 0; i < scan->numberOfKeys; i++)
	{
		const ScanKey key = &scan->keyData[i];
		HybridSphere sphere;

		if (key->sk_attno <= state->index.keys)
			continue;
		state->within = true;
		state->recheck |= !state->index.lossless;
		Assert(key->sk_strategy == HYBRID_SPHERE_STRATEGY);
		if ((key->sk_flags & SK_ISNULL) != 0 || !hybrid_sphere_open(key->sk_argument, &sphere) ||
		    !take_sphere(state, &sphere))
			state->nothing = true;
	}
	/* rows whose vector is NULL have no entry, so a scan by conditions on keys alone would miss them */
	if (!state->ordered && !state->within)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		                errmsg("index \"%s\" can only be scanned in the order of a distance",
		                       RelationGetRelationName(scan->indexRelation))));
}

/*
 * take_sphere: take one sphere. If its center is the query, reduce the radius of the scan; else let the executor check
 * the sphere. Without a query, the center becomes the query. Returns false if no row can be in the sphere.
 */
static bool
take_sphere(HybridScan *state, const HybridSphere *sphere)
{
	const HybridLayout *layout = &state->index.layout;

	if (sphere->center->dim != layout->dims)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("different %s %d and %d", state->index.opclass->type->dimension,
		                       layout->dims, sphere->center->dim)));
	if (isnan(sphere->radius))
		return false;
	if (!state->ordered && state->query.x == NULL)
		set_query(state, &hybrid_type_vector, sphere->center);
	if (state->query.x != NULL &&
	    memcmp(state->query.x, sphere->center->x, layout->dims * sizeof(float)) == 0)
		state->radius = Min(state->radius, sphere->radius);
	else
		state->recheck = true;
	return true;
}

/* choose_passes: by the settings, choose whether the passes are exact, and whether values from the table order rows. */
static void
choose_passes(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	const HybridIndex *index = &state->index;

	state->settings = hybrid_scan_settings(scan->indexRelation);
	state->exact =
		!state->ordered || state->null_query || !index->coded || state->settings.target_recall >= 1;
	/* an exact scan of an index on arrays needs no reordering, because it computes the true distances */
	state->reorders =
		state->ordered &&
		((index->opclass->many ? !state->exact : !index->lossless && !state->null_query) ||
	     scan->numberOfOrderBys > 1);
	state->done.index = RelationGetRelid(scan->indexRelation);
	state->done.target = state->exact ? 1 : state->settings.target_recall;
	state->done.probes = state->exact ? 0 : hybrid_probes;
	state->done.expected = state->exact ? 1 : NAN;
}

/* take_plan: find the plan node and its LIMIT, and compute the conditions that words judge. */
static void
take_plan(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;

	state->asked = hybrid_plan_limit_of(scan);
	if (!state->planned)
	{
		MemoryContext old = MemoryContextSwitchTo(state->scan_context);

		state->included =
			hybrid_included_quals_new(&state->index, state->asked.node, scan->numberOfKeys);
		state->planned = true;
		MemoryContextSwitchTo(old);
	}
	if (state->included != NULL && !state->nothing &&
	    !hybrid_included_quals_begin(state->included, scan->keyData, scan->numberOfKeys))
		state->nothing = true;
}

/*
 * prepare_passes: allocate what the passes need. The passes read the index later. The allocations serve all queries of
 * the scan, because the scan may be started again for every row of another table.
 */
static void
prepare_passes(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	const HybridIndex *index = &state->index;
	const HybridIncludedQuals *included = state->included;
	bool iterative = state->settings.iterative_scan != HYBRID_ITERATIVE_OFF;
	bool documents = state->documents != NULL;
	MemoryContext old = MemoryContextSwitchTo(state->scan_context);

	if (state->exact && !documents && state->batch.store.vectors == NULL)
	{
		hybrid_store_init(&state->store, scan->indexRelation, scan->xs_snapshot, index);
		state->batch = allocate_batch(&state->store);
		if (index->layout.packed)
			state->postings = hybrid_postings_pass_new();
	}
	if (!state->exact && state->search == NULL)
		state->search = hybrid_lookup_new(scan->indexRelation, index, scan->xs_snapshot);
	if ((!state->exact || state->reorders || documents) && state->filter == NULL)
		state->filter = hybrid_scan_quals_new(scan, iterative ? state->asked.node : NULL,
		                                      included != NULL && included->all);
	if ((state->reorders || documents) && state->order == NULL)
		state->order = hybrid_true_order_new(scan, state->filter);
	state->store.conditions = included != NULL ? included->conditions : NULL;
	state->store.conditions_count = included != NULL ? included->count : 0;
	MemoryContextSwitchTo(old);
}

/* run_pass: find the next candidates after state->last. With ORDER BY, they are sorted. */
static void
run_pass(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	int k;

	if (!state->ordered)
	{
		/* all calls count as one round */
		state->done.rounds = 1;
		run_stream(scan);
		return;
	}
	state->done.rounds++;
	if (!state->exact)
	{
		hybrid_scan_next_batch(state);
		return;
	}
	k = state->documents != NULL ? hybrid_documents_candidates(state)
	                             : hybrid_scan_batch_rows(state);
	state->pass++;
	if (state->candidates.items != NULL)
		pfree(state->candidates.items);
	hy_topk_init(&state->candidates, palloc(k * sizeof(HyNeighbor)), k);
	state->next = 0;
	if (state->documents != NULL)
		hybrid_documents_compare_all(state);
	else
	{
		hybrid_store_rewind(&state->store);
		if (state->postings != NULL && !state->null_query)
			hybrid_postings_pass(scan);
		while ((state->batch.rows = hybrid_store_read(&state->store, &state->batch.store,
		                                              state->batch.capacity)) > 0)
			hybrid_scan_score_batch(scan);
		hybrid_scan_excluded(state, state->store.excluded);
	}
	hy_topk_sort(&state->candidates);
	state->exhausted = state->candidates.count < k || state->limit_reached != HY_SCAN_NO_LIMIT;
}

/* run_stream: without ORDER BY, read the next rows of the store, and make the wanted ones candidates. */
static void
run_stream(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	HybridScanBatch *batch = &state->batch;

	if (state->pass++ == 0)
	{
		hybrid_store_rewind(&state->store);
		hy_topk_init(&state->candidates, palloc(batch->capacity * sizeof(HyNeighbor)),
		             batch->capacity);
	}
	state->next = 0;
	state->candidates.count = 0;
	batch->rows = hybrid_store_read(&state->store, &batch->store, batch->capacity);
	state->exhausted = batch->rows == 0;
	hybrid_scan_excluded(state, state->store.excluded);
	hybrid_scan_score_batch(scan);
}

void
hybrid_scan_score_batch(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	HybridScanBatch *batch = &state->batch;
	int i;

	CHECK_FOR_INTERRUPTS();
	state->done.work.lists =
		Max(state->done.work.lists, Min(state->store.list + 1, state->store.count));
	if (batch->rows == 0)
		return;

	state->done.work.rescored += batch->rows;
	if (!state->null_query)
		measure_batch(state, batch);
	for (i = 0; i < batch->rows; i++)
	{
		double distance = 0;

		if (!state->null_query)
			distance = hybrid_lower_bound(&state->query, batch->distances[i], batch->store.norms[i],
			                              batch->store.residuals[i]);
		if (!(distance > state->radius) && !(state->within && isnan(distance)))
			hybrid_scan_offer(state, distance, batch->store.positions[i]);
	}
	batch->rows = 0;
}

void
hybrid_scan_offer(HybridScan *state, double distance, int64 position)
{
	HyNeighbor candidate = {.distance = distance, .row = position};

	if (isnan(distance))
	{
		candidate.distance = INFINITY;
		candidate.row |= ROW_IS_NAN;
	}
	if (!state->bounded || hy_neighbor_compare(&candidate, &state->last) > 0)
		hy_topk_push(&state->candidates, candidate.distance, candidate.row);
}

/* measure_batch: compute the distances of the rows of the batch from the query. */
static void
measure_batch(HybridScan *state, HybridScanBatch *batch)
{
	const HybridIndex *index = &state->index;
	const HybridLayout *layout = &index->layout;
	MemoryContext old;
	HyTask task;
	int i;

	if (state->value != NULL)
	{
		for (i = 0; i < batch->rows; i++)
			batch->distances[i] =
				index->opclass->distance(index->metric, layout->dims, state->value,
			                             batch->store.vectors + i * state->store.stride);
		return;
	}
	old = MemoryContextSwitchTo(state->scratch);
	memset(&task, 0, sizeof(task));
	task.op = HY_OP_DISTANCE;
	task.numeric_class = HY_CLASS_EXACT;
	task.u.distance.metric = index->metric;
	task.u.distance.queries.dtype = HY_F32;
	task.u.distance.queries.dims = layout->dims;
	task.u.distance.queries.rows = 1;
	task.u.distance.queries.stride = layout->dims * sizeof(float);
	task.u.distance.queries.data = state->query.x;
	task.u.distance.targets.dtype = state->store.dtype;
	task.u.distance.targets.dims = layout->dims;
	task.u.distance.targets.rows = batch->rows;
	task.u.distance.targets.stride = state->store.stride;
	task.u.distance.targets.data = batch->store.vectors;
	task.u.distance.targets.norms = batch->store.norms;
	task.u.distance.out = batch->distances;
	hybrid_run(&task, "scan the index");
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->scratch);
}

/*
 * in_place: test whether the bounds of the distances prove that a candidate comes after all candidates
 * before it and before all those after it. If so, its true distance need not be computed. A scan calls
 * this for each candidate right after next_candidate, or for none, because it updates state->farthest.
 */
static bool
in_place(HybridScan *state, const HyNeighbor *candidate)
{
	double farthest = state->farthest, upper;
	float width;

	if (state->exact)
		return false;
	width = state->found[state->next - 1].width;
	/* with an infinite width there is no upper bound; adding it to a lower bound of minus infinity would give NaN */
	upper = isinf(width) ? INFINITY : candidate->distance + width;
	state->farthest = Max(farthest, upper);
	return farthest <= candidate->distance && state->next < state->candidates.count &&
	       upper <= state->candidates.items[state->next].distance;
}

/* allocate_batch: allocate a batch within work_mem, with at most MAX_BATCH_ROWS rows and MAX_BATCH_BYTES of vectors. */
static HybridScanBatch
allocate_batch(const HybridStore *store)
{
	Size bytes = Min((Size) work_mem * 1024, MAX_BATCH_BYTES);
	HybridScanBatch batch;

	memset(&batch, 0, sizeof(batch));
	batch.capacity = (int) Min(bytes / store->stride, MAX_BATCH_ROWS);
	batch.capacity = Max(batch.capacity, 1);
	batch.store.vectors = palloc(batch.capacity * store->stride);
	batch.store.norms = palloc(batch.capacity * sizeof(float));
	batch.store.residuals = palloc(batch.capacity * sizeof(float));
	batch.store.positions = palloc(batch.capacity * sizeof(int64));
	batch.distances = palloc(batch.capacity * sizeof(double));
	return batch;
}
