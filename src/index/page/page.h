/*
 * page.h
 *		What lies on the pages of a hybrid index.
 *
 * An index is a tree of lists.  A leaf list holds rows, an inner list holds the lists below it, by
 * their centroids; both are the same thing.  A list is a chain of list pages; each has its entries'
 * quantised codes in blocks of 32, and the numbers of the pages that hold the codes that do not fit
 * and the entries' vectors:
 *
 *		META			block 0
 *		CENTRE			what all vectors are taken relative to before their codes are made
 *		LIST			HybridListPage, a directory of block numbers, blocks of 32 entries
 *		CODES			the codes of the one block of a list page, dimensions in order, when a block is
 *						larger than a page
 *		VECTORS			as many vectors as fit, from the page header upwards, contiguous, so that a
 *						page is a HyMatrix with a stride; what is known of each from the special
 *						space downwards
 *		VECTOR_TAIL		the rest of a vector longer than a page
 *		VALUES			where values vary in length, bytes of them: the VALUES pages of a list page are
 *						one stream, and a HybridPiece beside each entry says where in it its value is
 *		FREE			nothing; was once something else
 *		TAKEN			named by who is writing a new list, and not written yet
 *
 * Entry e of a list page has its vector on page e / per_page of the list page's directory, slot
 * e % per_page, or wherever its piece says.  The hole between pd_lower and pd_upper is always zero, since generic WAL does not
 * carry it.  See README.md for the locks and for why readers miss nothing.
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
#include "core/rotation.h"

#include "index/page/storage.h"

#define HYBRID_META_BLOCK 0

#define HYBRID_INDEX_MAGIC 0x48594249 /* "IBYH" on a little-endian disk */
#define HYBRID_INDEX_FORMAT 6
#define HYBRID_PAGE_ID 0xFFA7 /* last two bytes of a page: tells dump tools whose it is */

typedef enum HybridPageKind
{
	HYBRID_PAGE_META = 1,
	HYBRID_PAGE_CENTRE,
	HYBRID_PAGE_LIST,
	HYBRID_PAGE_CODES,
	HYBRID_PAGE_VECTORS,
	HYBRID_PAGE_VECTOR_TAIL,
	HYBRID_PAGE_FREE,
	HYBRID_PAGE_TAKEN,
	HYBRID_PAGE_VALUES
} HybridPageKind;

/*
 * HybridLink: the name of a list.  A block that is the head of a list for the n-th time makes it
 * generation n, so that a link that was followed too late is found out.
 */
typedef struct HybridLink
{
	BlockNumber head;
	uint16 generation;
} HybridLink;

/* HybridPageSpecial: at the end of every page. */
typedef struct HybridPageSpecial
{
	BlockNumber list;  /* head of the list that the page belongs to; the page itself on a head */
	uint16 generation; /* of that list */
	uint16 count;      /* of a VECTORS page: vectors */
	uint16 heads;      /* the generation that this page had when it last was a head; 0: never */
	uint16 unused;
	uint16 kind; /* HybridPageKind */
	uint16 page_id;
} HybridPageSpecial;

StaticAssertDecl(sizeof(HybridPageSpecial) == 16, "the special space is 16 bytes on disk");

#define HYBRID_DIFFICULTIES 6

/* HybridCurvePoint: what searches may miss for a recall, by how difficult their queries are, and what that costs. */
typedef struct HybridCurvePoint
{
	float rows;   /* looked at, on average */
	float recall; /* 0 .. 1 */
	/* of HybridLookupLimits; negative: of queries so difficult nothing is known */
	float missing[HYBRID_DIFFICULTIES];
} HybridCurvePoint;

#define HYBRID_CURVE_POINTS 9

/* HybridMovedList: a list that was copied elsewhere and is read only by those who came before. */
typedef struct HybridMovedList
{
	FullTransactionId since; /* reusable when no snapshot is older */
	BlockNumber head;
	uint16 generation;
	uint16 unused;
} HybridMovedList;

