/*
 * executor.h
 *		The backend's own dispatcher: created at first use, configured from the settings.
 */
#ifndef HYBRID_EXECUTOR_H
#define HYBRID_EXECUTOR_H

#include "postgres.h"

#include "core/clock.h"
#include "dispatch/dispatcher.h"
#include "dispatch/resident.h"

/*
 * hybrid_clock: what the dispatcher and the plug-ins call time; what they have stamped compares
 * with this clock only.  Made-up time of emulated devices is part of it.
 */
extern const HyClock *hybrid_clock(void);

/* hybrid_executor: with plug-ins loaded and the current settings applied; raises when out of memory. */
extern HyExecutor *hybrid_executor(void);

/*
 * hybrid_run: sends a task through the dispatcher and returns when its outputs are filled; raises
 * on cancel, on a forced device that cannot serve, and on lack of memory.  Fills in the task's
 * cancel and, when it is NULL, its allocator (the current memory context).  what completes "could
 * not ...".  Returns the ns that the call took, by the clock of the side that ran it.
 */
extern uint64 hybrid_run(HyTask *task, const char *what);

/*
 * hybrid_keep, hybrid_resident_begin, send, end and hybrid_run_resident: a unit that hy_resident_ask
 * wanted, or found, as the functions of that name in dispatch/resident.h; false: the device failed.
 * They raise on cancel.
 */
extern bool hybrid_keep(const HyUnitRows *rows, HyResident *resident);
extern bool hybrid_resident_begin(uint64 bytes, int64 rows, HyResident *resident);
extern bool hybrid_resident_send(const HyUnitPart *part, HyResident *resident);
extern bool hybrid_resident_end(const void *notes, Size notes_bytes, HyResident *resident);
extern bool hybrid_run_resident(HyTask *task, HyResident *resident, const char *what);

/* hybrid_forget: as hy_resident_forget; raises nothing, and may be called while a transaction ends. */
extern void hybrid_forget(const HyUnitKey *key);

#endif
