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

/* client: ask for a slot, use it and leave it, again and again. */
static void *
client(void *arg)
{
	HyQueueClient queue_client = {.queue = &queue, .lock = {take, give, NULL}, .id = *(int *) arg};
	int i;

	for (i = 0; i < ROUNDS; i++)
	{
		int32_t slot = hy_queue_ask(&queue_client, 1, 1000, true, hy_monotonic_clock.now(NULL));
		int now;

		while (!hy_queue_granted(&queue_client, slot, DEPTH, hy_monotonic_clock.now(NULL)))
			sched_yield();
		now = __atomic_add_fetch(&in_flight, 1, __ATOMIC_SEQ_CST);
		if (now > __atomic_load_n(&most, __ATOMIC_SEQ_CST))
			__atomic_store_n(&most, now, __ATOMIC_SEQ_CST);
		__atomic_sub_fetch(&in_flight, 1, __ATOMIC_SEQ_CST);
		hy_queue_leave(&queue_client, slot);
	}
	return NULL;
}

/* Under the thread sanitizer this shows that the queue is read and written under its lock only. */
static void
test_a_grant_is_read_under_the_lock(void)
{
	HyQueueClient queue_client = {.queue = &queue, .lock = {take, give, NULL}, .id = CLIENTS + 1};
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
	CHECK_INT(hy_queue_load(&queue_client, 1).tasks, 0);
}

int
main(void)
{
	UNIT_RUN(test_a_grant_is_read_under_the_lock);
	return unit_finish();
}
