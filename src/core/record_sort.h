/*
 * record_sort.h
 *		A radix sort for millions of records, each with a key and a payload.
 */
#ifndef HY_RECORD_SORT_H
#define HY_RECORD_SORT_H

#include <stdint.h>

#include "core/cancel.h"
#include "core/status.h"

/* hy_record: return a record.  Records are sorted by key. */
static inline uint64_t
hy_record(uint32_t key, uint32_t payload)
{
	return (uint64_t) key << 32 | payload;
}

static inline uint32_t
hy_record_key(uint64_t record)
{
	return (uint32_t) (record >> 32);
}

static inline uint32_t
hy_record_payload(uint64_t record)
{
	return (uint32_t) record;
}

/*
 * hy_record_sort: sort records by key.  The sort is stable.  scratch has room for count records.
 * Returns HY_OK or HY_CANCELLED.
 */
extern HyStatus
hy_record_sort(uint64_t *records, uint64_t *scratch, int64_t count, const HyCancel *cancel);

#endif
