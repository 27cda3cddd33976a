/*
 * residency_test.c
 *		Units of rows that stay on a device: which are kept, which are evicted, and what a
 *		failure leaves.
 */
#include "dispatch/run/residency.h"
#include "unit.h"

#define BUFFERS 64
#define UNIT_BYTES 64

struct HyBuffer
{
	bool used;
	uint64_t bytes;
	char data[UNIT_BYTES];
};

static struct HyBuffer buffers[BUFFERS];
static int allocations; /* until one fails, < 0: none does */
static int uploads;     /* the same */
static uint64_t on_device;
static int freed;
static UnitMemory memory;
static HyResidencyCounts counts;
static HyResidency *residency;

static HyStatus
take_buffer(HyDevice *device, uint64_t bytes, HyBuffer **buffer)
{
	int i;

	(void) device;
	*buffer = NULL;
	if (allocations >= 0 && allocations-- == 0)
		return HY_NOMEM;
	for (i = 0; i < BUFFERS && buffers[i].used; i++)
		;
	if (i == BUFFERS)
		return HY_NOMEM;
	memset(&buffers[i], 0, sizeof(buffers[i]));
	buffers[i].used = true;
	buffers[i].bytes = bytes;
	on_device += bytes;
	*buffer = &buffers[i];
	return HY_OK;
}

static void
free_buffer(HyDevice *device, HyBuffer *buffer)
{
	(void) device;
	CHECK(buffer->used);
	buffer->used = false;
	on_device -= buffer->bytes;
	freed++;
}

static HyStatus
fill_buffer(HyDevice *device, HyBuffer *buffer, uint64_t offset, const void *data, uint64_t bytes)
{
	(void) device;
	if (uploads >= 0 && uploads-- == 0)
		return HY_TRANSIENT;
	CHECK(bytes > 0 && offset + bytes <= buffer->bytes && buffer->bytes <= UNIT_BYTES);
	memcpy(buffer->data + offset, data, bytes);
	return HY_OK;
}

static const HyBackend backend = {
	.buf_alloc = take_buffer, .buf_free = free_buffer, .upload = fill_buffer};

static void
begin(void)
{
	memset(buffers, 0, sizeof(buffers));
	memset(&counts, 0, sizeof(counts));
	allocations = uploads = -1;
	on_device = 0;
	freed = 0;
	unit_memory_init(&memory, 0);
	residency = hy_residency_create(&memory.allocator, &backend, NULL, &counts);
	CHECK(residency != NULL);
}

static void
end(void)
{
	hy_residency_destroy(residency, true);
	CHECK_INT(on_device, 0);
	CHECK_INT(counts.units, 0);
	CHECK_INT(counts.bytes, 0);
	CHECK_INT(memory.outstanding, 0);
}

static HyUnitKey
key_of(uint64_t place, uint64_t version)
{
	return (HyUnitKey){.place = {7, 8, place}, .version = {version, 9}};
}

static HyStatus
keep(uint64_t place, uint64_t version, uint64_t seen, uint64_t bytes, uint64_t limit, HyUnit **unit)
{
	HyUnitKey key = key_of(place, version);
	char data[UNIT_BYTES];
	uint64_t sender_data[2] = {place, version};
	/* in two parts, of which the second lies first */
	HyUnitPart part[2] = {
		{.data = data + bytes / 2, .bytes = bytes - bytes / 2, .offset = bytes / 2},
		{.data = data, .bytes = bytes / 2, .offset = 0}};
	HyUnitRows rows = {.part = part,
	                   .parts = 2,
	                   .bytes = bytes,
	                   .rows = (int64_t) (place + 1),
	                   .sender_data = sender_data,
	                   .sender_data_bytes = sizeof(sender_data)};

	memset(data, (int) (place * 16 + version), sizeof(data));
	return hy_residency_keep(residency, &key, seen, &rows, limit, unit);
}

/* ask: return the unit of this place and version, after checking its content, or NULL. */
static HyUnit *
ask(uint64_t place, uint64_t version, uint64_t *seen)
{
	HyUnitKey key = key_of(place, version);
	HyUnit *unit = hy_residency_ask(residency, &key, seen);

	if (unit != NULL)
	{
		const uint64_t *sender_data = hy_unit_sender_data(unit);

		CHECK(sender_data[0] == place && sender_data[1] == version);
		CHECK_INT(hy_unit_rows(unit), place + 1);
		CHECK_INT(hy_unit_buffer(unit)->data[0], (char) (place * 16 + version));
	}
	return unit;
}

