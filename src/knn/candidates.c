/*
 * candidates.c
 *		Searches the store of an index for candidates: see candidates.h.
 *
 * A store, the copies of the vectors in an index, only suggests rows. An entry may belong to a row that the
 * snapshot does not see. An entry names the root of a HOT chain, while the result needs the visible version.
 * In a float16 store, the stored vector only approximates the original. So a search keeps more than k
 * entries. The nearest entries are looked up in the table, each only once. Dead rows are dropped.
 * If the store is lossy, the distance is computed again from the row itself.
 *
 * Entries are ordered by (distance to the stored vector, root position). In this order, every entry
 * that did not become a candidate comes after the farthest candidate. So the farthest candidate's
 * distance gives a lower bound on the distance of all other rows. The result of a query is certain
 * if its k-th best distance is less than this bound. If the two are equal in a lossless store,
 * positions decide. All other entries at that distance have roots at higher positions than the
 * farthest candidate, and a version is on the page of its root. So the result is certain if the
 * k-th row is on an earlier page than the farthest candidate.
 *
 * index/README.md explains why a store misses no row that a snapshot sees.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "core/distance.h"
#include "knn/approximate.h"
#include "knn/candidates.h"
#include "knn/fetch.h"
#include "knn/outliers.h"
#include "knn/search.h"
#include "knn/units.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "optimizer/cost.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "server/position.h"
#include "utils/snapmgr.h"

#define OUTLIER (-1)
#define READ_ROWS 64     /* entries read at a time; few, to respect batch_wait */
#define LEAST_SHARE 0.25 /* a filter must allow this share of rows for a store to be used */

/* Pass: one search of the store. */
typedef struct Pass
{
	const HybridCandidates *candidates;
	const HybridQueries *queries;
	HyTopK *best; /* candidates of each query; the field row is the position of a root */
	HyTopK *answers;
	HybridOutliers outliers;
	HybridStore *store;
	HybridProbe *probes; /* one per query, for lossy stores */
} Pass;

/* Wanted: a candidate to be looked up in the table. */
typedef struct Wanted
{
	int64 root; /* must be first, for hybrid_compare_positions */
	int32 query;
	int32 candidate; /* index of the candidate in the query's heap, or OUTLIER */
} Wanted;

static bool
may_use(Relation index, AttrNumber attnum, HyMetric metric, bool ordered, HybridStoreShape *shape);
static bool is_better(const HybridStoreShape *a, const HybridStoreShape *b, bool ordered);
static void read_store(Pass *pass, int64 many);
static void read_entries(Pass *pass, HybridSearch *search);
static void tell_progress(void *arg);
static double least_distance(const Pass *pass, int query, double distance);
static void look_up(Pass *pass);
static int want_candidates(const Pass *pass, int query, int32 first, int32 end, Wanted *wanted);
static void look_up_wanted(Pass *pass, HybridFetch *fetch, Wanted *wanted, int64 count);
static bool is_sure(const Pass *pass, int query, int64 many);
static bool may_hide(const Pass *pass, int query);

bool
hybrid_find_store(const HybridRows *rows, HyMetric metric, bool ordered,
                  HybridCandidates *candidates)
{
	AttrNumber attnum;
	Relation table = hybrid_rows_table(rows, &attnum);
	List *indexes;
	ListCell *cell;

	candidates->index = NULL;
	/* with another table access method, a tid need not contain a page number */
	if (table == NULL || table->rd_rel->relam != HEAP_TABLE_AM_OID || hybrid_stores() == NULL ||
	    (!enable_indexscan && !ordered) || !RelationGetForm(table)->relhasindex)
		return false;
	indexes = RelationGetIndexList(table);
	foreach (cell, indexes)
	{
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);
		HybridStoreShape shape;

		if (may_use(index, attnum, metric, ordered, &shape) &&
		    (ordered || !hybrid_few_allowed(rows, &shape)) &&
		    (candidates->index == NULL || is_better(&shape, &candidates->shape, ordered)))
		{
			if (candidates->index != NULL)
				index_close(candidates->index, NoLock);
			candidates->index = index;
			candidates->shape = shape;
		}
		else
			index_close(index, NoLock);
	}
	list_free(indexes);
	return candidates->index != NULL;
}

