/*
 * assign_state.h
 *		State of an assignment in progress, private to assign.c and assign_groups.c.
 */
#ifndef HY_ASSIGN_STATE_H
#define HY_ASSIGN_STATE_H

#include <stdbool.h>

#include "core/assign.h"
#include "core/assign_tile.h"

#define ROWS HY_ASSIGN_ROWS
#define TARGETS HY_ASSIGN_TARGETS
#define PAIR (HY_ASSIGN_PANELS * TARGETS) /* centroids that a tile processes at a time */
#define KEPT 6                            /* maximum number of undecided centroids kept per row */

typedef struct Undecided
{
	float value; /* upper bound of the centroid's value */
	int32_t centroid;
} Undecided;

typedef struct RowState
{
	float best;      /* lower bound of the best centroid's value */
	float threshold; /* a centroid with a smaller value is farther, even by canonical distance */
	float square;    /* squared length of the row */
	int32_t count;
	Undecided kept[KEPT];
} RowState;

typedef struct Assignment
{
	const HyMatrix *rows;
	const HyMatrix *centroids;
	const HyGroups *groups; /* NULL if there are no groups */
	int32_t probes;
	const HyAssignTiles *tiles;
	double error; /* error bound of a product, relative to the product of the lengths */
	double slack; /* relative error bound of a canonical squared distance */
	int chunk;    /* rows processed at a time */
	int block;    /* centroids per block, a multiple of the panel width */
	float *middle;
	float *room;
	float *panels; /* aligned start of the panels within `room` */
	float *half;   /* half the squared length of each target of the block */
	float *reach;  /* error bound of a product per unit of the row's length */
	float *moved;  /* rows of a tile or one target of a panel, relative to middle */
	RowState *states;
	int32_t *met;      /* the `probes` groups chosen for each row of the chunk */
	int32_t *members;  /* rows of the chunk, ordered by group */
	int32_t *begin;    /* start of each group in members */
	int32_t *all;      /* 0, 1, 2 ...: numbers of all rows of the chunk */
	float *center_low; /* bounds of each center's value, for the rows of a tile */
	float *center_high;
	int64_t work;
	const HyCancel *cancel;
} Assignment;

/*
 * hy_assign_targets: load targets (centroids or centers) first .. first + n - 1 as the current
 * block.
 */
extern void
hy_assign_targets(Assignment *assignment, const HyMatrix *targets, int64_t first, int n);

/*
 * hy_assign_rows: load the given rows of the chunk into the tile.  Returns the number of rows
 * loaded.
 */
extern int hy_assign_rows(Assignment *assignment, int64_t chunk, const int32_t *members, int count);

/* hy_assign_compare: compare the given rows of the chunk with centroids first .. last - 1. */
extern HyStatus hy_assign_compare(Assignment *assignment, int64_t chunk, const int32_t *members,
                                  int count, int64_t first, int64_t last);

/* hy_assign_raise_best: raise the best value of a row's state, and adjust the threshold. */
extern void hy_assign_raise_best(const Assignment *assignment, RowState *state, float best);

/* hy_assign_is_bounded: test whether products give usable bounds for a row. */
extern bool hy_assign_is_bounded(const RowState *state);

/*
 * hy_assign_poll: count products, and poll cancel when enough have been counted.  Returns true if
 * the caller must stop.
 */
extern bool hy_assign_poll(Assignment *assignment, int64_t products);

/* hy_assign_distance: return the canonical distance between a row and a target. */
extern double
hy_assign_distance(const HyMatrix *rows, int64_t row, const HyMatrix *targets, int64_t target);

/*
 * hy_assign_compare_groups: find the groups of each row of the chunk, and compare the row with the
 * centroids of these groups.
 */
extern HyStatus hy_assign_compare_groups(Assignment *assignment, int64_t chunk, int count);

#endif
