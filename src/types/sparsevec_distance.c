/*
 * sparsevec_distance.c
 *		Distances of one pair of sparse vectors.
 */
#include "postgres.h"

#include "types/sparsevec.h"

typedef enum Measure
{
	MEASURE_L2,
	MEASURE_L2_SQUARED,
	MEASURE_IP,
	MEASURE_COSINE,
	MEASURE_L1
} Measure;

static double measure_args(FunctionCallInfo fcinfo, Measure measure);
static double measure_pair(Measure measure, const HySparse *a, const HySparse *b);

PG_FUNCTION_INFO_V1(hybrid_sparsevec_l2_distance);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_l2_squared_distance);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_inner_product);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_negative_inner_product);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_cosine_distance);
PG_FUNCTION_INFO_V1(hybrid_sparsevec_l1_distance);

Datum
hybrid_sparsevec_l2_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(measure_args(fcinfo, MEASURE_L2));
}

Datum
hybrid_sparsevec_l2_squared_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(measure_args(fcinfo, MEASURE_L2_SQUARED));
}

Datum
hybrid_sparsevec_inner_product(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(-measure_args(fcinfo, MEASURE_IP));
}

Datum
hybrid_sparsevec_negative_inner_product(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(measure_args(fcinfo, MEASURE_IP));
}

Datum
hybrid_sparsevec_cosine_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(measure_args(fcinfo, MEASURE_COSINE));
}

Datum
hybrid_sparsevec_l1_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(measure_args(fcinfo, MEASURE_L1));
}

/*
 * Detoasted copies are freed: in a sort or an index scan these functions may run many times before
 * their memory context is reset.
 */
static double
measure_args(FunctionCallInfo fcinfo, Measure measure)
{
	HybridSparsevec *a = PG_GETARG_HYBRID_SPARSEVEC(0);
	HybridSparsevec *b = PG_GETARG_HYBRID_SPARSEVEC(1);
	HySparse left = hybrid_sparsevec_view(a);
	HySparse right = hybrid_sparsevec_view(b);
	double result;

	hybrid_sparsevec_check_dims(a, b);
	result = measure_pair(measure, &left, &right);
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return result;
}

static double
measure_pair(Measure measure, const HySparse *a, const HySparse *b)
{
	switch (measure)
	{
		case MEASURE_L2:
			return hy_sparse_distance(HY_METRIC_L2, a, b);
		case MEASURE_L2_SQUARED:
			return hy_sparse_l2_squared(a, b);
		case MEASURE_IP:
			return hy_sparse_distance(HY_METRIC_IP, a, b);
		case MEASURE_COSINE:
			return hy_sparse_distance(HY_METRIC_COSINE, a, b);
		case MEASURE_L1:
			break;
	}
	return hy_sparse_distance(HY_METRIC_L1, a, b);
}