/*
 * may_use: return whether the store of an index can replace the table. Makes the checks that the planner
 * makes in get_relation_info(), and those that only a store needs.
 */
static bool
may_use(Relation index, AttrNumber attnum, HyMetric metric, bool ordered, HybridStoreShape *shape)
{
	Form_pg_index form = index->rd_index;

	if (!form->indisvalid || !form->indisready || !form->indislive)
		return false;
	if (form->indcheckxmin &&
	    !TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
	                           TransactionXmin))
		return false;
	/* the vector comes after the keys; indkey is 0 for an expression */
	if (form->indkey.values[form->indnkeyatts - 1] != attnum ||
	    !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return false;
	if (!hybrid_stores()->describe(index, shape))
		return false;
	/* a store for cosine has no entries for zero vectors */
	if (shape->metric == HY_METRIC_COSINE && metric != HY_METRIC_COSINE)
		return false;
	return !ordered || shape->metric == metric;
}

bool
hybrid_few_allowed(const HybridRows *rows, const HybridStoreShape *shape)
{
	const HybridTidSet *filter = hybrid_rows_filter(rows);

	return filter != NULL && filter->count < LEAST_SHARE * shape->places;
}

/*
 * is_better: return whether store a is better than b. If `ordered` is set, an index without keys comes
 * first, because its searches are faster.
 */
static bool
is_better(const HybridStoreShape *a, const HybridStoreShape *b, bool ordered)
{
	if (ordered && (a->keys > 0) != (b->keys > 0))
		return a->keys == 0;
	if (a->lossless != b->lossless)
		return a->lossless;
	if (a->dtype != b->dtype)
		return a->stride < b->stride;
	return a->places < b->places;
}

int64
hybrid_candidates_first(const HybridCandidates *candidates)
{
	const HybridTidSet *filter = hybrid_rows_filter(candidates->rows);
	int64 k = candidates->k;
	int64 first = candidates->shape.lossless ? k + k / 8 + 4 : k + k / 2 + 16;

	if (candidates->search != NULL)
		first = hybrid_first_nearest(k);
	if (filter != NULL && filter->count < candidates->shape.places)
		first = (int64) (first * ((double) candidates->shape.places / Max(filter->count, 1)));
	return first;
}

Size
hybrid_candidates_bytes(const HybridCandidates *candidates, int64 many)
{
	/*
	 * per candidate: an entry in a batch's results, in the candidates and in the final results, and
	 * a row to look up
	 */
	Size bytes = (Size) many * (3 * sizeof(HyNeighbor) + sizeof(Wanted));

	if (candidates->search != NULL)
		return hybrid_approximate_bytes(many);
	if (!candidates->shape.lossless)
		bytes += HYBRID_OUTLIERS * sizeof(Wanted) + sizeof(HybridProbe);
	return bytes;
}

bool
hybrid_candidates_search(const HybridCandidates *candidates, const HybridQueries *queries,
                         int64 many, HyTopK *answers, bool *sure)
{
	Pass pass = {.candidates = candidates, .queries = queries, .answers = answers};
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid candidates", ALLOCSET_DEFAULT_SIZES);
	MemoryContext before = MemoryContextSwitchTo(context);
	bool more_help = true;
	int i;

	Assert(many > candidates->k && many <= PG_INT32_MAX);
	if (candidates->search != NULL)
	{
		hybrid_approximate_search(candidates, queries, (int) many, answers, sure);
		MemoryContextSwitchTo(before);
		MemoryContextDelete(context);
		return true;
	}
	pass.best = palloc(sizeof(HyTopK) * queries->count);
	for (i = 0; i < queries->count; i++)
		hy_topk_init(&pass.best[i], MemoryContextAllocHuge(context, sizeof(HyNeighbor) * many),
		             (int32) many);
	read_store(&pass, many);
	if (pass.outliers.count > 0)
	{
		pass.probes = palloc(sizeof(HybridProbe) * queries->count);
		for (i = 0; i < queries->count; i++)
			hybrid_stores()->probe(&pass.probes[i], candidates->metric, hybrid_query(queries, i),
			                       queries->dims);
	}
	for (i = 0; i < queries->count; i++)
		hybrid_sort_answers(&pass.best[i]);
	look_up(&pass);
	for (i = 0; i < queries->count; i++)
	{
		bool hidden = may_hide(&pass, i);

		more_help = more_help && !hidden;
		sure[i] = !hidden && is_sure(&pass, i, many);
		if (!sure[i])
			answers[i].count = 0;
	}
	MemoryContextSwitchTo(before);
	MemoryContextDelete(context);
	return more_help;
}

