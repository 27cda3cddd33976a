/*
 * bits_neon.c
 *		Counting bits in 128-bit registers: AArch64 Advanced SIMD counts the bits of each byte.
 */
#include "core/bits_levels.h"

#if defined(__aarch64__)

#include <arm_neon.h>

#define HY_LEVEL HY_SIMD_NEON
#define HY_TABLE hy_bit_kernels_neon
#define HY_TARGET
#define HY_REG_BYTES ((size_t) 16)

#define PRIMITIVE static inline __attribute__((always_inline))

typedef uint8x16_t HyReg;
typedef uint64x2_t HyCount;

PRIMITIVE uint8x16_t
reg_load(const uint8_t *p)
{
	return vld1q_u8(p);
}

PRIMITIVE uint8x16_t
reg_xor(uint8x16_t a, uint8x16_t b)
{
	return veorq_u8(a, b);
}

PRIMITIVE uint8x16_t
reg_and(uint8x16_t a, uint8x16_t b)
{
	return vandq_u8(a, b);
}

PRIMITIVE uint8x16_t
reg_or(uint8x16_t a, uint8x16_t b)
{
	return vorrq_u8(a, b);
}

PRIMITIVE uint64x2_t
count_zero(void)
{
	return vdupq_n_u64(0);
}

/* widen: add byte counts to 64-bit counts. */
PRIMITIVE uint64x2_t
widen(uint64x2_t count, uint8x16_t bytes)
{
	return vpadalq_u32(count, vpaddlq_u16(vpaddlq_u8(bytes)));
}

PRIMITIVE uint64x2_t
count_one(uint64x2_t count, uint8x16_t r)
{
	return widen(count, vcntq_u8(r));
}

PRIMITIVE uint64x2_t
count_four(uint64x2_t count, uint8x16_t r, uint8x16_t s, uint8x16_t t, uint8x16_t u)
{
	uint8x16_t rs = vaddq_u8(vcntq_u8(r), vcntq_u8(s));
	uint8x16_t tu = vaddq_u8(vcntq_u8(t), vcntq_u8(u));

	return widen(count, vaddq_u8(rs, tu));
}

PRIMITIVE uint64_t
count_total(uint64x2_t count)
{
	return vaddvq_u64(count);
}

PRIMITIVE uint64_t
count_word(uint64_t word)
{
	return vaddv_u8(vcnt_u8(vcreate_u8(word)));
}

#include "core/bits_loops.h"

#endif
