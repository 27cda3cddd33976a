/*
 * index.h
 *		Shared declarations of the access method: an open index, its tree, its options, its entries.
 */
#ifndef HYBRID_INDEX_H
#define HYBRID_INDEX_H

#include "postgres.h"

#include "access/amapi.h"
#include "storage/block.h"
#include "storage/buf.h"
#include "storage/lockdefs.h"
#include "utils/array.h"
#include "utils/relcache.h"

#include "core/batch.h"
#include "index/page/included.h"
#include "index/page/type.h"
#include "server/store.h"

#define HYBRID_DISTANCE_STRATEGY 1 /* strategy number of the ordering operator */
/* strategy number of the operator "within a sphere around a vector", by the same distance */
#define HYBRID_SPHERE_STRATEGY 2
#define HYBRID_STRATEGIES HYBRID_EQUAL_STRATEGY
/* number of the support function, which takes internal and returns internal: a const HybridOpclass * */
#define HYBRID_METRIC_PROC 1

/*
 * HYBRID_GATE: a lock (lock.h) that belongs to no page. Backends hold it in share mode while they add an
 * entry or split a list. VACUUM holds it exclusively while it replaces the tree with another one.
 */
#define HYBRID_GATE MaxBlockNumber

/* default of list_size: maximum entries of a leaf before it is split */
#define HYBRID_LIST_SIZE 192
#define HYBRID_LIST_SIZE_MIN 32
#define HYBRID_LIST_SIZE_MAX 16384
#define HYBRID_INNER_SIZE 512 /* maximum entries of an inner list before it is split */

/* HybridIndex: an open index. Except for words_outdated, its properties never change while it has the same file. */
typedef struct HybridIndex
{
	const HybridOpclass *opclass;
	HyMetric metric; /* metric of the operator class */
	bool lossless;   /* values are stored exactly as given */
	bool coded;      /* true: codes and a tree of lists; false: one list, searched exactly */
	int list_size;
	uint64 seed;
	HybridLayout layout;
	int keys;                                     /* number of columns before the vector */
	HybridIncluded included[HYBRID_MAX_INCLUDED]; /* layout.words columns; the keys come first */
	/* the columns of `included` have other types than when the index was built, so no scan uses their words */
	bool words_outdated;
} HybridIndex;

/*
 * hybrid_has_curve: test whether a recall curve is measured for an index. There is none with keys, since it would be
 * measured without conditions on keys, and such searches are rare. There is none with arrays, where searches calibrate
 * themselves (scan/documents.c).
 */
static inline bool
hybrid_has_curve(const HybridIndex *index)
{
	return index->coded && index->layout.bounds == 0 && !index->opclass->many;
}

/* HybridTree: the changing part of the meta page, as of one moment. */
typedef struct HybridTree
{
	BlockNumber center;
	HybridLink root;
	int height;
	uint32 leaves;
	uint32 regroup_leaves; /* number of leaves at or above which VACUUM builds another tree */
	bool logging;          /* VACUUM is building another tree: see copy_log.h */
	HybridCurve curve;
} HybridTree;

/*
 * hybrid_regroup_next: return the number of leaves at which VACUUM builds the next tree, after it built
 * one with `leaves` leaves.
 */
static inline uint32
hybrid_regroup_next(uint32 leaves)
{
	return (uint32) Min((uint64) leaves * 2, PG_UINT32_MAX);
}

/* the option `storage` is not set; the index then uses float16 for a dense type, else the type's only storage */
#define HYBRID_STORAGE_UNSET (-1)

/* HybridOptions: the options of WITH (...). */
typedef struct HybridOptions
{
	int32 vl_len_; /* varlena header (do not touch directly!) */
	int storage;   /* a HybridStorage, or HYBRID_STORAGE_UNSET */
	int list_size;
} HybridOptions;

/* HybridEntry: an entry of a leaf: a row, or an element of its array, as the index stores it. */
typedef struct HybridEntry
{
	ItemPointerData tid;
	HybridStored stored;
	void *vector; /* the stored value and the words: layout.leaf.carried bytes */
} HybridEntry;

/* meta.c */

