/*
 * csr_patch.c
 *		Replaces some edges of a graph: see csr_patch.h.
 *
 * A patch is planned and then applied.  The plan is a list of edits.  An edit inserts, deletes or
 * replaces one entry.  One pass over the origins of all entries finds the entries that have edges of
 * changed origins.  The new edges are ordered like the entries, so the pass meets both lists in the
 * same order.  The edges that an entry keeps and its new edges are merged by the rule of a build.
 *
 * Edits refer to nodes by id, and to entries by their places before the patch.  To apply them, the
 * parts of each array between two edits move by the number of entries that the edits before them
 * have inserted and deleted.  If nodes appear or vanish, the numbers of the nodes after them change,
 * in all entries.  The sums s_i are computed again for the nodes whose outgoing entries changed: one
 * pass over the entries meets those of each node in canonical order.
 */
#include "core/csr_patch.h"

#include <stdlib.h>
#include <string.h>

/* Entries, edges or nodes between two polls of the caller's cancel. */
#define BLOCK 65536

/* Nodes whose numbers are looked up together. */
#define NODES_PER_GROUP 64

/* An array that is full is enlarged by 1/ROOM_SHARE. */
#define ROOM_SHARE 64

#define FIRST_ROOM 64

/* Cell: a new edge, by the ids of its row and column. */
typedef struct Cell
{
	int64_t row;
	int64_t column;
	float weight;
	uint32_t origin;
} Cell;

/* Edit: what happens to an entry. */
typedef struct Edit
{
	int64_t row; /* ids */
	int64_t column;
	int64_t at;     /* place of the entry, or the place before which it is inserted */
	int32_t change; /* 1 inserted, -1 deleted, 0 replaced */
	uint32_t origin;
	float weight;
	bool differs; /* the entry has another weight, or is inserted or deleted */
} Edit;

/* Step: an insertion or deletion in an array. */
typedef struct Step
{
	int64_t at;
	int64_t change; /* 1 or -1 */
	int64_t id;     /* of the node, or of the node whose list contains the entry */
	int64_t other; /* id of the other end of the entry; scratch if the array is that of the nodes */
} Step;

/* Plan: the plan of a patch.  The arrays of edits, parallel edges and steps grow. */
typedef struct Plan
{
	HyCsr *csr;
	HyOrigins *origins;
	const HyCsrPatch *patch;
	const HyAllocator *allocator;
	const HyCancel *cancel;
	Cell *cell; /* the new edges in the order of entries */
	int64_t cells;
	int64_t next_cell; /* the first cell that no edit has taken */
	Edit *edit;
	int64_t edits;
	int64_t edit_room;
	HyParallel *parallel; /* edges of entries with several edges; `at` is the number of the edit */
	int64_t parallels;
	int64_t parallel_room;
	Step *in;  /* for the rows, by row and column */
	Step *out; /* for the lists of outgoing entries, by column and row */
	int64_t steps;
	Step *node; /* for the nodes */
	int64_t nodes;
} Plan;

static HyStatus make_cells(Plan *plan);
static HyStatus plan_entries(Plan *plan);
static int64_t next_parallel(const Plan *plan, int64_t p);
static HyStatus next_entry(const Plan *plan, int64_t stop, int64_t *e);
static HyStatus take_cells(Plan *plan, const Cell *end);
static HyStatus
take_entry(Plan *plan, int64_t row, int64_t column, int64_t at, bool exists, int64_t parallel);
static HyStatus add_edge(Plan *plan, uint32_t origin, float weight);
static HyStatus plan_steps(Plan *plan);
static HyStatus plan_nodes(Plan *plan);
static HyStatus apply(Plan *plan);
static HyStatus make_room(Plan *plan);
static HyStatus move_parallels(Plan *plan);
static HyStatus renumber(Plan *plan);
static int64_t count_before(const Plan *plan, int64_t node);
static void move_ids(Plan *plan);
static void move_starts(const Plan *plan, int64_t *start, int64_t nodes, const Step *entry);
static HyStatus insert_entries(Plan *plan);
static HyStatus sum_again(Plan *plan);
static HyStatus find_sources(const Plan *plan, uint32_t *source, int64_t *count);
static void move(void *array, size_t size, int64_t count, const Step *step, int64_t steps);
static HyStatus
enlarge(const HyAllocator *allocator, void *array, size_t size, int64_t count, int64_t room);
static HyStatus sort(const Plan *plan, void *array, int64_t count, size_t size,
                     int (*compare)(const void *, const void *));
