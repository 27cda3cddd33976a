/*
 * pool.h
 *		A pool of blocks of device memory.  It decides which returned block is reused and which
 *		is released.  Arithmetic and a list only; memory.c calls CUDA.
 *
 * A block has one user at a time, and that user requested more than two thirds of the block.  So
 * the blocks in use have less than 1.5 times the requested bytes, and a small request never
 * occupies a large block.  All other memory is in free blocks, which can be released.  A free block
 * reads as zero.  If a block could not be zeroed, it is neither reused nor released.
 */
#ifndef HY_CUDA_POOL_H
#define HY_CUDA_POOL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct HyCudaBlock
{
	struct HyCudaBlock *next; /* list of the pool, which begins with the block returned last */
	char *memory;             /* device address */
	uint64_t bytes;
	uint64_t payload; /* requested bytes; 0: free */
	bool unclean;     /* free, but zeroing it has failed */
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
 * hy_cuda_pool_take: mark a free block for this many bytes (> 0) as in use and return it.  Returns
 * NULL if no block fits.
 */
extern HyCudaBlock *hy_cuda_pool_take(HyCudaPool *pool, uint64_t bytes);

/* hy_cuda_pool_add: add a new block, which is in use with all of its bytes. */
extern void hy_cuda_pool_add(HyCudaPool *pool, HyCudaBlock *block);

/* hy_cuda_pool_give: mark the block as free.  'clean' means that it reads as zero. */
extern void hy_cuda_pool_give(HyCudaPool *pool, HyCudaBlock *block, bool clean);

/* hy_cuda_pool_oldest: return the free, clean block that was returned longest ago, or NULL. */
extern HyCudaBlock *hy_cuda_pool_oldest(const HyCudaPool *pool);

/* hy_cuda_pool_remove: remove any block from the pool.  The caller then owns it. */
extern void hy_cuda_pool_remove(HyCudaPool *pool, HyCudaBlock *block);

/*
 * hy_cuda_pool_wasteful: return whether the pool's memory in excess of the payload is half of the
 * payload or more.
 */
extern bool hy_cuda_pool_wasteful(const HyCudaPool *pool);

/*
 * hy_cuda_pool_task: record that a task has taken its memory, or that it needed none.  Returns
 * whether the caller should release blocks while the pool is wasteful.  A task that took memory may
 * cause a release immediately.  After tasks that took no memory, the free blocks are kept for a
 * while, because the next tasks may need them.
 */
extern bool hy_cuda_pool_task(HyCudaPool *pool, bool took);

#endif
