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

/* hy_resident_keep: HY_OK, or why it could not be sent. */
extern HyStatus
hy_resident_keep(HyExecutor *executor, HyOp op, const HyUnitRows *rows, HyResident *resident);

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
