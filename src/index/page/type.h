/*
 * type.h
 *		The types whose values are indexed, and the conversion of a value to its stored form.
 *
 * vector and halfvec are dense: the dispatcher computes their distances in batches, and bounds are known
 * for the distances of rounded copies. Values of other types are stored as given, and their operator
 * classes have a function that computes the distance of a pair. Bit strings have the codes of vectors.
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
	 * Converts a detoasted value to its stored form, at most layout->leaf.stride bytes. Returns false if the
	 * metric is cosine and the value has no direction, so that its distance from every query is NaN.
	 */
	bool (*store)(HyMetric metric, const HybridLayout *layout, const void *value, void *out,
	              HybridStored *stored);
} HybridType;

/*
 * HybridPairDistance: return the distance between a detoasted value and a stored one. Both have `dims`
 * dimensions. The result is bit for bit that of the operator.
 */
typedef double (*HybridPairDistance)(HyMetric metric, int dims, const void *value,
                                     const void *stored);

/*
 * HybridPairSquare: convert a distance to the unit of the estimates from codes. Returns the greatest squared
 * distance that a row at this distance from the query may have. `norm` is the length of the query.
 */
typedef double (*HybridPairSquare)(double distance, double norm);

/*
 * HybridOpclass: description of an operator class, returned by its support function. An index on bit treats
 * each string as a vector of zeros and ones. Then `metric` is that of the lists and codes: L2, whose square
 * is the Hamming distance, or cosine, which bounds the Jaccard distance.
 */
typedef struct HybridOpclass
{
	const HybridType *type;
	HyMetric metric;             /* metric of the vectors; for bit, of the vectors made of bits */
	HybridPairDistance distance; /* distance of a pair; set if the type is not dense */
	HybridPairSquare square;     /* set for bit */
	/*
	 * The column is an array of the type, and each element has an entry. Rows are ordered by MaxSim
	 * (core/maxsim.h); `metric` is the metric between entries.
	 */
	bool many;
} HybridOpclass;

extern const HybridType hybrid_type_vector;
extern const HybridType hybrid_type_halfvec;
extern const HybridType hybrid_type_sparsevec;
extern const HybridType hybrid_type_bit;

/* hybrid_opclass_coded: test whether indexes of this operator class with this number of dimensions have codes. */
extern bool hybrid_opclass_coded(const HybridOpclass *opclass, int dims);

/* hybrid_type_lossless: test whether this storage keeps values of the type exactly as given. */
extern bool hybrid_type_lossless(const HybridType *type, HybridStorage storage);

/*
 * hybrid_type_blank: allocate a value of a dense type or of bit, without its content. Sets *content to the address
 * where the bytes of its stored form belong.
 */
extern void *hybrid_type_blank(const HybridType *type, int dims, void **content);

/*
 * hybrid_type_floats: return the elements of a detoasted value of a dense type, or the bits of a bit string,
 * as floats. The result is within the value, or in the current memory context.
 */
extern const float *hybrid_type_floats(const HybridType *type, const void *value);

/*
 * hybrid_bit_value: make the bit string of which x (dims numbers) is a multiple, except for rounding errors. (If
 * calibration uses rows as queries, it knows only their directions.) `value` has space for VARBITTOTALLEN(dims) bytes.
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
