/*
 * shared_table.c
 *		Implements the table that several processes share: see shared_table.h.
 */
#include "dispatch/share/shared_table.h"

#include <string.h>

_Static_assert(sizeof(HyCounters) % sizeof(int64_t) == 0, "counters are added by words");

typedef struct DeviceEntry
{
	HyTableDevice key; /* does not change after the device was registered */
	HyCounters counters[HY_OP_COUNT];
	HyBreaker breakers[HY_OP_COUNT];
} DeviceEntry;

typedef struct ModelEntry
{
	/*
	 * HySharedTable.writes when this entry was last written. A new model is stored in one of several
	 * entries (set_of): it replaces the one with the smallest value.
	 */
	uint64_t used;
	HyTableModel model;
} ModelEntry;

struct HySharedTable
{
	HyTableLimits limits;
	uint64_t devices_at; /* offsets of the arrays */
	uint64_t models_at;
	uint64_t events_at;
	uint64_t contexts_at;
	uint64_t contexts;    /* number of contexts ever taken */
	uint64_t sessions;    /* atomic */
	uint64_t epoch;       /* atomic */
	uint64_t transitions; /* atomic */
	uint64_t devices;     /* atomic */
	uint64_t writes;
	uint64_t tickets;      /* number of events ever written */
	uint64_t first_ticket; /* tickets at the last reset */
};

static uint64_t load(const uint64_t *word);
static void store(uint64_t *word, uint64_t value);
static HyTableLimits rounded(const HyTableLimits *limits);
static size_t lined_up(size_t bytes);
static DeviceEntry *device_entry(const HySharedTable *table, int32_t device);
static ModelEntry *model_entry(const HySharedTable *table, int32_t position);
static uint64_t *context_word(const HySharedTable *table, int32_t device, int32_t position);
static HyTableEvent *event_entry(const HySharedTable *table, uint64_t ticket);
static int32_t set_of(const HySharedTable *table, int32_t device, uint32_t number);
static void add_counters(HyCounters *sum, const HyCounters *delta);

/*
 * ---------------------------------------------------------------------------------------------
 * The table itself
 * ---------------------------------------------------------------------------------------------
 */

size_t
hy_table_size(const HyTableLimits *limits)
{
	HyTableLimits n = rounded(limits);

	return lined_up(sizeof(HySharedTable)) + lined_up((size_t) n.devices * sizeof(DeviceEntry)) +
	       lined_up((size_t) n.models * sizeof(ModelEntry)) +
	       lined_up((size_t) n.events * sizeof(HyTableEvent)) +
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
		table->devices_at + lined_up((size_t) table->limits.devices * sizeof(DeviceEntry));
	table->events_at =
		table->models_at + lined_up((size_t) table->limits.models * sizeof(ModelEntry));
	table->contexts_at =
		table->events_at + lined_up((size_t) table->limits.events * sizeof(HyTableEvent));
	table->epoch = 1;
	return table;
}

uint64_t
hy_table_new_session(HySharedTable *table)
{
	return __atomic_add_fetch(&table->sessions, 1, __ATOMIC_RELAXED);
}

uint64_t
hy_table_epoch(const HySharedTable *table)
{
	return load(&table->epoch);
}

