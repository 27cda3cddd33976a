/*
 * scan_batches.c
 *		Index scans with codes: how many rows a scan requests from the search at a time, and when it ends.
 *
 * If the number of wanted rows is known, the first batch has that number of candidates and a few more. If
 * few rows satisfy the conditions, each row is expensive, and the rows are far apart. Then one additional
 * row is enough to prove the order of the wanted rows, or none if the index stores vectors as given.
 *
 * If conditions remove no rows, the first batch already has all rows that are wanted. Later batches are
 * then small, because they only need a few more rows to make the order certain.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "dispatch/run/record.h"
#include "server/executor.h"

#include "index/scan/scan.h"
#include "index/scan/settings.h"

#define CANDIDATES_GROWTH 4 /* factor by which a pass has more candidates than the one before */
#define MOST_CANDIDATES (PG_INT32_MAX / CANDIDATES_GROWTH)
/* if the rows that the search finds satisfy the conditions, the second batch has 1/FURTHER of the size of the first */
#define FURTHER 16
#define FURTHER_LEAST 4 /* minimum size of such a batch */

static void begin_search(HybridScan *state);
static int first_batch_rows(const HybridScan *state);
static bool filters(const HybridScan *state);
static bool judges_all(const HybridScan *state);

int
hybrid_scan_candidates(int pass, int first, double mem_multiplier)
{
	Size memory = (Size) (work_mem * 1024.0 * mem_multiplier);
	Size limit = Min(memory, MaxAllocSize) / sizeof(HyNeighbor);
	Size candidates = first;

	while (pass-- > 0 && candidates < limit)
		candidates *= CANDIDATES_GROWTH;
	return (int) Min(candidates, limit);
}

int
hybrid_scan_batch_rows(HybridScan *state)
{
	const ScanState *node = state->asked.node;
	double memory = state->settings.mem_multiplier;
	int first, further;

	if (state->pass == 0)
		state->first_candidates = first_batch_rows(state);
	first = state->first_candidates;
	further = Max(first / FURTHER, FURTHER_LEAST);
	if (state->exact || state->asked.limit <= 0)
		return hybrid_scan_candidates(state->filtered > 0 ? state->filtered : state->pass, first,
		                              memory);
	if (state->filtered > 0)
		return hybrid_scan_candidates(state->filtered - 1, further, memory);
	if (state->pass > 0 && !state->asked.conditions && (node->ps.qual == NULL || judges_all(state)))
		return hybrid_scan_candidates(state->pass - 1, further, memory);
	return hybrid_scan_candidates(state->pass, first, memory);
}

void
hybrid_scan_next_batch(HybridScan *state)
{
	int k = hybrid_scan_batch_rows(state);
	bool strict = state->settings.iterative_scan == HYBRID_ITERATIVE_STRICT;
	const HybridLookupWork *work = &state->done.work;
	int count, i;

	if (state->pass++ == 0)
		begin_search(state);
	if (state->candidates.items != NULL)
		pfree(state->candidates.items);
	state->candidates.items = NULL;
	state->next = 0;

	if (state->filtered > 0 || filters(state))
	{
		/* without conditions, the bounds of a search apply only after the first batch */
		hybrid_lookup_filter(state->search, state->filter,
		                     state->pass > 1 || hybrid_scan_quals_share(state->filter) < 1);
		state->filtered++;
	}
	if (state->only != NULL)
		hybrid_lookup_keep_pages(state->search);
	/* for strict order, omit rows that are found now but should have come in an earlier batch */
	state->found = hybrid_lookup_next(
		state->search, k, strict && state->bounded ? state->last.distance : -INFINITY, &count);
	state->complete = hybrid_lookup_complete(state->search);
	state->done.expected = hybrid_lookup_expected_recall(state->search);
	hybrid_scan_excluded(state, state->done.work.excluded);
	if (state->filtered > 0)
		hybrid_scan_quals_rest(state->filter);
	state->limit_reached = hybrid_lookup_reached(state->search);
	state->exhausted = count < k || state->settings.iterative_scan == HYBRID_ITERATIVE_OFF ||
	                   state->limit_reached != HY_SCAN_NO_LIMIT;
	elog(DEBUG1, "index scan: %lld lists, %lld rows, %lld rescored, %lld rejected",
	     (long long) work->lists, (long long) work->rows, (long long) work->rescored,
	     (long long) work->rejected);
	hy_topk_init(&state->candidates, palloc(Max(count, 1) * sizeof(HyNeighbor)), Max(count, 1));
	for (i = 0; i < count; i++)
	{
		const HybridFoundRow *row = &state->found[i];
		bool none = row->distance > 0 && isinf(row->distance) && isinf(row->width);

		/* The rows that follow are not nearer. A row without a distance is in no sphere. */
		if (!(row->distance <= state->radius) || (none && state->within))
		{
			state->exhausted = true;
			state->limit_reached = HY_SCAN_NO_LIMIT;
			break;
		}
		state->candidates.items[i].distance = row->distance;
		state->candidates.items[i].row = row->position;
	}
	state->candidates.count = i;
}

