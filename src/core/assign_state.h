/*
 * assign_state.h
 *		An assignment under way: what assign.c and assign_groups.c share, and nobody else.
 */
#ifndef HY_ASSIGN_STATE_H
#define HY_ASSIGN_STATE_H

#include <stdbool.h>

#include "core/assign.h"
#include "core/assign_tile.h"

#define ROWS HY_ASSIGN_ROWS
#define TARGETS HY_ASSIGN_TARGETS
#define PAIR (HY_ASSIGN_PANELS * TARGETS) /* centroids that a tile meets at once */
#define KEPT 6                            /* centroids that a row is undecided between */

typedef struct Undecided
{
	float value; /* at most */
	int32_t centroid;
} Undecided;

typedef struct RowState
{
	float best;      /* a centroid has this value at least */
	float threshold; /* others of less are farther, by canonical distances too */
	float square;    /* of the row's length */
	int32_t count;
	Undecided kept[KEPT];
} RowState;

typedef struct Assignment
{
	const HyMatrix *rows;
	const HyMatrix *centroids;
	const HyGroups *groups; /* NULL: none */
	int32_t probes;
	const HyAssignTiles *tiles;
	double error; /* of a product, as part of the lengths' */
	double slack; /* of a canonical square */
	int chunk;    /* rows at a time */
	int block;    /* centroids that are in panels at a time, whole panels */
	float *middle;
	float *room;
	float *panels; /* in it */
	float *half;   /* of a target of the block: its square, halved */
	float *reach;  /* error of a product, for each unit of the row's length */
	float *moved;  /* the rows of a tile, or the targets of a panel, relative to the middle */
	RowState *states;
	int32_t *met;      /* of each row of the chunk its `probes` groups */
	int32_t *members;  /* rows of the chunk, by group */
	int32_t *begin;    /* of each group in members */
	int32_t *all;      /* 0, 1, 2 ...: all rows of the chunk */
	float *center_low; /* of the rows of a tile: values of each center, at least and at most */
	float *center_high;
	int64_t work;
	const HyCancel *cancel;
} Assignment;

/* hy_assign_targets: targets first .. first + n - 1 become the block. */
extern void
hy_assign_targets(Assignment *assignment, const HyMatrix *targets, int64_t first, int n);

/* hy_assign_rows: some rows of the chunk become those of the tile; how many did. */
extern int hy_assign_rows(Assignment *assignment, int64_t chunk, const int32_t *members, int count);

/* hy_assign_meet: these rows of the chunk meet centroids first .. last - 1. */
extern HyStatus hy_assign_meet(Assignment *assignment, int64_t chunk, const int32_t *members,
                               int count, int64_t first, int64_t last);

/* hy_assign_lift: one of the values is this for certain, or more. */
extern void hy_assign_lift(const Assignment *assignment, RowState *state, float best);

/* hy_assign_is_bounded: whether products say anything about a row. */
extern bool hy_assign_is_bounded(const RowState *state);

/* hy_assign_poll: after so many more products; whether to stop. */
extern bool hy_assign_poll(Assignment *assignment, int64_t products);

/* hy_assign_distance: the canonical one. */
extern double
hy_assign_distance(const HyMatrix *rows, int64_t row, const HyMatrix *targets, int64_t target);

/* hy_assign_meet_groups: each row of the chunk finds its groups, and meets their centroids. */
extern HyStatus hy_assign_meet_groups(Assignment *assignment, int64_t chunk, int count);

#endif
