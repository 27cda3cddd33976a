/*
 * found_rows.c
 *		The rows that a search has found: see found_rows.h.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "index/scan/found_rows.h"

#define FIRST_ROOM 256

static void bring_forward(HybridFoundRows *finds, const HyTopK *nearest);
static int compare_finds(const void *a, const void *b);

void
hybrid_found_rows_clear(HybridFoundRows *finds)
{
	finds->count = 0;
	finds->returned = 0;
	finds->returned_before = 0;
}

void
hybrid_found_rows_add(HybridFoundRows *finds, MemoryContext context, const HybridFoundRow *find)
{
	if (finds->count == finds->allocated)
	{
		finds->allocated = Max(FIRST_ROOM, finds->allocated * 2);
		if (finds->items == NULL)
			finds->items =
				MemoryContextAllocHuge(context, finds->allocated * sizeof(HybridFoundRow));
		else
			finds->items = repalloc_huge(finds->items, finds->allocated * sizeof(HybridFoundRow));
	}
	finds->items[finds->count++] = *find;
}

void
hybrid_found_rows_leave(HybridFoundRows *finds)
{
	int kept = 0, i;

	for (i = finds->returned; i < finds->count; i++)
		finds->items[kept++] = finds->items[i];
	finds->count = kept;
	finds->returned_before += finds->returned;
	finds->returned = 0;
}

const HybridFoundRow *
hybrid_found_rows_return(HybridFoundRows *finds, const HyTopK *nearest, int *count)
{
	finds->returned = finds->count;
	if (nearest != NULL && nearest->count == nearest->k)
		bring_forward(finds, nearest);
	qsort(finds->items, finds->returned, sizeof(HybridFoundRow), compare_finds);
	*count = finds->returned;
	return finds->items;
}

/* bring_forward: move the rows that will be returned to the front. */
static void
bring_forward(HybridFoundRows *finds, const HyTopK *nearest)
{
	HybridFoundRow last, find;
	int i;

	last.distance = nearest->items[0].distance;
	last.position = nearest->items[0].row;
	finds->returned = 0;
	for (i = 0; i < finds->count; i++)
	{
		if (compare_finds(&finds->items[i], &last) > 0)
			continue;
		find = finds->items[i];
		finds->items[i] = finds->items[finds->returned];
		finds->items[finds->returned++] = find;
	}
}

static int
compare_finds(const void *a, const void *b)
{
	const HybridFoundRow *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return (x->position > y->position) - (x->position < y->position);
}
