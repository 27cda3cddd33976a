/*
 * cpu_features.c
 *		Asks the processor, and whether the kernel saves the registers.
 *
 * An instruction set is usable only when the kernel also keeps its registers over a context
 * switch, which XCR0 tells.  __builtin_cpu_supports knows f16c in some compilers only, so the
 * bits are read here.
 */
#include "core/cpu_features.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>

/* Bits of cpuid, by leaf and register. */
#define LEAF1_ECX_FMA (1u << 12)
#define LEAF1_ECX_OSXSAVE (1u << 27)
#define LEAF1_ECX_AVX (1u << 28)
#define LEAF1_ECX_F16C (1u << 29)
#define LEAF7_EBX_AVX2 (1u << 5)
#define LEAF7_EBX_AVX512F (1u << 16)
#define LEAF7_EBX_AVX512DQ (1u << 17)
#define LEAF7_EBX_AVX512BW (1u << 30)
#define LEAF7_EBX_AVX512VL (1u << 31)
#define LEAF7_ECX_AVX512_VPOPCNTDQ (1u << 14)

#define LEAF1_AVX2_SET (LEAF1_ECX_FMA | LEAF1_ECX_OSXSAVE | LEAF1_ECX_AVX | LEAF1_ECX_F16C)
#define LEAF7_AVX512_SET                                                                           \
	(LEAF7_EBX_AVX512F | LEAF7_EBX_AVX512DQ | LEAF7_EBX_AVX512BW | LEAF7_EBX_AVX512VL)

/* State components that the kernel saves: xmm and ymm; opmask, upper zmm, zmm16-31. */
#define XCR0_YMM 0x06u
#define XCR0_ZMM 0xe6u
#endif

static HySimd detect(void);

bool
hy_simd_available(HySimd level)
{
	HySimd best = hy_simd_best();

	if (level == HY_SIMD_SCALAR)
		return true;
	if (best == HY_SIMD_NEON)
		return level == HY_SIMD_NEON;
	return level != HY_SIMD_NEON && (int) level > 0 && level <= best;
}

HySimd
hy_simd_best(void)
{
	/* Detection is idempotent, so a race between threads is harmless. */
	static volatile int known = -1;

	if (known < 0)
		known = (int) detect();
	return (HySimd) known;
}

const char *
hy_simd_name(HySimd level)
{
	static const char *const names[HY_SIMD_COUNT] = {"scalar", "avx2", "avx512", "neon"};

	if ((int) level < 0 || (int) level >= HY_SIMD_COUNT)
		return "unknown";
	return names[level];
}

bool
hy_cpu_has_vpopcntdq(void)
{
#if defined(__x86_64__)
	static volatile int known = -1;

	if (known < 0)
	{
		unsigned int eax;
		unsigned int ebx;
		unsigned int ecx;
		unsigned int edx;

		known = hy_simd_best() == HY_SIMD_AVX512 &&
		        __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) &&
		        (ecx & LEAF7_ECX_AVX512_VPOPCNTDQ) != 0;
	}
	return known != 0;
#else
	return false;
#endif
}

#if defined(__x86_64__)

static HySimd
detect(void)
{
	unsigned int eax;
	unsigned int ebx;
	unsigned int ecx;
	unsigned int edx;
	uint32_t xcr0_low;
	uint32_t xcr0_high;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & LEAF1_AVX2_SET) != LEAF1_AVX2_SET)
		return HY_SIMD_SCALAR;

	/* Only legal because OSXSAVE is set. */
	__asm__ volatile("xgetbv" : "=a"(xcr0_low), "=d"(xcr0_high) : "c"(0));
	if ((xcr0_low & XCR0_YMM) != XCR0_YMM)
		return HY_SIMD_SCALAR;

	if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(ebx & LEAF7_EBX_AVX2))
		return HY_SIMD_SCALAR;
	if ((ebx & LEAF7_AVX512_SET) == LEAF7_AVX512_SET && (xcr0_low & XCR0_ZMM) == XCR0_ZMM)
		return HY_SIMD_AVX512;
	return HY_SIMD_AVX2;
}

#elif defined(__aarch64__)

static HySimd
detect(void)
{
	/* Advanced SIMD belongs to the base architecture. */
	return HY_SIMD_NEON;
}

#else

static HySimd
detect(void)
{
	return HY_SIMD_SCALAR;
}

#endif
