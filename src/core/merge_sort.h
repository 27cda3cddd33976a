/*
 * merge_sort.h
 *		A sort of large arrays that can be canceled.
 */
#ifndef HY_MERGE_SORT_H
#define HY_MERGE_SORT_H

#include <stddef.h>
#include <stdint.h>

#include "core/allocator.h"
#include "core/cancel.h"
#include "core/status.h"

/*
 * hy_merge_sort: sort as qsort does, but poll cancel.  An array of more than HY_CANCEL_BLOCK
 * elements needs scratch memory of its own size.  Returns HY_OK, HY_NOMEM or HY_CANCELLED.  After
 * HY_CANCELLED, the elements may be in any order, and some may be lost.
 */
extern HyStatus
hy_merge_sort(void *array, int64_t count, size_t size, int (*compare)(const void *, const void *),
              const HyAllocator *allocator, const HyCancel *cancel);

#endif