static void
test_second_use(void)
{
	HyUnit *unit;
	uint64_t seen;

	begin();
	CHECK(ask(1, 1, &seen) == NULL);
	CHECK_INT(seen, 0);
	CHECK(ask(1, 1, &seen) == NULL);
	CHECK_INT(seen, 1);
	CHECK(hy_residency_room(residency, 10, seen, 100));
	CHECK(!hy_residency_room(residency, 101, seen, 100));
	CHECK(!hy_residency_room(residency, 0, seen, 100));
	CHECK_INT(keep(1, 1, seen, 10, 100, &unit), HY_OK);
	CHECK_INT(counts.sent, 1);
	CHECK_INT(counts.bytes, 10);
	CHECK(ask(1, 1, &seen) == unit);
	CHECK_INT(counts.hits, 1);
	CHECK_INT(counts.misses, 2);
	/* what is there is not sent again */
	CHECK_INT(keep(1, 1, seen, 10, 100, &unit), HY_INVALID);
	end();
}

static void
test_versions(void)
{
	HyUnit *unit;
	uint64_t seen;

	begin();
	(void) ask(1, 1, &seen);
	(void) ask(1, 1, &seen);
	CHECK_INT(keep(1, 1, seen, 10, 100, &unit), HY_OK);
	/* never used: who changed it has to be seen twice again */
	CHECK(ask(1, 2, &seen) == NULL);
	CHECK_INT(seen, 0);
	CHECK_INT(counts.stale, 1);
	CHECK_INT(on_device, 0);
	CHECK(ask(1, 2, &seen) == NULL);
	CHECK(seen != 0);
	CHECK_INT(keep(1, 2, seen, 10, 100, &unit), HY_OK);
	CHECK(ask(1, 2, &seen) == unit);
	hy_residency_used(unit);
	/* it was: it may be sent at once */
	CHECK(ask(1, 3, &seen) == NULL);
	CHECK(seen != 0);
	CHECK_INT(keep(1, 3, seen, 10, 100, &unit), HY_OK);
	/* an older one does not come back by itself */
	CHECK(ask(1, 2, &seen) == NULL);
	CHECK_INT(seen, 0);
	end();
}

/*
 * cycle: use each of count places once, sending units if allowed.  Returns how many were resident.
 */
static int
cycle(int count, uint64_t limit)
{
	HyUnit *unit;
	uint64_t seen;
	int found = 0;
	int i;

	for (i = 0; i < count; i++)
	{
		if (ask((uint64_t) i, 1, &seen) != NULL)
			found++;
		else if (seen != 0 && hy_residency_room(residency, 10, seen, limit))
			CHECK_INT(keep((uint64_t) i, 1, seen, 10, limit, &unit), HY_OK);
		CHECK(counts.bytes <= limit && counts.bytes == on_device);
	}
	return found;
}

/* A set larger than the room is resident in part, however often it is cycled through. */
static void
test_cycle(void)
{
	int64_t sent;
	int i;

	begin();
	CHECK_INT(cycle(8, 50), 0);
	CHECK_INT(cycle(8, 50), 0);
	CHECK_INT(counts.sent, 5);
	for (i = 0; i < 20; i++)
		CHECK_INT(cycle(8, 50), 5);
	CHECK_INT(counts.sent, 5);
	CHECK_INT(counts.evictions, 0);
	/* the first three alone stay in use: the others give way to who comes from elsewhere */
	for (i = 0; i < 3; i++)
	{
		HyUnit *unit;
		uint64_t seen;

		CHECK_INT(cycle(3, 50), 3);
		if (ask(9, 1, &seen) == NULL && seen != 0)
			CHECK_INT(keep(9, 1, seen, 10, 50, &unit), HY_OK);
	}
	CHECK_INT(counts.evictions, 1);
	CHECK_INT(counts.units, 5);
	/* less room than before */
	sent = counts.sent;
	hy_residency_trim(residency, 20);
	CHECK_INT(counts.units, 2);
	CHECK_INT(counts.evictions, 4);
	CHECK_INT(counts.sent, sent);
	CHECK_INT(cycle(3, 20), 1);
	end();
}

