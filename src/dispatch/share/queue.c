/*
 * queue.c
 *		Decides which client may submit a task to a device next: see queue.h.
 */
#include "dispatch/share/queue.h"

#include <string.h>

/* time of a bulk piece when other clients use the device, but not for small calls */
#define SHARED_PIECE_NS 2e6
/* time of a bulk piece when small calls arrive, as a multiple of their mean time */
#define SMALL_MULTIPLE 2.0
#define SMALL_SHARE 0.125 /* weight of a new small call in the moving mean */

typedef enum HyQueueState
{
	SLOT_FREE = 0,
	SLOT_WAITS,
	SLOT_GRANTED
} HyQueueState;

static HyQueueSlot *next_in_turn(HyQueue *queue, int32_t device, int32_t depth, uint64_t now);
static HyQueueSlot *first_of(HyQueue *queue, int32_t device, bool small, uint64_t now);
static int32_t of_others(const HyQueue *queue, const HyQueueSlot *slot);
static uint64_t served(const HyQueue *queue, int32_t role);
static void note_served(HyQueue *queue, int32_t role);
static void leave(HyQueue *queue, HyQueueSlot *slot);
static bool recent(uint64_t at, uint64_t now);
static int32_t number_of(const HyQueueClient *client, int32_t device);

void
hy_queue_init(HyQueue *queue)
{
	memset(queue, 0, sizeof(*queue));
}

