/*
 * leaves.h
 *		The tables that hold the rows of a registered graph, and the numbers of their pages.
 *
 * A copy (copy.h) keeps this data. A table that is not partitioned has one leaf, itself. The leaves of a
 * partitioned table are the partitions that have no partitions. Each page of each leaf has a number, which is
 * the origin of the edges of its rows (core/csr.h). The numbers of a leaf are consecutive. A leaf has more
 * numbers than pages, so that it can grow without a change to the numbers of other leaves.
 */
#ifndef HYBRID_GRAPH_LEAVES_H
#define HYBRID_GRAPH_LEAVES_H

#include "postgres.h"

#include "graph/pages.h"
#include "graph/registered.h"
#include "server/compat.h"

typedef struct HybridLeaf
{
	Oid table;
	RelFileLocator storage; /* file of the table */
	HybridPages pages;
	BlockNumber blocks; /* number of pages from which the graph may have edges */
	uint32 first;       /* page number of its first page */
	uint32 room;        /* count of page numbers reserved for it */
} HybridLeaf;

typedef struct HybridLeaves
{
	HybridLeaf *leaf;
	int count;
} HybridLeaves;

/* HybridLeafTotal: totals over the pages of all leaves. */
typedef struct HybridLeafTotal
{
	uint64 pages;
	uint64 unread;
	bool is_shorter;  /* whether a leaf has lost pages from which the graph may have edges */
	bool is_outgrown; /* whether a leaf has more pages than page numbers */
} HybridLeafTotal;

/* hybrid_leaves_make: allocate the leaves of a graph. Their pages have not been examined yet. */
extern void
hybrid_leaves_make(HybridLeaves *leaves, const HybridRegistered *registered, MemoryContext context);

/* hybrid_leaves_match: return whether a graph has these leaves, with the same storage. */
extern bool hybrid_leaves_match(const HybridLeaves *leaves, const HybridRegistered *registered);

/* hybrid_leaves_choose: let the reader read the pages of leaf number `at`. */
extern void hybrid_leaves_choose(HybridLeaves *leaves, const HybridRegistered *registered, int at,
                                 HybridPageReader *reader);

/* hybrid_leaves_examine: find the pages of all leaves that must be read. */
extern void hybrid_leaves_examine(HybridLeaves *leaves, const HybridRegistered *registered,
                                  HybridPageReader *reader);

/* hybrid_leaves_total: return the totals over all leaves. */
extern HybridLeafTotal hybrid_leaves_total(const HybridLeaves *leaves);

/*
 * hybrid_leaves_number: give numbers to all pages that hybrid_leaves_examine found. Returns false if there are
 * not enough 32-bit numbers for the pages and the reserves of the leaves.
 */
extern bool hybrid_leaves_number(HybridLeaves *leaves);

/* hybrid_leaves_forget: mark all pages as unread. */
extern void hybrid_leaves_forget(HybridLeaves *leaves, HybridPageReader *reader);

/* hybrid_leaves_finish: mark all pages as read, because the graph has their edges. */
extern void hybrid_leaves_finish(HybridLeaves *leaves);

/*
 * hybrid_leaves_changed: return an array, indexed by page number, that says whether the page must be read or is
 * gone.
 */
extern bool *hybrid_leaves_changed(const HybridLeaves *leaves);

#endif
