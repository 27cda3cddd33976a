/*
 * rotation.c
 *		The signs of a rotation, and the choice of the level that runs it.
 */
#include "core/rotation.h"

#include <math.h>
#include <string.h>

#include "core/batch.h"
#include "core/distance.h"
#include "core/random.h"
#include "core/rotation_levels.h"

#define ALIGNMENT 64 /* a load of the widest register touches one cache line */

HyStatus
hy_rotation_init(HyRotation *rotation, int dims, uint64_t seed, const HyAllocator *allocator)
{
	size_t count;
	float inside;
	int round;
	int i;

	memset(rotation, 0, sizeof(*rotation));
	rotation->allocator = *allocator;
	if (dims < 1 || dims > HY_MAX_DIMS)
		return HY_INVALID;
	rotation->dims = dims;
	rotation->padded = hy_rotation_padded(dims);
	rotation->part = HY_ROTATION_STEP;
	while (rotation->part * 2 <= rotation->padded)
		rotation->part *= 2;

	count = (size_t) rotation->padded * HY_ROTATION_ROUNDS;
	rotation->memory = hy_alloc(allocator, count * sizeof(float) + ALIGNMENT);
	if (rotation->memory == NULL)
		return HY_NOMEM;
	rotation->factors = (float *) (void *) ((char *) rotation->memory + ALIGNMENT -
	                                        (uintptr_t) rotation->memory % ALIGNMENT);

	inside = (float) sqrt(1.0 / rotation->part);
	for (round = 0; round < HY_ROTATION_ROUNDS; round++)
	{
		float *factors = rotation->factors + (size_t) round * (size_t) rotation->padded;
		int start = round % 2 == 0 ? 0 : rotation->padded - rotation->part;
		uint64_t bits = 0;

		for (i = 0; i < rotation->padded; i++)
		{
			float factor = i >= start && i < start + rotation->part ? inside : 1.0f;

			if (i % 64 == 0)
				bits = hy_random(seed, (uint64_t) round << 32 | (uint64_t) (i / 64));
			factors[i] = bits >> (i % 64) & 1 ? -factor : factor;
		}
	}
	return HY_OK;
}

void
hy_rotation_free(HyRotation *rotation)
{
	hy_free(&rotation->allocator, rotation->memory);
	rotation->memory = NULL;
	rotation->factors = NULL;
}

void
hy_rotation_apply(const HyRotation *rotation, const float *x, float *out)
{
	hy_rotation_apply_at(hy_kernels()->level, rotation, x, out);
}

bool
hy_rotation_apply_at(HySimd level, const HyRotation *rotation, const float *x, float *out)
{
	void (*rotate)(const HyRotation *rotation, float *x) = NULL;

	if (!hy_simd_available(level))
		return false;
	switch (level)
	{
		case HY_SIMD_SCALAR:
			rotate = hy_rotate_scalar;
			break;
#if defined(__x86_64__)
		case HY_SIMD_AVX2:
			rotate = hy_rotate_avx2;
			break;
		case HY_SIMD_AVX512:
		case HY_SIMD_AMX:
			rotate = hy_rotate_avx512;
			break;
#endif
#if defined(__aarch64__)
		case HY_SIMD_NEON:
			rotate = hy_rotate_neon;
			break;
#endif
		default:
			return false;
	}
	memmove(out, x, (size_t) rotation->dims * sizeof(float));
	memset(out + rotation->dims, 0, (size_t) (rotation->padded - rotation->dims) * sizeof(float));
	rotate(rotation, out);
	return true;
}
