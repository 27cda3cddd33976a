/*
 * byte_order.h
 *		Vector elements in network byte order, and a check for elements that are not finite.
 */
#ifndef HY_BYTE_ORDER_H
#define HY_BYTE_ORDER_H

#include <stddef.h>
#include <stdint.h>

#include "core/batch.h"

/*
 * hy_network_order: convert n elements of width bytes, 2 or 4, from the machine's byte order to
 * network byte order or back.  The buffers need no alignment but must not overlap.
 */
extern void hy_network_order(size_t width, void *to, const void *from, int32_t n);

/*
 * hy_first_not_finite: return the index of the first of n elements that is NaN or infinite, or n if
 * all are finite.  Only the exponents are examined.
 */
extern int32_t hy_first_not_finite(HyDtype dtype, const void *elements, int32_t n);

#endif
