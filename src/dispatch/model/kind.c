/*
 * kind.c
 *		Numbers kinds of tasks, size classes and sides: see kind.h.
 */
#include "dispatch/model/kind.h"

#include <math.h>

/*
 * Layout of a kind's number, from the top: the bit KIND_USED, the parts of the kind, SIZE_BITS bits
 * for a size.
 */
#define SIZE_BITS 6
#define THREADS_SHIFT 24 /* position of the thread class in a result of hy_shape_model */
#define KIND_USED (UINT32_C(1) << 31)
#define SIZE_USED (UINT32_C(1) << 30) /* a bit of every size class */

uint32_t
hy_shape_kind(const HyShape *shape)
{
	uint32_t kind;

	kind = (uint32_t) shape->op;
	kind = kind << 1 | (uint32_t) shape->dtype;
	kind = kind << 2 | (uint32_t) shape->metric;
	kind = kind << 5 | (uint32_t) (shape->dims > 0 ? 1 + hy_log2_floor(shape->dims) : 0);
	kind = kind << 1 | (uint32_t) shape->resident;
	return KIND_USED | kind << SIZE_BITS;
}

uint32_t
hy_shape_model(const HyShape *shape, int32_t device)
{
	int32_t side = hy_side_of(shape, device);
	uint32_t threads = side < HY_MAX_DEVICES ? 0 : (uint32_t) (side - HY_MAX_DEVICES + 1);

	return hy_shape_kind(shape) | threads << THREADS_SHIFT;
}

uint32_t
hy_shape_class(const HyShape *shape)
{
	return hy_shape_kind(shape) | (uint32_t) hy_log2_floor((double) hy_shape_items(shape));
}

/*
 * hy_shape_size: combine the class of the query count, the class of k and the power of two of the
 * work.  A class of counts covers a factor of four, and 64 or more queries are one class.  For
 * equal counts, the number grows with the work.
 */
uint32_t
hy_shape_size(const HyShape *shape, double work)
{
	uint32_t queries = (uint32_t) hy_log2_floor((double) shape->queries) / 2;
	uint32_t k = (uint32_t) hy_log2_floor(shape->k) / 2;
	uint32_t counts = k << 2 | (queries < 3 ? queries : 3);

	return SIZE_USED | counts << HY_SIZE_POWER_BITS | (uint32_t) hy_log2_floor(work);
}

int32_t
hy_side_of(const HyShape *shape, int32_t device)
{
	int32_t number;

	if (device != 0 || shape->threads < 2)
		return device;
	number = hy_log2_floor(shape->threads) - 1;
	return HY_MAX_DEVICES + (number < HY_THREAD_CLASSES ? number : HY_THREAD_CLASSES - 1);
}

int32_t
hy_side_device(int32_t side)
{
	return side < HY_MAX_DEVICES ? side : 0;
}

int32_t
hy_side_threads(int32_t side)
{
	return side == 0 ? 1 : INT32_C(2) << (side - HY_MAX_DEVICES);
}

int
hy_log2_floor(double n)
{
	int exponent;

	if (!(n >= 1))
		return 0;
	if (n >= 0x1p63)
		return 63;
	frexp(n, &exponent);
	return exponent - 1;
}
