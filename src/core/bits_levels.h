/*
 * bits_levels.h
 *		The tables of bit kernels, one a file; to be reached through hy_bit_kernels_at, which
 *		knows whether this processor may run them.
 */
#ifndef HY_BITS_LEVELS_H
#define HY_BITS_LEVELS_H

#include "core/bits.h"

extern const HyBitKernels hy_bit_kernels_scalar;
extern const HyBitKernels hy_bit_kernels_avx2;   /* x86-64 */
extern const HyBitKernels hy_bit_kernels_avx512; /* x86-64, needs VPOPCNTDQ */
extern const HyBitKernels hy_bit_kernels_neon;   /* AArch64 */

#endif
