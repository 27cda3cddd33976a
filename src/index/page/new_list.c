/*
 * new_list.c
 *		Make a new list from its entries.
 *
 * A list page and the pages that its directory names form a group. A group is made in memory and written
 * in the order of the directory. So if the file is extended, the vectors of a group are contiguous.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "index/page/packed.h"

/*
 * The radius of a leaf does not include outliers: rows that are more than twice as far from the centroid
 * as the median row. A query is rarely near such rows, and a radius that included them would not fit the
 * other rows. (bench/recall.sh, `heavy_tails` with LIMIT 100, one seed of four: with the outliers included,
 * recall is .90 at a target of .95.) For inner products all rows are included, because the outliers are
 * the rows that a query finds.
 */
#define OUTSIDE 4 /* 2 squared, because squared distances are compared */

/* ListWriter: a list being made. */
typedef struct ListWriter
{
	HybridFrame *frame;
	HybridSink *sink;
	const HybridListLayout *shape;
	int level;
	HybridLink list;
	HybridLink at; /* link of the list page being made */
	const float *centroid;
	/* rotated place of the centroid; NULL if the centroid is the center */
	float *rotated_centroid;
	float *rotated;
	/*
	 * sum of the squared distances of the entries from the centroid and, in an inner list, of the squared
	 * radii of the lists below
	 */
	double spread;
	/* squared distances of a leaf's rows from the centroid; NULL if they are not needed */
	float *squared;
	int64 rows;             /* number of these distances */
	uint8 *codes;           /* codes of the page's only block, if codes have pages of their own */
	PGAlignedBlock *images; /* pages of the group */
	BlockNumber *blocks;    /* block number of each image */
	PGAlignedBlock head;    /* first page of the list; its tail is filled in at the end */
} ListWriter;

static int pages_of(const HybridListLayout *shape, int rows);
static HybridPageKind kind_of(const HybridListLayout *shape, int i);
static BlockNumber write_group(ListWriter *writer, BlockNumber at, int rows, int64 left,
                               const HybridNewEntries *entries);
static int reserve_group(ListWriter *writer, BlockNumber at, int rows);
static void put_entry(ListWriter *writer, int slot, const HybridNewEntry *entry);
static double radius_of(const ListWriter *writer, int64 count);

HybridLink
hybrid_new_list(HybridFrame *frame, HybridSink *sink, int level, const float *centroid,
                const HybridNewEntries *entries, float *radius)
{
	const HybridLayout *layout = frame->layout;
	const HybridListLayout *shape = hybrid_list_layout(layout, level);
	int pages = 1 + shape->code_pages + shape->vector_pages;
	ListWriter writer;
	int64 count = entries->count;
	int64 left = count;
	BlockNumber at;

	if (layout->packed)
	{
		*radius = 0;
		return hybrid_packed_write_list(layout, sink, entries);
	}
	memset(&writer, 0, sizeof(writer));
	writer.frame = frame;
	writer.sink = sink;
	writer.shape = shape;
	writer.level = level;
	writer.centroid = centroid;
	writer.rotated = palloc(Max(layout->padded, 1) * sizeof(float));
	if (centroid != NULL && layout->padded > 0)
	{
		writer.rotated_centroid = palloc(layout->padded * sizeof(float));
		hy_rotation_apply(frame->rotation, centroid, writer.rotated_centroid);
	}
	if (shape->code_pages > 0)
		writer.codes = palloc(layout->code_bytes);
	if (level == 0 && layout->padded > 0 && frame->metric != HY_METRIC_IP)
		writer.squared =
			MemoryContextAllocHuge(CurrentMemoryContext, Max(count, 1) * sizeof(float));
	writer.images = palloc(pages * sizeof(PGAlignedBlock));
	writer.blocks = palloc(pages * sizeof(BlockNumber));

	writer.list = sink->reserve(sink, HYBRID_PAGE_LIST);
	writer.at = writer.list;
	at = writer.list.head;
	do
	{
		int rows = (int) Min(left, shape->rows);

		CHECK_FOR_INTERRUPTS();
		left -= rows;
		at = write_group(&writer, at, rows, left, entries);
	} while (left > 0);

	*radius = hybrid_radius(radius_of(&writer, count), count);
	if (writer.squared != NULL)
		pfree(writer.squared);
	pfree(writer.rotated);
	if (writer.rotated_centroid != NULL)
		pfree(writer.rotated_centroid);
	if (writer.codes != NULL)
		pfree(writer.codes);
	pfree(writer.images);
	pfree(writer.blocks);
	return writer.list;
}

/*
 * pages_of: return the number of pages of a group: one list page with `rows` rows, and the pages that its
 * directory names.
 */
static int
pages_of(const HybridListLayout *shape, int rows)
{
	return 1 + shape->code_pages + (rows + shape->per_page - 1) / shape->per_page * shape->span;
}

/* kind_of: return the kind of page number i of a group. */
static HybridPageKind
kind_of(const HybridListLayout *shape, int i)
{
	if (i <= shape->code_pages)
		return i == 0 ? HYBRID_PAGE_LIST : HYBRID_PAGE_CODES;
	return (i - 1 - shape->code_pages) % shape->span > 0 ? HYBRID_PAGE_VECTOR_TAIL
	                                                     : HYBRID_PAGE_VECTORS;
}

