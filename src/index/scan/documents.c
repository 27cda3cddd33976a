/*
 * documents.c
 *		Scans of an index on arrays of vectors: documents in the order of MaxSim.
 *
 * The entries of a document are the vectors of its array. For each vector of the query, a search finds the nearest
 * entries in some lists. A document that has such an entry becomes a candidate. Its distance is estimated. For a
 * vector of the query for which an entry of the document was found, that is the entry's distance. For any other, it is
 * the distance of the last entry found, plus a gap: the mean gap in the documents that were compared exactly. (As in
 * the threshold algorithms of R. Fagin, A. Lotem and M. Naor, "Optimal aggregation algorithms for middleware", 2003,
 * and with imputed distances as in J. Lee et al., "Rethinking the role of token retrieval in multi-vector retrieval",
 * 2023, where the gap is 0.)
 *
 * Candidates are compared exactly, with the values in the table, in the order of their estimates. This ends when the
 * last half of them has at most (1 - target_recall) k of the k best documents, and searches with a quarter of the lists
 * and entries would have led to all but so many. What these would have found is known from the searches themselves: the
 * nearest lists are examined first. If they would not have found these documents, the searches are repeated with four
 * times as many lists and entries. This ends in any case when it changes at most (1 - target_recall) k of the k best.
 *
 * (100,000 documents of 80 vectors of 128 dimensions, queries of 32, LIMIT 10 at .95: searches with a quarter of the
 * lists, before these, took three quarters of their time, since for each vector of the query a search scores the
 * centroids of all lists. By the estimates from them 640 documents were compared; those from these need 320 to 1,280.)
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"
#include "types/vector.h"
#include "utils/rel.h"

#include "core/distance.h"
#include "core/topk.h"
#include "server/compat.h"
#include "server/executor.h"
#include "server/memory.h"

#include "index/page/distance_bound.h"
#include "index/scan/documents.h"
#include "index/tree/read.h"

#define FIRST_LISTS 32    /* lists examined for each vector of the query, at first */
#define FIRST_ENTRIES 256 /* entries found for each vector of the query, at first; */
#define ENTRIES 4         /* at least so many for each document that is wanted */
#define GROWTH 4          /* the next time, there are so many times as many */
#define LEAST_K                                                                                    \
	10 /* the search is for at least so many documents, since a change among few of them says little */
#define FIRST_COMPARED 32 /* documents compared exactly, at first, */
#define FIRST_SHARE 4     /* for each document that is wanted; at least FIRST_COMPARED */
#define COMPARED 32       /* documents whose conditions are checked at a time */
#define READ 4096         /* positions read from the store at a time */

/* a search, and the first part of it, which is a search with 1/GROWTH of the lists and entries */
enum
{
	WHOLE,
	PART,
	PARTS
};

/* Known: the nearest entries of a document that were found, one for each vector of the query. */
typedef struct Known
{
	double nearer; /* sum of the distances by which they are nearer than the last entries found */
	int seen;      /* number of vectors of the query for which an entry was found */
	int vector;    /* the last of these vectors */
} Known;

/* Document: a row of the table that a search has found. */
typedef struct Document
{
	int64 position;
	Known known[PARTS];
	double exact; /* its distance; NaN if the conditions reject it */
	int round;    /* round of the last search that found the document */
	int compared; /* round in which it was compared exactly, or 0 */
	int rank;     /* among the candidates by their estimates */
	char status;
} Document;

/* Level: what a search, or the first part of it, has found for all documents. */
typedef struct Level
{
	double frontier; /* sum of the distances of the last entries found */
	double spread;   /* mean of the distances between the first and the last entry found */
	double gap;      /* see above */
} Level;

#define SH_PREFIX documents
#define SH_ELEMENT_TYPE Document
#define SH_KEY_TYPE int64
#define SH_KEY position
#define SH_HASH_KEY(table, key)                                                                    \
	hash_combine(murmurhash32((uint32) (key)), (uint32) ((uint64) (key) >> 32))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

