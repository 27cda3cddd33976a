/*
 * csr_patch_test.c
 *		Patched graphs have the bits of graphs that are built anew, whatever changes; and what happens
 *		when memory runs out, the call is canceled, or a sum overflows.
 */
#include "graph_stage.h"

#include <float.h>

#include "core/csr_patch.h"

#define ORIGINS 40
#define MOST_OF_ORIGIN 30

/* Table: the edges of all origins. */
typedef struct Table
{
	HyEdge edge[ORIGINS][MOST_OF_ORIGIN];
	int64_t count[ORIGINS];
	int64_t most; /* edges of an origin */
	int64_t ids;
	bool extreme; /* ids at both ends of int64 */
	bool ones;    /* few weights are below 1 */
	HyDirection direction;
	HyMerge merge;
} Table;

/* Change: the edges of the origins that change. */
typedef struct Change
{
	bool changed[ORIGINS + 1]; /* by origin */
	HyEdge edge[ORIGINS * MOST_OF_ORIGIN];
	uint32_t origin[ORIGINS * MOST_OF_ORIGIN];
	int64_t count;
} Change;

static int64_t
random_id(UnitRandom *random, const Table *table)
{
	int64_t id = (int64_t) unit_random_below(random, (uint64_t) table->ids);

	if (table->extreme)
		return id % 2 == 0 ? INT64_MIN + id / 2 : INT64_MAX - id / 2;
	return id * 3 - table->ids;
}

static HyEdge
random_edge(UnitRandom *random, const Table *table)
{
	static const float weights[] = {0, -0.0F, 1, 1e-30F, 1e30F, FLT_MAX / 1e4F};
	HyEdge edge = {random_id(random, table), random_id(random, table), 0};

	if (table->ones)
	{
		edge.weight = unit_random_below(random, 100) == 0 ? 0.5F : 1;
		return edge;
	}
	edge.weight = unit_random_below(random, 2) == 0 ? weights[unit_random_below(random, 6)]
	                                                : (float) unit_random_unit(random);
	return edge;
}

/* change_origin: give an origin other edges, or some of them, or the same in another order. */
static void
change_origin(UnitRandom *random, Table *table, int origin)
{
	HyEdge *edge = table->edge[origin];
	int64_t *count = &table->count[origin];
	int64_t i;

	switch (unit_random_below(random, 6))
	{
		case 0:
			*count = 0;
			break;
		case 1:
			break;
		case 2:
			if (*count > 1)
			{
				HyEdge first = edge[0];

				edge[0] = edge[*count - 1];
				edge[*count - 1] = first;
			}
			break;
		case 3:
			if (*count > 0)
				edge[unit_random_below(random, (uint64_t) *count)].weight =
					random_edge(random, table).weight;
			break;
		case 4:
			if (*count < table->most)
				edge[(*count)++] = random_edge(random, table);
			break;
		default:
			*count = (int64_t) unit_random_below(random, (uint64_t) table->most + 1);
			for (i = 0; i < *count; i++)
				edge[i] = random_edge(random, table);
	}
}

/* list: list the edges of the origins in changed. */
static void
list(const Table *table, uint64_t changed, Change *change)
{
	int origin;
	int64_t i;

	/* origins are above 0 */
	change->changed[0] = false;
	change->count = 0;
	for (origin = 0; origin < ORIGINS; origin++)
	{
		change->changed[origin + 1] = (changed >> origin & 1) != 0;
		for (i = 0; change->changed[origin + 1] && i < table->count[origin]; i++)
		{
			change->origin[change->count] = (uint32_t) origin + 1;
			change->edge[change->count++] = table->edge[origin][i];
		}
	}
}

static HyStatus
build(const Table *table, const HyAllocator *allocator, HyCsr *csr, HyOrigins *origins)
{
	Change *all = malloc(sizeof(Change));
	HyCsrInput input = {.edge = all->edge,
	                    .origin = all->origin,
	                    .direction = table->direction,
	                    .merge = table->merge};
	HyStatus status;

	list(table, UINT64_MAX, all);
	input.count = all->count;
	status = hy_csr_build_from(&input, allocator, NULL, csr, origins);
	free(all);
	return status;
}

