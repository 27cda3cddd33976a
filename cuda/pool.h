/*
 * pool.h
 *		Blocks of a device's memory that stay when they are given back: which is used again, which is
 *		let go.  Arithmetic and a list: CUDA is called by memory.c.
 *
 * A block serves one user at a time, with all of it, and only one who asked for more than two thirds
 * of it: so blocks in use hold less than half again of what was asked for, whatever came before, and
 * what is held beyond that is free blocks, which can go.  No block is ever pinned down by a small
 * part of it.  Every free block reads as zero, but those that could not be cleared: nobody gets one,
 * nor are they given back.
 */
#ifndef HY_CUDA_POOL_H
#define HY_CUDA_POOL_H

#include <stdbool.h>
#include <stdint.h>

typedef struct HyCudaBlock
{
	struct HyCudaBlock *next; /* in the pool: the one given back last comes first */
	char *memory;             /* the device's */
	uint64_t bytes;
	uint64_t payload; /* what was asked for; 0: free */
	bool unclean;     /* free, and clearing it failed */
} HyCudaBlock;

typedef struct HyCudaPool
{
	HyCudaBlock *blocks;
	uint64_t held;    /* bytes of all blocks */
	uint64_t taken;   /* of those in use */
	uint64_t payload; /* of those, what was asked for */
	int32_t idle;     /* tasks in a row that took nothing */
} HyCudaPool;

/* hy_cuda_pool_take: a free block for so many bytes, > 0, now in use; NULL: none will do. */
extern HyCudaBlock *hy_cuda_pool_take(HyCudaPool *pool, uint64_t bytes);

/* hy_cuda_pool_add: a block that the pool has not seen, in use by all of its bytes. */
extern void hy_cuda_pool_add(HyCudaPool *pool, HyCudaBlock *block);

/* hy_cuda_pool_give: the block is free again; clean: it reads as zero. */
extern void hy_cuda_pool_give(HyCudaPool *pool, HyCudaBlock *block, bool clean);

/* hy_cuda_pool_oldest: of the free and clean blocks the one given back longest ago, or NULL. */
extern HyCudaBlock *hy_cuda_pool_oldest(const HyCudaPool *pool);

/* hy_cuda_pool_remove: takes any block out of the pool; it is the caller's. */
extern void hy_cuda_pool_remove(HyCudaPool *pool, HyCudaBlock *block);

/* hy_cuda_pool_wasteful: whether half of the payload or more is held beyond it. */
extern bool hy_cuda_pool_wasteful(const HyCudaPool *pool);

/*
 * hy_cuda_pool_task: a task has taken what it needs, or nothing: whether blocks should go while the
 * pool is wasteful.  Those who take memory pay for what they do not use; between them, tasks that
 * take none leave it to the next.
 */
extern bool hy_cuda_pool_task(HyCudaPool *pool, bool took);

#endif
