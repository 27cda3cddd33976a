/*
 * insert.c
 *		Inserts one entry into a free slot of the leaf list that it belongs to.
 *
 * An insert holds the heavyweight lock of the list in share mode. A split takes it exclusively, so
 * nothing is added to a list while it is copied. In an index with codes, an insert also holds the gate
 * in share mode, and VACUUM takes the gate exclusively when it replaces the tree. If the list has been
 * moved, or the tree replaced, by the time the insert holds its locks, the insert descends the tree
 * again.
 */
#include "postgres.h"

#include <math.h>

#include "access/generic_xlog.h"
#include "miscadmin.h"
#include "nodes/execnodes.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "core/distance.h"

#include "index/page/buffers.h"
#include "index/tree/leaf.h"
#include "index/page/lock.h"
#include "index/tree/copy_log.h"
#include "index/page/packed.h"
#include "index/write/overflow.h"
#include "index/tree/free_pages.h"
#include "index/write/link.h"
#include "index/write/split.h"
#include "index/tree/tree.h"
#include "index/write/insert.h"
#include "index/page/distance_bound.h"

/* without codes: number of pages on which an insert looks for a slot before it tries the last page */
#define ROOM_PAGES 32
/* minimum relative increase of a leaf's squared radius for which the new radius is recorded */
#define WIDER 0.1
#define TRIES 1000 /* attempts to find a list that was not moved meanwhile */

/* InsertState: state kept for all rows of one statement. */
typedef struct InsertState
{
	HybridIndex open;
	HybridLeafSearch *search; /* NULL if the index has no codes */
	MemoryContext row_context;
	HybridEntry entry;
	float *widened;
	float residual; /* squared distance of the entry from the centroid of its leaf */
} InsertState;

/* Target: the slot for an entry, with its pages exclusively locked. */
typedef struct Target
{
	HybridLink list;
	Buffer head;
	Buffer page; /* the list page with the slot; may be the head */
	bool fresh;  /* the list page is new, and `last` is the page before it */
	Buffer last;
	int slot;
	/* location of the value in the stream of its page, if values vary in length */
	HybridPiece piece;
	/* without codes, page on which the next insert begins to look for a free slot */
	BlockNumber room;
} Target;

static InsertState *insert_state(Relation index, IndexInfo *info);
static void insert_entry(Relation index, InsertState *state);
static bool add_to_list(Relation index, InsertState *state, const HybridLeaf *leaf, bool *overfull);
static void widen_leaf(Relation index, const InsertState *state, const HybridLeaf *leaf);
static bool is_old(Relation index, const InsertState *state, bool *logging);
static bool find_slot(Relation index, const InsertState *state, Target *target);
static int free_slot(const HybridListLayout *shape, Page page);
static int place_in(const InsertState *state, Page page, HybridPiece *piece);
static void write_entry(Relation index, InsertState *state, const HybridLeaf *leaf, Target *target);
bool
hybridinsert(Relation index, Datum *values, bool *isnull, ItemPointer tid, Relation heap,
             IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	InsertState *state;
	MemoryContext old;
	HybridRow row;
	int i;

	(void) heap;
	(void) unique;
	(void) unchanged;
	state = insert_state(index, info);
	old = MemoryContextSwitchTo(state->row_context);
	hybrid_row_begin(&state->open, values, isnull, &row);
	for (i = 0; i < row.entries; i++)
	{
		if (hybrid_entry_form(&state->open, &row, i, tid, &state->entry))
			insert_entry(index, state);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(state->row_context);
	return false;
}

/* insert_entry: add state->entry to the leaf that it belongs to, and split the leaf if it is too long. */
static void
insert_entry(Relation index, InsertState *state)
{
	const HybridLayout *layout = &state->open.layout;
	HybridLeaf leaf;
	HybridProbe probe;
	bool overfull = false;
	int tries = 0;

	do
	{
		CHECK_FOR_INTERRUPTS();
		if (tries++ == TRIES)
			ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
			                errmsg("index \"%s\" refers to lists that were moved",
			                       RelationGetRelationName(index)),
			                errhint("REINDEX it.")));
		if (state->search != NULL)
		{
			hybrid_widen_vector(layout->leaf.storage, &state->entry.stored, state->entry.vector,
			                    layout->dims, state->widened);
			hybrid_probe_init(&probe, state->open.metric, state->widened, layout->dims);
			hybrid_leaf_find(state->search, &probe,
			                 layout->bounds > 0 ? *hybrid_words(layout, state->entry.vector) : 0,
			                 &leaf);
		}
		else
		{
			HybridTree tree;

			hybrid_tree_read(index, &tree);
			memset(&leaf, 0, sizeof(leaf));
			leaf.link = tree.root;
			leaf.central = true;
		}
	} while (!add_to_list(index, state, &leaf, &overfull));
	if (overfull)
		hybrid_split(index, &state->open, leaf.link, leaf.above, 0);
	else if (state->open.metric == HY_METRIC_IP)
		widen_leaf(index, state, &leaf);
}

