/*
 * resident.h
 *		Runs tasks over rows, or a graph, that stay on a device.
 *
 * Before the caller reads the rows of a unit, it asks for the unit:
 *
 *		ask		says whether the unit is there and should be used, or should be sent, or neither
 *		keep	sends the unit for this use and later uses; the rows still belong to the caller
 *		run		runs a task over the unit; if the device fails, the caller reads the rows, unless it
 *				has them, and calls hy_dispatch as usual
 *
 * Only open devices are considered.  So no device is opened for a unit, and nothing is sent while no
 * device is worth opening.  Each unit has one device, chosen by its place.  A unit on the device is
 * used if the device is predicted to be faster than the CPU, which would also have to read the rows.
 * A unit is sent at its second request (residency.h), if the predicted speedup reaches the threshold
 * of the settings.  If there is no prediction for the device yet, the use is a trial.
 */
#ifndef HY_RESIDENT_H
#define HY_RESIDENT_H

#include "dispatch/model/decision.h"
#include "dispatch/route/config.h"
#include "dispatch/run/residency.h"

typedef enum HyResidentAnswer
{
	HY_RESIDENT_NOT = 0, /* the caller uses hy_dispatch */
	HY_RESIDENT_THERE,   /* the caller runs the task */
	HY_RESIDENT_WANTED   /* the caller keeps the unit, then runs the task */
} HyResidentAnswer;

/* HyResident: a requested unit; valid until the next request. */
typedef struct HyResident
{
	HyUnitKey key;
	HyOp op;
	HyUnit *unit; /* NULL: not on the device */
	uint64_t seen;
	int32_t device;
	bool was_there;
	bool trial;
} HyResident;

/* hy_resident_possible: return whether a call of hy_resident_ask can be useful now. */
extern bool hy_resident_possible(HyExecutor *executor);

/*
 * hy_resident_ask: ask for the unit of a task of this shape.  The targets are the rows of the unit,
 * which takes this many bytes packed.
 */
extern HyResidentAnswer hy_resident_ask(HyExecutor *executor, const HyShape *shape, uint64_t bytes,
                                        const HyUnitKey *key, HyResident *resident);

/*
 * hy_resident_unit_bytes: return the recommended size of a unit, if the sender may choose.  It is a
 * power of two, about an eighth of the memory for units on the device with the least such memory,
 * and at most HY_UNIT_MOST.
 *
 * Large units need fewer launches.  With small units, less is sent again when rows have changed.
 * During a launch of 20 us, a device with 3 TB/s could read 64 MB, and slower devices could read
 * less.  To send 64 MB again for one new row takes 3 ms on a bus of 25 GB/s.
 */
#define HY_UNIT_MOST (UINT64_C(64) << 20)
extern uint64_t hy_resident_unit_bytes(HyExecutor *executor);

/* hy_resident_keep: send the unit.  Returns HY_OK, or the reason why it could not be sent. */
extern HyStatus
hy_resident_keep(HyExecutor *executor, const HyUnitRows *rows, HyResident *resident);

/*
 * hy_resident_begin, hy_resident_send, hy_resident_end: send the unit in steps, as
 * hy_residency_begin and the functions after it do.  Between the steps the caller may read rows, or
 * raise an error and never come back.  It must not run a task or ask for another unit.
 */
extern HyStatus
hy_resident_begin(HyExecutor *executor, uint64_t bytes, int64_t rows, HyResident *resident);
extern HyStatus hy_resident_send(HyExecutor *executor, const HyUnitPart *part,
                                 const HyCancel *cancel, HyResident *resident);
extern HyStatus hy_resident_end(HyExecutor *executor, const void *sender_data,
                                size_t sender_data_bytes, HyResident *resident);

/*
 * hy_resident_forget: declare that this unit will not be requested again.  Touches no device, and
 * may be called at any time.
 */
extern void hy_resident_forget(HyExecutor *executor, const HyUnitKey *key);

/*
 * hy_resident_run: run a task over the unit.  A task that computes distances or nearest rows uses
 * the unit as its targets and ignores their data pointer.  A spread uses the unit as its graph, with
 * the layout that the task's packed field describes.  HY_OK: the outputs are filled.  HY_CANCELLED:
 * canceled.  HY_INVALID: the unit or the task is invalid.  Any other status: the device failed, and
 * the unit may be gone.  decision may be NULL; otherwise *decision is filled.
 */
extern HyStatus hy_resident_run(HyExecutor *executor, const HyTask *task, HyResident *resident,
                                HyDecision *decision);

#endif
