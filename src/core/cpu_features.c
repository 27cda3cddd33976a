/*
 * cpu_features.c
 *		Detects the instruction sets that the processor has and the kernel supports.
 *
 * An instruction set is usable only if the kernel saves its registers across context switches.  The
 * register XCR0 shows which registers the kernel saves.  Not every compiler lets
 * __builtin_cpu_supports test for f16c, so this file reads the bits of cpuid itself.
 */
#define _DEFAULT_SOURCE
#include "core/cpu_features.h"

#include <stddef.h>
#include <stdint.h>

#if defined(__x86_64__)
#include <cpuid.h>
#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

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
#define LEAF7_ECX_AVX512VNNI (1u << 11)
#define LEAF7_ECX_AVX512VPOPCNTDQ (1u << 14)
#define LEAF7_EDX_AMX_BF16 (1u << 22)
#define LEAF7_EDX_AMX_TILE (1u << 24)
#define LEAF7_EDX_AMX_INT8 (1u << 25)

#define LEAF1_AVX2_SET (LEAF1_ECX_FMA | LEAF1_ECX_OSXSAVE | LEAF1_ECX_AVX | LEAF1_ECX_F16C)
#define LEAF7_AVX512_SET                                                                           \
	(LEAF7_EBX_AVX512F | LEAF7_EBX_AVX512DQ | LEAF7_EBX_AVX512BW | LEAF7_EBX_AVX512VL)
#define LEAF7_AMX_SET (LEAF7_EDX_AMX_BF16 | LEAF7_EDX_AMX_TILE | LEAF7_EDX_AMX_INT8)

/* Leaf 1d, palette 1.  tile_amx.c needs eight tiles of 16 rows of 64 bytes. */
#define LEAF1D_EBX_TILES 0x00080040u
#define LEAF1D_ECX_ROWS 16u

/* State components that the kernel saves: xmm and ymm; opmask, upper zmm, zmm16-31; tiles. */
#define XCR0_YMM 0x06u
#define XCR0_ZMM 0xe6u
#define XCR0_TILES 0x60000u

#define ARCH_REQ_XCOMP_PERM 0x1023
#define XFEATURE_XTILEDATA 18
#endif

/* Flags that detect() returns together with the level. */
#define HAS_VNNI 0x100
#define HAS_VPOPCNTDQ 0x200

static int detected(void);
static int detect(void);

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
	return (HySimd) (detected() & ~(HAS_VNNI | HAS_VPOPCNTDQ));
}

bool
hy_simd_has_vnni(void)
{
	return (detected() & HAS_VNNI) != 0;
}

bool
hy_simd_has_vpopcntdq(void)
{
	return (detected() & HAS_VPOPCNTDQ) != 0;
}

const char *
hy_simd_name(HySimd level)
{
	static const char *const names[HY_SIMD_COUNT] = {"scalar", "avx2", "avx512", "amx", "neon"};

	if ((int) level < 0 || (int) level >= HY_SIMD_COUNT)
		return "unknown";
	return names[level];
}

/* detected: return the best level and its additional flags. */
static int
detected(void)
{
	/* Detection is idempotent, so a race between threads is harmless. */
	static volatile int known = -1;

	if (known < 0)
		known = detect();
	return known;
}

#if defined(__x86_64__)

/*
 * tiles_permitted: ask the kernel for the permission to use tiles, and return whether it is
 * granted.  Once a thread has used tiles, the thread state that the kernel saves grows by 8 kB.  A
 * process asks once.  Forked processes and threads inherit the permission.
 */
static bool
tiles_permitted(void)
{
#if defined(__linux__)
	return syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
#else
	return false;
#endif
}

static int
detect(void)
{
	unsigned int eax;
	unsigned int ebx;
	unsigned int ecx;
	unsigned int edx;
	unsigned int features;
	uint32_t xcr0_low;
	uint32_t xcr0_high;
	int besides;

	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx) || (ecx & LEAF1_AVX2_SET) != LEAF1_AVX2_SET)
		return HY_SIMD_SCALAR;

	/* xgetbv is legal here because OSXSAVE is set. */
	__asm__ volatile("xgetbv" : "=a"(xcr0_low), "=d"(xcr0_high) : "c"(0));
	if ((xcr0_low & XCR0_YMM) != XCR0_YMM)
		return HY_SIMD_SCALAR;

	if (!__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) || !(ebx & LEAF7_EBX_AVX2))
		return HY_SIMD_SCALAR;
	if ((ebx & LEAF7_AVX512_SET) != LEAF7_AVX512_SET || (xcr0_low & XCR0_ZMM) != XCR0_ZMM)
		return HY_SIMD_AVX2;
	besides = (ecx & LEAF7_ECX_AVX512VNNI ? HAS_VNNI : 0) |
	          (ecx & LEAF7_ECX_AVX512VPOPCNTDQ ? HAS_VPOPCNTDQ : 0);
	features = edx;
	if ((features & LEAF7_AMX_SET) != LEAF7_AMX_SET || (xcr0_low & XCR0_TILES) != XCR0_TILES ||
	    !__get_cpuid_count(0x1d, 1, &eax, &ebx, &ecx, &edx) || ebx != LEAF1D_EBX_TILES ||
	    (ecx & 0xffff) != LEAF1D_ECX_ROWS || !tiles_permitted())
		return HY_SIMD_AVX512 | besides;
	return HY_SIMD_AMX | besides;
}

#elif defined(__aarch64__)

static int
detect(void)
{
	/* Advanced SIMD is part of the base architecture. */
	return HY_SIMD_NEON;
}

#else

static int
detect(void)
{
	return HY_SIMD_SCALAR;
}

#endif
