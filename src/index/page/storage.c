/*
 * storage.c
 *		Values as the index stores them.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "core/distance.h"
#include "core/sparse.h"
#include "types/vector.h"

#include "index/page/storage.h"

#define LANES 8 /* number of independent sums */
#define HALF_MAX 65504.0f
/* if the greatest magnitude is below this, elements less than 1/128 of it would lose bits as subnormal halves */
#define HALF_SMALL 0.0078125f
#define BYTE_MAX 127.0f
#define WIDENED 16 /* bytes converted at a time */

static float largest_magnitude(const float *x, int dims);
static float half_scale(float largest);
static float residual_of(const float *x, const float *stored, int dims);
static void widen_bytes(const int8 *restrict bytes, float scale, int dims, float *restrict out);
static void widen_bits(const uint8 *restrict bits, int dims, float *restrict out);

const char *
hybrid_storage_name(HybridStorage storage)
{
	static const char *const names[HYBRID_STORAGE_COUNT] = {"float32", "float16", "int8", "bits",
	                                                        "sparse"};

	return names[storage];
}

Size
hybrid_storage_stride(HybridStorage storage, int dims)
{
	switch (storage)
	{
		case HYBRID_FLOAT32:
			return dims * sizeof(float);
		case HYBRID_FLOAT16:
			return dims * sizeof(uint16);
		case HYBRID_INT8:
			return dims;
		case HYBRID_BITS:
			return (dims + BITS_PER_BYTE - 1) / BITS_PER_BYTE;
		case HYBRID_SPARSE:
			return hybrid_sparse_bytes(Min(dims, HY_SPARSE_MAX_ELEMENTS));
	}
	elog(ERROR, "unrecognized storage: %d", (int) storage);
}

Size
hybrid_stored_bytes(HybridStorage storage, int dims, const void *value)
{
	if (storage == HYBRID_SPARSE)
		return hybrid_sparse_bytes(((const HybridSparse *) value)->count);
	return hybrid_storage_stride(storage, dims);
}

void
hybrid_store_vector(HybridStorage storage, const float *x, int dims, void *out,
                    HybridStored *stored)
{
	float widened[HYBRID_MAX_DIM];
	float largest, inverse;
	int i;

	hybrid_store_as_given(stored);
	if (storage == HYBRID_FLOAT32)
	{
		memcpy(out, x, dims * sizeof(float));
		stored->norm = hy_norm_sq(HY_F32, x, dims);
		return;
	}

	largest = largest_magnitude(x, dims);
	if (storage == HYBRID_FLOAT16)
	{
		stored->scale = half_scale(largest);
		inverse = 1 / stored->scale;
		if (inverse != 1)
		{
			for (i = 0; i < dims; i++)
				widened[i] = x[i] * inverse;
			hy_kernels()->narrow_f16(out, widened, dims);
		}
		else
			hy_kernels()->narrow_f16(out, x, dims);
	}
	else
	{
		int8 *bytes = (int8 *) out;

		/* keep the scale large enough that dividing by it does not overflow */
		stored->scale = Max(largest / BYTE_MAX, FLT_MIN * 4);
		for (i = 0; i < dims; i++)
			bytes[i] = (int8) rintf(x[i] / stored->scale);
	}
	hybrid_widen_vector(storage, stored, out, dims, widened);
	stored->norm = hy_norm_sq(HY_F32, widened, dims);
	stored->residual = residual_of(x, widened, dims);
}

void
hybrid_store_halves(HybridStorage storage, const uint16 *x, int dims, void *out,
                    HybridStored *stored)
{
	float widened[HYBRID_MAX_DIM];

	if (storage != HYBRID_FLOAT16)
	{
		hy_kernels()->widen_f16(widened, x, dims);
		hybrid_store_vector(storage, widened, dims, out, stored);
		return;
	}
	hybrid_store_as_given(stored);
	memcpy(out, x, dims * sizeof(uint16));
	stored->norm = hy_norm_sq(HY_F16, x, dims);
}

void
hybrid_store_as_given(HybridStored *stored)
{
	memset(stored, 0, sizeof(*stored));
	stored->scale = 1;
}