static int64_t first_number(const uint32_t *number, int64_t begin, int64_t end, int64_t least);
static int compare_cells(const void *a, const void *b);
static int compare_edges(const void *a, const void *b);
static int compare_steps(const void *a, const void *b);
static int compare_numbers(const void *a, const void *b);

static inline bool
is_changed(const Plan *plan, uint32_t origin)
{
	return (plan->patch->changed[origin / 64] >> origin % 64 & 1) != 0;
}

static inline bool
stop_at(const Plan *plan, int64_t i)
{
	return i % BLOCK == 0 && hy_cancelled(plan->cancel);
}

static inline int
compare_pairs(int64_t a, int64_t b, int64_t c, int64_t d)
{
	if (a != c)
		return a < c ? -1 : 1;
	return b < d ? -1 : b > d;
}

HyStatus
hy_csr_patch(HyCsr *csr, HyOrigins *origins, const HyCsrPatch *patch, const HyAllocator *allocator,
             const HyCancel *cancel, bool *differs)
{
	Plan plan = {
		.csr = csr, .origins = origins, .patch = patch, .allocator = allocator, .cancel = cancel};
	HyStatus status = make_cells(&plan);
	int64_t i;

	*differs = false;
	if (status == HY_OK)
		status = plan_entries(&plan);
	for (i = 0; i < plan.edits; i++)
		*differs = *differs || plan.edit[i].differs;
	if (status == HY_OK)
		status = plan_steps(&plan);
	if (status == HY_OK)
		status = plan_nodes(&plan);
	if (status == HY_OK)
		status = apply(&plan);
	hy_free(allocator, plan.cell);
	hy_free(allocator, plan.edit);
	hy_free(allocator, plan.parallel);
	hy_free(allocator, plan.in);
	hy_free(allocator, plan.out);
	hy_free(allocator, plan.node);
	if (status != HY_OK)
	{
		hy_csr_free(csr, allocator);
		hy_origins_free(origins, allocator);
	}
	return status;
}

/* make_cells: order the new edges like entries. */
static HyStatus
make_cells(Plan *plan)
{
	const HyCsrPatch *patch = plan->patch;
	size_t most = (size_t) patch->count * (patch->direction == HY_DIRECTION_BOTH ? 2 : 1);
	int64_t i;

	plan->cell = hy_alloc_array(plan->allocator, most + 1, sizeof(Cell));
	if (plan->cell == NULL)
		return HY_NOMEM;
	for (i = 0; i < patch->count; i++)
	{
		const HyEdge *edge = &patch->edge[i];

		if (stop_at(plan, i))
			return HY_CANCELLED;
		if (!(edge->weight >= 0) || edge->weight - edge->weight != 0)
			return HY_INVALID;
		if (patch->direction != HY_DIRECTION_IN)
			plan->cell[plan->cells++] =
				(Cell){edge->target, edge->source, edge->weight, patch->origin[i]};
		if (patch->direction != HY_DIRECTION_OUT)
			plan->cell[plan->cells++] =
				(Cell){edge->source, edge->target, edge->weight, patch->origin[i]};
	}
	return sort(plan, plan->cell, plan->cells, sizeof(Cell), compare_cells);
}

