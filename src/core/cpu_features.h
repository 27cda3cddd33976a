/*
 * cpu_features.h
 *		Instruction sets that the processor and the operating system allow.
 */
#ifndef HY_CPU_FEATURES_H
#define HY_CPU_FEATURES_H

#include <stdbool.h>

typedef enum HySimd
{
	HY_SIMD_SCALAR = 0,
	HY_SIMD_AVX2,   /* with FMA and F16C */
	HY_SIMD_AVX512, /* F, BW, VL, DQ */
	HY_SIMD_AMX,    /* AVX-512 plus Intel's matrix unit, with bfloat16 and int8 */
	HY_SIMD_NEON    /* AArch64 Advanced SIMD */
} HySimd;

#define HY_SIMD_COUNT (HY_SIMD_NEON + 1)

/*
 * hy_simd_available: test whether the level was compiled in, and the processor and kernel support
 * it.
 */
extern bool hy_simd_available(HySimd level);

/* hy_simd_best: return the highest level available. */
extern HySimd hy_simd_best(void);

/* hy_simd_has_vnni: test whether the AVX-512 level is available and the processor has vpdpwssd. */
extern bool hy_simd_has_vnni(void);

/* hy_simd_has_vpopcntdq: test whether the AVX-512 level is available with vpopcntq. */
extern bool hy_simd_has_vpopcntdq(void);

/* hy_simd_name: return 'scalar', 'avx2', 'avx512', 'amx', 'neon' or 'unknown'. */
extern const char *hy_simd_name(HySimd level);

#endif