static HyStatus
patch(const Table *table, uint64_t changed, const HyAllocator *allocator, const HyCancel *cancel,
      HyCsr *csr, HyOrigins *origins, bool *differs)
{
	Change *change = malloc(sizeof(Change));
	HyCsrPatch what = {.changed = change->changed,
	                   .edge = change->edge,
	                   .origin = change->origin,
	                   .direction = table->direction,
	                   .merge = table->merge};
	HyStatus status;

	list(table, changed, change);
	what.count = change->count;
	status = hy_csr_patch(csr, origins, &what, allocator, cancel, differs);
	free(change);
	return status;
}

static int
compare_parallels(const void *a, const void *b)
{
	const HyParallel *left = a;
	const HyParallel *right = b;

	if (left->at != right->at)
		return left->at < right->at ? -1 : 1;
	if (left->weight != right->weight)
		return left->weight < right->weight ? -1 : 1;
	return left->origin < right->origin ? -1 : left->origin > right->origin;
}

static bool
same_graph(const HyCsr *a, const HyCsr *b)
{
	size_t nodes = (size_t) a->nodes;
	size_t edges = (size_t) a->edges;

	return a->nodes == b->nodes && a->edges == b->edges &&
	       memcmp(a->ids, b->ids, nodes * sizeof(*a->ids)) == 0 &&
	       memcmp(a->row_start, b->row_start, (nodes + 1) * sizeof(*a->row_start)) == 0 &&
	       memcmp(a->column, b->column, edges * sizeof(*a->column)) == 0 &&
	       memcmp(a->weight, b->weight, edges * sizeof(*a->weight)) == 0 &&
	       memcmp(a->out_weight, b->out_weight, nodes * sizeof(*a->out_weight)) == 0 &&
	       memcmp(a->out_start, b->out_start, (nodes + 1) * sizeof(*a->out_start)) == 0 &&
	       memcmp(a->out_row, b->out_row, edges * sizeof(*a->out_row)) == 0;
}

/* check_same: check that a patched graph and its origins are as if built anew.  Sorts parallel edges. */
static void
check_same(const HyCsr *csr, HyOrigins *origins, const HyCsr *anew, HyOrigins *origins_anew)
{
	size_t parallels = (size_t) origins->parallels;
	size_t i;

	CHECK(same_graph(csr, anew));
	/* a patch does not look for the last weight below 1 */
	CHECK(!csr->at_least_one || anew->at_least_one);
	CHECK_INT(origins->parallels, origins_anew->parallels);
	if (csr->edges != anew->edges || origins->parallels != origins_anew->parallels)
		return;
	CHECK(memcmp(origins->entry, origins_anew->entry, (size_t) csr->edges * sizeof(uint32_t)) == 0);
	if (parallels > 0)
	{
		qsort(origins->parallel, parallels, sizeof(HyParallel), compare_parallels);
		qsort(origins_anew->parallel, parallels, sizeof(HyParallel), compare_parallels);
	}
	for (i = 0; i < parallels; i++)
	{
		CHECK_INT(origins->parallel[i].at, origins_anew->parallel[i].at);
		CHECK_INT(origins->parallel[i].origin, origins_anew->parallel[i].origin);
		CHECK(origins->parallel[i].weight == origins_anew->parallel[i].weight);
	}
}

static void
free_both(HyCsr *csr, HyOrigins *origins, const HyAllocator *allocator)
{
	hy_csr_free(csr, allocator);
	hy_origins_free(origins, allocator);
}

static void
fill_table(UnitRandom *random, Table *table, int64_t ids, int64_t most)
{
	int origin;

	memset(table, 0, sizeof(*table));
	table->ids = ids;
	table->most = most;
	table->extreme = unit_random_below(random, 4) == 0;
	table->ones = unit_random_below(random, 4) == 0;
	table->direction = (HyDirection) unit_random_below(random, 3);
	table->merge = (HyMerge) unit_random_below(random, 2);
	for (origin = 0; origin < ORIGINS; origin++)
		change_origin(random, table, origin);
}

