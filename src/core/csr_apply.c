/*
 * csr_apply.c
 *		Applies the plan of a patch: see csr_plan.h.
 *
 * The entries between two edits move together: one position forward for each earlier insertion, and
 * one position back for each earlier deletion.  If nodes appear or vanish, the nodes after them get
 * other numbers.  Entries are renumbered while they move.  The sums s_i are computed again for the
 * nodes whose outgoing entries changed.
 */
#include "core/csr_plan.h"

#include <string.h>

#include "core/merge_sort.h"

/* nodes per group; usually one shift of the numbers serves a whole group */
#define NODES_PER_GROUP 64

/* instead of a shift: the numbers of the group's nodes change by different amounts */
#define VARIES INT32_MAX

/* node numbers moved at a time, and renumbered while they are still in the cache */
#define NUMBERS_PER_BLOCK 4096

/* number of binary searches that run interleaved */
#define SEARCHES 16

static HyStatus make_room(HyCsrPlan *plan);
static HyStatus move_parallels(HyCsrPlan *plan);
static HyStatus plan_numbers(HyCsrPlan *plan);
static void renumber(const HyCsrPlan *plan, uint32_t *number, int64_t count);
static int64_t count_before(const HyCsrPlan *plan, int64_t node);
static void move_ids(HyCsrPlan *plan);
static void
move_starts(const HyCsrPlan *plan, uint32_t *start, int64_t nodes, const HyCsrStep *entry);
static HyStatus insert_entries(HyCsrPlan *plan);
static HyStatus sum_again(HyCsrPlan *plan);
static void
find_weights(const HyCsr *csr, const uint32_t *row, int64_t rows, uint32_t source, float *weight);
static HyStatus
find_sources(const HyCsrPlan *plan, uint32_t *source, int64_t *count, int64_t *most);
static HyStatus move(const HyCsrPlan *renumbered, void *array, size_t size, int64_t count,
                     const HyCsrStep *step, int64_t steps);
static HyStatus move_part(const HyCsrPlan *renumbered, void *array, size_t size, int64_t begin,
                          int64_t count, int64_t shift);
static int compare_numbers(const void *a, const void *b);

HyStatus
hy_csr_plan_apply(HyCsrPlan *plan)
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
		status = plan_numbers(plan);
	if (status != HY_OK)
		return status;
	for (i = 0; i < plan->edits; i++)
	{
		const HyCsrEdit *edit = &plan->edit[i];

		if (edit->change != 0)
			continue;
		csr->weight[edit->at] = edit->weight;
		csr->at_least_one = csr->at_least_one && edit->weight >= 1;
		origins->entry[edit->at] = edit->origin;
	}
	if (plan->steps > 0)
	{
		status = move(plan, csr->column, sizeof(*csr->column), edges, plan->in, plan->steps);
		if (status == HY_OK)
			status = move(plan, csr->out_row, sizeof(*csr->out_row), edges, plan->out, plan->steps);
		if (status != HY_OK)
			return status;
		move(NULL, csr->weight, sizeof(*csr->weight), edges, plan->in, plan->steps);
		move(NULL, origins->entry, sizeof(*origins->entry), edges, plan->in, plan->steps);
		move_ids(plan);
		move_starts(plan, csr->row_start, nodes, plan->in);
		move_starts(plan, csr->out_start, nodes, plan->out);
		csr->edges = csr->row_start[csr->nodes];
		status = insert_entries(plan);
	}
	return status == HY_OK ? sum_again(plan) : status;
}

/*
 * make_room: enlarge the arrays that are too small.  Returns HY_QUOTA if the new graph would be too
 * large.
 */
static HyStatus
make_room(HyCsrPlan *plan)
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
		int64_t room = hy_csr_room(nodes);

		status = hy_enlarge(allocator, &csr->ids, sizeof(*csr->ids), csr->nodes, room);
		if (status == HY_OK)
			status = hy_enlarge(allocator, &csr->row_start, sizeof(*csr->row_start), csr->nodes + 1,
			                    room + 1);
		if (status == HY_OK)
			status = hy_enlarge(allocator, &csr->out_start, sizeof(*csr->out_start), csr->nodes + 1,
			                    room + 1);
		if (status == HY_OK)
			status =
				hy_enlarge(allocator, &csr->out_weight, sizeof(*csr->out_weight), csr->nodes, room);
		origins->node_room = room;
	}
	if (status == HY_OK && edges > origins->edge_room)
	{
		int64_t room = hy_csr_room(edges);

		status = hy_enlarge(allocator, &csr->column, sizeof(*csr->column), csr->edges, room);
		if (status == HY_OK)
			status = hy_enlarge(allocator, &csr->weight, sizeof(*csr->weight), csr->edges, room);
		if (status == HY_OK)
			status = hy_enlarge(allocator, &csr->out_row, sizeof(*csr->out_row), csr->edges, room);
		if (status == HY_OK)
			status =
				hy_enlarge(allocator, &origins->entry, sizeof(*origins->entry), csr->edges, room);
		origins->edge_room = room;
	}
	return status;
}

