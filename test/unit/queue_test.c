/*
 * queue_test.c
 *		Whose turn it is: by sort, by role, by order; and nine clients of one device in simulated
 *		time.
 */
#include "dispatch/run/bulk.h"
#include "dispatch_stage.h"

static HyQueue queue;
static int locked;
static int locks;

static void
take_lock(void *arg)
{
	(void) arg;
	CHECK_INT(locked, 0);
	locked = 1;
	locks++;
}

static void
drop_lock(void *arg)
{
	(void) arg;
	CHECK_INT(locked, 1);
	locked = 0;
}

static HyQueueClient
client_of(int32_t id, int32_t role)
{
	return (HyQueueClient){&queue, {take_lock, drop_lock, NULL}, id, role, NULL, NULL};
}

static void
test_slots_and_turns(void)
{
	HyQueueClient a = client_of(1, 10);
	HyQueueClient a2 = client_of(2, 10);
	HyQueueClient b = client_of(3, 20);
	int32_t p[6];

	hy_queue_init(&queue);
	p[0] = hy_queue_ask(&a, 1, 5e6, false, 100);
	p[1] = hy_queue_ask(&a, 1, 5e6, false, 100);
	p[2] = hy_queue_ask(&a2, 1, 5e6, false, 100);
	p[3] = hy_queue_ask(&b, 1, 5e6, false, 100);
	p[4] = hy_queue_ask(&b, 1, 5e6, false, 100);
	p[5] = hy_queue_ask(&b, 2, 5e6, false, 100); /* another device */
	CHECK_NEAR(hy_queue_load(&a, 1).ns, 25e6, 1);
	CHECK(hy_queue_granted(&a, p[0], 2, 100));
	/* the other role's turn, although it came later */
	CHECK(!hy_queue_granted(&a, p[1], 2, 100));
	CHECK(hy_queue_granted(&b, p[3], 2, 100));
	CHECK(!hy_queue_granted(&b, p[4], 2, 100));
	CHECK(hy_queue_granted(&b, p[5], 2, 100));
	hy_queue_leave(&a, p[0]);
	/* b was served later on device 2 as well, so it is a's turn, in the order of asking */
	CHECK(!hy_queue_granted(&b, p[4], 2, 100));
	CHECK(hy_queue_granted(&a, p[1], 2, 100));
	CHECK(!hy_queue_granted(&a2, p[2], 2, 100));
	hy_queue_leave(&a, p[1]);
	CHECK(hy_queue_granted(&b, p[4], 2, 100));
	hy_queue_leave(&b, p[3]);
	CHECK(hy_queue_granted(&a2, p[2], 2, 100));
	hy_queue_leave(&a2, p[2]);
	hy_queue_leave(&b, p[4]);
	hy_queue_leave(&b, p[5]);
	hy_queue_leave(&b, -1);
	CHECK(hy_queue_load(&a, 1).ns == 0 && hy_queue_load(&a, 2).ns == 0);
	CHECK(locks > 20 && !locked);
}

