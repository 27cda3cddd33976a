/*
 * type.h
 *		The types whose values are indexed, and how a value becomes what the index stores of it.
 *
 * vector and halfvec are dense: their distances go through the dispatcher in batches, and bounds are
 * known where rounding took something away.  Others are stored as given, and an operator class
 * of theirs says how the distance of a pair is computed.
 */
#ifndef HYBRID_INDEX_TYPE_H
#define HYBRID_INDEX_TYPE_H

#include "postgres.h"

#include "core/batch.h"

#include "index/page/page.h"

#define HYBRID_MAX_BITS 64000

typedef struct HybridType
{
	const char *name;      /* in SQL */
	const char *dimension; /* what messages call its size */
	int max_dims;
	bool dense;
	HyDtype dtype;         /* of a dense one */
	HybridStorage storage; /* of others */

	/* of a detoasted value */
	int (*dims)(const void *value);

	/*
	 * what is stored of a detoasted value, in layout->stride bytes; false: the metric is cosine and
	 * it has none, so that its distance is NaN whatever the query
	 */
	bool (*store)(HyMetric metric, const HybridLayout *layout, const void *value, void *out,
	              HybridStored *stored);
} HybridType;

/*
 * HybridPairDistance: between a detoasted value and a stored one of the same dims, with the bits of the
 * operator.
 */
typedef double (*HybridPairDistance)(HyMetric metric, int dims, const void *value,
                                     const void *stored);

/* HybridOpclass: what an operator class's support function says of it. */
typedef struct HybridOpclass
{
	const HybridType *type;
	HyMetric metric;             /* of vectors, sparse ones too */
	HybridPairDistance distance; /* where the type is not dense */
} HybridOpclass;

extern const HybridType hybrid_type_vector;
extern const HybridType hybrid_type_halfvec;
extern const HybridType hybrid_type_sparsevec;
extern const HybridType hybrid_type_bit;

/* hybrid_opclass_coded: whether there are codes for it. */
extern bool hybrid_opclass_coded(const HybridOpclass *opclass);

/* hybrid_type_lossless: whether a value of the type is stored as it was given. */
extern bool hybrid_type_lossless(const HybridType *type, HybridStorage storage);

/*
 * hybrid_type_floats: the elements of a detoasted value of a dense type; in place, or in the current
 * memory context.
 */
extern const float *hybrid_type_floats(const HybridType *type, const void *value);

/* hybrid_sparse_pair, hybrid_hamming_pair, hybrid_jaccard_pair: a HybridPairDistance each. */
extern double hybrid_sparse_pair(HyMetric metric, int dims, const void *value, const void *stored);
extern double hybrid_hamming_pair(HyMetric metric, int dims, const void *value, const void *stored);
extern double hybrid_jaccard_pair(HyMetric metric, int dims, const void *value, const void *stored);

#endif
