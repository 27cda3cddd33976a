/*
 * nearest_aggregate.c
 *		The aggregate hybrid_nearest: the ids and distances of the nearest rows of each group.
 *
 * The state is a bytea that contains no addresses. PostgreSQL passes it from a parallel worker to the leader as it
 * is, and Citus sends it as text from a shard to the coordinator. It holds the query and the k best rows so far. Rows
 * are ordered by (distance, id), so the result does not depend on how the rows were divided.
 *
 * Layout: the header, the query as stored, the query as floats (only if it is stored in half precision), then the heap.
 * Each part begins at a multiple of MAXIMUM_ALIGNOF. The heap's capacity follows from the size of the bytea.
 *
 * The functions change a state in place, so those that accumulate and combine raise an error outside an aggregate. Any
 * user can define an aggregate with these functions and an arbitrary initial state. Every state is therefore checked
 * before use. A state that passes the check cannot make the functions read or write outside of it.
 */
#include "postgres.h"

#include "access/detoast.h"
#include "access/htup_details.h"
#include "catalog/pg_enum.h"
#include "catalog/pg_type.h"
#include "core/distance.h"
#include "core/topk.h"
#include "fmgr.h"
#include "funcapi.h"
#include "knn/search.h"
#include "miscadmin.h"
#include "server/report.h"
#include "types/vector.h"
#include "utils/array.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

PG_FUNCTION_INFO_V1(hybrid_nearest_vector_accum);
PG_FUNCTION_INFO_V1(hybrid_nearest_halfvec_accum);
PG_FUNCTION_INFO_V1(hybrid_nearest_combine);
PG_FUNCTION_INFO_V1(hybrid_nearest_final);

enum AccumArgument
{
	STATE_ARGUMENT,
	ID_ARGUMENT,
	VECTOR_ARGUMENT,
	QUERY_ARGUMENT,
	K_ARGUMENT,
	METRIC_ARGUMENT /* optional */
};

/* Identifies the layout of a state. A machine of the other byte order reads it as another number. */
#define NEAREST_MAGIC 0x6e727301

#define FIRST_CAPACITY 16 /* entries of a new heap, unless k is smaller */

typedef struct NearestState
{
	int32 vl_len_; /* varlena header (do not touch directly!) */
	uint32 magic;
	int32 k;
	int32 count;
	float norm_sq; /* of the query */
	int16 dims;
	uint8 metric;
	uint8 dtype;
	/* the TOAST pointer that the query was read from; all zero if it was not read from one */
	struct varatt_external source;
} NearestState;

/* Detoasted: the last value of an argument that was read from a TOAST table, and its TOAST pointer. */
typedef struct Detoasted
{
	struct varlena *value; /* NULL: none yet */
	struct varatt_external source;
} Detoasted;

/* NearestCall: what one call site keeps from row to row. A join passes the same vector or query in many rows. */
typedef struct NearestCall
{
	Detoasted vector;
	Detoasted query;
	Oid metric_value; /* OID of an enum value of type hybrid_metric, or InvalidOid */
	HyMetric metric;  /* the metric of metric_value */
} NearestCall;

static Datum accumulate(FunctionCallInfo fcinfo, HyDtype dtype);
static void check_in_aggregate(FunctionCallInfo fcinfo);
static int32 k_argument(FunctionCallInfo fcinfo);
static HyMetric metric_argument(FunctionCallInfo fcinfo, NearestCall *call);
static NearestCall *call_site(FunctionCallInfo fcinfo);
static const HybridDense *
dense_argument(FunctionCallInfo fcinfo, int n, HyDtype dtype, Detoasted *kept);
static bool find_source(Datum value, struct varatt_external *source);
static NearestState *state_argument(FunctionCallInfo fcinfo, int n);
static NearestState *
begin_state(FunctionCallInfo fcinfo, HyDtype dtype, int32 k, HyMetric metric, NearestCall *call);
static void check_query(FunctionCallInfo fcinfo, NearestState *state, NearestCall *call);
static void check_same(const NearestState *state, HyDtype dtype, int32 k, HyMetric metric);
static void check_same_query(NearestState *state, const void *query, int dims);
static double distance_to(NearestState *state, const HybridDense *vector);
static NearestState *push(NearestState *state, double distance, int64 id);
static NearestState *enlarge(NearestState *state);
static Size floats_offset(HyDtype dtype, int dims);
static Size heap_offset(HyDtype dtype, int dims);
static void *query_of(NearestState *state);
static float *floats_of(NearestState *state);
static HyTopK heap_of(NearestState *state);
static int64 capacity_of(const NearestState *state);

