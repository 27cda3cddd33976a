/*
 * build_write_kept.c
 *		CREATE INDEX: writes the lists of rows that are kept in memory, with all processes of the
 *		team.
 *
 * Lists that are too long are cut first. The number of rows of each list then determines where the list
 * is in the file, as if one process had written one list after another. Any process can therefore write
 * any list. The leader writes the inner lists.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "server/position.h"

#include "index/build/build.h"

#define FIRST (UINT64CONST(1) << 63) /* mark in the order: this row is the first row of a list */

/* Leaf: a list to be written. */
typedef struct Leaf
{
	int64 begin; /* index of the list's first row in the order */
	int count;
	/* state of the appender when it reaches this leaf */
	BlockNumber reserved;
	BlockNumber extent;
	BlockNumber extent_end;
} Leaf;

/* Laying: state of one process while the lists are written. */
typedef struct Laying
{
	HybridBuild *build;
	HybridTeam *team;
	int64 stored;
	uint64 *order; /* order of all rows; shared by all processes */
	HybridLoadedRows rows;
	int *numbers; /* the numbers 0, 1, ... */
	int numbers_count;
	int few; /* maximum number of rows that this process loads while other processes load, too */
	Leaf *leaves;
	int count;
	BlockNumber blocks; /* number of blocks of the file with all leaves */
	char *written;      /* written lists; shared by all processes */
	Size written_bytes;
} Laying;

/* PlacingSink: a sink that writes leaves to the blocks that are planned for them. */
typedef struct PlacingSink
{
	HybridSink sink; /* must be first: callers see only this */
	HybridAppender *appender;
	BlockNumber blocks;
} PlacingSink;

/* Placed: a row and its heap position. */
typedef struct Placed
{
	int64 position;
	uint64 row;
} Placed;

static void cut_lists(Laying *laying);
static void sort_rows(Laying *laying, int64 begin, int64 count);
static void cut_list(Laying *laying, int64 begin, int count);
static void load_rows(Laying *laying, int64 begin, int count);
static void unload_rows(Laying *laying, int count);
static void place_leaves(Laying *laying);
static void write_leaves(Laying *laying);
static bool is_central(const Laying *laying);
static void make_numbers(Laying *laying, int count);
static HybridLink place_reserve(HybridSink *sink, HybridPageKind kind);
static void place_write(HybridSink *sink, BlockNumber block, Page image);
static HybridWrittenLeaf *written_leaf(const Laying *laying, int leaf);
static void write_above(Laying *laying, HybridMeta *meta);
static void end_laying(Laying *laying);

bool
hybrid_build_write_kept(HybridBuild *build, HybridMeta *meta)
{
	HybridTeam *team = build->team;
	HybridTeamShared *shared = team->shared;
	HybridAppender before = build->appender;
	Laying laying;
	bool room;

	memset(&laying, 0, sizeof(laying));
	laying.build = build;
	laying.team = team;
	laying.stored = (int64) shared->stored;
	laying.order = hybrid_team_memory(team, shared->order);
	laying.few = team->participants > 1 ? hybrid_load_few(build, team->participants)
	                                    : hybrid_load_most(build);
	laying.written_bytes = hybrid_written_leaf_bytes(build->definition.layout.dims);
	hybrid_team_expect(team, laying.stored);
	cut_lists(&laying);
	hybrid_team_meet(team);
	place_leaves(&laying);
	if (team->me == 0)
	{
		hybrid_team_expand(team, laying.count * laying.written_bytes);
		shared->leaves = hybrid_team_allocate(team, laying.count * laying.written_bytes);
	}
	hybrid_team_meet(team);
	room = shared->leaves != 0;
	if (room)
	{
		laying.written = hybrid_team_memory(team, shared->leaves);
		write_leaves(&laying);
		hybrid_team_meet(team);
		if (team->me == 0)
			write_above(&laying, meta);
	}
	else
	{
		build->appender = before;
		if (team->me == 0)
			ereport(DEBUG1, (errmsg_internal("index \"%s\": there is no room to lay rows",
			                                 RelationGetRelationName(build->index))));
	}
	end_laying(&laying);
	return room;
}

