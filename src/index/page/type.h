/*
 * type.h
 *		The types whose values are indexed, and the conversion of a value to its stored form.
 *
 * vector and halfvec are dense. Their distances are computed by the dispatcher in batches, and bounds
 * are known for rounded copies. Values of other types are stored as given, and their operator classes
 * have a function that computes the distance of a pair. The codes of bit strings are those of vectors.
 */
#ifndef HYBRID_INDEX_TYPE_H
#define HYBRID_INDEX_TYPE_H

#include "postgres.h"

#include "core/batch.h"

#include "index/page/page.h"

#define HYBRID_MAX_BITS 64000 /* an index on more than HYBRID_MAX_DIM bits has no codes */

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
	 * Converts a detoasted value to its stored form, layout->leaf.stride bytes at most. Returns false if
	 * the distance of the value is NaN for any query, because it is a cosine and the value has no direction.
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

/*
 * HybridPairSquare: return the greatest squared distance, in the unit of the estimates from codes, that a
 * row at this distance from the query may have. `norm` is the squared length of the query.
 */
typedef double (*HybridPairSquare)(double distance, double norm);

/*
 * HybridOpclass: description of an operator class, returned by its support function. An index on bit takes
 * each string as a vector of zeros and ones. The metric is that of its lists and codes: L2, whose square is
 * the Hamming distance, or cosine, which bounds the Jaccard distance.
 */
typedef struct HybridOpclass
{
	const HybridType *type;
	HyMetric metric;             /* metric of vectors, including sparse ones */
	HybridPairDistance distance; /* distance of a pair; set if the type is not dense */
	HybridPairSquare square;     /* set for bit */
	/*
	 * the column is an array of the type, and each element is an entry; the order is that of MaxSim
	 * (core/maxsim.h), and the metric is that of the entries
	 */
	bool many;
} HybridOpclass;

extern const HybridType hybrid_type_vector;
extern const HybridType hybrid_type_halfvec;
extern const HybridType hybrid_type_sparsevec;
extern const HybridType hybrid_type_bit;

/* hybrid_opclass_coded: test whether indexes of this operator class and of this many dimensions have codes. */
extern bool hybrid_opclass_coded(const HybridOpclass *opclass, int dims);

/* hybrid_type_lossless: test whether values of the type are stored exactly as given. */
extern bool hybrid_type_lossless(const HybridType *type, HybridStorage storage);

/*
 * hybrid_type_blank: allocate a value of a type that is stored whole and with a fixed length. *content is where the
 * bytes of its stored form belong.
 */
extern void *hybrid_type_blank(const HybridType *type, int dims, void **content);

/*
 * hybrid_type_floats: return the elements of a detoasted value of a dense type, or the bits of a bit string,
 * as floats, in place or in the current memory context.
 */
extern const float *hybrid_type_floats(const HybridType *type, const void *value);

/*
 * hybrid_bit_value: make the bit string of which x (dims numbers) is a multiple, but for rounding errors: of
 * rows that calibration takes as queries, only the directions are known. `value` has VARBITTOTALLEN(dims)
 * bytes.
 */
extern void hybrid_bit_value(const float *x, int dims, void *value);

/* hybrid_sparse_pair, hybrid_hamming_pair, hybrid_jaccard_pair: implement HybridPairDistance. */
extern double hybrid_sparse_pair(HyMetric metric, int dims, const void *value, const void *stored);
extern double hybrid_hamming_pair(HyMetric metric, int dims, const void *value, const void *stored);
extern double hybrid_jaccard_pair(HyMetric metric, int dims, const void *value, const void *stored);

/* hybrid_hamming_square, hybrid_jaccard_square: implement HybridPairSquare. */
extern double hybrid_hamming_square(double distance, double norm);
extern double hybrid_jaccard_square(double distance, double norm);

#endif
