/*
 * page.h
 *		The page format of a hybrid index.
 *
 * An index is a tree of lists. A leaf list has an entry for each row. An inner list has an entry for each
 * list below it, with the centroid of that list. Both kinds have the same format. A list is a chain of list
 * pages. Each list page has the quantized codes of its entries in blocks of 32, and a directory. The
 * directory has the block numbers of the pages with the vectors of the entries, and of pages with codes
 * that do not fit on the list page. The kinds of page are:
 *
 *		META			block 0
 *		CENTER			the center of the index; codes are computed from vectors relative to it
 *		LIST			HybridListPage, a directory of block numbers, blocks of 32 entries
 *		CODES			codes of the only block of a list page, in the order of the dimensions; used when
 *						a block is larger than a page
 *		VECTORS			as many vectors as fit, contiguous from the page header upwards, so that they form
 *						a HyMatrix; their HybridStored records from the special space downwards
 *		VECTOR_TAIL		the rest of a vector that is longer than a page
 *		VALUES			bytes of values of varying length: the VALUES pages of a list page form one
 *						stream, and the HybridPiece of an entry says where in the stream its value is
 *		SEGMENT, DIMENSIONS, POSTINGS
 *						inverted lists of part of a list of sparse vectors (segment.h)
 *		FREE			nothing; the page was in use before
 *		TAKEN			reserved for a new list and not written yet
 *
 * The vector of entry e of a list page is in slot e % per_page of the VECTORS page that the directory names
 * for e / per_page. In an index with values of varying length ("packed"), the entry's piece says where its
 * value is. The hole between pd_lower and pd_upper is always zero, because generic WAL does not log it.
 * src/index/README.md describes the locks and explains why readers miss nothing.
 */
#ifndef HYBRID_INDEX_PAGE_H
#define HYBRID_INDEX_PAGE_H

#include "postgres.h"

#include "access/genam.h"
#include "access/transam.h"
#include "storage/bufmgr.h"
#include "storage/bufpage.h"
#include "storage/itemptr.h"
#include "utils/rel.h"

#include "core/codes.h"
#include "core/filter_words.h"
#include "core/rotation.h"

#include "index/page/storage.h"

#define HYBRID_META_BLOCK 0

#define HYBRID_INDEX_MAGIC 0x48594249 /* "IBYH" on a little-endian disk */
#define HYBRID_INDEX_FORMAT 9
/* format of an index on bit or by taxicab distance that has codes; in format 9, such an index has one list and none */
#define HYBRID_LATER_CODES_FORMAT 10
/* last two bytes of a page; dump tools identify the access method by them */
#define HYBRID_PAGE_ID 0xFFA7

typedef enum HybridPageKind
{
	HYBRID_PAGE_META = 1,
	HYBRID_PAGE_CENTER,
	HYBRID_PAGE_LIST,
	HYBRID_PAGE_CODES,
	HYBRID_PAGE_VECTORS,
	HYBRID_PAGE_VECTOR_TAIL,
	HYBRID_PAGE_FREE,
	HYBRID_PAGE_TAKEN,
	HYBRID_PAGE_VALUES,
	HYBRID_PAGE_SEGMENT,
	HYBRID_PAGE_DIMENSIONS,
	HYBRID_PAGE_POSTINGS
} HybridPageKind;

/*
 * HybridLink: the identity of a list. A block that becomes the head of a list for the n-th time gets
 * generation n, so that a reader detects a link to a list that no longer exists.
 */
typedef struct HybridLink
{
	BlockNumber head;
	uint16 generation;
} HybridLink;

/* HybridPageSpecial: the special space at the end of every page. */
typedef struct HybridPageSpecial
{
	BlockNumber list;  /* head of the page's list or segment; on a head, the page itself */
	uint16 generation; /* generation of that list or segment */
	uint16 count;      /* number of vectors, on a VECTORS page */
	uint16 heads;      /* generation of the page when it was last a head; 0 if it never was */
	uint16 unused;
	uint16 kind; /* a HybridPageKind */
	uint16 page_id;
} HybridPageSpecial;

StaticAssertDecl(sizeof(HybridPageSpecial) == 16, "the special space is 16 bytes on disk");

/* number of classes of queries, from the most difficult (0) to the easiest */
#define HYBRID_DIFFICULTIES 6