int32_t
hy_queue_ask(const HyQueueClient *client, int32_t device, double ns, bool whole, uint64_t now)
{
	HyQueue *queue = client->queue;
	int32_t number = number_of(client, device);
	HyQueueDevice *d = &queue->device[number];
	HyQueueSlot *slot = queue->slot;
	bool small = whole && ns > 0 && ns <= HY_QUEUE_SMALL_NS;

	hy_lock(&client->lock);
	while (slot->state != SLOT_FREE)
	{
		if (++slot == queue->slot + HY_QUEUE_SLOTS)
		{
			hy_unlock(&client->lock);
			return -1;
		}
	}
	*slot = (HyQueueSlot){.state = SLOT_WAITS,
	                      .device = number,
	                      .client = client->id,
	                      .role = client->role,
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
	if (d->last_client != client->id)
	{
		if (d->last_client != 0)
			d->other_at_ns = now;
		d->last_client = client->id;
	}
	hy_unlock(&client->lock);
	return (int32_t) (slot - queue->slot);
}

bool
hy_queue_granted(const HyQueueClient *client, int32_t slot, int32_t depth, uint64_t now)
{
	HyQueue *queue = client->queue;
	HyQueueSlot *own = &queue->slot[slot];
	HyQueueDevice *device = &queue->device[own->device];
	HyQueueSlot *next;
	bool granted;

	hy_lock(&client->lock);
	own->asked_ns = now;
	/*
	 * Grant all free slots now, also to other clients.  They see their grant when they ask again.
	 */
	while ((next = next_in_turn(queue, own->device, depth, now)) != NULL)
	{
		if (next->small)
			device->small_row += first_of(queue, own->device, false, now) != NULL;
		else
			device->small_row = 0;
		next->behind = of_others(queue, next);
		next->state = SLOT_GRANTED;
		device->in_flight++;
		device->bulk_in_flight += !next->small;
		note_served(queue, next->role);
	}
	granted = own->state == SLOT_GRANTED;
	hy_unlock(&client->lock);
	return granted;
}

bool
hy_queue_alone(const HyQueueClient *client, int32_t slot)
{
	return client->queue->slot[slot].behind == 0;
}

void
hy_queue_leave(const HyQueueClient *client, int32_t slot)
{
	if (slot < 0)
		return;
	hy_lock(&client->lock);
	leave(client->queue, &client->queue->slot[slot]);
	hy_unlock(&client->lock);
}

void
hy_queue_forget(const HyQueueClient *client, int32_t id)
{
	int32_t i;

	hy_lock(&client->lock);
	for (i = 0; i < HY_QUEUE_SLOTS; i++)
	{
		if (client->queue->slot[i].client == id)
			leave(client->queue, &client->queue->slot[i]);
	}
	hy_unlock(&client->lock);
}

double
hy_queue_quantum(const HyQueueClient *client, int32_t device, uint64_t now)
{
	const HyQueueDevice *d = &client->queue->device[number_of(client, device)];
	double quantum = 0;

	hy_lock(&client->lock);
	if (recent(d->small_at_ns, now))
		quantum = SMALL_MULTIPLE * d->small_ns;
	else if (recent(d->other_at_ns, now))
		quantum = SHARED_PIECE_NS;
	hy_unlock(&client->lock);
	return quantum;
}

HyQueueLoad
hy_queue_load(const HyQueueClient *client, int32_t device)
{
	const HyQueueDevice *d = &client->queue->device[number_of(client, device)];
	HyQueueLoad load;

	hy_lock(&client->lock);
	load = (HyQueueLoad){.tasks = d->tasks, .unknown = d->unknown, .ns = d->work_ns};
	hy_unlock(&client->lock);
	return load;
}

/*
 * next_in_turn: return the request that gets the next slot on the device, or NULL if there is no
 * request or no free slot.
 */
static HyQueueSlot *
next_in_turn(HyQueue *queue, int32_t device, int32_t depth, uint64_t now)
{
	HyQueueDevice *d = &queue->device[device];
	int32_t for_bulk = depth;
	HyQueueSlot *small;
	HyQueueSlot *bulk;

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

/*
 * first_of: return the first waiting request of one sort (small calls, or all other tasks), in the
 * order given in queue.h. Skips requests whose clients have not asked recently.
 */
static HyQueueSlot *
first_of(HyQueue *queue, int32_t device, bool small, uint64_t now)
{
	HyQueueSlot *best = NULL;
	uint64_t best_served = 0;
	int32_t i;

	for (i = 0; i < HY_QUEUE_SLOTS; i++)
	{
		HyQueueSlot *slot = &queue->slot[i];
		uint64_t last;

		if (slot->state != SLOT_WAITS || slot->device != device || (slot->small != 0) != small)
			continue;
		/* now may be slightly earlier than a time stamp from another processor */
		if (now > slot->asked_ns && now - slot->asked_ns > HY_QUEUE_ASK_TIMEOUT_NS)
			continue;
		last = served(queue, slot->role);
		if (best == NULL || last < best_served ||
		    (last == best_served && slot->order < best->order))
		{
			best = slot;
			best_served = last;
		}
	}
	return best;
}

/* of_others: count the granted slots of other clients on the same device. */
static int32_t
of_others(const HyQueue *queue, const HyQueueSlot *slot)
{
	int32_t count = 0;
	int32_t i;

	for (i = 0; i < HY_QUEUE_SLOTS; i++)
	{
		const HyQueueSlot *other = &queue->slot[i];

		count += other->state == SLOT_GRANTED && other->device == slot->device &&
		         other->client != slot->client;
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
 * that was served least recently.  That role still gets its turn, because a role without an entry
 * comes before all roles that have one.
 */
static void
note_served(HyQueue *queue, int32_t role)
{
	HyQueueRole *entry = &queue->role[0];
	int32_t i;

	for (i = 0; i < HY_QUEUE_ROLES; i++)
	{
		HyQueueRole *other = &queue->role[i];

		if (other->used && other->role == role)
		{
			entry = other;
			break;
		}
		if (entry->used && (!other->used || other->served < entry->served))
			entry = other;
	}
	*entry = (HyQueueRole){.role = role, .used = 1, .served = ++queue->order};
}

static void
leave(HyQueue *queue, HyQueueSlot *slot)
{
	HyQueueDevice *device = &queue->device[slot->device];

	if (slot->state == SLOT_FREE)
		return;
	if (slot->state == SLOT_GRANTED)
	{
		device->in_flight--;
		device->bulk_in_flight -= !slot->small;
	}
	device->work_ns -= slot->ns;
	device->tasks--;
	device->unknown -= slot->ns <= 0;
	/* after the last task has left, the sum may differ from 0 by a rounding error */
	if (device->work_ns < 1)
		device->work_ns = 0;
	slot->state = SLOT_FREE;
}

/*
 * recent: return whether an arrival at time `at` (0: never) was so recent that another one is
 * expected.  `at` may be slightly later than `now`, because another process may have set it.
 */
static bool
recent(uint64_t at, uint64_t now)
{
	return at != 0 && (now < at || now - at < HY_QUEUE_RECENT_NS);
}

/*
 * number_of: return the queue's number for the client's device.  If there are more than
 * HY_MAX_DEVICES numbers, several devices share one.
 */
static int32_t
number_of(const HyQueueClient *client, int32_t device)
{
	return (client->numbers != NULL ? client->numbers[device] : device) % HY_MAX_DEVICES;
}