static void
test_pinned(void)
{
	HyUnit *unit;
	uint64_t seen;

	begin();
	(void) cycle(4, 40);
	(void) cycle(4, 40);
	CHECK_INT(counts.units, 4);
	unit = ask(0, 1, &seen);
	hy_residency_pin(residency, unit);
	hy_residency_trim(residency, 0);
	CHECK_INT(counts.units, 1);
	CHECK(ask(0, 1, &seen) == unit);
	hy_residency_pin(residency, NULL);
	hy_residency_trim(residency, 0);
	CHECK_INT(counts.units, 0);
	/* who gave way comes back at once */
	CHECK(ask(0, 1, &seen) == NULL);
	CHECK(seen != 0);
	end();
}

/* Of the forgotten units the latest is evicted first, also for a unit that was seen long ago. */
static void
test_forgotten(void)
{
	HyUnitKey key = key_of(3, 1);
	HyUnit *unit;
	uint64_t seen;
	uint64_t first;

	begin();
	CHECK(ask(9, 1, &first) == NULL);
	CHECK(ask(9, 1, &first) == NULL);
	(void) cycle(4, 40);
	(void) cycle(4, 40);
	CHECK_INT(counts.units, 4);
	CHECK(!hy_residency_room(residency, 10, first, 40));
	hy_residency_forget(residency, &key);
	key = key_of(8, 1);
	hy_residency_forget(residency, &key);
	CHECK_INT(counts.units, 4);
	CHECK(hy_residency_room(residency, 10, first, 40));
	CHECK(!hy_residency_room(residency, 20, first, 40));
	CHECK_INT(keep(9, 1, first, 10, 40, &unit), HY_OK);
	CHECK_INT(counts.units, 4);
	CHECK(ask(3, 1, &seen) == NULL);
	CHECK(ask(0, 1, &seen) != NULL);
	CHECK(ask(1, 1, &seen) != NULL);
	CHECK(ask(2, 1, &seen) != NULL);
	/* the oldest of all may be one of them, and the only one */
	key = key_of(9, 1);
	hy_residency_forget(residency, &key);
	hy_residency_forget(residency, &key);
	hy_residency_trim(residency, 30);
	CHECK(ask(9, 1, &seen) == NULL);
	hy_residency_trim(residency, 10);
	key = key_of(2, 1);
	hy_residency_forget(residency, &key);
	CHECK(ask(2, 1, &seen) != NULL);
	end();
}

/*
 * A unit that is sent step by step is not used until it is complete, and is evicted when its sender
 * has left.
 */
static void
test_step_by_step(void)
{
	HyUnitKey key = key_of(1, 1);
	const uint64_t sender_data[2] = {1, 1};
	const char data[5] = {17, 17, 17, 17, 17};
	HyUnitPart part = {.data = data, .bytes = 5};
	HyUnit *unit;
	HyUnit *other;
	uint64_t seen;
	int left;

	begin();
	for (left = 0; left < 4; left++)
	{
		CHECK(ask(1, 1, &seen) == NULL);
		CHECK(ask(1, 1, &seen) == NULL);
		CHECK_INT(hy_residency_begin(residency, &key, seen, 10, 2, 40, &unit), HY_OK);
		CHECK_INT(counts.bytes, left < 2 ? 10 : 20);
		CHECK_INT(on_device, counts.bytes);
		CHECK_INT(hy_residency_send(residency, &unit, &part, NULL), HY_OK);
		switch (left)
		{
			case 0: /* who asks for it takes it away, and may send it again */
				CHECK(ask(1, 1, &seen) == NULL);
				CHECK(seen != 0);
				break;
			case 1: /* another is kept, be there room for both */
				(void) ask(2, 1, &seen);
				(void) ask(2, 1, &seen);
				CHECK_INT(keep(2, 1, seen, 10, 40, &other), HY_OK);
				CHECK_INT(on_device, 10);
				break;
			case 2: /* it is the first to give way, although it is the newest */
				hy_residency_trim(residency, 10);
				CHECK(ask(2, 1, &seen) == other);
				break;
			default: /* its device fails */
				uploads = 0;
				CHECK_INT(hy_residency_send(residency, &unit, &part, NULL), HY_TRANSIENT);
				CHECK(unit == NULL);
				uploads = -1;
		}
		CHECK_INT(on_device, left == 0 ? 0 : 10);
		CHECK_INT(counts.bytes, on_device);
		CHECK_INT(counts.stale, 0);
		CHECK_INT(counts.sent, left == 0 ? 0 : 1);
	}
	CHECK(ask(1, 1, &seen) == NULL);
	CHECK_INT(hy_residency_begin(residency, &key, seen, 10, 2, 40, &unit), HY_OK);
	part.offset = 5;
	CHECK_INT(hy_residency_send(residency, &unit, &part, NULL), HY_OK);
	part.offset = 0;
	CHECK_INT(hy_residency_send(residency, &unit, &part, NULL), HY_OK);
	CHECK_INT(hy_residency_end(residency, &unit, sender_data, sizeof(sender_data)), HY_OK);
	CHECK(ask(1, 1, &seen) == unit);
	CHECK_INT(hy_unit_buffer(unit)->data[9], 17);
	/* it is the newest now */
	hy_residency_trim(residency, 10);
	CHECK(ask(1, 1, &seen) == unit);
	end();
}

