/*
 * csr_copy_test.c
 *		A copy of a graph has the same arrays and is independent of the graph, fits the bytes that are
 *		asked for, and can be patched; and what happens when memory runs out.
 */
#include "graph_stage.h"

#include "core/csr_copy.h"
#include "core/csr_patch.h"

/* Whole: a graph with its origins. */
typedef struct Whole
{
	HyCsr csr;
	HyOrigins origins;
} Whole;

/* Stretch: memory from which an allocator cuts arrays one after the other. */
typedef struct Stretch
{
	char *next;
	char *end;
} Stretch;

static void *
cut(void *arg, size_t size)
{
	Stretch *stretch = arg;
	char *array = stretch->next;

	stretch->next += (size + HY_CSR_COPY_ALIGN - 1) / HY_CSR_COPY_ALIGN * HY_CSR_COPY_ALIGN;
	return stretch->next <= stretch->end ? array : NULL;
}

static void
leave(void *arg, void *pointer)
{
	(void) arg;
	(void) pointer;
}

/* build: build a random graph; one with few nodes has many parallel edges. */
static Whole
build(UnitRandom *random, int64_t nodes, int64_t count, HyDirection direction)
{
	HyEdge *edges = stage_edges(random, nodes, count);
	uint32_t *origin = malloc(sizeof(uint32_t) * (size_t) (count + 1));
	HyCsrInput input = {.edge = edges, .origin = origin, .count = count, .direction = direction};
	Whole whole;
	int64_t i;

	for (i = 0; i < count; i++)
		origin[i] = (uint32_t) (i % 40) + 1;
	CHECK_INT(hy_csr_build_from(&input, &hy_malloc_allocator, NULL, &whole.csr, &whole.origins),
	          HY_OK);
	free(origin);
	free(edges);
	return whole;
}

static void
free_whole(Whole *whole)
{
	hy_csr_free(&whole->csr, &hy_malloc_allocator);
	hy_origins_free(&whole->origins, &hy_malloc_allocator);
}

static bool
same(const void *a, const void *b, int64_t count, size_t size)
{
	return count == 0 || (a != b && memcmp(a, b, (size_t) count * size) == 0);
}

static void
check_same(const Whole *a, const Whole *b)
{
	const HyCsr *x = &a->csr;
	const HyCsr *y = &b->csr;

	CHECK_INT(x->nodes, y->nodes);
	CHECK_INT(x->edges, y->edges);
	CHECK_INT(x->at_least_one, y->at_least_one);
	CHECK_INT(a->origins.parallels, b->origins.parallels);
	CHECK(same(x->ids, y->ids, x->nodes, sizeof(*x->ids)));
	CHECK(same(x->row_start, y->row_start, x->nodes + 1, sizeof(*x->row_start)));
	CHECK(same(x->column, y->column, x->edges, sizeof(*x->column)));
	CHECK(same(x->weight, y->weight, x->edges, sizeof(*x->weight)));
	CHECK(same(x->out_weight, y->out_weight, x->nodes, sizeof(*x->out_weight)));
	CHECK(same(x->out_start, y->out_start, x->nodes + 1, sizeof(*x->out_start)));
	CHECK(same(x->out_row, y->out_row, x->edges, sizeof(*x->out_row)));
	CHECK(same(a->origins.entry, b->origins.entry, x->edges, sizeof(*a->origins.entry)));
	CHECK(same(a->origins.parallel, b->origins.parallel, a->origins.parallels,
	           sizeof(*a->origins.parallel)));
}

static void
test_copy(void)
{
	static const int64_t sizes[][2] = {{1, 0}, {1, 1}, {5, 200}, {300, 900}, {5000, 4000}};
	UnitRandom random = {41};
	size_t i;
	int direction;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
	{
		for (direction = 0; direction < 3; direction++)
		{
			Whole whole = build(&random, sizes[i][0], sizes[i][1], (HyDirection) direction);
			Whole copy;

			CHECK_INT(hy_csr_copy(&whole.csr, &whole.origins, &hy_malloc_allocator, &copy.csr,
			                      &copy.origins),
			          HY_OK);
			check_same(&whole, &copy);
			CHECK_INT(copy.origins.node_room, copy.csr.nodes);
			CHECK_INT(copy.origins.edge_room, copy.csr.edges);
			free_whole(&copy);
			free_whole(&whole);
		}
	}
}

