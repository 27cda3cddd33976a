/*
 * regroup_rows.c
 *		Copies the rows of some leaves to new leaves, whose centroids are found as in CREATE INDEX.
 *
 * The centroids are computed from a sample. Each row is assigned to the leaf with the nearest centroid.
 * The rows are sorted by leaf and written leaf by leaf. Other sessions may add to the old leaves
 * meanwhile. regroup_seen.c records which rows were copied.
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
	HybridLeaves leaves;
	Tuplesortstate *keys; /* keys of the rows copied in this round; NULL if no round follows */
	/* space for one vector */
	char *vector;
	float *widened;
} Generation;

static void find_due(Generation *generation, const HybridLevel *leaves);
static bool walk(Generation *generation);
static bool walk_list(Generation *generation, const HybridLink *list);
static bool was_copied(Generation *generation, Page page, int slot, const ItemPointerData *tid);
static void sample_row(Generation *generation, Page page, int slot, int64 position);
static void assign_row(Generation *generation, Page page, int slot, const ItemPointerData *tid);
static void place_leaves(Generation *generation);
static void begin_assigning(Generation *generation);
static void forget_centroids(HybridCentroids *centroids);
static void write_leaves(Generation *generation);
static void leaf_done(void *arg, const HybridCopy *leaf);

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
	generation.vector = palloc(layout->leaf.stride);
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
		hybrid_leaves_end_rows(&generation.leaves);
		forget_centroids(&generation.centroids);
		write_leaves(&generation);
		hybrid_leaves_end(&generation.leaves);
	}
	rows = generation.rows;
	if (rows >= 0)
		memset(&regroup->copy_log, 0, sizeof(regroup->copy_log));
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return rows;
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
 * walk: read the rows of the leaves that are due. The first call samples the rows, the second assigns
 * them. Leaves without new rows are removed from `due`. Returns false if other sessions wait too long
 * at the gate, or if there are too many rows to copy while the gate is shut. In the last attempt
 * (gate->to_the_end), always returns true.
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
			    was_copied(generation, page, slot, tid))
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
		if (generation->assigning && hybrid_leaves_full(&generation->leaves))
			(void) hybrid_leaves_assign(&generation->leaves);
	}
	if (generation->assigning || generation->rows == before)
		hybrid_regroup_record_leaf(regroup, list, changes);
	return generation->rows > before;
}

/* was_copied: test whether a row of a locked page was copied in an earlier round. */
static bool
was_copied(Generation *generation, Page page, int slot, const ItemPointerData *tid)
{
	const HybridRegroup *regroup = generation->regroup;
	HybridStored stored = {0};

	if (regroup->rounds == 0)
		return false;
	if (regroup->open->opclass->many)
		hybrid_vector_read(regroup->index, &regroup->open->layout, (HybridSlot){page, 0, slot},
		                   &stored, generation->vector, NULL);
	return hybrid_regroup_was_copied(
		regroup, hybrid_regroup_key(regroup->open, tid, &stored, generation->vector));
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
		sample->places = hybrid_enlarge(CurrentMemoryContext, sample->places, bytes);
		bytes = generation->sample_allocated * sizeof(int64);
		sample->positions = hybrid_enlarge(CurrentMemoryContext, sample->positions, bytes);
	}
	hybrid_vector_read(regroup->index, layout, (HybridSlot){page, 0, slot}, &stored,
	                   generation->vector, NULL);
	hybrid_widen_vector(layout->leaf.storage, &stored, generation->vector, layout->dims,
	                    generation->widened);
	hybrid_frame_place(&regroup->frame, generation->widened, stored.norm,
	                   sample->places + place * layout->dims);
	sample->positions[place] = position;
	if (place == sample->rows)
		sample->rows++;
}

/* assign_row: add a row to the batch. It is assigned later, when no page is locked. */
static void
assign_row(Generation *generation, Page page, int slot, const ItemPointerData *tid)
{
	HybridRegroup *regroup = generation->regroup;
	HybridEntry *entry = hybrid_leaves_entry(&generation->leaves);

	entry->tid = *tid;
	hybrid_vector_read(regroup->index, &regroup->open->layout, (HybridSlot){page, 0, slot},
	                   &entry->stored, entry->vector, NULL);
	hybrid_words_get(&regroup->open->layout, (HybridSlot){page, 0, slot}, entry->vector);
	hybrid_leaves_add(&generation->leaves);
}

/*
 * place_leaves: compute the centroids of the new leaves from the sample, without the rows that become
 * queries. Only the first call takes queries.
 */
static void
place_leaves(Generation *generation)
{
	HybridRegroup *regroup = generation->regroup;
	HybridQueries *queries = regroup->queries;
	HybridSample *sample = &generation->sample;
	HybridSampleChunk whole = {0, 0, 0};
	int dims = regroup->open->layout.dims, taken = 0;

	sample->total = sample->rows;
	sample->tuples = (double) generation->rows;
	sample->chunk = &whole;
	sample->chunks = 1;
	/* until the queries are taken, queries->kept is their maximum number */
	if (queries != NULL && queries->count == 0 && hybrid_has_curve(regroup->open))
		taken = hybrid_calibrate_queries(sample->tuples, dims, Min(sample->rows, queries->kept));
	hybrid_cluster_rows(&generation->centroids, regroup->open, sample, taken);
	if (taken > 0)
	{
		queries->kept = taken;
		hybrid_sample_take_queries(sample, dims, queries);
	}
	pfree(sample->places);
	pfree(sample->positions);
}

static void
begin_assigning(Generation *generation)
{
	HybridRegroup *regroup = generation->regroup;

	generation->assigning = true;
	hybrid_leaves_init(&generation->leaves, regroup->open, &regroup->frame, &generation->centroids,
	                   regroup->memory);
	/*
	 * the batch needs space for all rows of a list page, because they are added while the page is
	 * locked
	 */
	hybrid_leaves_begin_rows(&generation->leaves, regroup->open->layout.leaf.rows, NULL);
}

/* forget_centroids: free the centroids. Only their number is needed to write the leaves. */
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

/* write_leaves: write the new leaves, and record which rows they have. */
static void
write_leaves(Generation *generation)
{
	HybridRegroup *regroup = generation->regroup;

	/* with the gate shut, this is the last round, so the keys are not needed */
	if (generation->gate == NULL)
		generation->keys =
			tuplesort_begin_datum(INT8OID, Int8LessOperator, InvalidOid, false,
		                          (int) (regroup->memory / 1024 / 8), NULL, TUPLESORT_NONE);
	(void) hybrid_leaves_write(&generation->leaves, &regroup->sink.sink, false, leaf_done,
	                           generation);
	if (generation->keys != NULL)
		hybrid_regroup_record_rows(regroup, generation->keys);
}

/* leaf_done: keep the entry for a new leaf, and the keys of its rows; a HybridLeafDone. */
static void
leaf_done(void *arg, const HybridCopy *leaf)
{
	Generation *generation = (Generation *) arg;
	HybridRegroup *regroup = generation->regroup;
	int i;

	hybrid_parent_entries_add(&regroup->made, leaf);
	regroup->copied_count += leaf->count;
	for (i = 0; i < leaf->count && generation->keys != NULL; i++)
	{
		int row = leaf->order[i];
		int64 key = hybrid_regroup_key(
			regroup->open, &leaf->contents->tids[row], &leaf->contents->stored[row],
			leaf->contents->vectors + row * regroup->open->layout.leaf.carried);

		tuplesort_putdatum(generation->keys, Int64GetDatum(key), false);
	}
	if (generation->gate == NULL)
		vacuum_delay_point(false);
}
