/*
 * segment_rows.c
 *		Finds the postings of a range of list pages, in the order of a segment.
 */
#include "postgres.h"

#include "commands/vacuum.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"

#include "server/compat.h"
#include "server/memory.h"

#include "index/page/list_read.h"
#include "index/write/segment_rows.h"

/*
 * minimum space, in postings; a dimension has at most HY_POSTING_ROWS, so each call can return at least
 * one dimension
 */
#define LEAST_ROOM (2 * HY_POSTING_ROWS)
#define FIRST_ROOM 4096

static void read_page(HybridSegmentRows *rows, int page, int64 *end);
static void add_row(HybridSegmentRows *rows, int row, int64 *end);
static void drop_last(HybridSegmentRows *rows, int64 *end);

static inline int
compare_postings(const HybridPosting *a, const HybridPosting *b)
{
	if (a->dim != b->dim)
		return a->dim < b->dim ? -1 : 1;
	return (int) a->row - (int) b->row;
}

#define ST_SORT sort_postings
#define ST_ELEMENT_TYPE HybridPosting
#define ST_COMPARE(a, b) compare_postings(a, b)
#define ST_SCOPE static
#define ST_CHECK_FOR_INTERRUPTS
#define ST_DEFINE
#define ST_DECLARE
#include "lib/sort_template.h"

void
hybrid_segment_rows_begin(HybridSegmentRows *rows, Relation index, const HybridIndex *open,
                          HybridLink list, const BlockNumber *blocks, int pages,
                          const uint32 *wanted)
{
	Size words = (Size) pages * open->layout.leaf.blocks;

	memset(rows, 0, sizeof(*rows));
	rows->index = index;
	rows->open = open;
	rows->list = list;
	rows->blocks = blocks;
	rows->pages = pages;
	rows->live = palloc(words * sizeof(uint32));
	if (wanted != NULL)
		memcpy(rows->live, wanted, words * sizeof(uint32));
	else
		memset(rows->live, 0xff, words * sizeof(uint32));
	rows->measures = palloc0(HY_POSTING_ROWS * sizeof(float));
	rows->value = palloc(open->layout.leaf.stride);
}

bool
hybrid_segment_rows_next(HybridSegmentRows *rows)
{
	int64 end = rows->open->layout.dims;
	int page;

	if (rows->next >= end || (rows->read && rows->total == 0))
		return false;
	rows->count = 0;
	for (page = 0; page < rows->pages; page++)
	{
		vacuum_delay_point(false);
		read_page(rows, page, &end);
		if (rows->total > HYBRID_POSTINGS_MOST)
			return false;
	}
	sort_postings(rows->postings, rows->count);
	rows->read = true;
	rows->next = end;
	return rows->count > 0 || hybrid_segment_rows_next(rows);
}

void
hybrid_segment_rows_end(HybridSegmentRows *rows)
{
	pfree(rows->live);
	pfree(rows->measures);
	pfree(rows->value);
	if (rows->postings != NULL)
		pfree(rows->postings);
}

/*
 * read_page: add the postings of the rows of one list page, for the dimensions from rows->next to *end
 * - 1.
 */
static void
read_page(HybridSegmentRows *rows, int page, int64 *end)
{
	const HybridLayout *layout = &rows->open->layout;
	const HybridListLayout *shape = &layout->leaf;
	uint32 *live = rows->live + (Size) page * shape->blocks;
	Buffer buffer = hybrid_list_read(rows->index, layout, &rows->list, 0, rows->blocks[page], NULL);
	PGAlignedBlock image;
	Page content = (Page) image.data;
	int used, slot, b;

	/*
	 * Work on a copy, because no buffer lock may be held during a sort, which add_row may need. The
	 * values of live entries do not change.
	 */
	memcpy(image.data, BufferGetPage(buffer), BLCKSZ);
	UnlockReleaseBuffer(buffer);
	used = hybrid_list_page(content)->used;
	for (b = 0; b < shape->blocks; b++)
	{
		uint32 there = b * HY_CODE_ROWS < used ? hybrid_block(shape, content, b)->live : 0;

		live[b] &= there;
	}
	for (slot = 0; slot < used; slot++)
	{
		int row = page * shape->rows + slot;
		HybridStored stored;

		if ((live[slot / HY_CODE_ROWS] & (1U << slot % HY_CODE_ROWS)) == 0)
			continue;
		CHECK_FOR_INTERRUPTS();
		hybrid_vector_read(rows->index, layout, (HybridSlot){content, 0, slot}, &stored,
		                   rows->value, NULL);
		add_row(rows, row, end);
	}
}

/* add_row: add the postings of the row in rows->value. May lower *end. */
static void
add_row(HybridSegmentRows *rows, int row, int64 *end)
{
	const HybridSparse *sparse = (const HybridSparse *) rows->value;
	const float *values = (const float *) (sparse->indices + sparse->count);
	HySparse view = {rows->open->layout.dims, sparse->count, sparse->indices, values};
	int i;

	if (!rows->read)
	{
		rows->rows++;
		rows->total += (uint64) sparse->count;
		rows->measures[row] = hy_postings_measure(rows->open->metric, &view);
	}
	for (i = 0; i < sparse->count; i++)
	{
		if (sparse->indices[i] < rows->next)
			continue;
		if (rows->count == rows->room)
			drop_last(rows, end);
		if (sparse->indices[i] >= *end)
			break;
		rows->postings[rows->count].dim = sparse->indices[i];
		rows->postings[rows->count].value = values[i];
		rows->postings[rows->count++].row = (uint16) row;
	}
}

/*
 * drop_last: make space. Enlarges the array. If the array already has its maximum size, drops the
 * postings of the last dimensions instead, and lowers *end to the first dimension dropped.
 */
static void
drop_last(HybridSegmentRows *rows, int64 *end)
{
	int64 most = (int64) hybrid_maintenance_memory() * 1024 / (int64) sizeof(HybridPosting);

	most = Max(most, LEAST_ROOM);
	if (rows->room < most)
	{
		rows->room = Min(Max(rows->room * 2, FIRST_ROOM), most);
		rows->postings = hybrid_enlarge(CurrentMemoryContext, rows->postings,
		                                rows->room * sizeof(HybridPosting));
		return;
	}
	sort_postings(rows->postings, rows->count);
	*end = rows->postings[rows->count / 4 * 3].dim;
	while (rows->postings[rows->count - 1].dim >= *end)
		rows->count--;
}
