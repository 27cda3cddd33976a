/*
 * recalibrate.c
 *		Measures the recall curve again: in VACUUM, after the index has grown or shrunk, and on a user's
 *		queries.
 *
 * How far a search must go depends on the number of lists. A build measures the curve. An insert does
 * not, because measuring would take seconds. Until the next VACUUM, searches allow fewer missing rows
 * if the index has no curve, or if its number of lists has doubled or halved (recall_curve.c).
 * (Autovacuum also runs VACUUM after inserts.)
 *
 * hybrid_index_measure has the curve measured in the same way on its caller's queries. That curve stays
 * until VACUUM measures the curve on rows again.
 */
#include "postgres.h"

#include "common/pg_prng.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "server/position.h"

#include "index/build/build.h"
#include "index/build/recalibrate.h"
#include "index/page/lock.h"
#include "index/scan/lookup.h"
#include "index/tree/tree.h"

#define TRIES 64 /* attempts per row of the sample; many are needed because many lists are short */
#define SEED 1

static void sample_index(HybridQueries *sample, Relation index, const HybridIndex *open,
                         const HybridTree *tree, const HybridFrame *frame, int most);
static void sample_list(HybridQueries *sample, Relation index, const HybridIndex *open,
                        const HybridFrame *frame, HybridLink list, pg_prng_state *random);
static void take_row(HybridQueries *sample, Relation index, const HybridLayout *layout,
                     const HybridFrame *frame, Page page, int slot, const ItemPointerData *tid);
static double count_rows(Relation index, const HybridIndex *open, const HybridTree *tree);
static void take_values(HybridQueries *sample, const HybridIndex *open, const void *const *values,
                        int count, int most);
static void measure(HybridCurve *curve, Relation index, const HybridIndex *open,
                    const HybridQueries *sample, double rows);
static void write_curve(Relation index, const HybridCurve *curve);

bool
hybrid_recalibrate_due(Relation index, const HybridIndex *open)
{
	HybridTree tree;

	hybrid_tree_read(index, &tree);
	/* a single list is always searched completely, so there is nothing to measure */
	return hybrid_has_curve(open) && tree.height > 0 &&
	       (tree.curve.size == 0 || hybrid_curve_outdated(&tree));
}

bool
hybrid_recalibrate(Relation index, const HybridIndex *open, const HybridQueries *kept,
                   const void *const *values, int count)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid recalibrate", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	HybridCurve curve = {0};
	HybridTree tree;

	/* The searches have no snapshot. This lock keeps the lists that they read from being freed. */
	hybrid_lock(index, HYBRID_META_BLOCK, ShareLock);
	hybrid_tree_read(index, &tree);
	if (hybrid_has_curve(open) && tree.height > 0)
	{
		double rows = count_rows(index, open, &tree);
		int wanted = hybrid_calibrate_queries(rows, open->layout.dims,
		                                      values != NULL ? count : PG_INT32_MAX);
		HybridQueries queries;
		HybridFrame frame;

		hybrid_frame_open(&frame, index, open, tree.center);
		if (values != NULL)
			take_values(&queries, open, values, count, wanted);
		/*
		 * use the kept rows, unless they are too few; they are if the index was nearly empty when they
		 * were kept
		 */
		else if (kept != NULL && kept->count > 0 && 2.0 * kept->count >= Min(wanted, rows))
			queries = *kept;
		else
			sample_index(&queries, index, open, &tree, &frame, wanted);
		if (values == NULL && frame.center != NULL)
			queries.center = frame.center;
		else
			queries.center = palloc0(open->layout.dims * sizeof(float));
		measure(&curve, index, open, &queries, rows);
	}
	hybrid_unlock(index, HYBRID_META_BLOCK, ShareLock);
	if (curve.size > 0)
		write_curve(index, &curve);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return curve.size > 0;
}

/*
 * sample_index: sample rows: choose a random leaf and a random slot in it, again and again. A slot
 * without a row is skipped, so about the same share of the rows is taken from each leaf.
 */
static void
sample_index(HybridQueries *sample, Relation index, const HybridIndex *open, const HybridTree *tree,
             const HybridFrame *frame, int most)
{
	int dims = open->layout.dims, count, i;
	HybridLink *lists = hybrid_tree_lists(index, open, tree, 0, NULL, &count);
	pg_prng_state random;

	memset(sample, 0, sizeof(*sample));
	pg_prng_seed(&random, SEED);
	sample->places = palloc((Size) most * dims * sizeof(float));
	sample->positions = palloc(most * sizeof(int64));
	for (i = 0; i < TRIES * most && sample->count < most; i++)
		sample_list(sample, index, open, frame, lists[pg_prng_uint64_range(&random, 0, count - 1)],
		            &random);
	sample->kept = sample->count;
	pfree(lists);
}

