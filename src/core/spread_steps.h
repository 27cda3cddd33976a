/*
 * spread_steps.h
 *		The steps of a hop of activation spreading, each over a range of words of the bitmaps.
 *
 * A hop runs these steps in order.  Nodes fire.  If all rows will be pulled, the charges of the
 * other nodes are set to 0.  Rows are pulled.  Then the activation that each row received is
 * combined into the result.
 */
#ifndef HY_SPREAD_STEPS_H
#define HY_SPREAD_STEPS_H

#include <stdbool.h>
#include <stdint.h>

#include "core/spread.h"
#include "core/spread_pull.h"
#include "core/spread_reach.h"

/* HySpreadWalk: the state of the spreading from one set of seeds. */
typedef struct HySpreadWalk
{
	const HyCsr *graph;
	const HySpreadParams *params;
	const HyCancel *cancel;
	HySpreadPull pull;
	bool by_set;        /* each thread walks sets of its own, so that a step runs on one thread */
	bool everywhere;    /* the last pull computed all rows; initially false */
	int32_t number;     /* number of the current hop */
	double *y;          /* activation from the last hop; undefined for nodes not in `active` */
	double *charge;     /* c_i; undefined for nodes not in `firing`, unless all rows are pulled */
	int32_t *fired;     /* times each node has fired; NULL if refire is 0 */
	uint64_t *active;   /* bitmap of nodes whose y is not 0 */
	uint64_t *firing;   /* bitmap of nodes whose charge is not 0 */
	HySpreadRows next;  /* rows that the current hop reaches; all 0 between hops */
	uint64_t *reached;  /* bitmap of nodes with activation so far */
	double *activation; /* undefined for nodes not in `reached`, as are hop and sent */
	int32_t *hop;
	double *sent; /* NULL: not wanted */
} HySpreadWalk;

/* HySpreadStep: a step of a hop, over a range of words of the bitmaps. */
typedef struct HySpreadStep
{
	HySpreadWalk *walk;
	HyStatus (*run)(struct HySpreadStep *step, int64_t from, int64_t to, const HyCancel *cancel);
	int64_t parts;
	bool by_entries; /* whether parts have about equal numbers of nodes plus entries, or of nodes */
	bool any;        /* set by hy_spread_fire, atomic: whether any node fires */
	int64_t reach;   /* set by hy_spread_fire, atomic: entries that leave the firing nodes */
} HySpreadStep;

/*
 * hy_spread_fire: set the charge of the nodes that fire.  Sets step->any if a node fires, and adds the
 * number of entries that leave the firing nodes to step->reach.
 */
extern HyStatus
hy_spread_fire(HySpreadStep *step, int64_t from, int64_t end, const HyCancel *cancel);

/* hy_spread_clear_charges: set the charges of the nodes that do not fire to 0. */
extern HyStatus
hy_spread_clear_charges(HySpreadStep *step, int64_t from, int64_t end, const HyCancel *cancel);

/* hy_spread_pull_all: compute y of every row in a range of words. */
extern HyStatus
hy_spread_pull_all(HySpreadStep *step, int64_t from, int64_t end, const HyCancel *cancel);

/* hy_spread_pull_reached: compute y of the rows in walk->next that must be pulled. */
extern HyStatus
hy_spread_pull_reached(HySpreadStep *step, int64_t from, int64_t end, const HyCancel *cancel);

/*
 * hy_spread_arrive: finish a pull.  Marks nodes whose new y is not 0 as active, and combines y into
 * the result.  If `everywhere` is set, any row may have a new y.  Otherwise, only the rows marked
 * in walk->next may have one.
 */
extern HyStatus
hy_spread_arrive(HySpreadStep *step, int64_t from, int64_t end, const HyCancel *cancel);

#endif
