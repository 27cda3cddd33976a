/*
 * bits_levels.h
 *		Tables of bit kernels, one per file.
 *
 * Select a table with hy_bit_kernels_at, which returns only tables that this processor can run.
 */
#ifndef HY_BITS_LEVELS_H
#define HY_BITS_LEVELS_H

#include "core/bits.h"

extern const HyBitKernels hy_bit_kernels_scalar;
extern const HyBitKernels hy_bit_kernels_avx2;   /* x86-64 */
extern const HyBitKernels hy_bit_kernels_avx512; /* x86-64, needs VPOPCNTDQ */
extern const HyBitKernels hy_bit_kernels_neon;   /* AArch64 */

#endif
