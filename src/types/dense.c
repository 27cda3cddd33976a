/*
 * dense.c
 *		Constructor of vector and halfvec values, and the checks shared by all inputs.
 *
 * Every existing value has 1 to HYBRID_MAX_DIM elements, all of them finite. Input, casts,
 * arithmetic and aggregates ensure this, so distances and indexes need not check for NaN and
 * infinity again.
 *
 * The messages equal those of pgvector, because clients compare them.
 */
#include "postgres.h"

#include <math.h>

#include "access/detoast.h"
#include "common/shortest_dec.h"
#include "utils/float.h"

#include "core/byte_order.h"
#include "types/dense.h"
#include "types/input.h"

static bool is_infinite_half(uint16 half);

const HybridDenseType hybrid_vector_type = {HY_F32, "vector"};
const HybridDenseType hybrid_halfvec_type = {HY_F16, "halfvec"};

HybridDense *
hybrid_dense_new(const HybridDenseType *type, int dim)
{
	Size size = hybrid_dense_size(type, dim);
	HybridDense *result = (HybridDense *) palloc0(size);

	SET_VARSIZE(result, size);
	result->dim = (int16) dim;
	return result;
}

void
hybrid_dense_refuse(const HybridDense *value, HyDtype dtype)
{
	const HybridDenseType *type = dtype == HY_F32 ? &hybrid_vector_type : &hybrid_halfvec_type;

	if (VARSIZE(value) < offsetof(HybridDense, x))
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
		                errmsg("damaged %s of %zu bytes", type->name, (Size) VARSIZE(value))));
	ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
	                errmsg("damaged %s: %d dimensions in %zu bytes", type->name, value->dim,
	                       (Size) VARSIZE(value))));
}

/*
 * hybrid_dense_peek_dims: read a slice. Large values are stored out of line without compression, so
 * the slice needs only one chunk of such a value.
 */
int
hybrid_dense_peek_dims(Datum datum)
{
	Size header = offsetof(HybridDense, x), size = toast_raw_datum_size(datum);
	HybridDense *head = (HybridDense *) PG_DETOAST_DATUM_SLICE(datum, 0, header - VARHDRSZ);
	int dim = size < header ? 0 : head->dim;

	/* the caller does not say whether the value is a vector or a halfvec */
	if (dim < 1 || (size != header + sizeof(float) * (Size) dim &&
	                size != header + sizeof(uint16) * (Size) dim))
		ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED),
		                errmsg("damaged vector or halfvec of %zu bytes", size)));
	if ((Pointer) head != DatumGetPointer(datum))
		pfree(head);
	return dim;
}

void
hybrid_vector_check_dims(const HybridVector *a, const HybridVector *b)
{
	hybrid_dense_check_dims(&hybrid_vector_type, (const HybridDense *) a, (const HybridDense *) b);
}

void
hybrid_dense_check_dims(const HybridDenseType *type, const HybridDense *a, const HybridDense *b)
{
	if (a->dim != b->dim)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("different %s dimensions %d and %d", type->name, a->dim, b->dim)));
}

void
hybrid_dense_check_dim(const HybridDenseType *type, int dim)
{
	if (dim < 1)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("%s must have at least 1 dimension", type->name)));
	if (dim > HYBRID_MAX_DIM)
		ereport(ERROR,
		        (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		         errmsg("%s cannot have more than %d dimensions", type->name, HYBRID_MAX_DIM)));
}

void
hybrid_dense_check_typmod(int32 typmod, int dim)
{
	if (typmod != -1 && typmod != dim)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("expected %d dimensions, not %d", typmod, dim)));
}

void
hybrid_dense_check_finite(const HybridDenseType *type, const HybridDense *value)
{
	int i = hy_first_not_finite(type->dtype, value->x, value->dim);

	if (i < value->dim)
		hybrid_refuse_not_finite(type->name, isnan(hybrid_dense_element(type->dtype, value, i)));
}

void
hybrid_dense_check_overflow(const HybridDenseType *type, const HybridDense *value)
{
	int i = hy_first_not_finite(type->dtype, value->x, value->dim);

	if (i < value->dim && isinf(hybrid_dense_element(type->dtype, value, i)))
		float_overflow_error();
}

float *
hybrid_dense_floats(const HybridDenseType *type, HybridDense *value)
{
	float *floats;

	if (type->dtype == HY_F32)
		return hybrid_dense_singles(value);
	floats = palloc(sizeof(float) * (Size) value->dim);
	hy_kernels()->widen_f16(floats, hybrid_dense_halves(value), value->dim);
	return floats;
}

void
hybrid_dense_free_floats(const HybridDense *value, float *floats)
{
	if (floats != hybrid_dense_singles(value))
		pfree(floats);
}

void
hybrid_dense_round(const HybridDenseType *type, HybridDense *value, const float *floats)
{
	if (type->dtype == HY_F16)
		hy_kernels()->narrow_f16(hybrid_dense_halves(value), floats, value->dim);
	else if (floats != hybrid_dense_singles(value))
		memcpy(value->x, floats, sizeof(float) * (Size) value->dim);
}

void
hybrid_dense_assign(const HybridDenseType *type, HybridDense *value, const float *floats)
{
	int i;

	hybrid_dense_round(type, value, floats);
	for (i = 0; type->dtype == HY_F16 && i < value->dim; i++)
	{
		char text[FLOAT_SHORTEST_DECIMAL_LEN];

		if (!is_infinite_half(hybrid_dense_halves(value)[i]) || isinf(floats[i]))
			continue;
		float_to_shortest_decimal_buf(floats[i], text);
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("\"%s\" is out of range for type %s", text, type->name)));
	}
	hybrid_dense_check_finite(type, value);
}

static bool
is_infinite_half(uint16 half)
{
	return (half & 0x7fff) == 0x7c00;
}

HyMatrix
hybrid_vectors_of(ArrayType *array, HyDtype dtype)
{
	const char *name = dtype == HY_F32 ? hybrid_vector_type.name : hybrid_halfvec_type.name;
	Size left = VARSIZE(array) - ARR_DATA_OFFSET(array);
	HyMatrix matrix = {.dtype = dtype};
	int i;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
		        (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
		         errmsg("an array of vectors must have one dimension, not %d", ARR_NDIM(array))));
	if (array_contains_nulls(array))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
		                errmsg("an array of vectors must not contain NULL")));
	matrix.rows = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	for (i = 0; i < matrix.rows; i++)
	{
		char *element = ARR_DATA_PTR(array) + i * matrix.stride;
		HybridDense *value;

		if (left < i * matrix.stride + offsetof(HybridDense, x) ||
		    left < i * matrix.stride + VARSIZE(element))
			ereport(ERROR, (errcode(ERRCODE_DATA_CORRUPTED), errmsg("invalid array of %s", name)));
		value = hybrid_dense_checked((struct varlena *) element, dtype);
		if (i == 0)
		{
			matrix.dims = value->dim;
			matrix.stride = INTALIGN(VARSIZE(value));
			matrix.data = value->x;
		}
		else if (value->dim != matrix.dims)
			ereport(ERROR,
			        (errcode(ERRCODE_DATA_EXCEPTION),
			         errmsg("different %s dimensions %d and %d", name, matrix.dims, value->dim)));
	}
	return matrix;
}
