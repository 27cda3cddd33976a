/*
 * residency.c
 *		Keeps rows or graphs on a device: see residency.h.
 *
 * Units are found through hash chains, and are in a list ordered by their last request.  For units
 * that are not on the device, a table of fixed size keeps traces of the last requests.  A new trace
 * replaces the oldest trace of its set.
 */
#include "dispatch/run/residency.h"

#include <string.h>

#define CHAINS 4096 /* a power of two, like TRACES */
#define TRACES 4096 /* sets of traces of missing units; each set has WAYS traces */
#define WAYS 4

struct HyUnit
{
	HyUnitKey key;
	HyUnit *next_in_chain;
	HyUnit *older; /* the next unit in the list, with an earlier last request */
	HyUnit *newer;
	HyBuffer *buffer;
	uint64_t bytes;
	int64_t rows;
	uint64_t used; /* number of the last request */
	bool whole;    /* all parts were sent */
	bool paid;     /* a task found the unit on the device and read it, so sending it has paid off */
	void *sender_data;
};

/* Trace: the last request for a unit that is not on the device. */
typedef struct Trace
{
	uint64_t place; /* hash of the place, 0: empty */
	uint64_t version;
	uint64_t seen;
} Trace;

struct HyResidency
{
	const HyAllocator *allocator;
	const HyBackend *backend;
	HyDevice *device;
	HyResidencyCounts *counts;
	uint64_t questions;
	const HyUnit *pinned;
	HyUnit *oldest;
	HyUnit *newest;
	HyUnit *chain[CHAINS];
	Trace trace[TRACES][WAYS];
};

static uint64_t mix(const uint64_t *words, int count);
static HyUnit **find_place(HyResidency *residency, const HyUnitKey *key);
static Trace *find_trace(HyResidency *residency, uint64_t place);
static uint64_t leave_trace(HyResidency *residency, const HyUnitKey *key, bool known);
static void append(HyResidency *residency, HyUnit *unit);
static void prepend(HyResidency *residency, HyUnit *unit);
static void take_out(HyResidency *residency, HyUnit *unit);
static void drop(HyResidency *residency, HyUnit *unit);
static void drop_forgotten(HyResidency *residency);

HyResidency *
hy_residency_create(const HyAllocator *allocator, const HyBackend *backend, HyDevice *device,
                    HyResidencyCounts *counts)
{
	HyResidency *residency = hy_alloc_zero(allocator, sizeof(HyResidency));

	if (residency == NULL)
		return NULL;
	residency->allocator = allocator;
	residency->backend = backend;
	residency->device = device;
	residency->counts = counts;
	return residency;
}

void
hy_residency_destroy(HyResidency *residency, bool give_back)
{
	HyUnit *unit;
	HyUnit *newer;

	if (residency == NULL)
		return;
	for (unit = residency->oldest; unit != NULL; unit = newer)
	{
		newer = unit->newer;
		if (give_back)
			residency->backend->buf_free(residency->device, unit->buffer);
		hy_free(residency->allocator, unit->sender_data);
		hy_free(residency->allocator, unit);
	}
	residency->counts->units = 0;
	residency->counts->bytes = 0;
	hy_free(residency->allocator, residency);
}

HyUnit *
hy_residency_ask(HyResidency *residency, const HyUnitKey *key, uint64_t *seen)
{
	HyUnit *unit = *find_place(residency, key);
	bool known = false;

	residency->questions++;
	if (unit != NULL && unit->whole &&
	    memcmp(unit->key.version, key->version, sizeof(key->version)) == 0)
	{
		*seen = unit->used;
		unit->used = residency->questions;
		take_out(residency, unit);
		append(residency, unit);
		residency->counts->hits++;
		return unit;
	}
	residency->counts->misses++;
	if (unit != NULL && unit != residency->pinned)
	{
		known = unit->paid;
		residency->counts->stale += unit->whole;
		drop(residency, unit);
	}
	*seen = leave_trace(residency, key, known);
	return NULL;
}

bool
hy_residency_room(const HyResidency *residency, uint64_t bytes, uint64_t seen, uint64_t limit)
{
	uint64_t there = residency->counts->bytes;
	const HyUnit *unit;

	if (bytes == 0 || bytes > limit)
		return false;
	for (unit = residency->oldest; unit != NULL && there > limit - bytes; unit = unit->newer)
	{
		if (unit->used >= seen)
			return false;
		if (unit != residency->pinned)
			there -= unit->bytes;
	}
	return there <= limit - bytes;
}

