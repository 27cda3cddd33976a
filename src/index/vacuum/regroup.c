/*
 * regroup.c
 *		VACUUM: rebuilds all leaves of an index that has grown or shrunk much.
 *
 * A split processes only one list. Rows of other lists stay where they are, even if one of the two new
 * lists is nearer. In an index that grew from nothing, a quarter of the rows are in a list that is not
 * the nearest, and a search examines ten times as many lists. Therefore all leaves are replaced when
 * their number has doubled since all leaves were last built together. The new leaves are computed from
 * the rows of the index as CREATE INDEX computes leaves from the rows of the table. (Replacing a few
 * dozen neighboring leaves at a time would take less space, but gains next to nothing: in hundreds of
 * dimensions, the list nearest to a row may be any of very many.)
 *
 * Rows are copied while other sessions insert, and the new rows are then copied in turn. Only the last
 * few rows are copied while the gate is shut, when no session can add an entry or split a list. The new
 * tree is written on pages that no reader can reach yet. One record then makes its root the root of the
 * index and marks the old root as moved. A reader that has read the old root continues with the lists
 * below it, which never change again.
 */
#include "postgres.h"

#include <math.h>

#include "access/generic_xlog.h"
#include "access/transam.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "core/kmeans.h"
#include "server/memory.h"
#include "server/report.h"

#include "index/build/build.h"
#include "index/page/lock.h"
#include "index/vacuum/regroup.h"
#include "index/tree/free_pages.h"
#include "index/write/split.h"
#include "index/tree/tree.h"

/* number of lists entered into the ring of moved lists before the ring's lists are freed */
#define RECLAIM 128
/* minimum share of a group's leaves for each of the two halves into which it is split */
#define SHARE 0.4
#define SEED 1
#define NOTE (16 / 3.0) /* maximum number of bytes per heap position in an IntegerSet */
#define NOTE_KEY 10     /* the same per key in an index on arrays, where keys are far apart */
#define ROW_OF_SORT 128 /* bytes of temporary files per row, in addition to its vector */
/*
 * share of the rows that may be sorted again as outliers: a quarter, and a quarter of these (leaves.c)
 */
#define SET_ASIDE (5 / 16.0)
/* share of the memory for centroids and the sample while k-means finds the centroids */
#define PLACING 0.8125
#define SAMPLE_LEAST 64 /* minimum number of rows of a sample */
/* memory is planned for GROWN times the expected number of lists */
#define GROWN 1.25
#define OLD_LEAF 96 /* bytes of memory per old leaf: its link and its SeenLeaf */
/* after a failure, the next attempt is made when the number of leaves has grown by 1/AGAIN */
#define AGAIN 4
/*
 * If there are fewer than regroup_leaves / SHRUNK leaves, the tree is rebuilt. regroup_leaves is
 * usually twice the number of leaves that the last build made, so a third of these leaves is gone then.
 */
#define SHRUNK 3
#define AT_ONCE 1 /* value of regroup_leaves: rebuild as soon as memory suffices */

static bool fits(Relation index, const HybridIndex *open, const HybridTree *tree, double rows,
                 int message_level);
static void set_next(Relation index, uint32 leaves);
static void init_regroup(HybridRegroup *regroup, Relation index, const HybridIndex *open,
                         const HybridTree *tree, double rows);
static double kept_bytes(const HybridIndex *open, const HybridTree *tree, double rows);
static int64
copy_rows(HybridRegroup *leaves, HybridTree *tree, HybridLevel *levels, HybridGate *gate);
static bool
behind_gate(HybridRegroup *leaves, HybridRegroup *inner, HybridTree *tree, HybridLevel *levels);
static void catch_up(HybridRegroup *leaves, HybridTree *tree, HybridLevel *levels);
static bool replace_tree(HybridRegroup *leaves, HybridRegroup *inner, const HybridTree *tree,
                         const HybridLevel *levels);
static bool read_levels(const HybridRegroup *regroup, const HybridTree *tree, HybridLevel *levels,
                        HybridGate *gate);
static void write_inner(HybridRegroup *inner, HybridParentEntries *leaves);
static void
write_group(HybridRegroup *inner, const HybridParentEntries *leaves, int *order, int count);
static int halve(const HybridParentEntries *leaves, int *order, int count);
static void mark_lists(const HybridRegroup *regroup, const HybridLevel *lists);
static void remember_lists(const HybridRegroup *regroup, const HybridLevel *lists);

