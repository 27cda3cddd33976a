/*
 * page.c
 *		Layout arithmetic and contents of the pages of a hybrid index.
 *
 * A LIST page is checked whenever it is read: its pd_lower must equal the length that follows from the
 * layout and the counts on the page. Other pages are checked for their kind and their list (list_read.c).
 * A page that fails a check is reported and not used.
 */
#include "postgres.h"

#include <math.h>

#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"

#include "core/look_ahead.h"

#include "index/page/page.h"

#define USABLE HYBRID_STREAM_PAGE
/* maximum number of blocks of a list page: 224 entries, whose values together may take 2.7 MB */
#define PACKED_BLOCKS 7
/* minimum bytes of the directory, so that the pages that it names hold 2 MB */
#define PACKED_DIRECTORY 1024

static void value_layout_init(HybridListLayout *list, HybridStorage storage, int dims, int words);
static void packed_layout_init(HybridListLayout *list, Size words);
static void list_layout_init(HybridListLayout *list, const HybridLayout *layout, bool radius);
static bool try_blocks(HybridListLayout *list, int blocks);
static LocationIndex list_lower(const HybridListLayout *list, int used);
static uint64 *slot_words(const HybridLayout *layout, HybridSlot slot, int *count);

void
hybrid_layout_init(HybridLayout *layout, int dims, HybridStorage storage, bool with_codes,
                   int words, bool with_keys)
{
	Assert(dims >= 1);
	memset(layout, 0, sizeof(*layout));
	layout->dims = dims;
	layout->padded = with_codes ? hy_rotation_padded(dims) : 0;
	layout->code_bytes = hy_code_block_size(layout->padded);
	layout->floats = with_codes || hybrid_storage_is_dense(storage) ? dims : 0;
	layout->packed = storage == HYBRID_SPARSE;
	layout->words = words;
	layout->bounds = with_codes && with_keys ? 2 : 0;
	value_layout_init(&layout->leaf, storage, dims, words);
	if (layout->packed)
	{
		/* without codes there are no inner lists */
		packed_layout_init(&layout->leaf, words * HYBRID_WORDS_BYTES);
		Assert(layout->leaf.vector_pages * USABLE >= layout->leaf.stride);
		return;
	}
	/* a centroid is the mean of rows, and a mean of bits is not a bit */
	value_layout_init(&layout->inner, storage == HYBRID_BITS ? HYBRID_FLOAT16 : storage, dims,
	                  layout->bounds);
	list_layout_init(&layout->leaf, layout, false);
	list_layout_init(&layout->inner, layout, true);
}

void
hybrid_page_init(Page page, HybridPageKind kind, BlockNumber list, uint16 generation)
{
	HybridPageSpecial *special;

	PageInit(page, BLCKSZ, sizeof(HybridPageSpecial));
	special = hybrid_special(page);
	special->list = list;
	special->generation = generation;
	special->kind = kind;
	special->page_id = HYBRID_PAGE_ID;
}

void
hybrid_page_empty(Page page, HybridPageKind kind, const HybridLink *list)
{
	uint16 heads = PageIsNew(page) ? 0 : hybrid_special(page)->heads;

	hybrid_page_init(page, kind, list != NULL ? list->head : InvalidBlockNumber,
	                 list != NULL ? list->generation : 0);
	hybrid_special(page)->heads = heads;
}

void
hybrid_list_page_init(const HybridLayout *layout, Page page, int level, const HybridLink *list,
                      BlockNumber block)
{
	HybridListPage *content = hybrid_list_page(page);

	hybrid_page_init(page, HYBRID_PAGE_LIST, list->head, list->generation);
	hybrid_list_page_begin(layout, page, level);
	if (block == list->head)
	{
		hybrid_special(page)->heads = list->generation;
		content->tail = block;
		content->pages = 1;
		content->level = (uint16) level;
		content->state = HYBRID_LIST_LIVE;
	}
}

