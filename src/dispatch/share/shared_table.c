/*
 * shared_table.c
 *		Implements the table that several processes share: see shared_table.h.
 *
 * All shared data is read and written through the cells and words of shared_cell.h.
 */
#include "dispatch/share/shared_table.h"

#include <string.h>

#include "dispatch/share/shared_cell.h"

#define MAGIC UINT64_C(0x6879627269643031)
#define WORDS(type) (sizeof(type) / sizeof(uint64_t))

_Static_assert(sizeof(HyCounters) % sizeof(uint64_t) == 0, "counters are copied by words");
_Static_assert(sizeof(HyBreaker) % sizeof(uint64_t) == 0, "breakers are copied by words");
_Static_assert(sizeof(HyTableModel) % sizeof(uint64_t) == 0, "models are copied by words");
_Static_assert(sizeof(HyTableEvent) % sizeof(uint64_t) == 0, "events are copied by words");

/* a cell with two copies of its value; copy number (version % 2) is the current copy */
typedef struct CountersCell
{
	uint64_t version;
	uint64_t copies[2][WORDS(HyCounters)];
} CountersCell;

typedef struct BreakerCell
{
	uint64_t version;
	uint64_t copies[2][WORDS(HyBreaker)];
} BreakerCell;

typedef struct ModelCell
{
	uint64_t version;
	/* HySharedTable.writes at the last write; the cell with the smallest value in a set is replaced */
	uint64_t used;
	uint64_t copies[2][WORDS(HyTableModel)];
} ModelCell;

/* version: 2 * ticket + 2 if the cell holds the event with this ticket; 2 * ticket + 1 during a write */
typedef struct EventCell
{
	uint64_t version;
	uint64_t words[WORDS(HyTableEvent)];
} EventCell;

typedef struct DeviceCell
{
	HyTableDevice key; /* does not change after the device was registered */
	CountersCell counters[HY_OP_COUNT];
	BreakerCell breakers[HY_OP_COUNT];
} DeviceCell;

struct HySharedTable
{
	uint64_t magic;
	HyTableLimits limits;
	uint64_t devices_at; /* offsets of the arrays */
	uint64_t models_at;
	uint64_t events_at;
	uint64_t contexts_at;
	uint64_t contexts; /* number of contexts ever taken */
	uint64_t sessions;
	uint64_t epoch;
	uint64_t transitions;
	uint64_t resetting;
	uint64_t devices;
	uint64_t writes;
	uint64_t tickets; /* number of events ever written */
};

static HyTableLimits rounded(const HyTableLimits *limits);
static size_t lined_up(size_t bytes);
static DeviceCell *device_cell(const HySharedTable *table, int32_t device);
static ModelCell *model_cell(const HySharedTable *table, int32_t position);
static uint64_t *context_word(const HySharedTable *table, int32_t device, int32_t position);
static EventCell *event_cell(const HySharedTable *table, uint64_t ticket);
static int32_t set_of(const HySharedTable *table, int32_t device, uint32_t number);
static void add_counters(HyCounters *sum, const HyCounters *delta);
static void forget_all(HySharedTable *table);

/*
 * ---------------------------------------------------------------------------------------------
 * The table itself
 * ---------------------------------------------------------------------------------------------
 */

size_t
hy_table_size(const HyTableLimits *limits)
{
	HyTableLimits n = rounded(limits);

	return lined_up(sizeof(HySharedTable)) + lined_up((size_t) n.devices * sizeof(DeviceCell)) +
	       lined_up((size_t) n.models * sizeof(ModelCell)) +
	       lined_up((size_t) n.events * sizeof(EventCell)) +
	       lined_up((size_t) n.devices * (size_t) n.contexts * sizeof(uint64_t));
}

HySharedTable *
hy_table_init(void *memory, const HyTableLimits *limits)
{
	HySharedTable *table = memory;

	memset(memory, 0, hy_table_size(limits));
	table->limits = rounded(limits);
	table->devices_at = lined_up(sizeof(HySharedTable));
	table->models_at =
		table->devices_at + lined_up((size_t) table->limits.devices * sizeof(DeviceCell));
	table->events_at =
		table->models_at + lined_up((size_t) table->limits.models * sizeof(ModelCell));
	table->contexts_at =
		table->events_at + lined_up((size_t) table->limits.events * sizeof(EventCell));
	table->epoch = 1;
	table->magic = MAGIC;
	return table;
}

