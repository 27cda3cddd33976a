/*
 * kinds.h
 *		Vectors of every kind for the tests of the kernels, and their upload to the fake device.
 */
#ifndef HY_TEST_KINDS_H
#define HY_TEST_KINDS_H

#include "unit.h"

#include "core/distance.h"
#include "cuda/filter_launch.h"
#include "cuda/launch.h"
#include "fake.h"

/* How elements are drawn. */
typedef enum Kind
{
	KIND_PLAIN,  /* uniform in -1 .. 1 */
	KIND_MIXED,  /* magnitudes from 1e-30 to 1e30: sums overflow and underflow */
	KIND_CANCEL, /* large values that nearly cancel */
	KIND_FEW,    /* one of four values: many equal distances, zero vectors at low dims */
	KIND_TINY,   /* subnormal results */
	KIND_ABSORB, /* powers of two so far apart that the order of a sum in fp64 shows */
	KIND_COUNT
} Kind;

static UnitRandom randomness = {42};

static float
draw(Kind kind)
{
	static const float few[4] = {0.0f, 1.0f, -1.0f, 0.5f};

	switch (kind)
	{
		case KIND_MIXED:
			return ldexpf(unit_random_float(&randomness),
			              (int) unit_random_below(&randomness, 200) - 100);
		case KIND_CANCEL:
			return (unit_random_below(&randomness, 2) ? 1e6f : -1e6f) +
			       unit_random_float(&randomness);
		case KIND_FEW:
			return few[unit_random_below(&randomness, 4)];
		case KIND_ABSORB:
			return ldexpf(unit_random_below(&randomness, 2) ? 1.0f : -1.0f,
			              unit_random_below(&randomness, 2) ? 40 : 0);
		case KIND_TINY:
			return unit_random_float(&randomness) * 1e-22f;
		default:
			return unit_random_float(&randomness);
	}
}

/* fill: draw `count` elements of a type. */
static UNIT_UNUSED void
fill(void *elements, HyDtype dtype, Kind kind, size_t count)
{
	size_t k;

	for (k = 0; k < count; k++)
	{
		float value = draw(kind);

		if (dtype == HY_F32)
			((float *) elements)[k] = value;
		else if (kind == KIND_MIXED)
		{
			/* any finite half, subnormal ones too */
			uint16_t half = (uint16_t) unit_random(&randomness);

			((uint16_t *) elements)[k] = (half & 0x7c00) == 0x7c00 ? half & 0x83ff : half;
		}
		else if (kind == KIND_ABSORB)
			((uint16_t *) elements)[k] =
				hy_float_to_half(fabsf(value) > 1 ? ldexpf(value, -25) : value);
		else
			((uint16_t *) elements)[k] = hy_float_to_half(value);
	}
}

static void *
to_device(const void *data, size_t bytes, cudaStream_t stream)
{
	void *pointer;

	CHECK_INT(cudaMalloc(&pointer, bytes), cudaSuccess);
	CHECK_INT(cudaMemcpyAsync(pointer, data, bytes, cudaMemcpyHostToDevice, stream), cudaSuccess);
	return pointer;
}

/* whole_tiles: round a number of rows or queries up to whole tiles. */
static UNIT_UNUSED int64_t
whole_tiles(int64_t count)
{
	return (count + HY_CUDA_TILE - 1) / HY_CUDA_TILE * HY_CUDA_TILE;
}

#endif