Datum
hybrid_nearest_vector_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, HY_F32);
}

Datum
hybrid_nearest_halfvec_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, HY_F16);
}

/*
 * hybrid_nearest_combine: add the rows of the second state to the first. The function is strict, so the executor
 * handles groups without a state.
 */
Datum
hybrid_nearest_combine(PG_FUNCTION_ARGS)
{
	NearestState *state;
	NearestState *other;
	HyTopK rows;
	int32 i;

	check_in_aggregate(fcinfo);
	state = state_argument(fcinfo, 0);
	other = state_argument(fcinfo, 1);
	check_same(state, other->dtype, other->k, other->metric);
	check_same_query(state, query_of(other), other->dims);
	rows = heap_of(other);
	for (i = 0; i < rows.count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		state = push(state, rows.items[i].distance, rows.items[i].row);
	}
	PG_RETURN_POINTER(state);
}

/* hybrid_nearest_final: return the rows of a state as an array, or NULL if there are none. Keeps the state as it is. */
Datum
hybrid_nearest_final(PG_FUNCTION_ARGS)
{
	NearestState *state = state_argument(fcinfo, 0);
	HyTopK rows = heap_of(state);
	Oid type;
	TupleDesc desc;
	Datum *elements;
	ArrayType *result;
	int lower = 1;
	int32 i;

	if (rows.count == 0)
		PG_RETURN_NULL();
	rows.items =
		memcpy(MemoryContextAllocHuge(CurrentMemoryContext, sizeof(HyNeighbor) * (Size) rows.count),
	           rows.items, sizeof(HyNeighbor) * (Size) rows.count);
	hybrid_sort_answers(&rows);

	/* Citus calls this function without an expression, so the type comes from the catalog */
	type = get_element_type(getBaseType(get_func_rettype(fcinfo->flinfo->fn_oid)));
	if (!OidIsValid(type))
		elog(ERROR, "function %u returns no array", fcinfo->flinfo->fn_oid);
	desc = lookup_rowtype_tupdesc(type, -1);
	elements = MemoryContextAllocHuge(CurrentMemoryContext, sizeof(Datum) * (Size) rows.count);
	for (i = 0; i < rows.count; i++)
	{
		Datum values[] = {Int64GetDatum(rows.items[i].row), Float8GetDatum(rows.items[i].distance)};
		bool nulls[] = {false, false};

		CHECK_FOR_INTERRUPTS();
		elements[i] = HeapTupleGetDatum(heap_form_tuple(desc, values, nulls));
	}
	ReleaseTupleDesc(desc);
	result = construct_md_array(elements, NULL, 1, &rows.count, &lower, type, -1, false,
	                            TYPALIGN_DOUBLE);
	PG_RETURN_ARRAYTYPE_P(result);
}

