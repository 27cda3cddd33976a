/*
 * pool.c
 *		Decides which returned block is reused and which is released.
 */
#include "cuda/pool.h"

#include <stddef.h>

/* A wasteful pool is trimmed after this many consecutive tasks that took no memory. */
#define IDLE_TASKS 64

static void unlink_block(HyCudaPool *pool, HyCudaBlock *block);

/* wasted: return whether `bytes` exceeds the payload by half of the payload or more. */
static inline bool
wasted(uint64_t bytes, uint64_t payload)
{
	return bytes - payload >= payload - payload / 2;
}

HyCudaBlock *
hy_cuda_pool_take(HyCudaPool *pool, uint64_t bytes)
{
	HyCudaBlock *found = NULL;
	HyCudaBlock *block;

	for (block = pool->blocks; block != NULL; block = block->next)
	{
		if (block->payload == 0 && !block->unclean && block->bytes >= bytes &&
		    (block->bytes == bytes || !wasted(block->bytes, bytes)) &&
		    (found == NULL || block->bytes < found->bytes))
			found = block;
	}
	if (found == NULL)
		return NULL;
	found->payload = bytes;
	pool->taken += found->bytes;
	pool->payload += bytes;
	return found;
}

void
hy_cuda_pool_add(HyCudaPool *pool, HyCudaBlock *block)
{
	block->next = pool->blocks;
	pool->blocks = block;
	block->payload = block->bytes;
	block->unclean = false;
	pool->held += block->bytes;
	pool->taken += block->bytes;
	pool->payload += block->bytes;
}

void
hy_cuda_pool_give(HyCudaPool *pool, HyCudaBlock *block, bool clean)
{
	pool->taken -= block->bytes;
	pool->payload -= block->payload;
	block->payload = 0;
	block->unclean = !clean;
	unlink_block(pool, block);
	block->next = pool->blocks;
	pool->blocks = block;
}

HyCudaBlock *
hy_cuda_pool_oldest(const HyCudaPool *pool)
{
	HyCudaBlock *oldest = NULL;
	HyCudaBlock *block;

	for (block = pool->blocks; block != NULL; block = block->next)
	{
		if (block->payload == 0 && !block->unclean)
			oldest = block;
	}
	return oldest;
}

void
hy_cuda_pool_remove(HyCudaPool *pool, HyCudaBlock *block)
{
	if (block->payload != 0)
		hy_cuda_pool_give(pool, block, true);
	unlink_block(pool, block);
	pool->held -= block->bytes;
}

bool
hy_cuda_pool_wasteful(const HyCudaPool *pool)
{
	return pool->held > pool->payload && wasted(pool->held, pool->payload);
}

bool
hy_cuda_pool_task(HyCudaPool *pool, bool took)
{
	if (pool->held == 0)
		return false;
	pool->idle = took ? 0 : pool->idle + 1;
	if (!took && pool->idle < IDLE_TASKS)
		return false;
	pool->idle = 0;
	return hy_cuda_pool_wasteful(pool);
}

static void
unlink_block(HyCudaPool *pool, HyCudaBlock *block)
{
	HyCudaBlock **at = &pool->blocks;

	while (*at != block)
		at = &(*at)->next;
	*at = block->next;
}