void
hybrid_list_page_begin(const HybridLayout *layout, Page page, int level)
{
	const HybridListLayout *shape = hybrid_list_layout(layout, level);
	HybridListPage *content = hybrid_list_page(page);
	BlockNumber *directory = hybrid_directory(page);
	int i;

	content->next = InvalidBlockNumber;
	content->tail = InvalidBlockNumber;
	content->forward[0].head = InvalidBlockNumber;
	content->forward[1].head = InvalidBlockNumber;
	for (i = 0; i < shape->code_pages + shape->vector_pages; i++)
		directory[i] = InvalidBlockNumber;
	((PageHeader) page)->pd_lower = list_lower(shape, 0);
}

void
hybrid_page_check(Relation index, Page page, BlockNumber block, HybridPageKind kind)
{
	PageHeader header = (PageHeader) page;
	HybridPageSpecial *special;

	if (PageIsNew(page))
		hybrid_page_damaged(index, block, "an empty page");
	if (PageGetPageSize(page) != BLCKSZ ||
	    header->pd_special != BLCKSZ - MAXALIGN(sizeof(HybridPageSpecial)) ||
	    header->pd_lower > header->pd_upper || header->pd_upper > header->pd_special)
		hybrid_page_damaged(index, block, "a page that is not its own");

	special = hybrid_special(page);
	if (special->page_id != HYBRID_PAGE_ID || special->kind != kind)
		ereport(ERROR,
		        (errcode(ERRCODE_INDEX_CORRUPTED),
		         errmsg("index \"%s\" contains an unexpected page at block %u",
		                RelationGetRelationName(index), block),
		         errdetail("Page id %04x and kind %u instead of %04x and %u.", special->page_id,
		                   special->kind, HYBRID_PAGE_ID, (unsigned) kind)));
}

void
hybrid_list_page_check(Relation index, const HybridLayout *layout, Page page, BlockNumber block,
                       int level)
{
	const HybridListLayout *shape = hybrid_list_layout(layout, level);
	const HybridListPage *content;

	hybrid_page_check(index, page, block, HYBRID_PAGE_LIST);
	content = hybrid_list_page(page);
	/* only the head stores the level, and the level determines where the entries are */
	if (hybrid_special(page)->list == block && content->level != level)
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" has a list of an unexpected level at block %u",
		                       RelationGetRelationName(index), block),
		                errdetail("Level %u instead of %d.", content->level, level),
		                errhint("REINDEX it.")));
	if (content->used > shape->rows || content->live > content->used ||
	    ((PageHeader) page)->pd_lower != list_lower(shape, content->used))
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" contains inconsistent counts at block %u",
		                       RelationGetRelationName(index), block),
		                errdetail("%u slots, %u of them live, lower %u.", content->used,
		                          content->live, ((PageHeader) page)->pd_lower)));
}

const HybridListLayout *
hybrid_page_shape(const HybridLayout *layout, Page page)
{
	int used = hybrid_list_page(page)->used, lower = ((PageHeader) page)->pd_lower;
	const HybridListLayout *leaf = &layout->leaf, *inner = &layout->inner;
	bool longer = leaf->code_pages + leaf->vector_pages >= inner->code_pages + inner->vector_pages;

	if (lower != list_lower(inner, used))
		return leaf;
	return lower == list_lower(leaf, used) && longer ? leaf : inner;
}

bool
hybrid_page_is_ours(Page page)
{
	return !PageIsNew(page) && PageGetPageSize(page) == BLCKSZ &&
	       ((PageHeader) page)->pd_special == BLCKSZ - MAXALIGN(sizeof(HybridPageSpecial)) &&
	       hybrid_special(page)->page_id == HYBRID_PAGE_ID;
}

bool
hybrid_page_of_list(Page page, const HybridLink *list)
{
	return hybrid_page_is_ours(page) && hybrid_special(page)->list == list->head &&
	       hybrid_special(page)->generation == list->generation;
}

