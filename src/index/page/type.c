/*
 * type.c
 *		The types whose values are indexed.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/varbit.h"

#include "core/bits.h"
#include "core/distance.h"
#include "server/compat.h"
#include "types/sparsevec.h"
#include "types/vector.h"

#include "index/page/type.h"

static int vector_dims(const void *value);
static int halfvec_dims(const void *value);
static int sparse_dims(const void *value);
static int bit_dims(const void *value);
static bool store_vector(HyMetric metric, const HybridLayout *layout, const void *value, void *out,
                         HybridStored *stored);
static bool store_halfvec(HyMetric metric, const HybridLayout *layout, const void *value, void *out,
                          HybridStored *stored);
static bool store_sparsevec(HyMetric metric, const HybridLayout *layout, const void *value,
                            void *out, HybridStored *stored);
static bool store_bit(HyMetric metric, const HybridLayout *layout, const void *value, void *out,
                      HybridStored *stored);

const HybridType hybrid_type_vector = {.name = "vector",
                                       .dimension = "vector dimensions",
                                       .max_dims = HYBRID_MAX_DIM,
                                       .dense = true,
                                       .dtype = HY_F32,
                                       .dims = vector_dims,
                                       .store = store_vector};
const HybridType hybrid_type_halfvec = {.name = "halfvec",
                                        .dimension = "halfvec dimensions",
                                        .max_dims = HYBRID_MAX_DIM,
                                        .dense = true,
                                        .dtype = HY_F16,
                                        .dims = halfvec_dims,
                                        .store = store_halfvec};
const HybridType hybrid_type_sparsevec = {.name = "sparsevec",
                                          .dimension = "sparsevec dimensions",
                                          .max_dims = HY_SPARSE_MAX_DIMS,
                                          .storage = HYBRID_SPARSE,
                                          .dims = sparse_dims,
                                          .store = store_sparsevec};
const HybridType hybrid_type_bit = {.name = "bit",
                                    .dimension = "bit lengths",
                                    .max_dims = HYBRID_MAX_BITS,
                                    .storage = HYBRID_BITS,
                                    .dims = bit_dims,
                                    .store = store_bit};

bool
hybrid_opclass_coded(const HybridOpclass *opclass, int dims)
{
	const HybridType *type = opclass->type;

	return dims <= HYBRID_MAX_DIM && (type->dense || type->storage == HYBRID_BITS);
}

bool
hybrid_type_lossless(const HybridType *type, HybridStorage storage)
{
	return !type->dense || storage == HYBRID_FLOAT32 ||
	       (storage == HYBRID_FLOAT16 && type->dtype == HY_F16);
}

void *
hybrid_type_blank(const HybridType *type, int dims, void **content)
{
	HybridDense *dense;
	VarBit *bits;
	Size size;

	if (!type->dense)
	{
		Assert(type->storage == HYBRID_BITS);
		bits = palloc(VARBITTOTALLEN(dims));
		SET_VARSIZE(bits, VARBITTOTALLEN(dims));
		VARBITLEN(bits) = dims;
		*content = VARBITS(bits);
		return bits;
	}
	size = offsetof(HybridDense, x) + dims * hy_dtype_size(type->dtype);
	dense = palloc(size);
	SET_VARSIZE(dense, size);
	dense->dim = (int16) dims;
	dense->unused = 0;
	*content = dense->x;
	return dense;
}

const float *
hybrid_type_floats(const HybridType *type, const void *value)
{
	const HybridDense *dense = (const HybridDense *) value;
	float *floats;

	if (type->storage == HYBRID_BITS && !type->dense)
	{
		const VarBit *bits = (const VarBit *) value;

		floats = palloc(VARBITLEN(bits) * sizeof(float));
		hybrid_widen_vector(HYBRID_BITS, NULL, VARBITS(bits), VARBITLEN(bits), floats);
		return floats;
	}
	Assert(type->dense);
	if (type->dtype == HY_F32)
		return (const float *) (const void *) dense->x;
	floats = palloc(dense->dim * sizeof(float));
	hy_kernels()->widen_f16(floats, (const uint16 *) (const void *) dense->x, dense->dim);
	return floats;
}

void
hybrid_bit_value(const float *x, int dims, void *value)
{
	VarBit *bits = (VarBit *) value;
	float most = 0;
	int i;

	for (i = 0; i < dims; i++)
		most = Max(most, x[i]);
	memset(bits, 0, VARBITTOTALLEN(dims));
	SET_VARSIZE(bits, VARBITTOTALLEN(dims));
	VARBITLEN(bits) = dims;
	for (i = 0; i < dims; i++)
	{
		if (x[i] > most / 2)
			VARBITS(bits)[i / BITS_PER_BYTE] |= (bits8) (HIGHBIT >> (i % BITS_PER_BYTE));
	}
}

double
hybrid_sparse_pair(HyMetric metric, int dims, const void *value, const void *stored)
{
	const HybridSparse *sparse = (const HybridSparse *) stored;
	HySparse a = hybrid_sparsevec_view((HybridSparsevec *) unconstify(void *, value));
	HySparse b = {dims, sparse->count, sparse->indices,
	              (const float *) (sparse->indices + sparse->count)};

	return hy_sparse_distance(metric, &a, &b);
}

double
hybrid_hamming_pair(HyMetric metric, int dims, const void *value, const void *stored)
{
	const VarBit *bits = (const VarBit *) value;

	(void) metric;
	(void) dims;
	return hy_hamming(VARBITS(bits), (const uint8 *) stored, VARBITBYTES(bits));
}

double
hybrid_jaccard_pair(HyMetric metric, int dims, const void *value, const void *stored)
{
	const VarBit *bits = (const VarBit *) value;

	(void) metric;
	(void) dims;
	return hy_jaccard(VARBITS(bits), (const uint8 *) stored, VARBITBYTES(bits));
}

double
hybrid_hamming_square(double distance, double norm)
{
	(void) norm;
	return distance;
}

double
hybrid_jaccard_square(double distance, double norm)
{
	/* if no bit of the query is set, all rows are equally far from it */
	return norm > 0 ? hy_jaccard_square(distance) : 0;
}

