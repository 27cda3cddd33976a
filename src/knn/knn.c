/*
 * knn.c
 *		hybrid_knn: the exact nearest rows of a relation for many queries at once.
 *
 * Rows are read once and gathered into packed batches, of a size that the dispatcher learns
 * (dispatch/accumulator.h); each batch goes through it as one fused search for all queries, and its
 * answers enter a bounded heap for each query.  The heaps are
 * ordered by (distance, tid), so neither the size of a batch nor the order of the rows matters.
 * When the heaps of all queries would not fit work_mem, the queries are taken in groups, each with
 * a pass of its own over the rows.
 */
#include "postgres.h"

#include "core/topk.h"
#include "dispatch/accumulator.h"
#include "fmgr.h"
#include "funcapi.h"
#include "knn/rows.h"
#include "miscadmin.h"
#include "server/executor.h"
#include "server/report.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

#define FIRST_BYTES (256 * 1024)

PG_FUNCTION_INFO_V1(hybrid_knn);

/* Queries: all of one length, packed. */
typedef struct Queries
{
	int count;
	int dims;
	float *x;
} Queries;

/* Search: one group of queries on its way through the rows. */
typedef struct Search
{
	HyMetric metric;
	int dims;
	int32 k;
	int queries;
	HyTopK *best;       /* a heap for each query, rows are encoded tids */
	MemoryContext pass; /* of all that lives as long as the group */

	HyAccumulator gathered;
	int64 capacity; /* rows that there is room for */
	float *batch;
	int64 *tids;
	bool ordered;      /* the tids of the batch ascend */
	HyNeighbor *found; /* queries * the smaller of k and capacity */
	int32 *counts;     /* queries */
	const float *x;    /* the group's queries */
} Search;

/* TidAndRow: where a row of the batch belongs. */
typedef struct TidAndRow
{
	int64 tid;
	int64 row;
} TidAndRow;

static void unpack_queries(ArrayType *array, Queries *queries);
static void check_k(int32 k);
static int group_size(int32 k, int queries);
static bool take_none(void *arg, ItemPointer tid, const HybridVector *vector);
static void search_group(Search *search, HybridRows *rows);
static bool take_row(void *arg, ItemPointer tid, const HybridVector *vector);
static void make_room(Search *search);
static void order_batch(Search *search);
static int compare_tids(const void *a, const void *b);
static void flush_batch(Search *search, HyFlush cause);
static void put_results(FunctionCallInfo fcinfo, Search *search, int first);

static inline int64
encode_tid(ItemPointer tid)
{
	return ((int64) ItemPointerGetBlockNumberNoCheck(tid) << 16) |
	       ItemPointerGetOffsetNumberNoCheck(tid);
}

Datum
hybrid_knn(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"rel", "col", "queries", "k", "metric"};
	MemoryContext context;
	MemoryContext previous;
	HybridRows *rows = NULL;
	Search search;
	Queries queries;
	int group;
	int first;
	int i;

	for (i = 0; i < 5; i++)
	{
		if (PG_ARGISNULL(i))
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			                errmsg("%s must not be NULL", names[i])));
	}
	InitMaterializedSRF(fcinfo, 0);
	context = AllocSetContextCreate(CurrentMemoryContext, "hybrid_knn", ALLOCSET_DEFAULT_SIZES);
	previous = MemoryContextSwitchTo(context);

	search.metric = hybrid_parse_metric(text_to_cstring(PG_GETARG_TEXT_PP(4)));
	search.k = PG_GETARG_INT32(3);
	check_k(search.k);
	unpack_queries(PG_GETARG_ARRAYTYPE_P(2), &queries);
	search.dims = queries.dims;

	rows = hybrid_rows_open(PG_GETARG_OID(0), NameStr(*PG_GETARG_NAME(1)),
	                        ARR_ELEMTYPE(PG_GETARG_ARRAYTYPE_P(2)),
	                        PG_ARGISNULL(5) ? NULL : text_to_cstring(PG_GETARG_TEXT_PP(5)));
	/* even for no queries a relation that cannot be read is told */
	if (queries.count == 0)
		hybrid_rows_read(rows, take_none, NULL);
	group = group_size(search.k, queries.count);
	for (first = 0; first < queries.count; first += group)
	{
		search.pass = AllocSetContextCreate(context, "hybrid_knn pass", ALLOCSET_DEFAULT_SIZES);
		MemoryContextSwitchTo(search.pass);
		search.queries = Min(group, queries.count - first);
		search.x = queries.x + (Size) first * queries.dims;
		search_group(&search, rows);
		put_results(fcinfo, &search, first);
		MemoryContextSwitchTo(context);
		MemoryContextDelete(search.pass);
	}
	hybrid_rows_close(rows);
	MemoryContextSwitchTo(previous);
	MemoryContextDelete(context);
	return (Datum) 0;
}

