/*
 * csr_plan.c
 *		Makes the plan of a patch: see csr_plan.h.
 *
 * One pass over the origins of all entries finds the entries that have edges of changed origins.
 * The new edges are ordered like the entries, so the pass reads both lists in the same order.  The
 * edges that an entry keeps and its new edges are merged by the same rule as in a build.
 */
#include "core/csr_plan.h"

#include <string.h>

#include "core/merge_sort.h"

#define FIRST_ROOM 64

static HyStatus make_cells(HyCsrPlan *plan);
static HyStatus plan_entries(HyCsrPlan *plan);
static int64_t next_parallel(const HyCsrPlan *plan, int64_t p);
static HyStatus next_entry(const HyCsrPlan *plan, int64_t stop, int64_t *e);
static HyStatus take_cells(HyCsrPlan *plan, const HyCsrCell *end);
static HyStatus
take_entry(HyCsrPlan *plan, int64_t row, int64_t column, int64_t at, bool exists, int64_t parallel);
static HyStatus add_edge(HyCsrPlan *plan, uint32_t origin, float weight);
static HyStatus plan_steps(HyCsrPlan *plan);
static HyStatus plan_nodes(HyCsrPlan *plan);
static int compare_cells(const void *a, const void *b);
static int compare_edges(const void *a, const void *b);
static int compare_steps(const void *a, const void *b);

static inline bool
is_changed(const HyCsrPlan *plan, uint32_t origin)
{
	return plan->patch->changed[origin];
}

static inline int
compare_pairs(int64_t a, int64_t b, int64_t c, int64_t d)
{
	if (a != c)
		return a < c ? -1 : 1;
	return b < d ? -1 : b > d;
}

HyStatus
hy_csr_plan(HyCsrPlan *plan)
{
	HyStatus status = make_cells(plan);

	if (status == HY_OK)
		status = plan_entries(plan);
	if (status == HY_OK)
		status = plan_steps(plan);
	if (status == HY_OK)
		status = plan_nodes(plan);
	return status;
}

void
hy_csr_plan_free(HyCsrPlan *plan)
{
	hy_free(plan->allocator, plan->cell);
	hy_free(plan->allocator, plan->edit);
	hy_free(plan->allocator, plan->parallel);
	hy_free(plan->allocator, plan->in);
	hy_free(plan->allocator, plan->out);
	hy_free(plan->allocator, plan->node);
	hy_free(plan->allocator, plan->shift);
}

/* make_cells: create the cells of the new edges, in the order of entries. */
static HyStatus
make_cells(HyCsrPlan *plan)
{
	const HyCsrPatch *patch = plan->patch;
	size_t most = (size_t) patch->count * (patch->direction == HY_DIRECTION_BOTH ? 2 : 1);
	int64_t i;

	plan->cell = hy_alloc_array(plan->allocator, most + 1, sizeof(HyCsrCell));
	if (plan->cell == NULL)
		return HY_NOMEM;
	for (i = 0; i < patch->count; i++)
	{
		const HyEdge *edge = &patch->edge[i];

		if (hy_cancelled_at(i, plan->cancel))
			return HY_CANCELLED;
		if (!(edge->weight >= 0) || edge->weight - edge->weight != 0)
			return HY_INVALID;
		if (patch->direction != HY_DIRECTION_IN)
			plan->cell[plan->cells++] =
				(HyCsrCell){edge->target, edge->source, edge->weight, patch->origin[i]};
		if (patch->direction != HY_DIRECTION_OUT)
			plan->cell[plan->cells++] =
				(HyCsrCell){edge->source, edge->target, edge->weight, patch->origin[i]};
	}
	return hy_merge_sort(plan->cell, plan->cells, sizeof(HyCsrCell), compare_cells, plan->allocator,
	                     plan->cancel);
}

