/*
 * nearest.c
 *		Finds the k nearest rows of a relation: see nearest.h.
 *
 * If a search of the store leaves the results of some queries uncertain, the search is repeated for
 * these queries with four times as many candidates. Repetition stops when more candidates cannot
 * help or would exceed work_mem. The remaining queries are then answered from the table.
 */
#include "postgres.h"

#include "access/genam.h"
#include "catalog/namespace.h"
#include "knn/approximate.h"
#include "knn/candidates.h"
#include "knn/nearest.h"
#include "knn/search.h"
#include "miscadmin.h"
#include "server/position.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#define GROWTH 4
#define AHEAD_ROWS 16 /* rows read at a time while other threads search */
/* maximum number of queries at once: arrays take at most 64 bytes per query, and palloc allows MaxAllocSize */
#define MOST_QUERIES (MaxAllocSize / 64)

struct HybridTarget
{
	HybridTargetOptions options;
	HybridRows *rows;
	HybridCandidates store; /* store.index is NULL if there is no store */
	HybridProgress progress;

	bool searched;

	/* statistics of the searches in the store */
	int64 queries;
	int64 again;      /* queries searched again with more candidates, counted each time */
	int64 from_table; /* queries that were finally answered from the table */
};

/* Feed: a search whose rows come from the table. */
typedef struct Feed
{
	HybridTarget *target;
	HybridSearch search;
} Feed;

/* Open: queries whose results are not certain yet. */
typedef struct Open
{
	HybridQueries queries; /* vectors of the queries, packed */
	HyTopK *answers;
	int *which; /* index of each open query among all queries */
	bool *sure;
} Open;

static void find_codes(HybridTarget *target);
static bool uses_store(const HybridTarget *target, int dims);
static bool is_same_column(const HybridTarget *target, const HybridRows *rows);
static Size memory_for_queries(void);
static void search_store(HybridTarget *target, const HybridQueries *queries, HyTopK *answers);
static int keep_uncertain(Open *open, const float *callers);
static void search_table(HybridTarget *target, const HybridQueries *queries, HyTopK *answers);
static bool feed_row(void *arg, const HybridRow *row);
static bool read_ahead(void *arg);
static bool feed_row_ahead(void *arg, const HybridRow *row);
static void check_dims(const Feed *feed, const HybridRow *row);
static bool take_none(void *arg, const HybridRow *row);
static void tell_progress(void *arg);

void
hybrid_check_k(int32 k)
{
	hybrid_check_k_plus(k, 0);
}

void
hybrid_check_k_plus(int32 k, int32 besides)
{
	/* A query's heap and its share of a batch's results must fit half of work_mem. */
	int64 most = (int64) (memory_for_queries() / (2 * sizeof(HyNeighbor)));

	most = Min(most, (int64) (MaxAllocSize / sizeof(HyNeighbor))) - besides;
	if (k < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("k must be at least 1, not %d", k)));
	if (k > most)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		                errmsg("k is %d, but work_mem allows at most " INT64_FORMAT, k, most),
		                errhint("Raise \"work_mem\", or sort with ORDER BY.")));
}

HybridTarget *
hybrid_target_open(Oid relid, const char *column, const HybridVectorTypes *types,
                   const HybridTargetOptions *options)
{
	HybridTarget *target = palloc0(sizeof(HybridTarget));

	target->options = *options;
	target->rows = hybrid_rows_open(relid, column, types, options->filter, options->id_column);
	hybrid_rows_report_fetched(target->rows, options->what);
	hybrid_progress_begin(&target->progress, options->what);
	target->store.rows = target->rows;
	target->store.metric = options->metric;
	target->store.k = options->k;
	target->store.progress = &target->progress;
	if (options->recall < 1)
		find_codes(target);
	if (target->store.index == NULL)
		(void) hybrid_find_store(target->rows, options->metric, false, &target->store);
	return target;
}

/*
 * find_codes: begin an approximate search of an index by codes, the quantized copies of its vectors. Raises if the
 * rows must be read by a query, or if there is no index for this metric. If the filter allows few rows, leaves
 * store->index NULL, for an exact search.
 */