static void
unpack_queries(ArrayType *array, Queries *queries)
{
	Datum *elements;
	bool *nulls;
	int16 typlen;
	bool typbyval;
	char typalign;
	int i;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
		        (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
		         errmsg("queries must be an array of one dimension, not %d", ARR_NDIM(array))));
	get_typlenbyvalalign(ARR_ELEMTYPE(array), &typlen, &typbyval, &typalign);
	deconstruct_array(array, ARR_ELEMTYPE(array), typlen, typbyval, typalign, &elements, &nulls,
	                  &queries->count);
	queries->dims = 0;
	queries->x = NULL;
	for (i = 0; i < queries->count; i++)
	{
		HybridVector *query;

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			                errmsg("queries must not contain NULL")));
		query = DatumGetHybridVector(elements[i]);
		if (i == 0)
		{
			queries->dims = query->dim;
			queries->x = MemoryContextAllocHuge(CurrentMemoryContext,
			                                    (Size) queries->count * query->dim * sizeof(float));
		}
		else if (query->dim != queries->dims)
			ereport(ERROR,
			        (errcode(ERRCODE_DATA_EXCEPTION),
			         errmsg("different vector dimensions %d and %d", queries->dims, query->dim)));
		memcpy(queries->x + (Size) i * queries->dims, query->x, query->dim * sizeof(float));
		if ((Pointer) query != DatumGetPointer(elements[i]))
			pfree(query);
	}
}

/* A query's heap and its share of a batch's answers must fit half of work_mem. */
static void
check_k(int32 k)
{
	int64 most = (int64) work_mem * 1024 / 2 / (2 * sizeof(HyNeighbor));

	most = Min(most, (int64) (MaxAllocSize / sizeof(HyNeighbor)));
	if (k < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("k must be at least 1, not %d", k)));
	if (k > most)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		                errmsg("k is %d, but work_mem allows at most " INT64_FORMAT, k, most),
		                errhint("Raise \"work_mem\", or sort with ORDER BY.")));
}

static int
group_size(int32 k, int queries)
{
	int64 most = (int64) work_mem * 1024 / 2 / ((int64) k * 2 * sizeof(HyNeighbor));

	return (int) Max(1, Min(most, queries));
}

static void
search_group(Search *search, HybridRows *rows)
{
	HyShape shape = {.op = HY_OP_TOPK,
	                 .dtype = HY_F32,
	                 .metric = search->metric,
	                 .dims = search->dims,
	                 .queries = search->queries,
	                 .k = search->k};
	uint64 row_bytes = sizeof(int64) + search->dims * sizeof(float);
	int i;

	search->capacity = 0;
	search->best = palloc(sizeof(HyTopK) * search->queries);
	for (i = 0; i < search->queries; i++)
		hy_topk_init(&search->best[i], palloc(sizeof(HyNeighbor) * search->k), search->k);
	search->counts = palloc(sizeof(int32) * search->queries);
	hy_accumulator_begin(&search->gathered, hybrid_executor(), &shape, HY_BATCH_TARGETS, row_bytes,
	                     (uint64) work_mem * 1024 / 2);

	hybrid_rows_read(rows, take_row, search);
	flush_batch(search, HY_FLUSH_END);
}

static bool
take_row(void *arg, ItemPointer tid, const HybridVector *vector)
{
	Search *search = (Search *) arg;
	MemoryContext before = MemoryContextSwitchTo(search->pass);
	uint64 row_bytes = sizeof(int64) + search->dims * sizeof(float);
	int64 row;
	HyFlush cause;

	if (vector->dim != search->dims)
		ereport(ERROR,
		        (errcode(ERRCODE_DATA_EXCEPTION),
		         errmsg("different vector dimensions %d and %d", search->dims, vector->dim)));
	if (hy_accumulator_full(&search->gathered, row_bytes) != HY_FLUSH_NONE)
		flush_batch(search, HY_FLUSH_MEMORY);
	row = search->gathered.count;
	if (row == search->capacity)
		make_room(search);
	memcpy(search->batch + row * search->dims, vector->x, search->dims * sizeof(float));
	search->tids[row] = encode_tid(tid);
	search->ordered = row == 0 || (search->ordered && search->tids[row - 1] < search->tids[row]);
	cause = hy_accumulator_add(&search->gathered, row_bytes);
	if (cause != HY_FLUSH_NONE)
		flush_batch(search, cause);
	MemoryContextSwitchTo(before);
	return true;
}

static bool
take_none(void *arg, ItemPointer tid, const HybridVector *vector)
{
	(void) arg;
	(void) tid;
	(void) vector;
	return false;
}