bool
hybrid_page_belongs(Page page, HybridPageKind kind, const HybridLink *list)
{
	return hybrid_page_of_list(page, list) && hybrid_special(page)->kind == kind;
}

float
hybrid_radius(double radius, int64 rows)
{
	float made = (float) radius;
	uint32 bits;
	double steps = rint(log2((double) Max(rows, 1)) * HYBRID_ROWS_STEPS);

	memcpy(&bits, &made, sizeof(bits));
	bits = (bits & ~(uint32) HYBRID_ROWS_BITS) | (uint32) Min(steps, HYBRID_ROWS_BITS);
	memcpy(&made, &bits, sizeof(made));
	return made;
}

float
hybrid_radius_rows(float radius)
{
	uint32 bits;

	memcpy(&bits, &radius, sizeof(bits));
	return exp2f((float) (bits & HYBRID_ROWS_BITS) / HYBRID_ROWS_STEPS);
}

void
hybrid_list_put(const HybridLayout *layout, HybridSlot slot, const uint8 *bits, const HyCode *code,
                const ItemPointerData *tid, float radius)
{
	const HybridListLayout *shape = hybrid_list_layout(layout, slot.level);
	HybridListPage *content = hybrid_list_page(slot.page);
	HybridBlock *block = hybrid_block(shape, slot.page, slot.number / HY_CODE_ROWS);
	int row = slot.number % HY_CODE_ROWS;

	Assert(slot.number <= content->used && slot.number < shape->rows);
	if (slot.number == content->used)
	{
		content->used++;
		((PageHeader) slot.page)->pd_lower = list_lower(shape, content->used);
	}
	if (layout->padded > 0 && shape->code_pages == 0)
		hy_code_put(hybrid_block_codes(shape, block), &block->factors, layout->padded, row, bits,
		            code);
	else
	{
		block->factors.add[row] = code->add;
		block->factors.rescale[row] = code->rescale;
		block->factors.error[row] = code->error;
	}
	block->tid[row] = *tid;
	if (shape->radius)
		hybrid_block_radii(block)[row] = radius;
	Assert((block->live & (1U << row)) == 0);
	block->live |= 1U << row;
	content->live++;
}

void
hybrid_words_put(const HybridLayout *layout, HybridSlot slot, const void *value)
{
	const uint64 *words =
		hybrid_entry_words(hybrid_list_layout(layout, slot.level), unconstify(void *, value));
	int count, i;
	uint64 *stored = slot_words(layout, slot, &count);

	for (i = 0; i < count; i++)
		stored[i * HY_CODE_ROWS] = words[i];
}

void
hybrid_words_get(const HybridLayout *layout, HybridSlot slot, void *value)
{
	uint64 *words = hybrid_entry_words(hybrid_list_layout(layout, slot.level), value);
	int count, i;
	const uint64 *stored = slot_words(layout, slot, &count);

	for (i = 0; i < count; i++)
		words[i] = stored[i * HY_CODE_ROWS];
}

void
hybrid_bounds_put(const HybridLayout *layout, HybridSlot slot, const HybridBounds *bounds)
{
	int count;
	uint64 *stored = slot_words(layout, slot, &count);

	Assert(slot.level > 0 && count == 2);
	stored[0] = bounds->least;
	stored[HY_CODE_ROWS] = bounds->most;
}

void
hybrid_bounds_get(const HybridLayout *layout, HybridSlot slot, HybridBounds *bounds)
{
	int count;
	const uint64 *stored = slot_words(layout, slot, &count);

	Assert(slot.level > 0 && count == 2);
	bounds->least = stored[0];
	bounds->most = stored[HY_CODE_ROWS];
}