static void
find_codes(HybridTarget *target)
{
	HybridCandidates *store = &target->store;
	const HybridTargetOptions *options = &target->options;
	AttrNumber attnum;
	Relation table = hybrid_rows_table(target->rows, &attnum);

	if (table == NULL)
		ereport(ERROR,
		        (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		         errmsg("%s cannot use an index of this relation for this user", options->what),
		         errdetail("Its rows are read by a query, because it is not a table, or "
		                   "because row security or privileges on columns apply."),
		         errhint("Leave out \"recall\", so that the result is exact.")));
	if (!hybrid_find_store(target->rows, options->metric, true, store))
	{
		const char *column = get_attname(RelationGetRelid(table), attnum, false);
		const char *type = hybrid_rows_dtype(target->rows) == HY_F32 ? "vector" : "halfvec";
		const char *schema = RelationIsVisible(RelationGetRelid(table))
		                         ? NULL
		                         : get_namespace_name(RelationGetNamespace(table));

		ereport(ERROR,
		        (errcode(ERRCODE_UNDEFINED_OBJECT),
		         errmsg("%s finds no hybrid index on column \"%s\" of \"%s\" with metric %s",
		                options->what, column, RelationGetRelationName(table),
		                hy_metric_name(options->metric)),
		         errdetail("The index must be valid, without an expression or a condition, and not "
		                   "newer than the snapshot."),
		         errhint("CREATE INDEX ON %s USING hybrid (%s %s_%s_ops), or leave out \"recall\".",
		                 quote_qualified_identifier(schema, RelationGetRelationName(table)),
		                 quote_identifier(column), type, hy_metric_name(options->metric))));
	}
	if (!hybrid_few_allowed(target->rows, &store->shape))
	{
		store->recall = options->recall;
		store->search =
			hybrid_searches()->begin(store->index, GetActiveSnapshot(), options->recall);
		return;
	}
	index_close(store->index, NoLock);
	store->index = NULL;
}

int
hybrid_target_group(const HybridTarget *target, int dims, Size beside)
{
	Size each = (Size) target->options.k * 2 * sizeof(HyNeighbor);

	if (uses_store(target, dims))
		each = Max(
			each, hybrid_candidates_bytes(&target->store, hybrid_candidates_first(&target->store)));
	return (int) Max(1, Min(memory_for_queries() / (each + beside), MOST_QUERIES));
}

void
hybrid_target_range(HybridTarget *target, double from, double to)
{
	hybrid_progress_range(&target->progress, from, to);
}

void
hybrid_target_read(const HybridTarget *target, HybridRows *rows, HybridTakeRow take, void *arg)
{
	if (hybrid_target_candidates(target, rows) != NULL)
		hybrid_approximate_read(&target->store, rows, take, arg);
	else
		hybrid_rows_read(rows, take, arg);
}

const HybridCandidates *
hybrid_target_candidates(const HybridTarget *target, const HybridRows *rows)
{
	return target->store.search != NULL && is_same_column(target, rows) ? &target->store : NULL;
}

HyTopK *
hybrid_nearest(HybridTarget *target, const HybridQueries *queries)
{
	int32 k = target->options.k;
	HyTopK *answers = palloc(sizeof(HyTopK) * queries->count);
	int i;

	for (i = 0; i < queries->count; i++)
		hy_topk_init(&answers[i],
		             MemoryContextAllocHuge(CurrentMemoryContext, sizeof(HyNeighbor) * k), k);
	target->searched = true;
	if (uses_store(target, queries->dims))
	{
		search_store(target, queries, answers);
		target->queries += queries->count;
	}
	else
		search_table(target, queries, answers);
	for (i = 0; i < queries->count; i++)
		hybrid_sort_answers(&answers[i]);
	return answers;
}

void
hybrid_target_close(HybridTarget *target)
{
	if (!target->searched)
	{
		hybrid_rows_report_fetched(target->rows, NULL);
		hybrid_rows_read(target->rows, take_none, NULL);
	}
	if (target->queries > 0)
		ereport(DEBUG1,
		        (errmsg_internal(
					"%s: %lld queries from index \"%s\", %lld searches repeated for more "
					"candidates, %lld queries from the table",
					target->options.what, (long long) (target->queries - target->from_table),
					RelationGetRelationName(target->store.index), (long long) target->again,
					(long long) target->from_table)));
	if (target->store.search != NULL)
		hybrid_searches()->end(target->store.search);
	if (target->store.index != NULL)
		index_close(target->store.index, NoLock);
	hybrid_rows_close(target->rows);
	pfree(target);
}

/*
 * uses_store: return whether to search the store first. If `dims` differs from the dimensions of the store, the
 * table is searched, and that search raises the error.
 */
static bool
uses_store(const HybridTarget *target, int dims)
{
	return target->store.index != NULL && target->store.shape.dims == dims &&
	       hybrid_candidates_bytes(&target->store, hybrid_candidates_first(&target->store)) <=
	           memory_for_queries();
}

/* is_same_column: return whether `rows` reads the searched column directly from the table. */
static bool
is_same_column(const HybridTarget *target, const HybridRows *rows)
{
	AttrNumber ours;
	AttrNumber theirs;
	Relation table = hybrid_rows_table(rows, &theirs);

	return table != NULL &&
	       RelationGetRelid(table) == RelationGetRelid(hybrid_rows_table(target->rows, &ours)) &&
	       ours == theirs;
}

/* memory_for_queries: return half of work_mem in bytes. The other half is for batches of rows. */
static Size
memory_for_queries(void)
{
	return (Size) work_mem * 1024 / 2;
}