static void
test_small_calls_first(void)
{
	HyQueueClient bulk = client_of(1, 10);
	HyQueueClient small = client_of(2, 20);
	int32_t b[4];
	int32_t s[4];
	int i;

	hy_queue_init(&queue);
	CHECK(hy_queue_quantum(&bulk, 1, 100) == 0);
	for (i = 0; i < 4; i++)
		b[i] = hy_queue_ask(&bulk, 1, 5e6, false, 100);
	CHECK(hy_queue_granted(&bulk, b[0], 2, 100));
	CHECK(hy_queue_granted(&bulk, b[1], 2, 100)); /* nobody else: both slots */
	CHECK(hy_queue_quantum(&bulk, 1, 100) == 0);
	for (i = 0; i < 4; i++)
		s[i] = hy_queue_ask(&small, 1, 1e5, true, 100);
	CHECK_NEAR(hy_queue_quantum(&bulk, 1, 100), 2e5, 1);
	CHECK(!hy_queue_granted(&small, s[0], 2, 100));
	hy_queue_leave(&bulk, b[0]);
	CHECK(!hy_queue_granted(&bulk, b[2], 2, 100));
	CHECK(hy_queue_granted(&small, s[0], 2, 100));
	hy_queue_leave(&bulk, b[1]);
	/* one of two slots is kept free for small calls, and bulk gets every other grant */
	CHECK(!hy_queue_granted(&small, s[1], 2, 100));
	CHECK(hy_queue_granted(&bulk, b[2], 2, 100));
	hy_queue_leave(&small, s[0]);
	CHECK(!hy_queue_granted(&bulk, b[3], 2, 100));
	CHECK(hy_queue_granted(&small, s[1], 2, 100));
	hy_queue_leave(&small, s[1]);
	CHECK(hy_queue_granted(&small, s[2], 2, 100)); /* nothing of bulk could go: no turn is taken */
	hy_queue_leave(&bulk, b[2]);
	CHECK(hy_queue_granted(&bulk, b[3], 2, 100));
	/* with one slot they take turns */
	hy_queue_forget(&bulk, 1);
	hy_queue_forget(&small, 2);
	CHECK(hy_queue_load(&bulk, 1).ns == 0);
	for (i = 0; i < 4; i++)
	{
		b[i] = hy_queue_ask(&bulk, 1, 5e6, false, 100);
		s[i] = hy_queue_ask(&small, 1, 1e5, true, 100);
	}
	for (i = 0; i < 3; i++)
	{
		CHECK(hy_queue_granted(&small, s[i], 1, 100));
		CHECK(!hy_queue_granted(&bulk, b[i], 1, 100));
		hy_queue_leave(&small, s[i]);
		CHECK(!hy_queue_granted(&small, s[i + 1], 1, 100));
		CHECK(hy_queue_granted(&bulk, b[i], 1, 100));
		hy_queue_leave(&bulk, b[i]);
	}
	/* long after the last of them bulk has all slots again, in long pieces */
	hy_queue_forget(&small, 2);
	hy_queue_forget(&bulk, 1);
	CHECK(hy_queue_quantum(&bulk, 1, 100 + 2 * HY_QUEUE_RECENT_NS) == 0);
	b[0] = hy_queue_ask(&bulk, 1, 5e6, false, 300000000);
	b[1] = hy_queue_ask(&bulk, 1, 5e6, false, 300000000);
	CHECK(hy_queue_granted(&bulk, b[0], 2, 300000000));
	CHECK(hy_queue_granted(&bulk, b[1], 2, 300000000));
}

static void
test_who_sleeps_keeps_nobody_waiting(void)
{
	HyQueueClient a = client_of(1, 10);
	HyQueueClient b = client_of(2, 20);
	int32_t p[3];

	hy_queue_init(&queue);
	p[0] = hy_queue_ask(&a, 1, 1, false, 100);
	p[1] = hy_queue_ask(&b, 1, 1, false, 200);
	CHECK(!hy_queue_granted(&b, p[1], 1, 300)); /* granted to a */
	hy_queue_leave(&a, p[0]);
	p[0] = hy_queue_ask(&a, 1, 1, false, 400);
	CHECK(hy_queue_granted(&b, p[1], 1, 300));
	hy_queue_leave(&b, p[1]);
	p[1] = hy_queue_ask(&b, 1, 1, false, 500);
	/* it is a's turn, but a has not looked for so long that it will not */
	CHECK(hy_queue_granted(&b, p[1], 1, 500 + HY_QUEUE_ASK_TIMEOUT_NS));
	hy_queue_leave(&b, p[1]);
	CHECK(hy_queue_granted(&a, p[0], 1, 600 + HY_QUEUE_ASK_TIMEOUT_NS));
	/* and one that died while it had a slot */
	p[1] = hy_queue_ask(&b, 1, 1, false, 700 + HY_QUEUE_ASK_TIMEOUT_NS);
	CHECK(!hy_queue_granted(&b, p[1], 1, 700 + HY_QUEUE_ASK_TIMEOUT_NS));
	hy_queue_forget(&b, 1);
	CHECK(hy_queue_granted(&b, p[1], 1, 700 + HY_QUEUE_ASK_TIMEOUT_NS));
}