bool
hybrid_regroup_due(Relation index, const HybridIndex *open)
{
	HybridTree tree;

	hybrid_tree_read(index, &tree);
	return open->coded && tree.height > 0 &&
	       (tree.leaves >= tree.regroup_leaves || tree.leaves < tree.regroup_leaves / SHRUNK);
}

bool
hybrid_regroup(Relation index, const HybridIndex *open, double rows, int message_level,
               HybridQueries *queries)
{
	int dims = open->layout.dims, most = hybrid_calibrate_queries(rows, dims, PG_INT32_MAX);
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid regroup", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	HybridRegroup leaves, inner;
	HybridLevel levels[HYBRID_LEVELS];
	HybridTree tree;
	bool replaced = false;
	int64 first = 0;
	int i;

	memset(levels, 0, sizeof(levels));
	hybrid_tree_read(index, &tree);
	if (tree.height > 0 && !fits(index, open, &tree, rows, message_level))
		set_next(index, AT_ONCE);
	else if (tree.height > 0)
	{
		/*
		 * Set the next attempt before this one starts. If this attempt fails, its pages remain in the
		 * file, and can be reused only when no session reads them.
		 */
		set_next(index, tree.leaves + tree.leaves / AGAIN + 1);
		init_regroup(&leaves, index, open, &tree, rows);
		hybrid_parent_entries_init(&leaves.made, open, 0);
		init_regroup(&inner, index, open, &tree, rows);
		hybrid_parent_entries_init(&inner.made, open, 1);
		queries->places = MemoryContextAllocHuge(old, (Size) most * dims * sizeof(float));
		queries->positions = MemoryContextAlloc(old, most * sizeof(int64));
		queries->kept = most;
		leaves.queries = queries;
		hybrid_copy_log_begin(index);
		(void) copy_rows(&leaves, &tree, levels, NULL);
		first = leaves.copied_count;
		replaced = behind_gate(&leaves, &inner, &tree, levels);
		hybrid_copy_log_end(index);
		hybrid_extent_sink_finish(&leaves.sink);
		hybrid_extent_sink_finish(&inner.sink);
		if (replaced)
			mark_lists(&leaves, &levels[0]);
		for (i = tree.height - 1; replaced && i >= 0; i--)
			remember_lists(&leaves, &levels[i]);
		if (replaced)
			hybrid_moved_reuse(index, &open->layout);
		if (replaced)
			ereport(DEBUG1, (errmsg_internal("index regroup: " INT64_FORMAT
			                                 " lists become %d; " INT64_FORMAT
			                                 " rows, " INT64_FORMAT " of them came meanwhile",
			                                 levels[0].count, leaves.leaves, leaves.copied_count,
			                                 leaves.copied_count - first)));
	}
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return replaced;
}

/*
 * fits: test whether memory and temp_file_limit suffice, and report it if they do not. While k-means
 * finds the centroids, memory holds the centroid of each new leaf, and at least one sample row per new
 * leaf. Afterwards memory holds the records of the copied rows and of each leaf, and a second copy of
 * the centroids. Temporary files hold all rows, and outliers once more.
 */
static bool
fits(Relation index, const HybridIndex *open, const HybridTree *tree, double rows,
     int message_level)
{
	double places = hybrid_regroup_lists(open, rows) * open->layout.dims * sizeof(float);
	double memory = Max(2 * places / PLACING, kept_bytes(open, tree, rows) + places) / 1024;
	double sorted = open->metric != HY_METRIC_IP ? rows * (1 + SET_ASIDE) : rows;
	double file = sorted * (open->layout.leaf.carried + sizeof(HybridStored) + ROW_OF_SORT) / 1024;
	/* warn only once, not at each VACUUM */
	int level = tree->regroup_leaves == AT_ONCE ? message_level : WARNING;

	if (memory > hybrid_maintenance_memory())
		ereport(
			level,
			(errmsg("lists of index \"%s\" are not rebuilt", RelationGetRelationName(index)),
		     errdetail("Rebuilding them takes %.0f kB, which is more than \"%s\".", ceil(memory),
		               hybrid_maintenance_memory() != maintenance_work_mem
		                   ? "autovacuum_work_mem"
		                   : "maintenance_work_mem"),
		     errhint("Meanwhile, searches examine more lists than necessary.  Increase the setting "
		             "for a VACUUM, or REINDEX.")));
	else if (temp_file_limit >= 0 && file > temp_file_limit)
		ereport(level,
		        (errmsg("lists of index \"%s\" are not rebuilt", RelationGetRelationName(index)),
		         errdetail("Rebuilding them takes %.0f kB of temporary files, which is more than "
		                   "\"temp_file_limit\".",
		                   ceil(file))));
	else
		return true;
	return false;
}

