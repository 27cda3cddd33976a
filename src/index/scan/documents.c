/*
 * documents.c
 *		Scans of an index on arrays of vectors: documents in the order of MaxSim.
 *
 * The entries of a document are the vectors of its array. For each vector of the query, a search finds the nearest
 * entries in some lists. A document with such an entry becomes a candidate, and its distance is estimated
 * (found_documents.h).
 *
 * Candidates are compared with the query exactly, by their values in the table, in the order of their estimates. Let k
 * be the number of documents wanted, and let "few" mean at most (1 - target_recall) k. Once k documents are found, the
 * comparisons end when two conditions hold:
 *
 * 1. The last half of the candidates that were compared has few of the k best documents.
 * 2. Searches with a quarter of the lists and entries would have missed few of the k best documents. What these
 *    smaller searches would have found is known, because each search examines the most promising lists first.
 *
 * If comparing more candidates cannot satisfy condition 2, the searches are repeated with four times as many lists and
 * entries. A repeated search also satisfies condition 2 if few of the k best documents were first compared after it.
 * If hybrid.probes is set, the number of lists is fixed, and condition 2 does not apply.
 *
 * (100,000 documents of 80 vectors of 128 dimensions, queries of 32 vectors, LIMIT 10 at .95. In an earlier version the
 * smaller searches were separate and came first. They took three quarters of the time of the larger ones, since each
 * search scores the centroids of all lists. By the estimates of the smaller searches, 640 documents were compared; by
 * those of the larger ones, 320 to 1,280. With FIRST_LISTS, FIRST_ENTRIES, and half as many more documents compared each
 * time, recall is .997 in 49 ms (mean of 150 queries; 550 documents compared). With 32 lists, 256 entries, and twice as
 * many documents each time, it is .995 in 67 to 82 ms (870 compared), and with 16 lists .989 in 48 ms.)
 *
 * work_mem limits the memory for the documents found, for the entries of a search, and for the documents that wait in
 * state->order. If all lists would be examined, or if memory does not suffice, all documents are compared instead
 * (compare_all_instead). Then the scan becomes an exact one, and scan.c makes its passes. Each pass returns the
 * documents that are nearest after those already returned, as many as fit in memory. With hybrid.probes, a scan whose
 * memory does not suffice ends with the documents that it has.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "types/vector.h"
#include "utils/rel.h"

#include "core/distance.h"
#include "core/topk.h"
#include "server/compat.h"
#include "server/executor.h"
#include "server/memory.h"

#include "index/page/distance_bound.h"
#include "index/scan/all_rows.h"
#include "index/scan/documents.h"
#include "index/scan/found_documents.h"

#define FIRST_LISTS 24      /* lists that the first search examines for each vector of the query */
#define FIRST_ENTRIES 512   /* entries that it finds for each vector of the query, at most */
#define ENTRIES_SHARE 0.125 /* share of the scan's memory that these entries may take */
#define ENTRY_BYTES (sizeof(HyNeighbor) + sizeof(HybridFoundRow))
#define ENTRIES 4 /* minimum number of entries per document wanted */
#define GROWTH 4  /* factor by which a repeated search has more lists and entries */
#define LEAST_K                                                                                    \
	10 /* minimum k of a scan with a LIMIT, since a change among fewer documents says little */
#define FIRST_COMPARED 32 /* minimum number of documents compared exactly at first */
#define FIRST_SHARE 4     /* documents compared exactly at first, per document wanted */
#define COMPARED 32       /* documents whose conditions are checked at a time */
/*
 * minimum number of bytes assumed per document wanted: FIRST_SHARE candidates with their slots in the hash table, the
 * rows of the compared documents in state->order, and ENTRIES entries
 */
#define WANTED_BYTES 512
/* exact passes: candidates take this share of the memory that the documents leave; positions, of the scan's memory */
#define CANDIDATES_SHARE 0.75
#define POSITIONS_SHARE 0.125