/* The copy fits the stated bytes, if arrays are cut from them one after the other. */
static void
test_bytes(void)
{
	UnitRandom random = {42};
	int round;

	for (round = 0; round < 50; round++)
	{
		Whole whole = build(&random, 1 + round * 7, (int64_t) round * 31, HY_DIRECTION_BOTH);
		size_t bytes = (size_t) hy_csr_copy_bytes(&whole.csr, &whole.origins);
		char *memory = malloc(bytes);
		Stretch stretch = {memory, memory + bytes};
		const HyAllocator allocator = {cut, leave, &stretch};
		Whole copy;

		CHECK_INT(hy_csr_copy(&whole.csr, &whole.origins, &allocator, &copy.csr, &copy.origins),
		          HY_OK);
		check_same(&whole, &copy);
		free(memory);
		free_whole(&whole);
	}
}

/* A patch of the copy gives the same graph as a patch of the original, which the copy leaves alone. */
static void
test_patch_of_copy(void)
{
	static const bool changed[301] = {[3] = true, [17] = true};
	UnitRandom random = {43};
	HyEdge *edges = stage_edges(&random, 400, 60);
	uint32_t origin[60];
	HyCsrPatch patch = {.changed = changed,
	                    .edge = edges,
	                    .origin = origin,
	                    .count = 60,
	                    .direction = HY_DIRECTION_OUT};
	Whole whole = build(&random, 300, 900, HY_DIRECTION_OUT);
	Whole untouched;
	Whole copy;
	bool differs;
	int i;

	for (i = 0; i < 60; i++)
		origin[i] = i % 2 == 0 ? 3 : 17;
	CHECK_INT(
		hy_csr_copy(&whole.csr, &whole.origins, &hy_malloc_allocator, &copy.csr, &copy.origins),
		HY_OK);
	CHECK_INT(hy_csr_copy(&whole.csr, &whole.origins, &hy_malloc_allocator, &untouched.csr,
	                      &untouched.origins),
	          HY_OK);
	CHECK_INT(hy_csr_patch(&copy.csr, &copy.origins, &patch, &hy_malloc_allocator, NULL, &differs),
	          HY_OK);
	CHECK(differs);
	check_same(&whole, &untouched);
	CHECK_INT(
		hy_csr_patch(&whole.csr, &whole.origins, &patch, &hy_malloc_allocator, NULL, &differs),
		HY_OK);
	check_same(&whole, &copy);
	free_whole(&untouched);
	free_whole(&copy);
	free_whole(&whole);
	free(edges);
}

static HyStatus
run_copy(void *arg, const HyAllocator *allocator, const HyCancel *cancel)
{
	const Whole *whole = arg;
	Whole copy;
	HyStatus status =
		hy_csr_copy(&whole->csr, &whole->origins, allocator, &copy.csr, &copy.origins);

	(void) cancel;
	if (status == HY_OK)
	{
		hy_csr_free(&copy.csr, allocator);
		hy_origins_free(&copy.origins, allocator);
	}
	return status;
}

static void
test_out_of_memory(void)
{
	UnitRandom random = {44};
	Whole whole = build(&random, 5, 200, HY_DIRECTION_OUT);

	CHECK_INT(stage_allocations(run_copy, &whole), 9);
	free_whole(&whole);
}

int
main(void)
{
	UNIT_RUN(test_copy);
	UNIT_RUN(test_bytes);
	UNIT_RUN(test_patch_of_copy);
	UNIT_RUN(test_out_of_memory);
	return unit_finish();
}
