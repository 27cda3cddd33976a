/*
 * shared_table_stage.h
 *		A table in memory that processes share, and what is written to it: values of which a part shows
 *		whether the whole is there.
 */
#ifndef HY_SHARED_TABLE_STAGE_H
#define HY_SHARED_TABLE_STAGE_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include "dispatch/share/shared_table.h"

#include <errno.h>
#include <pthread.h>
#include <sys/mman.h>

#include "unit.h"

static const HyTableLimits limits = {.devices = 3, .models = 16, .events = 8, .contexts = 4};
static const HyTableLock no_lock = {NULL, NULL, NULL};

/* Arena: what the processes of a test share; the lock is given back when its holder dies. */
typedef struct Arena
{
	pthread_mutex_t mutex;
	uint64_t progress;
	uint64_t stop;
} Arena;

static Arena *arena;
static HySharedTable *table;
static size_t table_bytes;
static HyTableLock lock;

static void
arena_acquire(void *arg)
{
	Arena *a = arg;

	if (pthread_mutex_lock(&a->mutex) == EOWNERDEAD)
		pthread_mutex_consistent(&a->mutex);
}

static void
arena_release(void *arg)
{
	Arena *a = arg;

	pthread_mutex_unlock(&a->mutex);
}

static void
arena_begin(void)
{
	pthread_mutexattr_t attributes;

	arena = mmap(NULL, sizeof(Arena), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&arena->mutex, &attributes);
	table_bytes = hy_table_size(&limits);
	table = mmap(NULL, table_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	hy_table_init(table, &limits);
	lock = (HyTableLock){arena_acquire, arena_release, arena};
}

static void
arena_end(void)
{
	munmap(table, table_bytes);
	munmap(arena, sizeof(Arena));
}

static HyTableDevice
device_called(const char *backend, int32_t number)
{
	HyTableDevice device = {.number = number};

	snprintf(device.backend, sizeof(device.backend), "%s", backend);
	return device;
}

/* one_call: what a call of so many items adds; every field follows from items. */
static HyCounters
one_call(int64_t items)
{
	HyCounters delta = {.calls = 1, .items = items};

	delta.total_ns = (uint64_t) items * 2;
	delta.by_status[HY_OK] = 1;
	delta.latency[3] = 1;
	delta.bytes_down = (uint64_t) items * 3;
	return delta;
}

/* whole: whether counters are a sum of what one_call gives, so not torn. */
static bool
whole(const HyCounters *c)
{
	return c->by_status[HY_OK] == c->calls && c->latency[3] == c->calls &&
	       c->total_ns == (uint64_t) c->items * 2 && c->bytes_down == (uint64_t) c->items * 3;
}

static HyTableEvent
event_number(int64_t i)
{
	HyTableEvent event;

	memset(&event, 0, sizeof(event));
	event.origin.pid = (int32_t) i;
	event.wall_us = i;
	event.decision.items = i;
	event.decision.bytes_available = (uint64_t) i;
	return event;
}

static UNIT_UNUSED bool
event_whole(const HyTableEvent *event)
{
	return event->origin.pid == event->wall_us && event->decision.items == event->wall_us &&
	       event->decision.bytes_available == (uint64_t) event->wall_us;
}

static HyTableModel
model_number(uint32_t number, uint64_t value)
{
	HyTableModel model;
	int i;

	memset(&model, 0, sizeof(model));
	model.device = 1;
	model.number = number;
	model.samples = 1;
	model.state.weight = (double) value;
	for (i = 0; i < 6; i++)
		model.state.information[i] = (double) value;
	model.state.response[2] = (double) value;
	return model;
}

static bool
model_whole(const HyTableModel *model)
{
	int i;

	for (i = 0; i < 6; i++)
	{
		if (model->state.information[i] != model->state.weight)
			return false;
	}
	return model->state.response[2] == model->state.weight;
}

#endif