static void
test_full(void)
{
	HyQueueClient a = client_of(1, 10);
	int i;

	hy_queue_init(&queue);
	for (i = 0; i < HY_QUEUE_SLOTS; i++)
		CHECK(hy_queue_ask(&a, i % HY_MAX_DEVICES, 1, false, 100) >= 0);
	CHECK_INT(hy_queue_ask(&a, 1, 1, false, 100), -1);
	hy_queue_leave(&a, 77);
	CHECK_INT(hy_queue_ask(&a, 1, 1, false, 100), 77);
	hy_queue_forget(&a, 1);
	for (i = 0; i < HY_MAX_DEVICES; i++)
		CHECK(hy_queue_load(&a, i).ns == 0 && queue.device[i].in_flight == 0);
	/* more roles than are remembered: each still gets its turn */
	for (i = 0; i < 3 * HY_QUEUE_ROLES; i++)
	{
		HyQueueClient one = client_of(i + 1, i);
		int32_t slot = hy_queue_ask(&one, 1, 1, false, 100);

		CHECK(hy_queue_granted(&one, slot, 1, 100));
		hy_queue_leave(&one, slot);
	}
}

/* Whatever clients do, there are never more in flight than slots, and the counts are right. */
static void
test_random_clients(void)
{
	UnitRandom random = {31};
	int32_t held[20];
	bool granted[20];
	uint64_t now = 1000;
	int round;
	int i;

	hy_queue_init(&queue);
	for (i = 0; i < 20; i++)
	{
		held[i] = -1;
		granted[i] = false;
	}
	for (round = 0; round < 20000; round++)
	{
		HyQueueClient queue_client;
		int in_flight = 0;
		int c = (int) unit_random_below(&random, 20);

		queue_client = client_of(c + 1, c % 5);
		now += unit_random_below(&random, 1000000);
		if (held[c] < 0)
			held[c] = hy_queue_ask(&queue_client, 3, (double) unit_random_below(&random, 3000000),
			                       unit_random_below(&random, 2) != 0, now);
		else if (granted[c] || unit_random_below(&random, 10) == 0)
		{
			hy_queue_leave(&queue_client, held[c]);
			held[c] = -1;
			granted[c] = false;
		}
		else
			granted[c] = hy_queue_granted(&queue_client, held[c], 3, now);
		for (i = 0; i < 20; i++)
			in_flight += granted[i];
		CHECK(in_flight <= queue.device[3].in_flight && queue.device[3].in_flight <= 3);
	}
	CHECK(queue.role[0].used);
}

/* Client: an executor of its own that runs one job after another on the one device. */
typedef struct Client
{
	HyExecutor *executor;
	HyTask task;
	double *out;
	HyBulk *job;
	uint64_t since;
	int done;
} Client;

#define CLIENTS 9
#define CALLS 120

static Client clients[CLIENTS];
static double latencies[CALLS];

static void
client_begin(Client *client, int number, int64_t rows, bool queued, int32_t role)
{
	HyQueueClient queue_client = client_of(number + 1, role);

	CHECK_INT(hy_executor_create(&hy_malloc_allocator, &stage.clock.clock, NULL, &client->executor),
	          HY_OK);
	CHECK_INT(hy_executor_add_backend(client->executor, &stage_backend), HY_OK);
	hy_executor_configure(client->executor, &stage.config);
	if (queued)
		hy_executor_use_queue(client->executor, &queue_client);
	stage_teach(client->executor, 1);
	client->task = stage_task(40000);
	client->task.cancel = NULL;
	client->task.u.distance.targets.rows = rows;
	client->out = malloc((size_t) rows * sizeof(double));
	client->task.u.distance.out = client->out;
	client->job = NULL;
	client->done = 0;
}

/*
 * client_step: advance as far as possible.  Returns the ns until the next event that the client
 * waits for.
 */
static uint64_t
client_step(Client *client, bool *progress)
{
	HyBulkPlan plan = {2, false, true, -1};
	uint64_t wait_ns;
	bool may_skip;

	for (;;)
	{
		if (client->job == NULL)
		{
			client->since = stage.clock.time;
			CHECK_INT(hy_bulk_begin(client->executor, &client->task, &plan, &client->job), HY_OK);
		}
		if (hy_bulk_step(client->job, &wait_ns, &may_skip))
		{
			CHECK_INT(hy_bulk_report(client->job)->status, HY_OK);
			if (client == &clients[0] && client->done < CALLS)
				latencies[client->done] = (double) (stage.clock.time - client->since);
			client->done++;
			hy_bulk_end(client->job);
			client->job = NULL;
			*progress = true;
			continue;
		}
		if (wait_ns > 0)
			return may_skip ? wait_ns : UINT64_MAX;
		*progress = true;
	}
}

static int
ascending(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return (x > y) - (x < y);
}

