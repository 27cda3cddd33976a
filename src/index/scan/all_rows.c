/*
 * all_rows.c
 *		The positions of all rows of an index on arrays, each once and in the order of the table.
 *
 * A row has an entry for each vector of its array, and these entries may lie in different lists. To return each row
 * once, a read of the index sets a bit for each line pointer of the table that has an entry. A set of 64-bit positions
 * would take more memory, unless the pages of the table have fewer than five rows each. If memory does not suffice for
 * the bits of the whole table, the index is read once for each part of the table.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "server/position.h"

#include "index/scan/all_rows.h"
#include "index/tree/read.h"

#define WORD 64
#define WORDS ((MaxHeapTuplesPerPage + WORD) / WORD) /* words of a page of the table */
#define READ 4096                                    /* positions read at a time */

struct HybridAllRows
{
	MemoryContext context;
	HybridStore store;
	int64 positions[READ];
	uint64 *bits;
	int64 words;
	int64 word;   /* element of `bits` that comes next */
	int64 first;  /* number of the first page of this part of the table */
	int64 next;   /* number of the first page after this part that has a row; -1: none */
	bool counted; /* `excluded` is set: the first read of the index has counted all of them */
	int64 excluded;
};

static void read_part(HybridAllRows *rows);

HybridAllRows *
hybrid_all_rows_begin(IndexScanDesc scan, const HybridIndex *index,
                      const HybridIncludedQuals *included, double memory)
{
	MemoryContext context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid rows", ALLOCSET_DEFAULT_SIZES);
	MemoryContext old = MemoryContextSwitchTo(context);
	HybridAllRows *rows = palloc0(sizeof(HybridAllRows));
	double pages = Max(RelationGetNumberOfBlocks(scan->heapRelation), 1);

	rows->context = context;
	hybrid_store_init(&rows->store, scan->indexRelation, scan->xs_snapshot, index);
	rows->store.conditions = included != NULL ? included->conditions : NULL;
	rows->store.conditions_count = included != NULL ? included->count : 0;
	rows->words = WORDS * (int64) Max(Min(pages, memory / (WORDS * sizeof(uint64))), 1);
	rows->word = rows->words;
	rows->bits = MemoryContextAllocHuge(context, rows->words * sizeof(uint64));
	MemoryContextSwitchTo(old);
	return rows;
}

int
hybrid_all_rows_next(HybridAllRows *rows, int64 *positions, int most)
{
	int count = 0;

	for (;;)
	{
		CHECK_FOR_INTERRUPTS();
		while (rows->word < rows->words && count < most)
		{
			uint64 *bits = &rows->bits[rows->word];
			int64 place;

			if (*bits == 0)
			{
				rows->word++;
				continue;
			}
			place = rows->word % WORDS * WORD + pg_rightmost_one_pos64(*bits);
			positions[count++] = (rows->first + rows->word / WORDS) << 16 | place;
			*bits &= *bits - 1;
		}
		if (count == most || rows->next < 0)
			return count;
		read_part(rows);
	}
}

int64
hybrid_all_rows_end(HybridAllRows *rows)
{
	int64 excluded = rows->excluded;

	MemoryContextDelete(rows->context);
	return excluded;
}

/*
 * read_part: set the bits of the rows on as many pages of the table as fit, from page number rows->next on. Sets
 * rows->next for the next part.
 */
static void
read_part(HybridAllRows *rows)
{
	HybridStoreRows read = {.positions = rows->positions};
	int64 pages = rows->words / WORDS;
	int count, i;

	rows->first = rows->next;
	rows->next = -1;
	rows->word = 0;
	memset(rows->bits, 0, rows->words * sizeof(uint64));
	hybrid_store_rewind(&rows->store);
	rows->store.least = rows->first << 16;
	while ((count = hybrid_store_read(&rows->store, &read, READ)) > 0)
	{
		for (i = 0; i < count; i++)
		{
			int64 page = rows->positions[i] >> 16, place = rows->positions[i] & 0xffff;

			/* the server's own bitmaps of rows raise this error, too (tidbitmap.c) */
			if (place >= WORDS * WORD)
				elog(ERROR, "tuple offset out of range: %d", (int) place);
			if (page - rows->first < pages)
				rows->bits[(page - rows->first) * WORDS + place / WORD] |= UINT64CONST(1)
				                                                           << place % WORD;
			else if (rows->next < 0 || page < rows->next)
				rows->next = page;
		}
	}
	if (!rows->counted)
		rows->excluded = rows->store.excluded;
	rows->counted = true;
}
