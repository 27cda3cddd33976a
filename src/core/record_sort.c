/*
 * record_sort.c
 *		A radix sort of records: see record_sort.h.
 *
 * Each pass sorts by one byte of the key.  A byte that is the same in all keys is skipped.
 */
#include "core/record_sort.h"

#include <string.h>

#define RADIX 256
#define DIGITS 4

static inline uint32_t
digit_of(uint64_t record, int digit)
{
	return (uint32_t) (record >> (32 + 8 * digit)) & (RADIX - 1);
}

HyStatus
hy_record_sort(uint64_t *records, uint64_t *scratch, int64_t count, const HyCancel *cancel)
{
	int64_t counts[DIGITS][RADIX];
	uint64_t *from = records;
	uint64_t *to = scratch;
	int digit;
	int64_t i;

	if (count < 2)
		return HY_OK;
	memset(counts, 0, sizeof(counts));
	for (i = 0; i < count; i++)
	{
		if (hy_cancelled_at(i, cancel))
			return HY_CANCELLED;
		for (digit = 0; digit < DIGITS; digit++)
			counts[digit][digit_of(records[i], digit)]++;
	}
	for (digit = 0; digit < DIGITS; digit++)
	{
		int64_t *next = counts[digit];
		int64_t begin = 0;
		uint64_t *swap = from;
		int value;

		if (next[digit_of(from[0], digit)] == count)
			continue;
		for (value = 0; value < RADIX; value++)
		{
			int64_t here = next[value];

			next[value] = begin;
			begin += here;
		}
		for (i = 0; i < count; i++)
		{
			if (hy_cancelled_at(i, cancel))
				return HY_CANCELLED;
			to[next[digit_of(from[i], digit)]++] = from[i];
		}
		from = to;
		to = swap;
	}
	if (from != records)
		memcpy(records, from, (size_t) count * sizeof(uint64_t));
	return HY_OK;
}
