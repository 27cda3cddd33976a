/*
 * leaves_by_key.c
 *		Turns rows that are sorted by key into leaves, in an index with keys.
 *
 * A key with more rows than a leaf takes gets leaves of its own. Its rows are sorted by the lists of
 * the whole table, so that rows that are loaded together are near each other. They are cut into leaves
 * like the rows of a list that is too long. Keys with few rows share leaves: a leaf has all rows of
 * some consecutive keys.
 *
 * No outliers are set aside, because a list of outliers would have rows of all keys.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/build/leaves_writing.h"

#define FILL                                                                                       \
	0.75 /* share of a shared leaf that is filled, so that it can grow before it is split */

/* Pending: rows that are loaded and not written yet. */
typedef struct Pending
{
	HybridLeaves *leaves;
	HybridWriting *writing;
	HybridContents rows;
	int first;  /* number of the last key's first row */
	bool alone; /* the last key has leaves of its own, and all pending rows are of this key */
	/* a shared leaf gets a further key only if it then has at most this number of rows */
	int fill;
} Pending;

static uint64 key_of(const Pending *pending, int row);
static void end_key(Pending *pending);
static void write_first(Pending *pending, int count);

void
hybrid_leaves_write_by_key(HybridLeaves *leaves, HybridWriting *writing)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid leaves by key", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	int list_size = leaves->open->list_size, most = hybrid_leaves_load_most(leaves);
	Pending pending = {leaves, writing, .first = 0, .alone = false};
	HybridContents *rows = &pending.rows;
	uint64 key = 0;
	int64 i;

	writing->central = writing->central && leaves->rows <= list_size;
	pending.fill = writing->central ? list_size : Max((int) (list_size * FILL), 1);
	/* space for one more row: the row that begins the next key is loaded before this key is written */
	hybrid_leaves_allocate(leaves, rows, most + 1);
	for (i = 0; i < leaves->rows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		hybrid_leaves_load(leaves, &leaves->sort, rows);
		if (i > 0 && key_of(&pending, rows->count - 1) != key)
			end_key(&pending);
		key = key_of(&pending, rows->count - 1);
		if (!pending.alone && rows->count - pending.first > list_size)
		{
			write_first(&pending, pending.first);
			pending.alone = true;
		}
		if (pending.alone && rows->count >= most)
			write_first(&pending, rows->count);
	}
	if (!pending.alone && rows->count > pending.fill)
		write_first(&pending, pending.first);
	write_first(&pending, rows->count);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
}

static uint64
key_of(const Pending *pending, int row)
{
	const HybridLayout *layout = &pending->leaves->open->layout;

	return *hybrid_words(layout, pending->rows.vectors + (Size) row * layout->leaf.carried);
}

/*
 * end_key: the row loaded last begins another key. If the key before it has leaves of its own, write
 * the rest of its rows. Otherwise, if the rows of all loaded keys are too many for one shared leaf,
 * write all keys but the last complete one.
 */
static void
end_key(Pending *pending)
{
	int last = pending->rows.count - 1;

	if (pending->alone)
		write_first(pending, last);
	else if (last > pending->fill)
		write_first(pending, pending->first);
	pending->alone = false;
	pending->first = pending->rows.count - 1;
}

/* write_first: write the first `count` rows, and move the others to the beginning. */
static void
write_first(Pending *pending, int count)
{
	HybridContents *rows = &pending->rows;
	HybridLeaves *leaves = pending->leaves;
	const HybridLayout *layout = &leaves->open->layout;
	Size left = rows->count - count;
	MemoryContext old;

	if (count == 0)
		return;
	old = MemoryContextSwitchTo(leaves->context);
	hybrid_leaves_write_rows(leaves, pending->writing, rows, count, leaves->open->list_size);
	MemoryContextSwitchTo(old);
	MemoryContextReset(leaves->context);
	memmove(rows->tids, rows->tids + count, left * sizeof(ItemPointerData));
	memmove(rows->stored, rows->stored + count, left * sizeof(HybridStored));
	memmove(rows->vectors, rows->vectors + (Size) count * layout->leaf.carried,
	        left * layout->leaf.carried);
	memmove(rows->places, rows->places + (Size) count * layout->dims,
	        left * layout->dims * sizeof(float));
	rows->count = (int) left;
	pending->first = Max(pending->first - count, 0);
}
