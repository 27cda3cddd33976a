/*
 * shared_queue_test.c
 *		The queue for a device while several threads use it.
 */
#include "dispatch/share/queue.h"

#include <pthread.h>
#include <sched.h>

#include "unit.h"

#define CLIENTS 3
#define ROUNDS 2000
#define DEPTH 2

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static HyQueue queue;
static int in_flight;
static int most;

static void
take(void *arg)
{
	(void) arg;
	pthread_mutex_lock(&mutex);
}

static void
give(void *arg)
{
	(void) arg;
	pthread_mutex_unlock(&mutex);
}

/* client: ask for a place, use it and leave it, again and again. */
static void *
client(void *arg)
{
	HyQueueSeat seat = {.queue = &queue, .lock = {take, give, NULL}, .client = *(int *) arg};
	int i;

	for (i = 0; i < ROUNDS; i++)
	{
		int32_t place = hy_queue_ask(&seat, 1, 1000, true, hy_monotonic_clock.now(NULL));
		int now;

		while (!hy_queue_granted(&seat, place, DEPTH, hy_monotonic_clock.now(NULL)))
			sched_yield();
		now = __atomic_add_fetch(&in_flight, 1, __ATOMIC_SEQ_CST);
		if (now > __atomic_load_n(&most, __ATOMIC_SEQ_CST))
			__atomic_store_n(&most, now, __ATOMIC_SEQ_CST);
		__atomic_sub_fetch(&in_flight, 1, __ATOMIC_SEQ_CST);
		hy_queue_leave(&seat, place);
	}
	return NULL;
}

/* Under the thread sanitizer this shows that the queue is read and written under its lock only. */
static void
test_a_grant_is_read_under_the_lock(void)
{
	HyQueueSeat seat = {.queue = &queue, .lock = {take, give, NULL}, .client = CLIENTS + 1};
	pthread_t threads[CLIENTS];
	int number[CLIENTS];
	int i;

	hy_queue_init(&queue);
	for (i = 0; i < CLIENTS; i++)
	{
		number[i] = i + 1;
		pthread_create(&threads[i], NULL, client, &number[i]);
	}
	for (i = 0; i < CLIENTS; i++)
		pthread_join(threads[i], NULL);
	CHECK(most >= 1 && most <= DEPTH);
	CHECK_INT(hy_queue_load(&seat, 1).tasks, 0);
}

int
main(void)
{
	UNIT_RUN(test_a_grant_is_read_under_the_lock);
	return unit_finish();
}