/* set_next: set the number of leaves at which the tree is rebuilt next. */
static void
set_next(Relation index, uint32 leaves)
{
	HybridMetaChange change;

	hybrid_meta_begin(index, &change)->regroup_leaves = leaves;
	hybrid_meta_end(&change);
}

static void
init_regroup(HybridRegroup *regroup, Relation index, const HybridIndex *open,
             const HybridTree *tree, double rows)
{
	double memory = (double) hybrid_maintenance_memory() * 1024;
	double lists = hybrid_regroup_lists(open, rows), place = open->layout.dims * sizeof(float);

	memset(regroup, 0, sizeof(*regroup));
	regroup->sample_most =
		(int64) Max(Min(memory / 2, memory * PLACING - lists * place) / (place + 2 * sizeof(int64)),
	                Max(lists, SAMPLE_LEAST));
	regroup->memory =
		(Size) Max(memory - kept_bytes(open, tree, rows) -
	                   hybrid_calibrate_queries(rows, open->layout.dims, PG_INT32_MAX) * place,
	               memory / 4);
	regroup->index = index;
	regroup->open = open;
	regroup->context = CurrentMemoryContext;
	hybrid_frame_open(&regroup->frame, index, open, tree->center);
	hybrid_extent_sink_init(&regroup->sink, index);
}

/*
 * kept_bytes: return the bytes that the records of copied rows, new leaves and old leaves take. These
 * records are kept until the tree is replaced.
 */
static double
kept_bytes(const HybridIndex *open, const HybridTree *tree, double rows)
{
	double leaf =
		open->layout.inner.carried + sizeof(HybridStored) + sizeof(ItemPointerData) + sizeof(float);

	return rows * (open->opclass->many ? NOTE_KEY : NOTE) +
	       hybrid_regroup_lists(open, rows) * leaf * GROWN + tree->leaves * OLD_LEAF;
}

/*
 * copy_rows: copy the rows that were added to the current tree since the last call. Returns the number
 * of rows copied, or HYBRID_REGROUP_GIVEN_UP. Sets `levels` to the lists of the tree. For `gate`, see
 * hybrid_regroup_rows.
 */
static int64
copy_rows(HybridRegroup *leaves, HybridTree *tree, HybridLevel *levels, HybridGate *gate)
{
	hybrid_copy_log_take(leaves->index, &leaves->copy_log);
	hybrid_tree_read(leaves->index, tree);
	if (!read_levels(leaves, tree, levels, gate))
		return HYBRID_REGROUP_GIVEN_UP;
	return hybrid_regroup_rows(leaves, &levels[0], gate);
}

/*
 * behind_gate: shut the gate, copy the last rows and replace the tree. If other sessions wait too long,
 * or too many rows were added, open the gate, repeat the work that can be done while it is open, and
 * try again.
 */
static bool
behind_gate(HybridRegroup *leaves, HybridRegroup *inner, HybridTree *tree, HybridLevel *levels)
{
	HybridGate gate;
	bool replaced = false;
	int64 copied;
	double held;
	int try;

	for (try = 1;; try++)
	{
		catch_up(leaves, tree, levels);
		/*
		 * Write inner lists before the gate is shut, because this takes time. Only the root, and the
		 * inner lists of leaves that come later, are written while it is shut.
		 */
		if (leaves->made.lists.count > HYBRID_INNER_SIZE)
		{
			write_inner(inner, &leaves->made);
			catch_up(leaves, tree, levels);
		}
		hybrid_gate_shut(&gate, leaves->index, try == HYBRID_REGROUP_TRIES);
		copied = copy_rows(leaves, tree, levels, &gate);
		if (copied >= 0)
			replaced = replace_tree(leaves, inner, tree, levels);
		held = hybrid_gate_open(&gate);
		ereport(DEBUG1, (errmsg_internal("index regroup: the gate was shut for %.3f ms, %s", held,
		                                 copied >= 0 ? "until all was done" : "and opened")));
		if (copied >= 0)
			return replaced;
	}
}

/*
 * catch_up: copy new rows in rounds, until a round has so few rows, and takes so little time, that the
 * next round can run while the gate is shut. The number of rounds is limited, so the last round may be
 * longer.
 */
