/*
 * regroup_rows.c
 *		Copies the rows of some leaves to new leaves, which are placed as CREATE INDEX would place
 *		them.
 *
 * A sample determines where the new leaves are, each row goes to the nearest leaf, and the rows, sorted
 * by leaf, are written leaf by leaf. Other sessions may add to the old leaves meanwhile. regroup_seen.c
 * records which rows were copied.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "commands/vacuum.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "server/compat.h"
#include "server/memory.h"
#include "server/position.h"

#include "index/build/build.h"
#include "index/vacuum/regroup.h"
#include "index/tree/tree.h"

#define BATCH_ROWS 4096 /* number of rows that are assigned at a time */
#define BATCH_LEAST 64
#define SEED 1

/* Generation: state of one call of hybrid_regroup_rows. */
typedef struct Generation
{
	HybridRegroup *regroup;
	HybridGate *gate; /* state of the shut gate; NULL while the gate is open */
	HybridLinks due;  /* leaves that may have rows not copied yet */
	int64 rows;       /* number of rows of these leaves so far */
	/* fields used before rows are assigned */
	HybridSample sample;
	int64 sample_allocated;
	int64 most; /* maximum number of rows of the sample */
	pg_prng_state random;
	/* fields used while rows are assigned */
	bool assigning;
	/* centroids of the new leaves; if there are none, all rows go into one leaf */
	HybridCentroids centroids;
	int64 *leaf_rows;
	HybridRowSort sort;
	Tuplesortstate *positions; /* heap positions of the rows; NULL if they are not needed */
	HybridEntry *batch;
	float *batch_places;
	int *batch_leaves;
	int batch_rows;
	int batch_size;
	/* space for one vector */
	char *vector;
	float *widened;
} Generation;

static void find_due(Generation *generation, const HybridLevel *leaves);
static bool walk(Generation *generation);
static bool walk_list(Generation *generation, const HybridLink *list);
static void sample_row(Generation *generation, Page page, int slot, int64 position);
static void assign_row(Generation *generation, Page page, int slot, const ItemPointerData *tid);
static void assign_batch(Generation *generation);
static void place_leaves(Generation *generation);
static void keep_queries(HybridRegroup *regroup, const HybridSample *sample, int queries);
static void begin_assigning(Generation *generation);
static void forget_centroids(HybridCentroids *centroids);
static void write_leaves(Generation *generation);
static void load_rows(Generation *generation, HybridContents *rows, int count);
static void write_rows(HybridRegroup *regroup, const HybridContents *rows);
static void write_leaf(HybridRegroup *regroup, const HybridContents *rows, int *order, int count);
static void note_copied(Generation *generation, int64 position);

int64
hybrid_regroup_rows(HybridRegroup *regroup, const HybridLevel *leaves, HybridGate *gate)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid regroup rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	const HybridLayout *layout = &regroup->open->layout;
	Generation generation;
	int64 rows;

	memset(&generation, 0, sizeof(generation));
	generation.regroup = regroup;
	generation.gate = gate;
	generation.most = regroup->sample_most;
	generation.vector = palloc(layout->stride);
	generation.widened = palloc(layout->dims * sizeof(float));
	pg_prng_seed(&generation.random, SEED);
	find_due(&generation, leaves);
	if (!walk(&generation))
		generation.rows = HYBRID_REGROUP_GIVEN_UP;
	if (generation.rows > 0)
	{
		place_leaves(&generation);
		begin_assigning(&generation);
		(void) walk(&generation);
		assign_batch(&generation);
		forget_centroids(&generation.centroids);
		tuplesort_performsort(generation.sort.state);
		write_leaves(&generation);
		hybrid_row_sort_end(&generation.sort);
	}
	rows = generation.rows;
	if (rows >= 0)
		memset(&regroup->notes, 0, sizeof(regroup->notes));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return rows;
}

void
hybrid_regroup_keep(HybridRegroup *regroup, const HybridCopy *copy)
{
	const HybridLayout *layout = &regroup->open->layout;
	HybridContents *made = &regroup->made;
	Size i = made->count;

	if (made->count == regroup->made_allocated)
	{
		MemoryContext old = MemoryContextSwitchTo(regroup->context);
		Size allocated = made->count + Max(64, made->count / 8);

		if (made->count == 0)
		{
			made->tids = palloc(allocated * sizeof(ItemPointerData));
			made->stored = palloc(allocated * sizeof(HybridStored));
			made->radii = palloc(allocated * sizeof(float));
			made->vectors = MemoryContextAllocHuge(regroup->context, allocated * layout->stride);
		}
		else
		{
			made->tids = repalloc_huge(made->tids, allocated * sizeof(ItemPointerData));
			made->stored = repalloc_huge(made->stored, allocated * sizeof(HybridStored));
			made->radii = repalloc_huge(made->radii, allocated * sizeof(float));
			made->vectors = repalloc_huge(made->vectors, allocated * layout->stride);
		}
		regroup->made_allocated = (int) allocated;
		MemoryContextSwitchTo(old);
	}
	made->tids[i] = hybrid_link_tid(copy->link);
	made->stored[i] = copy->stored;
	made->radii[i] = copy->radius;
	memcpy(made->vectors + i * layout->stride, copy->vector, layout->stride);
	made->count++;
}

