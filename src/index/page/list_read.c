/*
 * list_read.c
 *		Read the pages of a list. Each page is checked before anything on it is used.
 */
#include "postgres.h"

#include "access/xlog.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "server/compat.h"

#include "index/page/buffers.h"
#include "index/page/list_read.h"
#include "index/page/packed.h"

pg_noreturn static void not_of_list(Relation index, const HybridLink *list, BlockNumber block);

Buffer
hybrid_list_read(Relation index, const HybridLayout *layout, const HybridLink *list, int level,
                 BlockNumber block, BufferAccessStrategy strategy)
{
	Buffer buffer = hybrid_buffer_read(index, block, strategy);
	Page page = BufferGetPage(buffer);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!hybrid_page_belongs(page, HYBRID_PAGE_LIST, list))
		not_of_list(index, list, block);
	hybrid_list_page_check(index, layout, page, block, level);
	return buffer;
}

Buffer
hybrid_part_read(Relation index, const HybridLink *list, HybridPageKind kind, BlockNumber block,
                 BufferAccessStrategy strategy)
{
	Buffer buffer = hybrid_buffer_read(index, block, strategy);

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (!hybrid_page_belongs(BufferGetPage(buffer), kind, list))
		not_of_list(index, list, block);
	return buffer;
}

void
hybrid_vector_read(Relation index, const HybridLayout *layout, HybridSlot slot,
                   HybridStored *stored, void *vector, BufferAccessStrategy strategy)
{
	const HybridListLayout *shape = hybrid_list_layout(layout, slot.level);
	const HybridPageSpecial *special = hybrid_special(slot.page);
	HybridLink list = {special->list, special->generation};
	const BlockNumber *blocks = hybrid_directory(slot.page);
	int i, p;

	if (layout->packed)
	{
		hybrid_packed_read(index, layout, slot.page, slot.number, stored, vector, strategy);
		return;
	}
	i = slot.number % shape->per_page;
	blocks += shape->code_pages + slot.number / shape->per_page * shape->span;
	for (p = 0; p < shape->span; p++)
	{
		Buffer buffer =
			hybrid_part_read(index, &list, p == 0 ? HYBRID_PAGE_VECTORS : HYBRID_PAGE_VECTOR_TAIL,
		                     blocks[p], strategy);
		Page page = BufferGetPage(buffer);

		if (p == 0 && i >= hybrid_special(page)->count)
			not_of_list(index, &list, blocks[p]);
		if (p == 0)
		{
			*stored = *hybrid_stored(page, i);
			memcpy(vector, hybrid_vectors(page) + i * shape->stride, shape->in_first);
		}
		else
		{
			Size begin, length;

			hybrid_tail_range(shape, p, &begin, &length);
			memcpy((char *) vector + begin, PageGetContents(page), length);
		}
		UnlockReleaseBuffer(buffer);
	}
}

static void
not_of_list(Relation index, const HybridLink *list, BlockNumber block)
{
	if (RecoveryInProgress())
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
		                errmsg("canceling statement due to conflict with recovery"),
		                errdetail("A list of index \"%s\" was replaced while it was read.",
		                          RelationGetRelationName(index))));
	ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
	                errmsg("index \"%s\" refers to block %u as part of list %u, but it is not",
	                       RelationGetRelationName(index), block, list->head),
	                errhint("REINDEX it.")));
}