static void
test_random_changes(void)
{
	UnitRandom random = {31};
	UnitMemory memory;
	int round;
	int step;

	unit_memory_init(&memory, 0);
	for (round = 0; round < 300; round++)
	{
		/* from many parallel edges to nearly none */
		static const int64_t ids[] = {3, 12, 100, 1000, 100000};
		Table *table = malloc(sizeof(Table));
		HyOrigins origins;
		HyCsr csr;

		fill_table(&random, table, ids[round % 5], 1 + round % MOST_OF_ORIGIN);
		CHECK_INT(build(table, &memory.allocator, &csr, &origins), HY_OK);
		for (step = 0; step < 20; step++)
		{
			uint64_t changed = unit_random(&random);
			HyOrigins origins_anew;
			HyCsr before;
			HyOrigins origins_before;
			HyCsr anew;
			bool differs;
			int origin;

			if (step % 2 == 0)
				changed &= unit_random(&random) & unit_random(&random) & unit_random(&random);
			CHECK_INT(build(table, &memory.allocator, &before, &origins_before), HY_OK);
			for (origin = 0; origin < ORIGINS; origin++)
			{
				if ((changed >> origin & 1) != 0)
					change_origin(&random, table, origin);
			}
			CHECK_INT(patch(table, changed, &memory.allocator, NULL, &csr, &origins, &differs),
			          HY_OK);
			CHECK_INT(build(table, &memory.allocator, &anew, &origins_anew), HY_OK);
			check_same(&csr, &origins, &anew, &origins_anew);
			CHECK_INT(differs, !same_graph(&before, &anew));
			free_both(&anew, &origins_anew, &memory.allocator);
			free_both(&before, &origins_before, &memory.allocator);
		}
		free_both(&csr, &origins, &memory.allocator);
		free(table);
	}
	CHECK_INT(memory.outstanding, 0);
}

/* Nodes appear and vanish at both ends and between, one at a time, and the graph becomes empty. */
static void
test_nodes_come_and_go(void)
{
	UnitRandom random = {32};
	Table *table = calloc(1, sizeof(Table));
	HyOrigins origins;
	HyCsr csr;
	int step;

	table->ids = 5000;
	table->most = 1;
	CHECK_INT(build(table, &hy_malloc_allocator, &csr, &origins), HY_OK);
	for (step = 0; step < 400; step++)
	{
		int origin = (int) unit_random_below(&random, ORIGINS);
		HyOrigins origins_anew;
		HyCsr anew;
		bool differs;

		table->count[origin] = step < 300 || step % 3 == 0 ? !table->count[origin] : 0;
		table->edge[origin][0] = random_edge(&random, table);
		CHECK_INT(patch(table, (uint64_t) 1 << origin, &hy_malloc_allocator, NULL, &csr, &origins,
		                &differs),
		          HY_OK);
		CHECK_INT(build(table, &hy_malloc_allocator, &anew, &origins_anew), HY_OK);
		check_same(&csr, &origins, &anew, &origins_anew);
		free_both(&anew, &origins_anew, &hy_malloc_allocator);
	}
	memset(table->count, 0, sizeof(table->count));
	{
		bool differs;

		CHECK_INT(patch(table, UINT64_MAX, &hy_malloc_allocator, NULL, &csr, &origins, &differs),
		          HY_OK);
		CHECK_INT(csr.nodes, 0);
		CHECK_INT(csr.edges, 0);
		CHECK_INT(origins.parallels, 0);
	}
	free_both(&csr, &origins, &hy_malloc_allocator);
	free(table);
}

/* An edge that has moved to another origin leaves the graph as it is, and is found there. */
static void
test_edge_of_another_origin(void)
{
	Table *table = calloc(1, sizeof(Table));
	HyOrigins origins;
	HyCsr csr;
	bool differs;

	table->most = 1;
	table->count[0] = table->count[1] = 1;
	table->edge[0][0] = (HyEdge){1, 2, 3};
	table->edge[1][0] = (HyEdge){2, 3, 4};
	CHECK_INT(build(table, &hy_malloc_allocator, &csr, &origins), HY_OK);
	table->count[0] = 0;
	table->count[2] = 1;
	table->edge[2][0] = table->edge[0][0];
	CHECK_INT(patch(table, 5, &hy_malloc_allocator, NULL, &csr, &origins, &differs), HY_OK);
	CHECK(!differs);
	CHECK_INT(origins.entry[0], 3);
	table->count[2] = 0;
	CHECK_INT(patch(table, 4, &hy_malloc_allocator, NULL, &csr, &origins, &differs), HY_OK);
	CHECK(differs);
	CHECK_INT(csr.edges, 1);
	CHECK_INT(csr.nodes, 2);
	free_both(&csr, &origins, &hy_malloc_allocator);
	free(table);
}

