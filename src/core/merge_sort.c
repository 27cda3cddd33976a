/*
 * merge_sort.c
 *		A sort that can be canceled: see merge_sort.h.
 *
 * Blocks are sorted by qsort, and then merged.
 */
#include "core/merge_sort.h"

#include <stdlib.h>
#include <string.h>

HyStatus
hy_merge_sort(void *array, int64_t count, size_t size, int (*compare)(const void *, const void *),
              const HyAllocator *allocator, const HyCancel *cancel)
{
	char *from = array;
	char *scratch;
	char *to;
	HyStatus status = HY_CANCELLED;
	int64_t length;
	int64_t i;

	if (count <= HY_CANCEL_BLOCK)
	{
		if (count > 1)
			qsort(array, (size_t) count, size, compare);
		return HY_OK;
	}
	scratch = hy_alloc_array(allocator, (size_t) count, size);
	if (scratch == NULL)
		return HY_NOMEM;
	for (i = 0; i < count; i += HY_CANCEL_BLOCK)
	{
		if (hy_cancelled(cancel))
			goto done;
		qsort(from + (size_t) i * size,
		      (size_t) (count - i < HY_CANCEL_BLOCK ? count - i : HY_CANCEL_BLOCK), size, compare);
	}
	to = scratch;
	for (length = HY_CANCEL_BLOCK; length < count; length *= 2)
	{
		int64_t left = 0;
		int64_t right = 0;
		int64_t left_end = 0;
		int64_t right_end = 0;
		char *swap = from;

		for (i = 0; i < count; i++)
		{
			int64_t next;

			if (hy_cancelled_at(i, cancel))
				goto done;
			if (i == right_end)
			{
				left = i;
				left_end = right = count - i < length ? count : i + length;
				right_end = count - right < length ? count : right + length;
			}
			if (left < left_end &&
			    (right == right_end ||
			     compare(from + (size_t) left * size, from + (size_t) right * size) <= 0))
				next = left++;
			else
				next = right++;
			memcpy(to + (size_t) i * size, from + (size_t) next * size, size);
		}
		from = to;
		to = swap;
	}
	if (from != array)
		memcpy(array, from, (size_t) count * size);
	status = HY_OK;

done:
	hy_free(allocator, scratch);
	return status;
}
