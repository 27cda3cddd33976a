/*
 * pool.h
 *		A pool of blocks of device memory: which returned block is reused and which is released.
 *		Arithmetic and a list only; memory.c calls CUDA.
 *
 * A block has one user at a time, who asked for more than two thirds of it.  So blocks in use hold
 * less than 1.5 times what was asked for, and no block is ever held for a small part of it.  All
 * other memory is in free blocks, which can be released.  Every free block reads as zero, except
 * those that could not be zeroed.  Such a block is neither given out nor released.
 */
#ifndef HY_CUDA_POOL_H
#define HY_CUDA_POOL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct HyCudaBlock
{
	struct HyCudaBlock *next; /* in the pool's list, which begins with the block returned last */
	char *memory;             /* on the device */
	uint64_t bytes;
	uint64_t payload; /* bytes asked for; 0: free */
	bool unclean;     /* free, and zeroing it failed */
} HyCudaBlock;

typedef struct HyCudaPool
{
	HyCudaBlock *blocks;
	uint64_t held;    /* bytes of all blocks */
	uint64_t taken;   /* bytes of the blocks in use */
	uint64_t payload; /* bytes asked for, of the blocks in use */
	int32_t idle;     /* consecutive tasks that took nothing */
} HyCudaPool;

/*
 * hy_cuda_pool_take: mark a free block for this many bytes (> 0) as in use and return it.  Returns
 * NULL if no block fits.
 */
extern HyCudaBlock *hy_cuda_pool_take(HyCudaPool *pool, uint64_t bytes);

/* hy_cuda_pool_add: add a new block, all of whose bytes are in use. */
extern void hy_cuda_pool_add(HyCudaPool *pool, HyCudaBlock *block);

/* hy_cuda_pool_give: mark the block as free. clean: it reads as zero. */
extern void hy_cuda_pool_give(HyCudaPool *pool, HyCudaBlock *block, bool clean);

/* hy_cuda_pool_oldest: return the free, clean block that was returned longest ago, or NULL. */
extern HyCudaBlock *hy_cuda_pool_oldest(const HyCudaPool *pool);

/* hy_cuda_pool_remove: take any block out of the pool; the caller owns it. */
extern void hy_cuda_pool_remove(HyCudaPool *pool, HyCudaBlock *block);

/*
 * hy_cuda_pool_wasteful: return whether the memory beyond the payload is half of the payload or
 * more.
 */
extern bool hy_cuda_pool_wasteful(const HyCudaPool *pool);

/*
 * hy_cuda_pool_task: note that a task has taken its memory, or that it needed none.  Returns
 * whether the caller should release blocks while the pool is wasteful.  A task that takes memory
 * triggers this at once.  Tasks that take none leave the free blocks to the next task for a while.
 */
extern bool hy_cuda_pool_task(HyCudaPool *pool, bool took);

#endif
