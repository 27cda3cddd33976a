/*
 * queue.c
 *		Orders the clients that use a device: see queue.h.
 */
#include "dispatch/share/queue.h"

#include <string.h>

/* length of a bulk piece when other clients use the device without small calls */
#define SHARED_PIECE_NS 2e6
/* length of a bulk piece when small calls arrive, as a multiple of their mean length */
#define SMALL_MULTIPLE 2.0
#define SMALL_SHARE 0.125 /* weight of a new small call in the moving mean */

typedef enum HyQueueState
{
	PLACE_FREE = 0,
	PLACE_WAITS,
	PLACE_GRANTED
} HyQueueState;

static HyQueuePlace *next_in_turn(HyQueue *queue, int32_t device, int32_t depth, uint64_t now);
static HyQueuePlace *first_of(HyQueue *queue, int32_t device, bool small, uint64_t now);
static int32_t of_others(const HyQueue *queue, const HyQueuePlace *place);
static uint64_t served(const HyQueue *queue, int32_t role);
static void note_served(HyQueue *queue, int32_t role);
static void leave(HyQueue *queue, HyQueuePlace *place);
static bool recent(uint64_t at, uint64_t now);
static int32_t number_of(const HyQueueSeat *seat, int32_t device);

void
hy_queue_init(HyQueue *queue)
{
	memset(queue, 0, sizeof(*queue));
}

int32_t
hy_queue_ask(const HyQueueSeat *seat, int32_t device, double ns, bool whole, uint64_t now)
{
	HyQueue *queue = seat->queue;
	int32_t number = number_of(seat, device);
	HyQueueDevice *d = &queue->device[number];
	HyQueuePlace *place = queue->place;
	bool small = whole && ns > 0 && ns <= HY_QUEUE_SMALL_NS;

	hy_lock(&seat->lock);
	while (place->state != PLACE_FREE)
	{
		if (++place == queue->place + HY_QUEUE_PLACES)
		{
			hy_unlock(&seat->lock);
			return -1;
		}
	}
	*place = (HyQueuePlace){.state = PLACE_WAITS,
	                        .device = number,
	                        .client = seat->client,
	                        .role = seat->role,
	                        .small = small,
	                        .order = ++queue->order,
	                        .asked_ns = now,
	                        .ns = ns};
	d->work_ns += ns;
	d->tasks++;
	d->unknown += ns <= 0;
	if (small)
	{
		if (!recent(d->small_at_ns, now))
			d->small_ns = ns;
		d->small_ns += SMALL_SHARE * (ns - d->small_ns);
		d->small_at_ns = now;
	}
	if (d->last_client != seat->client)
	{
		if (d->last_client != 0)
			d->other_at_ns = now;
		d->last_client = seat->client;
	}
	hy_unlock(&seat->lock);
	return (int32_t) (place - queue->place);
}

bool
hy_queue_granted(const HyQueueSeat *seat, int32_t place, int32_t depth, uint64_t now)
{
	HyQueue *queue = seat->queue;
	HyQueuePlace *own = &queue->place[place];
	HyQueueDevice *device = &queue->device[own->device];
	HyQueuePlace *next;
	bool granted;

	hy_lock(&seat->lock);
	own->asked_ns = now;
	/*
	 * A client that asks grants all free places, also to other clients.  These see the grant when
	 * they ask again.
	 */
	while ((next = next_in_turn(queue, own->device, depth, now)) != NULL)
	{
		if (next->small)
			device->small_row += first_of(queue, own->device, false, now) != NULL;
		else
			device->small_row = 0;
		next->behind = of_others(queue, next);
		next->state = PLACE_GRANTED;
		device->in_flight++;
		device->bulk_in_flight += !next->small;
		note_served(queue, next->role);
	}
	granted = own->state == PLACE_GRANTED;
	hy_unlock(&seat->lock);
	return granted;
}

bool
hy_queue_alone(const HyQueueSeat *seat, int32_t place)
{
	return seat->queue->place[place].behind == 0;
}

void
hy_queue_leave(const HyQueueSeat *seat, int32_t place)
{
	if (place < 0)
		return;
	hy_lock(&seat->lock);
	leave(seat->queue, &seat->queue->place[place]);
	hy_unlock(&seat->lock);
}

void
hy_queue_forget(const HyQueueSeat *seat, int32_t client)
{
	int32_t i;

	hy_lock(&seat->lock);
	for (i = 0; i < HY_QUEUE_PLACES; i++)
	{
		if (seat->queue->place[i].client == client)
			leave(seat->queue, &seat->queue->place[i]);
	}
	hy_unlock(&seat->lock);
}

double
hy_queue_quantum(const HyQueueSeat *seat, int32_t device, uint64_t now)
{
	const HyQueueDevice *d = &seat->queue->device[number_of(seat, device)];
	double quantum = 0;

	hy_lock(&seat->lock);
	if (recent(d->small_at_ns, now))
		quantum = SMALL_MULTIPLE * d->small_ns;
	else if (recent(d->other_at_ns, now))
		quantum = SHARED_PIECE_NS;
	hy_unlock(&seat->lock);
	return quantum;
}