#define HYBRID_MOVED_LISTS 384
#define HYBRID_NOTES_BYTES 1600

/* HybridMeta: the content of block 0. */
typedef struct HybridMeta
{
	uint32 magic;
	uint32 format;
	/* what the build decides */
	uint32 dims;
	uint32 storage; /* HybridStorage */
	uint64 seed;    /* of the rotation */
	uint32 list_size;
	/* what changes */
	BlockNumber centre; /* the first page that holds it, or InvalidBlockNumber: the origin */
	BlockNumber root;
	uint16 root_generation;
	uint16 height;     /* level of the root; 0: it is a leaf */
	uint32 leaves;     /* lists of level 0 */
	uint32 curve_size; /* points of the curve; 0: not measured */
	HybridCurvePoint curve[HYBRID_CURVE_POINTS];
	uint32 moved_first; /* of the ring */
	uint32 moved_count;
	HybridMovedList moved[HYBRID_MOVED_LISTS];
	uint32 curve_leaves;     /* how many there were when the curve was measured */
	uint32 regroup_leaves;   /* from so many on VACUUM makes another tree; 0: always */
	uint32 noting;           /* it is at it: who adds an entry notes the leaf */
	uint32 curve_by_queries; /* 1: it was measured on a user's queries; 0: on rows, or not at all */
	uint8 notes[HYBRID_NOTES_BYTES]; /* copy_log.h */
} HybridMeta;

StaticAssertDecl(sizeof(HybridMeta) == 360 + HYBRID_MOVED_LISTS * 16 + HYBRID_NOTES_BYTES,
                 "the meta data has its size on disk");
StaticAssertDecl(sizeof(HybridMeta) <= BLCKSZ - SizeOfPageHeaderData - sizeof(HybridPageSpecial),
                 "the meta data fits a page");

#define HYBRID_LIST_LIVE 1
#define HYBRID_LIST_MOVED 2

/* HybridListPage: at the beginning of a LIST page. */
typedef struct HybridListPage
{
	BlockNumber next; /* of the chain, or InvalidBlockNumber */
	uint16 used;      /* slots that were ever filled */
	uint16 live;      /* of these, those with a live entry */
	/* the rest is of the list, on its head page only */
	BlockNumber tail;      /* last page of the chain */
	uint32 pages;          /* LIST pages */
	uint32 total;          /* live entries */
	uint16 level;          /* 0: leaf */
	uint16 state;          /* HYBRID_LIST_... */
	uint64 changes;        /* raised by whatever changes the list */
	HybridLink forward[2]; /* of a moved list: what has its entries now */
	FullTransactionId moved;
} HybridListPage;

StaticAssertDecl(sizeof(HybridListPage) == 56, "the header of a list page is 56 bytes on disk");

/*
 * HybridBlock: what is known of 32 entries; `radius` only in inner lists; then the codes, unless
 * they lie on pages of their own.
 */
typedef struct HybridBlock
{
	uint32 live; /* bit i: entry i counts */
	uint32 unused;
	HyCodeFactors factors;
	/* a leaf's: heap row (root of its HOT chain); an inner list's: HybridLink of a list below */
	ItemPointerData tid[HY_CODE_ROWS];
} HybridBlock;

StaticAssertDecl(sizeof(HybridBlock) == 584, "the head of a block is 584 bytes on disk");

#define HYBRID_RADIUS_BYTES (HY_CODE_ROWS * sizeof(float))

/*
 * HybridPiece: where the value of an entry lies in the stream of its list page, which byte b is
 * byte b % HYBRID_STREAM_PAGE of page number b / HYBRID_STREAM_PAGE of.  The pieces of a list page
 * never overlap, dead ones included; what comes into a dead one's slot takes its room, if that will do.
 */
typedef struct HybridPiece
{
	uint32 start;
	uint32 length; /* of the value */
	uint32 room;   /* from start on, at least length */
} HybridPiece;

