/*
 * approximate.c
 *		Searches an index by codes for the nearest rows of many queries: see approximate.h.
 *
 * The index decides for each query how far it searches (HybridSearchMethods in server/store.h). The
 * candidates of many queries are looked up in the table together, in the order of the table, so that each
 * row is fetched once.
 */
#include "postgres.h"

#include <math.h>

#include "core/distance.h"
#include "knn/approximate.h"
#include "knn/fetch.h"
#include "knn/search_team.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "server/position.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define READ_ENTRIES 512 /* entries of the index read at a time */

/* Wanted: a candidate to be looked up in the table. */
typedef struct Wanted
{
	int64 root;      /* must be first, for hybrid_compare_positions */
	double distance; /* distance of the row, unless copies are rounded */
	int32 query;
} Wanted;

/* Pass: one search for all queries. */
typedef struct Pass
{
	const HybridCandidates *candidates;
	const HybridQueries *queries;
	int many;
	HyTopK *answers;
	bool *sure;
	HybridFetch *fetch;
	Wanted *wanted;
	int64 count;
	int64 room;
} Pass;

static void take_candidates(void *arg, int query, const HybridFoundRow *found, int count);
static void look_up(Pass *pass);

Size
hybrid_approximate_bytes(int64 many)
{
	/*
	 * for each candidate: an entry to look up, and a row that the search found; the search may find a few
	 * more rows
	 */
	return (Size) many * (sizeof(Wanted) + sizeof(HybridFoundRow));
}

void
hybrid_approximate_search(const HybridCandidates *candidates, const HybridQueries *queries,
                          int many, HyTopK *answers, bool *sure)
{
	Pass pass = {.candidates = candidates,
	             .queries = queries,
	             .many = many,
	             .answers = answers,
	             .sure = sure};
	AttrNumber attnum;
	Relation table = hybrid_rows_table(candidates->rows, &attnum);
	int i;

	pass.fetch = hybrid_fetch_begin(table, attnum, hybrid_rows_dtype(candidates->rows),
	                                hybrid_rows_filter(candidates->rows));
	pass.room = (int64) queries->count * many;
	pass.wanted = MemoryContextAllocHuge(CurrentMemoryContext, pass.room * sizeof(Wanted));
	hybrid_search_team(candidates, queries, many, take_candidates, &pass);
	look_up(&pass);
	for (i = 0; i < queries->count; i++)
	{
		sure[i] = sure[i] || answers[i].count == answers[i].k;
		if (!sure[i])
			answers[i].count = 0;
	}
	hybrid_fetch_end(pass.fetch);
}

void
hybrid_approximate_read(const HybridCandidates *candidates, HybridRows *rows, HybridTakeRow take,
                        void *arg)
{
	const HybridStoreMethods *stores = hybrid_stores();
	HybridStore *store = stores->begin(candidates->index, GetActiveSnapshot());
	int64 positions[READ_ENTRIES];
	HybridStoreRows entries = {.positions = positions};
	int count;

	while ((count = stores->read(store, &entries, READ_ENTRIES)) > 0)
	{
		if (!hybrid_rows_at(rows, positions, count, stores->share(store), take, arg))
			break;
	}
	stores->end(store);
}

/* take_candidates: add the candidates of a query to pass->wanted. */
static void
take_candidates(void *arg, int query, const HybridFoundRow *found, int count)
{
	Pass *pass = (Pass *) arg;
	int i;

	pass->sure[query] = count < pass->many;
	for (i = 0; i < count; i++)
	{
		/* the row has no distance: NaN */
		if (isinf(found[i].distance) && found[i].distance > 0 && isinf(found[i].width))
			continue;
		/* rounded copies may add any number of candidates, up to all rows if their bounds are infinite */
		if (pass->count == pass->room)
			look_up(pass);
		pass->wanted[pass->count++] =
			(Wanted){.root = found[i].position, .distance = found[i].distance, .query = query};
	}
}

/* look_up: put the visible rows among the candidates into the answers of their queries. */
static void
look_up(Pass *pass)
{
	const HybridCandidates *candidates = pass->candidates;
	bool lossy = !candidates->shape.lossless;
	HyDtype dtype = hybrid_rows_dtype(candidates->rows);
	int dims = pass->queries->dims;
	const HybridDense *vector = NULL;
	bool visible = false;
	int64 position = 0;
	int64 i;

	pgstat_count_index_tuples(candidates->index, pass->count);
	qsort(pass->wanted, pass->count, sizeof(Wanted), hybrid_compare_positions);
	for (i = 0; i < pass->count; i++)
	{
		const Wanted *it = &pass->wanted[i];
		double distance = it->distance;

		if (i == 0 || pass->wanted[i - 1].root != it->root)
			visible = hybrid_fetch(pass->fetch, it->root, &position, lossy ? &vector : NULL);
		if (!visible)
			continue;
		if (lossy)
			distance = hy_distance_to(candidates->metric, hybrid_query(pass->queries, it->query),
			                          dtype, vector->x, dims);
		(void) hy_topk_push(&pass->answers[it->query], distance, position);
	}
	pass->count = 0;
}
