/*
 * opclass.c
 *		Support functions of the operator classes: each describes the type and the metric of its
 *		operator class.
 *
 * The functions have the type internal, so that only the index machinery can call them.
 */
#include "postgres.h"

#include "fmgr.h"

#include "index/page/index.h"

#define SUPPORT(name, ...)                                                                         \
	Datum hybrid_index_##name(PG_FUNCTION_ARGS)                                                    \
	{                                                                                              \
		static const HybridOpclass opclass = {__VA_ARGS__};                                        \
                                                                                                   \
		(void) fcinfo;                                                                             \
		PG_RETURN_POINTER(&opclass);                                                               \
	}                                                                                              \
                                                                                                   \
	extern Datum hybrid_index_##name(PG_FUNCTION_ARGS)

PG_FUNCTION_INFO_V1(hybrid_index_l2);
PG_FUNCTION_INFO_V1(hybrid_index_ip);
PG_FUNCTION_INFO_V1(hybrid_index_cosine);
PG_FUNCTION_INFO_V1(hybrid_index_l1);
PG_FUNCTION_INFO_V1(hybrid_index_halfvec_l2);
PG_FUNCTION_INFO_V1(hybrid_index_halfvec_ip);
PG_FUNCTION_INFO_V1(hybrid_index_halfvec_cosine);
PG_FUNCTION_INFO_V1(hybrid_index_halfvec_l1);
PG_FUNCTION_INFO_V1(hybrid_index_sparsevec_l2);
PG_FUNCTION_INFO_V1(hybrid_index_sparsevec_ip);
PG_FUNCTION_INFO_V1(hybrid_index_sparsevec_cosine);
PG_FUNCTION_INFO_V1(hybrid_index_sparsevec_l1);
PG_FUNCTION_INFO_V1(hybrid_index_bit_hamming);
PG_FUNCTION_INFO_V1(hybrid_index_bit_jaccard);
PG_FUNCTION_INFO_V1(hybrid_index_maxsim);
PG_FUNCTION_INFO_V1(hybrid_index_halfvec_maxsim);

SUPPORT(l2, .type = &hybrid_type_vector, .metric = HY_METRIC_L2);
SUPPORT(ip, .type = &hybrid_type_vector, .metric = HY_METRIC_IP);
SUPPORT(cosine, .type = &hybrid_type_vector, .metric = HY_METRIC_COSINE);
SUPPORT(l1, .type = &hybrid_type_vector, .metric = HY_METRIC_L1);
SUPPORT(halfvec_l2, .type = &hybrid_type_halfvec, .metric = HY_METRIC_L2);
SUPPORT(halfvec_ip, .type = &hybrid_type_halfvec, .metric = HY_METRIC_IP);
SUPPORT(halfvec_cosine, .type = &hybrid_type_halfvec, .metric = HY_METRIC_COSINE);
SUPPORT(halfvec_l1, .type = &hybrid_type_halfvec, .metric = HY_METRIC_L1);
SUPPORT(sparsevec_l2, .type = &hybrid_type_sparsevec, .metric = HY_METRIC_L2,
        .distance = hybrid_sparse_pair);
SUPPORT(sparsevec_ip, .type = &hybrid_type_sparsevec, .metric = HY_METRIC_IP,
        .distance = hybrid_sparse_pair);
SUPPORT(sparsevec_cosine, .type = &hybrid_type_sparsevec, .metric = HY_METRIC_COSINE,
        .distance = hybrid_sparse_pair);
SUPPORT(sparsevec_l1, .type = &hybrid_type_sparsevec, .metric = HY_METRIC_L1,
        .distance = hybrid_sparse_pair);
SUPPORT(bit_hamming, .type = &hybrid_type_bit, .metric = HY_METRIC_L2,
        .distance = hybrid_hamming_pair, .square = hybrid_hamming_square);
SUPPORT(bit_jaccard, .type = &hybrid_type_bit, .metric = HY_METRIC_COSINE,
        .distance = hybrid_jaccard_pair, .square = hybrid_jaccard_square);
SUPPORT(maxsim, .type = &hybrid_type_vector, .metric = HY_METRIC_IP, .many = true);
SUPPORT(halfvec_maxsim, .type = &hybrid_type_halfvec, .metric = HY_METRIC_IP, .many = true);
