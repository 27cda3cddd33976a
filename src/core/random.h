/*
 * random.h
 *		Random numbers computed from a counter, with the same bits on every machine.
 *
 * The generator is the finalizer of G. Steele, D. Lea and C. Flood, "Fast splittable pseudorandom
 * number generators", 2014, applied to the seed plus multiples of a constant.
 */
#ifndef HY_RANDOM_H
#define HY_RANDOM_H

#include <stdint.h>

/* hy_random: return 64 random bits, number `counter` of the series with this seed. */
static inline uint64_t
hy_random(uint64_t seed, uint64_t counter)
{
	uint64_t bits = seed + (counter + 1) * UINT64_C(0x9e3779b97f4a7c15);

	bits = (bits ^ bits >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	bits = (bits ^ bits >> 27) * UINT64_C(0x94d049bb133111eb);
	return bits ^ bits >> 31;
}

/* hy_random_unit: return a number in [0, 1), a multiple of 2^-53. */
static inline double
hy_random_unit(uint64_t seed, uint64_t counter)
{
	return (double) (hy_random(seed, counter) >> 11) * 0x1p-53;
}

#endif