int
hybrid_words_judge(const HybridLayout *layout, Page page, const HyWordCondition *conditions,
                   int count, uint32 *wanted)
{
	int blocks = hybrid_list_blocks(page), rows = 0, b;

	for (b = 0; b < blocks; b++)
	{
		HybridBlock *block = hybrid_block(&layout->leaf, page, b);

		wanted[b] = hy_words_mask(conditions, count, hybrid_block_words(block), block->live);
		rows += pg_popcount32(wanted[b]);
	}
	return rows;
}

void
hybrid_words_expect(const HybridLayout *layout, const char *page, const HyWordCondition *conditions,
                    int count)
{
	int b, i;

	for (b = 0; b < layout->leaf.blocks; b++)
	{
		HybridBlock *block = hybrid_block(&layout->leaf, (Page) page, b);

		__builtin_prefetch(&block->live);
		for (i = 0; i < count; i++)
		{
			const uint64 *words = hybrid_block_words(block) + conditions[i].column * HY_CODE_ROWS;

			hy_fetch((uintptr_t) words, HYBRID_WORDS_BYTES);
			/* blocks are not aligned to cache lines, so the last word may be in a further one */
			__builtin_prefetch(words + HY_CODE_ROWS - 1);
		}
	}
}

void
hybrid_vector_put(const HybridListLayout *list, Page page, int i, const HybridStored *stored,
                  const void *vector)
{
	PageHeader header = (PageHeader) page;
	HybridPageSpecial *special = hybrid_special(page);

	Assert(i <= special->count && i < list->per_page);
	if (i == special->count)
	{
		special->count++;
		header->pd_lower = (LocationIndex) (SizeOfPageHeaderData + special->count * list->in_first);
		header->pd_upper =
			(LocationIndex) (header->pd_special - special->count * sizeof(HybridStored));
	}
	*hybrid_stored(page, i) = *stored;
	memcpy(hybrid_vectors(page) + i * list->stride, vector, list->in_first);
}

void
hybrid_tail_range(const HybridListLayout *list, int page_of_span, Size *begin, Size *length)
{
	*begin = list->in_first + (page_of_span - 1) * USABLE;
	*length = Min(USABLE, list->stride - *begin);
}

void
hybrid_tail_put(const HybridListLayout *list, Page page, int page_of_span, const void *vector)
{
	Size begin, length;

	hybrid_tail_range(list, page_of_span, &begin, &length);
	memcpy(PageGetContents(page), (const char *) vector + begin, length);
	((PageHeader) page)->pd_lower = (LocationIndex) (SizeOfPageHeaderData + length);
}

void
hybrid_codes_put(const HybridLayout *layout, Page page, int i, const uint8 *codes)
{
	Size begin, length;

	hybrid_codes_range(layout, i, &begin, &length);
	memcpy(PageGetContents(page), codes + begin, length);
	((PageHeader) page)->pd_lower = (LocationIndex) (SizeOfPageHeaderData + length);
}

void
hybrid_codes_range(const HybridLayout *layout, int i, Size *begin, Size *length)
{
	/*
	 * A page holds whole steps of the kernels. So the sums can be computed from the lookup tables for one
	 * page after another.
	 */
	Size step = hy_code_block_size(HY_ROTATION_STEP);
	Size most = USABLE / step * step;

	*begin = i * most;
	*length = Min(most, layout->code_bytes - *begin);
}

/* value_layout_init: compute how the values of entries are stored. */
static void
value_layout_init(HybridListLayout *list, HybridStorage storage, int dims, int words)
{
	list->storage = storage;
	list->stride = list->carried = hybrid_storage_stride(storage, dims);
	list->words = words;
	if (words > 0)
		list->carried = MAXALIGN(list->stride) + words * sizeof(uint64);
	if (list->stride + sizeof(HybridStored) <= USABLE)
	{
		list->span = 1;
		list->per_page = (int) (USABLE / (list->stride + sizeof(HybridStored)));
		list->in_first = list->stride;
	}
	else
	{
		list->in_first = USABLE - sizeof(HybridStored);
		list->span = 1 + (int) ((list->stride - list->in_first + USABLE - 1) / USABLE);
		list->per_page = 1;
	}
}