/*
 * HybridCurvePoint: a point of the calibration curve. For one recall, it has the number of rows that a
 * search may expect to miss, by the difficulty of its query, and the number of rows that searches score.
 */
typedef struct HybridCurvePoint
{
	float rows;   /* rows scored, on average */
	float recall; /* 0 .. 1 */
	/*
	 * number of rows that a search may expect to miss, per row wanted (HybridLookupLimits), by difficulty;
	 * negative if unknown
	 */
	float missing[HYBRID_DIFFICULTIES];
} HybridCurvePoint;

#define HYBRID_CURVE_POINTS 9

/* HybridCurve: the calibration curve, and figures about the queries and rows on which it was measured. */
typedef struct HybridCurve
{
	uint32 size;       /* number of points; 0 if the curve was not measured */
	uint32 leaves;     /* number of leaves when the curve was measured */
	uint32 by_queries; /* 1: measured on a user's queries; 0: on rows of the index */
	/*
	 * least and greatest nearness of the queries on which the curve was measured: see
	 * hybrid_lookup_nearness
	 */
	float nearness[2];
	/*
	 * share of rows that are outliers of their lists (stopping.c), and the root mean square of the outliers'
	 * distances from the centroid, in radii of their lists
	 */
	float outliers;
	float outlier_reach;
	HybridCurvePoint points[HYBRID_CURVE_POINTS];
} HybridCurve;

/*
 * HybridMovedList: a list that was copied to other pages, or a page of a replaced center (free_pages.h). Only readers
 * that followed an old link still read the original.
 */
typedef struct HybridMovedList
{
	FullTransactionId since; /* the pages can be reused once no snapshot is older than this */
	BlockNumber head;
	uint16 generation;
	uint16 unused;
} HybridMovedList;

#define HYBRID_MOVED_LISTS 384
/* number of levels that no tree reaches, because a list usually has at least two entries */
#define HYBRID_LEVELS 32
#define HYBRID_COPY_LOG_BYTES 1600

/* HybridMeta: the content of block 0. */
typedef struct HybridMeta
{
	uint32 magic;
	uint32 format;
	/* fixed by the build */
	uint32 dims;
	uint32 storage; /* a HybridStorage */
	uint64 seed;    /* seed of the rotation */
	uint32 list_size;
	/* changed later */
	/* first page of the center; InvalidBlockNumber if the center is the origin */
	BlockNumber center;
	BlockNumber root;
	uint16 root_generation;
	uint16 height; /* level of the root; 0: the root is a leaf */
	uint32 leaves; /* number of lists of level 0 */
	HybridCurve curve;
	uint32 moved_first; /* oldest entry of the ring */
	uint32 moved_count;
	HybridMovedList moved[HYBRID_MOVED_LISTS];
	/* number of leaves at or above which VACUUM builds another tree; 0: the next VACUUM does so in any case */
	uint32 regroup_leaves;
	/* 1: VACUUM is building another tree, and inserts log the leaves that they change; else 0 */
	uint32 logging;
	uint8 log_bits[HYBRID_COPY_LOG_BYTES]; /* log of changed leaves: see copy_log.h */
	uint32 included; /* hybrid_included_mark of the included columns; fixed by the build */
	uint32 unused;
} HybridMeta;

StaticAssertDecl(sizeof(HybridMeta) == 376 + HYBRID_MOVED_LISTS * 16 + HYBRID_COPY_LOG_BYTES + 8,
                 "the meta data has its size on disk");
StaticAssertDecl(sizeof(HybridMeta) <= BLCKSZ - SizeOfPageHeaderData - sizeof(HybridPageSpecial),
                 "the meta data fits a page");

#define HYBRID_LIST_LIVE 1
#define HYBRID_LIST_MOVED 2