/* Room for the batch as it is to be, at once where that is not much, else by doubling. */
static void
make_room(Search *search)
{
	Size row = search->dims * sizeof(float);
	int64 rows = Max(search->capacity * 2, FIRST_BYTES / (int64) row);

	rows = Min(rows, search->gathered.size);
	rows = Min(rows, (int64) (search->gathered.memory / row));
	rows = Max(rows, search->capacity + 1);
	if (search->capacity == 0)
	{
		search->batch = MemoryContextAllocHuge(CurrentMemoryContext, rows * row);
		search->tids = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(int64) * rows);
		search->found = NULL;
	}
	else
	{
		search->batch = repalloc_huge(search->batch, rows * row);
		search->tids = repalloc_huge(search->tids, sizeof(int64) * rows);
	}
	if (search->found == NULL || search->capacity < search->k)
	{
		if (search->found != NULL)
			pfree(search->found);
		search->found = MemoryContextAllocHuge(
			CurrentMemoryContext, sizeof(HyNeighbor) * search->queries * Min(search->k, rows));
	}
	search->capacity = rows;
}

/*
 * Puts the batch in order of tid: of equal distances a search keeps the first rows, and which they
 * are must not depend on the order in which a query returned them.
 */
static void
order_batch(Search *search)
{
	int64 count = search->gathered.count;
	Size width = search->dims * sizeof(float);
	TidAndRow *order = MemoryContextAllocHuge(CurrentMemoryContext, count * sizeof(TidAndRow));
	float *spare = palloc(width);
	int64 i;

	for (i = 0; i < count; i++)
	{
		order[i].tid = search->tids[i];
		order[i].row = i;
	}
	qsort(order, count, sizeof(TidAndRow), compare_tids);

	/* each cycle of the permutation with one row held aside */
	for (i = 0; i < count; i++)
	{
		int64 place = i;

		search->tids[i] = order[i].tid;
		if (order[i].row == i)
			continue;
		memcpy(spare, search->batch + i * search->dims, width);
		while (order[place].row != i)
		{
			int64 from = order[place].row;

			memcpy(search->batch + place * search->dims, search->batch + from * search->dims,
			       width);
			order[place].row = place;
			place = from;
		}
		memcpy(search->batch + place * search->dims, spare, width);
		order[place].row = place;
	}
	pfree(spare);
	pfree(order);
}

static int
compare_tids(const void *a, const void *b)
{
	int64 x = ((const TidAndRow *) a)->tid;
	int64 y = ((const TidAndRow *) b)->tid;

	return x < y ? -1 : x > y;
}

static void
flush_batch(Search *search, HyFlush cause)
{
	HyTask task = {.op = HY_OP_TOPK, .numeric_class = HY_CLASS_EXACT};
	HyTopKTask *work = &task.u.topk;
	int64 filled = search->gathered.count;
	uint64 ns;
	int i;
	int32 n;

	if (filled == 0)
		return;
	if (!search->ordered)
		order_batch(search);
	work->metric = search->metric;
	work->queries.dtype = HY_F32;
	work->queries.dims = search->dims;
	work->queries.rows = search->queries;
	work->queries.stride = search->dims * sizeof(float);
	work->queries.data = search->x;
	work->targets = work->queries;
	work->targets.rows = filled;
	work->targets.data = search->batch;
	work->k = (int32) Min(search->k, filled);
	work->out = search->found;
	work->counts = search->counts;
	ns = hybrid_run(&task, "find nearest rows");

	for (i = 0; i < search->queries; i++)
	{
		const HyNeighbor *found = search->found + (Size) i * work->k;

		for (n = 0; n < search->counts[i]; n++)
			(void) hy_topk_push(&search->best[i], found[n].distance, search->tids[found[n].row]);
	}
	hy_accumulator_flushed(&search->gathered, hybrid_executor(), cause, ns);
}

static void
put_results(FunctionCallInfo fcinfo, Search *search, int first)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	bool nulls[3] = {false, false, false};
	int i;
	int32 n;

	for (i = 0; i < search->queries; i++)
	{
		HyTopK *best = &search->best[i];

		CHECK_FOR_INTERRUPTS();
		hy_topk_sort(best);
		for (n = 0; n < best->count; n++)
		{
			ItemPointerData tid;
			Datum values[3];

			ItemPointerSet(&tid, (BlockNumber) (best->items[n].row >> 16),
			               (OffsetNumber) (best->items[n].row & 0xffff));
			values[0] = Int32GetDatum(first + i + 1);
			values[1] = PointerGetDatum(&tid);
			values[2] = Float8GetDatum(best->items[n].distance);
			tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
		}
	}
}