static Datum
accumulate(FunctionCallInfo fcinfo, HyDtype dtype)
{
	NearestState *state = NULL;
	NearestCall *call;
	const HybridDense *vector;
	int32 k;
	HyMetric metric;

	check_in_aggregate(fcinfo);
	call = call_site(fcinfo);
	k = k_argument(fcinfo);
	metric = metric_argument(fcinfo, call);
	if (!PG_ARGISNULL(STATE_ARGUMENT))
		state = state_argument(fcinfo, STATE_ARGUMENT);
	/* a NULL has no distance; an outer join returns such a row for a query without rows */
	if (PG_ARGISNULL(VECTOR_ARGUMENT) || PG_ARGISNULL(QUERY_ARGUMENT))
	{
		if (state == NULL)
			PG_RETURN_NULL();
		PG_RETURN_POINTER(state);
	}
	if (PG_ARGISNULL(ID_ARGUMENT))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
		                errmsg("id must not be NULL in a row that has a vector")));

	if (state == NULL)
		state = begin_state(fcinfo, dtype, k, metric, call);
	else
	{
		check_same(state, dtype, k, metric);
		check_query(fcinfo, state, call);
	}
	vector = dense_argument(fcinfo, VECTOR_ARGUMENT, dtype, &call->vector);
	state = push(state, distance_to(state, vector), PG_GETARG_INT64(ID_ARGUMENT));
	PG_RETURN_POINTER(state);
}

static void
check_in_aggregate(FunctionCallInfo fcinfo)
{
	if (!AggCheckCallContext(fcinfo, NULL))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		                errmsg("only an aggregate can call the functions of hybrid_nearest")));
}

static int32
k_argument(FunctionCallInfo fcinfo)
{
	int32 k;

	if (PG_ARGISNULL(K_ARGUMENT))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("k must not be NULL")));
	k = PG_GETARG_INT32(K_ARGUMENT);
	if (k < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("k must be at least 1, not %d", k)));
	return k;
}

/* metric_argument: return the metric that the enum value stands for. */
static HyMetric
metric_argument(FunctionCallInfo fcinfo, NearestCall *call)
{
	HeapTuple tuple;
	Oid value;

	if (PG_NARGS() <= METRIC_ARGUMENT)
		return HY_METRIC_L2;
	if (PG_ARGISNULL(METRIC_ARGUMENT))
		ereport(ERROR,
		        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("metric must not be NULL")));
	value = PG_GETARG_OID(METRIC_ARGUMENT);
	if (value != call->metric_value)
	{
		tuple = SearchSysCache1(ENUMOID, ObjectIdGetDatum(value));
		if (!HeapTupleIsValid(tuple))
			elog(ERROR, "cache lookup failed for enum value %u", value);
		call->metric = hybrid_parse_metric(NameStr(((Form_pg_enum) GETSTRUCT(tuple))->enumlabel));
		ReleaseSysCache(tuple);
		call->metric_value = value;
	}
	return call->metric;
}

static NearestCall *
call_site(FunctionCallInfo fcinfo)
{
	FmgrInfo *function = fcinfo->flinfo;

	if (function->fn_extra == NULL)
		function->fn_extra = MemoryContextAllocZero(function->fn_mcxt, sizeof(NearestCall));
	return function->fn_extra;
}

/*
 * dense_argument: return a detoasted argument. A value from a TOAST table is kept for the next row, because fetching it
 * takes many times as long as computing a distance. Within one statement, a TOAST pointer identifies its value.
 */
static const HybridDense *
dense_argument(FunctionCallInfo fcinfo, int n, HyDtype dtype, Detoasted *kept)
{
	Datum value = PG_GETARG_DATUM(n);
	struct varatt_external source;
	MemoryContext before;

	if (!find_source(value, &source))
		return DatumGetHybridDense(value, dtype);
	if (kept->value == NULL || memcmp(&kept->source, &source, sizeof(source)) != 0)
	{
		if (kept->value != NULL)
			pfree(kept->value);
		kept->value = NULL;
		before = MemoryContextSwitchTo(fcinfo->flinfo->fn_mcxt);
		kept->value = PG_DETOAST_DATUM(value);
		MemoryContextSwitchTo(before);
		kept->source = source;
	}
	return hybrid_dense_checked(kept->value, dtype);
}

