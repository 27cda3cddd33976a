/*
 * dense.h
 *		The types that hold an element for each dimension: vector (float32) and halfvec (float16).
 *
 * Both have the layout and the rules of pgvector's type of the same name, and differ in the width
 * of their elements and in the name that messages give them.  Each function on them is written
 * once, over a HybridDenseType; HYBRID_DENSE_FUNCTION makes two SQL functions of it.
 *
 * Arithmetic is done in float, to which a half widens without loss, and its result rounded to the
 * element type at the end: for a sum, a difference or a product of two halves that gives what one
 * rounding would give.
 *
 * For errors that name a type or its functions, clients rely on the messages of pgvector.
 */
#ifndef HYBRID_DENSE_H
#define HYBRID_DENSE_H

#include "postgres.h"
#include "fmgr.h"

#include "core/batch.h"
#include "core/distance.h"
#include "types/vector.h"

typedef struct HybridDenseType
{
	HyDtype dtype;
	const char *name; /* in SQL */
} HybridDenseType;

extern const HybridDenseType hybrid_vector_type;
extern const HybridDenseType hybrid_halfvec_type;

#define PG_GETARG_HYBRID_DENSE(n) DatumGetHybridDense(PG_GETARG_DATUM(n))
#define PG_RETURN_HYBRID_DENSE(v) PG_RETURN_POINTER(v)

/*
 * HYBRID_DENSE_FUNCTION: the SQL functions hybrid_vector_<name> and hybrid_halfvec_<name>.  Both
 * return the value of call, an expression of fcinfo and type.
 */
#define HYBRID_DENSE_FUNCTION(name, call)                                                          \
	Datum hybrid_vector_##name(PG_FUNCTION_ARGS)                                                   \
	{                                                                                              \
		const HybridDenseType *type = &hybrid_vector_type;                                         \
                                                                                                   \
		return (call);                                                                             \
	}                                                                                              \
                                                                                                   \
	Datum hybrid_halfvec_##name(PG_FUNCTION_ARGS)                                                  \
	{                                                                                              \
		const HybridDenseType *type = &hybrid_halfvec_type;                                        \
                                                                                                   \
		return (call);                                                                             \
	}                                                                                              \
                                                                                                   \
	extern Datum hybrid_vector_##name(PG_FUNCTION_ARGS)

/* hybrid_dense_size: bytes of a value of dim elements, with its header. */
static inline Size
hybrid_dense_size(const HybridDenseType *type, int dim)
{
	return offsetof(HybridDense, x) + hy_dtype_size(type->dtype) * (Size) dim;
}

/* hybrid_dense_singles, hybrid_dense_halves: the elements of a vector, and those of a halfvec. */
static inline float *
hybrid_dense_singles(const HybridDense *value)
{
	return (float *) (void *) value->x;
}

static inline uint16 *
hybrid_dense_halves(const HybridDense *value)
{
	return (uint16 *) (void *) value->x;
}

/* hybrid_dense_element: element i, from 0. */
static inline float
hybrid_dense_element(HyDtype dtype, const HybridDense *value, int i)
{
	if (dtype == HY_F32)
		return hybrid_dense_singles(value)[i];
	return hy_half_to_float(hybrid_dense_halves(value)[i]);
}

/* hybrid_dense_new: dim elements, all zero, in the current memory context; dim is not checked. */
extern HybridDense *hybrid_dense_new(const HybridDenseType *type, int dim);

/* hybrid_dense_peek_dims: the dimensions of a stored value, without fetching its elements. */
extern int hybrid_dense_peek_dims(Datum datum);

/* hybrid_dense_check_dims: raises when two values differ in dimensions. */
extern void
hybrid_dense_check_dims(const HybridDenseType *type, const HybridDense *a, const HybridDense *b);

/* hybrid_dense_check_dim: raises unless 1 <= dim <= HYBRID_MAX_DIM. */
extern void hybrid_dense_check_dim(const HybridDenseType *type, int dim);

/* hybrid_dense_check_typmod: raises when a type modifier asks for another number of dimensions. */
extern void hybrid_dense_check_typmod(int32 typmod, int dim);

/* hybrid_dense_check_finite: raises on a NaN or an infinity among the elements. */
extern void hybrid_dense_check_finite(const HybridDenseType *type, const HybridDense *value);

/* hybrid_dense_check_overflow: raises when what is not finite in a result is an overflow. */
extern void hybrid_dense_check_overflow(const HybridDenseType *type, const HybridDense *value);

/*
 * hybrid_dense_floats: the elements as floats.  Those of a vector in place, where they may be
 * written, too; those of a halfvec in an allocation of their own.
 * hybrid_dense_free_floats: ends their use.
 */
extern float *hybrid_dense_floats(const HybridDenseType *type, HybridDense *value);
extern void hybrid_dense_free_floats(const HybridDense *value, float *floats);

/*
 * hybrid_dense_round: the elements of value become those of floats, rounded; what is beyond the
 * type's range becomes infinite.
 * hybrid_dense_assign: the same as in an assignment: raises on what is beyond the range, on a NaN
 * and on an infinity.
 */
extern void
hybrid_dense_round(const HybridDenseType *type, HybridDense *value, const float *floats);
extern void
hybrid_dense_assign(const HybridDenseType *type, HybridDense *value, const float *floats);

#endif
