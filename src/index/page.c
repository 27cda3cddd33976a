/*
 * page.c
 *		Arithmetic and contents of the pages of a hybrid index.
 *
 * pd_lower and pd_upper always follow from the kind, the layout and the number of slots, and are
 * checked against them whenever a page is read: a page that lies about its length is reported and
 * never followed.
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "types/vector.h"

#include "index/page.h"

#define USABLE (BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(HybridPageSpecial)))

static Size lower_of(const HybridLayout *layout, int count);

void
hybrid_layout_init(HybridLayout *layout, int dims, HyDtype dtype)
{
	Size with_slot;

	Assert(dims >= 1 && dims <= HYBRID_MAX_DIM);
	layout->dims = dims;
	layout->dtype = dtype;
	layout->stride = dims * hy_dtype_size(dtype);
	with_slot = layout->stride + sizeof(HybridSlot);
	if (with_slot <= USABLE)
	{
		layout->span = 1;
		layout->capacity = (int) (USABLE / with_slot);
		layout->in_head = layout->stride;
	}
	else
	{
		layout->in_head = USABLE - sizeof(HybridSlot);
		layout->span = 1 + (int) ((layout->stride - layout->in_head + USABLE - 1) / USABLE);
		layout->capacity = 1;
	}
}

BlockNumber
hybrid_groups(const HybridLayout *layout, BlockNumber blocks)
{
	if (blocks <= HYBRID_FIRST_BLOCK)
		return 0;
	return (blocks - HYBRID_FIRST_BLOCK) / layout->span;
}

BlockNumber
hybrid_group_head(const HybridLayout *layout, BlockNumber group)
{
	return HYBRID_FIRST_BLOCK + group * layout->span;
}

bool
hybrid_is_group_head(const HybridLayout *layout, BlockNumber block, BlockNumber blocks)
{
	return block >= HYBRID_FIRST_BLOCK && block < blocks &&
	       (block - HYBRID_FIRST_BLOCK) % layout->span == 0 &&
	       blocks - block >= (BlockNumber) layout->span;
}

void
hybrid_page_init(Page page, HybridPageKind kind)
{
	HybridPageSpecial *special;

	PageInit(page, BLCKSZ, sizeof(HybridPageSpecial));
	special = hybrid_special(page);
	special->kind = kind;
	special->page_id = HYBRID_PAGE_ID;
}

void
hybrid_meta_init(Page page, const HybridLayout *layout)
{
	HybridMeta *meta;

	hybrid_page_init(page, HYBRID_PAGE_META);
	meta = (HybridMeta *) PageGetContents(page);
	meta->magic = HYBRID_INDEX_MAGIC;
	meta->format = HYBRID_INDEX_FORMAT;
	meta->dims = layout->dims;
	meta->dtype = layout->dtype;
	((PageHeader) page)->pd_lower = ((char *) meta + sizeof(HybridMeta)) - (char *) page;
}

void
hybrid_page_check(Relation index, const HybridLayout *layout, Page page, BlockNumber block,
                  HybridPageKind kind)
{
	PageHeader header = (PageHeader) page;
	HybridPageSpecial *special;
	int capacity = kind == HYBRID_PAGE_HEAD ? layout->capacity : 0;

	if (PageGetPageSize(page) != BLCKSZ ||
	    header->pd_special != BLCKSZ - MAXALIGN(sizeof(HybridPageSpecial)))
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" contains a page that is not its own at block %u",
		                       RelationGetRelationName(index), block)));

	special = hybrid_special(page);
	if (special->page_id != HYBRID_PAGE_ID || special->kind != kind)
		ereport(ERROR,
		        (errcode(ERRCODE_INDEX_CORRUPTED),
		         errmsg("index \"%s\" contains an unexpected page at block %u",
		                RelationGetRelationName(index), block),
		         errdetail("Page id %04x and kind %u instead of %04x and %u.", special->page_id,
		                   special->kind, HYBRID_PAGE_ID, (unsigned) kind)));

	if (kind == HYBRID_PAGE_META)
		return;
	if (special->count > capacity || special->dead > special->count ||
	    (kind == HYBRID_PAGE_HEAD && header->pd_lower != lower_of(layout, special->count)) ||
	    header->pd_upper != header->pd_special - special->count * sizeof(HybridSlot))
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" contains inconsistent counts at block %u",
		                       RelationGetRelationName(index), block),
		                errdetail("%u slots, %u of them dead, lower %u, upper %u.", special->count,
		                          special->dead, header->pd_lower, header->pd_upper)));
}

int
hybrid_free_slot(const HybridLayout *layout, Page page)
{
	HybridPageSpecial *special = hybrid_special(page);
	int i;

	if (special->count < layout->capacity)
		return special->count;
	if (special->dead == 0)
		return -1;
	for (i = 0; i < special->count; i++)
	{
		if ((hybrid_slot(page, i)->flags & HYBRID_SLOT_LIVE) == 0)
			return i;
	}
	return -1;
}

void
hybrid_put(const HybridLayout *layout, Page page, int i, const HybridSlot *slot, const void *vector)
{
	PageHeader header = (PageHeader) page;
	HybridPageSpecial *special = hybrid_special(page);

	Assert(i <= special->count && i < layout->capacity);
	if (i == special->count)
	{
		special->count++;
		header->pd_lower = (LocationIndex) lower_of(layout, special->count);
		header->pd_upper =
			(LocationIndex) (header->pd_special - special->count * sizeof(HybridSlot));
	}
	else
		special->dead--;
	*hybrid_slot(page, i) = *slot;
	memcpy(hybrid_vectors(page) + i * layout->stride, vector, layout->in_head);
}

void
hybrid_tail_range(const HybridLayout *layout, int page_of_span, Size *begin, Size *length)
{
	*begin = layout->in_head + (page_of_span - 1) * USABLE;
	*length = Min(USABLE, layout->stride - *begin);
}

void
hybrid_put_tail(const HybridLayout *layout, Page page, int page_of_span, const void *vector)
{
	Size begin, length;

	hybrid_tail_range(layout, page_of_span, &begin, &length);
	memcpy(PageGetContents(page), (const char *) vector + begin, length);
	((PageHeader) page)->pd_lower = (LocationIndex) (SizeOfPageHeaderData + length);
}

void
hybrid_copy_vector(Relation index, const HybridLayout *layout, Page head, BlockNumber head_block,
                   int i, void *vector, BufferAccessStrategy strategy)
{
	int p;

	memcpy(vector, hybrid_vectors(head) + i * layout->stride, layout->in_head);
	for (p = 1; p < layout->span; p++)
	{
		Buffer buffer =
			ReadBufferExtended(index, MAIN_FORKNUM, head_block + p, RBM_NORMAL, strategy);
		Page page = BufferGetPage(buffer);
		Size begin, length;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		hybrid_tail_range(layout, p, &begin, &length);
		if (PageIsNew(page) || ((PageHeader) page)->pd_lower != SizeOfPageHeaderData + length)
			ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
			                errmsg("index \"%s\" contains an incomplete vector at block %u",
			                       RelationGetRelationName(index), head_block + p)));
		hybrid_page_check(index, layout, page, head_block + p, HYBRID_PAGE_TAIL);
		memcpy((char *) vector + begin, PageGetContents(page), length);
		UnlockReleaseBuffer(buffer);
	}
}

/* lower_of: where pd_lower of a head page stands; on a tail page it follows from the tail's place. */
static Size
lower_of(const HybridLayout *layout, int count)
{
	return SizeOfPageHeaderData + count * layout->in_head;
}