/* find_source: return whether a value lies in a TOAST table. Stores its TOAST pointer in *source, or zeros. */
static bool
find_source(Datum value, struct varatt_external *source)
{
	memset(source, 0, sizeof(*source));
	if (!VARATT_IS_EXTERNAL_ONDISK(DatumGetPointer(value)))
		return false;
	VARATT_EXTERNAL_GET_POINTER(*source, (struct varlena *) DatumGetPointer(value));
	return true;
}

/*
 * state_argument: return the state in argument n, checked and aligned: the argument itself or a copy of it. Raises
 * ERRCODE_DATA_CORRUPTED if the argument is not a valid state.
 */
static NearestState *
state_argument(FunctionCallInfo fcinfo, int n)
{
	NearestState *state = (NearestState *) PG_GETARG_BYTEA_P(n);
	Size size = VARSIZE(state);

	/* a bytea in a tuple may have any multiple of 4 as its address */
	if (state != (NearestState *) MAXALIGN(state))
		state = memcpy(palloc(size), state, size);
	if (size < sizeof(NearestState) || state->magic != NEAREST_MAGIC || state->dims < 1 ||
	    state->dims > HYBRID_MAX_DIM || state->metric >= HY_METRIC_COUNT ||
	    state->dtype >= HY_DTYPE_COUNT || state->k < 1 || state->count < 0 ||
	    state->count > state->k || size < heap_offset(state->dtype, state->dims) ||
	    state->count > capacity_of(state))
		ereport(
			ERROR,
			(errcode(ERRCODE_DATA_CORRUPTED),
		     errmsg("damaged state of hybrid_nearest, of %zu bytes", size),
		     errhint("All servers that work on one statement must have the same version of hybrid "
		             "and the same byte order.")));
	return state;
}

/* begin_state: return the state of a group without rows, for the query of this call. */
static NearestState *
begin_state(FunctionCallInfo fcinfo, HyDtype dtype, int32 k, HyMetric metric, NearestCall *call)
{
	const HybridDense *query = dense_argument(fcinfo, QUERY_ARGUMENT, dtype, &call->query);
	Size size = heap_offset(dtype, query->dim) + sizeof(HyNeighbor) * Min(k, FIRST_CAPACITY);
	NearestState *state = palloc0(size);

	SET_VARSIZE(state, size);
	state->magic = NEAREST_MAGIC;
	state->k = k;
	state->dims = query->dim;
	state->metric = (uint8) metric;
	state->dtype = (uint8) dtype;
	(void) find_source(PG_GETARG_DATUM(QUERY_ARGUMENT), &state->source);
	memcpy(query_of(state), query->x, hy_dtype_size(dtype) * (Size) query->dim);
	if (dtype == HY_F16)
		hy_kernels()->widen_f16(floats_of(state), query_of(state), query->dim);
	if (metric == HY_METRIC_COSINE)
		state->norm_sq = hy_norm_sq(HY_F32, floats_of(state), query->dim);
	return state;
}

/* check_query: raise unless the query of this call is the query of the state. */
static void
check_query(FunctionCallInfo fcinfo, NearestState *state, NearestCall *call)
{
	const HybridDense *query;
	struct varatt_external source;

	if (find_source(PG_GETARG_DATUM(QUERY_ARGUMENT), &source) &&
	    memcmp(&source, &state->source, sizeof(source)) == 0)
		return;
	query = dense_argument(fcinfo, QUERY_ARGUMENT, state->dtype, &call->query);
	check_same_query(state, query->x, query->dim);
}

/* check_same: raise unless the state has this type, k and metric. */
static void
check_same(const NearestState *state, HyDtype dtype, int32 k, HyMetric metric)
{
	if (state->k != k)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("k must be the same in all rows of a group, not %d and %d", state->k, k)));
	if (state->metric != metric)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("metric must be the same in all rows of a group, not %s and %s",
		                       hy_metric_name(state->metric), hy_metric_name(metric))));
	/* never true for hybrid_nearest, but possible in other aggregates with these functions */
	if (state->dtype != dtype)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("query must have the same type in all rows of a group")));
}