/* read_store: search all entries of the store, and keep the nearest as candidates in pass->best. */
static void
read_store(Pass *pass, int64 many)
{
	const HybridCandidates *candidates = pass->candidates;
	const HybridStoreMethods *stores = hybrid_stores();
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid batches", ALLOCSET_DEFAULT_SIZES);
	HyShape shape = {
		.dtype = candidates->shape.dtype, .metric = candidates->metric, .k = (int32) many};
	HybridSearch search;
	HybridUnits units;

	pass->store = stores->begin(candidates->index, GetActiveSnapshot());
	hybrid_search_begin(&search, context, shape, true, pass->queries, pass->best);
	search.batch_done = tell_progress;
	search.batch_done_arg = pass;
	hybrid_units_begin(&units, &search, pass->store, &candidates->shape, &pass->outliers,
	                   candidates->metric);
	while (hybrid_units_next(&units))
		read_entries(pass, &search);
	hybrid_search_end(&search);
	stores->end(pass->store);
	MemoryContextDelete(context);
}

/* read_entries: add entries to batches until the store returns no more. */
static void
read_entries(Pass *pass, HybridSearch *search)
{
	float residuals[READ_ROWS];
	float norms[READ_ROWS];
	int rows;
	int i;

	for (;;)
	{
		int room = hybrid_search_room(search, READ_ROWS);
		int64 first = search->gathered.count;
		HybridStoreRows into = {.vectors = search->vectors + first * search->stride,
		                        .norms = norms,
		                        .residuals = residuals,
		                        .positions = search->positions + first};

		rows = hybrid_stores()->read(pass->store, &into, room);
		if (rows == 0)
			return;
		memcpy(search->norms + first, norms, rows * sizeof(float));
		for (i = 0; i < rows; i++)
			hybrid_outliers_offer(&pass->outliers, pass->candidates->metric, into.positions[i],
			                      norms[i], residuals[i]);
		hybrid_search_took(search, rows);
	}
}

static void
tell_progress(void *arg)
{
	Pass *pass = (Pass *) arg;

	hybrid_progress_update(pass->candidates->progress, hybrid_stores()->share(pass->store));
}

/*
 * least_distance: return a lower bound on the distance of a row that is not an outlier, given the
 * distance of its stored vector.
 */
static double
least_distance(const Pass *pass, int query, double distance)
{
	const HybridLoss *loss = &pass->outliers.others;

	if (loss->residual == 0)
		return distance;
	return hybrid_stores()->lower_bound(&pass->probes[query], distance, loss->norm, loss->residual);
}

/*
 * look_up: fill the results. First looks up the outliers and the k nearest candidates of each
 * query, which usually suffice. Then looks up the candidates that may still be nearer than the
 * results. Each of the two steps fetches its rows in the order of the table, so that it visits each
 * page once.
 */
