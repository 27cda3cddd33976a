/*
 * score.c
 *		Scores queries against codes, some blocks at a time.
 *
 * The blocks stay in the cache while every query is scored against them.  The queries are divided
 * among the threads.
 */
#include "core/score.h"

#include <math.h>

#include "core/threads.h"
#include "core/topk.h"

#define CHUNK_BYTES (256 * 1024) /* bytes of codes scored against all queries at a time */
#define PIECE 16                 /* blocks of a list scored before the heap is updated */
#define POLL_BYTES (1024 * 1024) /* bytes of codes between two polls of cancel */
#define CODE_WORK 0.05           /* work per dimension of a code, for hy_threads_for */
#define PARTS_PER_THREAD 4       /* several, so that no thread waits long for the others */

typedef struct Scoring
{
	const HyScoreRows *rows;
	const HyScoreQueries *queries;
	int32_t k;
	HyNeighbor *out;
	int32_t *counts;
	int32_t slice; /* queries per part */
} Scoring;

static HyStatus score_some(void *arg, int64_t part, int worker, const HyCancel *cancel);
static int32_t list_of(const HyScoreRows *rows, int32_t block);
static void score_range(const HyScoreRows *rows, const HyScoreQueries *queries, int32_t query,
                        int32_t first, int32_t end, HyTopK *least);
static void score_list(const HyScoreRows *rows, const HyCodeQuery *query, HyCodeLimits *limits,
                       int32_t first, int32_t end, HyTopK *least);

HyStatus
hy_score(const HyScoreRows *rows, const HyScoreQueries *queries, int32_t k, HyNeighbor *out,
         int32_t *counts, const HyCancel *cancel)
{
	Scoring scoring = {rows, queries, k, out, counts, queries->count};
	HyStatus status = hy_score_check(rows, queries, k);
	int threads;

	if (status != HY_OK || queries->count == 0)
		return status;
	threads =
		hy_threads_for((double) hy_score_rows(rows) * queries->count * rows->padded * CODE_WORK);
	if (threads > 1)
	{
		int32_t parts = threads * PARTS_PER_THREAD;

		scoring.slice = (queries->count + parts - 1) / parts;
	}
	return hy_threads_run(threads, (queries->count + scoring.slice - 1) / scoring.slice, score_some,
	                      &scoring, cancel);
}

/* score_some: score a slice of the queries against all blocks. */
static HyStatus
score_some(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	const Scoring *scoring = arg;
	const HyScoreRows *rows = scoring->rows;
	int32_t from = (int32_t) part * scoring->slice;
	int32_t to = scoring->queries->count - from < scoring->slice ? scoring->queries->count
	                                                             : from + scoring->slice;
	size_t block_bytes = hy_code_block_size(rows->padded);
	int32_t at_a_time = (int32_t) (CHUNK_BYTES / block_bytes);
	int32_t left;
	size_t work = 0;
	int32_t q;

	(void) worker;
	for (q = from; q < to; q++)
		scoring->counts[q] = 0;
	at_a_time = at_a_time > 1 ? at_a_time : 1;
	/* out serves as the heaps until all rows have been scored. */
	for (left = rows->blocks; left > 0; left -= at_a_time)
	{
		int32_t first = rows->first + rows->blocks - left;
		int32_t count = left < at_a_time ? left : at_a_time;

		for (q = from; q < to; q++)
		{
			HyTopK least = {scoring->out + (int64_t) q * scoring->k, scoring->k,
			                scoring->counts[q]};

			score_range(rows, scoring->queries, q, first, first + count, &least);
			scoring->counts[q] = least.count;
			work += (size_t) count * block_bytes;
			if (work >= POLL_BYTES)
			{
				work = 0;
				if (hy_cancelled(cancel))
					return HY_CANCELLED;
			}
		}
	}
	for (q = from; q < to; q++)
	{
		HyTopK least = {scoring->out + (int64_t) q * scoring->k, scoring->k, scoring->counts[q]};

		if (hy_cancelled(cancel))
			return HY_CANCELLED;
		hy_topk_sort(&least);
	}
	return HY_OK;
}

/* list_of: return the list that contains this block. */
static int32_t
list_of(const HyScoreRows *rows, int32_t block)
{
	int32_t low = 0;
	int32_t high = rows->lists;

	/* list `low` begins at or before the block, list `high` after it */
	while (high - low > 1)
	{
		int32_t middle = low + (high - low) / 2;

		if (rows->begin[middle] <= block)
			low = middle;
		else
			high = middle;
	}
	return low;
}

/* score_range: score a query against blocks first .. end - 1. */
static void
score_range(const HyScoreRows *rows, const HyScoreQueries *queries, int32_t query, int32_t first,
            int32_t end, HyTopK *least)
{
	int32_t list = list_of(rows, first);

	while (first < end)
	{
		const HyScoreReach *reach = &queries->reach[query * queries->reach_stride + list];
		int32_t until = rows->begin[list + 1] < end ? rows->begin[list + 1] : end;
		HyCodeLimits limits = {reach->base, reach->reach, queries->eps, INFINITY, 0};

		score_list(rows, &queries->query[query], &limits, first, until, least);
		first = until;
		list++;
	}
}

/* score_list: score a query against blocks of one list. */
static void
score_list(const HyScoreRows *rows, const HyCodeQuery *query, HyCodeLimits *limits, int32_t first,
           int32_t end, HyTopK *least)
{
	float estimates[PIECE * HY_CODE_ROWS];
	float lowers[PIECE * HY_CODE_ROWS];
	uint32_t masks[PIECE];
	HyCodeBlocks blocks = {.code_stride = rows->code_stride, .factor_stride = rows->factor_stride};
	int b;

	for (; first < end; first += blocks.count)
	{
		blocks.count = end - first < PIECE ? end - first : PIECE;
		blocks.codes = rows->codes + (size_t) first * rows->code_stride;
		blocks.factors =
			(const HyCodeFactors *) (const void *) ((const char *) rows->factors +
		                                            (size_t) first * rows->factor_stride);
		/*
		 * Exclude only larger bounds: a row whose bound equals the worst kept bound may have a
		 * smaller row number.
		 */
		if (least->count == least->k)
			limits->threshold = (float) least->items[0].distance;
		hy_code_score(query, &blocks, limits, estimates, lowers, masks);
		for (b = 0; b < blocks.count; b++)
		{
			uint32_t mask = masks[b] & rows->live[first + b];

			while (mask != 0)
			{
				int i = __builtin_ctz(mask);
				float lower = lowers[b * HY_CODE_ROWS + i];

				mask &= mask - 1;
				hy_topk_push(least, isnan(lower) ? -INFINITY : (double) lower,
				             (int64_t) (first + b) * HY_CODE_ROWS + i);
			}
		}
	}
}
