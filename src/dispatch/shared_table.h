/*
 * shared_table.h
 *		What several processes remember together: counters, breakers, models, events.
 *
 * A table of fixed size in memory that the caller gives: a shared segment, or a process's own.  Its
 * size is computed once and nothing in it is a pointer, so that it may lie at another address in
 * each process.
 *
 * One writer at a time, under a lock that the caller supplies (hy_table_begin, hy_table_end).
 * Readers take no lock: every cell has a sequence number.  Cells with a value that must survive are
 * kept twice, and the sequence number says which copy is the current one; a writer fills the other
 * and then steps the number.  So a writer that is killed half-way leaves the cell as it was, and
 * there is nothing to repair.  An event has one copy: its number is odd while it is written, and
 * the next writer, who gets the same ticket, writes it again.  A reset that was cut short is
 * finished by the next writer.  (Sequence locks, C. Lameter 2005; the two copies are Linux's latch.)
 *
 * What is lost with a killed process is what it had not flushed yet.
 */
#ifndef HY_SHARED_TABLE_H
#define HY_SHARED_TABLE_H

#include "dispatch/dispatcher.h"

typedef struct HySharedTable HySharedTable;

/* HyTableLimits: how many of each fit. */
typedef struct HyTableLimits
{
	int32_t devices;
	int32_t models; /* rounded up to a multiple of HY_TABLE_WAYS */
	int32_t events;
	int32_t contexts; /* on each device that are counted: as many as there are processes */
} HyTableLimits;

#define HY_TABLE_WAYS 8
#define HY_TABLE_NO_DEVICE (-1)

/*
 * HyTablePlace: a context that is counted, for as long as its word has this value.  Whoever holds it
 * may set the word to 0 at any time, without the lock, from any thread.
 */
typedef struct HyTablePlace
{
	uint64_t *word; /* NULL: none */
	uint64_t value;
} HyTablePlace;

/* HyTableLock: mutual exclusion of writers, and given back when its holder dies; NULLs: none needed. */
typedef struct HyTableLock
{
	void (*acquire)(void *arg);
	void (*release)(void *arg);
	void *arg;
} HyTableLock;

/* HyTableDevice: what makes a device the same one to every process. */
typedef struct HyTableDevice
{
	char backend[HY_NAME_LENGTH];
	char name[HY_NAME_LENGTH];
	char architecture[HY_NAME_LENGTH];
	int32_t number; /* the backend's own */
	int32_t virtual_time;
} HyTableDevice;

/* HyTableModel: what was learned of a kind of task on a device. */
typedef struct HyTableModel
{
	int32_t device;  /* of the table */
	uint32_t number; /* hy_shape_kind, above 0 */
	HyShape shape;   /* the last one seen of the kind, for the views */
	int64_t samples; /* observations by all processes */
	HyModelState state;
} HyTableModel;

/* HyOrigin: whose an event is. */
typedef struct HyOrigin
{
	uint64_t session; /* unlike a process id never used again while the table lives */
	int32_t pid;
	uint32_t role;
} HyOrigin;

typedef struct HyTableEvent
{
	HyOrigin origin;
	int64_t wall_us; /* when it began, as the caller's calendar counts */
	int32_t device;  /* of the table, or HY_TABLE_NO_DEVICE */
	char backend[HY_NAME_LENGTH];
	HyDecision decision; /* its device number is the writer's own */
} HyTableEvent;

/* hy_table_size: bytes, a multiple of 64. */
extern size_t hy_table_size(const HyTableLimits *limits);

/* hy_table_init: an empty table in memory of hy_table_size bytes, aligned to 8. */
extern HySharedTable *hy_table_init(void *memory, const HyTableLimits *limits);

/* hy_table_begin, hy_table_end: the writer's lock; begin finishes a reset that was cut short. */
extern void hy_table_begin(HySharedTable *table, const HyTableLock *lock);
extern void hy_table_end(HySharedTable *table, const HyTableLock *lock);

/* hy_table_new_session: a number above 0 that no other caller gets; needs no lock. */
extern uint64_t hy_table_new_session(HySharedTable *table);

/* hy_table_epoch: changes with every reset; hy_table_transitions: with every breaker's state. */
extern uint64_t hy_table_epoch(const HySharedTable *table);
extern uint64_t hy_table_transitions(const HySharedTable *table);

/*
 * The functions in this group are the writer's: call them between begin and end.
 *
 * hy_table_register: the device's number in the table, a new one if need be; HY_TABLE_NO_DEVICE
 * when the table is full.  Devices are never removed.
 * hy_table_count: adds delta to the counters; they stop at INT64_MAX.
 * hy_table_put_breaker: states differ from before when transition is set.
 * hy_table_put_model: replaces what is kept of (device, number), its samples added to those before;
 * the oldest of its set gives way to a new one.
 * hy_table_put_event: the oldest gives way.  Without room for events it does nothing.
 * hy_table_take_context: one more context on the device, unless most (0: any number) are there; or
 * as many as there is room to count, which is false as well, and *place none.
 * hy_table_reset: forgets counters, breakers, models and events; devices and contexts stay.
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

/* hy_table_give_context: the context is gone, if it is still counted; needs no lock. */
extern void hy_table_give_context(HyTablePlace *place);

/*
 * Readers: at any time, lock-free unless writers keep getting in the way for long.
 *
 * hy_table_find_model: what is kept of (device, number), false when there is nothing.
 * hy_table_model: the same by position, 0 .. hy_table_models() - 1; false where none is.
 * hy_table_events: the newest events, oldest first, at most room of them; returns how many.
 */
extern int32_t hy_table_devices(const HySharedTable *table);
extern void hy_table_device(const HySharedTable *table, int32_t device, HyTableDevice *key);
extern int32_t hy_table_contexts(const HySharedTable *table, int32_t device);
extern void hy_table_counters(const HySharedTable *table, const HyTableLock *lock, int32_t device,
                              HyOp op, HyCounters *counters);
extern void hy_table_breaker(const HySharedTable *table, const HyTableLock *lock, int32_t device,
                             HyOp op, HyBreaker *breaker);
extern bool hy_table_find_model(const HySharedTable *table, const HyTableLock *lock, int32_t device,
                                uint32_t number, HyTableModel *model);
extern int32_t hy_table_models(const HySharedTable *table);
extern bool hy_table_model(const HySharedTable *table, const HyTableLock *lock, int32_t position,
                           HyTableModel *model);
extern int32_t hy_table_event_room(const HySharedTable *table);
extern int32_t hy_table_events(const HySharedTable *table, HyTableEvent *events, int32_t room);

#endif