HyQueueLoad
hy_queue_load(const HyQueueSeat *seat, int32_t device)
{
	const HyQueueDevice *d = &seat->queue->device[number_of(seat, device)];
	HyQueueLoad load;

	hy_lock(&seat->lock);
	load = (HyQueueLoad){.tasks = d->tasks, .unknown = d->unknown, .ns = d->work_ns};
	hy_unlock(&seat->lock);
	return load;
}

/*
 * next_in_turn: return the request that gets the next place on the device, or NULL if there is no
 * request or no free place.
 */
static HyQueuePlace *
next_in_turn(HyQueue *queue, int32_t device, int32_t depth, uint64_t now)
{
	HyQueueDevice *d = &queue->device[device];
	int32_t for_bulk = depth;
	HyQueuePlace *small;
	HyQueuePlace *bulk;

	if (d->in_flight >= depth)
		return NULL;
	small = first_of(queue, device, true, now);
	if (depth > 1 && recent(d->small_at_ns, now))
		for_bulk = depth - 1;
	bulk = d->bulk_in_flight < for_bulk ? first_of(queue, device, false, now) : NULL;
	if (small != NULL && bulk != NULL)
		return d->small_row > 0 ? bulk : small;
	return small != NULL ? small : bulk;
}

/* first_of: return the first waiting request, small or not, whose client has asked recently. */
static HyQueuePlace *
first_of(HyQueue *queue, int32_t device, bool small, uint64_t now)
{
	HyQueuePlace *best = NULL;
	uint64_t best_served = 0;
	int32_t i;

	for (i = 0; i < HY_QUEUE_PLACES; i++)
	{
		HyQueuePlace *place = &queue->place[i];
		uint64_t last;

		if (place->state != PLACE_WAITS || place->device != device || (place->small != 0) != small)
			continue;
		/* now may be slightly earlier than a time stamp from another processor */
		if (now > place->asked_ns && now - place->asked_ns > HY_QUEUE_ASK_TIMEOUT_NS)
			continue;
		last = served(queue, place->role);
		if (best == NULL || last < best_served ||
		    (last == best_served && place->order < best->order))
		{
			best = place;
			best_served = last;
		}
	}
	return best;
}

/* of_others: count the granted places of other clients on the same device. */
static int32_t
of_others(const HyQueue *queue, const HyQueuePlace *place)
{
	int32_t count = 0;
	int32_t i;

	for (i = 0; i < HY_QUEUE_PLACES; i++)
	{
		const HyQueuePlace *other = &queue->place[i];

		count += other->state == PLACE_GRANTED && other->device == place->device &&
		         other->client != place->client;
	}
	return count;
}

static uint64_t
served(const HyQueue *queue, int32_t role)
{
	int32_t i;

	for (i = 0; i < HY_QUEUE_ROLES; i++)
	{
		if (queue->role[i].used && queue->role[i].role == role)
			return queue->role[i].served;
	}
	return 0;
}

/*
 * note_served: record that a role was served.  If no entry is free, replace the entry of the role
 * that was served longest ago.  That role keeps its turn, because a role without an entry comes
 * before all roles with one.
 */
static void
note_served(HyQueue *queue, int32_t role)
{
	HyQueueRole *slot = &queue->role[0];
	int32_t i;

	for (i = 0; i < HY_QUEUE_ROLES; i++)
	{
		HyQueueRole *other = &queue->role[i];

		if (other->used && other->role == role)
		{
			slot = other;
			break;
		}
		if (slot->used && (!other->used || other->served < slot->served))
			slot = other;
	}
	*slot = (HyQueueRole){.role = role, .used = 1, .served = ++queue->order};
}

static void
leave(HyQueue *queue, HyQueuePlace *place)
{
	HyQueueDevice *device = &queue->device[place->device];

	if (place->state == PLACE_FREE)
		return;
	if (place->state == PLACE_GRANTED)
	{
		device->in_flight--;
		device->bulk_in_flight -= !place->small;
	}
	device->work_ns -= place->ns;
	device->tasks--;
	device->unknown -= place->ns <= 0;
	/* a rounding error may remain after the last task has left */
	if (device->work_ns < 1)
		device->work_ns = 0;
	place->state = PLACE_FREE;
}

/*
 * recent: return whether an arrival at time `at` (0: never) is recent enough to be expected again.
 * The time may be from another process.
 */
static bool
recent(uint64_t at, uint64_t now)
{
	return at != 0 && (now < at || now - at < HY_QUEUE_RECENT_NS);
}

/* number_of: return the queue's number of the client's device; two devices may share a number. */
static int32_t
number_of(const HyQueueSeat *seat, int32_t device)
{
	return (seat->numbers != NULL ? seat->numbers[device] : device) % HY_MAX_DEVICES;
}