static void
test_out_of_range(void)
{
	Table *table = calloc(1, sizeof(Table));
	HyOrigins origins;
	UnitMemory memory;
	HyCsr csr;
	bool differs;

	unit_memory_init(&memory, 0);
	table->most = 2;
	table->count[0] = table->count[1] = 1;
	table->edge[0][0] = (HyEdge){1, 2, FLT_MAX};
	table->edge[1][0] = (HyEdge){1, 2, 1};
	CHECK_INT(build(table, &memory.allocator, &csr, &origins), HY_OK);
	table->edge[1][0].weight = FLT_MAX;
	CHECK_INT(patch(table, 2, &memory.allocator, NULL, &csr, &origins, &differs), HY_INVALID);
	CHECK_INT(memory.outstanding, 0);
	table->edge[1][0].weight = 1;
	CHECK_INT(build(table, &memory.allocator, &csr, &origins), HY_OK);
	table->edge[1][0].weight = NAN;
	CHECK_INT(patch(table, 2, &memory.allocator, NULL, &csr, &origins, &differs), HY_INVALID);
	CHECK_INT(memory.outstanding, 0);
	free(table);
}

/* Owner: what before_change returns, and how often it was called. */
typedef struct Owner
{
	HyStatus status;
	int calls;
} Owner;

static HyStatus
ask_owner(void *arg)
{
	Owner *owner = arg;

	owner->calls++;
	return owner->status;
}

/* The owner of the arrays is asked before they change, and only then.  If it refuses, or the plan fails,
   they stay as they are. */
static void
test_before_change(void)
{
	UnitRandom random = {35};
	Table *table = calloc(1, sizeof(Table));
	Change *change = malloc(sizeof(Change));
	Owner owner = {HY_NOMEM, 0};
	HyOrigins origins, origins_anew;
	HyCsr csr, anew;
	UnitCancel cancel;
	bool differs;
	int origin;
	HyCsrPatch what = {.changed = change->changed,
	                   .edge = change->edge,
	                   .origin = change->origin,
	                   .before_change = ask_owner,
	                   .arg = &owner};

	/* few edges among many nodes, so none are parallel: their order could change */
	table->ids = 100000;
	for (origin = 0; origin < ORIGINS; origin++)
	{
		table->edge[origin][0] = random_edge(&random, table);
		table->count[origin] = 1;
	}
	CHECK_INT(build(table, &hy_malloc_allocator, &csr, &origins), HY_OK);
	CHECK_INT(origins.parallels, 0);
	CHECK_INT(build(table, &hy_malloc_allocator, &anew, &origins_anew), HY_OK);
	list(table, UINT64_MAX, change);
	what.count = change->count;
	CHECK_INT(hy_csr_patch(&csr, &origins, &what, &hy_malloc_allocator, NULL, &differs), HY_OK);
	CHECK(!differs);
	CHECK_INT(owner.calls, 0);
	check_same(&csr, &origins, &anew, &origins_anew);

	change->edge[0].weight = 12345;
	unit_cancel_init(&cancel, 1);
	CHECK_INT(hy_csr_patch(&csr, &origins, &what, &hy_malloc_allocator, &cancel.cancel, &differs),
	          HY_CANCELLED);
	CHECK_INT(owner.calls, 0);
	check_same(&csr, &origins, &anew, &origins_anew);
	CHECK_INT(hy_csr_patch(&csr, &origins, &what, &hy_malloc_allocator, NULL, &differs), HY_NOMEM);
	CHECK_INT(owner.calls, 1);
	check_same(&csr, &origins, &anew, &origins_anew);
	owner.status = HY_OK;
	CHECK_INT(hy_csr_patch(&csr, &origins, &what, &hy_malloc_allocator, NULL, &differs), HY_OK);
	CHECK_INT(owner.calls, 2);
	CHECK(differs && !same_graph(&csr, &anew));
	free_both(&csr, &origins, &hy_malloc_allocator);
	free_both(&anew, &origins_anew, &hy_malloc_allocator);
	free(change);
	free(table);
}

/* Trial: one patch that is repeated from the same graph. */
typedef struct Trial
{
	Table *before;
	Table *after;
	uint64_t changed;
} Trial;

