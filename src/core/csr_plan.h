/*
 * csr_plan.h
 *		The plan of a patch (csr_patch.h): which entries and nodes of a graph change.
 *
 * A plan is a list of edits.  An edit inserts, deletes or replaces one entry.  Edits refer to nodes by
 * id, and to entries by their index before the patch.
 */
#ifndef HY_CSR_PLAN_H
#define HY_CSR_PLAN_H

#include "core/csr_patch.h"

/* HyCsrCell: a new edge, with the ids of its row and column. */
typedef struct HyCsrCell
{
	int64_t row;
	int64_t column;
	float weight;
	uint32_t origin;
} HyCsrCell;

/* HyCsrEdit: what happens to an entry. */
typedef struct HyCsrEdit
{
	int64_t row; /* ids of the entry's row and column */
	int64_t column;
	int64_t at;     /* index of the entry, or the index before which it is inserted */
	int32_t change; /* 1 inserted, -1 deleted, 0 replaced */
	uint32_t origin;
	float weight;
	bool differs; /* the entry has another weight, or is inserted or deleted */
} HyCsrEdit;

/* HyCsrStep: an insertion or deletion in an array. */
typedef struct HyCsrStep
{
	int64_t at;
	int64_t change; /* 1 or -1 */
	int64_t id;     /* id of the node, or of the node whose list contains the entry */
	int64_t other;  /* id of the other end of the entry; scratch space in HyCsrPlan.node */
} HyCsrStep;

/* HyCsrPlan: the plan of a patch.  The arrays `edit` and `parallel` grow. */
typedef struct HyCsrPlan
{
	HyCsr *csr;
	HyOrigins *origins;
	const HyCsrPatch *patch;
	const HyAllocator *allocator;
	const HyCancel *cancel;
	HyCsrCell *cell; /* the new edges in the order of entries */
	int64_t cells;
	int64_t next_cell; /* the first cell that no edit has taken */
	HyCsrEdit *edit;
	int64_t edits;
	int64_t edit_room;
	HyParallel *parallel; /* edges of entries with several edges; `at` is the number of the edit */
	int64_t parallels;
	int64_t parallel_room;
	HyCsrStep *in;  /* steps in the rows, ordered by row and column */
	HyCsrStep *out; /* steps in the outgoing lists, ordered by column and row */
	int64_t steps;
	HyCsrStep *node; /* steps in the arrays of nodes */
	int64_t nodes;
	int32_t *
		shift; /* per group, by how much the numbers of its nodes change; NULL: no number changes */
} HyCsrPlan;

/*
 * hy_csr_plan: make a plan.  The caller has set the first five fields of *plan, and cleared the
 * others.
 */
extern HyStatus hy_csr_plan(HyCsrPlan *plan);

/*
 * hy_csr_plan_apply: change the graph and its origins.  On failure both may be left half changed.
 */
extern HyStatus hy_csr_plan_apply(HyCsrPlan *plan);

/* hy_csr_plan_free: free the arrays of a plan, also of an incomplete plan. */
extern void hy_csr_plan_free(HyCsrPlan *plan);

/*
 * hy_enlarge: replace an array of count elements by a copy with space for `room` elements.  array is
 * the address of the pointer to the array.
 */
extern HyStatus
hy_enlarge(const HyAllocator *allocator, void *array, size_t size, int64_t count, int64_t room);

#endif
