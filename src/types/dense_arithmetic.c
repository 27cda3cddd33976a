/*
 * dense_arithmetic.c
 *		Elementwise a + b, a - b, a * b, and concatenation a || b.
 *
 * Elements are finite, so an infinite element in the result is an overflow. A nonzero sum or
 * difference of finite floats never rounds to 0, so only the product can underflow. Computing and
 * checking are separate loops, so that the compiler can vectorize them.
 */
#include "postgres.h"

#include "utils/float.h"

#include "types/dense.h"

typedef enum Operation
{
	OPERATION_ADD,
	OPERATION_SUB,
	OPERATION_MUL
} Operation;

static Datum operate(FunctionCallInfo fcinfo, const HybridDenseType *type, Operation operation);
static void check_underflow(const HybridDenseType *type, const HybridDense *product, const float *a,
                            const float *b);
static Datum concatenate(FunctionCallInfo fcinfo, const HybridDenseType *type);

PG_FUNCTION_INFO_V1(hybrid_vector_add);
PG_FUNCTION_INFO_V1(hybrid_halfvec_add);
PG_FUNCTION_INFO_V1(hybrid_vector_sub);
PG_FUNCTION_INFO_V1(hybrid_halfvec_sub);
PG_FUNCTION_INFO_V1(hybrid_vector_mul);
PG_FUNCTION_INFO_V1(hybrid_halfvec_mul);
PG_FUNCTION_INFO_V1(hybrid_vector_concat);
PG_FUNCTION_INFO_V1(hybrid_halfvec_concat);

HYBRID_DENSE_FUNCTION(add, operate(fcinfo, type, OPERATION_ADD));
HYBRID_DENSE_FUNCTION(sub, operate(fcinfo, type, OPERATION_SUB));
HYBRID_DENSE_FUNCTION(mul, operate(fcinfo, type, OPERATION_MUL));
HYBRID_DENSE_FUNCTION(concat, concatenate(fcinfo, type));

static Datum
operate(FunctionCallInfo fcinfo, const HybridDenseType *type, Operation operation)
{
	HybridDense *a = PG_GETARG_HYBRID_DENSE(0, type->dtype);
	HybridDense *b = PG_GETARG_HYBRID_DENSE(1, type->dtype);
	int dim = a->dim;
	HybridDense *result;
	float *x;
	float *y;
	float *z;
	int i;

	hybrid_dense_check_dims(type, a, b);
	result = hybrid_dense_new(type, dim);
	x = hybrid_dense_floats(type, a);
	y = hybrid_dense_floats(type, b);
	z = hybrid_dense_floats(type, result);
	switch (operation)
	{
		case OPERATION_ADD:
			for (i = 0; i < dim; i++)
				z[i] = x[i] + y[i];
			break;
		case OPERATION_SUB:
			for (i = 0; i < dim; i++)
				z[i] = x[i] - y[i];
			break;
		case OPERATION_MUL:
			for (i = 0; i < dim; i++)
				z[i] = x[i] * y[i];
			break;
	}
	hybrid_dense_round(type, result, z);
	hybrid_dense_check_overflow(type, result);
	if (operation == OPERATION_MUL)
		check_underflow(type, result, x, y);

	hybrid_dense_free_floats(a, x);
	hybrid_dense_free_floats(b, y);
	hybrid_dense_free_floats(result, z);
	PG_RETURN_HYBRID_DENSE(result);
}

static void
check_underflow(const HybridDenseType *type, const HybridDense *product, const float *a,
                const float *b)
{
	int i;

	for (i = 0; i < product->dim; i++)
	{
		if (hybrid_dense_element(type->dtype, product, i) == 0 && a[i] != 0 && b[i] != 0)
			float_underflow_error();
	}
}

/*
 * concatenate: return the elements of both arguments, for the operator ||. Without this operator,
 * vector || vector would silently concatenate the text of both values.
 */
static Datum
concatenate(FunctionCallInfo fcinfo, const HybridDenseType *type)
{
	HybridDense *a = PG_GETARG_HYBRID_DENSE(0, type->dtype);
	HybridDense *b = PG_GETARG_HYBRID_DENSE(1, type->dtype);
	Size first = hy_dtype_size(type->dtype) * (Size) a->dim;
	Size second = hy_dtype_size(type->dtype) * (Size) b->dim;
	HybridDense *result;

	hybrid_dense_check_dim(type, a->dim + b->dim);
	result = hybrid_dense_new(type, a->dim + b->dim);
	memcpy(result->x, a->x, first);
	memcpy(result->x + first, b->x, second);
	PG_RETURN_HYBRID_DENSE(result);
}
