/*
 * distance.c
 *		Which kernels are in use, and the distance of one pair.
 */
#include "core/distance.h"

#include <math.h>

#include "core/distance_levels.h"

static double wide_element(HyDtype dtype, const void *vector, int i);

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
	const HyPairKernels *pair = &hy_kernels()->pair[HY_F32];
	float sum[2];

	switch (metric)
	{
		case HY_METRIC_L2:
			sum[0] = pair->l2sq(a, b, dims);
			break;
		case HY_METRIC_IP:
			sum[0] = pair->ip(a, b, dims);
			break;
		case HY_METRIC_L1:
			sum[0] = pair->l1(a, b, dims);
			break;
		case HY_METRIC_COSINE:
			pair->ip_norm(a, b, dims, sum);
			return hy_distance_from_sums(metric, sum[0], pair->ip(a, a, dims), sum[1], a, HY_F32, b,
			                             dims);
	}
	return hy_distance_from_sums(metric, sum[0], 0.0f, 0.0f, a, HY_F32, b, dims);
}

double
hy_distance_from_sums(HyMetric metric, float sum, float aa, float bb, const float *a, HyDtype dtype,
                      const void *b, int dims)
{
	/* Finite exactly when all three are: a difference of infinities would be NaN. */
	if (!isfinite(fabsf(sum) + aa + bb) && !(isfinite(sum) && isfinite(aa) && isfinite(bb)))
		return hy_distance_wide(metric, a, dtype, b, dims);

	switch (metric)
	{
		case HY_METRIC_L2:
			return sqrt((double) sum);
		case HY_METRIC_IP:
			return -(double) sum;
		case HY_METRIC_COSINE:
			return hy_cosine_from_sums(sum, aa, bb);
		case HY_METRIC_L1:
			return (double) sum;
	}
	return NAN;
}

double
hy_cosine_from_sums(float dot, float aa, float bb)
{
	double similarity;

	if (aa == 0.0f || bb == 0.0f)
		return NAN;
	similarity = (double) dot / sqrt((double) aa * (double) bb);
	if (similarity > 1.0)
		similarity = 1.0;
	else if (similarity < -1.0)
		similarity = -1.0;
	return 1.0 - similarity;
}

double
hy_distance_wide(HyMetric metric, const float *a, HyDtype dtype, const void *b, int dims)
{
	double sum = 0.0;
	double aa = 0.0;
	double bb = 0.0;
	double similarity;
	int i;

	for (i = 0; i < dims; i++)
	{
		double x = a[i];
		double y = wide_element(dtype, b, i);

		switch (metric)
		{
			case HY_METRIC_L2:
				sum += (x - y) * (x - y);
				break;
			case HY_METRIC_L1:
				sum += fabs(x - y);
				break;
			case HY_METRIC_COSINE:
				aa += x * x;
				bb += y * y;
				sum += x * y;
				break;
			case HY_METRIC_IP:
				sum += x * y;
				break;
		}
	}
	if (metric == HY_METRIC_L2)
		return sqrt(sum);
	if (metric == HY_METRIC_IP)
		return -sum;
	if (metric == HY_METRIC_L1)
		return sum;

	/* sqrt of each: their product may leave the range of double. */
	similarity = sum / (sqrt(aa) * sqrt(bb));
	if (similarity > 1.0)
		similarity = 1.0;
	else if (similarity < -1.0)
		similarity = -1.0;
	return 1.0 - similarity;
}

static double
wide_element(HyDtype dtype, const void *vector, int i)
{
	if (dtype == HY_F32)
		return ((const float *) vector)[i];
	return hy_half_to_float(((const uint16_t *) vector)[i]);
}