static void
check_same_query(NearestState *state, const void *query, int dims)
{
	if (state->dims != dims ||
	    memcmp(query_of(state), query, hy_dtype_size(state->dtype) * (Size) dims) != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("query must be the same in all rows of a group"),
		                errhint("Group by the query, or by the id of its row.")));
}

static double
distance_to(NearestState *state, const HybridDense *vector)
{
	if (vector->dim != state->dims)
		ereport(ERROR,
		        (errcode(ERRCODE_DATA_EXCEPTION),
		         errmsg("different %s dimensions %d and %d",
		                state->dtype == HY_F32 ? "vector" : "halfvec", vector->dim, state->dims)));
	if (state->metric == HY_METRIC_COSINE)
		return hy_cosine_to(floats_of(state), state->norm_sq, state->dtype, vector->x, state->dims);
	return hy_distance_to(state->metric, floats_of(state), state->dtype, vector->x, state->dims);
}

/* push: offer a row to the heap. Returns the state, which is a new one if the heap was full and has grown. */
static NearestState *
push(NearestState *state, double distance, int64 id)
{
	HyTopK heap;

	if (state->count < state->k && state->count == capacity_of(state))
		state = enlarge(state);
	heap = heap_of(state);
	(void) hy_topk_push(&heap, distance, id);
	state->count = heap.count;
	return state;
}

/* enlarge: return a copy of the state with twice the capacity, at most k. */
static NearestState *
enlarge(NearestState *state)
{
	Size before = VARSIZE(state);
	Size fixed = heap_offset(state->dtype, state->dims);
	int64 most = (int64) ((MaxAllocSize - fixed) / sizeof(HyNeighbor));
	int64 capacity = Min(Max(2 * capacity_of(state), FIRST_CAPACITY), Min(state->k, most));
	NearestState *larger;

	if (capacity <= state->count)
		ereport(ERROR,
		        (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		         errmsg("hybrid_nearest cannot keep more than " INT64_FORMAT " rows of a group",
		                most)));
	larger = palloc(fixed + sizeof(HyNeighbor) * (Size) capacity);
	memcpy(larger, state, before);
	memset((char *) larger + before, 0, fixed + sizeof(HyNeighbor) * (Size) capacity - before);
	SET_VARSIZE(larger, fixed + sizeof(HyNeighbor) * (Size) capacity);
	return larger;
}

/* floats_offset, heap_offset: return the offset of the second or the third part of a state. */
static Size
floats_offset(HyDtype dtype, int dims)
{
	return MAXALIGN(sizeof(NearestState)) + MAXALIGN(hy_dtype_size(dtype) * (Size) dims);
}

static Size
heap_offset(HyDtype dtype, int dims)
{
	return floats_offset(dtype, dims) + (dtype == HY_F32 ? 0 : MAXALIGN(sizeof(float) * dims));
}

static void *
query_of(NearestState *state)
{
	return (char *) state + MAXALIGN(sizeof(NearestState));
}

static float *
floats_of(NearestState *state)
{
	if (state->dtype == HY_F32)
		return query_of(state);
	return (float *) (void *) ((char *) state + floats_offset(state->dtype, state->dims));
}

static HyTopK
heap_of(NearestState *state)
{
	return (HyTopK){
		.items = (HyNeighbor *) (void *) ((char *) state + heap_offset(state->dtype, state->dims)),
		.k = state->k,
		.count = state->count};
}

static int64
capacity_of(const NearestState *state)
{
	return (int64) ((VARSIZE(state) - heap_offset(state->dtype, state->dims)) / sizeof(HyNeighbor));
}
