/*
 * dense.h
 *		The types that store every element: vector (float32) and halfvec (float16).
 *
 * Both have the layout and the rules of the pgvector type of the same name. They differ only in the
 * width of their elements and in the type name in messages. Each function on them is written once,
 * with a HybridDenseType as a parameter. HYBRID_DENSE_FUNCTION defines the SQL functions of both
 * types from it.
 *
 * Arithmetic is done in float, and the result is rounded to the element type at the end. Converting
 * a half to float is exact. The sum, difference or product of two halves is therefore the same as
 * if it had been rounded only once.
 *
 * Errors that name a type or its functions repeat the messages of pgvector, because clients rely on
 * these messages.
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
	const char *name; /* SQL name */
} HybridDenseType;

extern const HybridDenseType hybrid_vector_type;
extern const HybridDenseType hybrid_halfvec_type;

#define PG_GETARG_HYBRID_DENSE(n, dtype) DatumGetHybridDense(PG_GETARG_DATUM(n), dtype)
#define PG_RETURN_HYBRID_DENSE(v) PG_RETURN_POINTER(v)

/*
 * HYBRID_DENSE_FUNCTION: define the SQL functions hybrid_vector_<name> and hybrid_halfvec_<name>.
 * Both return the value of the expression `call`, which may use fcinfo and type.
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

/* hybrid_dense_size: return the size in bytes of a value of dim elements, including its header. */
static inline Size
hybrid_dense_size(const HybridDenseType *type, int dim)
{
	return offsetof(HybridDense, x) + hy_dtype_size(type->dtype) * (Size) dim;
}

/* hybrid_dense_singles, hybrid_dense_halves: return the elements of a vector or of a halfvec. */
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

/* hybrid_dense_element: return element i, counted from 0. */
static inline float
hybrid_dense_element(HyDtype dtype, const HybridDense *value, int i)
{
	if (dtype == HY_F32)
		return hybrid_dense_singles(value)[i];
	return hy_half_to_float(hybrid_dense_halves(value)[i]);
}

/*
 * hybrid_dense_new: allocate a value of dim zeros in the current memory context. The caller has
 * checked dim.
 */
extern HybridDense *hybrid_dense_new(const HybridDenseType *type, int dim);

/* hybrid_dense_check_dims: raise if two values differ in dimensions. */
extern void
hybrid_dense_check_dims(const HybridDenseType *type, const HybridDense *a, const HybridDense *b);

/* hybrid_dense_check_dim: raise unless 1 <= dim <= HYBRID_MAX_DIM. */
extern void hybrid_dense_check_dim(const HybridDenseType *type, int dim);

/* hybrid_dense_check_typmod: raise if there is a type modifier and it differs from dim. */
extern void hybrid_dense_check_typmod(int32 typmod, int dim);

/* hybrid_dense_check_finite: raise if an element is a NaN or an infinity. */
extern void hybrid_dense_check_finite(const HybridDenseType *type, const HybridDense *value);

/* hybrid_dense_check_overflow: raise if the first element that is not finite is an infinity. */
extern void hybrid_dense_check_overflow(const HybridDenseType *type, const HybridDense *value);

/*
 * hybrid_dense_floats: return the elements as floats. For a vector these are the elements
 * themselves, and writing to them changes the value. For a halfvec they are a new allocation.
 * hybrid_dense_free_floats: free the result of hybrid_dense_floats if it was allocated.
 */
extern float *hybrid_dense_floats(const HybridDenseType *type, HybridDense *value);
extern void hybrid_dense_free_floats(const HybridDense *value, float *floats);

/*
 * hybrid_dense_round: round floats to the type, and store them as the elements of value. A number
 * beyond the type's range becomes infinite.
 * hybrid_dense_assign: do the same, but raise if a number is a NaN, is infinite or is beyond the
 * type's range.
 */
extern void
hybrid_dense_round(const HybridDenseType *type, HybridDense *value, const float *floats);
extern void
hybrid_dense_assign(const HybridDenseType *type, HybridDense *value, const float *floats);

#endif
