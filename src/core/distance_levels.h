/*
 * distance_levels.h
 *		The kernel tables, one a level; to be reached through hy_kernels_at, which knows whether
 *		this processor may run them.
 */
#ifndef HY_DISTANCE_LEVELS_H
#define HY_DISTANCE_LEVELS_H

#include "core/distance.h"

extern const HyKernels hy_kernels_scalar;
extern const HyKernels hy_kernels_avx2;   /* x86-64 */
extern const HyKernels hy_kernels_avx512; /* x86-64 */
extern const HyKernels hy_kernels_amx;    /* x86-64 */
extern const HyKernels hy_kernels_neon;   /* AArch64 */

#endif