HyStatus
hy_residency_keep(HyResidency *residency, const HyUnitKey *key, uint64_t seen,
                  const HyUnitRows *rows, uint64_t limit, HyUnit **unit)
{
	HyStatus st = hy_residency_begin(residency, key, seen, rows->bytes, rows->rows, limit, unit);
	int i;

	for (i = 0; i < rows->parts && st == HY_OK; i++)
		st = hy_residency_send(residency, unit, &rows->part[i], rows->cancel);
	if (st == HY_OK)
		st = hy_residency_end(residency, unit, rows->sender_data, rows->sender_data_bytes);
	return st;
}

HyStatus
hy_residency_begin(HyResidency *residency, const HyUnitKey *key, uint64_t seen, uint64_t bytes,
                   int64_t rows, uint64_t limit, HyUnit **unit)
{
	HyUnit *new;
	HyStatus st;

	*unit = NULL;
	if (!hy_residency_room(residency, bytes, seen, limit))
		return HY_QUOTA;
	if (*find_place(residency, key) != NULL)
		return HY_INVALID;
	new = hy_alloc_zero(residency->allocator, sizeof(HyUnit));
	if (new == NULL)
		return HY_NOMEM;
	drop_forgotten(residency);
	hy_residency_trim(residency, limit - bytes);
	st = residency->backend->buf_alloc(residency->device, bytes, &new->buffer);
	if (st != HY_OK)
	{
		residency->counts->refused++;
		hy_free(residency->allocator, new);
		return st;
	}
	new->key = *key;
	new->bytes = bytes;
	new->rows = rows;
	*find_place(residency, key) = new;
	/* An incomplete unit is the first to be evicted, because its sender may never complete it. */
	prepend(residency, new);
	residency->counts->units++;
	residency->counts->bytes += bytes;
	*unit = new;
	return HY_OK;
}

HyStatus
hy_residency_send(HyResidency *residency, HyUnit **unit, const HyUnitPart *part,
                  const HyCancel *cancel)
{
	HyStatus st = HY_OK;
	uint64_t at;

	for (at = 0; at < part->bytes && st == HY_OK; at += HY_SEND_PIECE)
	{
		uint64_t bytes = part->bytes - at < HY_SEND_PIECE ? part->bytes - at : HY_SEND_PIECE;

		st = hy_cancelled(cancel)
		         ? HY_CANCELLED
		         : residency->backend->upload(residency->device, (*unit)->buffer, part->offset + at,
		                                      (const char *) part->data + at, bytes);
	}
	if (st == HY_OK)
		return HY_OK;
	residency->counts->refused += st != HY_CANCELLED;
	drop(residency, *unit);
	*unit = NULL;
	return st;
}

HyStatus
hy_residency_end(HyResidency *residency, HyUnit **unit, const void *sender_data,
                 size_t sender_data_bytes)
{
	HyUnit *new = *unit;

	if (sender_data_bytes > 0)
	{
		new->sender_data = hy_alloc(residency->allocator, sender_data_bytes);
		if (new->sender_data == NULL)
		{
			drop(residency, new);
			*unit = NULL;
			return HY_NOMEM;
		}
		memcpy(new->sender_data, sender_data, sender_data_bytes);
	}
	new->whole = true;
	new->used = residency->questions;
	take_out(residency, new);
	append(residency, new);
	residency->counts->sent++;
	return HY_OK;
}

void
hy_residency_trim(HyResidency *residency, uint64_t limit)
{
	HyUnit *unit = residency->oldest;

	while (unit != NULL && residency->counts->bytes > limit)
	{
		HyUnit *newer = unit->newer;

		if (unit != residency->pinned)
		{
			uint64_t place = mix(unit->key.place, 3) | 1;
			Trace *trace = find_trace(residency, place);

			/* an evicted unit leaves a trace, so it is worth sending again at its next request */
			trace->place = place;
			trace->version = mix(unit->key.version, 2);
			trace->seen = unit->used;
			residency->counts->evictions++;
			drop(residency, unit);
		}
		unit = newer;
	}
}

void
hy_residency_pin(HyResidency *residency, const HyUnit *unit)
{
	residency->pinned = unit;
}