/* insert_state: return the state shared by the rows of one statement. The first call creates it. */
static InsertState *
insert_state(Relation index, IndexInfo *info)
{
	InsertState *state = (InsertState *) info->ii_AmCache;
	MemoryContext old;

	if (state != NULL)
		return state;
	old = MemoryContextSwitchTo(info->ii_Context);
	state = palloc0(sizeof(InsertState));
	state->open = hybrid_index_open(index);
	hybrid_index_require_words(index, &state->open);
	state->entry.vector = palloc(state->open.layout.leaf.carried);
	state->widened = palloc(state->open.layout.floats * sizeof(float));
	if (state->open.coded)
	{
		state->search = palloc(sizeof(HybridLeafSearch));
		hybrid_leaf_init(state->search, index, &state->open);
	}
	state->row_context =
		AllocSetContextCreate(info->ii_Context, "hybrid insert row", ALLOCSET_DEFAULT_SIZES);
	MemoryContextSwitchTo(old);
	info->ii_AmCache = state;
	return state;
}

/*
 * add_to_list: add the entry, under the gate and the list's lock (without codes, only under the list's
 * lock). Returns false if the list was moved or the tree replaced. Sets *overfull if the list is now
 * too long.
 */
static bool
add_to_list(Relation index, InsertState *state, const HybridLeaf *leaf, bool *overfull)
{
	Target target;
	bool logging = false, found;

	memset(&target, 0, sizeof(target));
	target.list = leaf->link;
	if (state->open.coded)
		hybrid_lock(index, HYBRID_GATE, ShareLock);
	hybrid_lock(index, leaf->link.head, ShareLock);
	found = !is_old(index, state, &logging) && find_slot(index, state, &target);
	if (found)
	{
		write_entry(index, state, leaf, &target);
		*overfull = state->open.coded && hybrid_list_page(BufferGetPage(target.head))->total >
		                                     (uint32) state->open.list_size;
		if (target.last != InvalidBuffer && target.last != target.head)
			UnlockReleaseBuffer(target.last);
		if (target.page != target.head)
			UnlockReleaseBuffer(target.page);
		UnlockReleaseBuffer(target.head);
		if (logging)
			hybrid_copy_log_add(index, leaf->link.head);
	}
	hybrid_unlock(index, leaf->link.head, ShareLock);
	if (state->open.coded)
		hybrid_unlock(index, HYBRID_GATE, ShareLock);
	return found;
}

/*
 * widen_leaf: raise the recorded radius of the leaf if the new row changes it much. Searches by inner
 * product need radii that include all rows, because the longest rows are the answers of most queries.
 * (Without this, searches in an index that grew from empty, with rows of lognormal lengths, had recalls
 * of .76, .85 and .93 for targets of .9, .95 and .99.)
 */
static void
widen_leaf(Relation index, const InsertState *state, const HybridLeaf *leaf)
{
	double rows = hybrid_radius_rows(leaf->radius), old = (double) leaf->radius * leaf->radius;
	double squared = state->residual;

	if (!leaf->central && squared > WIDER * rows * old && isfinite(squared))
		hybrid_link_radius(
			index, &state->open, leaf->link, 0, leaf->above,
			hybrid_radius(sqrt((old * rows + squared) / (rows + 1)), (int64) rint(rows)));
}

/*
 * is_old: test whether the root has changed since the leaf was found. The leaf may then be in a
 * replaced tree. Sets *logging if VACUUM is rebuilding the tree, so that each changed leaf must be
 * entered into the log. Without codes, the root never changes.
 */
