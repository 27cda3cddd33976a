/*
 * batch.h
 *		Views of many vectors at once, and the metrics and element types they use.
 *
 * A HyMatrix does not own its memory.  Its rows lie stride bytes apart, so a view can cover packed
 * vectors, the pages of an index, or detoasted values of equal length.
 */
#ifndef HY_BATCH_H
#define HY_BATCH_H

#include <stddef.h>
#include <stdint.h>

#define HY_MAX_DIMS 16000

typedef enum HyDtype
{
	HY_F32 = 0, /* IEEE binary32 */
	HY_F16      /* IEEE binary16, widened exactly to binary32 before any arithmetic */
} HyDtype;

#define HY_DTYPE_COUNT (HY_F16 + 1)

typedef enum HyMetric
{
	HY_METRIC_L2 = 0, /* Euclidean distance */
	HY_METRIC_IP,     /* negative inner product, so that smaller is nearer */
	HY_METRIC_COSINE, /* 1 - cosine similarity; NaN if hy_has_cosine is false for either vector */
	HY_METRIC_L1      /* taxicab distance */
} HyMetric;

#define HY_METRIC_COUNT (HY_METRIC_L1 + 1)

/* HyBuffer: device memory.  Only the backend that allocated it knows its structure. */
typedef struct HyBuffer HyBuffer;

typedef struct HyMatrix
{
	HyDtype dtype;
	int32_t dims;       /* 1 .. HY_MAX_DIMS */
	int64_t rows;       /* >= 0 */
	size_t stride;      /* bytes from one row to the next, >= dims * hy_dtype_size(dtype) */
	const void *data;   /* host address of row 0; NULL when the rows are on a device */
	HyBuffer *buffer;   /* device buffer that holds the rows, or NULL */
	size_t offset;      /* offset of row 0 in buffer, in bytes */
	const float *norms; /* canonical fp32 sum of squares per row, on the host; NULL if unknown */
} HyMatrix;

/* HyNeighbor: one result of a nearest-neighbor search. */
typedef struct HyNeighbor
{
	double distance;
	int64_t row; /* row number in the target matrix, from 0 */
} HyNeighbor;

/* hy_dtype_size: return the number of bytes per element. */
static inline size_t
hy_dtype_size(HyDtype dtype)
{
	return dtype == HY_F32 ? 4 : 2;
}

/* hy_matrix_row: return the host address of row i.  data must not be NULL. */
static inline const void *
hy_matrix_row(const HyMatrix *matrix, int64_t i)
{
	return (const char *) matrix->data + (size_t) i * matrix->stride;
}

/*
 * hy_metric_name: return 'l2', 'ip', 'cosine', 'l1' or 'unknown'.
 * hy_dtype_name: return 'float32', 'float16' or 'unknown'.
 */
extern const char *hy_metric_name(HyMetric metric);
extern const char *hy_dtype_name(HyDtype dtype);

#endif