void
hy_residency_forget(HyResidency *residency, const HyUnitKey *key)
{
	HyUnit *unit = *find_place(residency, key);

	if (unit == NULL)
		return;
	unit->used = 0;
	if (residency->oldest == unit)
		return;
	take_out(residency, unit);
	prepend(residency, unit);
}

void
hy_residency_used(HyUnit *unit)
{
	unit->paid = true;
}

HyBuffer *
hy_unit_buffer(const HyUnit *unit)
{
	return unit->buffer;
}

int64_t
hy_unit_rows(const HyUnit *unit)
{
	return unit->rows;
}

const void *
hy_unit_sender_data(const HyUnit *unit)
{
	return unit->sender_data;
}

/* mix: hash the words with splitmix64. */
static uint64_t
mix(const uint64_t *words, int count)
{
	uint64_t sum = 0;
	int i;

	for (i = 0; i < count; i++)
	{
		uint64_t z = (sum ^ words[i]) + UINT64_C(0x9e3779b97f4a7c15);

		z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
		z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
		sum = z ^ (z >> 31);
	}
	return sum;
}

/*
 * find_place: return the address of the pointer to the unit of this place, or of the NULL that ends
 * its chain.
 */
static HyUnit **
find_place(HyResidency *residency, const HyUnitKey *key)
{
	HyUnit **at = &residency->chain[mix(key->place, 3) & (CHAINS - 1)];

	while (*at != NULL && memcmp((*at)->key.place, key->place, sizeof(key->place)) != 0)
		at = &(*at)->next_in_chain;
	return at;
}

/*
 * find_trace: return the trace of a place, or the trace to be replaced by a new trace of this
 * place.
 */
static Trace *
find_trace(HyResidency *residency, uint64_t place)
{
	Trace *set = residency->trace[place >> 1 & (TRACES - 1)];
	Trace *oldest = set;
	int i;

	for (i = 0; i < WAYS; i++)
	{
		if (set[i].place == place)
			return &set[i];
		if (set[i].seen < oldest->seen)
			oldest = &set[i];
	}
	return oldest;
}

/*
 * leave_trace: record that a missing unit was requested now.  Returns `seen` as described at
 * hy_residency_ask.  `known`: this request dropped another version that a task has reused.
 */
static uint64_t
leave_trace(HyResidency *residency, const HyUnitKey *key, bool known)
{
	uint64_t place = mix(key->place, 3) | 1;
	uint64_t version = mix(key->version, 2);
	Trace *trace = find_trace(residency, place);
	uint64_t seen = 0;

	if (known)
		seen = residency->questions;
	else if (trace->place == place && trace->version == version)
		seen = trace->seen;
	trace->place = place;
	trace->version = version;
	trace->seen = residency->questions;
	return seen;
}

/* append: add the unit to the list as the newest. */
static void
append(HyResidency *residency, HyUnit *unit)
{
	unit->newer = NULL;
	unit->older = residency->newest;
	if (unit->older != NULL)
		unit->older->newer = unit;
	else
		residency->oldest = unit;
	residency->newest = unit;
}

/* prepend: add the unit to the list as the oldest. */
static void
prepend(HyResidency *residency, HyUnit *unit)
{
	unit->older = NULL;
	unit->newer = residency->oldest;
	if (unit->newer != NULL)
		unit->newer->older = unit;
	else
		residency->newest = unit;
	residency->oldest = unit;
}

/* take_out: remove the unit from the list. */
static void
take_out(HyResidency *residency, HyUnit *unit)
{
	if (unit->older != NULL)
		unit->older->newer = unit->newer;
	else
		residency->oldest = unit->newer;
	if (unit->newer != NULL)
		unit->newer->older = unit->older;
	else
		residency->newest = unit->older;
}

static void
drop(HyResidency *residency, HyUnit *unit)
{
	HyUnit **at = find_place(residency, &unit->key);

	*at = unit->next_in_chain;
	take_out(residency, unit);
	residency->counts->units--;
	residency->counts->bytes -= unit->bytes;
	residency->backend->buf_free(residency->device, unit->buffer);
	hy_free(residency->allocator, unit->sender_data);
	hy_free(residency->allocator, unit);
}

/* drop_forgotten: drop forgotten and incomplete units, which are at the old end of the list. */
static void
drop_forgotten(HyResidency *residency)
{
	while (residency->oldest != NULL && residency->oldest->used == 0 &&
	       residency->oldest != residency->pinned)
	{
		residency->counts->evictions++;
		drop(residency, residency->oldest);
	}
}