static bool
is_old(Relation index, const InsertState *state, bool *logging)
{
	HybridTree now;

	if (state->search == NULL)
		return false;
	/* when a tree is replaced, its leaves are not marked as moved at once */
	hybrid_tree_read(index, &now);
	*logging = now.logging;
	return now.root.head != state->search->scorer.tree.root.head ||
	       now.root.generation != state->search->scorer.tree.root.generation;
}

/*
 * find_slot: find a slot of the list that is dead or was never used. If necessary, the slot is on a new
 * page. On return, the head and the slot's page are locked, and so is the page before a new page.
 * Returns false if the list was moved.
 */
static bool
find_slot(Relation index, const InsertState *state, Target *target)
{
	const HybridLayout *layout = &state->open.layout;
	const HybridListLayout *shape = &layout->leaf;
	HybridListPage *head;
	BlockNumber block, room;
	uint16 generation;
	uint32 pages = 0;

	target->head = hybrid_buffer_read(index, target->list.head, NULL);
	LockBuffer(target->head, BUFFER_LOCK_EXCLUSIVE);
	head = hybrid_list_page(BufferGetPage(target->head));
	/* the statement's snapshot keeps even a moved list from being freed */
	if (!hybrid_page_belongs(BufferGetPage(target->head), HYBRID_PAGE_LIST, &target->list))
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" refers to block %u as a list, but it is not one",
		                       RelationGetRelationName(index), target->list.head),
		                errhint("REINDEX it.")));
	if (head->state != HYBRID_LIST_LIVE)
	{
		UnlockReleaseBuffer(target->head);
		return false;
	}
	hybrid_list_page_check(index, layout, BufferGetPage(target->head), target->list.head, 0);
	target->last = InvalidBuffer;
	target->fresh = false;

	/* start at the first page that may have a free slot; usually only the last page is not full */
	block = head->tail;
	room = InvalidBlockNumber;
	target->room = InvalidBlockNumber;
	if (state->open.coded && head->total < head->pages * (uint32) shape->rows)
		block = target->list.head;
	else if (!state->open.coded && BlockNumberIsValid(*hybrid_list_first_with_space(head)))
		block = room = *hybrid_list_first_with_space(head);
	do
	{
		target->page = target->head;
		hybrid_chain_step(index, &target->list, &pages);
		if (block != target->list.head)
		{
			target->page = hybrid_buffer_read(index, block, NULL);
			LockBuffer(target->page, BUFFER_LOCK_EXCLUSIVE);
			if (!hybrid_page_belongs(BufferGetPage(target->page), HYBRID_PAGE_LIST, &target->list))
				ereport(ERROR,
				        (errcode(ERRCODE_INDEX_CORRUPTED),
				         errmsg("index \"%s\" refers to block %u as part of list %u, but it is not",
				                RelationGetRelationName(index), block, target->list.head),
				         errhint("REINDEX it.")));
			hybrid_list_page_check(index, layout, BufferGetPage(target->page), block, 0);
		}
		target->slot = place_in(state, BufferGetPage(target->page), &target->piece);
		if (target->slot >= 0)
		{
			if (BlockNumberIsValid(room) && block != head->tail)
				target->room = block;
			return true;
		}
		block = hybrid_list_page(BufferGetPage(target->page))->next;
		if (BlockNumberIsValid(room) && BlockNumberIsValid(block) && pages >= ROOM_PAGES)
		{
			target->room = block;
			block = head->tail;
			room = InvalidBlockNumber;
		}
		if (BlockNumberIsValid(block) && target->page != target->head)
			UnlockReleaseBuffer(target->page);
	} while (BlockNumberIsValid(block));
	target->last = target->page;
	target->page = hybrid_page_allocate(index, &generation);
	target->fresh = true;
	target->slot = 0;
	target->piece.start = 0;
	target->piece.length = target->piece.room =
		(uint32) hybrid_stored_bytes(layout->leaf.storage, layout->dims, state->entry.vector);
	return true;
}

/*
 * place_in: return a slot of a list page for the entry, or -1 if the page has none. If values vary in
 * length, also sets the location of the value.
 */
static int
place_in(const InsertState *state, Page page, HybridPiece *piece)
{
	const HybridLayout *layout = &state->open.layout;

	if (!layout->packed)
		return free_slot(&layout->leaf, page);
	return hybrid_packed_place(
		&layout->leaf, page,
		hybrid_stored_bytes(layout->leaf.storage, layout->dims, state->entry.vector), piece);
}