static void
catch_up(HybridRegroup *leaves, HybridTree *tree, HybridLevel *levels)
{
	int round;

	for (round = 0; round < HYBRID_REGROUP_ROUNDS; round++)
	{
		instr_time begin, end;
		int64 copied;

		INSTR_TIME_SET_CURRENT(begin);
		copied = copy_rows(leaves, tree, levels, NULL);
		INSTR_TIME_SET_CURRENT(end);
		INSTR_TIME_SUBTRACT(end, begin);
		if (copied <= HYBRID_REGROUP_FEW && hybrid_gate_short_enough(INSTR_TIME_GET_MILLISEC(end)))
			break;
	}
}

/*
 * replace_tree: replace the old root by a new one, while the gate is shut. `levels` has the lists of
 * the old tree. Returns false if no rows are left for a new tree. A session that waits at the gate to
 * split an old list must find the lists above it marked as moved, and then gives up (hybrid_split). So
 * interrupts are held: otherwise a cancel could open the gate before all old inner lists are marked.
 */
static bool
replace_tree(HybridRegroup *leaves, HybridRegroup *inner, const HybridTree *tree,
             const HybridLevel *levels)
{
	HybridReplaced root = {&tree->root, 1, 1, {InvalidBlockNumber, 0}, false};
	const HybridParentEntries *uppermost = &leaves->made;
	HybridContents top;
	HybridCopy copies[HYBRID_COPIES];
	int into, made, i;
	bool replaced;

	/* the index has lost all its rows, and its root is a leaf */
	if (tree->height == 0)
		return false;
	made = inner->leaves + leaves->made.lists.count;
	if (inner->made.lists.count > 0 || leaves->made.lists.count > HYBRID_INNER_SIZE)
	{
		if (leaves->made.lists.count > 0)
			write_inner(inner, &leaves->made);
		uppermost = &inner->made;
		root.level = 2;
	}
	/* an inner list must not be empty */
	if (uppermost->lists.count == 0)
		return false;
	if (uppermost == &leaves->made && leaves->open->layout.bounds > 0)
		hybrid_parent_entries_by_key(&leaves->made, palloc(leaves->made.lists.count * sizeof(int)),
		                             true);
	into = uppermost->lists.count > HYBRID_INNER_SIZE ? 2 : 1;
	hybrid_parent_entries_load(uppermost, NULL, uppermost->lists.count, &top);
	hybrid_copy_distribute(leaves->open, &top, into, copies);
	hybrid_lock(leaves->index, tree->root.head, ExclusiveLock);
	HOLD_INTERRUPTS();
	replaced = hybrid_copies_replace(leaves->index, leaves->open, &leaves->frame, &root, copies,
	                                 into, NULL);
	/* the old root has already been marked */
	for (i = tree->height - 1; replaced && i > 0; i--)
		mark_lists(leaves, &levels[i]);
	if (replaced)
		hybrid_tree_set_leaves(leaves->index, made);
	RESUME_INTERRUPTS();
	hybrid_unlock(leaves->index, tree->root.head, ExclusiveLock);
	leaves->leaves = made;
	return replaced;
}

/*
 * read_levels: read all lists of the tree, level by level. levels[0] receives the leaves. Returns false
 * if other sessions have waited too long at the gate.
 */
static bool
read_levels(const HybridRegroup *regroup, const HybridTree *tree, HybridLevel *levels,
            HybridGate *gate)
{
	int level;
	int64 i;

	for (level = 0; level < HYBRID_LEVELS; level++)
		hybrid_walk_free(&levels[level]);
	hybrid_walk_root(tree, &levels[tree->height]);
	for (level = tree->height; level > 0; level--)
	{
		const HybridLevel *lists = &levels[level];
		HybridAhead ahead;

		hybrid_walk_ahead(&ahead, regroup->index);
		for (i = 0; i < lists->count; i++)
		{
			if (gate != NULL && hybrid_gate_waited_too_long(gate))
				return false;
			while (hybrid_walk_more_ahead(&ahead, i, lists->count))
				hybrid_walk_expect(&ahead, &lists->lists[ahead.next].link);
			hybrid_walk_below(regroup->index, &regroup->open->layout, &lists->lists[i].link, level,
			                  &levels[level - 1]);
		}
	}
	return true;
}

/*
 * write_inner: put the leaves into new inner lists, with neighboring leaves together, and empty `leaves`.
 */
