/*
 * forms.h
 *		Vectors that are hard to filter, for the tests of the filter's kernels.
 */
#ifndef HY_TEST_FORMS_H
#define HY_TEST_FORMS_H

#include "kinds.h"

/* Form: kinds of vectors in addition to those of kinds.h. */
typedef enum Form
{
	AS_DRAWN,  /* drawn by kind */
	LENGTHS,   /* each vector has its own magnitude, and all are bounded */
	HALFWAY,   /* elements halfway between two bfloat16 values, all rounded the same way */
	ABSORBED,  /* one large product, and many small ones that the matrix unit truncates away */
	DEEP,      /* elements of very different magnitudes, the largest at any position */
	CLUSTERED, /* near to each other, far from the origin */
	/* two clusters on opposite sides of the origin; rounding removes the differences within each */
	OPPOSITE,
	ZEROS, /* every other vector is 0 */
	ODD,   /* some vectors have an element that is infinite, NaN, or too large for a bound */
	FORMS
} Form;

static int64_t compared;

/* form_vector: make one vector of a form. `right` tells that the vector is a row, not a query. */
static void
form_vector(Form form, Kind kind, float *x, int32_t dims, bool right)
{
	static const float odd[] = {NAN, INFINITY, -INFINITY, 3e38f, 1e-38f, 1e20f};
	float size = ldexpf(1, (int) unit_random_below(&randomness, 60) - 30);
	bool zero = unit_random_below(&randomness, 2) == 0;
	float sign = unit_random_below(&randomness, 2) ? 1 : -1;
	int32_t i;

	for (i = 0; i < dims; i++)
	{
		switch (form)
		{
			case AS_DRAWN:
				x[i] = draw(kind);
				break;
			case LENGTHS:
				x[i] = unit_random_float(&randomness) * size *
				       ldexpf(1, -(int) unit_random_below(&randomness, 20));
				break;
			case HALFWAY:
				x[i] = sign * (1 + 0x1p-8f);
				break;
			case ABSORBED:
				x[i] = i == 0 ? 1 : right ? 0x1.fep-12f : 0x1p-12f;
				break;
			case DEEP:
				x[i] = unit_random_float(&randomness) * size *
				       ldexpf(1, -(int) unit_random_below(&randomness, 40));
				break;
			case CLUSTERED:
				x[i] = 3 + unit_random_float(&randomness) / 50;
				break;
			case OPPOSITE:
				x[i] = sign * (1 + unit_random_float(&randomness) / 512);
				break;
			case ZEROS:
				x[i] = zero ? 0 : unit_random_float(&randomness);
				break;
			default:
				x[i] = unit_random_float(&randomness);
				break;
		}
	}
	if (form == ODD && unit_random_below(&randomness, 4) == 0)
		x[unit_random_below(&randomness, (uint64_t) dims)] =
			odd[unit_random_below(&randomness, sizeof(odd) / sizeof(odd[0]))];
}

static void
from_device(void *to, const void *from, size_t bytes, cudaStream_t stream)
{
	CHECK_INT(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), cudaSuccess);
	CHECK_INT(cudaStreamSynchronize(stream), cudaSuccess);
}

/* drop_bound: vectors are taken for what they were rounded to. */
static UNIT_UNUSED void
drop_bound(HyCudaReach *on_device, int64_t count, cudaStream_t stream)
{
	size_t bytes = (size_t) count * sizeof(HyCudaReach);
	HyCudaReach *reach = malloc(bytes);
	int64_t i;

	from_device(reach, on_device, bytes, stream);
	for (i = 0; i < count; i++)
		reach[i].reach = reach[i].rough = 0;
	CHECK_INT(cudaMemcpyAsync(on_device, reach, bytes, cudaMemcpyHostToDevice, stream),
	          cudaSuccess);
	CHECK_INT(cudaStreamSynchronize(stream), cudaSuccess);
	free(reach);
}

#endif