/* plan_entries: make the edits. */
static HyStatus
plan_entries(HyCsrPlan *plan)
{
	const HyCsr *csr = plan->csr;
	const HyParallel *parallel = plan->origins->parallel;
	const int64_t parallels = plan->origins->parallels;
	int64_t p = next_parallel(plan, 0);
	int64_t row = 0;
	int64_t e = 0;

	for (;;)
	{
		/* the next entry that has a parallel edge of a changed origin */
		int64_t stop = p < parallels ? parallel[p].at : csr->edges;
		int64_t first = p;
		HyStatus status = next_entry(plan, stop, &e);
		HyCsrCell here;

		if (status != HY_OK)
			return status;
		if (e == csr->edges)
			return take_cells(plan, NULL);
		while (first > 0 && parallel[first - 1].at == e)
			first--;
		while (csr->row_start[row + 1] <= e)
			row++;
		here = (HyCsrCell){csr->ids[row], csr->ids[csr->column[e]], 0, 0};
		status = take_cells(plan, &here);
		if (status == HY_OK)
			status = take_entry(plan, here.row, here.column, e, true, first);
		if (status != HY_OK)
			return status;
		if (e == stop)
		{
			while (p < parallels && parallel[p].at == e)
				p++;
			p = next_parallel(plan, p);
		}
		e++;
	}
}

/* next_parallel: return the index of the first parallel edge from p on whose origin has changed. */
static int64_t
next_parallel(const HyCsrPlan *plan, int64_t p)
{
	const HyOrigins *origins = plan->origins;

	while (p < origins->parallels && !is_changed(plan, origins->parallel[p].origin))
		p++;
	return p;
}

/*
 * next_entry: advance *e to the next entry that has only one edge and whose origin has changed.  If
 * `stop` comes first, advances *e to `stop`.
 */
static HyStatus
next_entry(const HyCsrPlan *plan, int64_t stop, int64_t *e)
{
	const uint32_t *entry = plan->origins->entry;
	const bool *changed = plan->patch->changed;
	int64_t at = *e;

	while (at < stop)
	{
		int64_t end = at + HY_CANCEL_BLOCK < stop ? at + HY_CANCEL_BLOCK : stop;

		if (hy_cancelled(plan->cancel))
			return HY_CANCELLED;
		/* few origins are changed, so test eight entries with one branch */
		while (end - at >= 8 &&
		       !(changed[entry[at]] | changed[entry[at + 1]] | changed[entry[at + 2]] |
		         changed[entry[at + 3]] | changed[entry[at + 4]] | changed[entry[at + 5]] |
		         changed[entry[at + 6]] | changed[entry[at + 7]]))
			at += 8;
		while (at < end && !changed[entry[at]])
			at++;
		if (at < end)
			break;
	}
	*e = at;
	return HY_OK;
}

/*
 * take_cells: make the edits for the new edges before `end`, or for all remaining ones if `end` is
 * NULL.
 */
static HyStatus
take_cells(HyCsrPlan *plan, const HyCsrCell *end)
{
	const HyCsr *csr = plan->csr;
	const HyOrigins *origins = plan->origins;
	int64_t taken = 0;

	while (plan->next_cell < plan->cells)
	{
		/* one edit takes all cells of this row and column */
		const HyCsrCell *cell = &plan->cell[plan->next_cell];
		int64_t low = 0;
		bool exists = false;
		int64_t in, from, at;
		HyStatus status;

		if (end != NULL && compare_pairs(cell->row, cell->column, end->row, end->column) >= 0)
			break;
		if (hy_cancelled_at(taken++, plan->cancel))
			return HY_CANCELLED;
		in = hy_csr_first(csr, cell->row);
		from = hy_csr_first(csr, cell->column);
		at = csr->row_start[in];
		if (in < csr->nodes && csr->ids[in] == cell->row)
		{
			at = hy_csr_first_number(csr->column, at, csr->row_start[in + 1], from);
			exists = at < csr->row_start[in + 1] && csr->column[at] == from &&
			         csr->ids[from] == cell->column;
		}
		if (exists && origins->entry[at] == HY_ORIGIN_MANY)
		{
			int64_t high = origins->parallels;

			while (low < high)
			{
				int64_t middle = low + (high - low) / 2;

				if (origins->parallel[middle].at < at)
					low = middle + 1;
				else
					high = middle;
			}
		}
		status = take_entry(plan, cell->row, cell->column, at, exists, low);
		if (status != HY_OK)
			return status;
	}
	return HY_OK;
}