void
hy_table_begin(HySharedTable *table, const HyTableLock *lock)
{
	if (lock->acquire != NULL)
		lock->acquire(lock->arg);
	if (hy_cell_load(&table->resetting) != 0)
		forget_all(table);
}

void
hy_table_end(HySharedTable *table, const HyTableLock *lock)
{
	(void) table;
	if (lock->release != NULL)
		lock->release(lock->arg);
}

uint64_t
hy_table_new_session(HySharedTable *table)
{
	return __atomic_add_fetch(&table->sessions, 1, __ATOMIC_RELAXED);
}

uint64_t
hy_table_epoch(const HySharedTable *table)
{
	return hy_cell_load(&table->epoch);
}

uint64_t
hy_table_transitions(const HySharedTable *table)
{
	return hy_cell_load(&table->transitions);
}

/*
 * ---------------------------------------------------------------------------------------------
 * Writing, under the lock
 * ---------------------------------------------------------------------------------------------
 */

int32_t
hy_table_register(HySharedTable *table, const HyTableDevice *device)
{
	int32_t known = hy_table_devices(table);
	HyTableDevice key;
	int32_t i;

	/* compare by field, so that padding and bytes after a name's end do not matter */
	for (i = 0; i < known; i++)
	{
		const HyTableDevice *other = &device_cell(table, i)->key;

		if (other->number == device->number && other->virtual_time == device->virtual_time &&
		    strncmp(other->backend, device->backend, sizeof(other->backend)) == 0 &&
		    strncmp(other->name, device->name, sizeof(other->name)) == 0 &&
		    strncmp(other->architecture, device->architecture, sizeof(other->architecture)) == 0)
			return i;
	}
	if (known >= table->limits.devices)
		return HY_TABLE_NO_DEVICE;
	key = *device;
	key.backend[HY_NAME_LENGTH - 1] = '\0';
	key.name[HY_NAME_LENGTH - 1] = '\0';
	key.architecture[HY_NAME_LENGTH - 1] = '\0';
	device_cell(table, known)->key = key;
	hy_cell_store(&table->devices, (uint64_t) known + 1);
	return known;
}

void
hy_table_count(HySharedTable *table, int32_t device, HyOp op, const HyCounters *delta)
{
	CountersCell *cell = &device_cell(table, device)->counters[op];
	HyCounters sum;

	hy_cell_try(&cell->version, cell->copies[0], &sum, WORDS(HyCounters));
	add_counters(&sum, delta);
	hy_cell_put(&cell->version, cell->copies[0], &sum, WORDS(HyCounters));
}

void
hy_table_put_breaker(HySharedTable *table, int32_t device, HyOp op, const HyBreaker *breaker,
                     bool transition)
{
	BreakerCell *cell = &device_cell(table, device)->breakers[op];

	hy_cell_put(&cell->version, cell->copies[0], breaker, WORDS(HyBreaker));
	/* increment last, so that a reader that sees the new number also sees the new state */
	if (transition)
		hy_cell_store(&table->transitions, table->transitions + 1);
}

void
hy_table_put_model(HySharedTable *table, const HyTableModel *model)
{
	int32_t first = set_of(table, model->device, model->number);
	HyTableModel value = *model;
	ModelCell *chosen = NULL;
	int i;

	if (first < 0)
		return;
	for (i = 0; i < HY_TABLE_WAYS; i++)
	{
		ModelCell *cell = model_cell(table, first + i);
		HyTableModel there;

		hy_cell_try(&cell->version, cell->copies[0], &there, WORDS(HyTableModel));
		if (there.number == model->number && there.device == model->device)
		{
			if (__builtin_add_overflow(value.samples, there.samples, &value.samples))
				value.samples = INT64_MAX;
			chosen = cell;
			break;
		}
		if (chosen == NULL || cell->used < chosen->used)
			chosen = cell;
	}
	chosen->used = ++table->writes;
	hy_cell_put(&chosen->version, chosen->copies[0], &value, WORDS(HyTableModel));
}

