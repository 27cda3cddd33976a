/*
 * distance_levels.h
 *		Tables of distance kernels, one per level.
 *
 * Select a table with hy_kernels_at, which returns only tables that this processor can run.
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