/* HybridListPage: the beginning of a LIST page. */
typedef struct HybridListPage
{
	BlockNumber next; /* next page of the chain, or InvalidBlockNumber if there is none */
	uint16 used;      /* number of slots that were ever filled */
	uint16 live;      /* number of live entries in these slots */
	/* the fields below describe the whole list; they are valid on its head only */
	BlockNumber tail; /* last page of the chain */
	uint32 pages;     /* number of LIST pages */
	uint32 total;     /* number of live entries */
	uint16 level;     /* level of the list; 0: leaf */
	uint16 state;     /* state of the list: a HYBRID_LIST_... constant */
	uint64 changes;   /* counter that every change of the list increments */
	/*
	 * in a moved list, links to the lists that have its entries now. A list without codes never moves, so its pages use
	 * these fields otherwise: hybrid_list_first_with_space, hybrid_list_segment
	 */
	HybridLink forward[2];
	FullTransactionId moved;
} HybridListPage;

StaticAssertDecl(sizeof(HybridListPage) == 56, "the header of a list page is 56 bytes on disk");

/*
 * HybridBlock: the head of a block of 32 entries. What follows depends on the list:
 *
 * - in an inner list, the radii, and in an index with keys the least and then the greatest words of the first key
 * - in a leaf, the words of keys and included columns, 32 for each column
 *
 * Then come the codes, unless they have pages of their own. In a packed layout, there are pieces instead of codes.
 */
typedef struct HybridBlock
{
	uint32 live; /* bit i is set if entry i is live */
	/* bit i is set if entry i was written after the segment that describes the page; only in a packed layout */
	uint32 fresh;
	/* factors of the codes; in a packed layout, factors.add has the measures of described rows (core/postings.h) */
	HyCodeFactors factors;
	/*
	 * in a leaf, TID of the heap row (the root of its HOT chain); in an inner list, HybridLink of the
	 * list below
	 */
	ItemPointerData tid[HY_CODE_ROWS];
} HybridBlock;

StaticAssertDecl(sizeof(HybridBlock) == 584, "the head of a block is 584 bytes on disk");

#define HYBRID_RADIUS_BYTES (HY_CODE_ROWS * sizeof(float))
#define HYBRID_WORDS_BYTES (HY_CODE_ROWS * sizeof(uint64)) /* words of one column */

StaticAssertDecl(HY_CODE_ROWS == HY_WORD_ROWS, "a block has as many words as codes");

/*
 * HybridPiece: position of an entry's value in the stream of its list page. Byte b of the stream is byte
 * b % HYBRID_STREAM_PAGE of VALUES page number b / HYBRID_STREAM_PAGE. The pieces of a list page never
 * overlap, not even those of dead entries. A new entry in a dead slot takes the space of the dead piece
 * if its value fits there.
 */
typedef struct HybridPiece
{
	uint32 start;
	uint32 length; /* bytes of the value */
	uint32 room;   /* bytes reserved from `start`, at least length */
} HybridPiece;

StaticAssertDecl(sizeof(HybridPiece) == 12, "a piece is 12 bytes on disk");

#define HYBRID_PIECES_BYTES (HY_CODE_ROWS * sizeof(HybridPiece))
#define HYBRID_STREAM_PAGE (BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(HybridPageSpecial)))

/* HybridListLayout: how the entries of a leaf, or of an inner list, are stored on pages. */
typedef struct HybridListLayout
{
	/* storage of the entries' values: the values of rows in a leaf, centroids in an inner list */
	HybridStorage storage;
	Size stride; /* maximum bytes of a stored value */
	int words; /* words of an entry: keys and included columns in a leaf, bounds in an inner list */
	/* bytes of an entry's value in memory, including the entry's words, which are at the end */
	Size carried;
	/* fields for values of fixed length */
	int per_page;      /* vectors of a VECTORS page */
	int span;          /* pages of a vector */
	Size in_first;     /* bytes of a vector on its first page */
	bool radius;       /* blocks have the radii of the lists below */
	int blocks;        /* blocks of a list page */
	int rows;          /* entries of a list page: blocks * 32 */
	int code_pages;    /* CODES pages of a list page; 0 if the codes are in the blocks */
	int vector_pages;  /* VECTORS and VECTOR_TAIL pages, or VALUES pages, of a list page */
	Size codes_offset; /* offset of the codes, or of the pieces, in a block */
	Size block_bytes;
	Size first_block; /* offset of the first block from the start of the page */
} HybridListLayout;