typedef struct HybridDocuments
{
	MemoryContext context;
	IndexScanDesc scan;
	int vectors; /* of the query; 0 if it is NULL or empty */
	HybridProbe *probes;
	documents_hash *found;
	int round;
	int lists; /* examined for each vector in this round */
	int entries;
	Level level[PARTS];
	HybridFoundRow *part; /* entries of the first part of a search */
	int part_allocated;
	HyTopK best; /* the k best documents */
	bool all;    /* all documents are candidates */
	bool full;   /* there is no memory for more documents than those found */
	bool exhausted;
	double safe; /* documents up to this distance are returned */
	bool returned;
	double last; /* distance of the last document returned */
	int pass;
} HybridDocuments;

static void find_more(HybridScan *state);
static int batch_size(const HybridScan *state);
static void take_best(HybridDocuments *documents, int k);
static void search(HybridScan *state);
static int take_part(HybridDocuments *documents, const HybridLookup *search,
                     const HybridFoundRow *rows, int count, int64 scored);
static void add_entries(HybridDocuments *documents, int part, int vector,
                        const HybridFoundRow *rows, int count);
static void add_all(HybridScan *state);
static bool compare(HybridScan *state, bool again);
static void choose(HybridDocuments *documents, int part, int64 most, HyTopK *first);
static void measure_gap(HybridDocuments *documents, int part);
static double estimate(const HybridDocuments *documents, int part, const Document *document);
static void compare_rows(HybridScan *state, const HyTopK *candidates);
static void compare_some(HybridScan *state, const int64 *positions, int count);
static int rank_best(const HybridDocuments *documents, const HyTopK *first);
static int changed(const HybridDocuments *documents);
static bool bounded(const HybridScan *state);
static bool enough_compared(HybridScan *state);
static bool is_full(HybridScan *state);
static int found_later(HybridDocuments *documents, int64 candidates);
static void compare_rest(HybridScan *state);

bool
hybrid_documents_begin(IndexScanDesc scan)
{
	HybridScan *state = (HybridScan *) scan->opaque;
	HybridDocuments *documents = palloc0(sizeof(HybridDocuments));
	const HybridIndex *index = &state->index;
	HyMatrix query;
	float *floats;
	int i;

	state->documents = documents;
	documents->context = CurrentMemoryContext;
	documents->scan = scan;
	documents->found = documents_create(CurrentMemoryContext, 1024, NULL);
	documents->lists = FIRST_LISTS;
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
	documents->vectors = (int) query.rows;
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
	}
}

/* find_more: find the k best documents, where k is larger each time. */
static void
find_more(HybridScan *state)
{
	HybridDocuments *documents = state->documents;
	MemoryContext old = MemoryContextSwitchTo(documents->context);
	int k = batch_size(state);
	int first = documents->round + 1;
	bool settled;

	documents->pass++;
	state->done.rounds++;
	/* memory does not allow more, so that only all documents are more than before */
	if (documents->pass > 1 && k <= documents->best.k)
	{
		documents->exhausted = documents->full || hybrid_probes > 0;
		if (documents->exhausted)
			compare_rest(state);
		documents->lists = PG_INT32_MAX;
	}
	take_best(documents, k);
	documents->entries = Max(documents->entries,
	                         Max(FIRST_ENTRIES, (int) Min((int64) ENTRIES * k, PG_INT32_MAX / 2)));
	if (documents->full && !documents->exhausted)
		(void) compare(state, true);
	while (!documents->full && !documents->exhausted)
	{
		documents->round++;
		search(state);
		settled = compare(state, documents->round > first);
		documents->lists = (int) Min((int64) documents->lists * GROWTH, PG_INT32_MAX);
		documents->entries = (int) Min((int64) documents->entries * GROWTH, PG_INT32_MAX / 2);
		if (settled)
			break;
		documents->full = is_full(state);
	}
	documents->safe = documents->best.count == k ? documents->best.items[0].distance : -INFINITY;
	documents->exhausted = documents->exhausted || documents->all || enough_compared(state) ||
	                       state->settings.iterative_scan == HYBRID_ITERATIVE_OFF ||
	                       ((hybrid_probes > 0 || documents->full) && documents->best.count < k);
	hybrid_scan_excluded(state, state->done.work.excluded);
	hybrid_scan_quals_rest(state->filter);
	MemoryContextSwitchTo(old);
}