/* run_trial: build the graph, patch it, and compare it with one that is built anew. */
static HyStatus
run_trial(void *arg, const HyAllocator *allocator, const HyCancel *cancel)
{
	const Trial *trial = arg;
	HyOrigins origins;
	HyOrigins origins_anew;
	HyCsr csr;
	HyCsr anew;
	bool differs;
	HyStatus status = build(trial->before, allocator, &csr, &origins);

	if (status != HY_OK)
		return status;
	status = patch(trial->after, trial->changed, allocator, cancel, &csr, &origins, &differs);
	CHECK((status == HY_OK) == (csr.ids != NULL));
	if (status != HY_OK)
		return status;
	CHECK_INT(build(trial->after, &hy_malloc_allocator, &anew, &origins_anew), HY_OK);
	check_same(&csr, &origins, &anew, &origins_anew);
	free_both(&anew, &origins_anew, &hy_malloc_allocator);
	free_both(&csr, &origins, allocator);
	return HY_OK;
}

static void
test_fails_anywhere(void)
{
	UnitRandom random = {33};
	Trial trial = {malloc(sizeof(Table)), malloc(sizeof(Table)), 0};
	int round;

	for (round = 0; round < 20; round++)
	{
		int origin;

		fill_table(&random, trial.before, round % 2 == 0 ? 20 : 2000, 10);
		memcpy(trial.after, trial.before, sizeof(Table));
		trial.changed = unit_random(&random);
		for (origin = 0; origin < ORIGINS; origin++)
		{
			/* full, so that arrays must grow */
			if ((trial.changed >> origin & 1) == 0)
				continue;
			for (; trial.after->count[origin] < trial.after->most; trial.after->count[origin]++)
				trial.after->edge[origin][trial.after->count[origin]] =
					random_edge(&random, trial.after);
		}
		CHECK(stage_allocations(run_trial, &trial) > 20);
		CHECK(stage_polls(run_trial, &trial) >= 2);
	}
	free(trial.before);
	free(trial.after);
}

/* patch_large: build a graph of the first `old` edges, and add all others from another origin. */
static HyStatus
patch_large(const HyEdge *edge, uint32_t *origin, int64_t old, int64_t all,
            const HyAllocator *allocator, const HyCancel *cancel)
{
	const bool changed[] = {false, origin[old] == 1, origin[old] == 2};
	const HyCsrPatch what = {.changed = changed,
	                         .edge = edge + old,
	                         .origin = origin + old,
	                         .count = all - old,
	                         .direction = HY_DIRECTION_BOTH};
	HyEdge *work = malloc(sizeof(HyEdge) * (size_t) all);
	HyCsrInput input = {
		.edge = work, .origin = origin, .count = old, .direction = HY_DIRECTION_BOTH};
	HyOrigins origins;
	HyOrigins origins_anew;
	HyCsr csr;
	HyCsr anew;
	bool differs;
	HyStatus status;

	memcpy(work, edge, sizeof(HyEdge) * (size_t) old);
	CHECK_INT(hy_csr_build_from(&input, allocator, NULL, &csr, &origins), HY_OK);
	status = hy_csr_patch(&csr, &origins, &what, allocator, cancel, &differs);
	if (status == HY_OK)
	{
		CHECK(differs);
		memcpy(work, edge, sizeof(HyEdge) * (size_t) all);
		input.count = all;
		CHECK_INT(hy_csr_build_from(&input, allocator, NULL, &anew, &origins_anew), HY_OK);
		check_same(&csr, &origins, &anew, &origins_anew);
		free_both(&anew, &origins_anew, allocator);
		free_both(&csr, &origins, allocator);
	}
	free(work);
	return status;
}

