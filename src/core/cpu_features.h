/*
 * cpu_features.h
 *		Which instruction sets this processor and this kernel let us use.
 */
#ifndef HY_CPU_FEATURES_H
#define HY_CPU_FEATURES_H

#include <stdbool.h>

typedef enum HySimd
{
	HY_SIMD_SCALAR = 0,
	HY_SIMD_AVX2,   /* with FMA and F16C */
	HY_SIMD_AVX512, /* F, BW, VL, DQ */
	HY_SIMD_AMX,    /* that and Intel's matrix unit, with bfloat16 and bytes */
	HY_SIMD_NEON    /* AArch64 Advanced SIMD */
} HySimd;

#define HY_SIMD_COUNT (HY_SIMD_NEON + 1)

/* hy_simd_available: whether the level was compiled in and the processor and kernel offer it. */
extern bool hy_simd_available(HySimd level);

/* hy_simd_best: the widest level available. */
extern HySimd hy_simd_best(void);

/* hy_simd_has_vnni: whether AVX-512, where available, has vpdpwssd. */
extern bool hy_simd_has_vnni(void);

/* hy_simd_has_vpopcntdq: whether AVX-512, where available, can count bits. */
extern bool hy_simd_has_vpopcntdq(void);

/* hy_simd_name: 'scalar', 'avx2', 'avx512', 'amx', 'neon'. */
extern const char *hy_simd_name(HySimd level);

#endif
