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
PG_FUNCTION_INFO_V1(hybrid_index_maxsim);
PG_FUNCTION_INFO_V1(hybrid_index_halfvec_maxsim);
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

SUPPORT(l2, &hybrid_type_vector, HY_METRIC_L2, NULL, NULL, false);
SUPPORT(ip, &hybrid_type_vector, HY_METRIC_IP, NULL, NULL, false);
SUPPORT(cosine, &hybrid_type_vector, HY_METRIC_COSINE, NULL, NULL, false);
SUPPORT(l1, &hybrid_type_vector, HY_METRIC_L1, NULL, NULL, false);
SUPPORT(halfvec_l2, &hybrid_type_halfvec, HY_METRIC_L2, NULL, NULL, false);
SUPPORT(halfvec_ip, &hybrid_type_halfvec, HY_METRIC_IP, NULL, NULL, false);
SUPPORT(halfvec_cosine, &hybrid_type_halfvec, HY_METRIC_COSINE, NULL, NULL, false);
SUPPORT(halfvec_l1, &hybrid_type_halfvec, HY_METRIC_L1, NULL, NULL, false);
SUPPORT(sparsevec_l2, &hybrid_type_sparsevec, HY_METRIC_L2, hybrid_sparse_pair, NULL, false);
SUPPORT(sparsevec_ip, &hybrid_type_sparsevec, HY_METRIC_IP, hybrid_sparse_pair, NULL, false);
SUPPORT(sparsevec_cosine, &hybrid_type_sparsevec, HY_METRIC_COSINE, hybrid_sparse_pair, NULL,
        false);
SUPPORT(sparsevec_l1, &hybrid_type_sparsevec, HY_METRIC_L1, hybrid_sparse_pair, NULL, false);
SUPPORT(bit_hamming, &hybrid_type_bit, HY_METRIC_L2, hybrid_hamming_pair, hybrid_hamming_square,
        false);
SUPPORT(bit_jaccard, &hybrid_type_bit, HY_METRIC_COSINE, hybrid_jaccard_pair, hybrid_jaccard_square,
        false);
SUPPORT(maxsim, &hybrid_type_vector, HY_METRIC_IP, NULL, NULL, true);
SUPPORT(halfvec_maxsim, &hybrid_type_halfvec, HY_METRIC_IP, NULL, NULL, true);
