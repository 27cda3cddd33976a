/*
 * candidates.c
 *		Nearest rows by way of an index's store: see candidates.h.
 *
 * An entry may belong to a row that the snapshot does not see, names the root of a chain of versions
 * where the answer needs the visible one, and in a float16 store is only near the vector that was
 * given.  So a search of the store asks for more than k entries, and the nearest of them are looked
 * up in the table, each of them once: dead ones fall out, and where the store is lossy the distance
 * is computed again from the row itself.
 *
 * Of the entries that did not become candidates we know that they are no nearer than the farthest
 * candidate, by (distance to the stored vector, root position).  The answer is certain when the k-th
 * nearest row found is nearer than the least distance that an entry at that candidate's place can
 * have.  Where nothing is lost and distances tie there, positions decide: the others' roots lie
 * behind, and a version lies on the page of its root, so it is enough that the k-th lies on an
 * earlier page.
 *
 * Why a store misses no row that a snapshot sees: index/README.md.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "catalog/pg_am.h"
#include "catalog/pg_index.h"
#include "core/distance.h"
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
#define READ_ROWS 64     /* entries read at a time, so that batch_wait is heeded */
#define LEAST_SHARE 0.25 /* of the rows that a filter lets through, for a store to be worth it */

/* Pass: one search of the store. */
typedef struct Pass
{
	const HybridCandidates *candidates;
	const HybridQueries *queries;
	HyTopK *best; /* a query's candidates; rows are positions of roots */
	HyTopK *answers;
	HybridOutliers outliers;
	HybridStore *store;
	HybridProbe *probes; /* of lossy stores */
} Pass;

/* Wanted: a candidate that is to be looked up. */
typedef struct Wanted
{
	int64 root; /* first, for hybrid_compare_positions */
	int32 query;
	int32 candidate; /* OUTLIER: none of them */
} Wanted;

static bool may_use(const HybridRows *rows, Relation index, AttrNumber attnum, HyMetric metric,
                    HybridStoreShape *shape);
static bool is_better(const HybridStoreShape *a, const HybridStoreShape *b);
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
hybrid_find_store(const HybridRows *rows, HyMetric metric, HybridCandidates *candidates)
{
	AttrNumber attnum;
	Relation table = hybrid_rows_table(rows, &attnum);
	List *indexes;
	ListCell *cell;

	candidates->index = NULL;
	/* another kind of table may have other positions than pages */
	if (table == NULL || table->rd_rel->relam != HEAP_TABLE_AM_OID || hybrid_stores() == NULL ||
	    !enable_indexscan || !RelationGetForm(table)->relhasindex)
		return false;
	indexes = RelationGetIndexList(table);
	foreach (cell, indexes)
	{
		Relation index = index_open(lfirst_oid(cell), AccessShareLock);
		HybridStoreShape shape;

		if (may_use(rows, index, attnum, metric, &shape) &&
		    (candidates->index == NULL || is_better(&shape, &candidates->shape)))
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

/* may_use: as the planner does in get_relation_info(), and what a store needs besides. */
static bool
may_use(const HybridRows *rows, Relation index, AttrNumber attnum, HyMetric metric,
        HybridStoreShape *shape)
{
	const HybridTidSet *filter = hybrid_rows_filter(rows);
	Form_pg_index form = index->rd_index;

	if (!form->indisvalid || !form->indisready || !form->indislive)
		return false;
	if (form->indcheckxmin &&
	    !TransactionIdPrecedes(HeapTupleHeaderGetXmin(index->rd_indextuple->t_data),
	                           TransactionXmin))
		return false;
	/* 0 for an expression */
	if (form->indnatts != 1 || form->indkey.values[0] != attnum ||
	    !heap_attisnull(index->rd_indextuple, Anum_pg_index_indpred, NULL))
		return false;
	if (!hybrid_stores()->describe(index, shape))
		return false;
	/* zero vectors have no entry there */
	if (shape->metric == HY_METRIC_COSINE && metric != HY_METRIC_COSINE)
		return false;
	/* few rows are sooner fetched one by one */
	return filter == NULL || filter->count >= LEAST_SHARE * shape->places;
}

static bool
is_better(const HybridStoreShape *a, const HybridStoreShape *b)
{
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

	if (filter != NULL && filter->count < candidates->shape.places)
		first = (int64) (first * ((double) candidates->shape.places / Max(filter->count, 1)));
	return first;
}

Size
hybrid_candidates_bytes(const HybridCandidates *candidates, int64 many)
{
	/* what a batch finds, what is kept of it, what is looked up, and the answer */
	Size bytes = (Size) many * (3 * sizeof(HyNeighbor) + sizeof(Wanted));

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

/* read_store: into the candidates' heaps. */
static void
read_store(Pass *pass, int64 many)
{
	const HybridCandidates *candidates = pass->candidates;
	const HybridStoreMethods *stores = hybrid_stores();
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid batches", ALLOCSET_DEFAULT_SIZES);
	HybridSearch search;
	HybridUnits units;

	pass->store = stores->begin(candidates->index, GetActiveSnapshot());
	hybrid_search_begin(&search, context, candidates->metric, candidates->shape.dtype, true,
	                    pass->queries, (int32) many, pass->best);
	search.went = tell_progress;
	search.went_arg = pass;
	hybrid_units_begin(&units, &search, pass->store, &candidates->shape, &pass->outliers,
	                   candidates->metric);
	while (hybrid_units_next(&units))
		read_entries(pass, &search);
	hybrid_search_end(&search);
	stores->end(pass->store);
	MemoryContextDelete(context);
}

/* read_entries: into batches, until the store says that this is all. */
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

	hybrid_progress_tell(pass->candidates->progress, hybrid_stores()->share(pass->store));
}

/* least_distance: of a row, no outlier, whose stored vector is so far from the query. */
static double
least_distance(const Pass *pass, int query, double distance)
{
	const HybridLoss *loss = &pass->outliers.others;

	if (loss->residual == 0)
		return distance;
	return hybrid_stores()->lower_bound(&pass->probes[query], distance, loss->norm, loss->residual);
}

/*
 * look_up: fills the answers.  First the outliers and the k nearest candidates of each query, which
 * are all that matters as a rule; then those that may still be nearer than what was found.  Each time
 * in the order of the table, so that a page is visited once.
 */
static void
look_up(Pass *pass)
{
	const HybridCandidates *candidates = pass->candidates;
	AttrNumber attnum;
	Relation table = hybrid_rows_table(candidates->rows, &attnum);
	HybridFetch *fetch = hybrid_fetch_begin(table, attnum, hybrid_rows_filter(candidates->rows));
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

/* want_candidates: those of a query from first on, before end, that are no outliers; how many. */
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
		return true; /* there was no entry more */
	if (found->count < found->k)
		return false;
	last = &best->items[best->count - 1];
	least = least_distance(pass, query, last->distance);
	if (found->items[0].distance != least)
		return found->items[0].distance < least;
	return pass->outliers.others.residual == 0 && found->items[0].row >> 16 < last->row >> 16;
}

/*
 * may_hide: whether a row may have an answer's distance although its copy has none, since there is
 * nothing left of it, and so is no candidate however many there are.
 */
static bool
may_hide(const Pass *pass, int query)
{
	return pass->candidates->metric == HY_METRIC_COSINE && pass->outliers.others.residual != 0 &&
	       pass->probes[query].norm != 0 && least_distance(pass, query, 2) <= 0;
}
