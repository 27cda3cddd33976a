/*
 * entry.c
 *		From a vector to what the index stores of it.
 *
 * float32 keeps the bits.  float16 rounds every value to the nearest binary16 and keeps the length
 * of what rounding took away, so that a scan can report a distance that is never too large.
 */
#include "postgres.h"

#include <math.h>

#include "core/distance.h"

#include "index/index.h"

#define HALF_MAX 65504.0f

static float store_half(const HybridVector *vector, uint16_t *half);

bool
hybrid_entry_form(const HybridIndex *index, const HybridVector *vector, ItemPointer tid,
                  HybridEntry *entry)
{
	const HybridLayout *layout = &index->layout;
	float norm;

	if (vector->dim != layout->dims)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("expected %d dimensions, not %d", layout->dims, vector->dim)));

	norm = hy_norm_sq(HY_F32, vector->x, vector->dim);
	/* The operator's distance to it is NaN whatever the query. */
	if (index->metric == HY_METRIC_COSINE && !hy_has_cosine(norm))
		return false;

	memset(&entry->slot, 0, sizeof(entry->slot));
	entry->slot.tid = *tid;
	entry->slot.flags = HYBRID_SLOT_LIVE;
	if (layout->dtype == HY_F32)
	{
		memcpy(entry->vector, vector->x, layout->stride);
		entry->slot.norm = norm;
	}
	else
	{
		entry->slot.residual = store_half(vector, entry->vector);
		entry->slot.norm = hy_norm_sq(HY_F16, entry->vector, vector->dim);
	}
	return true;
}

/* store_half: rounds into half and returns the length of the difference, rounded up. */
static float
store_half(const HybridVector *vector, uint16_t *half)
{
	const HyKernels *kernels = hy_kernels();
	float stored[HYBRID_MAX_DIM];
	double sum = 0;
	int i;

	for (i = 0; i < vector->dim; i++)
	{
		if (fabsf(vector->x[i]) > HALF_MAX)
			ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			                errmsg("value %g at position %d does not fit storage \"float16\"",
			                       vector->x[i], i + 1),
			                errdetail("The largest magnitude is 65504."),
			                errhint("Build the index WITH (storage = float32).")));
	}
	kernels->narrow_f16(half, vector->x, vector->dim);
	kernels->widen_f16(stored, half, vector->dim);
	for (i = 0; i < vector->dim; i++)
	{
		double lost = (double) vector->x[i] - (double) stored[i];

		sum += lost * lost;
	}
	if (sum == 0)
		return 0;
	/* 1e-9 covers the rounding of the sum and of the root over 16,000 terms */
	return nextafterf((float) (sqrt(sum) * (1 + 1e-9)), INFINITY);
}
