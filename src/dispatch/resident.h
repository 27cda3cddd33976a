/*
 * resident.h
 *		Tasks over rows, or a graph, that stay on a device: what the dispatcher is asked, unit by unit,
 *		before anybody reads the rows.
 *
 *		ask		whether the unit is there and should be used, or had better be sent, or neither
 *		keep	it is sent, for this use and the next; the rows are the caller's still
 *		run		a task over it; whatever the device fails with, the caller reads the rows, unless he
 *				has them, and goes the common way (hy_dispatch)
 *
 * Only a device that is open is asked, so where none pays, none is opened, and nothing is sent.  Each
 * unit has one device, by its place.  A unit is used where the device is predicted to be faster with
 * it than the CPU, whose rows would have to be read besides; where nothing is known of that yet, it is
 * the trial.  It is sent under the same condition, with the ratio that enters a device, and when it is
 * asked for the second time (residency.h).
 */
#ifndef HY_RESIDENT_H
#define HY_RESIDENT_H

#include "dispatch/dispatcher.h"

typedef enum HyResidentAnswer
{
	HY_RESIDENT_NOT = 0, /* go the common way */
	HY_RESIDENT_THERE,   /* run */
	HY_RESIDENT_WANTED   /* keep, and then run */
} HyResidentAnswer;

/* HyResident: a unit that was asked for; until the next question. */
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

/* hy_resident_possible: whether asking may be of any use now. */
extern bool hy_resident_possible(HyExecutor *executor);

/*
 * hy_resident_ask: of a task of this shape, whose targets are the rows of the unit, packed in so many
 * bytes.
 */
extern HyResidentAnswer hy_resident_ask(HyExecutor *executor, const HyShape *shape, uint64_t bytes,
                                        const HyUnitKey *key, HyResident *resident);

/*
 * hy_resident_unit_bytes: what a unit should take of a device, where whoever sends it may choose: an eighth
 * of the room for units on the device that has least, HY_UNIT_MOST at most.
 *
 * Few large units make few launches, and many small ones little to send again where rows have changed.
 * Where a launch takes 20 us, a device with 3 TB/s reads 64 MB in as much, and slower ones take longer; all
 * that is sent for one new row takes 3 ms on a bus of 25 GB/s.
 */
#define HY_UNIT_MOST (UINT64_C(64) << 20)
extern uint64_t hy_resident_unit_bytes(HyExecutor *executor);

/* hy_resident_keep: HY_OK, or why it could not be sent. */
extern HyStatus
hy_resident_keep(HyExecutor *executor, const HyUnitRows *rows, HyResident *resident);

/*
 * hy_resident_begin, send, end: the same step by step (hy_residency_begin).  Whoever asked may read
 * rows in between, raise, and never come back; but runs no task, and asks nothing.
 */
extern HyStatus
hy_resident_begin(HyExecutor *executor, uint64_t bytes, int64_t rows, HyResident *resident);
extern HyStatus hy_resident_send(HyExecutor *executor, const HyUnitPart *part,
                                 const HyCancel *cancel, HyResident *resident);
extern HyStatus
hy_resident_end(HyExecutor *executor, const void *notes, size_t notes_bytes, HyResident *resident);

/*
 * hy_resident_forget: nobody will ask for this unit any more; touches no device, and may be called at
 * any time.
 */
extern void hy_resident_forget(HyExecutor *executor, const HyUnitKey *key);

/*
 * hy_resident_run: distances or nearest rows, with the unit as targets, of which data is not looked
 * at; or spreading over the unit, which lies as task.packed says.  HY_OK: the outputs are filled; HY_CANCELLED; else the device failed, and the unit may be gone.
 * *decision is filled and may be NULL.
 */
extern HyStatus hy_resident_run(HyExecutor *executor, const HyTask *task, HyResident *resident,
                                HyDecision *decision);

#endif