StaticAssertDecl(sizeof(HybridPiece) == 12, "a piece is 12 bytes on disk");

#define HYBRID_PIECES_BYTES (HY_CODE_ROWS * sizeof(HybridPiece))
#define HYBRID_STREAM_PAGE (BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(HybridPageSpecial)))

/* HybridListLayout: how the entries of a leaf, or of an inner list, lie on pages. */
typedef struct HybridListLayout
{
	bool radius;       /* blocks have the radii of what is below */
	int blocks;        /* of a list page */
	int rows;          /* of a list page: blocks * 32 */
	int code_pages;    /* CODES pages of a list page; 0: the codes lie in the blocks */
	int vector_pages;  /* VECTORS and VECTOR_TAIL, or VALUES pages of a list page */
	Size codes_offset; /* of a block's codes, or pieces, within the block */
	Size block_bytes;
	Size first_block; /* from the start of the page */
} HybridListLayout;

/* HybridLayout: how values of one type, dimension and storage lie on pages. */
typedef struct HybridLayout
{
	int dims;
	int floats; /* numbers of a vector: dims, or 0: it is not dense */
	int padded; /* dimensions of codes; 0: this index has none */
	HybridStorage storage;
	bool packed; /* values vary in length: they are in pieces on VALUES pages */
	Size stride; /* bytes of a stored value, at most */
	/* where lengths do not vary */
	int per_page;    /* vectors of a VECTORS page */
	int span;        /* pages of a vector */
	Size in_first;   /* bytes of a vector on its first page */
	Size code_bytes; /* of a block of 32 */
	HybridListLayout leaf;
	HybridListLayout inner;
} HybridLayout;

/* hybrid_centre_pages: how many pages the centre takes. */
static inline int
hybrid_centre_pages(const HybridLayout *layout)
{
	Size most = BLCKSZ - SizeOfPageHeaderData - MAXALIGN(sizeof(HybridPageSpecial));

	return (int) ((layout->dims * sizeof(float) + most - 1) / most);
}

/* hybrid_layout_init: dims from 1 to what the type with this storage can have. */
extern void
hybrid_layout_init(HybridLayout *layout, int dims, HybridStorage storage, bool with_codes);

/* hybrid_list_layout: of lists of this level. */
static inline const HybridListLayout *
hybrid_list_layout(const HybridLayout *layout, int level)
{
	return level == 0 ? &layout->leaf : &layout->inner;
}

/* hybrid_page_init: an empty page of this kind that belongs to a list, or to none. */
extern void hybrid_page_init(Page page, HybridPageKind kind, BlockNumber list, uint16 generation);

/*
 * hybrid_page_empty: a page that was something, or nothing, becomes one of this kind, and keeps the
 * count of its generations.
 */
extern void hybrid_page_empty(Page page, HybridPageKind kind, const HybridLink *list);

/* hybrid_list_page_init: an empty page of a list of this level; head or not. */
extern void hybrid_list_page_init(const HybridLayout *layout, Page page, int level,
                                  const HybridLink *list, BlockNumber block);

/* hybrid_list_page_begin: an empty LIST page, initialised as a page, becomes one without entries. */
extern void hybrid_list_page_begin(const HybridLayout *layout, Page page, int level);

/*
 * hybrid_page_check: raises ERRCODE_INDEX_CORRUPTED unless the page is of this kind and its bounds
 * are possible.
 */
extern void hybrid_page_check(Relation index, Page page, BlockNumber block, HybridPageKind kind);

/* hybrid_page_shape: how a LIST page is laid out, by its bounds: its head alone knows the level. */
extern const HybridListLayout *hybrid_page_shape(const HybridLayout *layout, Page page);

/* hybrid_list_page_check: the same for a LIST page of a list of this level. */
extern void hybrid_list_page_check(Relation index, const HybridLayout *layout, Page page,
                                   BlockNumber block, int level);

/* hybrid_page_is_ours: whether a page is one of an index of ours, of whatever kind. */
extern bool hybrid_page_is_ours(Page page);