/*
 * hybrid_index_open: return the properties of an index. The meta page is read and checked once per relcache
 * entry; damage raises an error. The result is a copy, because any invalidation frees the relcache's own
 * data, and even detoasting may process an invalidation.
 */
extern HybridIndex hybrid_index_open(Relation index);

/* hybrid_index_require_words: raise an error if the words of an index are outdated. */
extern void hybrid_index_require_words(Relation index, const HybridIndex *open);

/*
 * hybrid_index_define: derive the properties of an index that is not built yet from its column and
 * options.
 */
extern void hybrid_index_define(Relation index, HybridIndex *definition);

/* hybrid_meta_init: make the meta page of an index that has no root yet. */
extern void hybrid_meta_init(Page page, const HybridIndex *index);

/*
 * hybrid_meta_check: return the contents of the meta page, whose buffer the caller has locked. Raises
 * ERRCODE_INDEX_CORRUPTED if a counter is beyond what the ring, the curve or the file can have.
 */
extern HybridMeta *hybrid_meta_check(Relation index, Page page);

/* hybrid_tree_read: read the current tree from the meta page. */
extern void hybrid_tree_read(Relation index, HybridTree *tree);

/* hybrid_tree_root: read only the link to the root of the current tree. */
extern HybridLink hybrid_tree_root(Relation index);

/* HybridMetaChange: a change of the meta page in a WAL record of its own. */
typedef struct HybridMetaChange
{
	Buffer buffer;
	struct GenericXLogState *record;
} HybridMetaChange;

/*
 * hybrid_meta_begin, hybrid_meta_end: begin and end a change of the meta page. Between the two calls, its
 * buffer is exclusively locked, and the caller locks no other page.
 */
extern HybridMeta *hybrid_meta_begin(Relation index, HybridMetaChange *change);
extern void hybrid_meta_end(HybridMetaChange *change);

/*
 * hybrid_index_register: set the build callback that identifies indexes of this access method. Called
 * once, when the library is loaded.
 */
extern void hybrid_index_register(ambuild_function build);

/* hybrid_is_our_index: test whether an open relation is an index of this access method. */
extern bool hybrid_is_our_index(Relation relation);

/*
 * hybrid_index_outdated: test whether the index has another format, because another version of this library
 * has written it. For such an index, hybrid_index_open raises an error.
 */
extern bool hybrid_index_outdated(Relation index);

/*
 * hybrid_index_readable: test whether this backend can read the meta page, and whether the page is undamaged and has
 * the format of this version of the library.
 */
extern bool hybrid_index_readable(Relation index);

/*
 * hybrid_open_index: open an index for a SQL function. Raises an error unless `oid` is a valid index of
 * this access method that this session can read. Also raises one if Citus keeps the rows of the table in
 * shards.
 */
extern Relation hybrid_open_index(Oid oid, LOCKMODE lock);

/* entry.c */

/* HybridRow: a row of the table, from which entries are made one after another. */
typedef struct HybridRow
{
	const Datum *values; /* values of the columns of the index */
	const bool *isnull;
	int entries;       /* number of entries; 0 if the vector is NULL or the array is empty */
	ArrayType *array;  /* the detoasted array, in an index on arrays; else NULL */
	HyMatrix elements; /* elements of the array */
	bool worded;       /* `words` are computed */
	uint64 words[HYBRID_MAX_INCLUDED];
} HybridRow;

/* hybrid_row_begin: prepare a row, in the current memory context. The caller keeps `values` and `isnull` valid. */
extern void
hybrid_row_begin(const HybridIndex *index, const Datum *values, const bool *isnull, HybridRow *row);

/* hybrid_row_end: free the memory of a row. */
extern void hybrid_row_end(const HybridIndex *index, HybridRow *row);

/*
 * hybrid_entry_form: make entry number `which` of the row->entries entries of a row. The caller allocates entry->vector
 * with layout.leaf.carried bytes. Returns false if the entry is not indexed, because the metric is cosine and the
 * vector has no direction. Raises an error if the dimensions of the vector differ from the index's. The first call for
 * a row computes the words, which all its entries share.
 */
extern bool hybrid_entry_form(const HybridIndex *index, HybridRow *row, int which,
                              const ItemPointerData *tid, HybridEntry *entry);

#endif
