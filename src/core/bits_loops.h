/*
 * bits_loops.h
 *		Counting bits, once for all instruction sets.
 *
 * A file that includes this describes its registers first:
 *
 *		HY_LEVEL, HY_TABLE		level and name of the table of kernels
 *		HY_TARGET				function attribute that enables the instructions, or nothing
 *		HyReg, HY_REG_BYTES		a register of so many bytes, a multiple of 8
 *		HyCount					a register of counts
 *
 *		reg_load(p)				count_zero()
 *		reg_xor(a, b)			reg_and(a, b)	reg_or(a, b)
 *		count_one(c, r)			c and the bits that are set in r
 *		count_four(c, r, s, t, u)	the same of four registers
 *		count_total(c)			the sum of all its counts
 *		count_word(word)		bits that are set in 64
 *
 * Most instruction sets count bytes first: four registers share what widens those counts.
 */
#include <string.h>

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

/* count_one_pair, count_four_pairs: the registers of a and b from p and q on. */
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

/* count_bits: out[0] by the first operation and, where there are two, out[1] by the second. */
HY_INLINE void
count_bits(const BitOp *ops, int n, const uint8_t *a, const uint8_t *b, size_t bytes, uint64_t *out)
{
	HyCount counts[2];
	size_t i = 0;
	int k;

	for (k = 0; k < n; k++)
	{
		counts[k] = count_zero();
		out[k] = 0;
	}
	for (; bytes - i >= 4 * HY_REG_BYTES; i += 4 * HY_REG_BYTES)
	{
		for (k = 0; k < n; k++)
			counts[k] = count_four_pairs(ops[k], counts[k], a + i, b + i);
	}
	for (; bytes - i >= HY_REG_BYTES; i += HY_REG_BYTES)
	{
		for (k = 0; k < n; k++)
			counts[k] = count_one_pair(ops[k], counts[k], a + i, b + i);
	}
	while (i < bytes)
	{
		size_t part = bytes - i < 8 ? bytes - i : 8;
		uint64_t left = 0;
		uint64_t right = 0;

		memcpy(&left, a + i, part);
		memcpy(&right, b + i, part);
		for (k = 0; k < n; k++)
			out[k] += count_word(word_op(ops[k], left, right));
		i += part;
	}
	for (k = 0; k < n; k++)
		out[k] += count_total(counts[k]);
}

static HY_TARGET uint64_t
differing(const uint8_t *a, const uint8_t *b, size_t bytes)
{
	static const BitOp ops[1] = {BITS_XOR};
	uint64_t count;

	count_bits(ops, 1, a, b, bytes, &count);
	return count;
}

static HY_TARGET void
common(const uint8_t *a, const uint8_t *b, size_t bytes, uint64_t *both, uint64_t *either)
{
	static const BitOp ops[2] = {BITS_AND, BITS_OR};
	uint64_t counts[2];

	count_bits(ops, 2, a, b, bytes, counts);
	*both = counts[0];
	*either = counts[1];
}

const HyBitKernels HY_TABLE = {HY_LEVEL, differing, common};
