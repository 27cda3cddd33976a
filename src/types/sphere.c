/*
 * sphere.c
 *		The type hybrid_sphere, and whether a vector or a halfvec lies within a sphere.
 *
 * The distance from the center is the distance that the ordering operator returns. The center is
 * always a vector. A halfvec is compared with it directly, without rounding the center to halves.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "executor/executor.h"
#include "fmgr.h"
#include "funcapi.h"

#include "core/distance.h"
#include "types/dense.h"
#include "types/sphere.h"

#define CENTER 1
#define RADIUS 2

static Datum within(FunctionCallInfo fcinfo, const HybridDenseType *type, HyMetric metric);

PG_FUNCTION_INFO_V1(hybrid_sphere);
Datum
hybrid_sphere(PG_FUNCTION_ARGS)
{
	Datum values[2] = {PG_GETARG_DATUM(0), PG_GETARG_DATUM(1)};
	bool nulls[2] = {false, false};
	TupleDesc descriptor;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}

PG_FUNCTION_INFO_V1(hybrid_vector_within_l2);
PG_FUNCTION_INFO_V1(hybrid_halfvec_within_l2);
PG_FUNCTION_INFO_V1(hybrid_vector_within_ip);
PG_FUNCTION_INFO_V1(hybrid_halfvec_within_ip);
PG_FUNCTION_INFO_V1(hybrid_vector_within_cosine);
PG_FUNCTION_INFO_V1(hybrid_halfvec_within_cosine);
PG_FUNCTION_INFO_V1(hybrid_vector_within_l1);
PG_FUNCTION_INFO_V1(hybrid_halfvec_within_l1);

HYBRID_DENSE_FUNCTION(within_l2, within(fcinfo, type, HY_METRIC_L2));
HYBRID_DENSE_FUNCTION(within_ip, within(fcinfo, type, HY_METRIC_IP));
HYBRID_DENSE_FUNCTION(within_cosine, within(fcinfo, type, HY_METRIC_COSINE));
HYBRID_DENSE_FUNCTION(within_l1, within(fcinfo, type, HY_METRIC_L1));

bool
hybrid_sphere_open(Datum datum, HybridSphere *sphere)
{
	HeapTupleHeader row = DatumGetHeapTupleHeader(datum);
	bool no_center, no_radius;
	Datum center = GetAttributeByNum(row, CENTER, &no_center);
	Datum radius = GetAttributeByNum(row, RADIUS, &no_radius);

	if (no_center || no_radius)
		return false;
	sphere->center = DatumGetHybridVector(center);
	sphere->radius = DatumGetFloat8(radius);
	return true;
}

static Datum
within(FunctionCallInfo fcinfo, const HybridDenseType *type, HyMetric metric)
{
	HybridDense *value = PG_GETARG_HYBRID_DENSE(0, type->dtype);
	HybridSphere sphere;
	double distance;

	if (!hybrid_sphere_open(PG_GETARG_DATUM(1), &sphere))
		PG_RETURN_NULL();
	hybrid_dense_check_dims(type, value, (const HybridDense *) sphere.center);
	distance = hy_distance_to(metric, sphere.center->x, type->dtype, value->x, value->dim);
	PG_FREE_IF_COPY(value, 0);
	PG_RETURN_BOOL(distance <= sphere.radius);
}
