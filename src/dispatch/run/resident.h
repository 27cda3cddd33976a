/*
 * resident.h
 *		Runs tasks over rows or graphs that stay on a device.
 *
 * Before the caller reads the rows of a unit, it asks for the unit:
 *
 *		ask		says whether to use a unit that is on the device, to send the unit, or neither
 *		keep	sends the unit for this task and later ones; the rows still belong to the caller
 *		run		runs a task over the unit.  If the device fails, the caller reads the rows, if it has
 *				not done so, and calls hy_dispatch.
 *
 * A unit is a set of rows, or a graph, that is sent to a device as a whole (residency.h).  Only
 * open devices are considered, so no device is opened for a unit.  Each unit has one device, chosen
 * by the place in its key.  A unit on the device is used if the device is predicted to be faster
 * than the CPU, which would also have to read the rows.  A unit is sent at its second request, if
 * the predicted speedup reaches HyConfig.speedup_threshold.  The predictions do not matter if the
 * user prefers or requires a device.  Without a prediction for the CPU, units on the device are
 * used, but none is sent.  Without a prediction for the device, the task is a trial.  If the CPU is
 * predicted to be faster, but less than 4 times, one of 64 requests for units on the device is a
 * trial.
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
	HY_RESIDENT_WANTED   /* the caller sends the unit, then runs the task */
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
 * which takes `bytes` bytes when packed.
 */
extern HyResidentAnswer hy_resident_ask(HyExecutor *executor, const HyShape *shape, uint64_t bytes,
                                        const HyUnitKey *key, HyResident *resident);

/*
 * hy_resident_unit_bytes: return the recommended size of a unit, for a caller that can choose it.
 * The size is a power of two, at most HY_UNIT_MOST, and about an eighth of the memory for units on
 * the device that has the least.
 *
 * Large units need fewer launches.  With small units, less must be sent again when rows have
 * changed. A launch takes about 20 us, in which a device with 3 TB/s could read 64 MB, so launches
 * of larger units would save little.  Sending 64 MB again for one new row takes 3 ms on a bus of 25
 * GB/s.
 */
#define HY_UNIT_MOST (UINT64_C(64) << 20)
extern uint64_t hy_resident_unit_bytes(HyExecutor *executor);

/* hy_resident_keep: send the unit.  Returns HY_OK, or why the unit could not be sent. */
extern HyStatus
hy_resident_keep(HyExecutor *executor, const HyUnitRows *rows, HyResident *resident);

/*
 * hy_resident_begin, hy_resident_send, hy_resident_end: send the unit in steps, as
 * hy_residency_begin and the functions after it do.  Between these calls the caller may read rows,
 * or raise an error and never continue.  The caller must not run a task or ask for another unit in
 * between.
 */
extern HyStatus
hy_resident_begin(HyExecutor *executor, uint64_t bytes, int64_t rows, HyResident *resident);
extern HyStatus hy_resident_send(HyExecutor *executor, const HyUnitPart *part,
                                 const HyCancel *cancel, HyResident *resident);
extern HyStatus hy_resident_end(HyExecutor *executor, const void *sender_data,
                                size_t sender_data_bytes, HyResident *resident);

/*
 * hy_resident_forget: declare that this unit will not be requested again.  Calls no device, and may
 * be called at any time.
 */
extern void hy_resident_forget(HyExecutor *executor, const HyUnitKey *key);

/*
 * hy_resident_run: run a task over the unit.  A task that computes distances or nearest rows uses
 * the unit as its targets and ignores their data pointer.  A spread uses the unit as its graph,
 * with the layout that the task's packed field describes.  Returns HY_OK if the outputs are filled,
 * HY_CANCELLED, or HY_INVALID if the unit or the task is invalid.  After any other status, the
 * device has failed, and the unit may be gone.  decision may be NULL; otherwise *decision is
 * filled, except with HY_INVALID.
 */
extern HyStatus hy_resident_run(HyExecutor *executor, const HyTask *task, HyResident *resident,
                                HyDecision *decision);

#endif