/* More new edges than fit in one block are sorted in parts: many entries, or one with all edges. */
static void
test_large_change(void)
{
	static const int64_t nodes[] = {40000, 1};
	const int64_t old = 1000;
	const int64_t all = HY_CANCEL_BLOCK + 5000;
	UnitRandom random = {34};
	uint32_t *origin = malloc(sizeof(uint32_t) * (size_t) all);
	int64_t i;
	int n;

	for (i = 0; i < all; i++)
		origin[i] = i < old ? 1 : 2;
	for (n = 0; n < 2; n++)
	{
		HyEdge *edge = stage_edges(&random, nodes[n], all);
		UnitMemory memory;
		UnitCancel cancel;
		int64_t polls;

		unit_memory_init(&memory, 0);
		unit_cancel_init(&cancel, 0);
		CHECK_INT(patch_large(edge, origin, old, all, &memory.allocator, &cancel.cancel), HY_OK);
		polls = cancel.polls;
		CHECK(polls > 20);
		for (i = 4; i <= polls; i += 5)
		{
			unit_cancel_init(&cancel, i);
			CHECK_INT(patch_large(edge, origin, old, all, &memory.allocator, &cancel.cancel),
			          HY_CANCELLED);
			CHECK_INT(cancel.polls, i);
		}
		CHECK_INT(memory.outstanding, 0);
		free(edge);
	}
	free(origin);
}

/* add_nodes: make edges of new nodes whose ids lie below, among or above those of the others, which are even. */
static int64_t
add_nodes(UnitRandom *random, HyEdge *edge, int64_t nodes, int where, int64_t more)
{
	int64_t i;

	for (i = 0; i < more; i++)
	{
		int64_t id = where == 0 ? -1 - i : where == 1 ? i * 5 % nodes * 2 + 1 : 2 * nodes + i;
		int64_t other = (int64_t) unit_random_below(random, (uint64_t) nodes) * 2;

		edge[i] = i % 2 == 0 ? (HyEdge){id, other, 1} : (HyEdge){other, id, 2};
	}
	return more;
}

/*
 * Some nodes come to a graph of many entries, with ids below, among and above those of the others, and go again.  Then
 * others come and go in the same patch.
 */
static void
test_nodes_of_a_large_graph(void)
{
	const int64_t nodes = 3000;
	const int64_t old = 2 * HY_CANCEL_BLOCK;
	const int64_t all = old + 50;
	UnitRandom random = {36};
	HyEdge *edge = stage_edges(&random, nodes, all);
	HyEdge *work = malloc(sizeof(HyEdge) * (size_t) all);
	uint32_t *origin = malloc(sizeof(uint32_t) * (size_t) all);
	UnitMemory memory;
	HyOrigins origins;
	HyCsr csr;
	int64_t i;
	int step;

	for (i = 0; i < all; i++)
	{
		origin[i] = i < old ? 1 : 2;
		edge[i].source *= 2;
		edge[i].target *= 2;
	}
	unit_memory_init(&memory, 0);
	memcpy(work, edge, sizeof(HyEdge) * (size_t) old);
	CHECK_INT(hy_csr_build_from(&(HyCsrInput){.edge = work, .origin = origin, .count = old},
	                            &memory.allocator, NULL, &csr, &origins),
	          HY_OK);
	for (step = 0; step < 9; step++)
	{
		static const int where[] = {0, -1, 1, -1, 2, -1, 0, 1, 2};
		static const bool changed[] = {false, false, true};
		HyCsrPatch what = {.changed = changed, .edge = edge + old, .origin = origin + old};
		HyOrigins origins_anew;
		HyCsr anew;
		bool differs;

		if (where[step] >= 0)
			what.count = add_nodes(&random, edge + old, nodes, where[step], all - old - step);
		CHECK_INT(hy_csr_patch(&csr, &origins, &what, &memory.allocator, NULL, &differs), HY_OK);
		CHECK(differs);
		memcpy(work, edge, sizeof(HyEdge) * (size_t) all);
		CHECK_INT(hy_csr_build_from(
					  &(HyCsrInput){.edge = work, .origin = origin, .count = old + what.count},
					  &memory.allocator, NULL, &anew, &origins_anew),
		          HY_OK);
		check_same(&csr, &origins, &anew, &origins_anew);
		free_both(&anew, &origins_anew, &memory.allocator);
	}
	free_both(&csr, &origins, &memory.allocator);
	CHECK_INT(memory.outstanding, 0);
	free(origin);
	free(work);
	free(edge);
}

int
main(void)
{
	UNIT_RUN(test_random_changes);
	UNIT_RUN(test_nodes_come_and_go);
	UNIT_RUN(test_edge_of_another_origin);
	UNIT_RUN(test_out_of_range);
	UNIT_RUN(test_before_change);
	UNIT_RUN(test_large_change);
	UNIT_RUN(test_nodes_of_a_large_graph);
	UNIT_RUN(test_fails_anywhere);
	return unit_finish();
}
