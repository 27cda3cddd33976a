/*
 * check_entry.c
 *		Checks the entries of a list page: vector, norm, code and factors must match.
 *
 * The list page was copied, and the pages that it names are read later. A live entry never changes, so a
 * contradiction is damage only if the entry still exists.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "core/distance.h"
#include "server/memory.h"
#include "server/position.h"

#include "index/check/check.h"
#include "index/tree/tree.h"

static void read_codes(HybridCheck *check, const HybridCheckedList *list, Page page);
static const char *
fault_of_entry(HybridCheck *check, const HybridCheckedList *list, Page page, int slot);
static bool within_bounds(HybridCheck *check, const HybridCheckedList *list, Page page, int slot);
static const char *fault_of_code(HybridCheck *check, const HybridCheckedList *list, Page page,
                                 int slot, const HybridStored *stored);
static void remember(HybridCheck *check, const HybridCheckedList *list, BlockNumber block, int slot,
                     const ItemPointerData *tid);

void
hybrid_check_entries(HybridCheck *check, const HybridCheckedList *list, BlockNumber block,
                     Page page)
{
	const HybridLayout *layout = &check->open.layout;
	const HybridListLayout *shape = hybrid_list_layout(layout, list->level);
	int used = hybrid_list_page(page)->used, slot;

	if (shape->code_pages > 0 && used > 0)
		read_codes(check, list, page);
	for (slot = 0; slot < used; slot++)
	{
		const HybridBlock *entries = hybrid_block(shape, page, slot / HY_CODE_ROWS);
		const ItemPointerData *tid = &entries->tid[slot % HY_CODE_ROWS];
		const char *fault;

		if ((entries->live & (1U << slot % HY_CODE_ROWS)) == 0)
			continue;
		CHECK_FOR_INTERRUPTS();
		fault = fault_of_entry(check, list, page, slot);
		if (fault != NULL &&
		    hybrid_check_holds(check, &list->walked->link, list->level, block, slot, tid))
			ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
			                errmsg("index \"%s\" %s", RelationGetRelationName(check->index), fault),
			                errdetail("Entry %d of block %u, %s (%u,%u).", slot, block,
			                          list->level == 0 ? "heap position" : "list",
			                          ItemPointerGetBlockNumberNoCheck(tid),
			                          ItemPointerGetOffsetNumberNoCheck(tid)),
			                errhint("REINDEX it.")));
		if (list->level == 0)
			remember(check, list, block, slot, tid);
	}
}

/*
 * read_codes: read the codes of a list page into check->codes. If they are on pages of their own, the
 * page has only one block.
 */
static void
read_codes(HybridCheck *check, const HybridCheckedList *list, Page page)
{
	const HybridLayout *layout = &check->open.layout;
	int i;

	for (i = 0; i < hybrid_list_layout(layout, list->level)->code_pages; i++)
	{
		Buffer buffer = hybrid_part_read(check->index, &list->walked->link, HYBRID_PAGE_CODES,
		                                 hybrid_directory(page)[i], check->strategy);
		Size begin, length;

		hybrid_codes_range(layout, i, &begin, &length);
		memcpy(check->codes + begin, PageGetContents(BufferGetPage(buffer)), length);
		UnlockReleaseBuffer(buffer);
	}
}