static void
write_inner(HybridRegroup *inner, HybridParentEntries *leaves)
{
	int count = leaves->lists.count, *order = palloc(count * sizeof(int)), i;

	for (i = 0; i < count; i++)
		order[i] = i;
	/*
	 * the bounds of the first call's leaves cover all words; later leaves only have rows that came
	 * meanwhile
	 */
	if (inner->open->layout.bounds > 0)
		hybrid_parent_entries_by_key(leaves, order, inner->leaves == 0);
	write_group(inner, leaves, order, count);
	inner->leaves += count;
	leaves->lists.count = 0;
	pfree(order);
}

/*
 * write_group: write the leaves with these numbers as inner lists. A group that is too large is halved
 * until each part fits. `order` is overwritten.
 */
static void
write_group(HybridRegroup *inner, const HybridParentEntries *leaves, int *order, int count)
{
	int first;

	check_stack_depth();
	if (count > HYBRID_INNER_SIZE)
	{
		/* in an index with keys, the leaves are in the order of the keys */
		first = inner->open->layout.bounds > 0 ? count / 2 : halve(leaves, order, count);
		write_group(inner, leaves, order, first);
		write_group(inner, leaves, order + first, count - first);
		return;
	}
	hybrid_parent_entries_write(leaves, order, count, false, &inner->frame, &inner->sink.sink,
	                            &inner->made);
}

/*
 * halve: split the leaves into two halves by k-means, and put those of one half first in `order`.
 * Returns the size of that half.
 */
static int
halve(const HybridParentEntries *leaves, int *order, int count)
{
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	int dims = leaves->open->layout.dims;
	Size row_bytes = dims * sizeof(float);
	float *centroids = palloc(2 * row_bytes);
	float *places = MemoryContextAllocHuge(CurrentMemoryContext, count * row_bytes);
	uint8 *side = palloc(count);
	int *second = palloc(count * sizeof(int)), ends[2] = {0, 0}, i;
	HyMatrix rows;

	for (i = 0; i < count; i++)
		hybrid_parent_entries_place(leaves, order[i], places + (Size) i * dims);
	rows = hybrid_places_matrix(places, count, dims);
	hybrid_check(hy_kmeans_split(&rows, SHARE, SEED, &allocator, &hybrid_cancel, centroids, side),
	             "place the inner lists of an index");
	for (i = 0; i < count; i++)
	{
		if (side[i] == 0)
			order[ends[0]++] = order[i];
		else
			second[ends[1]++] = order[i];
	}
	memcpy(order + ends[0], second, ends[1] * sizeof(int));
	pfree(second);
	pfree(side);
	pfree(places);
	pfree(centroids);
	return ends[0];
}

/*
 * mark_lists: mark the old lists as moved without a successor. After an error or a crash here, some lists
 * are marked live but no list names them. VACUUM finds these lists. A session that still knows their
 * names sees that the root has changed.
 */
static void
mark_lists(const HybridRegroup *regroup, const HybridLevel *lists)
{
	static const HybridLink nowhere = {InvalidBlockNumber, 0};
	FullTransactionId now = ReadNextFullTransactionId();
	int64 i;

	for (i = 0; i < lists->count; i++)
	{
		Buffer buffer = ReadBuffer(regroup->index, lists->lists[i].link.head);

		CHECK_FOR_INTERRUPTS();
		LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
		/* a split may already have moved and marked this list */
		if (hybrid_list_page(BufferGetPage(buffer))->state == HYBRID_LIST_LIVE)
		{
			GenericXLogState *record = GenericXLogStart(regroup->index);
			Page page = GenericXLogRegisterBuffer(record, buffer, 0);

			hybrid_mark_moved(hybrid_list_page(page), nowhere, nowhere, now);
			GenericXLogFinish(record);
		}
		UnlockReleaseBuffer(buffer);
	}
}

/* remember_lists: enter the lists into the ring of moved lists, so that their pages can be reused. */
static void
remember_lists(const HybridRegroup *regroup, const HybridLevel *lists)
{
	FullTransactionId now = ReadNextFullTransactionId();
	int64 i;

	for (i = 0; i < lists->count; i++)
	{
		hybrid_moved_remember(regroup->index, &lists->lists[i].link, now);
		/* the ring is too small for all lists, so free pages from time to time */
		if (i % RECLAIM == RECLAIM - 1)
			hybrid_moved_reuse(regroup->index, &regroup->open->layout);
	}
}
