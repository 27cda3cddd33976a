/*
 * assign_check.c
 *		Checks the arguments of an assignment.  Plug-ins link this file without the other files of
 *		assign.h.
 */
#include "core/assign.h"

#include <stdbool.h>

static bool shaped(const HyMatrix *matrix, int32_t dims);
static bool plain(const HyMatrix *matrix, int32_t dims);

HyStatus
hy_assign_check(const HyMatrix *rows, const HyMatrix *centroids, const HyGroups *groups)
{
	int64_t g;

	if (!shaped(rows, rows->dims) ||
	    (rows->rows > 0 && rows->data == NULL && rows->buffer == NULL) ||
	    !plain(centroids, rows->dims) || centroids->rows < 1 || centroids->rows > INT32_MAX)
		return HY_INVALID;
	if (groups == NULL || groups->centers.rows == 0)
		return HY_OK;
	if (!plain(&groups->centers, rows->dims) || groups->begin == NULL || groups->probes < 1 ||
	    groups->probes > HY_ASSIGN_PROBES || groups->begin[0] != 0 ||
	    groups->centers.rows > INT32_MAX - 1 ||
	    groups->begin[groups->centers.rows] != centroids->rows)
		return HY_INVALID;
	for (g = 0; g < groups->centers.rows; g++)
	{
		if (groups->begin[g] > groups->begin[g + 1])
			return HY_INVALID;
	}
	return HY_OK;
}

/* shaped: test whether the shape is valid.  The matrix may lie on the host or on a device. */
static bool
shaped(const HyMatrix *matrix, int32_t dims)
{
	return matrix->dtype == HY_F32 && matrix->dims == dims && dims >= 1 && dims <= HY_MAX_DIMS &&
	       matrix->rows >= 0 && matrix->stride >= (size_t) dims * sizeof(float);
}

static bool
plain(const HyMatrix *matrix, int32_t dims)
{
	return shaped(matrix, dims) && (matrix->data != NULL || matrix->rows == 0);
}
