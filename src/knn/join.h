/*
 * join.h
 *		Finds the nearest rows of one relation for each row of another, in bounded memory.
 *		Shared by hybrid_knn_join and hybrid_knn_graph.
 */
#ifndef HYBRID_JOIN_H
#define HYBRID_JOIN_H

#include "postgres.h"

#include "core/topk.h"
#include "knn/nearest.h"

/* HybridJoined: a group of left rows in the order in which they were read, with their results. */
typedef struct HybridJoined
{
	int count;
	const int64 *positions; /* positions of the left rows */
	const int64 *ids;       /* ids of the left rows; valid if they are read with an id column */
	const HyTopK *answers;  /* sorted results per left row; row holds the position of a right row */
} HybridJoined;

typedef void (*HybridTakeJoined)(void *arg, const HybridJoined *joined);

/*
 * hybrid_join: read the left rows in groups that fit work_mem, search the right relation once per
 * group, and pass each group to `take`. The memory context in which `take` runs is reset after each
 * call. `take` may allocate `beside` bytes per left row in this context. Raises if the vectors of the
 * two relations differ in dimensions.
 */
extern void
hybrid_join(HybridRows *left, HybridTarget *right, Size beside, HybridTakeJoined take, void *arg);

#endif
