/*
 * bits_loops.h
 *		Bit-counting loops shared by all instruction sets.
 *
 * A file that includes this header first defines its registers:
 *
 *		HY_LEVEL, HY_TABLE		level and name of the table of kernels
 *		HY_TARGET				function attribute that enables the instructions, or nothing
 *		HyReg, HY_REG_BYTES		a register and its size in bytes, a multiple of 8
 *		HyCount					a register of counts
 *
 *		reg_load(p)				count_zero()
 *		reg_xor(a, b)			reg_and(a, b)	reg_or(a, b)
 *		count_one(c, r)			c plus the number of bits set in r
 *		count_four(c, r, s, t, u)	c plus the number of bits set in r, s, t and u
 *		count_total(c)			the sum of all counts in c
 *		count_word(word)		number of bits set in a 64-bit word
 *
 * Most instruction sets first count bits per byte.  count_four lets four registers share the step
 * that widens the byte counts.
 */
#include <stdbool.h>
#include <string.h>

#define HY_AHEAD 2048 /* prefetch distance in bytes */

#define HY_INLINE static inline __attribute__((always_inline)) HY_TARGET

typedef enum BitOp
{
	BITS_XOR,
	BITS_AND,
	BITS_OR
} BitOp;

HY_INLINE HyReg
reg_op(BitOp op, HyReg a, HyReg b)
{
	if (op == BITS_XOR)
		return reg_xor(a, b);
	return op == BITS_AND ? reg_and(a, b) : reg_or(a, b);
}

HY_INLINE uint64_t
word_op(BitOp op, uint64_t a, uint64_t b)
{
	if (op == BITS_XOR)
		return a ^ b;
	return op == BITS_AND ? a & b : a | b;
}

/*
 * count_one_pair, count_four_pairs: combine one register or four registers loaded at p with those
 * loaded at q.  Add the number of bits set in the results to `count`.
 */
HY_INLINE HyCount
count_one_pair(BitOp op, HyCount count, const uint8_t *p, const uint8_t *q)
{
	return count_one(count, reg_op(op, reg_load(p), reg_load(q)));
}

HY_INLINE HyCount
count_four_pairs(BitOp op, HyCount count, const uint8_t *p, const uint8_t *q)
{
	return count_four(count, reg_op(op, reg_load(p), reg_load(q)),
	                  reg_op(op, reg_load(p + HY_REG_BYTES), reg_load(q + HY_REG_BYTES)),
	                  reg_op(op, reg_load(p + 2 * HY_REG_BYTES), reg_load(q + 2 * HY_REG_BYTES)),
	                  reg_op(op, reg_load(p + 3 * HY_REG_BYTES), reg_load(q + 3 * HY_REG_BYTES)));
}

/*
 * count_bits: set out[0] to the count for the first operation.  If `two` is set, set out[1] to the
 * count for the second operation, in the same pass over memory.  Callers pass both operations and
 * `two` as constants.
 */
HY_INLINE void
count_bits(BitOp first, BitOp second, bool two, const uint8_t *a, const uint8_t *b, size_t bytes,
           uint64_t *out)
{
	HyCount firsts = count_zero();
	HyCount seconds = count_zero();
	uint64_t first_rest = 0;
	uint64_t second_rest = 0;
	size_t i = 0;

	for (; bytes - i >= 4 * HY_REG_BYTES; i += 4 * HY_REG_BYTES)
	{
		size_t line;

		/*
		 * Counting leaves some of the processor's load slots free.  Use them to prefetch the memory
		 * that follows in b, even beyond the end of this string.
		 */
		for (line = 0; line < 4 * HY_REG_BYTES; line += 64)
			__builtin_prefetch(b + i + HY_AHEAD + line);
		firsts = count_four_pairs(first, firsts, a + i, b + i);
		if (two)
			seconds = count_four_pairs(second, seconds, a + i, b + i);
	}
	for (; bytes - i >= HY_REG_BYTES; i += HY_REG_BYTES)
	{
		firsts = count_one_pair(first, firsts, a + i, b + i);
		if (two)
			seconds = count_one_pair(second, seconds, a + i, b + i);
	}
	while (i < bytes)
	{
		size_t part = bytes - i < 8 ? bytes - i : 8;
		uint64_t left = 0;
		uint64_t right = 0;

		memcpy(&left, a + i, part);
		memcpy(&right, b + i, part);
		first_rest += count_word(word_op(first, left, right));
		if (two)
			second_rest += count_word(word_op(second, left, right));
		i += part;
	}
	out[0] = count_total(firsts) + first_rest;
	if (two)
		out[1] = count_total(seconds) + second_rest;
}

static HY_TARGET uint64_t
differing(const uint8_t *a, const uint8_t *b, size_t bytes)
{
	uint64_t counts[2];

	count_bits(BITS_XOR, BITS_XOR, false, a, b, bytes, counts);
	return counts[0];
}

static HY_TARGET void
common(const uint8_t *a, const uint8_t *b, size_t bytes, uint64_t *both, uint64_t *either)
{
	uint64_t counts[2];

	count_bits(BITS_AND, BITS_OR, true, a, b, bytes, counts);
	*both = counts[0];
	*either = counts[1];
}

const HyBitKernels HY_TABLE = {HY_LEVEL, differing, common};
