/*
 * join.h
 *		Each row of one relation with its nearest rows of another, in bounded memory: what is behind
 *		hybrid_knn_join and hybrid_knn_graph.
 */
#ifndef HYBRID_JOIN_H
#define HYBRID_JOIN_H

#include "postgres.h"

#include "core/topk.h"
#include "knn/nearest.h"

/* HybridJoined: left rows, in the order in which they came, with their answers. */
typedef struct HybridJoined
{
	int count;
	const int64 *positions; /* of the left rows */
	const int64 *ids;       /* their ids, where the left side has an id column */
	const HyTopK *answers;  /* sorted; rows are positions of right rows */
} HybridJoined;

typedef void (*HybridTakeJoined)(void *arg, const HybridJoined *joined);

/*
 * hybrid_join: reads the left rows in groups that fit work_mem, each with a search of the right
 * side, and hands over a group at a time; take runs in a context that is emptied after it and may
 * hold `beside` bytes a left row.  Raises when the vectors of the two sides differ in length.
 */
extern void
hybrid_join(HybridRows *left, HybridTarget *right, Size beside, HybridTakeJoined take, void *arg);

#endif