/*
 * find_due: collect the leaves that were not copied yet, and the leaves that may have new rows according
 * to the log.
 */
static void
find_due(Generation *generation, const HybridLevel *leaves)
{
	int64 i;

	for (i = 0; i < leaves->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (hybrid_regroup_may_differ(generation->regroup, &leaves->lists[i].link))
			hybrid_links_add(&generation->due, leaves->lists[i].link);
	}
}

/*
 * walk: read the rows of the leaves that are due, first to sample and then to assign them. Leaves without
 * new rows are removed from `due`. Returns false if other sessions wait too long at the gate, or if there
 * are too many rows to copy while the gate is shut.
 */
static bool
walk(Generation *generation)
{
	HybridRegroup *regroup = generation->regroup;
	HybridLinks *due = &generation->due;
	HybridGate *gate = generation->gate;
	HybridAhead ahead;
	int count = due->count, i;

	hybrid_walk_ahead(&ahead, regroup->index);
	generation->rows = 0;
	due->count = 0;
	for (i = 0; i < count; i++)
	{
		HybridLink list = due->links[i];

		if (gate == NULL)
			vacuum_delay_point(false);
		else if (!generation->assigning && hybrid_gate_waited_too_long(gate))
			return false;
		while (hybrid_walk_more_ahead(&ahead, i, count))
			hybrid_walk_expect(&ahead, &due->links[ahead.next]);
		if ((generation->assigning || hybrid_regroup_differs(regroup, &list)) &&
		    walk_list(generation, &list))
			due->links[due->count++] = list;
	}
	return gate == NULL || gate->to_the_end || generation->rows <= HYBRID_REGROUP_FEW;
}

/*
 * walk_list: read one list. If the list was moved meanwhile, it still has its entries. Returns whether it
 * has rows that were not copied yet.
 */
static bool
walk_list(Generation *generation, const HybridLink *list)
{
	HybridRegroup *regroup = generation->regroup;
	const HybridLayout *layout = &regroup->open->layout;
	BlockNumber block = list->head;
	int64 before = generation->rows;
	uint64 changes = 0;
	uint32 pages = 0;

	while (BlockNumberIsValid(block))
	{
		Buffer buffer = hybrid_list_read(regroup->index, layout, list, 0, block, NULL);
		Page page = BufferGetPage(buffer);
		int slot;

		if (block == list->head)
			changes = hybrid_list_page(page)->changes;
		for (slot = 0; slot < hybrid_list_page(page)->used; slot++)
		{
			const HybridBlock *entries = hybrid_block(&layout->leaf, page, slot / HY_CODE_ROWS);
			const ItemPointerData *tid = &entries->tid[slot % HY_CODE_ROWS];

			if ((entries->live & (1U << slot % HY_CODE_ROWS)) == 0 ||
			    hybrid_regroup_was_copied(regroup, hybrid_position(tid)))
				continue;
			generation->rows++;
			if (generation->assigning)
				assign_row(generation, page, slot, tid);
			else
				sample_row(generation, page, slot, hybrid_position(tid));
		}
		block = hybrid_list_page(page)->next;
		UnlockReleaseBuffer(buffer);
		hybrid_chain_step(regroup->index, list, &pages);
		if (generation->assigning &&
		    generation->batch_rows > generation->batch_size - layout->leaf.rows)
			assign_batch(generation);
	}
	if (generation->assigning || generation->rows == before)
		hybrid_regroup_record_leaf(regroup, list, changes);
	return generation->rows > before;
}

/* sample_row: add a row to the sample by reservoir sampling, so that every row has the same probability. */
static void
sample_row(Generation *generation, Page page, int slot, int64 position)
{
	HybridRegroup *regroup = generation->regroup;
	const HybridLayout *layout = &regroup->open->layout;
	HybridSample *sample = &generation->sample;
	int64 place = sample->rows;
	HybridStored stored;

	if (place == generation->most)
	{
		place = (int64) pg_prng_uint64_range(&generation->random, 0, generation->rows - 1);
		if (place >= generation->most)
			return;
	}
	else if (place == generation->sample_allocated)
	{
		Size bytes;

		generation->sample_allocated = Min(Max(place * 2, 1024), generation->most);
		bytes = generation->sample_allocated * layout->dims * sizeof(float);
		sample->places = place == 0 ? MemoryContextAllocHuge(CurrentMemoryContext, bytes)
		                            : repalloc_huge(sample->places, bytes);
		bytes = generation->sample_allocated * sizeof(int64);
		sample->positions = place == 0 ? MemoryContextAllocHuge(CurrentMemoryContext, bytes)
		                               : repalloc_huge(sample->positions, bytes);
	}
	hybrid_vector_read(regroup->index, layout, (HybridSlot){page, 0, slot}, &stored,
	                   generation->vector, NULL);
	hybrid_widen_vector(layout->storage, &stored, generation->vector, layout->dims,
	                    generation->widened);
	hybrid_frame_place(&regroup->frame, generation->widened, stored.norm,
	                   sample->places + place * layout->dims);
	sample->positions[place] = position;
	if (place == sample->rows)
		sample->rows++;
}

