/*
 * found_documents.c
 *		The documents that a scan of an index on arrays has found: see found_documents.h.
 */
#include "postgres.h"

#include <math.h>

#include "common/hashfn.h"
#include "miscadmin.h"

#include "index/scan/found_documents.h"

#define FIRST_ROOM 64

#define SH_PREFIX documents
#define SH_ELEMENT_TYPE HybridDocument
#define SH_KEY_TYPE int64
#define SH_KEY position
#define SH_HASH_KEY(table, key)                                                                    \
	hash_combine(murmurhash32((uint32) (key)), (uint32) ((uint64) (key) >> 32))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

static HybridDocument *add(HybridFoundDocuments *found, int64 position, double room);
static void measure_gap(HybridFoundDocuments *found, int part);
static double estimate(const HybridFoundDocuments *found, int part, const HybridDocument *document);

void
hybrid_found_documents_init(HybridFoundDocuments *found, int vectors)
{
	memset(found, 0, sizeof(*found));
	found->context = CurrentMemoryContext;
	found->vectors = vectors;
	found->table = documents_create(CurrentMemoryContext, FIRST_ROOM, NULL);
}

int64
hybrid_found_documents_count(const HybridFoundDocuments *found)
{
	return found->table->members;
}

HybridDocument *
hybrid_found_documents_get(const HybridFoundDocuments *found, int64 position)
{
	return documents_lookup(found->table, position);
}

void
hybrid_found_documents_best(HybridFoundDocuments *found, int k)
{
	documents_iterator each;
	HybridDocument *document;

	if (found->best.items != NULL)
		pfree(found->best.items);
	hy_topk_init(&found->best,
	             MemoryContextAllocHuge(found->context, (Size) k * sizeof(HyNeighbor)), k);
	documents_start_iterate(found->table, &each);
	while ((document = documents_iterate(found->table, &each)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		if (document->compared > 0)
			(void) hy_topk_push(&found->best, document->exact, document->position);
	}
}

void
hybrid_found_documents_begin(HybridFoundDocuments *found)
{
	found->round++;
	memset(found->level, 0, sizeof(found->level));
}

void
hybrid_found_documents_add(HybridFoundDocuments *found, int part, int vector,
                           const HybridFoundRow *rows, int count, double room)
{
	HybridLevel *level = &found->level[part];
	double last = count > 0 ? rows[count - 1].distance : 0;
	int i;

	if (count > 0 && isfinite(last - rows[0].distance))
		level->spread += (last - rows[0].distance) / found->vectors;
	last = isfinite(last) ? last : 0;
	level->frontier += last;
	for (i = 0; i < count; i++)
	{
		HybridDocument *document = add(found, rows[i].position, room);
		HybridKnown *known;

		if (document == NULL)
			continue;
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

void
hybrid_found_documents_choose(HybridFoundDocuments *found, int part, int64 most, HyTopK *first)
{
	documents_iterator each;
	HybridDocument *document;
	int i;

	hy_topk_init(first, MemoryContextAllocHuge(found->context, most * sizeof(HyNeighbor)),
	             (int32) most);
	measure_gap(found, part);
	documents_start_iterate(found->table, &each);
	while ((document = documents_iterate(found->table, &each)) != NULL)
	{
		CHECK_FOR_INTERRUPTS();
		document->rank = PG_INT32_MAX;
		if (document->round == found->round &&
		    (part == HYBRID_WHOLE || document->known[part].seen > 0))
			(void) hy_topk_push(first, estimate(found, part, document), document->position);
	}
	hy_topk_sort(first);
	for (i = 0; i < first->count; i++)
		documents_lookup(found->table, first->items[i].row)->rank = i;
}

int
hybrid_found_documents_ranked(const HybridFoundDocuments *found, int rank)
{
	int count = 0, i;

	for (i = 0; i < found->best.count; i++)
		count += documents_lookup(found->table, found->best.items[i].row)->rank >= rank;
	return count;
}

int
hybrid_found_documents_new(const HybridFoundDocuments *found)
{
	int count = 0, i;

	for (i = 0; i < found->best.count; i++)
		count += documents_lookup(found->table, found->best.items[i].row)->compared == found->round;
	return count;
}

int
hybrid_found_documents_later(HybridFoundDocuments *found, int64 candidates)
{
	HyTopK first;

	hybrid_found_documents_choose(found, HYBRID_PART, Min(candidates, found->table->members),
	                              &first);
	pfree(first.items);
	return hybrid_found_documents_ranked(found, PG_INT32_MAX);
}

/* add: return the document at a position, marked as found in this round, or NULL if there is no room for it. */
static HybridDocument *
add(HybridFoundDocuments *found, int64 position, double room)
{
	HybridDocument *document = documents_lookup(found->table, position);
	bool known;

	if (document == NULL)
	{
		/*
		 * To grow, a hash table is copied to one with twice as many slots, and the copy must fit in `room`. The table
		 * may grow before it is full if an element would be far from its slot. While half of the slots are free, this
		 * is improbable, so the room is not checked.
		 */
		if (found->table->members >= found->table->size / 2 &&
		    2.0 * (double) found->table->size * sizeof(HybridDocument) > room)
		{
			found->full = true;
			return NULL;
		}
		document = documents_insert(found->table, position, &known);
		document->compared = document->round = 0;
		document->rejected = document->returned = false;
	}
	if (document->round != found->round)
	{
		document->round = found->round;
		memset(document->known, 0, sizeof(document->known));
		document->known[HYBRID_WHOLE].vector = document->known[HYBRID_PART].vector = -1;
	}
	return document;
}

/* measure_gap: compute the mean gap in the documents that were compared. */
static void
measure_gap(HybridFoundDocuments *found, int part)
{
	HybridLevel *level = &found->level[part];
	/* start as if one document had been compared, with an assumed gap: half of the spread */
	double unseen = found->vectors, sum = unseen * level->spread / 2;
	documents_iterator each;
	HybridDocument *document;

	documents_start_iterate(found->table, &each);
	while ((document = documents_iterate(found->table, &each)) != NULL)
	{
		double gap = document->exact - document->known[part].nearer - level->frontier;

		CHECK_FOR_INTERRUPTS();
		if (document->compared == 0 || document->round != found->round || !isfinite(gap))
			continue;
		unseen += found->vectors - document->known[part].seen;
		sum += gap;
	}
	level->gap = unseen > 0 ? sum / unseen : 0;
}

/* estimate: estimate the distance of a candidate. */
static double
estimate(const HybridFoundDocuments *found, int part, const HybridDocument *document)
{
	const HybridLevel *level = &found->level[part];
	const HybridKnown *known = &document->known[part];

	return known->nearer + level->frontier + level->gap * (found->vectors - known->seen);
}