/*
 * run_clients: return the p99 of small calls beside this many bulk clients; *rows_ns is their
 * throughput.
 */
static double
run_clients(int bulk_clients, bool queued, bool one_role, double *rows_ns)
{
	uint64_t start;
	int64_t rows = 0;
	int c;

	stage_begin(1);
	stage.virtual_time = true;
	stage.device_item_ns = 100;
	stage.free_bytes = UINT64_C(1) << 50;
	hy_queue_init(&queue);
	client_begin(&clients[0], 0, 1000, queued, 1); /* 120 us each */
	for (c = 1; c <= bulk_clients; c++)
		client_begin(&clients[c], c, 40000, queued, one_role ? 2 : 1 + c); /* 4 ms each */
	start = stage.clock.time;
	while (clients[0].done < CALLS)
	{
		uint64_t next = UINT64_MAX;
		bool progress = false;

		for (c = 0; c <= bulk_clients; c++)
		{
			uint64_t ns = client_step(&clients[c], &progress);

			if (ns < next)
				next = ns;
		}
		/* who did something may have made room for one that was asked before */
		if (!progress)
			stage.clock.time += next != UINT64_MAX ? next : HY_QUEUE_LOOK_NS;
	}
	for (c = 0; c <= bulk_clients; c++)
	{
		if (c > 0)
		{
			rows += clients[c].done * clients[c].task.u.distance.targets.rows;
			if (clients[c].job != NULL)
				rows += hy_bulk_report(clients[c].job)->rows[1];
		}
		hy_bulk_end(clients[c].job);
		hy_executor_destroy(clients[c].executor);
		free(clients[c].out);
	}
	*rows_ns = (double) rows / (double) (stage.clock.time - start);
	for (c = 0; c < HY_QUEUE_SLOTS; c++)
		CHECK_INT(queue.slot[c].state, 0);
	stage_end();
	qsort(latencies, CALLS, sizeof(double), ascending);
	return latencies[CALLS * 99 / 100];
}

static void
test_small_calls_beside_bulk(void)
{
	double ignored;
	double rows_ns;
	double alone = run_clients(0, true, false, &ignored);
	double own_roles = run_clients(8, true, false, &rows_ns);
	double one_role;
	double without;

	CHECK_MSG(own_roles <= 4 * alone, "p99 %.0f us beside bulk, %.0f us alone", own_roles / 1e3,
	          alone / 1e3);
	/* and bulk is not starved: it has the device for more than half of the time */
	CHECK_MSG(rows_ns >= 0.5 / 100, "%.2f of the device", rows_ns * 100);
	one_role = run_clients(8, true, true, &rows_ns);
	CHECK_MSG(one_role <= 4 * alone, "p99 %.0f us beside bulk of one role, %.0f us alone",
	          one_role / 1e3, alone / 1e3);
	/* that is the queue's doing */
	without = run_clients(8, false, false, &ignored);
	CHECK_MSG(without > 20 * alone, "p99 %.0f us without a queue", without / 1e3);
}

/*
 * The emulated device has set one process's clock far ahead; to it the others do not appear to be
 * dead.
 */
static void
test_clients_whose_clocks_differ(void)
{
	UnitClock common;
	UnitClock ahead;
	HyQueueClient queue_client = client_of(1, 10);
	HyExecutor *other;
	int32_t held;
	int32_t first;
	int32_t second;

	stage_begin(1);
	stage.config.queue_depth = 1;
	hy_executor_configure(stage.executor, &stage.config);
	unit_clock_init(&common, 1000);
	unit_clock_init(&ahead, stage.clock.time + 1000000000);
	CHECK_INT(hy_executor_create(&hy_malloc_allocator, &ahead.clock, NULL, &other), HY_OK);
	CHECK_INT(hy_executor_add_backend(other, &stage_backend), HY_OK);
	hy_executor_configure(other, &stage.config);
	hy_queue_init(&queue);
	held = hy_queue_ask(&queue_client, 1, 1000, false, common.time);
	CHECK(hy_queue_granted(&queue_client, held, 1, common.time));
	queue_client = client_of(2, 20);
	queue_client.clock = &common.clock;
	hy_executor_use_queue(stage.executor, &queue_client);
	queue_client = client_of(3, 30);
	queue_client.clock = &common.clock;
	hy_executor_use_queue(other, &queue_client);
	first = hy_device_ask(stage.executor, &stage.executor->member[1], 1000, false);
	second = hy_device_ask(other, &other->member[1], 1000, false);
	hy_queue_leave(&queue_client, held);
	/* whoever looks first, it is the turn of who asked first */
	CHECK(!hy_device_granted(other, second));
	CHECK(hy_device_granted(stage.executor, first));
	hy_device_leave(stage.executor, first);
	CHECK(hy_device_granted(other, second));
	hy_device_leave(other, second);
	/* and both know how long the others' pieces should be */
	first = hy_device_ask(stage.executor, &stage.executor->member[1], 1000, true);
	CHECK(hy_device_quantum(other, 1) > 0);
	CHECK(hy_device_quantum(stage.executor, 1) > 0);
	common.time += HY_QUEUE_RECENT_NS;
	CHECK(hy_device_quantum(other, 1) == 0);
	CHECK(hy_device_quantum(stage.executor, 1) == 0);
	hy_device_leave(stage.executor, first);
	hy_executor_destroy(other);
	stage_end();
}

