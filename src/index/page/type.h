/*
 * type.h
 *		The types whose values are indexed, and the conversion of a value to its stored form.
 *
 * vector and halfvec are dense. Their distances are computed by the dispatcher in batches, and bounds
 * are known for rounded copies. Values of other types are stored as given, and their operator classes
 * have a function that computes the distance of a pair.
 */
#ifndef HYBRID_INDEX_TYPE_H
#define HYBRID_INDEX_TYPE_H

#include "postgres.h"

#include "core/batch.h"

#include "index/page/page.h"

#define HYBRID_MAX_BITS 64000

typedef struct HybridType
{
	const char *name;      /* name in SQL */
	const char *dimension; /* word for the value's dimensions in error messages */
	int max_dims;
	bool dense;
	HyDtype dtype;         /* element type of a dense type */
	HybridStorage storage; /* storage of a type that is not dense */

	/* returns the number of dimensions of a detoasted value; raises ERRCODE_DATA_CORRUPTED on damage */
	int (*dims)(const void *value);

	/*
	 * Converts a detoasted value to its stored form, layout->stride bytes at most. Returns false if the
	 * metric is cosine and the value has no direction, so that its distance is NaN for any query.
	 */
	bool (*store)(HyMetric metric, const HybridLayout *layout, const void *value, void *out,
	              HybridStored *stored);
} HybridType;

/*
 * HybridPairDistance: return the distance between a detoasted value and a stored one of the same dims,
 * bit for bit as the operator computes it.
 */
typedef double (*HybridPairDistance)(HyMetric metric, int dims, const void *value,
                                     const void *stored);

/* HybridOpclass: description of an operator class, returned by its support function. */
typedef struct HybridOpclass
{
	const HybridType *type;
	HyMetric metric;             /* metric of vectors, including sparse ones */
	HybridPairDistance distance; /* distance of a pair; set if the type is not dense */
} HybridOpclass;

extern const HybridType hybrid_type_vector;
extern const HybridType hybrid_type_halfvec;
extern const HybridType hybrid_type_sparsevec;
extern const HybridType hybrid_type_bit;

/* hybrid_opclass_coded: test whether indexes of this operator class have codes. */
extern bool hybrid_opclass_coded(const HybridOpclass *opclass);

/* hybrid_type_lossless: test whether values of the type are stored exactly as given. */
extern bool hybrid_type_lossless(const HybridType *type, HybridStorage storage);

/*
 * hybrid_type_floats: return the elements of a detoasted value of a dense type as floats, in place or in
 * the current memory context.
 */
extern const float *hybrid_type_floats(const HybridType *type, const void *value);

/* hybrid_sparse_pair, hybrid_hamming_pair, hybrid_jaccard_pair: implement HybridPairDistance. */
extern double hybrid_sparse_pair(HyMetric metric, int dims, const void *value, const void *stored);
extern double hybrid_hamming_pair(HyMetric metric, int dims, const void *value, const void *stored);
extern double hybrid_jaccard_pair(HyMetric metric, int dims, const void *value, const void *stored);

#endif