/* cut_lists: cut lists that are too long, and mark the first row of each list in the order. */
static void
cut_lists(Laying *laying)
{
	HybridBuild *build = laying->build;
	int lists = Max(build->centroids.count, 1), most = hybrid_load_most(build), list;
	int64 begin = 0, taken = hybrid_team_next(laying->team);

	for (list = 0; list < lists; list++)
	{
		int64 end = begin + build->list_rows[list];

		if (list == taken)
		{
			CHECK_FOR_INTERRUPTS();
			if (laying->team->shared->disorder)
				sort_rows(laying, begin, end - begin);
			for (; begin < end; begin += most)
				cut_list(laying, begin, (int) Min(end - begin, most));
			taken = hybrid_team_next(laying->team);
		}
		begin = end;
	}
}

/* sort_rows: sort the rows of a list by heap position. */
static void
sort_rows(Laying *laying, int64 begin, int64 count)
{
	Placed *placed = MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * sizeof(Placed));
	int64 i;

	for (i = 0; i < count; i++)
	{
		const HybridKeptRow *row = hybrid_team_memory(laying->team, laying->order[begin + i]);

		placed[i].position = row->position;
		placed[i].row = laying->order[begin + i];
	}
	qsort(placed, count, sizeof(Placed), hybrid_compare_positions);
	for (i = 0; i < count; i++)
		laying->order[begin + i] = placed[i].row;
	pfree(placed);
}

/* cut_list: mark these rows as one list, or cut them into several. */
static void
cut_list(Laying *laying, int64 begin, int count)
{
	HybridTeamShared *shared = laying->team->shared;
	uint64 *order = laying->order + begin;

	if (count > laying->build->definition.list_size)
	{
		int *numbers = palloc(count * sizeof(int)), *sizes, parts, part, i;
		uint64 *rows = palloc(count * sizeof(uint64));

		load_rows(laying, begin, count);
		parts = hybrid_load_cut(laying->build, &laying->rows, numbers, &sizes);
		unload_rows(laying, count);
		memcpy(rows, order, count * sizeof(uint64));
		for (i = 0; i < count; i++)
			order[i] = rows[numbers[i]];
		for (part = 0, i = 0; part < parts; i += sizes[part++])
		{
			if (sizes[part] > 0)
				order[i] |= FIRST;
		}
		if (parts > 1)
		{
			SpinLockAcquire(&shared->mutex);
			shared->cut = true;
			SpinLockRelease(&shared->mutex);
		}
		pfree(rows);
		pfree(sizes);
		pfree(numbers);
	}
	else
		order[0] |= FIRST;
}

/* load_rows: load a range of the order into laying->rows. */
static void
load_rows(Laying *laying, int64 begin, int count)
{
	HybridBuild *build = laying->build;
	const HybridLayout *layout = &build->definition.layout;
	HybridLoadedRows *rows = &laying->rows;
	int64 i;

	/* load long lists one at a time, so that all processes together stay within the memory */
	if (count > laying->few)
		hybrid_team_turn(laying->team);
	hybrid_load_begin(build, rows, count);
	for (i = begin; i < begin + count; i++)
	{
		const HybridKeptRow *row = hybrid_team_memory(laying->team, laying->order[i] & ~FIRST);
		int at = rows->count++;

		rows->positions[at] = row->position;
		rows->stored[at] = row->stored;
		memcpy(rows->vectors + at * layout->stride, row->vector, layout->stride);
		hybrid_kept_place(build, &build->frame, row, rows->places + (Size) at * layout->dims);
	}
}

/*
 * unload_rows: free the rows after they were written or cut. If loading them took the turn, end the turn.
 */
static void
unload_rows(Laying *laying, int count)
{
	if (count <= laying->few)
		return;
	hybrid_load_end(&laying->rows);
	hybrid_team_trim_heap();
	hybrid_team_turn_over(laying->team);
}