/* Two clients that number their devices differently mean the same one. */
static void
test_numbers_of_devices(void)
{
	static const int32_t swapped[] = {0, 2, 1};
	HyQueueClient a = client_of(1, 10);
	HyQueueClient b = client_of(2, 20);
	int32_t first;
	int32_t second;

	hy_queue_init(&queue);
	b.numbers = swapped;
	first = hy_queue_ask(&a, 1, 1000, true, 1);
	CHECK(hy_queue_granted(&a, first, 1, 1));
	second = hy_queue_ask(&b, 2, 1000, true, 1);
	CHECK(!hy_queue_granted(&b, second, 1, 1));
	CHECK_NEAR(hy_queue_load(&b, 2).ns, 2000, 1e-9);
	CHECK_NEAR(hy_queue_load(&b, 1).ns, 0, 1e-9);
	hy_queue_leave(&a, first);
	CHECK(hy_queue_granted(&b, second, 1, 2));
	hy_queue_leave(&b, second);
}

/*
 * If there are more roles than are remembered, the one served longest ago counts as never served.
 */
static void
test_the_role_served_longest_ago_gives_way(void)
{
	HyQueueClient late = client_of(1, HY_QUEUE_ROLES + 1);
	HyQueueClient early = client_of(2, 3);
	int32_t slot[2];
	int32_t role;

	hy_queue_init(&queue);
	for (role = 1; role <= HY_QUEUE_ROLES + 2; role++)
	{
		HyQueueClient queue_client = client_of(3, role);

		slot[0] = hy_queue_ask(&queue_client, 1, 5e6, false, 100);
		CHECK(hy_queue_granted(&queue_client, slot[0], 1, 100));
		hy_queue_leave(&queue_client, slot[0]);
	}
	/* the two that came last have taken the slots of the first two; all others are known */
	slot[0] = hy_queue_ask(&late, 1, 5e6, false, 100);
	slot[1] = hy_queue_ask(&early, 1, 5e6, false, 100);
	CHECK(!hy_queue_granted(&late, slot[0], 1, 100));
	CHECK(hy_queue_granted(&early, slot[1], 1, 100));
	hy_queue_leave(&early, slot[1]);
	CHECK(hy_queue_granted(&late, slot[0], 1, 100));
	hy_queue_leave(&late, slot[0]);
	/* and so the last one has been served later than any other */
	late = client_of(1, HY_QUEUE_ROLES + 2);
	early = client_of(2, HY_QUEUE_ROLES);
	slot[0] = hy_queue_ask(&late, 1, 5e6, false, 100);
	slot[1] = hy_queue_ask(&early, 1, 5e6, false, 100);
	CHECK(!hy_queue_granted(&late, slot[0], 1, 100));
	CHECK(hy_queue_granted(&early, slot[1], 1, 100));
}

int
main(void)
{
	UNIT_RUN(test_numbers_of_devices);
	UNIT_RUN(test_slots_and_turns);
	UNIT_RUN(test_small_calls_first);
	UNIT_RUN(test_who_sleeps_keeps_nobody_waiting);
	UNIT_RUN(test_full);
	UNIT_RUN(test_random_clients);
	UNIT_RUN(test_clients_whose_clocks_differ);
	UNIT_RUN(test_small_calls_beside_bulk);
	UNIT_RUN(test_the_role_served_longest_ago_gives_way);
	return unit_finish();
}
