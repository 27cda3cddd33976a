/*
 * build_assign.c
 *		Finds the nearest centroid of each of many vectors, through the dispatcher.
 *
 * If there are many centroids, they are in groups, and a vector is compared only with the centroids of
 * the nearest groups (core/assign.h).
 */
#include "postgres.h"

#include "core/kmeans.h"
#include "server/executor.h"

#include "index/build/build.h"

/* a vector is compared with the centroids of this many groups, if there are more */
#define GROUPS 8

void
hybrid_assign(const HybridCentroids *centroids, const float *places, int64_t rows, int *nearest)
{
	int dims = centroids->dims;
	HyTask task;

	memset(&task, 0, sizeof(task));
	task.op = HY_OP_ASSIGN;
	task.numeric_class = HY_CLASS_EXACT;
	task.u.assign.rows = hybrid_places_matrix(places, rows, dims);
	task.u.assign.centroids = hybrid_places_matrix(centroids->places, centroids->count, dims);
	task.u.assign.nearest = nearest;
	if (centroids->groups > GROUPS)
	{
		task.u.assign.groups.centers =
			hybrid_places_matrix(centroids->group_places, centroids->groups, dims);
		task.u.assign.groups.begin = centroids->group_begin;
		task.u.assign.groups.probes = GROUPS;
	}
	hybrid_run(&task, "assign vectors to lists");
}

void
hybrid_mean(const float *places, const int *rows, int count, int dims, float *mean)
{
	double *sums = palloc0(dims * sizeof(double));
	int i, j;

	for (i = 0; i < count; i++)
		hy_kmeans_add(sums, places + (Size) rows[i] * dims, dims);
	for (j = 0; j < dims; j++)
		mean[j] = (float) (sums[j] / Max(count, 1));
	pfree(sums);
}

HyMatrix
hybrid_places_matrix(const float *places, int64_t rows, int dims)
{
	HyMatrix matrix;

	memset(&matrix, 0, sizeof(matrix));
	matrix.dtype = HY_F32;
	matrix.dims = dims;
	matrix.rows = rows;
	matrix.stride = dims * sizeof(float);
	matrix.data = places;
	return matrix;
}
