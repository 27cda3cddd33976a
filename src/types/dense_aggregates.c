/*
 * dense_aggregates.c
 *		The aggregates avg and sum of vector and halfvec.
 *
 * The state is a float8 array: the number of values, then the sum of each element. Before the first
 * value it is {0}. Sums are computed in fp64, so the order of the rows or a parallel plan usually
 * changes at most the last bit of the result. A sum overflows only if its final value does not fit
 * the type. Intermediate values may exceed the type's range.
 *
 * Inside an aggregate, accumulate and combine change the state in place, unless it has no elements
 * yet. Called directly from SQL, all these functions may get any array. They therefore check the
 * array, and outside an aggregate they return a new one.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/float.h"

#include "types/dense.h"

/* Mismatch: which message to raise if a value differs in dimensions from the earlier values. */
typedef enum Mismatch
{
	MISMATCH_EXPECTED, /* the message of a column with a type modifier */
	MISMATCH_DIFFERENT /* the message of an operator on two values */
} Mismatch;

static Datum accumulate(FunctionCallInfo fcinfo, const HybridDenseType *type, const char *caller,
                        Mismatch mismatch);
static Datum combine(FunctionCallInfo fcinfo, const HybridDenseType *type);
static Datum average(FunctionCallInfo fcinfo, const HybridDenseType *type);
static Datum total(FunctionCallInfo fcinfo, const HybridDenseType *type);
static HybridDense *begin_result(FunctionCallInfo fcinfo, const HybridDenseType *type,
                                 const char *caller, const float8 **state);
static ArrayType *new_state(int dim);
static void check_state(ArrayType *state, const HybridDenseType *type, const char *caller);
static int state_dims(ArrayType *state);
static float8 *state_values(ArrayType *state);
static void add_doubles(float8 *sums, const float8 *x, int n);
static void check_sums(const float8 *sums, int n);

PG_FUNCTION_INFO_V1(hybrid_vector_accum);
PG_FUNCTION_INFO_V1(hybrid_halfvec_accum);
PG_FUNCTION_INFO_V1(hybrid_vector_sum_accum);
PG_FUNCTION_INFO_V1(hybrid_halfvec_sum_accum);
PG_FUNCTION_INFO_V1(hybrid_vector_combine);
PG_FUNCTION_INFO_V1(hybrid_halfvec_combine);
PG_FUNCTION_INFO_V1(hybrid_vector_avg);
PG_FUNCTION_INFO_V1(hybrid_halfvec_avg);
PG_FUNCTION_INFO_V1(hybrid_vector_sum);
PG_FUNCTION_INFO_V1(hybrid_halfvec_sum);

HYBRID_DENSE_FUNCTION(accum, accumulate(fcinfo, type, "accum", MISMATCH_EXPECTED));
HYBRID_DENSE_FUNCTION(sum_accum, accumulate(fcinfo, type, "sum_accum", MISMATCH_DIFFERENT));
HYBRID_DENSE_FUNCTION(combine, combine(fcinfo, type));
HYBRID_DENSE_FUNCTION(avg, average(fcinfo, type));
HYBRID_DENSE_FUNCTION(sum, total(fcinfo, type));

static Datum
accumulate(FunctionCallInfo fcinfo, const HybridDenseType *type, const char *caller,
           Mismatch mismatch)
{
	ArrayType *state = PG_GETARG_ARRAYTYPE_P(0);
	HybridDense *value = PG_GETARG_HYBRID_DENSE(1, type->dtype);
	ArrayType *result = state;
	float8 *sums;
	float *x;
	int dim;
	int i;

	check_state(state, type, caller);
	dim = state_dims(state);
	if (dim != 0 && dim != value->dim)
	{
		if (mismatch == MISMATCH_EXPECTED)
			hybrid_dense_check_typmod(dim, value->dim);
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("different %s dimensions %d and %d", type->name, dim, value->dim)));
	}

	if (dim == 0 || !AggCheckCallContext(fcinfo, NULL))
	{
		result = new_state(value->dim);
		add_doubles(state_values(result), state_values(state), dim + 1);
	}
	state_values(result)[0] += 1;
	sums = state_values(result) + 1;
	x = hybrid_dense_floats(type, value);
	for (i = 0; i < value->dim; i++)
		sums[i] += (double) x[i];
	check_sums(sums, value->dim);

	hybrid_dense_free_floats(value, x);
	PG_FREE_IF_COPY(value, 1);
	PG_RETURN_ARRAYTYPE_P(result);
}