typedef struct HybridDocuments
{
	MemoryContext context; /* memory for everything that grows with the number of documents found */
	IndexScanDesc scan;
	HybridProbe *probes;
	HybridFoundDocuments found;
	int lists;            /* lists examined for each vector of the query in this round */
	int entries;          /* entries found for each vector of the query, at most */
	HybridFoundRow *part; /* entries that the first part of a search has found: see take_part */
	int part_allocated;
	bool complete; /* every document that the conditions on words allow is a candidate */
	bool exhausted;
	double safe;   /* documents whose distance is at most this can be returned */
	bool returned; /* `last` is set */
	double last;   /* distance of the last document returned */
	int pass;
} HybridDocuments;

static void find_more(HybridScan *state);
static bool find_best(HybridScan *state);
static int batch_size(const HybridScan *state);
static double memory_of(const HybridScan *state);
static double room(const HybridScan *state);
static double room_for_documents(const HybridScan *state);
static bool search_fits(const HybridScan *state);
static int entries_at_first(const HybridScan *state);
static double entries_of(const HybridScan *state);
static void compare_all_instead(HybridScan *state);
static bool search(HybridScan *state);
static int take_part(HybridDocuments *documents, const HybridLookup *search,
                     const HybridFoundRow *rows, int count, int64 scored);
static bool compare(HybridScan *state, bool again);
static void compare_rows(HybridScan *state, const HyTopK *candidates);
static void compare_some(HybridScan *state, const int64 *positions, int count);
static bool bounded(const HybridScan *state);
static bool enough_compared(HybridScan *state);
static void offer(HybridScan *state, int64 position);

bool
hybrid_documents_begin(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	HybridDocuments *documents = palloc0(sizeof(HybridDocuments));
	const HybridIndex *index = &state->index;
	MemoryContext old = CurrentMemoryContext;
	HyMatrix query;
	float *floats;
	int i;

	state->documents = documents;
	documents->context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid documents", ALLOCSET_DEFAULT_SIZES);
	documents->scan = scan;
	documents->lists = FIRST_LISTS;
	MemoryContextSwitchTo(documents->context);
	hybrid_found_documents_init(&documents->found, 0);
	MemoryContextSwitchTo(old);
	if (!state->ordered || state->null_query)
		return false;
	query = hybrid_vectors_of(DatumGetArrayTypeP(scan->orderByData[0].sk_argument),
	                          index->opclass->type->dtype);
	if (query.rows == 0)
		return false;
	if (query.dims != index->layout.dims)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("different %s %d and %d", index->opclass->type->dimension,
		                       index->layout.dims, query.dims)));
	documents->found.vectors = (int) query.rows;
	documents->probes = palloc(query.rows * sizeof(HybridProbe));
	floats = MemoryContextAllocHuge(CurrentMemoryContext,
	                                (Size) query.rows * query.dims * sizeof(float));
	for (i = 0; i < query.rows; i++)
	{
		float *x = floats + (Size) i * query.dims;

		hy_widen(query.dtype, hy_matrix_row(&query, i), query.dims, x);
		hybrid_probe_init(&documents->probes[i], index->metric, x, query.dims);
	}
	return true;
}

bool
hybrid_documents_next(HybridScan *state, int64 *position)
{
	HybridDocuments *documents = state->documents;
	bool strict = state->settings.iterative_scan == HYBRID_ITERATIVE_STRICT;

	for (;;)
	{
		IndexOrderByDistance safe = {documents->safe, false};

		CHECK_FOR_INTERRUPTS();
		if (documents->pass > 0 &&
		    hybrid_true_order_ready(state->order, documents->exhausted ? NULL : &safe))
		{
			double distance;

			*position = hybrid_true_order_remove(state->order, state->distances);
			hybrid_found_documents_get(&documents->found, *position)->returned = true;
			distance = state->distances[0].isnull ? 0 : state->distances[0].value;
			/* this document was found too late for strict order */
			if (strict && documents->returned && distance < documents->last)
				continue;
			documents->returned = true;
			documents->last = distance;
			return true;
		}
		if (documents->exhausted || state->exhausted)
		{
			hybrid_scan_ended(documents->scan);
			return false;
		}
		find_more(state);
		if (state->exact)
			return false;
	}
}

