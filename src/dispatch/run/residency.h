/*
 * residency.h
 *		Keeps rows or graphs on an open device from one task to the next: a cache of units.
 *
 * A unit is the large input of a task: packed rows or a packed graph in a buffer of its own.  The
 * caller that sends a unit may attach data, which is kept in host memory (sender_data).  The key of
 * a unit says where its rows come from (place) and which version they are.  The cache does not
 * interpret these numbers.  If a unit is requested with another version, the old one is dropped, so
 * there is at most one unit per place.
 *
 * A unit is worth sending at its second request.  A trace remembers the first request, and the last
 * request for a unit that was evicted.  A changed unit may be sent at once if a task has reused its
 * old version.
 *
 * The least recently requested unit is evicted first, but only if it was not requested since the
 * previous request for the new unit.  Without this condition, repeated scans of rows that exceed
 * the available memory would evict each unit just before its next use.  With it, part of the rows
 * stays.
 *
 * Destroy the cache before the device is closed, because closing frees the buffers.
 */
#ifndef HY_RESIDENCY_H
#define HY_RESIDENCY_H

#include "core/allocator.h"
#include "dispatch/backend.h"
#include "dispatch/model/counters.h"

/*
 * HyUnitKey: the identity of a unit.  Two units may have the same key only if their rows come from
 * the same place and are equal.
 */
typedef struct HyUnitKey
{
	uint64_t place[3];
	uint64_t version[2];
} HyUnitKey;

/* HyUnit: a unit on the device. */
typedef struct HyUnit HyUnit;

/* HyUnitPart: a part of a unit, and its offset in the buffer. */
typedef struct HyUnitPart
{
	const void *data;
	uint64_t bytes; /* 0: empty part */
	uint64_t offset;
} HyUnitPart;

#define HY_SEND_PIECE (UINT64_C(32) << 20)

/* HyUnitRows: the contents of a unit. */
typedef struct HyUnitRows
{
	const HyUnitPart *part;
	int parts;
	uint64_t bytes;          /* size of the buffer, > 0; bytes outside all parts are 0 */
	int64_t rows;            /* number of targets of a task over the unit */
	const void *sender_data; /* data of the sender; copied by the cache */
	size_t sender_data_bytes;
	const HyCancel *cancel; /* checked before every HY_SEND_PIECE bytes; may be NULL */
} HyUnitRows;

typedef struct HyResidency HyResidency;

/*
 * hy_residency_create: create a cache for an open device; *counts must outlive the cache.  Returns
 * NULL when out of memory.
 */
extern HyResidency *hy_residency_create(const HyAllocator *allocator, const HyBackend *backend,
                                        HyDevice *device, HyResidencyCounts *counts);

/*
 * hy_residency_destroy: free the cache.  If give_back is set, free the device's buffers too.
 * Otherwise do not call the device, because it is lost or about to be closed.  NULL is allowed.
 */
extern void hy_residency_destroy(HyResidency *residency, bool give_back);

/*
 * hy_residency_ask: request a unit; return it, or NULL if it is not on the device.  Requests are
 * numbered from 1.  *seen is set to the number of the previous request for this unit and version,
 * or to 0 if none is known; the unit is then not worth sending yet.  If this request drops another
 * version that a task has reused, *seen is the number of this request.  Pass *seen to
 * hy_residency_keep.
 */
extern HyUnit *hy_residency_ask(HyResidency *residency, const HyUnitKey *key, uint64_t *seen);

/*
 * hy_residency_room: return whether a unit of this many bytes, last requested at `seen`, can be
 * kept so that all units together take at most limit bytes.
 * hy_residency_keep: send a unit, and evict others for it.  On failure, returns HY_QUOTA if there
 * is not enough space, HY_INVALID if its place has a unit already, HY_NOMEM, HY_CANCELLED, or the
 * error of the device.
 */
extern bool
hy_residency_room(const HyResidency *residency, uint64_t bytes, uint64_t seen, uint64_t limit);
extern HyStatus hy_residency_keep(HyResidency *residency, const HyUnitKey *key, uint64_t seen,
                                  const HyUnitRows *rows, uint64_t limit, HyUnit **unit);

/*
 * The next three functions together do the same as hy_residency_keep, for a caller that does not
 * have all rows at once.
 *
 * hy_residency_begin: allocate a unit of this many bytes and rows (as in HyUnitRows), and evict
 * others for it.
 * hy_residency_send: send one part.
 * hy_residency_end: complete the unit, and attach a copy of the data.
 *
 * A function that fails drops the unit and sets *unit to NULL.  hy_residency_ask never returns an
 * incomplete unit.  The caller may abandon an incomplete unit at any time.  The unit is then the
 * first to be evicted, as after hy_residency_forget.
 */
extern HyStatus hy_residency_begin(HyResidency *residency, const HyUnitKey *key, uint64_t seen,
                                   uint64_t bytes, int64_t rows, uint64_t limit, HyUnit **unit);
extern HyStatus hy_residency_send(HyResidency *residency, HyUnit **unit, const HyUnitPart *part,
                                  const HyCancel *cancel);
extern HyStatus hy_residency_end(HyResidency *residency, HyUnit **unit, const void *sender_data,
                                 size_t sender_data_bytes);

/*
 * hy_residency_trim: evict units until all units take at most limit bytes; the pinned unit stays.
 */
extern void hy_residency_trim(HyResidency *residency, uint64_t limit);

/* hy_residency_pin: protect a unit from eviction while a task reads it; NULL: no unit. */
extern void hy_residency_pin(HyResidency *residency, const HyUnit *unit);

/*
 * hy_residency_forget: declare that the unit of this place will not be requested again.  It will be
 * the first to be evicted, and will be dropped when another unit is sent, even if both would fit.
 * Does not call the device.
 */
extern void hy_residency_forget(HyResidency *residency, const HyUnitKey *key);

/* hy_residency_used: record that a task has read a unit that was sent for an earlier task. */
extern void hy_residency_used(HyUnit *unit);

extern HyBuffer *hy_unit_buffer(const HyUnit *unit);
extern int64_t hy_unit_rows(const HyUnit *unit);
extern const void *hy_unit_sender_data(const HyUnit *unit);

#endif