static Datum
combine(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	ArrayType *left = PG_GETARG_ARRAYTYPE_P(0);
	ArrayType *right = PG_GETARG_ARRAYTYPE_P(1);
	ArrayType *result;
	int dim;

	check_state(left, type, "combine");
	check_state(right, type, "combine");
	dim = Max(state_dims(left), state_dims(right));
	if (dim > 0)
		hybrid_dense_check_dim(type, dim);
	if (state_dims(left) > 0 && state_dims(right) > 0)
		hybrid_dense_check_typmod(state_dims(left), state_dims(right));

	if (state_dims(left) == dim && AggCheckCallContext(fcinfo, NULL))
		result = left;
	else
	{
		result = new_state(dim);
		add_doubles(state_values(result), state_values(left), state_dims(left) + 1);
	}
	add_doubles(state_values(result), state_values(right), state_dims(right) + 1);
	check_sums(state_values(result) + 1, dim);
	PG_RETURN_ARRAYTYPE_P(result);
}

static Datum
average(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	const float8 *state;
	HybridDense *result = begin_result(fcinfo, type, "avg", &state);
	float *x;
	int i;

	if (result == NULL)
		PG_RETURN_NULL();
	x = hybrid_dense_floats(type, result);
	for (i = 0; i < result->dim; i++)
		x[i] = (float) (state[i + 1] / state[0]);
	hybrid_dense_assign(type, result, x);
	hybrid_dense_free_floats(result, x);
	PG_RETURN_HYBRID_DENSE(result);
}

static Datum
total(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	const float8 *state;
	HybridDense *result = begin_result(fcinfo, type, "sum", &state);
	float *x;
	int i;

	if (result == NULL)
		PG_RETURN_NULL();
	x = hybrid_dense_floats(type, result);
	for (i = 0; i < result->dim; i++)
		x[i] = (float) state[i + 1];
	hybrid_dense_round(type, result, x);
	hybrid_dense_free_floats(result, x);
	hybrid_dense_check_overflow(type, result);
	hybrid_dense_check_finite(type, result);
	PG_RETURN_HYBRID_DENSE(result);
}

/*
 * begin_result: check the state in argument 0, point *state to its values, and return a new value
 * with one element per sum. Returns NULL if the state's count is 0.
 */
static HybridDense *
begin_result(FunctionCallInfo fcinfo, const HybridDenseType *type, const char *caller,
             const float8 **state)
{
	ArrayType *array = PG_GETARG_ARRAYTYPE_P(0);

	check_state(array, type, caller);
	*state = state_values(array);
	if ((*state)[0] == 0)
		return NULL;
	hybrid_dense_check_dim(type, state_dims(array));
	return hybrid_dense_new(type, state_dims(array));
}

/* new_state: return an array of zeros for a count and dim sums. */
static ArrayType *
new_state(int dim)
{
	Size size = ARR_OVERHEAD_NONULLS(1) + sizeof(float8) * (dim + 1);
	ArrayType *state = (ArrayType *) palloc0(size);

	SET_VARSIZE(state, size);
	state->ndim = 1;
	state->dataoffset = 0;
	state->elemtype = FLOAT8OID;
	ARR_DIMS(state)[0] = dim + 1;
	ARR_LBOUND(state)[0] = 1;
	return state;
}

static void
check_state(ArrayType *state, const HybridDenseType *type, const char *caller)
{
	if (ARR_NDIM(state) != 1 || ARR_DIMS(state)[0] < 1 || array_contains_nulls(state) ||
	    ARR_ELEMTYPE(state) != FLOAT8OID)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("%s_%s: expected state array", type->name, caller)));
}

static int
state_dims(ArrayType *state)
{
	return ARR_DIMS(state)[0] - 1;
}

static float8 *
state_values(ArrayType *state)
{
	return (float8 *) ARR_DATA_PTR(state);
}

static void
add_doubles(float8 *sums, const float8 *x, int n)
{
	int i;

	for (i = 0; i < n; i++)
		sums[i] += x[i];
}

static void
check_sums(const float8 *sums, int n)
{
	int i;

	for (i = 0; i < n; i++)
	{
		if (isinf(sums[i]))
			float_overflow_error();
	}
}