/*
 * take_entry: make the edit of an entry, if something changes.  at is the index of the entry, or the
 * index before which the entry is inserted.  If the entry has several edges, parallel is the index
 * of the first one in origins->parallel.
 */
static HyStatus
take_entry(HyCsrPlan *plan, int64_t row, int64_t column, int64_t at, bool exists, int64_t parallel)
{
	const HyOrigins *origins = plan->origins;
	HyCsrEdit edit = {.row = row, .column = column, .at = at, .change = exists ? 0 : 1};
	int64_t begin = plan->parallels;
	bool had_many = exists && origins->entry[at] == HY_ORIGIN_MANY;
	int64_t count;
	HyStatus status = HY_OK;

	if (had_many)
	{
		for (; status == HY_OK && parallel < origins->parallels &&
		       origins->parallel[parallel].at == at;
		     parallel++)
		{
			const HyParallel *edge = &origins->parallel[parallel];

			if (!is_changed(plan, edge->origin))
				status = add_edge(plan, edge->origin, edge->weight);
		}
	}
	else if (exists && !is_changed(plan, origins->entry[at]))
		status = add_edge(plan, origins->entry[at], plan->csr->weight[at]);
	for (; status == HY_OK && plan->next_cell < plan->cells; plan->next_cell++)
	{
		const HyCsrCell *cell = &plan->cell[plan->next_cell];

		if (cell->row != row || cell->column != column)
			break;
		status = add_edge(plan, cell->origin, cell->weight);
	}
	if (status != HY_OK)
		return status;

	count = plan->parallels - begin;
	if (count == 0)
		edit.change = -1;
	else
	{
		HyParallel *edge = plan->parallel + begin;

		edit.origin = count == 1 ? edge->origin : HY_ORIGIN_MANY;
		status = hy_merge_sort(edge, count, sizeof(HyParallel), compare_edges, plan->allocator,
		                       plan->cancel);
		if (status != HY_OK)
			return status;
		if (!hy_csr_merge(plan->patch->merge, edge, count, &edit.weight))
			return HY_INVALID;
	}
	edit.differs =
		edit.change != 0 || memcmp(&edit.weight, &plan->csr->weight[at], sizeof(edit.weight)) != 0;
	if (count <= 1)
		plan->parallels = begin;
	if (!edit.differs && !had_many && edit.origin == origins->entry[at])
		return HY_OK;
	if (plan->edits == plan->edit_room)
	{
		plan->edit_room = 2 * plan->edit_room + FIRST_ROOM;
		status = hy_enlarge(plan->allocator, &plan->edit, sizeof(HyCsrEdit), plan->edits,
		                    plan->edit_room);
		if (status != HY_OK)
			return status;
	}
	plan->edit[plan->edits++] = edit;
	return HY_OK;
}

/* add_edge: add an edge to the edges of the next edit. */
static HyStatus
add_edge(HyCsrPlan *plan, uint32_t origin, float weight)
{
	if (plan->parallels == plan->parallel_room)
	{
		HyStatus status;

		plan->parallel_room = 2 * plan->parallel_room + FIRST_ROOM;
		status = hy_enlarge(plan->allocator, &plan->parallel, sizeof(HyParallel), plan->parallels,
		                    plan->parallel_room);
		if (status != HY_OK)
			return status;
	}
	plan->parallel[plan->parallels++] = (HyParallel){(uint32_t) plan->edits, origin, weight};
	return HY_OK;
}

/*
 * plan_steps: list where entries are inserted in and deleted from the rows and the outgoing lists.
 */