/*
 * move_parallels: replace the parallel edges of edited entries, and adjust the index `at` of the
 * others.
 */
static HyStatus
move_parallels(HyCsrPlan *plan)
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
		const HyCsrEdit *edit = &plan->edit[i];

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

/* plan_numbers: determine, per group, by how much the numbers of the nodes change. */
static HyStatus
plan_numbers(HyCsrPlan *plan)
{
	const HyCsr *csr = plan->csr;
	int64_t groups = csr->nodes / NODES_PER_GROUP + 1;
	int64_t shift = 0;
	int64_t i;

	for (i = 0; i < plan->nodes; i++)
	{
		shift += plan->node[i].change;
		plan->node[i].other = shift;
	}
	/* nodes that are only appended change no existing number */
	if (plan->nodes == 0 || plan->node[0].at == csr->nodes)
		return HY_OK;
	plan->shift = hy_alloc_array(plan->allocator, (size_t) groups, sizeof(int32_t));
	if (plan->shift == NULL)
		return HY_NOMEM;
	for (i = 0; i < groups; i++)
	{
		/* one shift serves the group if no step lies between its first and its last node */
		int64_t steps = count_before(plan, i * NODES_PER_GROUP + 1);

		plan->shift[i] = count_before(plan, (i + 1) * NODES_PER_GROUP) != steps ? VARIES
		                 : steps == 0                                           ? 0
		                              : (int32_t) plan->node[steps - 1].other;
	}
	return HY_OK;
}

/*
 * renumber: replace node numbers by the numbers after the patch.  The result for a deleted
 * node does not matter.
 */
static void
renumber(const HyCsrPlan *plan, uint32_t *number, int64_t count)
{
	const int32_t first = (int32_t) plan->node[0].at;
	const int32_t shift_of_all = (int32_t) plan->node[plan->nodes - 1].other;
	int64_t i = 0;

	/* if all steps are at one node, one shift serves all, and compilers can vectorize the loop */
	if (plan->node[plan->nodes - 1].at == first)
	{
		for (; i < count; i++)
			number[i] += (int32_t) number[i] >= first ? (uint32_t) shift_of_all : 0;
	}
	for (; i < count; i++)
	{
		int64_t node = number[i];
		int64_t shift = plan->shift[node / NODES_PER_GROUP];

		if (shift == VARIES)
		{
			int64_t steps = count_before(plan, node + 1);

			shift = steps == 0 ? 0 : plan->node[steps - 1].other;
		}
		number[i] = (uint32_t) (node + shift);
	}
}

/* count_before: return the number of steps in plan->node that lie before this node. */
static int64_t
count_before(const HyCsrPlan *plan, int64_t node)
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

/* move_ids: insert and delete nodes in csr->ids and csr->out_weight. */
static void
move_ids(HyCsrPlan *plan)
{
	HyCsr *csr = plan->csr;
	int64_t shift = 0;
	int64_t i;

	move(NULL, csr->ids, sizeof(*csr->ids), csr->nodes, plan->node, plan->nodes);
	move(NULL, csr->out_weight, sizeof(*csr->out_weight), csr->nodes, plan->node, plan->nodes);
	for (i = 0; i < plan->nodes; i++)
	{
		const HyCsrStep *step = &plan->node[i];

		if (step->change > 0)
		{
			csr->ids[step->at + shift] = step->id;
			csr->out_weight[step->at + shift] = 0;
		}
		shift += step->change;
	}
	csr->nodes += shift;
}

/*
 * move_starts: insert and delete nodes in an array of list starts, and shift the starts by the
 * entries that were inserted and deleted before them.
 */