/*
 * find_more: find the k best documents, or let exact passes find the rest. From call to call, k grows as long as memory
 * allows.
 */
static void
find_more(HybridScan *state)
{
	HybridDocuments *documents = state->documents;
	MemoryContext old = MemoryContextSwitchTo(documents->context);
	int k = batch_size(state);

	documents->pass++;
	state->done.rounds++;
	if (hybrid_probes > 0 && documents->pass > 1 && k <= documents->found.best.k)
	{
		HyTopK all;

		documents->exhausted = true;
		hybrid_found_documents_choose(&documents->found, HYBRID_WHOLE,
		                              hybrid_found_documents_count(&documents->found), &all);
		compare_rows(state, &all);
		pfree(all.items);
	}
	hybrid_found_documents_best(&documents->found, k);
	documents->entries =
		Max(documents->entries,
	        Max(entries_at_first(state), (int) Min((int64) ENTRIES * k, PG_INT32_MAX / 2)));
	if (!documents->exhausted && !find_best(state))
		compare_all_instead(state);
	else
	{
		documents->safe =
			documents->found.best.count == k ? documents->found.best.items[0].distance : -INFINITY;
		documents->exhausted =
			documents->exhausted || documents->complete || enough_compared(state) ||
			state->settings.iterative_scan == HYBRID_ITERATIVE_OFF ||
			(hybrid_probes > 0 && (documents->found.full || documents->found.best.count < k));
		if (hybrid_probes > 0 && documents->found.full && documents->exhausted &&
		    state->limit_reached == HY_SCAN_NO_LIMIT)
			state->limit_reached = HY_SCAN_MEMORY;
	}
	hybrid_scan_excluded(state, state->done.work.excluded);
	hybrid_scan_quals_rest(state->filter);
	MemoryContextSwitchTo(old);
}

/* find_best: find the k best documents. Returns false if exact passes must compare all documents instead. */
static bool
find_best(HybridScan *state)
{
	HybridDocuments *documents = state->documents;
	double most = hybrid_documents_wanted(state->settings.mem_multiplier);
	bool again = false, settled = false;

	if (hybrid_probes == 0 && documents->found.best.k > most)
		return false;
	while (!settled)
	{
		if (hybrid_probes == 0 && (documents->found.full || !search_fits(state)))
			return false;
		if (!search(state))
			return false;
		settled = compare(state, again);
		again = true;
		documents->lists = (int) Min((int64) documents->lists * GROWTH, PG_INT32_MAX);
		documents->entries = (int) Min((int64) documents->entries * GROWTH, PG_INT32_MAX / 2);
	}
	return true;
}

/* batch_size: return the number of documents that the next pass finds. */
static int
batch_size(const HybridScan *state)
{
	int64 first = state->asked.limit > 0 ? Max(state->asked.limit, LEAST_K) : HYBRID_FIRST_NEAREST;
	int k = hybrid_scan_candidates(state->documents->pass, (int) Min(first, PG_INT32_MAX / 2),
	                               state->settings.mem_multiplier);

	return hybrid_probes > 0 ? (int) Min(k, hybrid_documents_wanted(state->settings.mem_multiplier))
	                         : k;
}

/* memory_of: return the number of bytes that the scan may take. */
static double
memory_of(const HybridScan *state)
{
	return work_mem * 1024.0 * state->settings.mem_multiplier;
}

/* room: return how many more bytes the scan may take. */
static double
room(const HybridScan *state)
{
	return memory_of(state) - (double) MemoryContextMemAllocated(state->documents->context, true) -
	       (double) hybrid_true_order_memory(state->order) -
	       (double) hybrid_lookup_memory(state->search);
}

