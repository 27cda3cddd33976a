/*
 * pages.h
 *		The pages of a registered graph's table, and the proofs that they are unchanged.
 *
 * A copy of a graph (copy.h) has the edges of the rows that were visible when a page was read. The
 * pages are validated in three steps: find the pages that may have changed, read them, and mark them
 * as read when the copy has their edges.
 */
#ifndef HYBRID_GRAPH_PAGES_H
#define HYBRID_GRAPH_PAGES_H

#include "postgres.h"
#include "access/htup.h"
#include "storage/block.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapshot.h"

/* HybridValidation: how the pages of a table were validated. */
typedef struct HybridValidation
{
	int64 by_map; /* pages that the visibility map shows to be unchanged */
	int64 by_lsn; /* pages that their LSN shows to be unchanged */
	int64 read;   /* pages that were read */
	bool kept;    /* whether the copy is kept for later calls */
	bool shared;  /* whether the graph of the copy is in shared memory */
} HybridValidation;

typedef struct HybridPage HybridPage;
typedef struct HybridMapPage HybridMapPage;

/* HybridPages: the state of a table's pages. Before the first validation, all fields but context are zero. */
typedef struct HybridPages
{
	MemoryContext context;
	BlockNumber count;  /* entries of `page` in use */
	BlockNumber unread; /* pages that must be read */
	BlockNumber room;
	HybridPage *page;
	BlockNumber map_pages;
	HybridMapPage *map;   /* visibility map as of the last complete validation */
	HybridMapPage *fresh; /* visibility map as of the validation in progress */
} HybridPages;

/* HybridPageReader: a validation in progress. */
typedef struct HybridPageReader
{
	HybridPages *pages;
	Relation table;
	Snapshot snapshot;
	HybridValidation *validation;
	BufferAccessStrategy strategy;
	bool (*take)(void *arg, HeapTuple row); /* called for each visible row; false ends the read */
	void *arg;
} HybridPageReader;

/*
 * hybrid_pages_examine: find the pages that must be read, and count them in pages->unread. Counts each other
 * page in by_map or by_lsn.
 */
extern void hybrid_pages_examine(HybridPageReader *reader);

/* hybrid_pages_forget: mark all pages as unread. Sets by_map and by_lsn to 0. */
extern void hybrid_pages_forget(HybridPageReader *reader);

/* hybrid_page_must_be_read: return whether the page must be read. */
extern bool hybrid_page_must_be_read(const HybridPages *pages, BlockNumber block);

/*
 * hybrid_page_read: pass the rows of a page that the snapshot sees to `take`. Returns false if `take`
 * returns false.
 */
extern bool hybrid_page_read(HybridPageReader *reader, BlockNumber block);

/* hybrid_pages_finish: end a validation: mark all pages as read, and keep the new copy of the visibility map. */
extern void hybrid_pages_finish(HybridPages *pages);

/*
 * hybrid_pages_bytes: return the bytes that hybrid_pages_store writes.
 * hybrid_pages_store: write the state of the pages to a MAXALIGNed address. All pages must have been read.
 * hybrid_pages_load: replace the state of the pages by what hybrid_pages_store has written.
 */
extern Size hybrid_pages_bytes(const HybridPages *pages);
extern void hybrid_pages_store(const HybridPages *pages, char *to);
extern void hybrid_pages_load(HybridPages *pages, const char *from);

#endif
