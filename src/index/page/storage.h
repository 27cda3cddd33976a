/*
 * storage.h
 *		A value as the index stores it: as given, rounded to binary16, or to bytes.
 *
 * Of a vector or halfvec, what is stored is scale * number, number being fp32, binary16 or a signed byte.  The scale is a
 * power of two, 1 wherever binary16 holds the values well, so that widening is exact; bytes have a
 * scale that makes their greatest magnitude 127.  `residual` is the length of what rounding took
 * away, rounded up.  A halfvec is kept as given in binary16, too.
 *
 * A string of bits is its bytes.  A sparse vector is a HybridSparse, the one form whose length varies.
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

/* HybridStored: what is kept beside a stored vector. */
typedef struct HybridStored
{
	float norm;     /* hy_norm_sq of the stored vector */
	float residual; /* at least |given - stored|; 0 when stored as given */
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

/* hybrid_storage_is_dense: whether a number is stored for each dimension. */
static inline bool
hybrid_storage_is_dense(HybridStorage storage)
{
	return storage <= HYBRID_INT8;
}

/* hybrid_storage_name: 'float32', 'float16', 'int8', 'bits', 'sparse'. */
extern const char *hybrid_storage_name(HybridStorage storage);

/* hybrid_storage_stride: bytes of a value; of a sparse vector at most. */
extern Size hybrid_storage_stride(HybridStorage storage, int dims);

/* hybrid_sparse_bytes: of a stored sparse vector with so many elements. */
static inline Size
hybrid_sparse_bytes(int32 count)
{
	return offsetof(HybridSparse, indices) + (Size) count * (sizeof(int32) + sizeof(float));
}

/* hybrid_stored_bytes: of a value that is stored. */
extern Size hybrid_stored_bytes(HybridStorage storage, int dims, const void *value);

/*
 * hybrid_store_vector: stores x, finite, at out (hybrid_storage_stride bytes) and says what was
 * kept.
 */
extern void hybrid_store_vector(HybridStorage storage, const float *x, int dims, void *out,
                                HybridStored *stored);

/* hybrid_store_halves: the same of binary16, which binary16 loses nothing of. */
extern void hybrid_store_halves(HybridStorage storage, const uint16 *x, int dims, void *out,
                                HybridStored *stored);

/* hybrid_store_as_given: what is kept beside a value that is neither. */
extern void hybrid_store_as_given(HybridStored *stored);

/* hybrid_widen_vector: the stored vector, a dense one, as fp32. */
extern void hybrid_widen_vector(HybridStorage storage, const HybridStored *stored,
                                const void *vector, int dims, float *out);

/*
 * hybrid_stored_view: the stored vector as the distance kernels take it: itself where they can,
 * else widened into `room` (dims floats).
 */
extern const void *hybrid_stored_view(HybridStorage storage, const HybridStored *stored,
                                      const void *vector, int dims, float *room, HyDtype *dtype);

#endif
