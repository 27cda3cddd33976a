/*
 * cpu_features_test.c
 *		The levels that are offered agree with what the compiler's own detection says.
 */
#include "unit.h"

#include "core/cpu_features.h"
#include "core/distance.h"

static void
test_names(void)
{
	CHECK_STR(hy_simd_name(HY_SIMD_SCALAR), "scalar");
	CHECK_STR(hy_simd_name(HY_SIMD_AVX2), "avx2");
	CHECK_STR(hy_simd_name(HY_SIMD_AVX512), "avx512");
	CHECK_STR(hy_simd_name(HY_SIMD_NEON), "neon");
	CHECK_STR(hy_simd_name((HySimd) HY_SIMD_COUNT), "unknown");
	CHECK_STR(hy_simd_name((HySimd) -1), "unknown");
}

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
		CHECK_INT(hy_simd_best(), avx2 ? (avx512 ? HY_SIMD_AVX512 : HY_SIMD_AVX2) : HY_SIMD_SCALAR);
	}
#elif defined(__aarch64__)
	CHECK_INT(hy_simd_best(), HY_SIMD_NEON);
	CHECK(!hy_simd_available(HY_SIMD_AVX2));
	CHECK(!hy_simd_available(HY_SIMD_AVX512));
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