static void
search_store(HybridTarget *target, const HybridQueries *queries, HyTopK *answers)
{
	const HybridCandidates *store = &target->store;
	int64 many = hybrid_candidates_first(store);
	Open open = {.queries = *queries};
	int left = queries->count;
	int i;

	open.answers = palloc(sizeof(HyTopK) * left);
	open.which = palloc(sizeof(int) * left);
	open.sure = palloc(sizeof(bool) * left);
	for (i = 0; i < left; i++)
	{
		open.which[i] = i;
		open.answers[i] = answers[i];
	}
	for (;;)
	{
		Size each = hybrid_candidates_bytes(store, many);
		int group = (int) Max(1, Min(memory_for_queries() / each, (Size) left));
		bool more_help = true;
		int first;

		for (first = 0; first < left; first += group)
		{
			HybridQueries part = {.count = Min(group, left - first), .dims = queries->dims};

			part.x = open.queries.x + (Size) first * queries->dims;
			if (!hybrid_candidates_search(store, &part, many, open.answers + first,
			                              open.sure + first))
				more_help = false;
		}
		for (i = 0; i < left; i++)
		{
			if (open.sure[i])
				answers[open.which[i]] = open.answers[i];
		}
		left = keep_uncertain(&open, queries->x);
		if (left == 0)
			break;
		many *= GROWTH;
		if (!more_help || many > PG_INT32_MAX ||
		    hybrid_candidates_bytes(store, many) > memory_for_queries())
		{
			target->from_table += left;
			search_table(target, &open.queries, open.answers);
			for (i = 0; i < left; i++)
				answers[open.which[i]] = open.answers[i];
			break;
		}
		target->again += left;
	}
}

/*
 * keep_uncertain: remove the queries whose results are certain, and return the number of remaining
 * queries. The caller's array `callers` must not change. If the queries are still in `callers`, the
 * remaining queries are copied to a new array.
 */
static int
keep_uncertain(Open *open, const float *callers)
{
	Size width = open->queries.dims * sizeof(float);
	float *x = open->queries.x;
	int left = 0;
	int i;

	for (i = 0; i < open->queries.count; i++)
		left += open->sure[i] ? 0 : 1;
	if (left == 0)
		return 0;
	if (x == callers)
		open->queries.x = MemoryContextAllocHuge(CurrentMemoryContext, (Size) left * width);
	left = 0;
	for (i = 0; i < open->queries.count; i++)
	{
		if (open->sure[i])
			continue;
		memmove(open->queries.x + (Size) left * open->queries.dims,
		        x + (Size) i * open->queries.dims, width);
		open->which[left] = open->which[i];
		open->answers[left] = open->answers[i];
		left++;
	}
	open->queries.count = left;
	return left;
}

static void
search_table(HybridTarget *target, const HybridQueries *queries, HyTopK *answers)
{
	Feed feed = {.target = target};
	HyShape shape = {.dtype = hybrid_rows_dtype(target->rows),
	                 .metric = target->options.metric,
	                 .k = target->options.k};
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid batches", ALLOCSET_DEFAULT_SIZES);

	hybrid_search_begin(&feed.search, context, shape, false, queries, answers);
	feed.search.batch_done = tell_progress;
	feed.search.batch_done_arg = target;
	hybrid_search_read_ahead(&feed.search, read_ahead, &feed);
	hybrid_rows_read(target->rows, feed_row, &feed);
	hybrid_search_end(&feed.search);
	MemoryContextDelete(context);
}

static bool
feed_row(void *arg, const HybridRow *row)
{
	Feed *feed = (Feed *) arg;

	check_dims(feed, row);
	hybrid_search_add(&feed->search, row->x, hybrid_position(&row->tid));
	return true;
}

/* read_ahead: read some rows while other threads search. Returns false if there are no more. */
static bool
read_ahead(void *arg)
{
	Feed *feed = (Feed *) arg;

	return hybrid_rows_ahead(feed->target->rows, AHEAD_ROWS, feed_row_ahead, feed);
}

static bool
feed_row_ahead(void *arg, const HybridRow *row)
{
	Feed *feed = (Feed *) arg;

	check_dims(feed, row);
	return hybrid_search_ahead(&feed->search, row->x, hybrid_position(&row->tid));
}

static void
check_dims(const Feed *feed, const HybridRow *row)
{
	if (row->dims != feed->search.queries->dims)
		ereport(ERROR,
		        (errcode(ERRCODE_DATA_EXCEPTION), errmsg("different vector dimensions %d and %d",
		                                                 feed->search.queries->dims, row->dims)));
}

static bool
take_none(void *arg, const HybridRow *row)
{
	(void) arg;
	(void) row;
	return false;
}

static void
tell_progress(void *arg)
{
	HybridTarget *target = (HybridTarget *) arg;

	hybrid_progress_update(&target->progress, hybrid_rows_share(target->rows));
}