/* HybridLayout: how values of one type, dimension and storage, and centroids, are stored on pages. */
typedef struct HybridLayout
{
	int dims;
	int floats;  /* elements of a widened value: dims; 0 if no value is ever widened */
	int padded;  /* dimensions of a code; 0 if the index has no codes */
	bool packed; /* values vary in length and are stored on VALUES pages */
	int words;   /* keys and included columns: words of an entry of a leaf */
	int bounds; /* words of an entry of an inner list: 2 (HybridBounds) if there are keys, else 0 */
	Size code_bytes; /* bytes of the codes of a block of 32 entries */
	HybridListLayout leaf;
	HybridListLayout inner;
} HybridLayout;

/* hybrid_center_pages: return the number of pages that the center of the index takes. */
static inline int
hybrid_center_pages(const HybridLayout *layout)
{
	Size most = BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(HybridPageSpecial));

	return (int) ((layout->dims * sizeof(float) + most - 1) / most);
}

/*
 * hybrid_layout_init: compute the layout. `dims` is from 1 to the maximum of the types with this storage. `words`
 * is the number of keys and included columns.
 */
extern void hybrid_layout_init(HybridLayout *layout, int dims, HybridStorage storage,
                               bool with_codes, int words, bool with_keys);

/* hybrid_list_layout: return the layout of lists of this level. */
static inline const HybridListLayout *
hybrid_list_layout(const HybridLayout *layout, int level)
{
	return level == 0 ? &layout->leaf : &layout->inner;
}

/* hybrid_page_init: make an empty page of this kind. `list` is InvalidBlockNumber if it belongs to no list. */
extern void hybrid_page_init(Page page, HybridPageKind kind, BlockNumber list, uint16 generation);

/*
 * hybrid_page_empty: turn a used or new page into an empty page of this kind. `list` may be NULL. The page
 * keeps the generation that it had as a head (`heads`).
 */
extern void hybrid_page_empty(Page page, HybridPageKind kind, const HybridLink *list);

/*
 * hybrid_list_page_init: make an empty LIST page for a list of this level. The page is made the head of
 * the list if `block` is the head's block.
 */
extern void hybrid_list_page_init(const HybridLayout *layout, Page page, int level,
                                  const HybridLink *list, BlockNumber block);

/* hybrid_list_page_begin: fill in an initialized LIST page: no entries, no successor and an empty directory. */
extern void hybrid_list_page_begin(const HybridLayout *layout, Page page, int level);

/*
 * hybrid_page_check: raise ERRCODE_INDEX_CORRUPTED unless the page is of this kind and its pd_lower,
 * pd_upper and pd_special are possible.
 */
extern void hybrid_page_check(Relation index, Page page, BlockNumber block, HybridPageKind kind);

/*
 * hybrid_page_shape: return the layout of a LIST page. It is derived from pd_lower, because only the head
 * of a list stores the level. If both layouts are possible, return the one with the longer directory.
 */
extern const HybridListLayout *hybrid_page_shape(const HybridLayout *layout, Page page);

/*
 * hybrid_list_page_check: check a LIST page of a list of this level as hybrid_page_check does, and also
 * check its level and counts.
 */
extern void hybrid_list_page_check(Relation index, const HybridLayout *layout, Page page,
                                   BlockNumber block, int level);

/* hybrid_page_damaged: raise ERRCODE_INDEX_CORRUPTED, with the message that the index contains `what` at a block. */
extern void hybrid_page_damaged(Relation index, BlockNumber block, const char *what);

/* hybrid_page_is_ours: test whether a page of any kind belongs to a hybrid index. */
extern bool hybrid_page_is_ours(Page page);

/* hybrid_page_of_list: test whether a page of any kind belongs to this list and generation. */
extern bool hybrid_page_of_list(Page page, const HybridLink *list);

/* hybrid_page_belongs: test whether a page is of this kind and belongs to this list and generation. */
extern bool hybrid_page_belongs(Page page, HybridPageKind kind, const HybridLink *list);

/* HybridSlot: a slot of a page of a list of this level. */
typedef struct HybridSlot
{
	Page page;
	int level;
	int number;
} HybridSlot;

/*
 * hybrid_list_put: write a live entry into a slot: its factors, its TID, in an inner list its radius, and
 * its code unless codes have pages of their own. The slot's number is at most `used`. If it equals `used`,
 * the page grows by a slot.
 */
extern void hybrid_list_put(const HybridLayout *layout, HybridSlot slot, const uint8 *bits,
                            const HyCode *code, const ItemPointerData *tid, float radius);

