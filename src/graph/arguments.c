/*
 * arguments.c
 *		SQL arguments of the graph functions.
 */
#include "postgres.h"

#include <math.h>

#include "graph/arguments.h"
#include "utils/builtins.h"
#include "utils/float.h"

void
hybrid_require_argument(FunctionCallInfo fcinfo, int n, const char *name)
{
	if (PG_ARGISNULL(n))
		ereport(ERROR,
		        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s cannot be NULL", name)));
}

int
hybrid_word_argument(FunctionCallInfo fcinfo, int n, const char *name, const HybridWords *words)
{
	const char *given;
	int i;

	hybrid_require_argument(fcinfo, n, name);
	given = text_to_cstring(PG_GETARG_TEXT_PP(n));
	for (i = 0; words->word[i] != NULL; i++)
	{
		if (strcmp(given, words->word[i]) == 0)
			return i;
	}
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
	                errmsg("unknown %s \"%s\"", name, given), errhint("%s", words->hint)));
}

void
hybrid_check_array(ArrayType *array, const char *name)
{
	if (ARR_NDIM(array) > 1)
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
		                errmsg("%s must have one dimension, not %d", name, ARR_NDIM(array))));
	if (array_contains_nulls(array))
		ereport(ERROR,
		        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s cannot contain NULL", name)));
}

double
hybrid_number_argument(FunctionCallInfo fcinfo, int n, const char *name, const HybridRange *range)
{
	double number;

	hybrid_require_argument(fcinfo, n, name);
	number = PG_GETARG_FLOAT8(n);
	if (!(number >= range->least && number <= range->most) ||
	    (range->step > 0 && fmod(number, range->step) != 0))
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("%s must be %s, not %s", name, range->words, float8out_internal(number)),
		         range->hint == NULL ? 0 : errhint("%s", range->hint)));
	return number;
}

int64
hybrid_count_argument(FunctionCallInfo fcinfo, int n, const char *name, int least, int64 if_null,
                      const char *hint)
{
	if (PG_ARGISNULL(n))
		return if_null;
	if (PG_GETARG_INT32(n) < least)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("%s must be at least %d, not %d", name, least, PG_GETARG_INT32(n)),
		                hint == NULL ? 0 : errhint("%s", hint)));
	return PG_GETARG_INT32(n);
}

bool
hybrid_flag_argument(FunctionCallInfo fcinfo, int n, const char *name)
{
	hybrid_require_argument(fcinfo, n, name);
	return PG_GETARG_BOOL(n);
}
