/*
 * spread_reach.h
 *		The rows that the firing nodes of a hop reach.
 *
 * Most of these rows are reached by only one or two nodes.  If all weights that leave these nodes
 * are 1, y of such a row is a charge or the sum of two.  A pull would give the same bits, because
 * it adds only zeros to these charges, whatever lanes they are in.  So such a row is not pulled.
 */
#ifndef HY_SPREAD_REACH_H
#define HY_SPREAD_REACH_H

#include <stdbool.h>
#include <stdint.h>

#include "core/csr.h"
#include "core/spread_pull.h"

/* HySpreadRows: bitmaps of the rows that are reached in a hop. */
typedef struct HySpreadRows
{
	uint64_t *reached; /* all rows that are reached */
	uint64_t *pulled;  /* rows whose y must be pulled */
	uint64_t *again;   /* scratch space of hy_spread_reach */
} HySpreadRows;

/*
 * hy_spread_reach: mark the rows that are reached, and return the number of entries of the rows
 * that must be pulled.  Sets y of the other reached rows.  hub is that of HySpreadParams.  If there
 * are more such entries than `most`, returns -1, and no row is marked.  All bitmaps must be 0
 * before the call, and `again` is 0 afterward.  `push` says whether y may be set; otherwise all
 * rows must be pulled.
 */
extern int64_t
hy_spread_reach(const HyCsr *graph, const HySpreadCharges *charges, const double *hub, bool push,
                int64_t most, const HySpreadRows *rows, double *y);

#endif