/* hybrid_words_put: write an entry's words into its slot. In memory, the words follow the entry's value. */
extern void hybrid_words_put(const HybridLayout *layout, HybridSlot slot, const void *value);

/* hybrid_words_get: copy the words of a slot to the space that follows the entry's value in memory. */
extern void hybrid_words_get(const HybridLayout *layout, HybridSlot slot, void *value);

/* HybridBounds: the least and the greatest word of the first key that rows below an entry of an inner list may have. */
typedef struct HybridBounds
{
	uint64 least;
	uint64 most;
} HybridBounds;

/* hybrid_bounds_put: write the bounds of a slot of an inner list. Valid only if layout->bounds > 0. */
extern void
hybrid_bounds_put(const HybridLayout *layout, HybridSlot slot, const HybridBounds *bounds);

/* hybrid_bounds_get: read the bounds of a slot of an inner list. Valid only if layout->bounds > 0. */
extern void hybrid_bounds_get(const HybridLayout *layout, HybridSlot slot, HybridBounds *bounds);

/*
 * hybrid_words_judge: for each block b of a leaf's page, set wanted[b] to the mask of the live rows that satisfy the
 * conditions on words. Returns the number of these rows on the page.
 */
extern int hybrid_words_judge(const HybridLayout *layout, Page page,
                              const HyWordCondition *conditions, int count, uint32 *wanted);

/*
 * hybrid_words_expect: prefetch the parts of a page that hybrid_words_judge reads. Since nothing is read, the page need
 * not be locked, and another page may be at this address by now.
 */
extern void hybrid_words_expect(const HybridLayout *layout, const char *page,
                                const HyWordCondition *conditions, int count);

/*
 * hybrid_vector_put: write a vector into slot i of a VECTORS page, where i is at most the page's count. If
 * the vector is longer than the page, write only its first part.
 */
extern void hybrid_vector_put(const HybridListLayout *list, Page page, int i,
                              const HybridStored *stored, const void *vector);

/* hybrid_tail_range: compute which bytes of a vector are on page number `page_of_span` >= 1 of its span. */
extern void
hybrid_tail_range(const HybridListLayout *list, int page_of_span, Size *begin, Size *length);

/* hybrid_tail_put: write to page number `page_of_span` >= 1 the part of a vector that belongs there. */
extern void
hybrid_tail_put(const HybridListLayout *list, Page page, int page_of_span, const void *vector);

/* hybrid_codes_put: fill CODES page number i of a list page from the codes of its block. */
extern void hybrid_codes_put(const HybridLayout *layout, Page page, int i, const uint8 *codes);

/* hybrid_codes_range: compute which bytes of a block's codes are on CODES page number i of a list page. */
extern void hybrid_codes_range(const HybridLayout *layout, int i, Size *begin, Size *length);

static inline HybridPageSpecial *
hybrid_special(Page page)
{
	return (HybridPageSpecial *) PageGetSpecialPointer(page);
}

static inline HybridMeta *
hybrid_meta(Page page)
{
	return (HybridMeta *) PageGetContents(page);
}

static inline HybridListPage *
hybrid_list_page(Page page)
{
	return (HybridListPage *) PageGetContents(page);
}

/* hybrid_list_blocks: return the number of blocks in use on a list page. */
static inline int
hybrid_list_blocks(Page page)
{
	return (hybrid_list_page(page)->used + HY_CODE_ROWS - 1) / HY_CODE_ROWS;
}

/*
 * hybrid_list_first_with_space: return a field in the head of a live list without codes. It names the page on which
 * inserts begin to look for a free slot; InvalidBlockNumber means the last page. In a moved list, the same bytes hold
 * a forward link.
 */
static inline BlockNumber *
hybrid_list_first_with_space(HybridListPage *head)
{
	return &head->forward[0].head;
}

/*
 * hybrid_list_segment: return the link to the segment that describes this page of a list of sparse vectors. Its head is
 * InvalidBlockNumber if no segment describes the page.
 */
static inline HybridLink *
hybrid_list_segment(HybridListPage *page)
{
	return &page->forward[1];
}

/* hybrid_same_link: test whether two links are equal. */
static inline bool
hybrid_same_link(const HybridLink *a, const HybridLink *b)
{
	return a->head == b->head && a->generation == b->generation;
}