/* room_for_documents: return how many more bytes the table of documents may take: at most half of the scan's memory. */
static double
room_for_documents(const HybridScan *state)
{
	return Min(room(state), memory_of(state) / 2);
}

/*
 * search_fits: test whether there is memory for the next search, which replaces the last one. After the first search,
 * each search has GROWTH times as many lists as the one before, and so about GROWTH times as many rows.
 */
static bool
search_fits(const HybridScan *state)
{
	double last = (double) hybrid_lookup_memory(state->search);
	double next = entries_of(state) * ENTRY_BYTES;

	if (state->documents->found.round > 0)
		next = Max(next, GROWTH * last);
	return next <= room(state) + last;
}

/* entries_at_first: return the number of entries that the first search finds for each vector of the query. */
static int
entries_at_first(const HybridScan *state)
{
	return (int) Min(FIRST_ENTRIES, memory_of(state) * ENTRIES_SHARE / ENTRY_BYTES);
}

/* entries_of: return the most entries that a search finds: documents->entries, or as many as its lists can have. */
static double
entries_of(const HybridScan *state)
{
	const HybridDocuments *documents = state->documents;
	int lists = hybrid_probes > 0 ? hybrid_probes : documents->lists;

	return Min(documents->entries, (double) lists * state->index.list_size);
}

/*
 * compare_all_instead: make the rest of the scan exact. Its passes compare all documents and return those that were not
 * returned yet. They reuse the distances computed so far.
 */
static void
compare_all_instead(HybridScan *state)
{
	HybridDocuments *documents = state->documents;

	state->exact = true;
	state->reorders = documents->scan->numberOfOrderBys > 1;
	if (documents->returned && state->settings.iterative_scan == HYBRID_ITERATIVE_STRICT)
	{
		state->bounded = true;
		state->last.distance = isnan(documents->last) ? INFINITY : documents->last;
		state->last.row = -1;
	}
	hybrid_true_order_clear(state->order);
	hybrid_lookup_end(state->search);
	state->search = NULL;
	if (documents->part != NULL)
		pfree(documents->part);
	pfree(documents->found.best.items);
	documents->part = NULL;
	documents->found.best.items = NULL;
}

/*
 * search: find the nearest entries for each vector of the query, in the lists of this round. Returns false if these are
 * all lists, so that every document would be a candidate.
 */
static bool
search(HybridScan *state)
{
	HybridDocuments *documents = state->documents;
	const HybridIncludedQuals *included = state->included;
	int entries = (int) entries_of(state), i;
	bool more = false;

	hybrid_found_documents_begin(&documents->found);
	for (i = 0; i < documents->found.vectors; i++)
	{
		HybridLookupWork work;
		const HybridFoundRow *rows;
		const HybridTree *tree;
		int lists = hybrid_probes > 0 ? hybrid_probes : documents->lists, count;

		tree = hybrid_lookup_query(state->search, &documents->probes[i], &work);
		if ((uint32) lists >= tree->leaves)
			return false;
		if (included != NULL)
			hybrid_lookup_words(state->search, included->conditions, included->count);
		/* recall 0: codes lose about one entry in 100 (recall_curve.c), but other entries propose its document */
		hybrid_lookup_target(state->search, 0, lists);
		rows = hybrid_lookup_next(state->search, entries, -INFINITY, &count);
		state->done.work.lists += work.lists;
		state->done.work.rows += work.rows;
		state->done.work.excluded += work.excluded;
		more |= count >= entries || !(hybrid_lookup_expected_recall(state->search) >= 1);
		hybrid_found_documents_add(&documents->found, HYBRID_WHOLE, i, rows, count,
		                           room_for_documents(state));
		count = take_part(documents, state->search, rows, count, work.rows);
		/* room 0 adds no documents: the call above has added those of these entries, as far as there was room */
		hybrid_found_documents_add(&documents->found, HYBRID_PART, i, documents->part, count, 0);
	}
	/* true if each search has found all entries that the conditions on words allow, and all documents had room */
	documents->complete = !more && !documents->found.full;
	return true;
}

