/*
 * index_search.c
 *		Searches by codes for many queries, without an executor: see index_search.h.
 *
 * Each search works as in an index scan, with the same choice of lists, the same decision to stop and the same recall
 * curve. All queries use the same memory.
 */
#include "postgres.h"

#include "pgstat.h"
#include "storage/predicate.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "core/distance.h"

#include "index/page/distance_bound.h"
#include "index/scan/index_search.h"
#include "index/scan/lookup.h"

struct HybridIndexSearch
{
	Relation index;
	HybridIndex open;
	double recall;
	HybridLookup *lookup;
	HybridProbe probe;
	HybridLookupWork work; /* work for the current query */
	int64 queries;         /* number of queries, including the current one */
	HybridLookupWork done; /* work for the queries before the current one */
};

static HybridIndexSearch *begin_search(Relation index, Snapshot snapshot, double recall);
static const HybridFoundRow *find(HybridIndexSearch *search, const float *x, int many, int *count);
static void add_work(HybridIndexSearch *search);
static void end_search(HybridIndexSearch *search);

const HybridSearchMethods hybrid_search_methods = {
	.begin = begin_search, .find = find, .end = end_search};

static HybridIndexSearch *
begin_search(Relation index, Snapshot snapshot, double recall)
{
	HybridIndexSearch *search = palloc0(sizeof(HybridIndexSearch));

	/* Entries are copied and not pinned. Before the caller uses them, a row may be removed and its TID reused. */
	if (!IsMVCCSnapshot(snapshot))
		elog(ERROR, "non-MVCC snapshots are not supported with access method hybrid");
	PredicateLockRelation(index, snapshot);
	search->index = index;
	search->open = hybrid_index_open(index);
	search->recall = recall;
	search->lookup = hybrid_lookup_new(index, &search->open, snapshot);
	return search;
}

static const HybridFoundRow *
find(HybridIndexSearch *search, const float *x, int many, int *count)
{
	static const HybridFoundRow none;
	int dims = search->open.layout.dims;

	/* A zero vector, for example, has no cosine distance. A search would read all lists only to find that out. */
	if (search->open.metric == HY_METRIC_COSINE && !hy_has_cosine(hy_norm_sq(HY_F32, x, dims)))
	{
		*count = 0;
		return &none;
	}
	add_work(search);
	search->queries++;
	pgstat_count_index_scan(search->index);
	hybrid_probe_init(&search->probe, search->open.metric, x, dims);
	(void) hybrid_lookup_query(search->lookup, &search->probe, &search->work);
	hybrid_lookup_target(search->lookup, search->recall, 0);
	return hybrid_lookup_next(search->lookup, many, -INFINITY, count);
}

/* add_work: add the work of the current query to the sums. */
static void
add_work(HybridIndexSearch *search)
{
	search->done.lists += search->work.lists;
	search->done.rows += search->work.rows;
	search->done.rescored += search->work.rescored;
	memset(&search->work, 0, sizeof(search->work));
}

static void
end_search(HybridIndexSearch *search)
{
	double queries;

	add_work(search);
	queries = Max(search->queries, 1);
	ereport(DEBUG2,
	        (errmsg_internal("%lld searches of index \"%s\", each with %.1f lists, %.1f rows "
	                         "and %.1f vectors on average",
	                         (long long) search->queries, RelationGetRelationName(search->index),
	                         search->done.lists / queries, search->done.rows / queries,
	                         search->done.rescored / queries)));
	hybrid_lookup_end(search->lookup);
	pfree(search);
}
