/*
 * read.h
 *		A way through all live entries of an index.
 */
#ifndef HYBRID_INDEX_READ_H
#define HYBRID_INDEX_READ_H

#include "index/page/index.h"

/* HybridStore: public for who embeds it. */
struct HybridStore
{
	Relation index;
	Snapshot snapshot; /* MVCC */
	HybridIndex open;
	HyDtype dtype;
	Size stride;                   /* of a value as it is given out */
	BufferAccessStrategy strategy; /* or NULL */
	MemoryContext context;         /* of the lists */
	HybridLink *lists;
	int count;
	int stop;          /* reading ends before this one */
	int list;          /* the current one */
	BlockNumber block; /* of it */
	int slot;          /* of that page, the next */
	uint32 pages;      /* of the list, so far */
	int64 least;       /* positions that are read, as far as that one */
	int64 most;
	void *vector; /* room for one */
	float *widened;
};

/* hybrid_store_dtype: of the vectors that are given out, where they are dense. */
extern HyDtype hybrid_store_dtype(const HybridLayout *layout);

/* hybrid_store_init: a large index gets a strategy, in the current memory context. */
extern void
hybrid_store_init(HybridStore *store, Relation index, Snapshot snapshot, const HybridIndex *open);

/* hybrid_store_rewind: back to the beginning of the index as it is now. */
extern void hybrid_store_rewind(HybridStore *store);

/* hybrid_store_read: see HybridStoreMethods. */
extern int hybrid_store_read(HybridStore *store, const HybridStoreRows *rows, int most);

/* device_units.c: the same. */
extern bool hybrid_store_unit(HybridStore *store, Size bytes, HybridStoreUnit *unit);
extern bool hybrid_store_unchanged(HybridStore *store, const HybridStoreUnit *unit);
extern void
hybrid_store_again(HybridStore *store, const HybridStoreUnit *unit, int64 least, int64 most);
extern void hybrid_store_pass(HybridStore *store, const HybridStoreUnit *unit);

/*
 * hybrid_units_forget: units of before have other keys.  An index that is built in the place of an
 * empty one has the same file, and its lists may have the same names.
 */
extern void hybrid_units_forget(void);

/* hybrid_store_methods: how other features read stores. */
extern const HybridStoreMethods hybrid_store_methods;

#endif
