/*
 * kmeans_stage.h
 *		What the tests of clusters and of halves share.
 */
#ifndef HY_KMEANS_STAGE_H
#define HY_KMEANS_STAGE_H

#include "unit.h"

#include "core/kmeans.h"

#define DIMS 20

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
