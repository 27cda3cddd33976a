/*
 * cpu_features_test.c
 *		The available levels agree with the compiler's own detection.
 */
#define _DEFAULT_SOURCE
#include "unit.h"

#if defined(__x86_64__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

#include "core/cpu_features.h"
#include "core/distance.h"

static void
test_names(void)
{
	CHECK_STR(hy_simd_name(HY_SIMD_SCALAR), "scalar");
	CHECK_STR(hy_simd_name(HY_SIMD_AVX2), "avx2");
	CHECK_STR(hy_simd_name(HY_SIMD_AVX512), "avx512");
	CHECK_STR(hy_simd_name(HY_SIMD_AMX), "amx");
	CHECK_STR(hy_simd_name(HY_SIMD_NEON), "neon");
	CHECK_STR(hy_simd_name((HySimd) HY_SIMD_COUNT), "unknown");
	CHECK_STR(hy_simd_name((HySimd) -1), "unknown");
}

#if defined(__x86_64__)

/*
 * tiles_of_linux: return whether /proc reports tiles and the kernel permits this process to use
 * them.
 */
static bool
tiles_of_linux(void)
{
	static char line[16384];
	FILE *file = fopen("/proc/cpuinfo", "r");
	unsigned long permitted = 0;
	bool found = false;

	while (file != NULL && !found && fgets(line, sizeof(line), file) != NULL)
		found = strncmp(line, "flags", 5) == 0 && strstr(line, " amx_tile") != NULL &&
		        strstr(line, " amx_bf16") != NULL && strstr(line, " amx_int8") != NULL;
	if (file != NULL)
		fclose(file);
	return found && syscall(SYS_arch_prctl, 0x1022 /* ARCH_GET_XCOMP_PERM */, &permitted) == 0 &&
	       (permitted >> 18 & 1) != 0;
}

#endif

static void
test_levels_agree_with_the_compiler(void)
{
	CHECK(hy_simd_available(HY_SIMD_SCALAR));
	CHECK(hy_simd_available(hy_simd_best()));
	CHECK(!hy_simd_available((HySimd) HY_SIMD_COUNT));
	CHECK(!hy_simd_available((HySimd) -1));
#if defined(__x86_64__)
	{
		bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
		bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
		              __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");

		CHECK_INT(hy_simd_available(HY_SIMD_AVX2), avx2);
		CHECK_INT(hy_simd_available(HY_SIMD_AVX512), avx2 && avx512);
		CHECK(!hy_simd_available(HY_SIMD_NEON));
		if (!avx512)
			CHECK_INT(hy_simd_best(), avx2 ? HY_SIMD_AVX2 : HY_SIMD_SCALAR);
		else
			CHECK_INT(hy_simd_best(), tiles_of_linux() ? HY_SIMD_AMX : HY_SIMD_AVX512);
		CHECK_INT(hy_simd_has_vnni(), avx2 && avx512 && __builtin_cpu_supports("avx512vnni"));
	}
#elif defined(__aarch64__)
	CHECK_INT(hy_simd_best(), HY_SIMD_NEON);
	CHECK(!hy_simd_available(HY_SIMD_AVX2));
	CHECK(!hy_simd_available(HY_SIMD_AVX512));
	CHECK(!hy_simd_available(HY_SIMD_AMX));
	CHECK(!hy_simd_has_vnni());
#endif
}

static void
test_kernels_follow(void)
{
	int level;

	CHECK_INT(hy_kernels()->level, hy_simd_best());
	for (level = -1; level <= HY_SIMD_COUNT; level++)
	{
		const HyKernels *before = hy_kernels();
		bool available = hy_simd_available((HySimd) level);

		CHECK_INT(hy_kernels_at((HySimd) level) != NULL, available);
		CHECK_INT(hy_kernels_force((HySimd) level), available ? HY_OK : HY_UNSUPPORTED);
		if (available)
			CHECK_INT(hy_kernels()->level, level);
		else
			CHECK(hy_kernels() == before);
	}
}

int
main(void)
{
	UNIT_RUN(test_names);
	UNIT_RUN(test_levels_agree_with_the_compiler);
	UNIT_RUN(test_kernels_follow);
	return unit_finish();
}