void
hy_table_put_event(HySharedTable *table, const HyTableEvent *event)
{
	uint64_t ticket = table->tickets;
	EventCell *cell;

	if (table->limits.events == 0)
		return;
	cell = event_cell(table, ticket);
	hy_cell_store(&cell->version, 2 * ticket + 1);
	hy_cell_store_words(cell->words, event, WORDS(HyTableEvent));
	hy_cell_store(&cell->version, 2 * ticket + 2);
	hy_cell_store(&table->tickets, ticket + 1);
}

bool
hy_table_take_context(HySharedTable *table, int32_t device, int32_t most, HyTablePlace *place)
{
	int32_t i;

	*place = (HyTablePlace){0};
	if (most > 0 && hy_table_contexts(table, device) >= most)
		return false;
	for (i = 0; i < table->limits.contexts; i++)
	{
		uint64_t *word = context_word(table, device, i);

		/* only the lock's holder sets a word to a value other than 0; no value is used twice */
		if (hy_cell_load(word) != 0)
			continue;
		hy_cell_store(&table->contexts, table->contexts + 1);
		*place = (HyTablePlace){.word = word, .value = table->contexts};
		hy_cell_store(word, place->value);
		return true;
	}
	return false;
}

void
hy_table_give_context(HyTablePlace *place)
{
	uint64_t expected = place->value;

	if (place->word != NULL)
		(void) __atomic_compare_exchange_n(place->word, &expected, 0, false, __ATOMIC_ACQ_REL,
		                                   __ATOMIC_RELAXED);
	place->word = NULL;
}

void
hy_table_reset(HySharedTable *table)
{
	hy_cell_store(&table->resetting, 1);
	forget_all(table);
}

/*
 * ---------------------------------------------------------------------------------------------
 * Reading
 * ---------------------------------------------------------------------------------------------
 */

int32_t
hy_table_devices(const HySharedTable *table)
{
	return (int32_t) hy_cell_load(&table->devices);
}

void
hy_table_device(const HySharedTable *table, int32_t device, HyTableDevice *key)
{
	*key = device_cell(table, device)->key;
}

int32_t
hy_table_contexts(const HySharedTable *table, int32_t device)
{
	int32_t count = 0;
	int32_t i;

	for (i = 0; i < table->limits.contexts; i++)
		count += hy_cell_load(context_word(table, device, i)) != 0;
	return count;
}

void
hy_table_counters(const HySharedTable *table, const HyTableLock *lock, int32_t device, HyOp op,
                  HyCounters *counters)
{
	const CountersCell *cell = &device_cell(table, device)->counters[op];

	hy_cell_get(lock, &cell->version, cell->copies[0], counters, WORDS(HyCounters));
}

void
hy_table_breaker(const HySharedTable *table, const HyTableLock *lock, int32_t device, HyOp op,
                 HyBreaker *breaker)
{
	const BreakerCell *cell = &device_cell(table, device)->breakers[op];

	hy_cell_get(lock, &cell->version, cell->copies[0], breaker, WORDS(HyBreaker));
}

bool
hy_table_find_model(const HySharedTable *table, const HyTableLock *lock, int32_t device,
                    uint32_t number, HyTableModel *model)
{
	int32_t first = set_of(table, device, number);
	int i;

	for (i = 0; first >= 0 && i < HY_TABLE_WAYS; i++)
	{
		if (hy_table_model(table, lock, first + i, model) && model->number == number &&
		    model->device == device)
			return true;
	}
	return false;
}

int32_t
hy_table_models(const HySharedTable *table)
{
	return table->limits.models;
}

bool
hy_table_model(const HySharedTable *table, const HyTableLock *lock, int32_t position,
               HyTableModel *model)
{
	const ModelCell *cell = model_cell(table, position);

	hy_cell_get(lock, &cell->version, cell->copies[0], model, WORDS(HyTableModel));
	return model->number != 0;
}

int32_t
hy_table_event_room(const HySharedTable *table)
{
	return table->limits.events;
}

int32_t
hy_table_events(const HySharedTable *table, HyTableEvent *events, int32_t room)
{
	uint64_t end = hy_cell_load(&table->tickets);
	uint64_t most = (uint64_t) (room < table->limits.events ? room : table->limits.events);
	uint64_t ticket = end > most ? end - most : 0;
	int32_t found = 0;

	for (; ticket < end; ticket++)
	{
		const EventCell *cell = event_cell(table, ticket);

		/* skip an event that a writer has replaced meanwhile; it was the oldest event then */
		if (hy_cell_load(&cell->version) != 2 * ticket + 2)
			continue;
		hy_cell_load_words(&events[found], cell->words, WORDS(HyTableEvent));
		if (hy_cell_load(&cell->version) == 2 * ticket + 2)
			found++;
	}
	return found;
}

