/*
 * dense_functions.c
 *		Functions of one vector or halfvec: dimensions, norm, normalization, subvector and signs
 *		of elements.
 *
 * Norms are computed in fp64 throughout. No scaling is needed: the sum of 16,000 squares of the
 * largest float is far from overflow, and the square of the smallest float is far from underflow.
 */
#include "postgres.h"

#include <math.h>

#include "utils/varbit.h"

#include "types/dense.h"

static Datum norm(FunctionCallInfo fcinfo, const HybridDenseType *type);
static Datum normalize(FunctionCallInfo fcinfo, const HybridDenseType *type);
static double norm_of(const float *x, int n);
static Datum subvector(FunctionCallInfo fcinfo, const HybridDenseType *type);
static Datum quantize(FunctionCallInfo fcinfo, const HybridDenseType *type);

PG_FUNCTION_INFO_V1(hybrid_vector_dims);
PG_FUNCTION_INFO_V1(hybrid_vector_norm);
PG_FUNCTION_INFO_V1(hybrid_halfvec_norm);
PG_FUNCTION_INFO_V1(hybrid_vector_l2_normalize);
PG_FUNCTION_INFO_V1(hybrid_halfvec_l2_normalize);
PG_FUNCTION_INFO_V1(hybrid_vector_subvector);
PG_FUNCTION_INFO_V1(hybrid_halfvec_subvector);
PG_FUNCTION_INFO_V1(hybrid_vector_binary_quantize);
PG_FUNCTION_INFO_V1(hybrid_halfvec_binary_quantize);

HYBRID_DENSE_FUNCTION(norm, norm(fcinfo, type));
HYBRID_DENSE_FUNCTION(l2_normalize, normalize(fcinfo, type));
HYBRID_DENSE_FUNCTION(subvector, subvector(fcinfo, type));
HYBRID_DENSE_FUNCTION(binary_quantize, quantize(fcinfo, type));

/*
 * hybrid_vector_dims: return the dimensions of a vector or a halfvec. Both types store them in the
 * same place.
 */
Datum
hybrid_vector_dims(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(hybrid_dense_peek_dims(PG_GETARG_DATUM(0)));
}

static Datum
norm(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	HybridDense *value = PG_GETARG_HYBRID_DENSE(0, type->dtype);
	float *x = hybrid_dense_floats(type, value);
	double result = norm_of(x, value->dim);

	hybrid_dense_free_floats(value, x);
	PG_FREE_IF_COPY(value, 0);
	PG_RETURN_FLOAT8(result);
}

/*
 * normalize: divide the elements by the norm. A zero vector has no direction and stays zero. No
 * quotient exceeds 1, so no quotient overflows.
 */
static Datum
normalize(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	HybridDense *value = PG_GETARG_HYBRID_DENSE(0, type->dtype);
	HybridDense *result = hybrid_dense_new(type, value->dim);
	float *x = hybrid_dense_floats(type, value);
	float *y = hybrid_dense_floats(type, result);
	double length = norm_of(x, value->dim);
	int i;

	if (length > 0)
	{
		for (i = 0; i < value->dim; i++)
			y[i] = (float) (x[i] / length);
	}
	hybrid_dense_round(type, result, y);
	hybrid_dense_free_floats(value, x);
	hybrid_dense_free_floats(result, y);
	PG_RETURN_HYBRID_DENSE(result);
}

static double
norm_of(const float *x, int n)
{
	double sum = 0;
	int i;

	for (i = 0; i < n; i++)
		sum += (double) x[i] * (double) x[i];
	return sqrt(sum);
}

/*
 * subvector: return `count` elements from element `start` on, counted from 1, as substring() does.
 * Leaves out elements that do not exist. start and count are added in int64, where their sum cannot
 * overflow.
 */
static Datum
subvector(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	HybridDense *value = PG_GETARG_HYBRID_DENSE(0, type->dtype);
	int64 start = PG_GETARG_INT32(1);
	int64 end = start + Max(PG_GETARG_INT32(2), 0);
	Size width = hy_dtype_size(type->dtype);
	HybridDense *result;

	start = Max(start, 1);
	end = Min(end, (int64) value->dim + 1);
	hybrid_dense_check_dim(type, (int) Max(end - start, 0));
	result = hybrid_dense_new(type, (int) (end - start));
	memcpy(result->x, value->x + width * (Size) (start - 1), width * (Size) (end - start));
	PG_RETURN_HYBRID_DENSE(result);
}

/*
 * quantize: return a bit string. Bit i, counted from the left, is set if element i is above zero.
 */
static Datum
quantize(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	HybridDense *value = PG_GETARG_HYBRID_DENSE(0, type->dtype);
	int size = VARBITTOTALLEN(value->dim);
	VarBit *result = (VarBit *) palloc0(size);
	bits8 *bits = VARBITS(result);
	float *x = hybrid_dense_floats(type, value);
	int i;

	SET_VARSIZE(result, size);
	VARBITLEN(result) = value->dim;
	for (i = 0; i < value->dim; i++)
		bits[i / BITS_PER_BYTE] |= (bits8) ((x[i] > 0) << (BITS_PER_BYTE - 1 - i % BITS_PER_BYTE));
	hybrid_dense_free_floats(value, x);
	PG_RETURN_VARBIT_P(result);
}
