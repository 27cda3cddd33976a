/*
 * found_rows.c
 *		The rows that a search has found: see found_rows.h.
 */
#include "postgres.h"

#include <math.h>

#include "server/memory.h"

#include "index/scan/found_rows.h"

#define FIRST_ROOM 256

static int compare_found(const void *a, const void *b);

double
hybrid_found_row_upper(const HybridFoundRow *row)
{
	return isfinite(row->width) ? row->distance + row->width : row->distance;
}

void
hybrid_found_rows_clear(HybridFoundRows *found)
{
	found->count = 0;
	found->returned = 0;
}

void
hybrid_found_rows_add(HybridFoundRows *found, MemoryContext context, const HybridFoundRow *row)
{
	if (found->count == found->allocated)
	{
		found->allocated = Max(FIRST_ROOM, found->allocated * 2);
		found->items =
			hybrid_enlarge(context, found->items, found->allocated * sizeof(HybridFoundRow));
	}
	found->items[found->count++] = *row;
}

void
hybrid_found_rows_leave(HybridFoundRows *found)
{
	int kept = 0, i;

	for (i = found->returned; i < found->count; i++)
		found->items[kept++] = found->items[i];
	found->count = kept;
	found->returned = 0;
}

const HybridFoundRow *
hybrid_found_rows_return(HybridFoundRows *found, const HyTopK *nearest, int *count)
{
	HybridFoundRow last, row;
	int i;

	found->returned = found->count;
	if (nearest != NULL && nearest->count == nearest->k)
	{
		last.distance = nearest->items[0].distance;
		last.position = nearest->items[0].row;
		found->returned = 0;
		/* move the rows that are returned to the front */
		for (i = 0; i < found->count; i++)
		{
			if (compare_found(&found->items[i], &last) > 0)
				continue;
			row = found->items[i];
			found->items[i] = found->items[found->returned];
			found->items[found->returned++] = row;
		}
	}
	qsort(found->items, found->returned, sizeof(HybridFoundRow), compare_found);
	*count = found->returned;
	return found->items;
}

static int
compare_found(const void *a, const void *b)
{
	const HybridFoundRow *x = a, *y = b;

	if (x->distance != y->distance)
		return x->distance < y->distance ? -1 : 1;
	return (x->position > y->position) - (x->position < y->position);
}
