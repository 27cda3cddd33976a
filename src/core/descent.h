/*
 * descent.h
 *		Improves a graph of nearest rows: neighbors of neighbors are often neighbors.
 *
 * The idea is that of W. Dong, C. Moses and K. Li, "Efficient k-nearest neighbor graph construction
 * for generic similarity measures", 2011.  In a round, each row is compared with the rows to which
 * the most paths of two edges lead from it.  A path may follow an edge in either direction.  Only
 * paths with an edge that is new since the last round count.  A new edge that leads to the row
 * itself counts like a path to the edge's start.  Distances are canonical.  The result does not
 * depend on the number of threads.
 */
#ifndef HY_DESCENT_H
#define HY_DESCENT_H

#include "core/allocator.h"
#include "core/batch.h"
#include "core/cancel.h"
#include "core/status.h"
#include "core/topk.h"

#define HY_DESCENT_MOST (INT32_MAX / 2) /* maximum number of rows */

typedef struct HyDescent HyDescent;

/*
 * hy_descent_bytes: return the approximate bytes of memory per row for two threads, without the
 * row's heap of size k.
 */
extern size_t hy_descent_bytes(int32_t k);

/*
 * hy_descent_create: allocate memory for rounds over these rows, on at most this many threads.  best has
 * a heap of size k for each row.  A heap holds row numbers of the matrix, none of them twice.  A row may
 * be in its own heap.  Returns NULL when out of memory.
 */
extern HyDescent *hy_descent_create(const HyAllocator *allocator, HyMetric metric,
                                    const HyMatrix *rows, int32_t k, HyTopK *best, int threads);

/* hy_descent_free: free the memory.  descent may be NULL. */
extern void hy_descent_free(const HyAllocator *allocator, HyDescent *descent);

/*
 * hy_descent_work: return the size of a round, for hy_threads_for.
 * hy_descent_round: compare each row with at most 12 k others.  Sets *kept to the number of rows that
 * entered a heap.  Returns HY_CANCELLED or HY_OK.
 */
extern double hy_descent_work(const HyDescent *descent);
extern HyStatus hy_descent_round(HyDescent *descent, int64_t *kept, const HyCancel *cancel);

#endif
