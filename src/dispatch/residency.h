/*
 * residency.h
 *		Rows, or graphs, that stay on an open device from one task to the next, unit by unit.
 *
 * A unit is what one task reads: packed rows, or a packed graph, in a buffer of its own, and beside it,
 * in the host's memory, notes of whoever sent it.  Its key says where the rows are from (place) and which they
 * are (version); the cache knows neither.  A unit whose version is another one now is dropped when it
 * is asked for, and so there is at most one of a place.
 *
 * A unit is worth sending at its second use: a trace of the first is kept, also of units that gave
 * way.  One that changed needs no second use if its copy had been used; if it never was, it does.
 *
 * Least use decides who gives way, and only to somebody who was used since: a unit makes room for
 * another if it was not used since the other's use before.  A store larger than the room for it, gone
 * through again and again, would otherwise push out each unit just before its turn; so a part of it
 * stays.
 *
 * Who closes the device takes the buffers along: the cache goes first.
 */
#ifndef HY_RESIDENCY_H
#define HY_RESIDENCY_H

#include "core/allocator.h"
#include "dispatch/backend.h"

/* HyUnitKey: no two places, and no two versions of one, are alike but where their rows are. */
typedef struct HyUnitKey
{
	uint64_t place[3];
	uint64_t version[2];
} HyUnitKey;

/* HyUnit: one that is on the device. */
typedef struct HyUnit HyUnit;

/* HyUnitPart: some of it, and where it lies in the buffer. */
typedef struct HyUnitPart
{
	const void *data;
	uint64_t bytes; /* 0: nothing */
	uint64_t offset;
} HyUnitPart;

#define HY_SEND_PIECE (UINT64_C(32) << 20)

/* HyUnitRows: what it is made of. */
typedef struct HyUnitRows
{
	const HyUnitPart *part;
	int parts;
	uint64_t bytes;    /* of the buffer, > 0; what is in no part is 0 */
	int64_t rows;      /* targets of a task over it */
	const void *notes; /* copied */
	size_t notes_bytes;
	const HyCancel *cancel; /* asked every HY_SEND_PIECE bytes; or NULL */
} HyUnitRows;

/* HyResidencyCounts: what happened and what there is, of one device; outlives the cache. */
typedef struct HyResidencyCounts
{
	int64_t hits;      /* units asked for that were there */
	int64_t misses;    /* that were not */
	int64_t sent;      /* units */
	int64_t evictions; /* units that made room for others, or for tasks */
	int64_t stale;     /* units that were dropped because their rows have changed */
	int64_t refused;   /* units that the device did not take */
	int64_t units;     /* there now, as far as they were sent */
	uint64_t bytes;    /* they take there */
} HyResidencyCounts;

typedef struct HyResidency HyResidency;

/* hy_residency_create: of an open device; counts outlives it.  NULL when out of memory. */
extern HyResidency *hy_residency_create(const HyAllocator *allocator, const HyBackend *backend,
                                        HyDevice *device, HyResidencyCounts *counts);

/*
 * hy_residency_destroy: give_back: the buffers are freed one by one; else the device is not touched,
 * since it is lost, or about to be closed.  NULL is allowed.
 */
extern void hy_residency_destroy(HyResidency *residency, bool give_back);

/*
 * hy_residency_ask: the unit, or NULL.  *seen is when it was last asked for (in numbers that grow
 * with each question), 0 where that is not known or its copies do not pay: for hy_residency_keep.
 */
extern HyUnit *hy_residency_ask(HyResidency *residency, const HyUnitKey *key, uint64_t *seen);

/*
 * hy_residency_room: whether a unit of so many bytes, last seen then, would be kept within limit
 * bytes; keep: sends it, evicting those that give way.  HY_QUOTA where there is no such room, HY_NOMEM,
 * HY_CANCELLED or what the device said; nothing is kept then.
 */
extern bool
hy_residency_room(const HyResidency *residency, uint64_t bytes, uint64_t seen, uint64_t limit);
extern HyStatus hy_residency_keep(HyResidency *residency, const HyUnitKey *key, uint64_t seen,
                                  const HyUnitRows *rows, uint64_t limit, HyUnit **unit);

/*
 * hy_residency_begin: keep, where the rows are not all at hand: a unit of so many bytes and rows (as in
 * HyUnitRows) is announced, and makes room for itself; send: one part of it, and end: it is whole, with
 * these notes.  Whichever fails drops the unit and sets *unit to NULL.  Nobody finds one that is not
 * whole, and its sender may leave it at any time: it is as one that was forgotten.
 */
extern HyStatus hy_residency_begin(HyResidency *residency, const HyUnitKey *key, uint64_t seen,
                                   uint64_t bytes, int64_t rows, uint64_t limit, HyUnit **unit);
extern HyStatus hy_residency_send(HyResidency *residency, HyUnit **unit, const HyUnitPart *part,
                                  const HyCancel *cancel);
extern HyStatus
hy_residency_end(HyResidency *residency, HyUnit **unit, const void *notes, size_t notes_bytes);

/* hy_residency_trim: evicts until limit bytes are enough; not what is pinned. */
extern void hy_residency_trim(HyResidency *residency, uint64_t limit);

/* hy_residency_pin: a unit that a task reads is not dropped meanwhile; NULL: none. */
extern void hy_residency_pin(HyResidency *residency, const HyUnit *unit);

/*
 * hy_residency_forget: nobody will ask for the unit of this place any more: it is the first to give
 * way, and gone when another is kept, be there room for both.  Does not touch the device.
 */
extern void hy_residency_forget(HyResidency *residency, const HyUnitKey *key);

/* hy_residency_used: a task has read a copy that was there before. */
extern void hy_residency_used(HyUnit *unit);

extern HyBuffer *hy_unit_buffer(const HyUnit *unit);
extern int64_t hy_unit_rows(const HyUnit *unit);
extern const void *hy_unit_notes(const HyUnit *unit);

#endif
