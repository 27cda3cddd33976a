/*
 * dense_distance.c
 *		Distances of one pair of vectors or halfvecs, at once and on the CPU.
 *
 * One pair is too little work to send anywhere; batches go through the dispatcher and come back
 * with the same bits (core/distance.h).
 */
#include "postgres.h"

#include <math.h>

#include "types/dense.h"

typedef enum Measure
{
	MEASURE_L2,
	MEASURE_L2_SQUARED,
	MEASURE_L1,
	MEASURE_COSINE,
	MEASURE_INNER_PRODUCT,
	MEASURE_NEGATIVE_INNER_PRODUCT,
	MEASURE_SPHERICAL
} Measure;

static Datum measure_args(FunctionCallInfo fcinfo, const HybridDenseType *type, Measure measure);
static double measure_halves(Measure measure, const void *a, const void *b, int dims);
static double measure_pair(Measure measure, const float *a, HyDtype dtype, const void *b, int dims);
static double spherical_distance(double inner_product);

PG_FUNCTION_INFO_V1(hybrid_vector_l2_distance);
PG_FUNCTION_INFO_V1(hybrid_halfvec_l2_distance);
PG_FUNCTION_INFO_V1(hybrid_vector_l2_squared_distance);
PG_FUNCTION_INFO_V1(hybrid_halfvec_l2_squared_distance);
PG_FUNCTION_INFO_V1(hybrid_vector_l1_distance);
PG_FUNCTION_INFO_V1(hybrid_halfvec_l1_distance);
PG_FUNCTION_INFO_V1(hybrid_vector_cosine_distance);
PG_FUNCTION_INFO_V1(hybrid_halfvec_cosine_distance);
PG_FUNCTION_INFO_V1(hybrid_vector_inner_product);
PG_FUNCTION_INFO_V1(hybrid_halfvec_inner_product);
PG_FUNCTION_INFO_V1(hybrid_vector_negative_inner_product);
PG_FUNCTION_INFO_V1(hybrid_halfvec_negative_inner_product);
PG_FUNCTION_INFO_V1(hybrid_vector_spherical_distance);
PG_FUNCTION_INFO_V1(hybrid_halfvec_spherical_distance);

HYBRID_DENSE_FUNCTION(l2_distance, measure_args(fcinfo, type, MEASURE_L2));
HYBRID_DENSE_FUNCTION(l2_squared_distance, measure_args(fcinfo, type, MEASURE_L2_SQUARED));
HYBRID_DENSE_FUNCTION(l1_distance, measure_args(fcinfo, type, MEASURE_L1));
HYBRID_DENSE_FUNCTION(cosine_distance, measure_args(fcinfo, type, MEASURE_COSINE));
HYBRID_DENSE_FUNCTION(inner_product, measure_args(fcinfo, type, MEASURE_INNER_PRODUCT));
HYBRID_DENSE_FUNCTION(negative_inner_product,
                      measure_args(fcinfo, type, MEASURE_NEGATIVE_INNER_PRODUCT));
HYBRID_DENSE_FUNCTION(spherical_distance, measure_args(fcinfo, type, MEASURE_SPHERICAL));

/*
 * Detoasted copies are freed: in a sort or an index scan these functions may run many times before
 * their memory context is reset.
 */
static Datum
measure_args(FunctionCallInfo fcinfo, const HybridDenseType *type, Measure measure)
{
	HybridDense *a = PG_GETARG_HYBRID_DENSE(0);
	HybridDense *b = PG_GETARG_HYBRID_DENSE(1);
	double distance;

	hybrid_dense_check_dims(type, a, b);
	if (type->dtype == HY_F32)
		distance = measure_pair(measure, hybrid_dense_singles(a), HY_F32, b->x, a->dim);
	else
		distance = measure_halves(measure, a->x, b->x, a->dim);
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	PG_RETURN_FLOAT8(distance);
}

/* Kernels take one side as floats. */
static double
measure_halves(Measure measure, const void *a, const void *b, int dims)
{
	float widened[HYBRID_MAX_DIM];

	hy_kernels()->widen_f16(widened, a, dims);
	return measure_pair(measure, widened, HY_F16, b, dims);
}

static double
measure_pair(Measure measure, const float *a, HyDtype dtype, const void *b, int dims)
{
	switch (measure)
	{
		case MEASURE_L2:
			return hy_distance_to(HY_METRIC_L2, a, dtype, b, dims);
		case MEASURE_L2_SQUARED:
			return hy_l2_squared(a, dtype, b, dims);
		case MEASURE_L1:
			return hy_distance_to(HY_METRIC_L1, a, dtype, b, dims);
		case MEASURE_COSINE:
			return hy_distance_to(HY_METRIC_COSINE, a, dtype, b, dims);
		case MEASURE_INNER_PRODUCT:
			return -hy_distance_to(HY_METRIC_IP, a, dtype, b, dims);
		case MEASURE_NEGATIVE_INNER_PRODUCT:
			return hy_distance_to(HY_METRIC_IP, a, dtype, b, dims);
		case MEASURE_SPHERICAL:
			return spherical_distance(-hy_distance_to(HY_METRIC_IP, a, dtype, b, dims));
	}
	elog(ERROR, "unrecognized measure: %d", (int) measure);
}

/* The angle between two vectors of length 1, of which rounding may have made a little more. */
static double
spherical_distance(double inner_product)
{
	return acos(Max(-1.0, Min(1.0, inner_product))) / M_PI;
}