/* assign_row: add a row to the batch. The batch is assigned later, when no page is locked. */
static void
assign_row(Generation *generation, Page page, int slot, const ItemPointerData *tid)
{
	HybridRegroup *regroup = generation->regroup;
	const HybridLayout *layout = &regroup->open->layout;
	int i = generation->batch_rows++;
	HybridEntry *entry = &generation->batch[i];

	entry->tid = *tid;
	hybrid_vector_read(regroup->index, layout, (HybridSlot){page, 0, slot}, &entry->stored,
	                   entry->vector, NULL);
	hybrid_widen_vector(layout->storage, &entry->stored, entry->vector, layout->dims,
	                    generation->widened);
	hybrid_frame_place(&regroup->frame, generation->widened, entry->stored.norm,
	                   generation->batch_places + (Size) i * layout->dims);
}

/* assign_batch: assign the rows of the batch to leaves and put them into the sort. */
static void
assign_batch(Generation *generation)
{
	int i;

	memset(generation->batch_leaves, 0, generation->batch_size * sizeof(int));
	if (generation->centroids.count > 0 && generation->batch_rows > 0)
		hybrid_assign(&generation->centroids, generation->batch_places, generation->batch_rows,
		              generation->batch_leaves);
	for (i = 0; i < generation->batch_rows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		hybrid_row_sort_put(&generation->sort, generation->batch_leaves[i], &generation->batch[i]);
		generation->leaf_rows[generation->batch_leaves[i]]++;
	}
	generation->batch_rows = 0;
}

/*
 * place_leaves: compute the centroids of the new leaves from the sample. The rows that become queries are
 * left out. Only the first call takes queries.
 */
static void
place_leaves(Generation *generation)
{
	HybridRegroup *regroup = generation->regroup;
	HybridSample *sample = &generation->sample;
	int queries = 0;

	sample->total = sample->rows;
	/* until the queries are chosen, queries->kept is their maximum number */
	if (regroup->queries != NULL && regroup->queries->count == 0)
		queries = hybrid_calibrate_queries((double) generation->rows, regroup->open->layout.dims,
		                                   Min(sample->rows, regroup->queries->kept));
	hybrid_cluster_rows(&generation->centroids, regroup->open, sample->places, sample->rows,
	                    (double) generation->rows, queries);
	if (queries > 0)
		keep_queries(regroup, sample, queries);
	pfree(sample->places);
	pfree(sample->positions);
}

/* keep_queries: copy evenly spaced rows of the sample, which is freed afterwards. */
static void
keep_queries(HybridRegroup *regroup, const HybridSample *sample, int queries)
{
	Size dims = regroup->open->layout.dims;
	int i;

	for (i = 0; i < queries; i++)
	{
		int64 row = hybrid_sample_query(sample, queries, i);

		memcpy(regroup->queries->places + i * dims, sample->places + row * dims,
		       dims * sizeof(float));
		regroup->queries->positions[i] = sample->positions[row];
	}
	regroup->queries->kept = regroup->queries->count = queries;
}

static void
begin_assigning(Generation *generation)
{
	HybridRegroup *regroup = generation->regroup;
	const HybridLayout *layout = &regroup->open->layout;
	/* during the assignment, memory holds two copies of the places */
	Size row_bytes = layout->stride + 2 * layout->dims * sizeof(float) + sizeof(HybridEntry);
	int64 fit = regroup->memory / 4 / row_bytes;
	int i;

	generation->assigning = true;
	generation->leaf_rows = palloc0(Max(generation->centroids.count, 1) * sizeof(int64));
	/* allow extra space for the rows of one list page */
	generation->batch_size = (int) Min(Max(fit, BATCH_LEAST), BATCH_ROWS) + layout->leaf.rows;
	generation->batch = palloc(generation->batch_size * sizeof(HybridEntry));
	for (i = 0; i < generation->batch_size; i++)
		generation->batch[i].vector = palloc(layout->stride);
	generation->batch_places = MemoryContextAllocHuge(
		CurrentMemoryContext, (Size) generation->batch_size * layout->dims * sizeof(float));
	generation->batch_leaves = palloc(generation->batch_size * sizeof(int));
	hybrid_row_sort_begin(&generation->sort, layout, (int) (regroup->memory / 1024 / 2), NULL);
}