void
hybrid_widen_vector(HybridStorage storage, const HybridStored *stored, const void *vector, int dims,
                    float *out)
{
	float scale;
	int i;

	switch (storage)
	{
		case HYBRID_FLOAT32:
			memcpy(out, vector, dims * sizeof(float));
			return;
		case HYBRID_FLOAT16:
			hy_kernels()->widen_f16(out, vector, dims);
			scale = stored->scale;
			if (scale != 1)
			{
				for (i = 0; i < dims; i++)
					out[i] *= scale;
			}
			return;
		case HYBRID_INT8:
			widen_bytes((const int8 *) vector, stored->scale, dims, out);
			return;
		case HYBRID_BITS:
			widen_bits((const uint8 *) vector, dims, out);
			return;
		case HYBRID_SPARSE:
			break;
	}
	elog(ERROR, "unrecognized storage: %d", (int) storage);
}

const void *
hybrid_stored_view(HybridStorage storage, const HybridStored *stored, const void *vector, int dims,
                   float *room, HyDtype *dtype)
{
	*dtype = HY_F32;
	if (storage == HYBRID_FLOAT32)
		return vector;
	if (storage == HYBRID_FLOAT16 && stored->scale == 1)
	{
		*dtype = HY_F16;
		return vector;
	}
	hybrid_widen_vector(storage, stored, vector, dims, room);
	return room;
}

static float
largest_magnitude(const float *x, int dims)
{
	float largest[LANES] = {0};
	int i, l;

	for (i = 0; i + LANES <= dims; i += LANES)
	{
		for (l = 0; l < LANES; l++)
			largest[l] = fabsf(x[i + l]) > largest[l] ? fabsf(x[i + l]) : largest[l];
	}
	for (; i < dims; i++)
		largest[0] = Max(largest[0], fabsf(x[i]));
	for (l = 1; l < LANES; l++)
		largest[0] = Max(largest[0], largest[l]);
	return largest[0];
}

/* half_scale: return 1 if binary16 represents values up to `largest` well, else a suitable power of two. */
static float
half_scale(float largest)
{
	int exponent;

	if (largest == 0 || (largest <= HALF_MAX && largest >= HALF_SMALL))
		return 1;
	(void) frexpf(largest, &exponent);
	/* the result is a normal number, and so is its inverse */
	return ldexpf(1, Min(Max(exponent, -120), 120));
}

/* residual_of: return the length of the difference between a vector and its stored form, rounded up. */
static float
residual_of(const float *x, const float *stored, int dims)
{
	double sums[LANES] = {0}, sum = 0;
	int i, l;

	for (i = 0; i + LANES <= dims; i += LANES)
	{
		for (l = 0; l < LANES; l++)
		{
			double lost = (double) x[i + l] - (double) stored[i + l];

			sums[l] += lost * lost;
		}
	}
	for (; i < dims; i++)
		sum += ((double) x[i] - (double) stored[i]) * ((double) x[i] - (double) stored[i]);
	for (l = 0; l < LANES; l++)
		sum += sums[l];
	if (sum == 0)
		return 0;
	/* 1e-9 covers the rounding errors of the sum over 16,000 terms and of the square root */
	return nextafterf((float) (sqrt(sum) * (1 + 1e-9)), INFINITY);
}

/* widen_bytes: convert bytes to floats, in blocks that the compiler vectorizes. */
static void
widen_bytes(const int8 *restrict bytes, float scale, int dims, float *restrict out)
{
	const int8 *end = bytes + dims;
	int i;

	for (; end - bytes >= WIDENED; bytes += WIDENED, out += WIDENED)
	{
		for (i = 0; i < WIDENED; i++)
			out[i] = (float) bytes[i] * scale;
	}
	while (bytes < end)
		*out++ = (float) *bytes++ * scale;
}

/* widen_bits: convert bits to zeros and ones. The first bit is the most significant one of the first byte. */
static void
widen_bits(const uint8 *restrict bits, int dims, float *restrict out)
{
	int i, b;

	for (i = 0; i + BITS_PER_BYTE <= dims; i += BITS_PER_BYTE)
	{
		uint32 byte = bits[i / BITS_PER_BYTE];

		for (b = 0; b < BITS_PER_BYTE; b++)
			out[i + b] = (float) (int) (byte >> (BITS_PER_BYTE - 1 - b) & 1);
	}
	for (; i < dims; i++)
		out[i] = (float) (bits[i / BITS_PER_BYTE] >> (BITS_PER_BYTE - 1 - i % BITS_PER_BYTE) & 1);
}
