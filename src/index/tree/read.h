/*
 * read.h
 *		Read all live entries of an index.
 */
#ifndef HYBRID_INDEX_READ_H
#define HYBRID_INDEX_READ_H

#include "index/page/index.h"

/* HybridStore: state of a read of all entries. The struct is declared here for callers that embed it. */
struct HybridStore
{
	Relation index;
	Snapshot snapshot; /* an MVCC snapshot */
	HybridIndex open;
	HyDtype dtype;
	Size stride;                   /* bytes of a value in the form that readers get */
	BufferAccessStrategy strategy; /* strategy for reading pages, or NULL */
	MemoryContext context;         /* memory context of the lists */
	HybridLink *lists;
	int count;         /* number of lists */
	int stop;          /* number of the list before which the read stops */
	int list;          /* number of the current list */
	BlockNumber block; /* current page of the list */
	int slot;          /* next slot of the page */
	uint32 pages;      /* number of pages of the list read so far */
	int64 least;       /* smallest and largest position of the rows that are returned */
	int64 most;
	/* conditions on words; rows that they exclude are not returned. Set them before hybrid_store_rewind */
	const HyWordCondition *conditions;
	int conditions_count;
	int64 excluded; /* number of rows that the conditions have excluded since the last rewind */
	void *vector;   /* space for one stored vector */
	float *widened; /* space for one vector as floats */
};

/*
 * hybrid_store_init: prepare to read, in the current memory context. Pages of a large index are read with a buffer
 * access strategy. Call hybrid_store_rewind to begin.
 */
extern void
hybrid_store_init(HybridStore *store, Relation index, Snapshot snapshot, const HybridIndex *open);

/* hybrid_store_rewind: start again at the beginning of the index, with its current lists. */
extern void hybrid_store_rewind(HybridStore *store);

/* hybrid_store_read: read rows; see HybridStoreMethods. */
extern int hybrid_store_read(HybridStore *store, const HybridStoreRows *rows, int most);

/*
 * hybrid_store_read_page: read rows of the current page, as hybrid_store_read does. The arrays already have `filled`
 * rows. Returns how many rows they have afterwards.
 */
extern int
hybrid_store_read_page(HybridStore *store, const HybridStoreRows *rows, int filled, int most);

/* hybrid_store_pass_page: go to page `next` of the current list, or to the next list if `next` is invalid. */
extern void hybrid_store_pass_page(HybridStore *store, BlockNumber next);

/*
 * hybrid_store_read_slot: copy the stored value in a slot of a leaf list's page to store->vector. Returns false if the
 * slot is dead. In a list without codes, the slot may have another row than before. Then the snapshot sees neither the
 * old nor the new row.
 */
extern bool
hybrid_store_read_slot(HybridStore *store, const HybridLink *list, BlockNumber block, int slot);

/* device_units.c: functions of HybridStoreMethods */
extern bool hybrid_store_unit(HybridStore *store, Size bytes, HybridStoreUnit *unit);
extern bool hybrid_store_unchanged(HybridStore *store, const HybridStoreUnit *unit);
extern void
hybrid_store_again(HybridStore *store, const HybridStoreUnit *unit, int64 least, int64 most);
extern void hybrid_store_pass(HybridStore *store, const HybridStoreUnit *unit);

/*
 * hybrid_units_forget: give all units new keys from now on. A build calls this function, because it may
 * reuse the file of an emptied index, and its lists may have the same links as before.
 */
extern void hybrid_units_forget(void);

/* hybrid_store_methods: the functions by which other features read stores. */
extern const HybridStoreMethods hybrid_store_methods;

#endif