/* batch_size: return the number of documents that the next pass finds. */
static int
batch_size(const HybridScan *state)
{
	int64 first = state->asked.limit > 0 ? Max(state->asked.limit, LEAST_K) : HYBRID_FIRST_NEAREST;

	return hybrid_scan_candidates(state->documents->pass, (int) Min(first, PG_INT32_MAX / 2),
	                              state->settings.mem_multiplier);
}

/* take_best: make a heap of the k best documents among those compared so far. */
static void
take_best(HybridDocuments *documents, int k)
{
	documents_iterator each;
	Document *document;

	if (documents->best.items != NULL)
		pfree(documents->best.items);
	hy_topk_init(&documents->best,
	             MemoryContextAllocHuge(documents->context, (Size) k * sizeof(HyNeighbor)), k);
	documents_start_iterate(documents->found, &each);
	while ((document = documents_iterate(documents->found, &each)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (document->compared > 0)
			(void) hy_topk_push(&documents->best, document->exact, document->position);
	}
}

/* search: find the nearest entries for each vector of the query, in the lists of this round. */
static void
search(HybridScan *state)
{
	HybridDocuments *documents = state->documents;
	const HybridIncludedQuals *included = state->included;
	HybridLookupLimits limits;
	bool more = false;
	int i;

	memset(documents->level, 0, sizeof(documents->level));
	for (i = 0; i < documents->vectors && !state->exact; i++)
	{
		HybridLookupWork work;
		const HybridFoundRow *rows;
		const HybridTree *tree;
		int lists = hybrid_probes > 0 ? hybrid_probes : documents->lists, count;

		tree = hybrid_lookup_query(state->search, &documents->probes[i], &work);
		/* if all lists are examined, every document is a candidate */
		if ((uint32) lists >= tree->leaves)
			break;
		if (included != NULL)
			hybrid_lookup_words(state->search, included->conditions, included->count);
		hybrid_lookup_limits(tree, state->index.layout.dims, state->settings.target_recall, lists,
		                     &limits);
		hybrid_lookup_limit(state->search, &limits);
		rows = hybrid_lookup_next(state->search, documents->entries, -INFINITY, &count);
		state->done.work.lists += work.lists;
		state->done.work.rows += work.rows;
		state->done.work.excluded += work.excluded;
		more |= count >= documents->entries || !(hybrid_lookup_expected_recall(state->search) >= 1);
		add_entries(documents, WHOLE, i, rows, count);
		count = take_part(documents, state->search, rows, count, work.rows);
		add_entries(documents, PART, i, documents->part, count);
	}
	if (i < documents->vectors || documents->vectors == 0)
		add_all(state);
	/* the searches have found all entries of the wanted keys */
	else if (!more)
		documents->all = true;
}

/*
 * take_part: copy to documents->part those of the entries found that the first part of a search has found, which has
 * scored `scored` rows. Returns their number.
 */
static int
take_part(HybridDocuments *documents, const HybridLookup *search, const HybridFoundRow *rows,
          int count, int64 scored)
{
	int taken = 0, i;

	if (count > documents->part_allocated)
	{
		documents->part_allocated = Max(count, documents->part_allocated * 2);
		documents->part = hybrid_enlarge(documents->context, documents->part,
		                                 documents->part_allocated * sizeof(HybridFoundRow));
	}
	for (i = 0; i < count && taken < documents->entries / GROWTH; i++)
	{
		if (hybrid_lookup_place(search, &rows[i]) <= scored / GROWTH)
			documents->part[taken++] = rows[i];
	}
	return taken;
}

/* add_entries: add the entries found for a vector of the query, sorted by distance, to their documents. */
static void
add_entries(HybridDocuments *documents, int part, int vector, const HybridFoundRow *rows, int count)
{
	Level *level = &documents->level[part];
	double last = count > 0 ? rows[count - 1].distance : 0;
	int i;

	if (count > 0 && isfinite(last - rows[0].distance))
		level->spread += (last - rows[0].distance) / documents->vectors;
	last = isfinite(last) ? last : 0;
	level->frontier += last;
	for (i = 0; i < count; i++)
	{
		Document *document;
		Known *known;
		bool found;

		document = documents_insert(documents->found, rows[i].position, &found);
		if (!found)
			document->compared = 0;
		if (!found || document->round != documents->round)
		{
			document->round = documents->round;
			memset(document->known, 0, sizeof(document->known));
			document->known[WHOLE].vector = document->known[PART].vector = -1;
		}
		known = &document->known[part];
		if (known->vector == vector)
			continue;
		known->vector = vector;
		if (!isfinite(rows[i].distance))
			continue;
		known->nearer += rows[i].distance - last;
		known->seen++;
	}
}

/* add_all: let every document of the index be a candidate. */
static void
add_all(HybridScan *state)
{
	HybridDocuments *documents = state->documents;
	IndexScanDesc scan = documents->scan;
	const HybridIncludedQuals *included = state->included;
	int64 *positions = palloc(READ * sizeof(int64));
	HybridStoreRows rows = {.positions = positions};
	HybridStore store;
	int count, i;

	documents->all = true;
	hybrid_store_init(&store, scan->indexRelation, scan->xs_snapshot, &state->index);
	store.conditions = included != NULL ? included->conditions : NULL;
	store.conditions_count = included != NULL ? included->count : 0;
	hybrid_store_rewind(&store);
	while (!is_full(state) && (count = hybrid_store_read(&store, &rows, READ)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < count; i++)
		{
			bool found;
			Document *document = documents_insert(documents->found, positions[i], &found);

			if (!found)
				document->compared = 0;
			document->round = documents->round;
		}
	}
	state->done.work.excluded += store.excluded;
	pfree(positions);
}

/*
 * compare: compare candidates exactly, in the order of their estimates: first some, then twice as many, until the last
 * half of them has few of the k best documents, and these are settled. Returns whether they are. `again`: the search is
 * not the first one of this pass.
 */
static bool
compare(HybridScan *state, bool again)
{
	HybridDocuments *documents = state->documents;
	int64 most = Max(FIRST_COMPARED, (int64) FIRST_SHARE * documents->best.k);
	double missing = (1 - state->settings.target_recall) * documents->best.k;
	HyTopK first;
	int late;

	for (;;)
	{
		int64 members = Max(documents->found->members, 1);

		if (documents->all || most > members)
			most = members;
		choose(documents, WHOLE, most, &first);
		compare_rows(state, &first);
		late = rank_best(documents, &first);
		pfree(first.items);
		if (enough_compared(state) || (documents->all && most == members))
			return true;
		if (documents->best.count == documents->best.k && late <= missing)
		{
			if (hybrid_probes > 0 || documents->full || (again && changed(documents) <= missing) ||
			    found_later(documents, most) <= missing)
				return true;
			/* more candidates cannot settle it */
			if (found_later(documents, members) > missing)
				return false;
		}
		if (most == members)
			return hybrid_probes > 0;
		most *= 2;
	}
}

/* choose: choose the `most` candidates with the best estimates, and sort them. */
static void
choose(HybridDocuments *documents, int part, int64 most, HyTopK *first)
{
	documents_iterator each;
	Document *document;

	hy_topk_init(first, MemoryContextAllocHuge(documents->context, most * sizeof(HyNeighbor)),
	             (int32) most);
	measure_gap(documents, part);
	documents_start_iterate(documents->found, &each);
	while ((document = documents_iterate(documents->found, &each)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		document->rank = PG_INT32_MAX;
		if (document->round == documents->round &&
		    (documents->all || part == WHOLE || document->known[part].seen > 0))
			(void) hy_topk_push(first, estimate(documents, part, document), document->position);
	}
	hy_topk_sort(first);
}

/* measure_gap: compute the mean gap in the documents that were compared. */
static void
measure_gap(HybridDocuments *documents, int part)
{
	Level *level = &documents->level[part];
	/* at first, the gap is assumed to be half of the distances between the entries found */
	double unseen = documents->vectors, sum = unseen * level->spread / 2;
	documents_iterator each;
	Document *document;

	documents_start_iterate(documents->found, &each);
	while ((document = documents_iterate(documents->found, &each)) != NULL)
	{
		double gap = document->exact - document->known[part].nearer - level->frontier;

		CHECK_FOR_INTERRUPTS();
		if (document->compared == 0 || document->round != documents->round || !isfinite(gap))
			continue;
		unseen += documents->vectors - document->known[part].seen;
		sum += gap;
	}
	level->gap = unseen > 0 ? sum / unseen : 0;
}

/* estimate: estimate the distance of a candidate. */
static double
estimate(const HybridDocuments *documents, int part, const Document *document)
{
	const Level *level = &documents->level[part];
	const Known *known = &document->known[part];

	if (documents->all)
		return 0;
	return known->nearer + level->frontier + level->gap * (documents->vectors - known->seen);
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
		Document *document = documents_lookup(documents->found, candidates->items[i].row);

		document->rank = i;
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
		Document *document = documents_lookup(documents->found, positions[i]);
		TupleTableSlot *slot = hybrid_scan_quals_wanted(state->filter, positions[i]);
		IndexOrderByDistance value;

		document->compared = documents->round;
		document->exact = NAN;
		if (slot == NULL)
		{
			state->done.work.rejected++;
			continue;
		}
		state->done.work.rescored++;
		value = hybrid_true_order_measure(state->order, positions[i], slot);
		document->exact = value.isnull ? 0 : value.value;
		(void) hy_topk_push(&documents->best, document->exact, positions[i]);
	}
}

/* rank_best: return the number of the k best documents that are not in the first half of the candidates. */
static int
rank_best(const HybridDocuments *documents, const HyTopK *first)
{
	int count = 0, i;

	for (i = 0; i < documents->best.count; i++)
		count += documents_lookup(documents->found, documents->best.items[i].row)->rank >=
		         first->count / 2;
	return count;
}

/* changed: return the number of the k best documents that were compared in the last round. */
static int
changed(const HybridDocuments *documents)
{
	int count = 0, i;

	for (i = 0; i < documents->best.count; i++)
		count += documents_lookup(documents->found, documents->best.items[i].row)->compared ==
		         documents->round;
	return count;
}

/*
 * found_later: return the number of the k best documents that are not among the first candidates of the first part of
 * the search, which are so many.
 */
static int
found_later(HybridDocuments *documents, int64 candidates)
{
	HyTopK first;
	int count = 0, i;

	choose(documents, PART, Min(candidates, documents->found->members), &first);
	for (i = 0; i < first.count; i++)
		documents_lookup(documents->found, first.items[i].row)->rank = i;
	for (i = 0; i < documents->best.count; i++)
		count +=
			documents_lookup(documents->found, documents->best.items[i].row)->rank == PG_INT32_MAX;
	pfree(first.items);
	return count;
}

/* compare_rest: compare all documents that were found. */
static void
compare_rest(HybridScan *state)
{
	HybridDocuments *documents = state->documents;
	documents_iterator each;
	Document *document;

	documents_start_iterate(documents->found, &each);
	while ((document = documents_iterate(documents->found, &each)) != NULL &&
	       !enough_compared(state))
	{
		CHECK_FOR_INTERRUPTS();
		if (document->compared == 0)
			compare_some(state, &document->position, 1);
	}
}

/* bounded: test whether bounds apply. Without conditions, they do so only after k documents are found. */
static bool
bounded(const HybridScan *state)
{
	const HybridDocuments *documents = state->documents;

	return state->settings.iterative_scan != HYBRID_ITERATIVE_OFF && !state->exact &&
	       (documents->best.count == documents->best.k ||
	        hybrid_scan_quals_share(state->filter) < 1);
}

/* enough_compared: test whether the scan has compared as many documents as it may. */
static bool
enough_compared(HybridScan *state)
{
	const HybridLookupWork *work = &state->done.work;

	if (bounded(state) && !state->asked.all &&
	    work->rescored + work->rejected >= state->settings.max_scan_tuples)
		state->limit_reached = HY_SCAN_TUPLES;
	return state->limit_reached == HY_SCAN_TUPLES;
}

/*
 * is_full: test whether there is no memory for more documents. Those found are compared all the same. The hash table has
 * up to twice as many slots as documents.
 */
static bool
is_full(HybridScan *state)
{
	double memory = 2.0 * state->documents->found->members * sizeof(Document);

	if (!bounded(state) || memory <= work_mem * 1024.0 * state->settings.mem_multiplier)
		return false;
	if (state->limit_reached == HY_SCAN_NO_LIMIT)
		state->limit_reached = HY_SCAN_MEMORY;
	return true;
}

double
hybrid_documents_memory_of_all(double rows)
{
	return 2 * rows * sizeof(Document);
}