/* hybrid_page_belongs: whether a page is of this kind and of this very list. */
extern bool hybrid_page_belongs(Page page, HybridPageKind kind, const HybridLink *list);

/*
 * hybrid_list_put: entry number `slot` of a list page: its code, unless codes have pages of their
 * own, its factors and TID, live or not.  slot <= used; the page grows when it is equal.
 */
extern void
hybrid_list_put(const HybridLayout *layout, Page page, int level, int slot, const uint8 *bits,
                const HyCode *code, const ItemPointerData *tid, float radius, bool live);

/* hybrid_vector_put: slot i <= count of a VECTORS page; of a longer vector the first part. */
extern void hybrid_vector_put(const HybridLayout *layout, Page page, int i,
                              const HybridStored *stored, const void *vector);

/* hybrid_tail_range: which bytes of a vector lie on page number `page_of_span` >= 1 of its span. */
extern void
hybrid_tail_range(const HybridLayout *layout, int page_of_span, Size *begin, Size *length);

/* hybrid_tail_put: the part of a vector that belongs on page number `page_of_span` >= 1. */
extern void
hybrid_tail_put(const HybridLayout *layout, Page page, int page_of_span, const void *vector);

/* hybrid_codes_put: fills CODES page number i of a list page from the codes of its block. */
extern void hybrid_codes_put(const HybridLayout *layout, Page page, int i, const uint8 *codes);

/* hybrid_codes_range: which bytes of a block's codes lie on CODES page number i of a list page. */
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

/*
 * hybrid_list_room: of a live list without codes, on its head: the page that inserts look for room on
 * first, or InvalidBlockNumber: the tail.  It lies where a moved list says what it was moved to.
 */
static inline BlockNumber *
hybrid_list_room(HybridListPage *head)
{
	return &head->forward[0].head;
}

/* hybrid_directory: first CODES pages, then those of vectors; InvalidBlockNumber: not there yet. */
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
 * A radius as an inner list has it is that of the list below, and in its last eight bits how many rows the list had when
 * it was written, in sixteenths of an octave: for who only wants the radius, it is off by less than 1 in 30,000.
 */
#define HYBRID_ROWS_BITS 0xFF
#define HYBRID_ROWS_STEPS 16

/* hybrid_radius: with so many rows, 1 at least. */
extern float hybrid_radius(double radius, int64 rows);

/* hybrid_radius_rows: about how many they were. */
extern float hybrid_radius_rows(float radius);

/* hybrid_block_radii: of an inner list's block. */
static inline float *
hybrid_block_radii(HybridBlock *block)
{
	return (float *) (block + 1);
}

/* hybrid_block_codes: where they lie in the block; list->code_pages == 0. */
static inline uint8 *
hybrid_block_codes(const HybridListLayout *list, HybridBlock *block)
{
	return (uint8 *) block + list->codes_offset;
}

/* hybrid_block_pieces: layout->packed. */
static inline HybridPiece *
hybrid_block_pieces(const HybridListLayout *list, HybridBlock *block)
{
	return (HybridPiece *) ((char *) block + list->codes_offset);
}

/* hybrid_piece: of slot i of a list page; layout->packed. */
static inline HybridPiece *
hybrid_piece(const HybridListLayout *list, Page page, int i)
{
	return hybrid_block_pieces(list, hybrid_block(list, page, i / HY_CODE_ROWS)) + i % HY_CODE_ROWS;
}

/* hybrid_stored: slot i of a VECTORS page; slots grow downwards from the special space. */
static inline HybridStored *
hybrid_stored(Page page, int i)
{
	return (HybridStored *) PageGetSpecialPointer(page) - (i + 1);
}

/* hybrid_vectors: the vectors of a VECTORS page, the first one's first byte. */
static inline char *
hybrid_vectors(Page page)
{
	return PageGetContents(page);
}

/* hybrid_link_tid, hybrid_tid_link: a link in the place of a heap position, and back. */
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