/* free_slot: return a dead or unused slot of a list page, or -1 if there is none. */
static int
free_slot(const HybridListLayout *shape, Page page)
{
	const HybridListPage *content = hybrid_list_page(page);
	int b;

	if (content->live < content->used)
	{
		for (b = 0; b * HY_CODE_ROWS < content->used; b++)
		{
			int rows = Min(content->used - b * HY_CODE_ROWS, HY_CODE_ROWS);
			uint32 there = rows == HY_CODE_ROWS ? PG_UINT32_MAX : (1U << rows) - 1;
			uint32 dead = there & ~hybrid_block(shape, page, b)->live;

			if (dead != 0)
				return b * HY_CODE_ROWS + pg_rightmost_one_pos32(dead);
		}
	}
	return content->used < shape->rows ? content->used : -1;
}

/*
 * write_entry: write the entry into the slot. Its vector and long codes, which have pages of their
 * own, are written first, in separate WAL records. No reader uses them until the slot is live.
 */
static void
write_entry(Relation index, InsertState *state, const HybridLeaf *leaf, Target *target)
{
	const HybridLayout *layout = &state->open.layout;
	const HybridListLayout *shape = &layout->leaf;
	int named = shape->code_pages + shape->vector_pages;
	BlockNumber *directory = palloc(named * sizeof(BlockNumber));
	HybridOverflow slot = {&target->list, 0, target->slot, directory};
	const uint8 *bits = NULL;
	HyCode code = {0, 0, 0};
	GenericXLogState *record;
	HybridListPage *head;
	Page page, head_page;

	if (target->fresh)
		memset(directory, 0xff, named * sizeof(BlockNumber));
	else
		memcpy(directory, hybrid_directory(BufferGetPage(target->page)),
		       named * sizeof(BlockNumber));
	if (state->open.coded)
	{
		float *rotated_centroid = NULL;

		if (!leaf->central)
		{
			rotated_centroid = palloc(layout->padded * sizeof(float));
			hy_rotation_apply(leaf->frame->rotation, leaf->centroid, rotated_centroid);
		}
		state->residual = hybrid_frame_encode(leaf->frame, leaf->place, leaf->rotated,
		                                      leaf->centroid, rotated_centroid, &code);
		bits = leaf->frame->bits;
	}
	hybrid_write_codes(index, layout, &slot, bits, &code);
	if (layout->packed)
		hybrid_write_piece(index, layout, &slot, &target->piece, state->entry.vector);
	else
		hybrid_write_vector(index, layout, &slot, &state->entry.stored, state->entry.vector);

	record = GenericXLogStart(index);
	head_page = GenericXLogRegisterBuffer(record, target->head, 0);
	head = hybrid_list_page(head_page);
	page = head_page;
	if (target->page != target->head)
		page = GenericXLogRegisterBuffer(record, target->page,
		                                 target->fresh ? GENERIC_XLOG_FULL_IMAGE : 0);
	if (target->fresh)
	{
		BlockNumber block = BufferGetBlockNumber(target->page);
		Page last = head_page;

		if (target->last != target->head)
			last = GenericXLogRegisterBuffer(record, target->last, 0);
		hybrid_page_empty(page, HYBRID_PAGE_LIST, &target->list);
		hybrid_list_page_begin(layout, page, 0);
		hybrid_list_page(last)->next = block;
		head->tail = block;
		head->pages++;
	}
	memcpy(hybrid_directory(page), directory, named * sizeof(BlockNumber));
	hybrid_list_put(layout, (HybridSlot){page, 0, target->slot}, bits, &code, &state->entry.tid, 0);
	hybrid_words_put(layout, (HybridSlot){page, 0, target->slot}, state->entry.vector);
	if (layout->packed)
	{
		*hybrid_piece(shape, page, target->slot) = target->piece;
		hybrid_block(shape, page, target->slot / HY_CODE_ROWS)->fresh |=
			1U << target->slot % HY_CODE_ROWS;
	}
	if (!state->open.coded)
		*hybrid_list_first_with_space(head) = target->room;
	head->total++;
	head->changes++;
	GenericXLogFinish(record);
	pfree(directory);
}
