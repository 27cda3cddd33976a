/*
 * network.h
 *		Elements as they travel: in network byte order, each to be looked at before it is used.
 */
#ifndef HY_NETWORK_H
#define HY_NETWORK_H

#include <stddef.h>
#include <stdint.h>

#include "core/batch.h"

/*
 * hy_network_order: n elements of width bytes, 2 or 4, from the machine's byte order to the
 * network's or back.  Neither side need be aligned; they must not overlap.
 */
extern void hy_network_order(size_t width, void *to, const void *from, int32_t n);

/*
 * hy_first_not_finite: the first of n elements that is a NaN or an infinity, by its exponent; n
 * when there is none.
 */
extern int32_t hy_first_not_finite(HyDtype dtype, const void *elements, int32_t n);

#endif