/*
 * take_part: copy to documents->part the entries that the first part of a search has found. The first part is the first
 * 1 / GROWTH of the `scored` rows that the search has scored, and it may find 1 / GROWTH of the entries. Returns the
 * number of entries copied.
 */
static int
take_part(HybridDocuments *documents, const HybridLookup *search, const HybridFoundRow *rows,
          int count, int64 scored)
{
	int most = Min(count, documents->entries / GROWTH), taken = 0, i;

	if (most > documents->part_allocated)
	{
		documents->part_allocated = most;
		documents->part =
			hybrid_enlarge(documents->context, documents->part, most * sizeof(HybridFoundRow));
	}
	for (i = 0; i < count && taken < most; i++)
	{
		if (hybrid_lookup_place(search, &rows[i]) <= scored / GROWTH)
			documents->part[taken++] = rows[i];
	}
	return taken;
}

/*
 * compare: compare candidates exactly, in the order of their estimates, each time up to 1.5 times the number before.
 * Returns true if the conditions in the head of this file hold, or if the scan must end with what it has. Returns false
 * if further lists must be searched, or if all documents must be compared. `again` says that the search is not the first
 * one of this pass.
 */
static bool
compare(HybridScan *state, bool again)
{
	HybridDocuments *documents = state->documents;
	int64 most = Max(FIRST_COMPARED, (int64) FIRST_SHARE * documents->found.best.k);
	double missing = (1 - state->settings.target_recall) * documents->found.best.k;
	HyTopK first;
	bool fits;
	int late;

	for (;;)
	{
		int64 members = Max(hybrid_found_documents_count(&documents->found), 1);

		if (documents->complete || most > members)
			most = members;
		fits = (double) most * sizeof(HyNeighbor) <= room(state);
		if (!fits)
		{
			documents->found.full = true;
			if (hybrid_probes == 0)
				return false;
			/* the scan ends with these candidates, which take few bytes */
			most = Min(members, FIRST_COMPARED);
		}
		hybrid_found_documents_choose(&documents->found, HYBRID_WHOLE, most, &first);
		compare_rows(state, &first);
		late = hybrid_found_documents_ranked(&documents->found, first.count / 2);
		pfree(first.items);
		if (enough_compared(state) || !fits || (documents->complete && most == members))
			return true;
		if (documents->found.best.count == documents->found.best.k && late <= missing)
		{
			if (hybrid_probes > 0 ||
			    (again && hybrid_found_documents_new(&documents->found) <= missing) ||
			    hybrid_found_documents_later(&documents->found, most) <= missing)
				return true;
			/* comparing more candidates cannot satisfy condition 2 */
			if (hybrid_found_documents_later(&documents->found, members) > missing)
				return false;
		}
		if (most == members)
			return hybrid_probes > 0;
		most += most / 2;
	}
}

/* compare_rows: compute the distances of the candidates that were not compared yet from their values in the table. */
static void
compare_rows(HybridScan *state, const HyTopK *candidates)
{
	HybridDocuments *documents = state->documents;
	int64 positions[COMPARED];
	int count = 0, i;

	for (i = 0; i < candidates->count && !enough_compared(state); i++)
	{
		const HybridDocument *document =
			hybrid_found_documents_get(&documents->found, candidates->items[i].row);

		if (document->compared == 0)
			positions[count++] = document->position;
		if (count == COMPARED || i == candidates->count - 1)
		{
			CHECK_FOR_INTERRUPTS();
			compare_some(state, positions, count);
			count = 0;
		}
	}
}