static int64_t pieces;      /* that have come */
static int64_t pieces_left; /* before a cancel */
static uint64_t arrived;    /* bytes, one behind the other */

static HyStatus
take_piece(HyDevice *device, HyBuffer *buffer, uint64_t offset, const void *data, uint64_t bytes)
{
	(void) device;
	(void) buffer;
	CHECK_INT(offset, arrived);
	CHECK(data != NULL && bytes > 0 && bytes <= HY_SEND_PIECE);
	arrived += bytes;
	pieces++;
	return HY_OK;
}

static bool
no_pieces_left(void *arg)
{
	(void) arg;
	return pieces >= pieces_left;
}

/*
 * A large unit is sent in pieces, and a cancel is noticed between them.  Then nothing stays, and
 * nothing counts as refused.
 */
static void
test_cancelled(void)
{
	static const HyBackend large = {
		.buf_alloc = take_buffer, .buf_free = free_buffer, .upload = take_piece};
	const uint64_t bytes = 2 * HY_SEND_PIECE + 1;
	const HyCancel cancel = {no_pieces_left, NULL};
	char *data = malloc(bytes); /* never touched */
	HyUnitPart part = {.data = data, .bytes = bytes};
	HyUnitRows rows = {.part = &part, .parts = 1, .bytes = bytes, .rows = 1, .cancel = &cancel};
	HyUnitKey key = key_of(1, 1);
	HyUnit *unit;
	uint64_t seen;

	begin();
	hy_residency_destroy(residency, true);
	residency = hy_residency_create(&memory.allocator, &large, NULL, &counts);
	for (pieces_left = 0; pieces_left <= 3; pieces_left++)
	{
		HyStatus expected = pieces_left < 3 ? HY_CANCELLED : HY_OK;

		pieces = 0;
		arrived = 0;
		CHECK(ask(1, 1, &seen) == NULL);
		CHECK_INT(hy_residency_keep(residency, &key, 1, &rows, bytes, &unit), expected);
		CHECK_INT(pieces, pieces_left);
		CHECK_INT(on_device, expected == HY_OK ? bytes : 0);
	}
	CHECK_INT(counts.refused, 0);
	CHECK_INT(counts.units, 1);
	end();
	free(data);
}

/* Forgotten units do not accumulate, even if there is room for all of them. */
static void
test_forgotten_pile_up(void)
{
	HyUnitKey last = key_of(19, 1);
	HyUnit *unit;
	uint64_t seen;
	uint64_t i;

	begin();
	for (i = 0; i < 20; i++)
	{
		HyUnitKey key = key_of(i, 1);

		(void) ask(i, 1, &seen);
		(void) ask(i, 1, &seen);
		CHECK_INT(keep(i, 1, seen, 10, 1000, &unit), HY_OK);
		CHECK_INT(counts.units, 1);
		CHECK_INT(on_device, 10);
		hy_residency_forget(residency, &key);
		CHECK_INT(counts.units, 1);
	}
	/* one that a task reads stays */
	unit = ask(19, 1, &seen);
	hy_residency_pin(residency, unit);
	hy_residency_forget(residency, &last);
	(void) ask(20, 1, &seen);
	(void) ask(20, 1, &seen);
	CHECK_INT(keep(20, 1, seen, 10, 1000, &unit), HY_OK);
	CHECK_INT(counts.units, 2);
	hy_residency_pin(residency, NULL);
	end();
}

