/*
 * bits_scalar.c
 *		Counting bits in plain C, 64 at a time.
 */
#include "core/bits_levels.h"

#define HY_LEVEL HY_SIMD_SCALAR
#define HY_TABLE hy_bit_kernels_scalar
#define HY_TARGET
#define HY_REG_BYTES ((size_t) 8)

#define PRIMITIVE static inline

typedef uint64_t HyReg;
typedef uint64_t HyCount;

/*
 * count_word: add neighboring fields of 1, 2 and 4 bits, and then add all bytes by one
 * multiplication.  On processors without a popcount instruction, __builtin_popcountll would call a
 * function that uses a table.
 */
PRIMITIVE uint64_t
count_word(uint64_t word)
{
	word -= (word >> 1) & UINT64_C(0x5555555555555555);
	word = (word & UINT64_C(0x3333333333333333)) + ((word >> 2) & UINT64_C(0x3333333333333333));
	word = (word + (word >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
	return (word * UINT64_C(0x0101010101010101)) >> 56;
}

PRIMITIVE uint64_t
reg_load(const uint8_t *p)
{
	uint64_t word;

	__builtin_memcpy(&word, p, sizeof(word));
	return word;
}

PRIMITIVE uint64_t
reg_xor(uint64_t a, uint64_t b)
{
	return a ^ b;
}

PRIMITIVE uint64_t
reg_and(uint64_t a, uint64_t b)
{
	return a & b;
}

PRIMITIVE uint64_t
reg_or(uint64_t a, uint64_t b)
{
	return a | b;
}

PRIMITIVE uint64_t
count_zero(void)
{
	return 0;
}

PRIMITIVE uint64_t
count_one(uint64_t count, uint64_t r)
{
	return count + count_word(r);
}

PRIMITIVE uint64_t
count_four(uint64_t count, uint64_t r, uint64_t s, uint64_t t, uint64_t u)
{
	return count + count_word(r) + count_word(s) + count_word(t) + count_word(u);
}

PRIMITIVE uint64_t
count_total(uint64_t count)
{
	return count;
}

#include "core/bits_loops.h"