uint64_t
hy_table_transitions(const HySharedTable *table)
{
	return load(&table->transitions);
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

	/* compare field by field, because padding and bytes after the end of a name may differ */
	for (i = 0; i < known; i++)
	{
		const HyTableDevice *other = &device_entry(table, i)->key;

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
	device_entry(table, known)->key = key;
	store(&table->devices, (uint64_t) known + 1);
	return known;
}

void
hy_table_count(HySharedTable *table, int32_t device, HyOp op, const HyCounters *delta)
{
	add_counters(&device_entry(table, device)->counters[op], delta);
}

void
hy_table_put_breaker(HySharedTable *table, int32_t device, HyOp op, const HyBreaker *breaker,
                     bool transition)
{
	device_entry(table, device)->breakers[op] = *breaker;
	if (transition)
		store(&table->transitions, table->transitions + 1);
}

void
hy_table_put_model(HySharedTable *table, const HyTableModel *model)
{
	int32_t first = set_of(table, model->device, model->number);
	HyTableModel value = *model;
	ModelEntry *chosen = NULL;
	int i;

	if (first < 0)
		return;
	for (i = 0; i < HY_TABLE_WAYS; i++)
	{
		ModelEntry *entry = model_entry(table, first + i);

		if (entry->model.number == model->number && entry->model.device == model->device)
		{
			if (__builtin_add_overflow(value.samples, entry->model.samples, &value.samples))
				value.samples = INT64_MAX;
			chosen = entry;
			break;
		}
		if (chosen == NULL || entry->used < chosen->used)
			chosen = entry;
	}
	chosen->used = ++table->writes;
	chosen->model = value;
}

void
hy_table_put_event(HySharedTable *table, const HyTableEvent *event)
{
	if (table->limits.events == 0)
		return;
	*event_entry(table, table->tickets++) = *event;
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

		/*
		 * Only the holder of the lock sets a word to a value other than 0, so a word that is 0
		 * stays free.  No value is used twice, so an earlier owner cannot clear the word by
		 * mistake.
		 */
		if (load(word) != 0)
			continue;
		*place = (HyTablePlace){.word = word, .value = ++table->contexts};
		store(word, place->value);
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
	HyBreaker closed;
	int32_t i;
	int op;

	hy_breaker_init(&closed);
	for (i = 0; i < hy_table_devices(table); i++)
	{
		DeviceEntry *device = device_entry(table, i);

		memset(device->counters, 0, sizeof(device->counters));
		for (op = 0; op < HY_OP_COUNT; op++)
			device->breakers[op] = closed;
	}
	memset(model_entry(table, 0), 0, (size_t) table->limits.models * sizeof(ModelEntry));
	table->first_ticket = table->tickets;
	store(&table->transitions, table->transitions + 1);
	store(&table->epoch, table->epoch + 1);
}

/*
 * ---------------------------------------------------------------------------------------------
 * Reading
 * ---------------------------------------------------------------------------------------------
 */

int32_t
hy_table_devices(const HySharedTable *table)
{
	return (int32_t) load(&table->devices);
}

void
hy_table_device(const HySharedTable *table, int32_t device, HyTableDevice *key)
{
	*key = device_entry(table, device)->key;
}

int32_t
hy_table_contexts(const HySharedTable *table, int32_t device)
{
	int32_t count = 0;
	int32_t i;

	for (i = 0; i < table->limits.contexts; i++)
		count += load(context_word(table, device, i)) != 0;
	return count;
}

int32_t
hy_table_models(const HySharedTable *table)
{
	return table->limits.models;
}

int32_t
hy_table_event_room(const HySharedTable *table)
{
	return table->limits.events;
}

void
hy_table_counters(const HySharedTable *table, int32_t device, HyOp op, HyCounters *counters)
{
	*counters = device_entry(table, device)->counters[op];
}

void
hy_table_breaker(const HySharedTable *table, int32_t device, HyOp op, HyBreaker *breaker)
{
	*breaker = device_entry(table, device)->breakers[op];
}

bool
hy_table_find_model(const HySharedTable *table, int32_t device, uint32_t number,
                    HyTableModel *model)
{
	int32_t first = set_of(table, device, number);
	int i;

	for (i = 0; first >= 0 && i < HY_TABLE_WAYS; i++)
	{
		if (hy_table_model(table, first + i, model) && model->number == number &&
		    model->device == device)
			return true;
	}
	return false;
}

bool
hy_table_model(const HySharedTable *table, int32_t position, HyTableModel *model)
{
	*model = model_entry(table, position)->model;
	return model->number != 0;
}

int32_t
hy_table_events(const HySharedTable *table, HyTableEvent *events, int32_t room)
{
	int32_t most = room < table->limits.events ? room : table->limits.events;
	uint64_t count = table->tickets - table->first_ticket;
	uint64_t i;

	if (count > (uint64_t) most)
		count = (uint64_t) most;
	for (i = 0; i < count; i++)
		events[i] = *event_entry(table, table->tickets - count + i);
	return (int32_t) count;
}

/*
 * ---------------------------------------------------------------------------------------------
 * Addresses within the table
 * ---------------------------------------------------------------------------------------------
 */

/* load, store: read or write a word that other processes read without the lock. */
static uint64_t
load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static void
store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

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

static DeviceEntry *
device_entry(const HySharedTable *table, int32_t device)
{
	return (DeviceEntry *) ((char *) table + table->devices_at) + device;
}

static ModelEntry *
model_entry(const HySharedTable *table, int32_t position)
{
	return (ModelEntry *) ((char *) table + table->models_at) + position;
}

static uint64_t *
context_word(const HySharedTable *table, int32_t device, int32_t position)
{
	return (uint64_t *) ((char *) table + table->contexts_at) +
	       (int64_t) device * table->limits.contexts + position;
}

static HyTableEvent *
event_entry(const HySharedTable *table, uint64_t ticket)
{
	return (HyTableEvent *) ((char *) table + table->events_at) +
	       ticket % (uint64_t) table->limits.events;
}

/*
 * set_of: return the first of the HY_TABLE_WAYS consecutive positions at which a model may be
 * stored, or -1 if the table has no space for models.
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

	for (i = 0; i < sizeof(HyCounters) / sizeof(int64_t); i++)
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
