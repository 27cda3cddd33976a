/*
 * distance.c
 *		Selects the distance kernels, and computes the distance of one pair.
 */
#include "core/distance.h"

#include <math.h>
#include <string.h>

#include "core/distance_levels.h"

static const HyKernels *in_use = NULL;

const HyKernels *
hy_kernels(void)
{
	if (in_use == NULL)
		in_use = hy_kernels_at(hy_simd_best());
	return in_use;
}

const HyKernels *
hy_kernels_at(HySimd level)
{
	if (!hy_simd_available(level))
		return NULL;
	switch (level)
	{
		case HY_SIMD_SCALAR:
			return &hy_kernels_scalar;
#if defined(__x86_64__)
		case HY_SIMD_AVX2:
			return &hy_kernels_avx2;
		case HY_SIMD_AVX512:
			return &hy_kernels_avx512;
		case HY_SIMD_AMX:
			return &hy_kernels_amx;
#endif
#if defined(__aarch64__)
		case HY_SIMD_NEON:
			return &hy_kernels_neon;
#endif
		default:
			return NULL;
	}
}

void
hy_widen(HyDtype dtype, const void *x, int dims, float *out)
{
	if (dtype == HY_F32)
		memcpy(out, x, (size_t) dims * sizeof(float));
	else
		hy_kernels()->widen_f16(out, x, dims);
}

HyStatus
hy_kernels_force(HySimd level)
{
	const HyKernels *kernels = hy_kernels_at(level);

	if (kernels == NULL)
		return HY_UNSUPPORTED;
	in_use = kernels;
	return HY_OK;
}

float
hy_norm_sq(HyDtype dtype, const void *vector, int dims)
{
	const HyKernels *kernels = hy_kernels();
	float widened[HY_MAX_DIMS];

	if (dtype == HY_F32)
		return kernels->pair[HY_F32].ip(vector, vector, dims);
	kernels->widen_f16(widened, vector, dims);
	return kernels->pair[HY_F16].ip(widened, vector, dims);
}

double
hy_distance(HyMetric metric, const float *a, const float *b, int dims)
{
	return hy_distance_to(metric, a, HY_F32, b, dims);
}

double
hy_distance_to(HyMetric metric, const float *a, HyDtype dtype, const void *b, int dims)
{
	const HyPairKernels *pair = &hy_kernels()->pair[dtype];
	float sum = 0.0f;

	switch (metric)
	{
		case HY_METRIC_L2:
			sum = pair->l2sq(a, b, dims);
			break;
		case HY_METRIC_IP:
			sum = pair->ip(a, b, dims);
			break;
		case HY_METRIC_L1:
			sum = pair->l1(a, b, dims);
			break;
		case HY_METRIC_COSINE:
			return hy_cosine_to(a, hy_norm_sq(HY_F32, a, dims), dtype, b, dims);
	}
	return hy_distance_from_sums(metric, sum, 0.0f, 0.0f);
}

double
hy_cosine_to(const float *a, float aa, HyDtype dtype, const void *b, int dims)
{
	float sum[2];

	hy_kernels()->pair[dtype].ip_norm(a, b, dims, sum);
	return hy_distance_from_sums(HY_METRIC_COSINE, sum[0], aa, sum[1]);
}

double
hy_l2_squared(const float *a, HyDtype dtype, const void *b, int dims)
{
	return (double) hy_kernels()->pair[dtype].l2sq(a, b, dims);
}

bool
hy_has_cosine(float norm_sq)
{
	return norm_sq > 0.0f && isfinite(norm_sq);
}

double
hy_cosine_from_sums(float dot, float aa, float bb)
{
	double similarity;

	if (!hy_has_cosine(aa) || !hy_has_cosine(bb) || isnan(dot))
		return NAN;
	similarity = (double) dot / sqrt((double) aa * (double) bb);
	if (similarity > 1.0)
		similarity = 1.0;
	else if (similarity < -1.0)
		similarity = -1.0;
	return 1.0 - similarity;
}

double
hy_distance_from_sums(HyMetric metric, float sum, float aa, float bb)
{
	switch (metric)
	{
		case HY_METRIC_L2:
			return sqrt((double) sum);
		case HY_METRIC_IP:
			/*
			 * The sum is NaN if infinities of both signs were added. The sign of that NaN depends
			 * on the processor, so it is replaced.
			 */
			return isnan(sum) ? NAN : -(double) sum;
		case HY_METRIC_COSINE:
			return hy_cosine_from_sums(sum, aa, bb);
		case HY_METRIC_L1:
			return (double) sum;
	}
	return NAN;
}
