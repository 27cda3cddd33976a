/*
 * shared_table.h
 *		Defines a table that several processes share, with counters, breakers, models and events.
 *
 * The table has a fixed size, and lies in memory that the caller supplies: a shared segment, or the
 * memory of one process.  The table contains no pointers, so each process may map it at another
 * address.
 *
 * The caller holds a lock while it reads or writes the table (lock.h).  The exceptions are single
 * words that are read and written atomically.  They are the epoch and the number of transitions,
 * which every call compares, and the words of open contexts, which the owners of the contexts clear
 * from any thread.  Registered devices never change, so they are read without the lock, too.
 *
 * Half-written values cannot survive: if a process is killed while it writes, the postmaster
 * restarts all backends and creates the shared memory again, empty.
 */
#ifndef HY_SHARED_TABLE_H
#define HY_SHARED_TABLE_H

#include "core/clock.h"
#include "dispatch/model/breaker.h"
#include "dispatch/model/cost_model.h"
#include "dispatch/model/counters.h"
#include "dispatch/share/lock.h"

typedef struct HySharedTable HySharedTable;

/* HyTableLimits: the capacity of a table. */
typedef struct HyTableLimits
{
	int32_t devices;
	int32_t models; /* rounded up to a multiple of HY_TABLE_WAYS */
	int32_t events;
	/* number of contexts that can be counted per device, normally one per process */
	int32_t contexts;
} HyTableLimits;

#define HY_TABLE_WAYS 8
#define HY_TABLE_NO_DEVICE (-1)

/*
 * HyTablePlace: the entry of an open context in the table.  The context counts as open while *word
 * equals value.  Its owner may set the word to 0 at any time, without the lock, from any thread.
 */
typedef struct HyTablePlace
{
	uint64_t *word; /* NULL: no context */
	uint64_t value;
} HyTablePlace;

/* HyTableDevice: the properties by which every process identifies a device. */
typedef struct HyTableDevice
{
	char backend[HY_NAME_LENGTH];
	char name[HY_NAME_LENGTH];
	char architecture[HY_NAME_LENGTH];
	int32_t number; /* the backend's number of the device */
	int32_t virtual_time;
} HyTableDevice;

/* HyTableModel: the model of a kind of task on a device. */
typedef struct HyTableModel
{
	int32_t device;  /* the device's number in the table */
	uint32_t number; /* result of hy_shape_model; 0: no model */
	HyShape shape;   /* the last shape seen of the kind, for the views */
	int64_t samples; /* observations by all processes */
	HyModelState state;
} HyTableModel;

/* HyOrigin: the process that wrote an event. */
typedef struct HyOrigin
{
	uint64_t session; /* unlike a process id, never reused while the table exists */
	int32_t pid;
	uint32_t role;
} HyOrigin;

typedef struct HyTableEvent
{
	HyOrigin origin;
	int64_t wall_us; /* calendar time at the start of the call, as HyShareHost.origin reports it */
	int32_t device;  /* the device's number in the table, or HY_TABLE_NO_DEVICE */
	char backend[HY_NAME_LENGTH];
	HyDecision decision; /* decision.device is the number in the writer's executor */
} HyTableEvent;

/* hy_table_size: return the size of a table in bytes, a multiple of 64. */
extern size_t hy_table_size(const HyTableLimits *limits);

/* hy_table_init: create an empty table in memory of hy_table_size bytes, aligned to 8. */
extern HySharedTable *hy_table_init(void *memory, const HyTableLimits *limits);

/* hy_table_new_session: return a number above 0 that no other caller gets; needs no lock. */
extern uint64_t hy_table_new_session(HySharedTable *table);

/*
 * hy_table_epoch: return a number that changes with every reset; needs no lock.
 * hy_table_transitions: return a number that changes whenever a breaker changes its state; needs no
 * lock.
 */
extern uint64_t hy_table_epoch(const HySharedTable *table);
extern uint64_t hy_table_transitions(const HySharedTable *table);

/*
 * The functions in this group write: the caller holds the lock.
 *
 * hy_table_register: return the device's number in the table, after adding the device if necessary.
 * Returns HY_TABLE_NO_DEVICE when the table is full.  Devices are never removed.
 * hy_table_count: add delta to the counters; they stop at INT64_MAX.
 * hy_table_put_breaker: store a breaker; set transition if its state has changed.
 * hy_table_put_model: replace the model of (device, number), and add the old model's `samples` to
 * the new one's.  A model without an entry takes the entry of its set that was written least
 * recently.
 * hy_table_put_event: store an event; it overwrites the oldest one if the ring is full.  Does
 * nothing if the table has no space for events.
 * hy_table_take_context: count one more context as open on the device.  Returns false and sets
 * place->word to NULL if at least `most` contexts are open (0: no limit), or if the table has no
 * free word.
 * hy_table_reset: clear counters, breakers, models and events; devices and contexts stay.
 */
extern int32_t hy_table_register(HySharedTable *table, const HyTableDevice *device);
extern void hy_table_count(HySharedTable *table, int32_t device, HyOp op, const HyCounters *delta);
extern void hy_table_put_breaker(HySharedTable *table, int32_t device, HyOp op,
                                 const HyBreaker *breaker, bool transition);
extern void hy_table_put_model(HySharedTable *table, const HyTableModel *model);
extern void hy_table_put_event(HySharedTable *table, const HyTableEvent *event);
extern bool
hy_table_take_context(HySharedTable *table, int32_t device, int32_t most, HyTablePlace *place);
extern void hy_table_reset(HySharedTable *table);

/* hy_table_give_context: stop counting the context, if it is still counted; needs no lock. */
extern void hy_table_give_context(HyTablePlace *place);

/*
 * The functions in this group read, and need no lock.
 *
 * hy_table_contexts: return the number of open contexts on the device.
 * hy_table_models, hy_table_event_room: return the numbers of models and of events that the table
 * can hold.
 */
extern int32_t hy_table_devices(const HySharedTable *table);
extern void hy_table_device(const HySharedTable *table, int32_t device, HyTableDevice *key);
extern int32_t hy_table_contexts(const HySharedTable *table, int32_t device);
extern int32_t hy_table_models(const HySharedTable *table);
extern int32_t hy_table_event_room(const HySharedTable *table);

/*
 * The functions in this group read: the caller holds the lock.
 *
 * hy_table_find_model: read the model of (device, number); returns false if it does not exist.
 * hy_table_model: read the model at a position, 0 .. hy_table_models() - 1; returns false if the
 * position is empty.
 * hy_table_events: read the newest events, at most `room`, from the oldest to the newest of them;
 * returns their number.
 */
extern void
hy_table_counters(const HySharedTable *table, int32_t device, HyOp op, HyCounters *counters);
extern void
hy_table_breaker(const HySharedTable *table, int32_t device, HyOp op, HyBreaker *breaker);
extern bool hy_table_find_model(const HySharedTable *table, int32_t device, uint32_t number,
                                HyTableModel *model);
extern bool hy_table_model(const HySharedTable *table, int32_t position, HyTableModel *model);
extern int32_t hy_table_events(const HySharedTable *table, HyTableEvent *events, int32_t room);

#endif