/*
 * write_group: make and write a group: the list page at block `at`, with `rows` rows, and the pages that
 * it names. `left` is the number of rows that remain for later list pages. Returns the block of the next
 * list page, or InvalidBlockNumber if there is none.
 */
static BlockNumber
write_group(ListWriter *writer, BlockNumber at, int rows, int64 left,
            const HybridNewEntries *entries)
{
	HybridSink *sink = writer->sink;
	const HybridListLayout *shape = writer->shape;
	const HybridLayout *layout = writer->frame->layout;
	Page page = (Page) writer->images[0].data;
	HybridListPage *content;
	HybridNewEntry entry;
	int pages, i;

	hybrid_list_page_init(layout, page, writer->level, &writer->list, at);
	content = hybrid_list_page(page);
	pages = reserve_group(writer, at, rows);
	for (i = 0; i < rows; i++)
	{
		entries->next(entries->arg, &entry);
		put_entry(writer, i, &entry);
	}
	for (i = 0; i < shape->code_pages; i++)
		hybrid_codes_put(layout, (Page) writer->images[1 + i].data, i, writer->codes);
	hybrid_special(page)->heads = writer->at.generation - (at != writer->list.head ? 1 : 0);
	writer->at.head = InvalidBlockNumber;
	if (left > 0)
		writer->at = sink->reserve(sink, HYBRID_PAGE_LIST);
	content->next = writer->at.head;
	if (at == writer->list.head)
	{
		content->total = (uint32) (rows + left);
		content->pages = 1 + (uint32) ((left + shape->rows - 1) / shape->rows);
		writer->head = writer->images[0];
	}
	for (i = 0; i < pages; i++)
		sink->write(sink, writer->blocks[i], (Page) writer->images[i].data);
	if (left == 0 && at != writer->list.head)
	{
		hybrid_list_page((Page) writer->head.data)->tail = at;
		sink->write(sink, writer->list.head, (Page) writer->head.data);
	}
	return content->next;
}

/*
 * reserve_group: reserve blocks, and make empty images, for the pages that a list page with `rows` rows
 * names. Returns the number of pages of the group.
 */
static int
reserve_group(ListWriter *writer, BlockNumber at, int rows)
{
	const HybridListLayout *shape = writer->shape;
	const HybridLayout *layout = writer->frame->layout;
	BlockNumber *directory = hybrid_directory((Page) writer->images[0].data);
	const HybridLink *list = &writer->list;
	int pages = pages_of(shape, rows), i;
	HybridLink link;

	writer->blocks[0] = at;
	for (i = 1; i < pages; i++)
	{
		HybridPageKind kind = kind_of(shape, i);

		link = writer->sink->reserve(writer->sink, kind);
		writer->blocks[i] = link.head;
		directory[i - 1] = link.head;
		hybrid_page_init((Page) writer->images[i].data, kind, list->head, list->generation);
		hybrid_special((Page) writer->images[i].data)->heads = link.generation - 1;
	}
	if (writer->codes != NULL)
		memset(writer->codes, 0, layout->code_bytes);
	return pages;
}

/* put_entry: write an entry to this slot of the group. */
static void
put_entry(ListWriter *writer, int slot, const HybridNewEntry *entry)
{
	HybridFrame *frame = writer->frame;
	const HybridLayout *layout = frame->layout;
	const HybridListLayout *shape = writer->shape;
	Page page = (Page) writer->images[0].data;
	PGAlignedBlock *vectors;
	HyCode code = {0, 0, 0};
	int p;

	if (layout->padded > 0)
	{
		float squared;

		hy_rotation_apply(frame->rotation, entry->place, writer->rotated);
		squared = hybrid_frame_encode(frame, entry->place, writer->rotated, writer->centroid,
		                              writer->rotated_centroid, &code);
		if (writer->squared != NULL)
			writer->squared[writer->rows++] = squared;
		writer->spread += (double) squared + (double) entry->radius * entry->radius;
	}
	hybrid_list_put(layout, (HybridSlot){page, writer->level, slot}, frame->bits, &code,
	                &entry->tid, entry->radius);
	hybrid_words_put(layout, (HybridSlot){page, writer->level, slot}, entry->vector);
	if (writer->codes != NULL)
		hy_code_put(writer->codes, &hybrid_block(shape, page, 0)->factors, layout->padded, slot,
		            frame->bits, &code);

	vectors = writer->images + 1 + shape->code_pages + slot / shape->per_page * shape->span;
	hybrid_vector_put(shape, (Page) vectors[0].data, slot % shape->per_page, entry->stored,
	                  entry->vector);
	for (p = 1; p < shape->span; p++)
		hybrid_tail_put(shape, (Page) vectors[p].data, p, entry->vector);
}

/* radius_of: return the root mean square distance of the rows from the centroid, without outliers of writer->squared. */
static double
radius_of(const ListWriter *writer, int64 count)
{
	double sum = 0;
	float most;
	int64 i;

	if (writer->rows == 0)
		return count > 0 ? sqrt(writer->spread / count) : 0;
	qsort(writer->squared, writer->rows, sizeof(float), hybrid_compare_floats);
	most = writer->squared[writer->rows / 2] * OUTSIDE;
	for (i = 0; i < writer->rows && !(writer->squared[i] > most); i++)
		sum += writer->squared[i];
	return sqrt(sum / Max(i, 1));
}

int
hybrid_compare_floats(const void *a, const void *b)
{
	float x = *(const float *) a, y = *(const float *) b;

	return (x > y) - (x < y);
}