static HyStatus
plan_steps(HyCsrPlan *plan)
{
	const HyCsr *csr = plan->csr;
	int64_t count = 0;
	int64_t i;

	for (i = 0; i < plan->edits; i++)
		count += plan->edit[i].change != 0;
	plan->in = hy_alloc_array(plan->allocator, (size_t) count + 1, sizeof(HyCsrStep));
	plan->out = hy_alloc_array(plan->allocator, (size_t) count + 1, sizeof(HyCsrStep));
	if (plan->in == NULL || plan->out == NULL)
		return HY_NOMEM;
	for (i = 0; i < plan->edits; i++)
	{
		const HyCsrEdit *edit = &plan->edit[i];
		int64_t from, to, at;

		if (hy_cancelled_at(i, plan->cancel))
			return HY_CANCELLED;
		if (edit->change == 0)
			continue;
		from = hy_csr_first(csr, edit->column);
		to = hy_csr_first(csr, edit->row);
		at = csr->out_start[from];
		if (from < csr->nodes && csr->ids[from] == edit->column)
			at = hy_csr_first_number(csr->out_row, at, csr->out_start[from + 1], to);
		plan->in[plan->steps] = (HyCsrStep){edit->at, edit->change, edit->row, edit->column};
		plan->out[plan->steps++] = (HyCsrStep){at, edit->change, edit->column, edit->row};
	}
	return hy_merge_sort(plan->out, plan->steps, sizeof(HyCsrStep), compare_steps, plan->allocator,
	                     plan->cancel);
}

/* plan_nodes: find the nodes that appear, and those that have no entry left. */
static HyStatus
plan_nodes(HyCsrPlan *plan)
{
	const HyCsr *csr = plan->csr;
	HyCsrStep *node =
		hy_alloc_array(plan->allocator, (size_t) plan->steps * 2 + 1, sizeof(HyCsrStep));
	HyStatus status;
	int64_t count = 0;
	int64_t polled = 0;
	int64_t i;

	plan->node = node;
	if (node == NULL)
		return HY_NOMEM;
	for (i = 0; i < plan->steps; i++)
	{
		const HyCsrStep *step = &plan->in[i];

		node[count++] = (HyCsrStep){.id = step->id, .change = step->change};
		node[count++] = (HyCsrStep){.id = step->other, .change = step->change};
	}
	status =
		hy_merge_sort(node, count, sizeof(HyCsrStep), compare_steps, plan->allocator, plan->cancel);
	if (status != HY_OK)
		return status;
	for (i = 0; i < count;)
	{
		int64_t id = node[i].id;
		int64_t at = hy_csr_first(csr, id);
		bool exists = at < csr->nodes && csr->ids[at] == id;
		int64_t ends = exists ? (int64_t) csr->row_start[at + 1] - csr->row_start[at] +
		                            csr->out_start[at + 1] - csr->out_start[at]
		                      : 0;

		if (hy_cancelled_at(polled++, plan->cancel))
			return HY_CANCELLED;
		for (; i < count && node[i].id == id; i++)
			ends += node[i].change;
		if (exists != (ends > 0))
			node[plan->nodes++] = (HyCsrStep){.at = at, .change = exists ? -1 : 1, .id = id};
	}
	return HY_OK;
}

HyStatus
hy_enlarge(const HyAllocator *allocator, void *array, size_t size, int64_t count, int64_t room)
{
	void *larger = hy_alloc_array(allocator, (size_t) room, size);
	void *old;

	if (larger == NULL)
		return HY_NOMEM;
	memcpy(&old, array, sizeof(old));
	if (count > 0)
		memcpy(larger, old, (size_t) count * size);
	hy_free(allocator, old);
	memcpy(array, &larger, sizeof(larger));
	return HY_OK;
}

static int
compare_cells(const void *a, const void *b)
{
	const HyCsrCell *left = a;
	const HyCsrCell *right = b;

	return compare_pairs(left->row, left->column, right->row, right->column);
}

static int
compare_edges(const void *a, const void *b)
{
	float left = ((const HyParallel *) a)->weight;
	float right = ((const HyParallel *) b)->weight;

	return left < right ? -1 : left > right;
}

static int
compare_steps(const void *a, const void *b)
{
	const HyCsrStep *left = a;
	const HyCsrStep *right = b;

	return compare_pairs(left->id, left->other, right->id, right->other);
}