/*
 * ---------------------------------------------------------------------------------------------
 * Addresses within the table
 * ---------------------------------------------------------------------------------------------
 */

static HyTableLimits
rounded(const HyTableLimits *limits)
{
	HyTableLimits n = *limits;

	n.models = (n.models + HY_TABLE_WAYS - 1) / HY_TABLE_WAYS * HY_TABLE_WAYS;
	return n;
}

/* lined_up: round up to whole cache lines, so that no two parts share a cache line. */
static size_t
lined_up(size_t bytes)
{
	return (bytes + 63) / 64 * 64;
}

static DeviceCell *
device_cell(const HySharedTable *table, int32_t device)
{
	return (DeviceCell *) ((char *) table + table->devices_at) + device;
}

static ModelCell *
model_cell(const HySharedTable *table, int32_t position)
{
	return (ModelCell *) ((char *) table + table->models_at) + position;
}

static uint64_t *
context_word(const HySharedTable *table, int32_t device, int32_t position)
{
	return (uint64_t *) ((char *) table + table->contexts_at) +
	       (int64_t) device * table->limits.contexts + position;
}

static EventCell *
event_cell(const HySharedTable *table, uint64_t ticket)
{
	return (EventCell *) ((char *) table + table->events_at) +
	       ticket % (uint64_t) table->limits.events;
}

/*
 * set_of: return the first of the HY_TABLE_WAYS possible positions of a model, or -1 if the table
 * has no space for models.
 */
static int32_t
set_of(const HySharedTable *table, int32_t device, uint32_t number)
{
	uint64_t hash = ((uint64_t) number << 8 ^ (uint64_t) device) * UINT64_C(0x9e3779b97f4a7c15);
	int32_t sets = table->limits.models / HY_TABLE_WAYS;

	if (sets == 0)
		return -1;
	return (int32_t) ((hash >> 32) % (uint64_t) sets) * HY_TABLE_WAYS;
}

static void
add_counters(HyCounters *sum, const HyCounters *delta)
{
	size_t i;

	for (i = 0; i < WORDS(HyCounters); i++)
	{
		int64_t a;
		int64_t b;

		memcpy(&a, (const char *) sum + i * sizeof(a), sizeof(a));
		memcpy(&b, (const char *) delta + i * sizeof(b), sizeof(b));
		if (__builtin_add_overflow(a, b, &a))
			a = INT64_MAX;
		memcpy((char *) sum + i * sizeof(a), &a, sizeof(a));
	}
}

/* forget_all: start or finish a reset, which may be interrupted at any point and then repeated. */
static void
forget_all(HySharedTable *table)
{
	static const HyCounters no_counters;
	static const HyTableModel no_model;
	HyBreaker closed;
	int32_t i;
	int op;

	hy_breaker_init(&closed);
	for (i = 0; i < hy_table_devices(table); i++)
	{
		DeviceCell *device = device_cell(table, i);

		for (op = 0; op < HY_OP_COUNT; op++)
		{
			hy_cell_put(&device->counters[op].version, device->counters[op].copies[0], &no_counters,
			            WORDS(HyCounters));
			hy_cell_put(&device->breakers[op].version, device->breakers[op].copies[0], &closed,
			            WORDS(HyBreaker));
		}
	}
	for (i = 0; i < table->limits.models; i++)
	{
		ModelCell *cell = model_cell(table, i);

		cell->used = 0;
		hy_cell_put(&cell->version, cell->copies[0], &no_model, WORDS(HyTableModel));
	}
	/*
	 * Version 0 marks a cell without an event.  The tickets continue, so that no reader takes an old
	 * event for a new event.
	 */
	for (i = 0; i < table->limits.events; i++)
		hy_cell_store(&event_cell(table, (uint64_t) i)->version, 0);
	hy_cell_store(&table->transitions, table->transitions + 1);
	hy_cell_store(&table->epoch, table->epoch + 1);
	hy_cell_store(&table->resetting, 0);
}