/*
 * packed_layout_init: compute the layout for values of varying length. The directory gets all the space
 * that the blocks do not use.
 */
static void
packed_layout_init(HybridListLayout *list, Size words)
{
	Size left;

	list->codes_offset = sizeof(HybridBlock) + words;
	list->block_bytes = MAXALIGN(list->codes_offset + HYBRID_PIECES_BYTES);
	list->blocks = (int) ((USABLE - sizeof(HybridListPage) - PACKED_DIRECTORY) / list->block_bytes);
	list->blocks = Min(list->blocks, PACKED_BLOCKS);
	list->rows = list->blocks * HY_CODE_ROWS;
	left = USABLE - sizeof(HybridListPage) - list->blocks * list->block_bytes;
	list->vector_pages = (int) (MAXALIGN_DOWN(left) / sizeof(BlockNumber));
	list->first_block = SizeOfPageHeaderData + sizeof(HybridListPage) + MAXALIGN_DOWN(left);
}

/*
 * list_layout_init: compute the layout with as many blocks as fit on a page. If not even one fits, the
 * codes get pages of their own.
 */
static void
list_layout_init(HybridListLayout *list, const HybridLayout *layout, bool radius)
{
	Size step = hy_code_block_size(HY_ROTATION_STEP);
	Size most = USABLE / step * step;
	int blocks;

	list->radius = radius;
	list->codes_offset =
		sizeof(HybridBlock) + (radius ? HYBRID_RADIUS_BYTES : 0) + list->words * HYBRID_WORDS_BYTES;
	list->block_bytes = MAXALIGN(list->codes_offset + layout->code_bytes);
	for (blocks = (int) (USABLE / list->block_bytes); blocks > 0; blocks--)
	{
		if (try_blocks(list, blocks))
			return;
	}
	list->block_bytes = MAXALIGN(list->codes_offset);
	list->code_pages = (int) ((layout->code_bytes + most - 1) / most);
	if (!try_blocks(list, 1))
		elog(ERROR, "a block of %d dimensions does not fit a page", layout->dims);
}

static bool
try_blocks(HybridListLayout *list, int blocks)
{
	Size directory;

	list->blocks = blocks;
	list->rows = blocks * HY_CODE_ROWS;
	list->vector_pages = (list->rows + list->per_page - 1) / list->per_page * list->span;
	directory = MAXALIGN((list->code_pages + list->vector_pages) * sizeof(BlockNumber));
	list->first_block = SizeOfPageHeaderData + sizeof(HybridListPage) + directory;
	return list->first_block + blocks * list->block_bytes <= SizeOfPageHeaderData + USABLE;
}

/* list_lower: return the pd_lower of a list page with this many used slots. */
static LocationIndex
list_lower(const HybridListLayout *list, int used)
{
	int blocks = (used + HY_CODE_ROWS - 1) / HY_CODE_ROWS;

	return (LocationIndex) (list->first_block + blocks * list->block_bytes);
}

void
hybrid_page_damaged(Relation index, BlockNumber block, const char *what)
{
	ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
	                errmsg("index \"%s\" contains %s at block %u", RelationGetRelationName(index),
	                       what, block),
	                errhint("REINDEX it.")));
}

/*
 * slot_words: return the address of the first word of a slot, and set *count to the number of its words. The others
 * follow at intervals of HY_CODE_ROWS words.
 */
static uint64 *
slot_words(const HybridLayout *layout, HybridSlot slot, int *count)
{
	const HybridListLayout *shape = hybrid_list_layout(layout, slot.level);
	char *words =
		(char *) hybrid_block_words(hybrid_block(shape, slot.page, slot.number / HY_CODE_ROWS));

	*count = shape->words;
	if (slot.level > 0)
		words += HYBRID_RADIUS_BYTES;
	return (uint64 *) words + slot.number % HY_CODE_ROWS;
}