/* place_leaves: compute the position of each leaf in the order and in the file. */
static void
place_leaves(Laying *laying)
{
	HybridBuild *build = laying->build;
	HybridAppender *appender = &build->appender;
	int64 begin, end;
	int allocated = 1024;

	laying->leaves = palloc(allocated * sizeof(Leaf));
	appender->reserved = laying->team->shared->first;
	for (begin = 0; begin < laying->stored || laying->count == 0; begin = end)
	{
		Leaf *leaf;

		CHECK_FOR_INTERRUPTS();
		for (end = begin + 1; end < laying->stored && (laying->order[end] & FIRST) == 0; end++)
			;
		end = Min(end, laying->stored);
		if (laying->count == allocated)
		{
			allocated *= 2;
			laying->leaves = repalloc_huge(laying->leaves, allocated * sizeof(Leaf));
		}
		leaf = &laying->leaves[laying->count++];
		leaf->begin = begin;
		leaf->count = (int) (end - begin);
		leaf->reserved = appender->reserved;
		leaf->extent = appender->extent;
		leaf->extent_end = appender->extent_end;
		hybrid_new_list_reserve(&build->definition.layout, &appender->sink, 0, leaf->count);
	}
	laying->blocks = appender->highest + 1;
}

/* write_leaves: write leaves until no leaf is free. */
static void
write_leaves(Laying *laying)
{
	HybridBuild *build = laying->build;
	HybridAppender after = build->appender;
	PlacingSink sink = {{place_reserve, place_write}, &build->appender, laying->blocks};
	int64 taken;
	bool central = is_central(laying);

	while ((taken = hybrid_team_next(laying->team)) < laying->count)
	{
		const Leaf *leaf = &laying->leaves[taken];
		HybridWrittenLeaf *written = written_leaf(laying, (int) taken);

		CHECK_FOR_INTERRUPTS();
		load_rows(laying, leaf->begin, leaf->count);
		make_numbers(laying, leaf->count);
		build->appender.reserved = leaf->reserved;
		build->appender.extent = leaf->extent;
		build->appender.extent_end = leaf->extent_end;
		hybrid_write_leaf(build, &sink.sink, &laying->rows, laying->numbers, leaf->count, central,
		                  written);
		unload_rows(laying, leaf->count);
		hybrid_team_done(laying->team, leaf->count);
	}
	/* set the appender as if this process had written all leaves */
	after.written = laying->blocks;
	build->appender = after;
}

/*
 * is_central: test whether there is only one list. That list is the root, and its centroid is the center.
 */
static bool
is_central(const Laying *laying)
{
	return laying->build->centroids.count <= 1 && laying->count == 1 &&
	       !laying->team->shared->cut && laying->stored <= hybrid_load_most(laying->build);
}

/* make_numbers: make laying->numbers at least `count` long. */
static void
make_numbers(Laying *laying, int count)
{
	int i;

	if (count <= laying->numbers_count)
		return;
	if (laying->numbers != NULL)
		pfree(laying->numbers);
	laying->numbers = palloc(2 * count * sizeof(int));
	laying->numbers_count = 2 * count;
	for (i = 0; i < laying->numbers_count; i++)
		laying->numbers[i] = i;
}

static HybridLink
place_reserve(HybridSink *sink, HybridPageKind kind)
{
	HybridSink *appender = &((PlacingSink *) sink)->appender->sink;

	return appender->reserve(appender, kind);
}

static void
place_write(HybridSink *sink, BlockNumber block, Page image)
{
	const PlacingSink *placing = (const PlacingSink *) sink;

	hybrid_appender_place(placing->appender, placing->blocks, block, image);
}

static HybridWrittenLeaf *
written_leaf(const Laying *laying, int leaf)
{
	return (HybridWrittenLeaf *) (void *) (laying->written + leaf * laying->written_bytes);
}

/* write_above: write the inner lists. Only the leader calls it. */
static void
write_above(Laying *laying, HybridMeta *meta)
{
	HybridBuild *build = laying->build;
	HybridBuiltLists leaves;
	int i;

	memset(&leaves, 0, sizeof(leaves));
	leaves.central = is_central(laying);
	for (i = 0; i < laying->count; i++)
	{
		const HybridWrittenLeaf *leaf = written_leaf(laying, i);

		hybrid_built_lists_add(build, &leaves, leaf->link, leaf->mean, leaf->radius);
	}
	hybrid_write_levels(build, &leaves, meta);
}

static void
end_laying(Laying *laying)
{
	hybrid_load_end(&laying->rows);
	if (laying->numbers != NULL)
		pfree(laying->numbers);
	pfree(laying->leaves);
}
