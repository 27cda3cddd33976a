/*
 * opclass.c
 *		Support functions of the operator classes: each says which metric its class orders by.
 *
 * Their type is internal so that only the index machinery can call them.
 */
#include "postgres.h"

#include "fmgr.h"

#include "index/index.h"

PG_FUNCTION_INFO_V1(hybrid_index_l2);
Datum
hybrid_index_l2(PG_FUNCTION_ARGS)
{
	static const HybridOpclass opclass = {HY_METRIC_L2};

	(void) fcinfo;
	PG_RETURN_POINTER(&opclass);
}

PG_FUNCTION_INFO_V1(hybrid_index_ip);
Datum
hybrid_index_ip(PG_FUNCTION_ARGS)
{
	static const HybridOpclass opclass = {HY_METRIC_IP};

	(void) fcinfo;
	PG_RETURN_POINTER(&opclass);
}

PG_FUNCTION_INFO_V1(hybrid_index_cosine);
Datum
hybrid_index_cosine(PG_FUNCTION_ARGS)
{
	static const HybridOpclass opclass = {HY_METRIC_COSINE};

	(void) fcinfo;
	PG_RETURN_POINTER(&opclass);
}

PG_FUNCTION_INFO_V1(hybrid_index_l1);
Datum
hybrid_index_l1(PG_FUNCTION_ARGS)
{
	static const HybridOpclass opclass = {HY_METRIC_L1};

	(void) fcinfo;
	PG_RETURN_POINTER(&opclass);
}
