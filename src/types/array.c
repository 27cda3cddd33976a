/*
 * array.c
 *		Reads the elements of a numeric array, for the casts to the vector types.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "utils/fmgrprotos.h"

#include "types/array.h"

static void floats_of_numerics(ArrayType *array, float *x, int n);

int
hybrid_array_length(ArrayType *array)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION), errmsg("array must be 1-D")));
	if (array_contains_nulls(array))
		ereport(ERROR,
		        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("array must not contain nulls")));
	return ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
}

/*
 * hybrid_array_floats: copy the n elements to x. The array has no NULLs, so elements of a fixed-length type
 * are contiguous.
 */
void
hybrid_array_floats(ArrayType *array, float *x, int n)
{
	int i;

	switch (ARR_ELEMTYPE(array))
	{
		case FLOAT4OID:
			memcpy(x, ARR_DATA_PTR(array), sizeof(float) * n);
			break;
		case FLOAT8OID:
			for (i = 0; i < n; i++)
				x[i] = (float) ((const float8 *) ARR_DATA_PTR(array))[i];
			break;
		case INT4OID:
			for (i = 0; i < n; i++)
				x[i] = (float) ((const int32 *) ARR_DATA_PTR(array))[i];
			break;
		case NUMERICOID:
			floats_of_numerics(array, x, n);
			break;
		default:
			ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION), errmsg("unsupported array type")));
	}
}

static void
floats_of_numerics(ArrayType *array, float *x, int n)
{
	Datum *elements;
	int i;

	deconstruct_array(array, NUMERICOID, -1, false, TYPALIGN_INT, &elements, NULL, &n);
	for (i = 0; i < n; i++)
		x[i] = DatumGetFloat4(DirectFunctionCall1(numeric_float4, elements[i]));
	pfree(elements);
}