static int
vector_dims(const void *value)
{
	return hybrid_dense_checked(unconstify(void *, value), HY_F32)->dim;
}

static int
halfvec_dims(const void *value)
{
	return hybrid_dense_checked(unconstify(void *, value), HY_F16)->dim;
}

static int
sparse_dims(const void *value)
{
	return hybrid_sparsevec_checked(unconstify(void *, value))->dim;
}

static int
bit_dims(const void *value)
{
	return VARBITLEN((const VarBit *) value);
}

static bool
store_vector(HyMetric metric, const HybridLayout *layout, const void *value, void *out,
             HybridStored *stored)
{
	const HybridVector *vector = (const HybridVector *) value;

	if (metric == HY_METRIC_COSINE && !hy_has_cosine(hy_norm_sq(HY_F32, vector->x, vector->dim)))
		return false;
	hybrid_store_vector(layout->leaf.storage, vector->x, vector->dim, out, stored);
	return true;
}

static bool
store_halfvec(HyMetric metric, const HybridLayout *layout, const void *value, void *out,
              HybridStored *stored)
{
	const HybridDense *dense = (const HybridDense *) value;
	const uint16 *halves = (const uint16 *) (const void *) dense->x;

	if (metric == HY_METRIC_COSINE && !hy_has_cosine(hy_norm_sq(HY_F16, halves, dense->dim)))
		return false;
	hybrid_store_halves(layout->leaf.storage, halves, dense->dim, out, stored);
	return true;
}

static bool
store_sparsevec(HyMetric metric, const HybridLayout *layout, const void *value, void *out,
                HybridStored *stored)
{
	HySparse view = hybrid_sparsevec_view((HybridSparsevec *) unconstify(void *, value));
	HybridSparse *sparse = (HybridSparse *) out;

	(void) layout;
	/* the squared length is computed bit for bit as the cosine distance computes it */
	if (metric == HY_METRIC_COSINE &&
	    !hy_has_cosine((float) -hy_sparse_distance(HY_METRIC_IP, &view, &view)))
		return false;
	hybrid_store_as_given(stored);
	sparse->count = view.count;
	memcpy(sparse->indices, view.indices, view.count * sizeof(int32));
	memcpy(sparse->indices + view.count, view.values, view.count * sizeof(float));
	return true;
}

static bool
store_bit(HyMetric metric, const HybridLayout *layout, const void *value, void *out,
          HybridStored *stored)
{
	const VarBit *bits = (const VarBit *) value;

	(void) metric;
	hybrid_store_as_given(stored);
	memcpy(out, VARBITS(bits), layout->leaf.stride);
	/* codes are computed from a vector of the bits, whose squared length is the number of bits set */
	if (layout->padded > 0)
		stored->norm = (float) pg_popcount((const char *) out, (int) layout->leaf.stride);
	return true;
}
