/*
 * rows.h
 *		Numbers in a row as the rows of a matrix.
 */
#ifndef HY_TEST_ROWS_H
#define HY_TEST_ROWS_H

#include "core/batch.h"

/* matrix: fp32, on the host, without a gap between rows. */
static HyMatrix
matrix(const float *values, int64_t rows, int dims)
{
	HyMatrix m = {.dtype = HY_F32,
	              .dims = dims,
	              .rows = rows,
	              .stride = (size_t) dims * sizeof(float),
	              .data = values};

	return m;
}

#endif