/* fault_of_entry: return a description of an entry's fault, or NULL if it has none. */
static const char *
fault_of_entry(HybridCheck *check, const HybridCheckedList *list, Page page, int slot)
{
	const HybridLayout *layout = &check->open.layout;
	const HybridListLayout *shape = hybrid_list_layout(layout, list->level);
	HybridBlock *entries = hybrid_block(shape, page, slot / HY_CODE_ROWS);
	int row = slot % HY_CODE_ROWS;
	HybridStored stored;
	bool given = shape->storage == HYBRID_FLOAT32 || !hybrid_storage_is_dense(shape->storage);
	float norm;

	if (!ItemPointerIsValid(&entries->tid[row]))
		return list->level == 0 ? "has an entry with an invalid heap position"
		                        : "has an entry without a list";
	/* the radius may be NaN if squares overflow */
	if (shape->radius && hybrid_block_radii(entries)[row] < 0)
		return "has a list with a negative radius";

	hybrid_vector_read(check->index, layout, (HybridSlot){page, list->level, slot}, &stored,
	                   check->vector, check->strategy);
	if (!(stored.scale > 0) || !isfinite(stored.scale) || (given && stored.scale != 1))
		return "has an impossible scale";
	if (layout->floats == 0)
		return stored.norm != 0 || stored.residual != 0 ? "has an impossible residual" : NULL;
	hybrid_widen_vector(shape->storage, &stored, check->vector, layout->dims, check->widened);
	norm = hy_norm_sq(HY_F32, check->widened, layout->dims);
	if (memcmp(&norm, &stored.norm, sizeof(norm)) != 0)
		return "has a norm that is not that of the stored vector";
	if (stored.residual < 0 || (given && stored.residual != 0) ||
	    (list->level == 0 && isnan(stored.residual)))
		return "has an impossible residual";
	if (list->known && !within_bounds(check, list, page, slot))
		return "has a key that is beyond the bounds of its list";
	return list->known ? fault_of_code(check, list, page, slot, &stored) : NULL;
}

/*
 * within_bounds: test whether the bounds of a list include an entry: the key of a row, or the bounds of
 * a list below.
 */
static bool
within_bounds(HybridCheck *check, const HybridCheckedList *list, Page page, int slot)
{
	const HybridLayout *layout = &check->open.layout;
	HybridBounds bounds;

	if (layout->bounds == 0)
		return true;
	hybrid_words_get(layout, (HybridSlot){page, list->level, slot}, check->vector);
	if (list->level > 0)
		bounds = *hybrid_bounds(layout, check->vector);
	else
		bounds.least = bounds.most = *hybrid_words(layout, check->vector);
	return list->bounds.least <= bounds.least && bounds.most <= list->bounds.most;
}

/*
 * fault_of_code: return a description of what is wrong with an entry's code, or NULL. The vector is in
 * check->widened.
 */
static const char *
fault_of_code(HybridCheck *check, const HybridCheckedList *list, Page page, int slot,
              const HybridStored *stored)
{
	const HybridLayout *layout = &check->open.layout;
	const HybridListLayout *shape = hybrid_list_layout(layout, list->level);
	HybridBlock *entries = hybrid_block(shape, page, slot / HY_CODE_ROWS);
	const uint8 *codes = check->codes;
	const float *place = check->widened;
	HyCode expected, code;

	if (layout->padded == 0)
		return NULL;
	if (list->level == 0)
	{
		hybrid_frame_place(&check->frame, check->widened, stored->norm, check->place);
		place = check->place;
	}
	if (shape->code_pages == 0)
		codes = hybrid_block_codes(shape, entries);
	hy_rotation_apply(check->frame.rotation, place, check->rotated);
	(void) hybrid_frame_encode(&check->frame, place, check->rotated, list->centroid,
	                           list->rotated_centroid, &expected);
	hy_code_get(codes, &entries->factors, layout->padded, slot % HY_CODE_ROWS, check->bits, &code);
	if (memcmp(check->bits, check->frame.bits, hy_code_bits_size(layout->padded)) != 0)
		return "has a code that is not that of the stored vector";
	if (memcmp(&code, &expected, sizeof(code)) != 0)
		return "has factors of a code that are not those of the stored vector";
	return NULL;
}

static void
remember(HybridCheck *check, const HybridCheckedList *list, BlockNumber block, int slot,
         const ItemPointerData *tid)
{
	HybridCheckedEntry *entry;

	if (check->count == check->allocated)
	{
		Size bytes;

		check->allocated = Max(1024, check->allocated * 2);
		bytes = check->allocated * sizeof(HybridCheckedEntry);
		check->entries = hybrid_enlarge(CurrentMemoryContext, check->entries, bytes);
	}
	entry = &check->entries[check->count++];
	entry->position = hybrid_position(tid);
	entry->list = list->number;
	entry->block = block;
	entry->slot = slot;
}