/*
 * hybrid_directory: return the directory of a list page: first the CODES pages, then the VECTORS or VALUES
 * pages. InvalidBlockNumber means that the page does not exist yet.
 */
static inline BlockNumber *
hybrid_directory(Page page)
{
	return (BlockNumber *) (PageGetContents(page) + sizeof(HybridListPage));
}

static inline HybridBlock *
hybrid_block(const HybridListLayout *list, Page page, int i)
{
	return (HybridBlock *) ((char *) page + list->first_block + i * list->block_bytes);
}

/*
 * Each entry of an inner list has the radius of the list below. The low eight bits of this float encode how many entries
 * the list below had when the radius was written: 16 times the binary logarithm of the number, rounded. They change the
 * radius by less than 1 part in 30,000.
 */
#define HYBRID_ROWS_BITS 0xFF
#define HYBRID_ROWS_STEPS 16

/* hybrid_radius: encode a radius together with this number of entries, at least 1. */
extern float hybrid_radius(double radius, int64 rows);

/* hybrid_radius_rows: return the approximate number of entries that is encoded in a radius. */
extern float hybrid_radius_rows(float radius);

/* hybrid_block_radii: return the radii of a block of an inner list. */
static inline float *
hybrid_block_radii(HybridBlock *block)
{
	return (float *) (block + 1);
}

/* hybrid_block_words: return the words of a block of a leaf. Valid only if layout->words > 0. */
static inline uint64 *
hybrid_block_words(HybridBlock *block)
{
	return (uint64 *) (block + 1);
}

/* hybrid_entry_words: return the words of an entry in memory: the last ones of the list->carried bytes of its value. */
static inline uint64 *
hybrid_entry_words(const HybridListLayout *list, void *value)
{
	return (uint64 *) ((char *) value + list->carried) - list->words;
}

/* hybrid_words: return the words of a leaf's entry, which follow its value in memory. */
static inline uint64 *
hybrid_words(const HybridLayout *layout, void *value)
{
	return hybrid_entry_words(&layout->leaf, value);
}

/* hybrid_bounds: return the bounds of an inner list's entry, which follow its centroid in memory. */
static inline HybridBounds *
hybrid_bounds(const HybridLayout *layout, void *value)
{
	return (HybridBounds *) hybrid_entry_words(&layout->inner, value);
}

/* hybrid_block_codes: return the codes of a block. Valid only if list->code_pages == 0. */
static inline uint8 *
hybrid_block_codes(const HybridListLayout *list, HybridBlock *block)
{
	return (uint8 *) block + list->codes_offset;
}

/* hybrid_block_pieces: return the pieces of a block. Valid only if layout->packed. */
static inline HybridPiece *
hybrid_block_pieces(const HybridListLayout *list, HybridBlock *block)
{
	return (HybridPiece *) ((char *) block + list->codes_offset);
}

/* hybrid_piece: return the piece of slot i of a list page. Valid only if layout->packed. */
static inline HybridPiece *
hybrid_piece(const HybridListLayout *list, Page page, int i)
{
	return hybrid_block_pieces(list, hybrid_block(list, page, i / HY_CODE_ROWS)) + i % HY_CODE_ROWS;
}

/*
 * hybrid_stored: return the record of the vector in slot i of a VECTORS page. The records grow downwards
 * from the special space.
 */
static inline HybridStored *
hybrid_stored(Page page, int i)
{
	return (HybridStored *) PageGetSpecialPointer(page) - (i + 1);
}

/* hybrid_vectors: return the first byte of the vectors of a VECTORS page. */
static inline char *
hybrid_vectors(Page page)
{
	return PageGetContents(page);
}

/* hybrid_link_tid, hybrid_tid_link: store a link as a heap TID, and convert it back. */
static inline ItemPointerData
hybrid_link_tid(HybridLink link)
{
	ItemPointerData tid;

	ItemPointerSet(&tid, link.head, link.generation);
	return tid;
}

static inline HybridLink
hybrid_tid_link(const ItemPointerData *tid)
{
	HybridLink link;

	link.head = BlockIdGetBlockNumber(&tid->ip_blkid);
	link.generation = tid->ip_posid;
	return link;
}

#endif
