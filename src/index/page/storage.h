/*
 * storage.h
 *		Values as the index stores them: as given, or rounded to binary16 or to bytes.
 *
 * A vector or halfvec is stored as numbers and a scale; its elements are the products of the numbers and
 * the scale. The numbers are fp32, binary16 or signed bytes. With binary16 the scale is a power of two, so
 * that widening is exact. It is 1 if binary16 represents the values well. With bytes the scale makes the
 * greatest magnitude 127. `residual` is the length of the rounding error, rounded up. In binary16, a
 * halfvec is stored exactly as given.
 *
 * A bit string is stored as its bytes. A sparse vector is stored as a HybridSparse, the only form whose
 * length varies.
 */
#ifndef HYBRID_INDEX_STORAGE_H
#define HYBRID_INDEX_STORAGE_H

#include "postgres.h"

#include "core/batch.h"

typedef enum HybridStorage
{
	HYBRID_FLOAT32 = 0,
	HYBRID_FLOAT16,
	HYBRID_INT8,
	HYBRID_BITS,
	HYBRID_SPARSE
} HybridStorage;

#define HYBRID_STORAGE_COUNT (HYBRID_SPARSE + 1)

/* HybridStored: the record that accompanies a stored vector. */
typedef struct HybridStored
{
	float norm;     /* hy_norm_sq of the stored vector */
	float residual; /* at least |given - stored|; 0 if the vector is stored as given */
	float scale;
	float unused;
} HybridStored;

StaticAssertDecl(sizeof(HybridStored) == 16, "what is kept of a vector is 16 bytes on disk");

/* HybridSparse: a stored sparse vector; its `count` values follow the indices. */
typedef struct HybridSparse
{
	int32 count;
	int32 indices[FLEXIBLE_ARRAY_MEMBER];
} HybridSparse;

StaticAssertDecl(offsetof(HybridSparse, indices) == 4,
                 "a stored sparse vector has a 4-byte header");

/* hybrid_storage_is_dense: test whether this storage has a number for each dimension: float32, float16 or int8. */
static inline bool
hybrid_storage_is_dense(HybridStorage storage)
{
	return storage <= HYBRID_INT8;
}

/* hybrid_storage_name: return 'float32', 'float16', 'int8', 'bits' or 'sparse'. */
extern const char *hybrid_storage_name(HybridStorage storage);

/* hybrid_storage_stride: return the number of bytes of a stored value. For a sparse vector this is the maximum. */
extern Size hybrid_storage_stride(HybridStorage storage, int dims);

/* hybrid_sparse_bytes: return the number of bytes of a stored sparse vector with `count` elements. */
static inline Size
hybrid_sparse_bytes(int32 count)
{
	return offsetof(HybridSparse, indices) + (Size) count * (sizeof(int32) + sizeof(float));
}

/* hybrid_stored_bytes: return the number of bytes of this stored value. */
extern Size hybrid_stored_bytes(HybridStorage storage, int dims, const void *value);

/*
 * hybrid_store_vector: store the vector x at `out` (hybrid_storage_stride bytes), and fill *stored. The
 * elements of x must be finite.
 */
extern void hybrid_store_vector(HybridStorage storage, const float *x, int dims, void *out,
                                HybridStored *stored);

/*
 * hybrid_store_halves: store a vector of binary16 elements as hybrid_store_vector does. HYBRID_FLOAT16
 * stores these exactly.
 */
extern void hybrid_store_halves(HybridStorage storage, const uint16 *x, int dims, void *out,
                                HybridStored *stored);

/*
 * hybrid_store_as_given: fill the record of a value that is stored as given: scale 1, residual 0 and
 * norm 0.
 */
extern void hybrid_store_as_given(HybridStored *stored);

/*
 * hybrid_widen_vector: convert a stored dense vector, or the bits of a bit string, to fp32. `stored` is not
 * used for float32 and bits.
 */
extern void hybrid_widen_vector(HybridStorage storage, const HybridStored *stored,
                                const void *vector, int dims, float *out);

/*
 * hybrid_stored_view: return a stored dense vector in a form that the distance kernels accept, and set
 * *dtype. This is the vector itself if they accept it, else a copy widened into `room` (dims floats).
 */
extern const void *hybrid_stored_view(HybridStorage storage, const HybridStored *stored,
                                      const void *vector, int dims, float *room, HyDtype *dtype);

#endif
