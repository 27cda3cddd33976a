/*
 * page.h
 *		What lies on the pages of a hybrid index.
 *
 * Block 0 is the meta page.  The rest of the file is cut into groups of `span` consecutive pages;
 * group g begins at block 1 + g * span.  The first page of a group is its head.
 *
 *		span = 1	as many vectors as fit, from the page header upwards, contiguous, so that a page
 *					is a HyMatrix with a stride; their slots from the special space downwards
 *		span > 1	one vector, longer than a page: the head holds its beginning and its slot, the
 *					tail pages hold the rest
 *
 * The hole between pd_lower and pd_upper is free and always zero, since generic WAL does not carry
 * it.  A page of zeroes is a page that was added to the file and never written: an empty group.
 * See README.md for the locks and for why readers miss nothing.
 */
#ifndef HYBRID_INDEX_PAGE_H
#define HYBRID_INDEX_PAGE_H

#include "postgres.h"

#include "access/genam.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#include "core/batch.h"
#include "server/position.h"

#define HYBRID_META_BLOCK 0
#define HYBRID_FIRST_BLOCK 1

#define HYBRID_INDEX_MAGIC 0x48594249 /* "IBYH" on a little-endian disk */
#define HYBRID_INDEX_FORMAT 1
#define HYBRID_PAGE_ID 0xFFA7 /* last two bytes of a page: tells dump tools whose it is */

typedef enum HybridPageKind
{
	HYBRID_PAGE_META = 1,
	HYBRID_PAGE_HEAD,
	HYBRID_PAGE_TAIL
} HybridPageKind;

/* HybridPageSpecial: at the end of every page. */
typedef struct HybridPageSpecial
{
	uint16 count; /* slots, live or dead; zero on meta and tail pages */
	uint16 dead;  /* of these, slots that an insert may refill */
	uint16 kind;  /* HybridPageKind */
	uint16 page_id;
} HybridPageSpecial;

StaticAssertDecl(sizeof(HybridPageSpecial) == 8, "the special space is 8 bytes on disk");

/* HybridMeta: the content of block 0; written once, when the index is built. */
typedef struct HybridMeta
{
	uint32 magic;
	uint32 format;
	uint32 dims;
	uint32 dtype; /* HyDtype of the stored vectors */
} HybridMeta;

StaticAssertDecl(sizeof(HybridMeta) == 16, "the meta data is 16 bytes on disk");

#define HYBRID_SLOT_LIVE 1

/* HybridSlot: what is kept beside a stored vector. */
typedef struct HybridSlot
{
	ItemPointerData tid; /* the heap row (root of its HOT chain) */
	uint16 flags;        /* HYBRID_SLOT_LIVE, or 0: dead */
	float norm;          /* hy_norm_sq of the stored vector */
	float residual;      /* at least |given - stored|; 0 when stored as given */
} HybridSlot;

StaticAssertDecl(sizeof(HybridSlot) == 16, "a slot is 16 bytes on disk");

/* HybridLayout: how vectors of one length and storage lie on pages. */
typedef struct HybridLayout
{
	int dims;
	HyDtype dtype;
	Size stride;  /* bytes of a stored vector */
	int span;     /* pages of a group */
	int capacity; /* vectors of a group */
	Size in_head; /* bytes of a vector that lie on the head page */
} HybridLayout;

/* hybrid_layout_init: dims 1 .. HYBRID_MAX_DIM. */
extern void hybrid_layout_init(HybridLayout *layout, int dims, HyDtype dtype);

/* hybrid_groups: whole groups in a file of this many blocks. */
extern BlockNumber hybrid_groups(const HybridLayout *layout, BlockNumber blocks);

/* hybrid_group_head: first block of a group. */
extern BlockNumber hybrid_group_head(const HybridLayout *layout, BlockNumber group);

/* hybrid_is_group_head: whether a whole group of a file of this many blocks begins at block. */
extern bool hybrid_is_group_head(const HybridLayout *layout, BlockNumber block, BlockNumber blocks);

/* hybrid_page_init: an empty page of this kind; meta pages are hybrid_meta_init's. */
extern void hybrid_page_init(Page page, HybridPageKind kind);

/* hybrid_meta_init: a whole meta page. */
extern void hybrid_meta_init(Page page, const HybridLayout *layout);

/*
 * hybrid_page_check: raises ERRCODE_INDEX_CORRUPTED unless the page, which is not new, is of this
 * kind and its counts and bounds agree with the layout.
 */
extern void hybrid_page_check(Relation index, const HybridLayout *layout, Page page,
                              BlockNumber block, HybridPageKind kind);

/* hybrid_free_slot: a slot of a head page that may be written, -1 when the group is full. */
extern int hybrid_free_slot(const HybridLayout *layout, Page page);

/*
 * hybrid_put: writes slot and vector into slot number i of a head page, extending the page when i
 * is its count.  Of a vector longer than a page only the part that belongs on the head.
 */
extern void hybrid_put(const HybridLayout *layout, Page page, int i, const HybridSlot *slot,
                       const void *vector);

/* hybrid_put_tail: writes the part of a vector that belongs on page number `page_of_span` >= 1. */
extern void
hybrid_put_tail(const HybridLayout *layout, Page page, int page_of_span, const void *vector);

/* hybrid_tail_range: which bytes of a vector lie on page number `page_of_span` >= 1. */
extern void
hybrid_tail_range(const HybridLayout *layout, int page_of_span, Size *begin, Size *length);

/*
 * hybrid_copy_vector: the vector of slot i of a group whose head page is locked and checked.
 * Reads (and share-locks, one after another) the tail pages.
 */
extern void
hybrid_copy_vector(Relation index, const HybridLayout *layout, Page head, BlockNumber head_block,
                   int i, void *vector, BufferAccessStrategy strategy);

static inline HybridPageSpecial *
hybrid_special(Page page)
{
	return (HybridPageSpecial *) PageGetSpecialPointer(page);
}

/* hybrid_slot: slot i of a head page; slots grow downwards from the special space. */
static inline HybridSlot *
hybrid_slot(Page page, int i)
{
	return (HybridSlot *) PageGetSpecialPointer(page) - (i + 1);
}

/* hybrid_vectors: the vectors of a head page, the first one's first byte. */
static inline char *
hybrid_vectors(Page page)
{
	return (char *) page + SizeOfPageHeaderData;
}

#endif
