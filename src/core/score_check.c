/*
 * score_check.c
 *		Checks the arguments of hy_score.  Plug-ins link this file without score.c.
 */
#include <math.h>
#include <stdbool.h>

#include "core/rotation.h"
#include "core/score.h"

static bool blocks_make_sense(const HyScoreRows *rows);
static bool queries_make_sense(const HyScoreQueries *queries, const HyScoreRows *rows);

HyStatus
hy_score_check(const HyScoreRows *rows, const HyScoreQueries *queries, int32_t k)
{
	int32_t l;

	if (k < 1 || k > HY_SCORE_MOST || rows->padded < HY_ROTATION_STEP ||
	    rows->padded > hy_rotation_padded(HY_MAX_DIMS) || rows->padded % HY_ROTATION_STEP != 0 ||
	    rows->lists < 0 || rows->first < 0 || rows->blocks < 0)
		return HY_INVALID;
	for (l = 0; l < rows->lists; l++)
	{
		if (rows->begin == NULL || rows->begin[l] < 0 || rows->begin[l] > rows->begin[l + 1])
			return HY_INVALID;
	}
	if (!blocks_make_sense(rows) || !queries_make_sense(queries, rows))
		return HY_INVALID;
	return HY_OK;
}

static bool
blocks_make_sense(const HyScoreRows *rows)
{
	if (rows->blocks == 0)
		return true;
	return rows->lists > 0 && rows->first >= rows->begin[0] &&
	       (int64_t) rows->first + rows->blocks <= rows->begin[rows->lists] &&
	       rows->codes != NULL && rows->factors != NULL && rows->live != NULL &&
	       rows->code_stride >= hy_code_block_size(rows->padded) &&
	       rows->factor_stride >= sizeof(HyCodeFactors) && rows->factor_stride % 4 == 0;
}

static bool
queries_make_sense(const HyScoreQueries *queries, const HyScoreRows *rows)
{
	int32_t q;

	/* written so that a NaN fails */
	if (queries->count < 0 || !(queries->eps >= 0) || !isfinite(queries->eps))
		return false;
	if (queries->count == 0)
		return true;
	if (queries->query == NULL ||
	    (rows->lists > 0 && (queries->reach == NULL || queries->reach_stride < rows->lists)))
		return false;
	for (q = 0; q < queries->count; q++)
	{
		if (queries->query[q].padded != rows->padded || queries->query[q].tables == NULL)
			return false;
	}
	return true;
}