/* plan_entries: make the edits. */
static HyStatus
plan_entries(Plan *plan)
{
	const HyCsr *csr = plan->csr;
	const HyParallel *parallel = plan->origins->parallel;
	const int64_t parallels = plan->origins->parallels;
	int64_t p = next_parallel(plan, 0);
	int64_t row = 0;
	int64_t e = 0;

	for (;;)
	{
		/* the next entry with parallel edges of changed origins */
		int64_t stop = p < parallels ? parallel[p].at : csr->edges;
		int64_t first = p;
		HyStatus status = next_entry(plan, stop, &e);
		Cell here;

		if (status != HY_OK)
			return status;
		if (e == csr->edges)
			return take_cells(plan, NULL);
		while (first > 0 && parallel[first - 1].at == e)
			first--;
		while (csr->row_start[row + 1] <= e)
			row++;
		here = (Cell){csr->ids[row], csr->ids[csr->column[e]], 0, 0};
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

/* next_parallel: return the place of the first parallel edge from p on that has a changed origin. */
static int64_t
next_parallel(const Plan *plan, int64_t p)
{
	const HyOrigins *origins = plan->origins;

	while (p < origins->parallels && !is_changed(plan, origins->parallel[p].origin))
		p++;
	return p;
}

/*
 * next_entry: advance *e to the next entry that has only one edge, if the origin of this edge has
 * changed.  Advances *e to stop if there is no such entry before stop.
 */
static HyStatus
next_entry(const Plan *plan, int64_t stop, int64_t *e)
{
	const uint32_t *entry = plan->origins->entry;
	const uint64_t *changed = plan->patch->changed;
	int64_t at = *e;

	while (at < stop)
	{
		int64_t end = at + BLOCK < stop ? at + BLOCK : stop;

		if (hy_cancelled(plan->cancel))
			return HY_CANCELLED;
		/* the bit of HY_ORIGIN_MANY is not set */
		while (at < end && (changed[entry[at] / 64] >> entry[at] % 64 & 1) == 0)
			at++;
		if (at < end)
			break;
	}
	*e = at;
	return HY_OK;
}

/* take_cells: make the edits for the new edges that precede end, or for all others if end is NULL. */
static HyStatus
take_cells(Plan *plan, const Cell *end)
{
	const HyCsr *csr = plan->csr;
	const HyOrigins *origins = plan->origins;
	int64_t taken = 0;

	while (plan->next_cell < plan->cells)
	{
		/* one edit takes all cells of this row and column */
		const Cell *cell = &plan->cell[plan->next_cell];
		int64_t low = 0;
		bool exists = false;
		int64_t in, from, at;
		HyStatus status;

		if (end != NULL && compare_pairs(cell->row, cell->column, end->row, end->column) >= 0)
			break;
		if (stop_at(plan, taken++))
			return HY_CANCELLED;
		in = hy_csr_first(csr, cell->row);
		from = hy_csr_first(csr, cell->column);
		at = csr->row_start[in];
		if (in < csr->nodes && csr->ids[in] == cell->row)
		{
			at = first_number(csr->column, at, csr->row_start[in + 1], from);
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
 * take_entry: make the edit of an entry, if something changes.  at is its place, or the place before
 * which it is to be inserted.  parallel is the place of its first parallel edge, if it has several.
 */
static HyStatus
take_entry(Plan *plan, int64_t row, int64_t column, int64_t at, bool exists, int64_t parallel)
{
	const HyOrigins *origins = plan->origins;
	Edit edit = {.row = row, .column = column, .at = at, .change = exists ? 0 : 1};
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
		const Cell *cell = &plan->cell[plan->next_cell];

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
		status = sort(plan, edge, count, sizeof(HyParallel), compare_edges);
		if (status != HY_OK)
			return status;
		if (!hy_csr_merge(plan->patch->merge, edge, count, &edit.weight))
			return HY_QUOTA;
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
		status = enlarge(plan->allocator, &plan->edit, sizeof(Edit), plan->edits, plan->edit_room);
		if (status != HY_OK)
			return status;
	}
	plan->edit[plan->edits++] = edit;
	return HY_OK;
}

/* add_edge: add an edge to the edges of the next edit. */
static HyStatus
add_edge(Plan *plan, uint32_t origin, float weight)
{
	if (plan->parallels == plan->parallel_room)
	{
		HyStatus status;

		plan->parallel_room = 2 * plan->parallel_room + FIRST_ROOM;
		status = enlarge(plan->allocator, &plan->parallel, sizeof(HyParallel), plan->parallels,
		                 plan->parallel_room);
		if (status != HY_OK)
			return status;
	}
	plan->parallel[plan->parallels++] = (HyParallel){(uint32_t) plan->edits, origin, weight};
	return HY_OK;
}

/* plan_steps: find the places of insertions and deletions. */
static HyStatus
plan_steps(Plan *plan)
{
	const HyCsr *csr = plan->csr;
	int64_t count = 0;
	int64_t i;

	for (i = 0; i < plan->edits; i++)
		count += plan->edit[i].change != 0;
	plan->in = hy_alloc_array(plan->allocator, (size_t) count + 1, sizeof(Step));
	plan->out = hy_alloc_array(plan->allocator, (size_t) count + 1, sizeof(Step));
	if (plan->in == NULL || plan->out == NULL)
		return HY_NOMEM;
	for (i = 0; i < plan->edits; i++)
	{
		const Edit *edit = &plan->edit[i];
		int64_t from, to, at;

		if (stop_at(plan, i))
			return HY_CANCELLED;
		if (edit->change == 0)
			continue;
		from = hy_csr_first(csr, edit->column);
		to = hy_csr_first(csr, edit->row);
		at = csr->out_start[from];
		if (from < csr->nodes && csr->ids[from] == edit->column)
			at = first_number(csr->out_row, at, csr->out_start[from + 1], to);
		plan->in[plan->steps] = (Step){edit->at, edit->change, edit->row, edit->column};
		plan->out[plan->steps++] = (Step){at, edit->change, edit->column, edit->row};
	}
	return sort(plan, plan->out, plan->steps, sizeof(Step), compare_steps);
}

/* plan_nodes: find the nodes that appear, and those that have no entry left. */
static HyStatus
plan_nodes(Plan *plan)
{
	const HyCsr *csr = plan->csr;
	Step *node = hy_alloc_array(plan->allocator, (size_t) plan->steps * 2 + 1, sizeof(Step));
	HyStatus status;
	int64_t count = 0;
	int64_t polled = 0;
	int64_t i;

	plan->node = node;
	if (node == NULL)
		return HY_NOMEM;
	for (i = 0; i < plan->steps; i++)
	{
		const Step *step = &plan->in[i];

		node[count++] = (Step){.id = step->id, .change = step->change};
		node[count++] = (Step){.id = step->other, .change = step->change};
	}
	status = sort(plan, node, count, sizeof(Step), compare_steps);
	if (status != HY_OK)
		return status;
	for (i = 0; i < count;)
	{
		int64_t id = node[i].id;
		int64_t at = hy_csr_first(csr, id);
		bool exists = at < csr->nodes && csr->ids[at] == id;
		int64_t ends = exists ? csr->row_start[at + 1] - csr->row_start[at] +
		                            csr->out_start[at + 1] - csr->out_start[at]
		                      : 0;

		if (stop_at(plan, polled++))
			return HY_CANCELLED;
		for (; i < count && node[i].id == id; i++)
			ends += node[i].change;
		if (exists != (ends > 0))
			node[plan->nodes++] = (Step){.at = at, .change = exists ? -1 : 1, .id = id};
	}
	return HY_OK;
}

static HyStatus
apply(Plan *plan)
{
	HyCsr *csr = plan->csr;
	HyOrigins *origins = plan->origins;
	int64_t edges = csr->edges;
	int64_t nodes = csr->nodes;
	HyStatus status = make_room(plan);
	int64_t i;

	if (status == HY_OK)
		status = move_parallels(plan);
	if (status == HY_OK)
		status = renumber(plan);
	if (status != HY_OK)
		return status;
	for (i = 0; i < plan->edits; i++)
	{
		const Edit *edit = &plan->edit[i];

		if (edit->change != 0)
			continue;
		csr->weight[edit->at] = edit->weight;
		origins->entry[edit->at] = edit->origin;
	}
	if (plan->steps > 0)
	{
		move(csr->column, sizeof(*csr->column), edges, plan->in, plan->steps);
		move(csr->weight, sizeof(*csr->weight), edges, plan->in, plan->steps);
		move(origins->entry, sizeof(*origins->entry), edges, plan->in, plan->steps);
		move(csr->out_row, sizeof(*csr->out_row), edges, plan->out, plan->steps);
		move_ids(plan);
		move_starts(plan, csr->row_start, nodes, plan->in);
		move_starts(plan, csr->out_start, nodes, plan->out);
		csr->edges = csr->row_start[csr->nodes];
		status = insert_entries(plan);
	}
	return status == HY_OK ? sum_again(plan) : status;
}

/* make_room: enlarge the arrays where they are too small. */
static HyStatus
make_room(Plan *plan)
{
	HyCsr *csr = plan->csr;
	HyOrigins *origins = plan->origins;
	const HyAllocator *allocator = plan->allocator;
	int64_t nodes = csr->nodes;
	int64_t edges = csr->edges;
	HyStatus status = HY_OK;
	int64_t i;

	for (i = 0; i < plan->nodes; i++)
		nodes += plan->node[i].change;
	for (i = 0; i < plan->steps; i++)
		edges += plan->in[i].change;
	if (nodes > (int64_t) 1 << 31 || edges > (int64_t) UINT32_MAX)
		return HY_QUOTA;
	if (nodes > origins->node_room)
	{
		int64_t room = nodes + nodes / ROOM_SHARE + FIRST_ROOM;

		status = enlarge(allocator, &csr->ids, sizeof(*csr->ids), csr->nodes, room);
		if (status == HY_OK)
			status = enlarge(allocator, &csr->row_start, sizeof(*csr->row_start), csr->nodes + 1,
			                 room + 1);
		if (status == HY_OK)
			status = enlarge(allocator, &csr->out_start, sizeof(*csr->out_start), csr->nodes + 1,
			                 room + 1);
		if (status == HY_OK)
			status =
				enlarge(allocator, &csr->out_weight, sizeof(*csr->out_weight), csr->nodes, room);
		origins->node_room = room;
	}
	if (status == HY_OK && edges > origins->edge_room)
	{
		int64_t room = edges + edges / ROOM_SHARE + FIRST_ROOM;

		status = enlarge(allocator, &csr->column, sizeof(*csr->column), csr->edges, room);
		if (status == HY_OK)
			status = enlarge(allocator, &csr->weight, sizeof(*csr->weight), csr->edges, room);
		if (status == HY_OK)
			status = enlarge(allocator, &csr->out_row, sizeof(*csr->out_row), csr->edges, room);
		if (status == HY_OK)
			status = enlarge(allocator, &origins->entry, sizeof(*origins->entry), csr->edges, room);
		origins->edge_room = room;
	}
	return status;
}

/* move_parallels: replace the parallel edges of the edited entries, and adjust the places of others. */
static HyStatus
move_parallels(Plan *plan)
{
	HyOrigins *origins = plan->origins;
	const HyParallel *old = origins->parallel;
	const HyParallel *edge = plan->parallel;
	HyParallel *all;
	int64_t old_at = 0;
	int64_t edge_at = 0;
	int64_t count = 0;
	int64_t shift = 0;
	int64_t i;

	if (origins->parallels + plan->parallels == 0 || plan->edits == 0)
		return HY_OK;
	all = hy_alloc_array(plan->allocator, (size_t) (origins->parallels + plan->parallels),
	                     sizeof(HyParallel));
	if (all == NULL)
		return HY_NOMEM;
	for (i = 0; i <= plan->edits; i++)
	{
		const Edit *edit = &plan->edit[i];

		for (; old_at < origins->parallels && (i == plan->edits || old[old_at].at < edit->at);
		     old_at++)
			all[count++] = (HyParallel){(uint32_t) (old[old_at].at + shift), old[old_at].origin,
			                            old[old_at].weight};
		if (i == plan->edits)
			break;
		while (edit->change <= 0 && old_at < origins->parallels && old[old_at].at == edit->at)
			old_at++;
		for (; edge_at < plan->parallels && edge[edge_at].at == i; edge_at++)
			all[count++] = (HyParallel){(uint32_t) (edit->at + shift), edge[edge_at].origin,
			                            edge[edge_at].weight};
		shift += edit->change;
	}
	hy_free(plan->allocator, origins->parallel);
	origins->parallel = all;
	origins->parallels = count;
	return HY_OK;
}

/*
 * renumber: give all entries the numbers that their nodes have after the patch.  The numbers in an
 * entry that is deleted do not matter.
 */
static HyStatus
renumber(Plan *plan)
{
	HyCsr *csr = plan->csr;
	int64_t groups = csr->nodes / NODES_PER_GROUP + 1;
	uint32_t *array[] = {csr->column, csr->out_row};
	int64_t shift = 0;
	int32_t *by;
	int64_t i;
	int a;

	for (i = 0; i < plan->nodes; i++)
	{
		shift += plan->node[i].change;
		plan->node[i].other = shift;
	}
	/* nodes after the last one change no number */
	if (plan->nodes == 0 || plan->node[0].at == csr->nodes)
		return HY_OK;
	by = hy_alloc_array(plan->allocator, (size_t) groups, sizeof(int32_t));
	if (by == NULL)
		return HY_NOMEM;
	/* INT32_MAX: not the same for all nodes of the group */
	for (i = 0; i < groups; i++)
	{
		int64_t steps = count_before(plan, i * NODES_PER_GROUP);

		by[i] = count_before(plan, (i + 1) * NODES_PER_GROUP) != steps ? INT32_MAX
		        : steps == 0                                           ? 0
		                     : (int32_t) plan->node[steps - 1].other;
	}
	for (a = 0; a < 2; a++)
	{
		for (i = 0; i < csr->edges; i++)
		{
			int64_t node = array[a][i];
			int64_t change = by[node / NODES_PER_GROUP];

			if (i % BLOCK == 0 && hy_cancelled(plan->cancel))
			{
				hy_free(plan->allocator, by);
				return HY_CANCELLED;
			}
			if (change == INT32_MAX)
			{
				int64_t steps = count_before(plan, node + 1);

				change = steps == 0 ? 0 : plan->node[steps - 1].other;
			}
			array[a][i] = (uint32_t) (node + change);
		}
	}
	hy_free(plan->allocator, by);
	return HY_OK;
}

/* count_before: return the number of steps of nodes before this node. */
static int64_t
count_before(const Plan *plan, int64_t node)
{
	int64_t low = 0;
	int64_t high = plan->nodes;

	while (low < high)
	{
		int64_t middle = low + (high - low) / 2;

		if (plan->node[middle].at < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* move_ids: insert and delete nodes, except in the arrays of starts. */
static void
move_ids(Plan *plan)
{
	HyCsr *csr = plan->csr;
	int64_t shift = 0;
	int64_t i;

	move(csr->ids, sizeof(*csr->ids), csr->nodes, plan->node, plan->nodes);
	move(csr->out_weight, sizeof(*csr->out_weight), csr->nodes, plan->node, plan->nodes);
	for (i = 0; i < plan->nodes; i++)
	{
		const Step *step = &plan->node[i];

		if (step->change > 0)
		{
			csr->ids[step->at + shift] = step->id;
			csr->out_weight[step->at + shift] = 0;
		}
		shift += step->change;
	}
	csr->nodes += shift;
}

/* move_starts: adjust the starts of lists to the nodes and entries that come and go. */
static void
move_starts(const Plan *plan, int64_t *start, int64_t nodes, const Step *entry)
{
	const HyCsr *csr = plan->csr;
	int64_t shift = 0;
	int64_t next = 0;
	int64_t i;

	/* the list of a new node is still empty, so it starts where the list of the next node starts */
	for (i = 0; i < plan->nodes; i++)
		plan->node[i].other = start[plan->node[i].at];
	move(start, sizeof(*start), nodes + 1, plan->node, plan->nodes);
	for (i = 0; i < plan->nodes; i++)
	{
		const Step *step = &plan->node[i];

		if (step->change > 0)
			start[step->at + shift] = step->other;
		shift += step->change;
	}
	shift = 0;
	for (i = 0; i <= csr->nodes; i++)
	{
		for (; next < plan->steps && (i == csr->nodes || entry[next].id < csr->ids[i]); next++)
			shift += entry[next].change;
		start[i] += shift;
	}
}

/* insert_entries: fill in the inserted entries. */
static HyStatus
insert_entries(Plan *plan)
{
	HyCsr *csr = plan->csr;
	int64_t shift = 0;
	int64_t i;

	for (i = 0; i < plan->edits; i++)
	{
		const Edit *edit = &plan->edit[i];
		int64_t at = edit->at + shift;

		if (stop_at(plan, i))
			return HY_CANCELLED;
		shift += edit->change;
		if (edit->change <= 0)
			continue;
		csr->column[at] = (uint32_t) hy_csr_first(csr, edit->column);
		csr->weight[at] = edit->weight;
		plan->origins->entry[at] = edit->origin;
	}
	shift = 0;
	for (i = 0; i < plan->steps; i++)
	{
		const Step *step = &plan->out[i];

		if (stop_at(plan, i))
			return HY_CANCELLED;
		if (step->change > 0)
			csr->out_row[step->at + shift] = (uint32_t) hy_csr_first(csr, step->other);
		shift += step->change;
	}
	return HY_OK;
}

/* sum_again: compute s_i for the nodes whose outgoing entries have changed. */
static HyStatus
sum_again(Plan *plan)
{
	HyCsr *csr = plan->csr;
	const HyAllocator *allocator = plan->allocator;
	uint32_t *source = hy_alloc_array(allocator, (size_t) plan->edits + 1, sizeof(uint32_t));
	int64_t *next = hy_alloc_array(allocator, (size_t) plan->edits + 1, sizeof(int64_t));
	uint64_t *wanted = hy_alloc_zero(allocator, (size_t) (csr->nodes / 64 + 1) * sizeof(uint64_t));
	const uint32_t *column = csr->column;
	const int64_t edges = csr->edges;
	float *leaving = NULL;
	HyStatus status = HY_NOMEM;
	int64_t total = 0;
	int64_t count;
	int64_t i;

	if (source == NULL || next == NULL || wanted == NULL)
		goto done;
	status = find_sources(plan, source, &count);
	if (status != HY_OK)
		goto done;
	for (i = 0; i < count; i++)
	{
		wanted[source[i] / 64] |= (uint64_t) 1 << source[i] % 64;
		next[i] = total;
		total += csr->out_start[source[i] + 1] - csr->out_start[source[i]];
	}
	status = HY_NOMEM;
	leaving = hy_alloc_array(allocator, (size_t) total + 1, sizeof(float));
	if (leaving == NULL)
		goto done;
	status = HY_CANCELLED;
	for (i = 0; count > 0 && i < edges; i++)
	{
		if (i % BLOCK == 0 && hy_cancelled(plan->cancel))
			goto done;
		if ((wanted[column[i] / 64] >> column[i] % 64 & 1) != 0)
			leaving[next[first_number(source, 0, count, column[i])]++] = csr->weight[i];
	}
	for (i = count; i-- > 0;)
	{
		int64_t length = csr->out_start[source[i] + 1] - csr->out_start[source[i]];

		csr->out_weight[source[i]] = hy_csr_sum(leaving + next[i] - length, length);
	}
	status = HY_OK;

done:
	hy_free(allocator, source);
	hy_free(allocator, next);
	hy_free(allocator, wanted);
	hy_free(allocator, leaving);
	return status;
}

/* find_sources: list the nodes whose outgoing entries have changed, ascending, and count them. */
static HyStatus
find_sources(const Plan *plan, uint32_t *source, int64_t *count)
{
	const HyCsr *csr = plan->csr;
	int64_t found = 0;
	int64_t i;
	HyStatus status;

	*count = 0;
	for (i = 0; i < plan->edits; i++)
	{
		int64_t node;

		if (stop_at(plan, i))
			return HY_CANCELLED;
		node = plan->edit[i].differs ? hy_csr_find(csr, plan->edit[i].column) : -1;
		if (node >= 0)
			source[found++] = (uint32_t) node;
	}
	status = sort(plan, source, found, sizeof(*source), compare_numbers);
	for (i = 0; i < found; i++)
	{
		if (*count == 0 || source[*count - 1] != source[i])
			source[(*count)++] = source[i];
	}
	return status;
}

/*
 * move: move the parts of an array between its steps.  Parts that move up are moved first, the last
 * of them first.  Then parts that move down are moved, the first of them first.  So no part
 * overwrites another that has yet to be moved.
 */
static void
move(void *array, size_t size, int64_t count, const Step *step, int64_t steps)
{
	char *base = array;
	int64_t shift = 0;
	int64_t end = count;
	int64_t i;

	for (i = 0; i < steps; i++)
		shift += step[i].change;
	for (i = steps; i-- > 0;)
	{
		int64_t begin = step[i].at + (step[i].change < 0);

		if (shift > 0)
			memmove(base + (size_t) (begin + shift) * size, base + (size_t) begin * size,
			        (size_t) (end - begin) * size);
		shift -= step[i].change;
		end = step[i].at;
	}
	for (i = 0; i < steps; i++)
	{
		int64_t begin = step[i].at + (step[i].change < 0);

		end = i + 1 < steps ? step[i + 1].at : count;
		shift += step[i].change;
		if (shift < 0)
			memmove(base + (size_t) (begin + shift) * size, base + (size_t) begin * size,
			        (size_t) (end - begin) * size);
	}
}

/*
 * enlarge: replace an array of count elements by a copy with space for `room` elements.  array is
 * the address of the pointer to the array.
 */
static HyStatus
enlarge(const HyAllocator *allocator, void *array, size_t size, int64_t count, int64_t room)
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

/* sort: like qsort, but can be canceled.  Sorts blocks, and merges them. */
static HyStatus
sort(const Plan *plan, void *array, int64_t count, size_t size,
     int (*compare)(const void *, const void *))
{
	char *from = array;
	char *scratch;
	char *to;
	HyStatus status = HY_CANCELLED;
	int64_t length;
	int64_t i;

	if (count <= BLOCK)
	{
		if (count > 1)
			qsort(array, (size_t) count, size, compare);
		return HY_OK;
	}
	scratch = hy_alloc_array(plan->allocator, (size_t) count, size);
	if (scratch == NULL)
		return HY_NOMEM;
	for (i = 0; i < count; i += BLOCK)
	{
		if (hy_cancelled(plan->cancel))
			goto done;
		qsort(from + (size_t) i * size, (size_t) (count - i < BLOCK ? count - i : BLOCK), size,
		      compare);
	}
	to = scratch;
	for (length = BLOCK; length < count; length *= 2)
	{
		int64_t left = 0;
		int64_t right = 0;
		int64_t left_end = 0;
		int64_t right_end = 0;
		char *swap = from;

		for (i = 0; i < count; i++)
		{
			int64_t next;

			if (stop_at(plan, i))
				goto done;
			if (i == right_end)
			{
				left = i;
				left_end = right = count - i < length ? count : i + length;
				right_end = count - right < length ? count : right + length;
			}
			if (left < left_end &&
			    (right == right_end ||
			     compare(from + (size_t) left * size, from + (size_t) right * size) <= 0))
				next = left++;
			else
				next = right++;
			memcpy(to + (size_t) i * size, from + (size_t) next * size, size);
		}
		from = to;
		to = swap;
	}
	if (from != array)
		memcpy(array, from, (size_t) count * size);
	status = HY_OK;

done:
	hy_free(plan->allocator, scratch);
	return status;
}

/* first_number: return the place of the first of ascending numbers that is not below least. */
static int64_t
first_number(const uint32_t *number, int64_t begin, int64_t end, int64_t least)
{
	while (begin < end)
	{
		int64_t middle = begin + (end - begin) / 2;

		if (number[middle] < least)
			begin = middle + 1;
		else
			end = middle;
	}
	return begin;
}

static int
compare_cells(const void *a, const void *b)
{
	const Cell *left = a;
	const Cell *right = b;

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
	const Step *left = a;
	const Step *right = b;

	return compare_pairs(left->id, left->other, right->id, right->other);
}

static int
compare_numbers(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *) a;
	uint32_t right = *(const uint32_t *) b;

	return left < right ? -1 : left > right;
}
