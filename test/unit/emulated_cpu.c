/*
 * emulated_cpu.c
 *		Replaces cpu_features.c: a processor that has all features of x86-64.
 *
 * For programs whose AVX-512 and matrix unit are emulated (other_machines.sh).
 */
#include "core/cpu_features.h"

bool
hy_simd_available(HySimd level)
{
	return (int) level >= 0 && level <= HY_SIMD_AMX;
}

HySimd
hy_simd_best(void)
{
	return HY_SIMD_AMX;
}

bool
hy_simd_has_vnni(void)
{
	return true;
}

bool
hy_simd_has_vpopcntdq(void)
{
	return true;
}

const char *
hy_simd_name(HySimd level)
{
	static const char *const names[] = {"scalar", "avx2", "avx512", "amx"};

	return hy_simd_available(level) ? names[level] : "unknown";
}
