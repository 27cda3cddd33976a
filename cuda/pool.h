/*
 * pool.h
 *		A pool of blocks of device memory.  It decides which returned blocks are reused and which
 *		are released.  Arithmetic and a list only; memory.c calls CUDA.
 *
 * A block has one user at a time, and that user requested more than two thirds of the block.  So
 * the blocks in use have less than 1.5 times the requested bytes, and a small request never
 * occupies a large block.  All other memory is in free blocks, which can be released.  A free block
 * contains zeros, unless zeroing it has failed.  Such a block is neither reused nor released until
 * zeroing succeeds or the device is closed.
 */
#ifndef HY_CUDA_POOL_H
#define HY_CUDA_POOL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct HyCudaBlock
{
	/* next block of the pool; the block that was added or returned last comes first */
	struct HyCudaBlock *next;
	char *memory; /* device address */
	uint64_t bytes;
	uint64_t payload; /* bytes that the user requested; 0: the block is free */
	bool unclean;     /* the block is free, but zeroing it has failed */
} HyCudaBlock;

typedef struct HyCudaPool
{
	HyCudaBlock *blocks;
	uint64_t held;    /* bytes of all blocks */
	uint64_t taken;   /* bytes of the blocks in use */
	uint64_t payload; /* requested bytes of the blocks in use */
	int32_t idle;     /* consecutive tasks that took no memory */
} HyCudaPool;

/*
 * hy_cuda_pool_take: mark a free block that fits a request of this many bytes (> 0) as in use, and
 * return it.  Returns NULL if no block fits.
 */
extern HyCudaBlock *hy_cuda_pool_take(HyCudaPool *pool, uint64_t bytes);

/* hy_cuda_pool_add: add a new block.  The block is in use, and all of its bytes are payload. */
extern void hy_cuda_pool_add(HyCudaPool *pool, HyCudaBlock *block);

/*
 * hy_cuda_pool_give: mark the block as free. `clean` tells whether the block contains only zeros.
 */
extern void hy_cuda_pool_give(HyCudaPool *pool, HyCudaBlock *block, bool clean);

/* hy_cuda_pool_oldest: return the free, clean block that was returned longest ago, or NULL. */
extern HyCudaBlock *hy_cuda_pool_oldest(const HyCudaPool *pool);

/* hy_cuda_pool_remove: remove any block from the pool.  The caller then owns it. */
extern void hy_cuda_pool_remove(HyCudaPool *pool, HyCudaBlock *block);

/*
 * hy_cuda_pool_wasteful: return whether the pool's memory exceeds the payload by half of the
 * payload or more.
 */
extern bool hy_cuda_pool_wasteful(const HyCudaPool *pool);

/*
 * hy_cuda_pool_task: record that a task has started, and whether it took memory from the pool.
 * Returns whether the caller should release blocks now (hy_cuda_trim).  After a task that took
 * memory, this is the case if the pool is wasteful.  After a task that took none, blocks are kept
 * for some more tasks, because the next task may need them.
 */
extern bool hy_cuda_pool_task(HyCudaPool *pool, bool took);

#endif
