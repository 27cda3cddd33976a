/*
 * bit_distance.c
 *		Distances between two bit strings of PostgreSQL's type bit.
 *
 * PostgreSQL keeps the unused bits of the last byte at 0, so whole bytes can be counted.
 */
#include "postgres.h"
#include "fmgr.h"

#include "utils/varbit.h"

#include "core/bits.h"
#include "server/compat.h"

typedef double (*BitDistance)(const uint8_t *a, const uint8_t *b, size_t bytes);

static double distance_of_args(FunctionCallInfo fcinfo, BitDistance distance);

PG_FUNCTION_INFO_V1(hybrid_hamming_distance);
PG_FUNCTION_INFO_V1(hybrid_jaccard_distance);

Datum
hybrid_hamming_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(distance_of_args(fcinfo, hy_hamming));
}

Datum
hybrid_jaccard_distance(PG_FUNCTION_ARGS)
{
	PG_RETURN_FLOAT8(distance_of_args(fcinfo, hy_jaccard));
}

static double
distance_of_args(FunctionCallInfo fcinfo, BitDistance distance)
{
	VarBit *a = PG_GETARG_VARBIT_P(0);
	VarBit *b = PG_GETARG_VARBIT_P(1);
	double result;

	if (VARBITLEN(a) != VARBITLEN(b))
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("different bit lengths %u and %u", (unsigned) VARBITLEN(a),
		                       (unsigned) VARBITLEN(b))));
	result = distance(VARBITS(a), VARBITS(b), VARBITBYTES(a));
	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return result;
}
