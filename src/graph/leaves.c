/*
 * leaves.c
 *		The tables that hold the rows of a registered graph: see leaves.h.
 */
#include "postgres.h"

#include "graph/leaves.h"
#include "miscadmin.h"
#include "utils/memutils.h"

/*
 * A leaf gets GROWTH numbers for each of its pages, and FEW_PAGES more. The last leaf gets all
 * remaining numbers.
 */
#define GROWTH 2
#define FEW_PAGES 64

static const HybridLeafTable *table_of(const HybridRegistered *registered, int at);

void
hybrid_leaves_make(HybridLeaves *leaves, const HybridRegistered *registered, MemoryContext context)
{
	int i;

	leaves->count = list_length(registered->leaves);
	leaves->leaf =
		MemoryContextAllocExtended(context, sizeof(HybridLeaf) * (Size) Max(leaves->count, 1),
	                               MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	for (i = 0; i < leaves->count; i++)
	{
		Relation table = table_of(registered, i)->table;

		leaves->leaf[i].table = RelationGetRelid(table);
		leaves->leaf[i].storage = table->rd_locator;
		leaves->leaf[i].pages.context = context;
	}
}

bool
hybrid_leaves_match(const HybridLeaves *leaves, const HybridRegistered *registered)
{
	int i;

	if (leaves->count != list_length(registered->leaves))
		return false;
	for (i = 0; i < leaves->count; i++)
	{
		Relation table = table_of(registered, i)->table;

		if (leaves->leaf[i].table != RelationGetRelid(table) ||
		    !RelFileLocatorEquals(leaves->leaf[i].storage, table->rd_locator))
			return false;
	}
	return true;
}

void
hybrid_leaves_choose(HybridLeaves *leaves, const HybridRegistered *registered, int at,
                     HybridPageReader *reader)
{
	reader->pages = &leaves->leaf[at].pages;
	reader->table = table_of(registered, at)->table;
}

void
hybrid_leaves_examine(HybridLeaves *leaves, const HybridRegistered *registered,
                      HybridPageReader *reader)
{
	int i;

	reader->validation->by_map = reader->validation->by_lsn = 0;
	for (i = 0; i < leaves->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		hybrid_leaves_choose(leaves, registered, i, reader);
		hybrid_pages_examine(reader);
	}
}

HybridLeafTotal
hybrid_leaves_total(const HybridLeaves *leaves)
{
	HybridLeafTotal total = {0};
	int i;

	for (i = 0; i < leaves->count; i++)
	{
		const HybridLeaf *leaf = &leaves->leaf[i];

		total.pages += leaf->pages.count;
		total.unread += leaf->pages.unread;
		total.is_shorter = total.is_shorter || leaf->pages.count < leaf->blocks;
		total.is_outgrown = total.is_outgrown || leaf->pages.count > leaf->room;
	}
	return total;
}

bool
hybrid_leaves_number(HybridLeaves *leaves)
{
	/* 0 is not a valid origin */
	uint64 next = 1;
	int i;

	for (i = 0; i < leaves->count; i++)
	{
		HybridLeaf *leaf = &leaves->leaf[i];
		uint64 room = GROWTH * (uint64) leaf->pages.count + FEW_PAGES;

		if (i == leaves->count - 1)
			room = next > PG_UINT32_MAX ? 0 : PG_UINT32_MAX - next + 1;
		if (next + leaf->pages.count > PG_UINT32_MAX || leaf->pages.count > room)
			return false;
		leaf->first = (uint32) next;
		leaf->room = (uint32) Min(room, PG_UINT32_MAX);
		next += room;
	}
	return true;
}

void
hybrid_leaves_forget(HybridLeaves *leaves, HybridPageReader *reader)
{
	int i;

	for (i = 0; i < leaves->count; i++)
	{
		reader->pages = &leaves->leaf[i].pages;
		hybrid_pages_forget(reader);
	}
}

void
hybrid_leaves_finish(HybridLeaves *leaves)
{
	int i;

	for (i = 0; i < leaves->count; i++)
	{
		HybridLeaf *leaf = &leaves->leaf[i];

		leaf->blocks = leaf->pages.count;
		hybrid_pages_finish(&leaf->pages);
	}
}

bool *
hybrid_leaves_changed(const HybridLeaves *leaves)
{
	const HybridLeaf *last = &leaves->leaf[leaves->count - 1];
	const uint32 end = last->first + Max(last->blocks, last->pages.count);
	bool *changed = MemoryContextAllocExtended(CurrentMemoryContext, (Size) end + 1,
	                                           MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	int i;

	for (i = 0; i < leaves->count; i++)
	{
		const HybridLeaf *leaf = &leaves->leaf[i];
		BlockNumber block;

		for (block = 0; block < Max(leaf->blocks, leaf->pages.count); block++)
			changed[leaf->first + block] =
				block >= leaf->pages.count || hybrid_page_must_be_read(&leaf->pages, block);
	}
	return changed;
}

static const HybridLeafTable *
table_of(const HybridRegistered *registered, int at)
{
	return list_nth(registered->leaves, at);
}
