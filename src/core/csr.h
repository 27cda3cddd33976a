/*
 * csr.h
 *		A directed weighted graph in compressed sparse rows, stored by destination.
 *
 * Nodes are numbered 0 .. nodes-1 in ascending order of their bigint ids.  Row d lists the edges
 * that end in d, ordered by source, with one entry per (source, destination).  The weights of
 * parallel edges are summed in fp64 in ascending order and rounded to fp32 once, so the graph does
 * not depend on the order in which its edges were read.  Under HY_MERGE_LEAST, an entry has the
 * smallest weight of its edges instead.  An edge of weight 0 keeps its entry.
 *
 * s_i is the sum of the weights of the entries that leave node i.  The entries (i, d) are taken in
 * ascending order of d, and the entry at position p of that list is added to fp64 lane p mod 32.
 * The 32 lanes fold as a tree, for h = 16, 8, 4, 2, 1: lane[l] += lane[l + h] for l < h.  s_i is
 * lane[0].  A node without outgoing edges has s_i = 0.
 */
#ifndef HY_CSR_H
#define HY_CSR_H

#include <stdbool.h>
#include <stdint.h>

#include "core/allocator.h"
#include "core/cancel.h"
#include "core/status.h"

typedef enum HyDirection
{
	HY_DIRECTION_OUT = 0, /* activation follows source -> target */
	HY_DIRECTION_IN,      /* activation follows target -> source */
	HY_DIRECTION_BOTH     /* W + W^T */
} HyDirection;

/* HyMerge: the weight of an entry that several parallel edges share. */
typedef enum HyMerge
{
	HY_MERGE_SUM = 0, /* the sum of their weights */
	HY_MERGE_LEAST    /* the smallest of their weights, for lengths and costs */
} HyMerge;

typedef struct HyEdge
{
	int64_t source;
	int64_t target;
	float weight; /* finite, >= 0 */
} HyEdge;

typedef struct HyCsr
{
	int64_t nodes;
	int64_t edges;
	int64_t *ids;        /* `nodes` entries, ascending */
	uint32_t *row_start; /* nodes + 1 entries */
	uint32_t *column;    /* `edges` entries: the source of each entry */
	float *weight;       /* `edges` entries */
	double *out_weight;  /* `nodes` entries: s_i as defined above, in canonical order */
	uint32_t *out_start; /* nodes + 1 entries: starts of the lists in out_row; NULL if unknown */
	uint32_t *out_row; /* `edges` destinations, ascending per node; node i starts at out_start[i] */
	bool at_least_one; /* no weight is below 1; false if unknown */
} HyCsr;

/*
 * With the origins of its entries, a graph can be patched (csr_patch.h).  An origin is any number above 0
 * that the caller assigns to edges, for example the number of a page.
 */
#define HY_ORIGIN_MANY 0

/* HyParallel: one of several edges that share an entry. */
typedef struct HyParallel
{
	uint32_t at; /* index of the entry */
	uint32_t origin;
	float weight;
} HyParallel;

typedef struct HyOrigins
{
	uint32_t *entry; /* origin of each entry; HY_ORIGIN_MANY if several edges share the entry */
	HyParallel *parallel; /* edges that share an entry, ordered by entry and weight */
	int64_t parallels;
	int64_t node_room; /* nodes that the arrays of the graph have room for */
	int64_t edge_room; /* entries that the arrays of the graph and `entry` have room for */
} HyOrigins;

/*
 * hy_csr_room: return the number of elements to allocate for an array of `count` elements in a graph
 * with origins.  The spare room lets a patch add edges.
 */
static inline int64_t
hy_csr_room(int64_t count)
{
	return count + count / 64 + 64;
}

/* hy_csr_free: free the memory that a build allocated for the graph. */
extern void hy_csr_free(HyCsr *csr, const HyAllocator *allocator);

/* hy_origins_free: free the memory that a build allocated for the origins. */
extern void hy_origins_free(HyOrigins *origins, const HyAllocator *allocator);

/*
 * hy_csr_sum: return the sum s_i as defined above.  The caller passes the weights of the node's
 * entries in ascending order of d.
 */
extern double hy_csr_sum(const float *weight, int64_t count);

/*
 * hy_csr_merge: set *weight to the weight of the entry that these edges share.  The edges ascend by
 * weight.  Returns false if the result overflows fp32.
 */
extern bool hy_csr_merge(HyMerge merge, const HyParallel *edge, int64_t count, float *weight);

/* hy_csr_first: return the number of the first node whose id is at least `id`, or csr->nodes. */
extern int64_t hy_csr_first(const HyCsr *csr, int64_t id);

/* hy_csr_find: return the number of the node with this id, or -1 if the graph has no such node. */
extern int64_t hy_csr_find(const HyCsr *csr, int64_t id);

/*
 * hy_csr_first_number: return the index of the first number that is at least `least`, or `end`.  The
 * numbers begin .. end - 1 ascend.
 */
extern int64_t
hy_csr_first_number(const uint32_t *number, int64_t begin, int64_t end, int64_t least);

/* hy_csr_entry: return the index of the entry in this row and column.  The entry must exist. */
extern int64_t hy_csr_entry(const HyCsr *csr, int64_t row, int64_t column);

#endif