static void
move_starts(const HyCsrPlan *plan, uint32_t *start, int64_t nodes, const HyCsrStep *entry)
{
	const HyCsr *csr = plan->csr;
	int64_t shift = 0;
	int64_t next = 0;
	int64_t i;

	/* the list of a new node is still empty, so it starts where the list of the next node starts */
	for (i = 0; i < plan->nodes; i++)
		plan->node[i].other = start[plan->node[i].at];
	move(NULL, start, sizeof(*start), nodes + 1, plan->node, plan->nodes);
	for (i = 0; i < plan->nodes; i++)
	{
		const HyCsrStep *step = &plan->node[i];

		if (step->change > 0)
			start[step->at + shift] = (uint32_t) step->other;
		shift += step->change;
	}
	shift = 0;
	for (i = 0; i <= csr->nodes; i++)
	{
		for (; next < plan->steps && (i == csr->nodes || entry[next].id < csr->ids[i]); next++)
			shift += entry[next].change;
		start[i] = (uint32_t) (start[i] + shift);
	}
}

/* insert_entries: fill in the inserted entries. */
static HyStatus
insert_entries(HyCsrPlan *plan)
{
	HyCsr *csr = plan->csr;
	int64_t shift = 0;
	int64_t i;

	for (i = 0; i < plan->edits; i++)
	{
		const HyCsrEdit *edit = &plan->edit[i];
		int64_t at = edit->at + shift;

		if (hy_cancelled_at(i, plan->cancel))
			return HY_CANCELLED;
		shift += edit->change;
		if (edit->change <= 0)
			continue;
		csr->column[at] = (uint32_t) hy_csr_first(csr, edit->column);
		csr->weight[at] = edit->weight;
		csr->at_least_one = csr->at_least_one && edit->weight >= 1;
		plan->origins->entry[at] = edit->origin;
	}
	shift = 0;
	for (i = 0; i < plan->steps; i++)
	{
		const HyCsrStep *step = &plan->out[i];

		if (hy_cancelled_at(i, plan->cancel))
			return HY_CANCELLED;
		if (step->change > 0)
			csr->out_row[step->at + shift] = (uint32_t) hy_csr_first(csr, step->other);
		shift += step->change;
	}
	return HY_OK;
}

/*
 * sum_again: compute s_i again for the nodes whose outgoing entries have changed.  The weights of their
 * entries are looked up in the rows.
 */
static HyStatus
sum_again(HyCsrPlan *plan)
{
	HyCsr *csr = plan->csr;
	uint32_t *source = hy_alloc_array(plan->allocator, (size_t) plan->edits + 1, sizeof(uint32_t));
	float *leaving = NULL;
	HyStatus status = source == NULL ? HY_NOMEM : HY_OK;
	int64_t most = 0;
	int64_t polled = 0;
	int64_t count = 0;
	int64_t i;

	if (status == HY_OK)
		status = find_sources(plan, source, &count, &most);
	if (status == HY_OK)
	{
		leaving = hy_alloc_array(plan->allocator, (size_t) most + 1, sizeof(float));
		status = leaving == NULL ? HY_NOMEM : HY_OK;
	}
	for (i = 0; status == HY_OK && i < count; i++)
	{
		const uint32_t *row = csr->out_row + csr->out_start[source[i]];
		int64_t length = csr->out_start[source[i] + 1] - csr->out_start[source[i]];
		int64_t k;

		for (k = 0; status == HY_OK && k < length; k += SEARCHES)
		{
			if (hy_cancelled_at(polled++, plan->cancel))
				status = HY_CANCELLED;
			find_weights(csr, row + k, length - k < SEARCHES ? length - k : SEARCHES, source[i],
			             leaving + k);
		}
		if (status == HY_OK)
			csr->out_weight[source[i]] = hy_csr_sum(leaving, length);
	}
	hy_free(plan->allocator, source);
	hy_free(plan->allocator, leaving);
	return status;
}

/*
 * find_weights: look up the weight of the entry with this source in each of the given rows.  Every row has
 * such an entry.  The searches are interleaved, so that their memory accesses overlap.
 */
static void
find_weights(const HyCsr *csr, const uint32_t *row, int64_t rows, uint32_t source, float *weight)
{
	uint32_t first[SEARCHES];
	uint32_t count[SEARCHES];
	bool more = rows > 0;
	int64_t k;

	for (k = 0; k < rows; k++)
	{
		first[k] = csr->row_start[row[k]];
		count[k] = csr->row_start[row[k] + 1] - first[k];
	}
	while (more)
	{
		more = false;
		for (k = 0; k < rows; k++)
		{
			uint32_t half = count[k] / 2;
			uint32_t before = first[k] + half - (half > 0);

			/* no branch, because half of its predictions would be wrong */
			first[k] += half & (uint32_t) - (int32_t) (csr->column[before] < source);
			count[k] -= half;
			more = more || count[k] > 1;
		}
	}
	for (k = 0; k < rows; k++)
		weight[k] = csr->weight[first[k]];
}

