/*
 * sparsevec.h
 *		The on-disk layout of the sparsevec type, which equals the layout of pgvector's sparsevec.
 */
#ifndef HYBRID_SPARSEVEC_H
#define HYBRID_SPARSEVEC_H

#include "postgres.h"
#include "fmgr.h"

#include "core/sparse.h"
#include "server/compat.h"

typedef struct HybridSparsevec
{
	int32 vl_len_; /* varlena header (do not touch directly!) */
	int32 dim;
	int32 nnz;    /* number of stored elements, all of them nonzero */
	int32 unused; /* always zero */
	int32 indices[FLEXIBLE_ARRAY_MEMBER];
	/* the nnz values follow */
} HybridSparsevec;

StaticAssertDecl(offsetof(HybridSparsevec, indices) == 16,
                 "sparsevec on disk has a 16-byte header");

/* hybrid_sparsevec_refuse: raise the error of hybrid_sparsevec_checked. */
pg_noreturn extern void hybrid_sparsevec_refuse(const HybridSparsevec *value);

/* hybrid_sparsevec_fits: return whether the header is in range and agrees with the length of the value. */
static inline bool
hybrid_sparsevec_fits(const HybridSparsevec *value)
{
	Size size = VARSIZE(value), head = offsetof(HybridSparsevec, indices);

	return size >= head && size == head + (Size) value->nnz * (sizeof(int32) + sizeof(float)) &&
	       value->dim >= 1 && value->dim <= HY_SPARSE_MAX_DIMS && value->nnz <= value->dim &&
	       value->nnz <= HY_SPARSE_MAX_ELEMENTS;
}

/* hybrid_sparsevec_within: return whether all indices are below the number of dimensions. */
static inline bool
hybrid_sparsevec_within(const HybridSparsevec *value)
{
	int32 last = value->dim - 1, outside[8] = {0};
	int i = 0, j;

	/* an element of `outside` becomes negative if an index is out of range; the loop is vectorized */
	for (; i + (int) lengthof(outside) <= value->nnz; i += (int) lengthof(outside))
	{
		for (j = 0; j < (int) lengthof(outside); j++)
			outside[j] |= value->indices[i + j] | (last - value->indices[i + j]);
	}
	for (; i < value->nnz; i++)
		outside[0] |= value->indices[i] | (last - value->indices[i]);
	for (j = 1; j < (int) lengthof(outside); j++)
		outside[0] |= outside[j];
	return outside[0] >= 0;
}

/*
 * hybrid_sparsevec_checked: return a detoasted value. Raises ERRCODE_DATA_CORRUPTED if a number in the
 * header is out of range, if the number of elements does not agree with the length of the value, or if an
 * index is out of range.
 */
static inline HybridSparsevec *
hybrid_sparsevec_checked(struct varlena *detoasted)
{
	HybridSparsevec *value = (HybridSparsevec *) detoasted;

	if (unlikely(!hybrid_sparsevec_fits(value) || !hybrid_sparsevec_within(value)))
		hybrid_sparsevec_refuse(value);
	return value;
}

#define DatumGetHybridSparsevec(datum) hybrid_sparsevec_checked(PG_DETOAST_DATUM(datum))
#define PG_GETARG_HYBRID_SPARSEVEC(n) DatumGetHybridSparsevec(PG_GETARG_DATUM(n))
#define PG_RETURN_HYBRID_SPARSEVEC(v) PG_RETURN_POINTER(v)

/* hybrid_sparsevec_values: return the nnz values, one for each index. */
static inline float *
hybrid_sparsevec_values(HybridSparsevec *vector)
{
	return (float *) (vector->indices + vector->nnz);
}

/* hybrid_sparsevec_view: return the vector in the form that core/sparse.h uses. */
static inline HySparse
hybrid_sparsevec_view(HybridSparsevec *vector)
{
	HySparse view = {vector->dim, vector->nnz, vector->indices, hybrid_sparsevec_values(vector)};

	return view;
}

/*
 * hybrid_sparsevec_new: allocate a vector with nnz elements, all zero. The caller has checked dim
 * and nnz.
 */
extern HybridSparsevec *hybrid_sparsevec_new(int32 dim, int32 nnz);

/*
 * hybrid_sparsevec_of_floats: convert the n elements of a dense vector. Raises if n, the number of nonzero
 * elements or one of the elements is not allowed in a sparsevec.
 */
extern HybridSparsevec *hybrid_sparsevec_of_floats(const float *x, int n);

/* hybrid_sparsevec_check_dims: raise if two vectors differ in dimensions. */
extern void hybrid_sparsevec_check_dims(const HybridSparsevec *a, const HybridSparsevec *b);

/* hybrid_sparsevec_check_dim: raise unless 1 <= dim <= HY_SPARSE_MAX_DIMS. */
extern void hybrid_sparsevec_check_dim(int32 dim);

/* hybrid_sparsevec_check_nnz: raise unless 0 <= nnz <= HY_SPARSE_MAX_ELEMENTS and nnz <= dim. */
extern void hybrid_sparsevec_check_nnz(int32 nnz, int32 dim);

/*
 * hybrid_sparsevec_check_indices: raise unless the indices are in strictly ascending order and lie
 * in 0 .. dim - 1.
 */
extern void hybrid_sparsevec_check_indices(const HybridSparsevec *vector);

/* hybrid_sparsevec_check_finite: raise if one of n values is a NaN or an infinity. */
extern void hybrid_sparsevec_check_finite(const float *x, int n);

#endif
