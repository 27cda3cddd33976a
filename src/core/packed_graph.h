/*
 * packed_graph.h
 *		Layout of a graph in one contiguous range of device memory, and the host's description of it.
 *
 * There are up to five parts, each at a multiple of HY_PACKED_ALIGN: the columns of a HyCsr, its
 * weights, s_i of each node, the divisor r_j^hub of each node (spread.h) unless hub is 0, and the
 * rows that have entries.  The rows form three lists by length, one after another, each in node
 * order.  A GPU kernel processes one list at a time, so the rows of one launch have similar cost.
 *
 * The layout depends only on the numbers of nodes and edges, and on whether there are divisors.  So
 * its size is known before anything is packed.  If some nodes have no entries, the end of the memory
 * stays unused.
 */
#ifndef HY_PACKED_GRAPH_H
#define HY_PACKED_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allocator.h"
#include "core/cancel.h"
#include "core/csr.h"
#include "core/status.h"

#define HY_PACKED_ALIGN 256
#define HY_PACKED_SHORT 8   /* maximum entries of a row in the first list */
#define HY_PACKED_LONG 1024 /* maximum in the second list; longer rows are in the third */
#define HY_PACKED_LISTS 3

/*
 * Rows per block of HyPackedGraph.work in the first two lists.  In the third list each row is a
 * block.
 */
#define HY_PACKED_BLOCK 64

/* Fixed cost of a row, in entries. */
#define HY_PACKED_ROW_COST 4

typedef enum HyPackedPart
{
	HY_PACKED_COLUMN = 0, /* a uint32_t per edge */
	HY_PACKED_WEIGHT,     /* a float per edge */
	HY_PACKED_OUT_WEIGHT, /* a double per node */
	HY_PACKED_HUB,        /* a double per node, from hy_spread_hub; empty without a hub */
	HY_PACKED_ROWS        /* a HyPackedRow per row with entries, at most one per node */
} HyPackedPart;

#define HY_PACKED_PARTS (HY_PACKED_ROWS + 1)

/* HyPackedRow: a row that has entries. */
typedef struct HyPackedRow
{
	uint32_t row;
	uint32_t begin; /* first entry */
	uint32_t count;
} HyPackedRow;

/* HyPackedLayout: the offset of each part, and the size of the whole in bytes. */
typedef struct HyPackedLayout
{
	uint64_t offset[HY_PACKED_PARTS];
	uint64_t bytes;
} HyPackedLayout;

typedef struct HyPackedGraph
{
	HyPackedLayout layout;
	int64_t nodes;
	int64_t edges;
	bool hub;                        /* whether there are divisors r_j^hub */
	int64_t rows[HY_PACKED_LISTS];   /* rows of each list */
	HyPackedRow *row;                /* rows of all lists; this is the last part */
	uint64_t *work[HY_PACKED_LISTS]; /* work[l][b]: cost, in entries, of blocks before b */
} HyPackedGraph;

/* hy_packed_layout: return the layout for these numbers of nodes and edges, both below 2^32. */
extern HyPackedLayout hy_packed_layout(int64_t nodes, int64_t edges, bool hub);

/* hy_packed_list: return the list (0, 1 or 2) for a row with this many entries, at least one. */
extern int hy_packed_list(int64_t entries);

/* hy_packed_blocks: return the number of blocks in a list. */
extern int64_t hy_packed_blocks(const HyPackedGraph *packed, int list);

/*
 * hy_packed_graph_make: describe a graph for packing.  Returns HY_OK, HY_NOMEM, HY_CANCELLED, or
 * HY_INVALID.  HY_INVALID means that the numbers of nodes or edges are out of range, that row
 * starts do not ascend from 0 to the number of edges, or that an entry refers to a node that does
 * not exist.  Because of these checks, code that follows the packed graph never reads outside it.
 * On failure nothing is left allocated.
 */
extern HyStatus hy_packed_graph_make(const HyCsr *graph, bool hub, const HyAllocator *allocator,
                                     const HyCancel *cancel, HyPackedGraph *packed);
extern void hy_packed_graph_free(HyPackedGraph *packed, const HyAllocator *allocator);

/*
 * hy_packed_graph_part: return the host address of a part's contents, and set *bytes to their size.
 */
extern const void *hy_packed_graph_part(const HyPackedGraph *packed, const HyCsr *graph,
                                        const double *hub, HyPackedPart part, uint64_t *bytes);

/*
 * hy_packed_graph_valid: test whether the layout and the lists agree with the numbers of nodes and
 * edges, and the layout fits within this many bytes.  hy_packed_graph_bytes: return the maximum
 * host memory needed for a graph with these numbers of nodes and edges.
 */
extern bool hy_packed_graph_valid(const HyPackedGraph *packed, uint64_t bytes);
extern uint64_t hy_packed_graph_bytes(int64_t nodes, int64_t edges);

#endif