/*
 * find_sources: list the nodes whose outgoing entries have changed, ascending, and count them.  Sets *most
 * to the largest number of outgoing entries that one of these nodes has.
 */
static HyStatus
find_sources(const HyCsrPlan *plan, uint32_t *source, int64_t *count, int64_t *most)
{
	const HyCsr *csr = plan->csr;
	int64_t found = 0;
	int64_t i;
	HyStatus status;

	*count = 0;
	for (i = 0; i < plan->edits; i++)
	{
		int64_t node;

		if (hy_cancelled_at(i, plan->cancel))
			return HY_CANCELLED;
		node = plan->edit[i].differs ? hy_csr_find(csr, plan->edit[i].column) : -1;
		if (node >= 0)
			source[found++] = (uint32_t) node;
	}
	status = hy_merge_sort(source, found, sizeof(*source), compare_numbers, plan->allocator,
	                       plan->cancel);
	for (i = 0; i < found; i++)
	{
		int64_t length = csr->out_start[source[i] + 1] - csr->out_start[source[i]];

		if (*count == 0 || source[*count - 1] != source[i])
			source[(*count)++] = source[i];
		*most = length > *most ? length : *most;
	}
	return status;
}

/*
 * move: move the parts of an array that lie between its steps.  First move the parts that go toward
 * the end of the array, from the last to the first.  Then move the parts that go toward its start,
 * from the first to the last.  So no part overwrites another part that has yet to be moved.  If
 * `renumbered` is not NULL, the array holds node numbers, and move renumbers them too.
 */
static HyStatus
move(const HyCsrPlan *renumbered, void *array, size_t size, int64_t count, const HyCsrStep *step,
     int64_t steps)
{
	HyStatus status = HY_OK;
	int64_t shift = 0;
	int64_t end = count;
	int64_t i;

	for (i = 0; i < steps; i++)
		shift += step[i].change;
	for (i = steps; status == HY_OK && i-- > 0;)
	{
		int64_t begin = step[i].at + (step[i].change < 0);

		if (shift > 0)
			status = move_part(renumbered, array, size, begin, end - begin, shift);
		shift -= step[i].change;
		end = step[i].at;
	}
	if (status == HY_OK)
		status = move_part(renumbered, array, size, 0, end, 0);
	for (i = 0; status == HY_OK && i < steps; i++)
	{
		int64_t begin = step[i].at + (step[i].change < 0);

		end = i + 1 < steps ? step[i + 1].at : count;
		shift += step[i].change;
		if (shift <= 0)
			status = move_part(renumbered, array, size, begin, end - begin, shift);
	}
	return status;
}

/* move_part: move `count` elements by `shift` positions, and renumber them if required. */
static HyStatus
move_part(const HyCsrPlan *renumbered, void *array, size_t size, int64_t begin, int64_t count,
          int64_t shift)
{
	char *from = (char *) array + (size_t) begin * size;
	char *to = from + shift * (int64_t) size;
	int64_t done = 0;

	if (renumbered == NULL || renumbered->shift == NULL)
	{
		if (shift != 0)
			memmove(to, from, (size_t) count * size);
		return HY_OK;
	}
	while (done < count)
	{
		int64_t block = count - done < NUMBERS_PER_BLOCK ? count - done : NUMBERS_PER_BLOCK;
		int64_t at = shift > 0 ? count - done - block : done;

		/* poll once per HY_CANCEL_BLOCK elements, even if the parts are small */
		if ((begin + at) / HY_CANCEL_BLOCK != (begin + at + block) / HY_CANCEL_BLOCK &&
		    hy_cancelled(renumbered->cancel))
			return HY_CANCELLED;
		memmove(to + (size_t) at * size, from + (size_t) at * size, (size_t) block * size);
		renumber(renumbered, (uint32_t *) (to + (size_t) at * size), block);
		done += block;
	}
	return HY_OK;
}

static int
compare_numbers(const void *a, const void *b)
{
	uint32_t left = *(const uint32_t *) a;
	uint32_t right = *(const uint32_t *) b;

	return left < right ? -1 : left > right;
}
