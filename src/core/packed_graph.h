/*
 * packed_graph.h
 *		How a graph lies in one stretch of a device's memory, and what the host keeps of that.
 *
 * Four parts, each at a multiple of HY_PACKED_ALIGN: the columns and the weights of a HyCsr as they
 * are, the gain of each node, and the rows that have entries, in three lists by length, one list after
 * another, each in the order of nodes.  Who pulls takes a list at a time, and so rows that cost alike.
 *
 * The layout follows from the numbers of nodes and edges alone, so that its size is known before
 * anything is packed; where not all nodes have entries the end stays empty.
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
#define HY_PACKED_SHORT 8   /* entries, at most, of a row of the first list */
#define HY_PACKED_LONG 1024 /* of the second; those of the third have more */
#define HY_PACKED_LISTS 3

/* Of the first two lists so many rows are not told apart in HyPackedGraph.work; of the third each is. */
#define HY_PACKED_BLOCK 64

/* What a row costs beside its entries, in entries. */
#define HY_PACKED_ROW_COST 4

typedef enum HyPackedPart
{
	HY_PACKED_COLUMN = 0, /* edges uint32_t */
	HY_PACKED_WEIGHT,     /* edges float */
	HY_PACKED_GAIN,       /* nodes double: hy_spread_gain */
	HY_PACKED_ROWS        /* HyPackedRow, at most nodes */
} HyPackedPart;

#define HY_PACKED_PARTS (HY_PACKED_ROWS + 1)

/* HyPackedRow: a row that has entries. */
typedef struct HyPackedRow
{
	uint32_t row;
	uint32_t begin; /* of its entries */
	uint32_t count;
} HyPackedRow;

/* HyPackedLayout: where the parts begin, and bytes of the whole. */
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
	int64_t rows[HY_PACKED_LISTS];   /* of each list */
	HyPackedRow *row;                /* all of them: the last part */
	uint64_t *work[HY_PACKED_LISTS]; /* of the blocks of rows before each, in entries; and of all */
} HyPackedGraph;

/* hy_packed_layout: of a graph of so many nodes and edges, both below 2^32. */
extern HyPackedLayout hy_packed_layout(int64_t nodes, int64_t edges);

/* hy_packed_list: of a row with so many entries, at least one: 0, 1 or 2. */
extern int hy_packed_list(int64_t entries);

/* hy_packed_blocks: how many blocks the rows of a list make. */
extern int64_t hy_packed_blocks(const HyPackedGraph *packed, int list);

/*
 * hy_packed_graph_make: of a graph.  HY_OK, HY_NOMEM, HY_CANCELLED, or HY_INVALID where rows do not
 * ascend from 0 to the number of edges or an entry comes from no node: who reads what lies there by
 * this graph reads nowhere else.  On failure nothing is left allocated.
 */
extern HyStatus hy_packed_graph_make(const HyCsr *graph, const HyAllocator *allocator,
                                     const HyCancel *cancel, HyPackedGraph *packed);
extern void hy_packed_graph_free(HyPackedGraph *packed, const HyAllocator *allocator);

/* hy_packed_graph_part: what lies in a part, where the host has it, and bytes of that. */
extern const void *hy_packed_graph_part(const HyPackedGraph *packed, const HyCsr *graph,
                                        const double *gain, HyPackedPart part, uint64_t *bytes);

/*
 * hy_packed_graph_in: whether every part of it lies within so many bytes, by its own numbers.
 * hy_packed_graph_bytes: what the host keeps of a graph of so many nodes and edges, at most.
 */
extern bool hy_packed_graph_in(const HyPackedGraph *packed, uint64_t bytes);
extern uint64_t hy_packed_graph_bytes(int64_t nodes, int64_t edges);

#endif