static void
look_up(Pass *pass)
{
	const HybridCandidates *candidates = pass->candidates;
	AttrNumber attnum;
	Relation table = hybrid_rows_table(candidates->rows, &attnum);
	HybridFetch *fetch = hybrid_fetch_begin(table, attnum, hybrid_rows_dtype(candidates->rows),
	                                        hybrid_rows_filter(candidates->rows));
	int64 total = 0;
	int64 count = 0;
	Wanted *wanted;
	int i;
	int32 n;

	for (i = 0; i < pass->queries->count; i++)
		total += pass->best[i].count + pass->outliers.count;
	pgstat_count_index_tuples(candidates->index, total);
	wanted = MemoryContextAllocHuge(CurrentMemoryContext, Max(total, 1) * sizeof(Wanted));
	for (i = 0; i < pass->queries->count; i++)
	{
		for (n = 0; n < pass->outliers.count; n++)
			wanted[count++] =
				(Wanted){.root = pass->outliers.rows[n].position, .query = i, .candidate = OUTLIER};
		count += want_candidates(pass, i, 0, candidates->k, wanted + count);
	}
	look_up_wanted(pass, fetch, wanted, count);

	count = 0;
	for (i = 0; i < pass->queries->count; i++)
	{
		const HyTopK *best = &pass->best[i];
		const HyTopK *found = &pass->answers[i];

		for (n = candidates->k; n < best->count; n++)
		{
			if (found->count == found->k &&
			    least_distance(pass, i, best->items[n].distance) > found->items[0].distance)
				break;
		}
		count += want_candidates(pass, i, candidates->k, n, wanted + count);
	}
	look_up_wanted(pass, fetch, wanted, count);
	pfree(wanted);
	hybrid_fetch_end(fetch);
}

/*
 * want_candidates: append a query's candidates first .. end - 1 to wanted, except outliers. Returns
 * the number appended.
 */
static int
want_candidates(const Pass *pass, int query, int32 first, int32 end, Wanted *wanted)
{
	const HyTopK *best = &pass->best[query];
	int count = 0;
	int32 n;

	CHECK_FOR_INTERRUPTS();
	for (n = first; n < end && n < best->count; n++)
	{
		if (!hybrid_is_outlier(&pass->outliers, best->items[n].row))
			wanted[count++] = (Wanted){.root = best->items[n].row, .query = query, .candidate = n};
	}
	return count;
}

static void
look_up_wanted(Pass *pass, HybridFetch *fetch, Wanted *wanted, int64 count)
{
	const HybridQueries *queries = pass->queries;
	bool lossy = pass->outliers.count > 0;
	HyDtype dtype = hybrid_rows_dtype(pass->candidates->rows);
	bool visible = false;
	int64 position = 0;
	const HybridDense *vector = NULL;
	int64 i;

	qsort(wanted, count, sizeof(Wanted), hybrid_compare_positions);
	for (i = 0; i < count; i++)
	{
		const Wanted *it = &wanted[i];
		double distance;

		if (i == 0 || wanted[i - 1].root != it->root)
			visible = hybrid_fetch(fetch, it->root, &position, lossy ? &vector : NULL);
		if (!visible)
			continue;
		if (lossy)
			distance = hy_distance_to(pass->candidates->metric, hybrid_query(queries, it->query),
			                          dtype, vector->x, queries->dims);
		else
			distance = pass->best[it->query].items[it->candidate].distance;
		(void) hy_topk_push(&pass->answers[it->query], distance, position);
	}
}

static bool
is_sure(const Pass *pass, int query, int64 many)
{
	const HyTopK *best = &pass->best[query];
	const HyTopK *found = &pass->answers[query];
	const HyNeighbor *last;
	double least;

	if (best->count < many)
		return true; /* the store has no more entries */
	if (found->count < found->k)
		return false;
	last = &best->items[best->count - 1];
	least = least_distance(pass, query, last->distance);
	if (found->items[0].distance != least)
		return found->items[0].distance < least;
	return pass->outliers.others.residual == 0 && found->items[0].row >> 16 < last->row >> 16;
}

/*
 * may_hide: return whether some row may belong to the results although it can never become a
 * candidate. With cosine, this happens if the row's copy was rounded to zeros and therefore has no
 * distance.
 */
static bool
may_hide(const Pass *pass, int query)
{
	return pass->candidates->metric == HY_METRIC_COSINE && pass->outliers.others.residual != 0 &&
	       pass->probes[query].norm != 0 && least_distance(pass, query, 2) <= 0;
}
