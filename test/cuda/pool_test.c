/*
 * pool_test.c
 *		Takes and returns blocks of the pool in random order.  The bound of pool.h must hold, and no
 *		block may be lost or used twice.
 */
#include "unit.h"

#include "cuda/pool.h"

#define USERS 64

static UnitRandom randomness = {23};

/* check_sums: compare the sums of the pool with its list. */
static void
check_sums(const HyCudaPool *pool)
{
	uint64_t held = 0;
	uint64_t taken = 0;
	uint64_t payload = 0;
	const HyCudaBlock *block;

	for (block = pool->blocks; block != NULL; block = block->next)
	{
		held += block->bytes;
		taken += block->payload > 0 ? block->bytes : 0;
		payload += block->payload;
		CHECK(block->payload <= block->bytes);
		CHECK(!block->unclean || block->payload == 0);
	}
	CHECK_INT(pool->held, held);
	CHECK_INT(pool->taken, taken);
	CHECK_INT(pool->payload, payload);
	/* blocks in use alone keep the bound */
	CHECK(2 * (taken - payload) < payload || payload == 0);
}

static void
trim(HyCudaPool *pool)
{
	HyCudaBlock *block;

	while (hy_cuda_pool_wasteful(pool) && (block = hy_cuda_pool_oldest(pool)) != NULL)
	{
		CHECK(block->payload == 0 && !block->unclean);
		hy_cuda_pool_remove(pool, block);
		free(block);
	}
}

static HyCudaBlock *
take(HyCudaPool *pool, uint64_t bytes, bool *reused)
{
	HyCudaBlock *block = hy_cuda_pool_take(pool, bytes);

	*reused = block != NULL;
	if (block == NULL)
	{
		block = calloc(1, sizeof(*block));
		block->bytes = bytes;
		hy_cuda_pool_add(pool, block);
	}
	return block;
}

static uint64_t
some_bytes(void)
{
	return 1 + unit_random_below(&randomness, UINT64_C(1) << unit_random_below(&randomness, 40));
}

static void
random_sequences_keep_the_bound(void)
{
	int sequence;

	for (sequence = 0; sequence < 200; sequence++)
	{
		HyCudaPool pool = {0};
		HyCudaBlock *users[USERS] = {0};
		uint64_t asked[USERS] = {0};
		/* a few recurring sizes, like those of graphs and groups of queries, or arbitrary sizes */
		uint64_t sizes[4];
		int reuses = 0;
		int step;
		int i;

		for (i = 0; i < 4; i++)
			sizes[i] = some_bytes();
		for (step = 0; step < 1000; step++)
		{
			int who = (int) unit_random_below(&randomness, USERS);
			bool reused;

			if (users[who] != NULL)
			{
				hy_cuda_pool_give(&pool, users[who], unit_random_below(&randomness, 50) > 0);
				users[who] = NULL;
			}
			else
			{
				asked[who] = sequence % 2 ? sizes[unit_random_below(&randomness, 4)] : some_bytes();
				users[who] = take(&pool, asked[who], &reused);
				reuses += reused;
				CHECK(users[who]->bytes >= asked[who]);
				CHECK_INT(users[who]->payload, asked[who]);
				for (i = 0; i < USERS; i++)
					CHECK(i == who || users[i] != users[who]);
				trim(&pool);
				CHECK(2 * (pool.held - pool.payload) < pool.payload ||
				      hy_cuda_pool_oldest(&pool) == NULL);
			}
			for (i = 0; i < USERS; i++)
				CHECK(users[i] == NULL || users[i]->payload == asked[i]);
			check_sums(&pool);
			if (unit_failed_checks > 0)
				break;
		}
		CHECK(sequence % 2 == 0 || reuses > 0);
		while (pool.blocks != NULL)
		{
			HyCudaBlock *block = pool.blocks;

			hy_cuda_pool_remove(&pool, block);
			free(block);
			check_sums(&pool);
		}
		CHECK_INT(pool.held, 0);
	}
}

static void
the_best_that_is_not_too_large(void)
{
	HyCudaPool pool = {0};
	HyCudaBlock block[4] = {{.bytes = 1000}, {.bytes = 150}, {.bytes = 149}, {.bytes = 120}};
	int i;

	for (i = 0; i < 4; i++)
		hy_cuda_pool_add(&pool, &block[i]);
	CHECK(hy_cuda_pool_take(&pool, 100) == NULL);
	for (i = 0; i < 4; i++)
		hy_cuda_pool_give(&pool, &block[i], true);
	CHECK(hy_cuda_pool_take(&pool, 100) == &block[3]);
	CHECK(hy_cuda_pool_take(&pool, 100) == &block[2]);
	/* a block of 150 would exceed the request by half */
	CHECK(hy_cuda_pool_take(&pool, 100) == NULL);
	CHECK(hy_cuda_pool_take(&pool, 101) == &block[1]);
	CHECK(hy_cuda_pool_take(&pool, 1001) == NULL);
	CHECK(hy_cuda_pool_take(&pool, 1000) == &block[0]);
	hy_cuda_pool_give(&pool, &block[2], true);
	hy_cuda_pool_give(&pool, &block[3], true);
	CHECK(hy_cuda_pool_oldest(&pool) == &block[2]);
	check_sums(&pool);
	/* a block that could not be zeroed is not given to any user */
	hy_cuda_pool_give(&pool, &block[0], false);
	CHECK(hy_cuda_pool_take(&pool, 1000) == NULL);
	CHECK(hy_cuda_pool_oldest(&pool) == &block[2]);
	block[0].unclean = false;
	CHECK(hy_cuda_pool_take(&pool, 1000) == &block[0]);
	/* a block in use may be removed, too, when its device is closed */
	hy_cuda_pool_remove(&pool, &block[0]);
	CHECK_INT(pool.held, 150 + 149 + 120);
	check_sums(&pool);
}

static void
tasks_that_take_nothing_are_patient(void)
{
	HyCudaPool pool = {0};
	HyCudaBlock block[2] = {{.bytes = 1000}, {.bytes = 10}};
	int i;

	/* an empty pool has nothing to release */
	for (i = 0; i < 1000; i++)
		CHECK(!hy_cuda_pool_task(&pool, false));
	hy_cuda_pool_add(&pool, &block[0]);
	CHECK(!hy_cuda_pool_task(&pool, true));
	hy_cuda_pool_give(&pool, &block[0], true);
	for (i = 0; i < 63; i++)
		CHECK(!hy_cuda_pool_task(&pool, false));
	CHECK(hy_cuda_pool_take(&pool, 1000) == &block[0]);
	CHECK(!hy_cuda_pool_task(&pool, true));
	hy_cuda_pool_give(&pool, &block[0], true);
	for (i = 0; i < 63; i++)
		CHECK(!hy_cuda_pool_task(&pool, false));
	CHECK(hy_cuda_pool_task(&pool, false));
	/* after a task that takes little, the pool does not keep much */
	hy_cuda_pool_add(&pool, &block[1]);
	CHECK(hy_cuda_pool_task(&pool, true));
	CHECK(hy_cuda_pool_oldest(&pool) == &block[0]);
	hy_cuda_pool_remove(&pool, &block[0]);
	CHECK(!hy_cuda_pool_wasteful(&pool));
}

int
main(void)
{
	UNIT_RUN(random_sequences_keep_the_bound);
	UNIT_RUN(the_best_that_is_not_too_large);
	UNIT_RUN(tasks_that_take_nothing_are_patient);
	return unit_finish();
}