void
hybrid_scan_excluded(HybridScan *state, int64 excluded)
{
	state->done.work.excluded = excluded;
	/* EXPLAIN ANALYZE shows excluded rows as rows removed by the filter */
	if (state->asked.node != NULL)
		InstrCountFiltered1(state->asked.node, excluded - state->counted);
	state->counted = excluded;
}

/* begin_search: begin to search for this query in the current tree, and pass on the scan's conditions and limits. */
static void
begin_search(HybridScan *state)
{
	const HybridScanSettings *settings = &state->settings;
	const HybridIncludedQuals *included = state->included;

	(void) hybrid_lookup_query(state->search, &state->query, &state->done.work);
	/* the conditions come first: in an index with keys, they decide which lists are searched */
	if (included != NULL)
		hybrid_lookup_words(state->search, included->conditions, included->count);
	hybrid_lookup_target(state->search, settings->target_recall, hybrid_probes);
	/* if all rows are wanted, memory is the only bound */
	if (settings->iterative_scan != HYBRID_ITERATIVE_OFF)
		hybrid_lookup_bound(state->search,
		                    state->asked.all ? PG_INT64_MAX : settings->max_scan_tuples,
		                    work_mem * 1024.0 * settings->mem_multiplier);
}

void
hybrid_scan_ended(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;

	if (state->limit_reached != HY_SCAN_NO_LIMIT)
		hy_executor_limited(hybrid_executor(), state->limit_reached);
	if (state->limit_reached != HY_SCAN_NO_LIMIT && state->asked.all)
		ereport(WARNING, (errmsg("a scan of index \"%s\" ended before it had all rows",
		                         RelationGetRelationName(scan->indexRelation)),
		                  errdetail("It needed more memory than \"hybrid.scan_mem_multiplier\" "
		                            "times \"work_mem\"."),
		                  errhint("Raise one of these, or order the rows without the index.")));
	state->limit_reached = HY_SCAN_NO_LIMIT;
}

/* first_batch_rows: return the number of candidates of the first pass. */
static int
first_batch_rows(const HybridScan *state)
{
	int64 limit = state->asked.limit;
	/* a pass over inverted lists computes the distances of only a few more rows than it keeps */
	bool all = state->exact && state->postings == NULL;
	int least = all ? HYBRID_FIRST_CANDIDATES : HYBRID_FIRST_NEAREST;

	if (limit <= 0)
		return least;
	if (!state->exact && state->settings.iterative_scan != HYBRID_ITERATIVE_OFF &&
	    (filters(state) ||
	     (judges_all(state) && hybrid_scan_quals_share(state->filter) < HYBRID_FEW)))
		return (int) Min(limit + (state->index.lossless ? 0 : 1), MOST_CANDIDATES);
	return (int) Min(Max(hybrid_first_nearest(limit), least), MOST_CANDIDATES);
}

/*
 * filters: test whether the search passes rows to the filter before it reads their vectors. If most rows
 * satisfy the conditions, this is a waste, unless the first batch was not enough. Without iterative scans,
 * the filter tests only whether rows are visible, so that dead rows do not count.
 */
static bool
filters(const HybridScan *state)
{
	double share;

	if (state->filter == NULL)
		return false;
	if (state->settings.iterative_scan == HYBRID_ITERATIVE_OFF)
		return true;
	if (judges_all(state))
		return false;
	share = hybrid_scan_quals_share(state->filter);
	return state->pass > 1 ? share < 1 : share < HYBRID_FEW;
}

/* judges_all: test whether the search judges all conditions by words, so that the rows found satisfy them. */
static bool
judges_all(const HybridScan *state)
{
	return state->included != NULL && state->included->all;
}
