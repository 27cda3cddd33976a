/*
 * parent_entries.c
 *		Collects new lists of one level, and writes inner lists that name them.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/build/centroids.h"
#include "index/build/parent_entries.h"

#define ALLOCATED_FIRST 64

void
hybrid_parent_entries_init(HybridParentEntries *entries, const HybridIndex *open, int level)
{
	memset(entries, 0, sizeof(*entries));
	entries->open = open;
	entries->level = level;
	entries->lists.inner = true;
	entries->context = CurrentMemoryContext;
}

void
hybrid_parent_entries_add(HybridParentEntries *entries, const HybridCopy *list)
{
	const HybridLayout *layout = &entries->open->layout;
	HybridContents *lists = &entries->lists;
	Size i = lists->count;

	if (lists->count == entries->allocated)
	{
		MemoryContext old = MemoryContextSwitchTo(entries->context);
		/* a large array grows by an eighth instead of doubling, so that little of it is unused */
		Size allocated = i + Max(ALLOCATED_FIRST, i / 8);

		if (entries->allocated == 0)
		{
			lists->tids = palloc(allocated * sizeof(ItemPointerData));
			lists->stored = palloc(allocated * sizeof(HybridStored));
			lists->radii = palloc(allocated * sizeof(float));
			lists->vectors =
				MemoryContextAllocHuge(entries->context, allocated * layout->inner.carried);
		}
		else
		{
			lists->tids = repalloc_huge(lists->tids, allocated * sizeof(ItemPointerData));
			lists->stored = repalloc_huge(lists->stored, allocated * sizeof(HybridStored));
			lists->radii = repalloc_huge(lists->radii, allocated * sizeof(float));
			lists->vectors = repalloc_huge(lists->vectors, allocated * layout->inner.carried);
		}
		entries->allocated = (int) allocated;
		MemoryContextSwitchTo(old);
	}
	lists->tids[i] = hybrid_link_tid(list->link);
	lists->stored[i] = list->stored;
	lists->radii[i] = list->radius;
	memcpy(lists->vectors + i * layout->inner.carried, list->vector, layout->inner.carried);
	lists->count++;
}

void
hybrid_parent_entries_place(const HybridParentEntries *entries, int number, float *place)
{
	const HybridLayout *layout = &entries->open->layout;

	hybrid_widen_vector(layout->inner.storage, &entries->lists.stored[number],
	                    entries->lists.vectors + number * layout->inner.carried, layout->dims,
	                    place);
}

void
hybrid_parent_entries_by_key(HybridParentEntries *entries, int *order, bool cover)
{
	const HybridLayout *layout = &entries->open->layout;
	int count = entries->lists.count, i;
	HybridKeyedEntry *lists = hybrid_entries_by_key(layout, &entries->lists);

	if (cover && count > 0)
	{
		lists[0].bounds.least = 0;
		lists[count - 1].bounds.most = PG_UINT64_MAX;
	}
	for (i = 0; i < count; i++)
	{
		if (cover && i < count - 1)
		{
			uint64 next = lists[i + 1].bounds.least;

			lists[i].bounds.most = Max(lists[i].bounds.most, next - (next > 0 ? 1 : 0));
		}
		*hybrid_bounds(layout,
		               entries->lists.vectors + (Size) lists[i].number * layout->inner.carried) =
			lists[i].bounds;
		order[i] = lists[i].number;
	}
	pfree(lists);
}

void
hybrid_parent_entries_load(const HybridParentEntries *entries, const int *order, int count,
                           HybridContents *loaded)
{
	const HybridLayout *layout = &entries->open->layout;
	const HybridContents *lists = &entries->lists;
	MemoryContext context = CurrentMemoryContext;
	int i;

	loaded->count = count;
	loaded->inner = true;
	loaded->tids = palloc(count * sizeof(ItemPointerData));
	loaded->stored = palloc(count * sizeof(HybridStored));
	loaded->radii = palloc(count * sizeof(float));
	loaded->vectors = MemoryContextAllocHuge(context, count * layout->inner.carried);
	loaded->places = MemoryContextAllocHuge(context, (Size) count * layout->dims * sizeof(float));
	for (i = 0; i < count; i++)
	{
		int from = order != NULL ? order[i] : i;

		loaded->tids[i] = lists->tids[from];
		loaded->stored[i] = lists->stored[from];
		loaded->radii[i] = lists->radii[from];
		memcpy(loaded->vectors + i * layout->inner.carried,
		       lists->vectors + from * layout->inner.carried, layout->inner.carried);
		hybrid_parent_entries_place(entries, from, loaded->places + (Size) i * layout->dims);
	}
}

void
hybrid_parent_entries_unload(HybridContents *loaded)
{
	pfree(loaded->tids);
	pfree(loaded->stored);
	pfree(loaded->radii);
	pfree(loaded->vectors);
	pfree(loaded->places);
}

void
hybrid_parent_entries_write(const HybridParentEntries *entries, const int *order, int count,
                            bool root, HybridFrame *frame, HybridSink *sink,
                            HybridParentEntries *above)
{
	int dims = entries->open->layout.dims, *all = palloc(count * sizeof(int)), i;
	float *mean = palloc(dims * sizeof(float));
	HybridContents loaded;
	HybridCopy list;

	CHECK_FOR_INTERRUPTS();
	hybrid_parent_entries_load(entries, order, count, &loaded);
	for (i = 0; i < count; i++)
		all[i] = i;
	hybrid_mean(loaded.places, all, count, dims, mean);
	hybrid_copy_make(entries->open, &loaded, all, count, mean, &list);
	hybrid_copy_write(sink, frame, above->level, &list, root);
	hybrid_parent_entries_add(above, &list);
	pfree(list.place);
	pfree(list.vector);
	hybrid_parent_entries_unload(&loaded);
	pfree(mean);
	pfree(all);
}

void
hybrid_parent_entries_end(HybridParentEntries *entries)
{
	if (entries->allocated == 0)
		return;
	pfree(entries->lists.tids);
	pfree(entries->lists.stored);
	pfree(entries->lists.radii);
	pfree(entries->lists.vectors);
	memset(&entries->lists, 0, sizeof(entries->lists));
	entries->allocated = 0;
}
