/*
 * binary_fuzz.c
 *		Arbitrary bytes as the elements of a vector, a halfvec or a sparsevec in the binary
 *		format: no crash, no access beyond the end, the same bytes when written again, and the
 *		same verdict as a plain reader.
 *
 * The first byte of the input chooses the type.  For a sparsevec the next four are the dimensions;
 * the first half of the rest are indices, and the second half values.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/byte_order.h"
#include "core/distance.h"
#include "core/sparse.h"

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

static void
require(int condition)
{
	if (!condition)
		abort();
}

static uint32_t
big_endian(const unsigned char *bytes, size_t width)
{
	uint32_t value = 0;

	while (width-- > 0)
		value = value << 8 | *bytes++;
	return value;
}

/*
 * decode: decode n elements from a buffer of the exact size, so that the sanitizer detects a read
 * beyond it.
 */
static void *
decode(const unsigned char *bytes, size_t width, int32_t n)
{
	void *elements = malloc(width * (size_t) n + 1);
	void *again = malloc(width * (size_t) n + 1);
	void *exact = malloc(width * (size_t) n);

	require(elements != NULL && again != NULL && (exact != NULL || n == 0));
	if (n > 0)
		memcpy(exact, bytes, width * (size_t) n);
	hy_network_order(width, elements, exact, n);
	hy_network_order(width, again, elements, n);
	require(memcmp(again, bytes, width * (size_t) n) == 0);
	free(exact);
	free(again);
	return elements;
}

/*
 * check_numbers: check that each element equals its bytes, and that the first one that is not a
 * finite number is found.
 */
static void
check_numbers(HyDtype dtype, const unsigned char *bytes, const void *elements, int32_t n)
{
	size_t width = hy_dtype_size(dtype);
	int32_t first = n;
	int32_t i;

	for (i = n - 1; i >= 0; i--)
	{
		uint32_t bits = big_endian(bytes + width * (size_t) i, width);
		uint16_t half = (uint16_t) bits;
		float value;

		if (dtype == HY_F16)
		{
			require(((const uint16_t *) elements)[i] == half);
			value = hy_half_to_float(half);
		}
		else
		{
			require(((const uint32_t *) elements)[i] == bits);
			memcpy(&value, &bits, sizeof(value));
		}
		if (!isfinite(value))
			first = i;
	}
	require(hy_first_not_finite(dtype, elements, n) == first);
}

static HySparseFault
reference(const unsigned char *bytes, int32_t n, int32_t dims)
{
	int64_t before = -1;
	int32_t i;

	for (i = 0; i < n; i++)
	{
		int64_t index = (int32_t) big_endian(bytes + 4 * (size_t) i, 4);

		if (index < 0 || index >= dims)
			return HY_SPARSE_OUT_OF_BOUNDS;
		if (index < before)
			return HY_SPARSE_UNORDERED;
		if (index == before)
			return HY_SPARSE_DUPLICATE;
		before = index;
	}
	return HY_SPARSE_OK;
}

static void
check_sparse(const unsigned char *bytes, size_t size)
{
	int32_t dims;
	int32_t n;
	int32_t *indices;
	float *values;
	HySparseFault fault;

	if (size < 4)
		return;
	dims = (int32_t) (big_endian(bytes, 4) % HY_SPARSE_MAX_DIMS) + 1;
	bytes += 4;
	n = (int32_t) ((size - 4) / 8);
	indices = decode(bytes, 4, n);
	values = decode(bytes + 4 * (size_t) n, 4, n);
	check_numbers(HY_F32, bytes + 4 * (size_t) n, values, n);
	fault = hy_sparse_check_indices(indices, n, dims);
	require(fault == reference(bytes, n, dims));
	/* what passes all checks is safe to compute with */
	if (fault == HY_SPARSE_OK && hy_first_not_finite(HY_F32, values, n) == n)
	{
		HySparse vector = {dims, n, indices, values};
		int32_t i;

		for (i = 0; i < n && values[i] != 0; i++)
			;
		if (i == n)
		{
			require(hy_sparse_distance(HY_METRIC_L2, &vector, &vector) == 0);
			require(hy_sparse_compare(&vector, &vector) == 0);
		}
	}
	free(indices);
	free(values);
}

int
LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
	HyDtype dtype;
	void *elements;
	int32_t n;

	if (size == 0)
		return 0;
	if (data[0] % 3 == 2)
	{
		check_sparse(data + 1, size - 1);
		return 0;
	}
	dtype = data[0] % 3 == 0 ? HY_F32 : HY_F16;
	n = (int32_t) ((size - 1) / hy_dtype_size(dtype));
	elements = decode(data + 1, hy_dtype_size(dtype), n);
	check_numbers(dtype, data + 1, elements, n);
	free(elements);
	return 0;
}
