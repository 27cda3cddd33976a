/*
 * resident.h
 *		Runs tasks over rows, or a graph, that stay on a device.  The caller asks unit by unit before it
 *		reads rows.
 *
 *		ask		says whether the unit is there and should be used, or should be sent, or neither
 *		keep	sends the unit for this use and the next; the rows still belong to the caller
 *		run		runs a task over the unit; if the device fails, the caller reads the rows, unless it
 *				has them, and calls hy_dispatch as usual
 *
 * Only an open device is considered.  So no device is opened for this, and nothing is sent while no
 * device is worth opening.  Each unit has one device, chosen by its place.  A unit is used if the
 * device with the unit is predicted to be faster than the CPU, which would also have to read the
 * rows.  If there is no prediction yet, the use is a trial.  A unit is sent under the same
 * condition, with the ratio for entering a device, at its second request (residency.h).
 */
#ifndef HY_RESIDENT_H
#define HY_RESIDENT_H

#include "dispatch/dispatcher.h"

typedef enum HyResidentAnswer
{
	HY_RESIDENT_NOT = 0, /* use hy_dispatch */
	HY_RESIDENT_THERE,   /* run */
	HY_RESIDENT_WANTED   /* keep, then run */
} HyResidentAnswer;

/* HyResident: a requested unit; valid until the next request. */
typedef struct HyResident
{
	HyUnitKey key;
	HyOp op;
	HyUnit *unit; /* NULL: not there */
	uint64_t seen;
	int32_t device;
	bool was_there;
	bool trial;
} HyResident;

/* hy_resident_possible: whether asking can be useful now. */
extern bool hy_resident_possible(HyExecutor *executor);

/*
 * hy_resident_ask: ask for the unit of a task of this shape.  The targets are the rows of the unit,
 * which takes this many bytes packed.
 */
extern HyResidentAnswer hy_resident_ask(HyExecutor *executor, const HyShape *shape, uint64_t bytes,
                                        const HyUnitKey *key, HyResident *resident);

/*
 * hy_resident_unit_bytes: return the recommended size of a unit, if the sender may choose: an
 * eighth of the memory for units on the device that has the least of it, and at most HY_UNIT_MOST.
 *
 * Large units need fewer launches.  With small units, less is sent again when rows have changed. If
 * a launch takes 20 us, a device with 3 TB/s reads 64 MB in that time, and slower devices take
 * longer.  To send 64 MB again for one new row takes 3 ms on a bus of 25 GB/s.
 */
#define HY_UNIT_MOST (UINT64_C(64) << 20)
extern uint64_t hy_resident_unit_bytes(HyExecutor *executor);

/* hy_resident_keep: send the unit.  HY_OK, or why it could not be sent. */
extern HyStatus
hy_resident_keep(HyExecutor *executor, const HyUnitRows *rows, HyResident *resident);

/*
 * hy_resident_begin, hy_resident_send, hy_resident_end: the same in steps (hy_residency_begin).
 * Between the steps the caller may read rows, raise an error, and never come back.  It must not run
 * a task or ask for another unit.
 */
extern HyStatus
hy_resident_begin(HyExecutor *executor, uint64_t bytes, int64_t rows, HyResident *resident);
extern HyStatus hy_resident_send(HyExecutor *executor, const HyUnitPart *part,
                                 const HyCancel *cancel, HyResident *resident);
extern HyStatus
hy_resident_end(HyExecutor *executor, const void *notes, size_t notes_bytes, HyResident *resident);

/*
 * hy_resident_forget: this unit will not be requested again.  Touches no device, and may be called
 * at any time.
 */
extern void hy_resident_forget(HyExecutor *executor, const HyUnitKey *key);

/*
 * hy_resident_run: run a task over the unit.  The task computes distances or nearest rows with the
 * unit as targets, whose data pointer is ignored; or it spreads over the unit, laid out as
 * task.packed says.  HY_OK: the outputs are filled.  HY_CANCELLED: canceled.  Any other status: the
 * device failed, and the unit may be gone.  *decision is filled and may be NULL.
 */
extern HyStatus hy_resident_run(HyExecutor *executor, const HyTask *task, HyResident *resident,
                                HyDecision *decision);

#endif