/* compare_some: compute the distances of those of `count` documents that satisfy the conditions. */
static void
compare_some(HybridScan *state, const int64 *positions, int count)
{
	HybridDocuments *documents = state->documents;
	int i;

	hybrid_scan_quals_expect(state->filter, positions, count);
	for (i = 0; i < count; i++)
	{
		HybridDocument *document = hybrid_found_documents_get(&documents->found, positions[i]);
		TupleTableSlot *slot = hybrid_scan_quals_wanted(state->filter, positions[i]);
		IndexOrderByDistance value;

		document->compared = documents->found.round;
		document->exact = NAN;
		document->rejected = slot == NULL;
		if (document->rejected)
		{
			state->done.work.rejected++;
			continue;
		}
		state->done.work.rescored++;
		value = hybrid_true_order_measure(state->order, positions[i], slot);
		document->exact = value.isnull ? 0 : value.value;
		(void) hy_topk_push(&documents->found.best, document->exact, positions[i]);
	}
}

/*
 * bounded: test whether hybrid.max_scan_tuples limits the number of documents compared. If the filter has no conditions,
 * this setting applies only after k documents are found.
 */
static bool
bounded(const HybridScan *state)
{
	const HybridDocuments *documents = state->documents;
	int64 found = state->exact ? state->done.returned : documents->found.best.count;

	return state->settings.iterative_scan != HYBRID_ITERATIVE_OFF && !state->asked.all &&
	       state->settings.target_recall < 1 && !state->null_query &&
	       (found >= Max(documents->found.best.k, state->asked.limit) ||
	        hybrid_scan_quals_share(state->filter) < 1);
}

/* enough_compared: test whether the scan has compared as many documents as it may. */
static bool
enough_compared(HybridScan *state)
{
	const HybridLookupWork *work = &state->done.work;

	if (bounded(state) && work->rescored + work->rejected >= state->settings.max_scan_tuples)
		state->limit_reached = HY_SCAN_TUPLES;
	return state->limit_reached == HY_SCAN_TUPLES;
}

double
hybrid_documents_wanted(double mem_multiplier)
{
	return work_mem * 1024.0 * mem_multiplier / WANTED_BYTES;
}

int
hybrid_documents_candidates(const HybridScan *state)
{
	double left =
		memory_of(state) - (double) MemoryContextMemAllocated(state->documents->context, true);

	return (int) (Min(left * CANDIDATES_SHARE, (double) MaxAllocSize) / sizeof(HyNeighbor));
}

void
hybrid_documents_compare_all(HybridScan *state)
{
	HybridDocuments *documents = state->documents;
	HybridAllRows *rows = hybrid_all_rows_begin(documents->scan, &state->index, state->included,
	                                            memory_of(state) * POSITIONS_SHARE);
	int64 positions[COMPARED];
	int count, i;

	while (!enough_compared(state) && (count = hybrid_all_rows_next(rows, positions, COMPARED)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		if (!state->null_query)
			hybrid_scan_quals_expect(state->filter, positions, count);
		for (i = 0; i < count; i++)
			offer(state, positions[i]);
	}
	hybrid_scan_excluded(state, state->done.work.excluded + hybrid_all_rows_end(rows));
	hybrid_scan_quals_rest(state->filter);
}

/* offer: offer a document as a candidate of an exact pass, unless it was returned or the conditions reject it. */
static void
offer(HybridScan *state, int64 position)
{
	const HybridDocument *document = hybrid_found_documents_get(&state->documents->found, position);
	TupleTableSlot *slot;

	if (document != NULL && (document->returned || document->rejected))
		return;
	if (state->null_query)
		hybrid_scan_offer(state, 0, position);
	else if (document != NULL && document->compared > 0)
		hybrid_scan_offer(state, document->exact, position);
	else if ((slot = hybrid_scan_quals_wanted(state->filter, position)) == NULL)
		state->done.work.rejected++;
	else
	{
		state->done.work.rescored++;
		hybrid_true_order_values(state->order, slot, state->distances);
		hybrid_scan_offer(state, state->distances[0].value, position);
	}
}
