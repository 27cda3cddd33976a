/*
 * vector_distance.c
 *		Distances of one pair of vectors, at once and on the CPU.
 *
 * One pair is too little work to send anywhere; batches go through the dispatcher and come back
 * with the same bits (core/distance.h).
 */
#include "postgres.h"

#include "core/distance.h"
#include "types/vector.h"

static double distance_of_args(FunctionCallInfo fcinfo, HyMetric metric);

PG_FUNCTION_INFO_V1(hybrid_l2_distance);
PG_FUNCTION_INFO_V1(hybrid_l1_distance);
PG_FUNCTION_INFO_V1(hybrid_cosine_distance);
PG_FUNCTION_INFO_V1(hybrid_inner_product);
PG_FUNCTION_INFO_V1(hybrid_vector_negative_inner_product);

Datum
hybrid_l2_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(distance_of_args(fcinfo, HY_METRIC_L2));
}

Datum
hybrid_l1_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(distance_of_args(fcinfo, HY_METRIC_L1));
}

Datum
hybrid_cosine_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(distance_of_args(fcinfo, HY_METRIC_COSINE));
}

Datum
hybrid_inner_product(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(-distance_of_args(fcinfo, HY_METRIC_IP));
}

Datum
hybrid_vector_negative_inner_product(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(distance_of_args(fcinfo, HY_METRIC_IP));
}

/*
 * Detoasted copies are freed: in a sort or an index scan these functions may run many times before
 * their memory context is reset.
 */
static double
distance_of_args(FunctionCallInfo fcinfo, HyMetric metric)
{
	HybridVector *a = PG_GETARG_HYBRID_VECTOR(0);
	HybridVector *b = PG_GETARG_HYBRID_VECTOR(1);
	double distance;

	hybrid_vector_check_dims(a, b);
	distance = hy_distance(metric, a->x, b->x, a->dim);
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return distance;
}
