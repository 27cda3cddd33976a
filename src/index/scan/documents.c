/*
 * documents.c
 *		Scans of an index on arrays of vectors: documents in the order of MaxSim.
 *
 * The entries of a document are the vectors of its array. For each vector of the query, a search finds the nearest
 * entries in some lists. A document that has such an entry becomes a candidate. Its distance is estimated
 * (found_documents.h).
 *
 * Candidates are compared exactly, with the values in the table, in the order of their estimates. This ends when the
 * last half of them has at most (1 - target_recall) k of the k best documents, and searches with a quarter of the lists
 * and entries would have led to all but so many. What these would have found is known from the searches themselves: the
 * nearest lists are examined first. If they would not have found these documents, the searches are repeated with four
 * times as many lists and entries. This ends in any case when it changes at most (1 - target_recall) k of the k best.
 *
 * (100,000 documents of 80 vectors of 128 dimensions, queries of 32, LIMIT 10 at .95: searches with a quarter of the
 * lists, before these, took three quarters of their time, since for each vector of the query a search scores the
 * centroids of all lists. By the estimates from them 640 documents were compared; those from these need 320 to 1,280.
 * With FIRST_LISTS, FIRST_ENTRIES and half as many more documents each time, recall is .997 in 49 ms (mean of 150
 * queries; 550 documents compared). With 32 lists, 256 entries and twice as many each time, it is .995 in 67 to 82 ms
 * (870 compared), and with 16 lists .989 in 48 ms.)
 *
 * Memory for the documents found, the entries of a search, and the documents that wait in state->order is bounded by
 * work_mem. If it does not suffice, or if all lists would be examined, all documents are compared instead
 * (compare_all_instead): the scan becomes an exact one, and scan.c makes its passes, each of which returns the nearest
 * documents after those before, as many as fit.
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

#define FIRST_LISTS 24      /* lists examined for each vector of the query, at first */
#define FIRST_ENTRIES 512   /* entries found for each vector of the query, at first, */
#define ENTRIES_SHARE 0.125 /* if this share of the memory holds them; */
#define ENTRY_BYTES (sizeof(HyNeighbor) + sizeof(HybridFoundRow))
#define ENTRIES 4 /* at least so many for each document that is wanted */
#define GROWTH 4  /* the next time, there are so many times as many */
#define LEAST_K                                                                                    \
	10 /* the search is for at least so many documents, since a change among few of them says little */
#define FIRST_COMPARED 32 /* documents compared exactly, at first, */
#define FIRST_SHARE 4     /* for each document that is wanted; at least FIRST_COMPARED */
#define COMPARED 32       /* documents whose conditions are checked at a time */
/*
 * bytes assumed for each document wanted, at the least: FIRST_SHARE of them with their slots in the hash table, those
 * compared with their rows in state->order, and ENTRIES entries
 */
#define WANTED_BYTES 512
/* shares of the memory that an exact pass takes: of that which documents leave for candidates, of all for positions */
#define CANDIDATES_SHARE 0.75
#define POSITIONS_SHARE 0.125

typedef struct HybridDocuments
{
	MemoryContext context; /* of all that grows with the documents found */
	IndexScanDesc scan;
	HybridProbe *probes;
	HybridFoundDocuments found;
	int lists; /* examined for each vector in this round */
	int entries;
	HybridFoundRow *part; /* entries of the first part of a search */
	int part_allocated;
	bool complete; /* every document that may be wanted is a candidate */
	bool exhausted;
	double safe; /* documents up to this distance are returned */
	bool returned;
	double last; /* distance of the last document returned */
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
			/* a document that was found late */
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

/* find_more: find the k best documents, where k is larger each time, or let exact passes find the rest. */
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

/* find_best: find the k best documents. Returns false if all documents have to be compared for that. */
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

/* room: return the number of bytes that the scan may take in addition. */
static double
room(const HybridScan *state)
{
	return memory_of(state) - (double) MemoryContextMemAllocated(state->documents->context, true) -
	       (double) hybrid_true_order_memory(state->order) -
	       (double) hybrid_lookup_memory(state->search);
}

/* room_for_documents: the same for the table of documents, which takes at most half of the memory. */
static double
room_for_documents(const HybridScan *state)
{
	return Min(room(state), memory_of(state) / 2);
}

/*
 * search_fits: test whether there is memory for the next search, which replaces the last one. After the first search,
 * each has GROWTH times as many lists as the one before, and so about as many times as many rows.
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

/* entries_of: return the number of entries that a search finds: no more than its lists have, if they are full. */
static double
entries_of(const HybridScan *state)
{
	const HybridDocuments *documents = state->documents;
	int lists = hybrid_probes > 0 ? hybrid_probes : documents->lists;

	return Min(documents->entries, (double) lists * state->index.list_size);
}

/*
 * compare_all_instead: let exact passes compare all documents, and return those that were not returned. They use the
 * distances computed so far.
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
		/* entries only propose documents: if one of a hundred is lost, no document is, whatever the target */
		hybrid_lookup_target(state->search, 0, lists);
		rows = hybrid_lookup_next(state->search, entries, -INFINITY, &count);
		state->done.work.lists += work.lists;
		state->done.work.rows += work.rows;
		state->done.work.excluded += work.excluded;
		more |= count >= entries || !(hybrid_lookup_expected_recall(state->search) >= 1);
		hybrid_found_documents_add(&documents->found, HYBRID_WHOLE, i, rows, count,
		                           room_for_documents(state));
		count = take_part(documents, state->search, rows, count, work.rows);
		/* all of them were found above */
		hybrid_found_documents_add(&documents->found, HYBRID_PART, i, documents->part, count, 0);
	}
	/* the searches have found all entries of the wanted keys */
	documents->complete = !more && !documents->found.full;
	return true;
}

/*
 * take_part: copy to documents->part those of the entries found that the first part of a search has found, which has
 * scored `scored` rows. Returns their number.
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
 * compare: compare candidates exactly, in the order of their estimates: first some, then half as many more each time,
 * until the last half of them has few of the k best documents, and these are settled. Returns whether they are, or
 * nothing more can be done. `again`: the search is not the first one of this pass.
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
			/* the scan ends with these, which are few bytes */
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
			/* more candidates cannot settle it */
			if (hybrid_found_documents_later(&documents->found, members) > missing)
				return false;
		}
		if (most == members)
			return hybrid_probes > 0;
		most += most / 2;
	}
}

/* compare_rows: compute the distances of candidates from their values in the table, in the order of the candidates. */
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

/* compare_some: compute the distances of some documents that satisfy the conditions. */
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
 * bounded: test whether the bound on the documents compared applies. Without conditions, it does so only after k
 * documents are found.
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

/* offer: offer a document as a candidate of an exact pass. */
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
