/*
 * found_documents.h
 *		The documents that a scan of an index on arrays has found, and their estimated distances.
 *
 * A document's distance is estimated from the entries that searches have found. For a vector of the query for which an
 * entry of the document was found, that is the entry's distance. For any other, it is the distance of the last entry
 * found, plus a gap: the mean gap in the documents that were compared exactly. (As in the threshold algorithms of
 * R. Fagin, A. Lotem and M. Naor, "Optimal aggregation algorithms for middleware", 2003, and with imputed distances as
 * in J. Lee et al., "Rethinking the role of token retrieval in multi-vector retrieval", 2023, where the gap is 0.)
 */
#ifndef HYBRID_INDEX_FOUND_DOCUMENTS_H
#define HYBRID_INDEX_FOUND_DOCUMENTS_H

#include "postgres.h"

#include "core/topk.h"
#include "server/store.h"

/* a search, and the first part of it, which is a search with a share of the lists and entries */
enum
{
	HYBRID_WHOLE,
	HYBRID_PART,
	HYBRID_PARTS
};

/* HybridKnown: the nearest entries of a document that were found, one for each vector of the query. */
typedef struct HybridKnown
{
	double nearer; /* sum of the distances by which they are nearer than the last entries found */
	int seen;      /* number of vectors of the query for which an entry was found */
	int vector;    /* the last of these vectors */
} HybridKnown;

/* HybridDocument: a row of the table that a search has found. */
typedef struct HybridDocument
{
	int64 position;
	HybridKnown known[HYBRID_PARTS];
	double exact; /* its distance; NaN if it has none or is rejected */
	int round;    /* round of the last search that found the document */
	int compared; /* round in which it was compared exactly, or 0 */
	int rank;     /* among the first candidates; PG_INT32_MAX if it is none of them */
	char status;
	bool rejected; /* the conditions reject it */
	bool returned;
} HybridDocument;

/* HybridLevel: what a search, or the first part of it, has found for all documents. */
typedef struct HybridLevel
{
	double frontier; /* sum of the distances of the last entries found */
	double spread;   /* mean of the distances between the first and the last entry found */
	double gap;      /* see above */
} HybridLevel;

typedef struct HybridFoundDocuments
{
	MemoryContext context;
	struct documents_hash *table;
	int vectors; /* of the query */
	int round;
	bool full;   /* there was no memory for a document that a search has found */
	HyTopK best; /* the k best documents of those compared */
	HybridLevel level[HYBRID_PARTS];
} HybridFoundDocuments;

/* hybrid_found_documents_init: make an empty set for a query of so many vectors, in the current memory context. */
extern void hybrid_found_documents_init(HybridFoundDocuments *found, int vectors);

/* hybrid_found_documents_count: return the number of documents. */
extern int64 hybrid_found_documents_count(const HybridFoundDocuments *found);

/* hybrid_found_documents_get: return the document at a position, or NULL. Adding documents moves it. */
extern HybridDocument *
hybrid_found_documents_get(const HybridFoundDocuments *found, int64 position);

/* hybrid_found_documents_best: make a heap of the k best documents among those compared so far. */
extern void hybrid_found_documents_best(HybridFoundDocuments *found, int k);

/* hybrid_found_documents_begin: begin a round, in which each vector of the query is searched for once. */
extern void hybrid_found_documents_begin(HybridFoundDocuments *found);

/*
 * hybrid_found_documents_add: add the entries found for a vector of the query, sorted by distance, to their documents.
 * The table of documents may take `room` more bytes. If that does not suffice for further documents, only those found
 * before get their entries, and found->full is set.
 */
extern void hybrid_found_documents_add(HybridFoundDocuments *found, int part, int vector,
                                       const HybridFoundRow *rows, int count, double room);

/*
 * hybrid_found_documents_choose: choose the `most` candidates of this round with the best estimates, sort them, and set
 * the ranks of all documents. The caller frees first->items.
 */
extern void
hybrid_found_documents_choose(HybridFoundDocuments *found, int part, int64 most, HyTopK *first);

/* hybrid_found_documents_ranked: return the number of the k best documents whose rank is at least this one. */
extern int hybrid_found_documents_ranked(const HybridFoundDocuments *found, int rank);

/* hybrid_found_documents_new: return the number of the k best documents that were compared in this round. */
extern int hybrid_found_documents_new(const HybridFoundDocuments *found);

/*
 * hybrid_found_documents_later: return the number of the k best documents that are not among the first candidates of the
 * first part of the search, which are so many.
 */
extern int hybrid_found_documents_later(HybridFoundDocuments *found, int64 candidates);

#endif
