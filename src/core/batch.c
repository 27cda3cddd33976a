/*
 * batch.c
 *		Names of metrics and element types.
 */
#include "core/batch.h"

static const char *const metric_names[HY_METRIC_COUNT] = {"l2", "ip", "cosine", "l1"};
static const char *const dtype_names[HY_DTYPE_COUNT] = {"float32", "float16"};

const char *
hy_metric_name(HyMetric metric)
{
	if ((int) metric < 0 || (int) metric >= HY_METRIC_COUNT)
		return "unknown";
	return metric_names[metric];
}

const char *
hy_dtype_name(HyDtype dtype)
{
	if ((int) dtype < 0 || (int) dtype >= HY_DTYPE_COUNT)
		return "unknown";
	return dtype_names[dtype];
}