/* forget_centroids: free the centroids; only their number is needed from here on. */
static void
forget_centroids(HybridCentroids *centroids)
{
	if (centroids->count == 0)
		return;
	pfree(centroids->places);
	pfree(centroids->group_places);
	centroids->places = NULL;
	centroids->group_places = NULL;
	centroids->groups = 0;
}

/* write_leaves: load the rows of each leaf, as many as memory allows, and write them. */
static void
write_leaves(Generation *generation)
{
	HybridRegroup *regroup = generation->regroup;
	const HybridLayout *layout = &regroup->open->layout;
	Size row_bytes = layout->stride + layout->dims * sizeof(float) + 64;
	int64 most =
		Max(Min(regroup->memory / 4 / row_bytes, 65536), (Size) regroup->open->list_size * 2);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid regroup leaf", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old;
	int leaf;

	/* with the gate shut, this is the last round, so the positions are not needed */
	if (generation->gate == NULL)
		generation->positions =
			tuplesort_begin_datum(INT8OID, Int8LessOperator, InvalidOid, false,
		                          (int) (regroup->memory / 1024 / 8), NULL, TUPLESORT_NONE);
	old = MemoryContextSwitchTo(context);

	for (leaf = 0; leaf < Max(generation->centroids.count, 1); leaf++)
	{
		int64 left = generation->leaf_rows[leaf];

		while (left > 0)
		{
			int count = (int) Min(left, most);
			HybridContents rows;

			if (generation->gate == NULL)
				vacuum_delay_point(false);
			load_rows(generation, &rows, count);
			write_rows(regroup, &rows);
			left -= count;
			MemoryContextReset(context);
		}
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	if (generation->positions != NULL)
		hybrid_regroup_record_rows(regroup, generation->positions);
}

/* load_rows: load the next rows of the sort. */
static void
load_rows(Generation *generation, HybridContents *rows, int count)
{
	HybridRegroup *regroup = generation->regroup;
	const HybridLayout *layout = &regroup->open->layout;
	MemoryContext context = CurrentMemoryContext;
	int i;

	rows->count = count;
	rows->tids = palloc(count * sizeof(ItemPointerData));
	rows->stored = palloc(count * sizeof(HybridStored));
	rows->radii = palloc0(count * sizeof(float));
	rows->vectors = MemoryContextAllocHuge(context, count * layout->stride);
	rows->places = MemoryContextAllocHuge(context, (Size) count * layout->dims * sizeof(float));
	for (i = 0; i < count; i++)
	{
		char *vector = rows->vectors + i * layout->stride;
		int64 position;

		hybrid_row_sort_next(&generation->sort, &position, &rows->stored[i], vector);
		note_copied(generation, position);
		rows->tids[i] = hybrid_position_tid(position);
		hybrid_widen_vector(layout->storage, &rows->stored[i], vector, layout->dims,
		                    generation->widened);
		hybrid_frame_place(&regroup->frame, generation->widened, rows->stored[i].norm,
		                   rows->places + (Size) i * layout->dims);
	}
}

/* write_rows: write the rows as one leaf, or as several leaves if there are too many rows for one. */
static void
write_rows(HybridRegroup *regroup, const HybridContents *rows)
{
	int dims = regroup->open->layout.dims, *order = palloc(rows->count * sizeof(int));
	int *sizes, list, begin = 0;
	int lists =
		hybrid_cut_rows(rows->places, rows->count, dims, regroup->open->list_size, order, &sizes);

	for (list = 0; list < lists; list++)
	{
		if (sizes[list] > 0)
			write_leaf(regroup, rows, order + begin, sizes[list]);
		begin += sizes[list];
	}
}

/* write_leaf: write the rows with these numbers as a leaf. */
static void
write_leaf(HybridRegroup *regroup, const HybridContents *rows, int *order, int count)
{
	int dims = regroup->open->layout.dims;
	float *mean = palloc(dims * sizeof(float));
	HybridCopy copy;

	hybrid_mean(rows->places, order, count, dims, mean);
	hybrid_copy_make(regroup->open, rows, order, count, mean, &copy);
	hybrid_copy_write(&regroup->sink.sink, &regroup->frame, 0, &copy, false);
	hybrid_regroup_keep(regroup, &copy);
	pfree(mean);
}

/* note_copied: record a row that is in a new leaf or soon will be. */
static void
note_copied(Generation *generation, int64 position)
{
	generation->regroup->copied_count++;
	if (generation->positions != NULL)
		tuplesort_putdatum(generation->positions, Int64GetDatum(position), false);
}
