/*
 * vector_aggregates.c
 *		avg(vector) and sum(vector).
 *
 * The state is a float8 array: the number of vectors, then the sum of each element.  Before the
 * first vector it is {0}.  Sums are fp64, so neither the order of the rows nor a parallel plan
 * shows but in the last bit, and only a sum that does not fit a float overflows, whatever it
 * passed through.
 *
 * Within an aggregate the state is ours to change in place.  Called from SQL with any array at all,
 * these functions check it and return a new one.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/float.h"

#include "types/vector.h"

/* What to say when a vector has other dimensions than those before it. */
typedef enum Mismatch
{
	MISMATCH_EXPECTED, /* as a column of vector(n) would */
	MISMATCH_DIFFERENT /* as an operator on two vectors would */
} Mismatch;

static Datum accumulate(FunctionCallInfo fcinfo, const char *caller, Mismatch mismatch);
static ArrayType *new_state(int dim);
static void check_state(ArrayType *state, const char *caller);
static int state_dims(ArrayType *state);
static float8 *state_values(ArrayType *state);
static void add_doubles(float8 *sums, const float8 *x, int n);
static void check_sums(const float8 *sums, int n);

PG_FUNCTION_INFO_V1(hybrid_vector_accum);
PG_FUNCTION_INFO_V1(hybrid_vector_sum_accum);
PG_FUNCTION_INFO_V1(hybrid_vector_combine);
PG_FUNCTION_INFO_V1(hybrid_vector_avg);
PG_FUNCTION_INFO_V1(hybrid_vector_sum);

Datum
hybrid_vector_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, "vector_accum", MISMATCH_EXPECTED);
}

Datum
hybrid_vector_sum_accum(PG_FUNCTION_ARGS)
{
	return accumulate(fcinfo, "vector_sum_accum", MISMATCH_DIFFERENT);
}

Datum
hybrid_vector_combine(PG_FUNCTION_ARGS)
{
	ArrayType *left = PG_GETARG_ARRAYTYPE_P(0);
	ArrayType *right = PG_GETARG_ARRAYTYPE_P(1);
	ArrayType *result;
	int dim;

	check_state(left, "vector_combine");
	check_state(right, "vector_combine");
	dim = Max(state_dims(left), state_dims(right));
	if (dim > 0)
		hybrid_vector_check_dim(dim);
	if (state_dims(left) > 0 && state_dims(right) > 0)
		hybrid_vector_check_typmod(state_dims(left), state_dims(right));

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

Datum
hybrid_vector_avg(PG_FUNCTION_ARGS)
{
	ArrayType *state = PG_GETARG_ARRAYTYPE_P(0);
	float8 *values;
	HybridVector *result;
	int i;

	check_state(state, "vector_avg");
	values = state_values(state);
	if (values[0] == 0)
		PG_RETURN_NULL();

	hybrid_vector_check_dim(state_dims(state));
	result = hybrid_vector_new(state_dims(state));
	for (i = 0; i < result->dim; i++)
		result->x[i] = (float) (values[i + 1] / values[0]);
	hybrid_vector_check_finite(result->x, result->dim);
	PG_RETURN_HYBRID_VECTOR(result);
}

Datum
hybrid_vector_sum(PG_FUNCTION_ARGS)
{
	ArrayType *state = PG_GETARG_ARRAYTYPE_P(0);
	float8 *values;
	HybridVector *result;
	int i;

	check_state(state, "vector_sum");
	values = state_values(state);
	if (values[0] == 0)
		PG_RETURN_NULL();

	hybrid_vector_check_dim(state_dims(state));
	result = hybrid_vector_new(state_dims(state));
	for (i = 0; i < result->dim; i++)
	{
		result->x[i] = (float) values[i + 1];
		if (isinf(result->x[i]))
			float_overflow_error();
	}
	hybrid_vector_check_finite(result->x, result->dim);
	PG_RETURN_HYBRID_VECTOR(result);
}

static Datum
accumulate(FunctionCallInfo fcinfo, const char *caller, Mismatch mismatch)
{
	ArrayType *state = PG_GETARG_ARRAYTYPE_P(0);
	HybridVector *vector = PG_GETARG_HYBRID_VECTOR(1);
	ArrayType *result = state;
	float8 *values;
	int dim;
	int i;

	check_state(state, caller);
	dim = state_dims(state);
	if (dim != 0 && dim != vector->dim)
	{
		if (mismatch == MISMATCH_EXPECTED)
			hybrid_vector_check_typmod(dim, vector->dim);
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("different vector dimensions %d and %d", dim, vector->dim)));
	}

	if (dim == 0 || !AggCheckCallContext(fcinfo, NULL))
	{
		result = new_state(vector->dim);
		add_doubles(state_values(result), state_values(state), dim + 1);
	}
	values = state_values(result);
	values[0] += 1;
	for (i = 0; i < vector->dim; i++)
		values[i + 1] += (double) vector->x[i];
	check_sums(values + 1, vector->dim);

	PG_FREE_IF_COPY(vector, 1);
	PG_RETURN_ARRAYTYPE_P(result);
}

/* All zero: a count and dim sums. */
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
check_state(ArrayType *state, const char *caller)
{
	if (ARR_NDIM(state) != 1 || ARR_DIMS(state)[0] < 1 || array_contains_nulls(state) ||
	    ARR_ELEMTYPE(state) != FLOAT8OID)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("%s: expected state array", caller)));
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