static void
test_failures(void)
{
	HyUnit *unit;
	uint64_t seen;
	int i;

	begin();
	(void) cycle(2, 50);
	(void) ask(0, 1, &seen);
	allocations = 0;
	CHECK_INT(keep(0, 1, seen, 10, 50, &unit), HY_NOMEM);
	CHECK(unit == NULL);
	allocations = -1;
	uploads = 0;
	CHECK_INT(keep(0, 1, seen, 10, 50, &unit), HY_TRANSIENT);
	CHECK(unit == NULL);
	CHECK_INT(counts.refused, 2);
	CHECK_INT(on_device, 0);
	CHECK_INT(freed, 1);
	uploads = -1;
	CHECK_INT(keep(0, 1, seen, 10, 50, &unit), HY_OK);
	/* the host's memory: each of the two allocations of a unit */
	(void) ask(1, 1, &seen);
	for (i = 0; i < 2; i++)
	{
		memory.fail_at = memory.calls + i + 1;
		CHECK_INT(keep(1, 1, seen, 10, 50, &unit), HY_NOMEM);
		CHECK(unit == NULL);
		CHECK_INT(counts.units, 1);
	}
	memory.fail_at = 0;
	CHECK_INT(keep(1, 1, seen, 10, 50, &unit), HY_OK);
	/* a device that is lost, or closed, is not touched */
	freed = 0;
	hy_residency_destroy(residency, false);
	CHECK_INT(freed, 0);
	CHECK_INT(counts.units, 0);
	CHECK_INT(memory.outstanding, 0);
	unit_memory_init(&memory, 1);
	CHECK(hy_residency_create(&memory.allocator, &backend, NULL, &counts) == NULL);
	hy_residency_destroy(NULL, true);
}

/* Random places, versions, sizes, limits and failures; ask checks each unit that is found. */
static void
test_random(void)
{
	UnitRandom random = {4711};
	uint64_t version[200] = {0};
	uint64_t size[200];
	int i;

	begin();
	for (i = 0; i < 200; i++)
		size[i] = 1 + unit_random(&random) % UNIT_BYTES;
	for (i = 0; i < 200000; i++)
	{
		uint64_t place = unit_random(&random) % (unit_random(&random) % 2 == 0 ? 200 : 10);
		uint64_t limit = 100 + unit_random(&random) % 900;
		uint64_t seen;
		HyUnit *unit;

		if (unit_random(&random) % 50 == 0)
			version[place] = (version[place] + 1) % 8;
		if (unit_random(&random) % 100 == 0)
			allocations = 0;
		if (unit_random(&random) % 100 == 0)
			uploads = 0;
		unit = ask(place, version[place], &seen);
		if (unit != NULL)
		{
			CHECK(seen < (uint64_t) i + 1);
			hy_residency_used(unit);
		}
		else if (seen != 0)
		{
			bool room = hy_residency_room(residency, size[place], seen, limit);
			HyStatus st = keep(place, version[place], seen, size[place], limit, &unit);

			CHECK((st == HY_QUOTA) == !room);
			CHECK((st == HY_OK) == (unit != NULL));
			if (st == HY_OK)
				CHECK(counts.bytes <= limit);
		}
		if (unit_random(&random) % 1000 == 0)
		{
			hy_residency_trim(residency, limit);
			CHECK(counts.bytes <= limit);
		}
		CHECK(counts.bytes == on_device);
		CHECK_INT(counts.hits + counts.misses, i + 1);
		allocations = uploads = -1;
	}
	CHECK(counts.hits > 10000);
	CHECK(counts.evictions > 1000);
	CHECK(counts.stale > 100);
	CHECK(counts.refused > 100);
	end();
}

int
main(void)
{
	UNIT_RUN(test_forgotten);
	UNIT_RUN(test_forgotten_pile_up);
	UNIT_RUN(test_step_by_step);
	UNIT_RUN(test_cancelled);
	UNIT_RUN(test_second_use);
	UNIT_RUN(test_versions);
	UNIT_RUN(test_cycle);
	UNIT_RUN(test_pinned);
	UNIT_RUN(test_failures);
	UNIT_RUN(test_random);
	return unit_finish();
}
