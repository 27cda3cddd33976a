/*
 * copy.h
 *		Copies many rows in host memory, on several threads if the host lends them.
 *
 * On the host of an H200, three threads pack rows for the device at 22 GB/s.  One thread without
 * streaming stores reaches 7.9 GB/s.  The bus carries 54 GB/s.
 */
#ifndef HY_CUDA_COPY_H
#define HY_CUDA_COPY_H

#include "dispatch/backend.h"

typedef enum HyCudaCopyKind
{
	HY_CUDA_COPY_UP = 0, /* to pinned memory, which the device reads next */
	HY_CUDA_COPY_DOWN,   /* to the task's memory, which the host reads next */
	HY_CUDA_COPY_HOPS    /* like DOWN, for rows of uint32_t; subtracts 1 from each number */
} HyCudaCopyKind;

/* HyCudaCopy: rows that are copied from one array to another.  The arrays do not overlap. */
typedef struct HyCudaCopy
{
	HyCudaCopyKind kind;
	const char *from;
	size_t from_stride; /* bytes from the start of a row to the start of the next */
	char *to;
	size_t to_stride;
	size_t bytes; /* of a row */
	int64_t rows;
} HyCudaCopy;

/* hy_cuda_copy_of: describe the copy of an array without gaps. */
static inline HyCudaCopy
hy_cuda_copy_of(HyCudaCopyKind kind, char *to, const void *from, size_t bytes)
{
	return (HyCudaCopy){
		.kind = kind, .from = (const char *) from, .to = to, .bytes = bytes, .rows = 1};
}

/*
 * hy_cuda_copy: make at most HY_CUDA_COPIES copies for a task of operation `op`.  Never fails: if
 * HyHost.run fails, the calling thread makes all copies itself.
 */
#define HY_CUDA_COPIES 8
extern void hy_cuda_copy(const HyHost *host, HyOp op, const HyCudaCopy *copies, int count);

#endif
