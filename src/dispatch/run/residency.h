/*
 * residency.h
 *		Keeps rows, or graphs, on an open device from one task to the next, in units.
 *
 * A unit is the input of one task: packed rows or a packed graph in a buffer of its own.  The
 * sender may attach data, which is kept in host memory (sender_data).  The key of a unit identifies the
 * origin of the rows (place) and their version.  The cache does not interpret either.  A unit whose
 * version has changed is dropped when it is asked for, so there is at most one unit per place.
 *
 * A unit is worth sending at its second use.  The cache keeps a trace of the first use, and also of
 * units that were evicted.  A changed unit needs no second use if its old copy was used at least
 * once.
 *
 * The least recently used unit is evicted first, but only if it was not used since the previous use
 * of the new unit.  Without this condition, repeated scans of a store larger than the available
 * memory would evict each unit just before its next use.  With the condition, part of the store
 * stays.
 *
 * Closing the device frees its buffers, so destroy the cache first.
 */
#ifndef HY_RESIDENCY_H
#define HY_RESIDENCY_H

#include "core/allocator.h"
#include "dispatch/backend.h"
#include "dispatch/model/counters.h"

/*
 * HyUnitKey: the identity of a unit.  Two keys are equal only if their rows come from the same
 * place and are equal.
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
	const HyCancel *cancel; /* checked every HY_SEND_PIECE bytes; may be NULL */
} HyUnitRows;

typedef struct HyResidency HyResidency;

/*
 * hy_residency_create: create a cache for an open device; *counts must outlive the cache.  Returns
 * NULL when out of memory.
 */
extern HyResidency *hy_residency_create(const HyAllocator *allocator, const HyBackend *backend,
                                        HyDevice *device, HyResidencyCounts *counts);

/*
 * hy_residency_destroy: free the cache.  With give_back, the buffers are freed one by one.
 * Otherwise the device is not touched, since it is lost or about to be closed.  NULL is allowed.
 */
extern void hy_residency_destroy(HyResidency *residency, bool give_back);

/*
 * hy_residency_ask: return the unit, or NULL.  Requests are numbered.  *seen is set to the number of
 * the previous request for the unit, or to 0 if none is known for this version.  The unit is then
 * not worth sending yet.  If a task has used a copy of another version, *seen is the number of this
 * request.  Pass *seen to hy_residency_keep.
 */
extern HyUnit *hy_residency_ask(HyResidency *residency, const HyUnitKey *key, uint64_t *seen);

/*
 * hy_residency_room: return whether a unit of this many bytes, last requested at seen, could be
 * kept within limit bytes.
 * hy_residency_keep: send such a unit, and evict others for it.  If the unit could not be kept,
 * returns HY_QUOTA when there is not enough space, HY_NOMEM, HY_CANCELLED, or the error of the
 * device.
 */
extern bool
hy_residency_room(const HyResidency *residency, uint64_t bytes, uint64_t seen, uint64_t limit);
extern HyStatus hy_residency_keep(HyResidency *residency, const HyUnitKey *key, uint64_t seen,
                                  const HyUnitRows *rows, uint64_t limit, HyUnit **unit);

/*
 * The next three functions do the same as hy_residency_keep, in steps, for rows that are not all
 * available yet.
 *
 * hy_residency_begin: start a unit of this many bytes and rows (as in HyUnitRows), and evict others
 * for it.
 * hy_residency_send: send one part.
 * hy_residency_end: complete the unit, and attach a copy of the data.
 *
 * A step that fails drops the unit and sets *unit to NULL.  hy_residency_ask never returns an
 * incomplete unit.  The sender may abandon an incomplete unit at any time; it is then treated as a
 * forgotten unit.
 */
extern HyStatus hy_residency_begin(HyResidency *residency, const HyUnitKey *key, uint64_t seen,
                                   uint64_t bytes, int64_t rows, uint64_t limit, HyUnit **unit);
extern HyStatus hy_residency_send(HyResidency *residency, HyUnit **unit, const HyUnitPart *part,
                                  const HyCancel *cancel);
extern HyStatus hy_residency_end(HyResidency *residency, HyUnit **unit, const void *sender_data,
                                 size_t sender_data_bytes);

/* hy_residency_trim: evict units until they take at most limit bytes; the pinned unit stays. */
extern void hy_residency_trim(HyResidency *residency, uint64_t limit);

/* hy_residency_pin: protect a unit from eviction while a task reads it; NULL: no unit. */
extern void hy_residency_pin(HyResidency *residency, const HyUnit *unit);

/*
 * hy_residency_forget: declare that the unit of this place will not be requested again.  The unit is
 * the first to be evicted, and is dropped when another unit is kept, even if both would fit.  Does
 * not touch the device.
 */
extern void hy_residency_forget(HyResidency *residency, const HyUnitKey *key);

/* hy_residency_used: record that a task has read the unit, which an earlier task had sent. */
extern void hy_residency_used(HyUnit *unit);

extern HyBuffer *hy_unit_buffer(const HyUnit *unit);
extern int64_t hy_unit_rows(const HyUnit *unit);
extern const void *hy_unit_sender_data(const HyUnit *unit);

#endif