/* sample_list: choose a random slot of a list. If it has a live row, add the row to the sample. */
static void
sample_list(HybridQueries *sample, Relation index, const HybridIndex *open,
            const HybridFrame *frame, HybridLink list, pg_prng_state *random)
{
	const HybridLayout *layout = &open->layout;
	const HybridListLayout *shape = &layout->leaf;
	Buffer buffer = hybrid_list_read(index, layout, &list, 0, list.head, NULL);
	const HybridListPage *content = hybrid_list_page(BufferGetPage(buffer));
	int slots = Max(open->list_size, (int) content->total);
	int slot = (int) pg_prng_uint64_range(random, 0, slots - 1);

	while (slot >= shape->rows && BlockNumberIsValid(content->next))
	{
		BlockNumber next = content->next;

		UnlockReleaseBuffer(buffer);
		buffer = hybrid_list_read(index, layout, &list, 0, next, NULL);
		content = hybrid_list_page(BufferGetPage(buffer));
		slot -= shape->rows;
	}
	if (slot < content->used)
	{
		const HybridBlock *block = hybrid_block(shape, BufferGetPage(buffer), slot / HY_CODE_ROWS);

		if ((block->live & (1U << slot % HY_CODE_ROWS)) != 0)
			take_row(sample, index, layout, frame, BufferGetPage(buffer), slot,
			         &block->tid[slot % HY_CODE_ROWS]);
	}
	UnlockReleaseBuffer(buffer);
}

/* take_row: add the row in this slot of a locked list page. */
static void
take_row(HybridQueries *sample, Relation index, const HybridLayout *layout,
         const HybridFrame *frame, Page page, int slot, const ItemPointerData *tid)
{
	char *vector = palloc(layout->leaf.stride);
	float *widened = palloc(layout->dims * sizeof(float));
	HybridStored stored;

	hybrid_vector_read(index, layout, (HybridSlot){page, 0, slot}, &stored, vector, NULL);
	hybrid_widen_vector(layout->leaf.storage, &stored, vector, layout->dims, widened);
	hybrid_frame_place(frame, widened, stored.norm, sample->places + sample->count * layout->dims);
	sample->positions[sample->count++] = hybrid_position(tid);
	pfree(vector);
	pfree(widened);
}

/* count_rows: return the number of rows of the index, from the heads of its leaves. */
static double
count_rows(Relation index, const HybridIndex *open, const HybridTree *tree)
{
	int count, i;
	HybridLink *lists = hybrid_tree_lists(index, open, tree, 0, NULL, &count);
	double rows = 0;

	for (i = 0; i < count; i++)
	{
		Buffer buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = hybrid_list_read(index, &open->layout, &lists[i], 0, lists[i].head, NULL);
		rows += hybrid_list_page(BufferGetPage(buffer))->total;
		UnlockReleaseBuffer(buffer);
	}
	pfree(lists);
	return rows;
}

/*
 * take_values: take `most` of the values, evenly spaced, as queries. No center is subtracted from the
 * values, so the caller sets the center of the queries to 0.
 */
static void
take_values(HybridQueries *sample, const HybridIndex *open, const void *const *values, int count,
            int most)
{
	int dims = open->layout.dims, i;

	memset(sample, 0, sizeof(*sample));
	sample->kept = sample->count = most;
	sample->places = palloc((Size) sample->count * dims * sizeof(float));
	for (i = 0; i < sample->count; i++)
	{
		const void *value = values[(int64) i * count / sample->count];

		memcpy(sample->places + (Size) i * dims, hybrid_type_floats(open->opclass->type, value),
		       dims * sizeof(float));
	}
}

/* measure: measure the curve on these queries. */
static void
measure(HybridCurve *curve, Relation index, const HybridIndex *open, const HybridQueries *sample,
        double rows)
{
	HybridTeam *team = hybrid_team_alone();

	team->measured = palloc(hybrid_calibrate_bytes(sample->count));
	hybrid_calibrate_begin(team);
	hybrid_calibrate(curve, index, open, team, sample, rows);
}

static void
write_curve(Relation index, const HybridCurve *curve)
{
	HybridMetaChange change;
	HybridMeta *meta = hybrid_meta_begin(index, &change);

	meta->curve = *curve;
	/*
	 * if the index has shrunk, rebuild the tree when the index has doubled from its present size, not
	 * from its old size
	 */
	meta->regroup_leaves = Min(meta->regroup_leaves, hybrid_regroup_next(curve->leaves));
	hybrid_meta_end(&change);
}
