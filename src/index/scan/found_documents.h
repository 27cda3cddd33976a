/*
 * found_documents.h
 *		The documents that a scan of an index on arrays has found, and their estimated distances.
 *
 * A document's distance is estimated from the entries that searches have found. The estimate is a sum with one term per
 * vector of the query. If entries of the document were found for the vector, the term is the distance of the nearest.
 * Otherwise it is the distance of the last entry found for the vector, plus a gap. The gap is the mean difference
 * between the true term and that distance in the documents that were compared exactly. (This resembles the threshold
 * algorithms of R. Fagin, A. Lotem and M. Naor, "Optimal aggregation algorithms for middleware", 2003. Distances are
 * imputed as in J. Lee et al., "Rethinking the role of token retrieval in multi-vector retrieval", 2023, where the gap
 * is 0.)
 */
#ifndef HYBRID_INDEX_FOUND_DOCUMENTS_H
#define HYBRID_INDEX_FOUND_DOCUMENTS_H

#include "postgres.h"

#include "core/topk.h"
#include "server/store.h"

/* the whole search, and its first part, which shows what a search with fewer lists and entries would have found */
enum
{
	HYBRID_WHOLE,
	HYBRID_PART,
	HYBRID_PARTS
};

/* HybridKnown: the nearest entries found of a document, at most one for each vector of the query. */
typedef struct HybridKnown
{
	/* sum, over these entries, of the entry's distance minus that of the last entry found for the vector; at most 0 */
	double nearer;
	int seen;   /* number of vectors of the query for which an entry was found */
	int vector; /* the last of these vectors */
} HybridKnown;

/* HybridDocument: a row of the table that a search has found. */
typedef struct HybridDocument
{
	int64 position;
	HybridKnown known[HYBRID_PARTS];
	double exact;  /* distance of the document; NaN if the document has none or is rejected */
	int round;     /* round of the last search that found the document */
	int compared;  /* round in which the document was compared exactly, or 0 */
	int rank;      /* rank among the candidates chosen last, from 0; PG_INT32_MAX if not chosen */
	char status;   /* private to the hash table */
	bool rejected; /* the conditions reject it */
	bool returned;
} HybridDocument;

/* HybridLevel: figures about a whole search, or about its first part, over all vectors of the query. */
typedef struct HybridLevel
{
	double frontier; /* sum of the distances of the last entry found for each vector */
	double spread;   /* mean of the last entry's distance minus the first's, over the vectors */
	double gap;      /* mean gap: see the head of this file */
} HybridLevel;

typedef struct HybridFoundDocuments
{
	MemoryContext context;
	struct documents_hash *table;
	int vectors; /* number of vectors of the query */
	int round;
	bool full;   /* there was no memory for a document that a search has found */
	HyTopK best; /* the k best documents of those compared */
	HybridLevel level[HYBRID_PARTS];
} HybridFoundDocuments;

/* hybrid_found_documents_init: make an empty set for a query of `vectors` vectors, in the current memory context. */
extern void hybrid_found_documents_init(HybridFoundDocuments *found, int vectors);

/* hybrid_found_documents_count: return the number of documents. */
extern int64 hybrid_found_documents_count(const HybridFoundDocuments *found);

/* hybrid_found_documents_get: return the document at a position, or NULL. Valid until another document is added. */
extern HybridDocument *
hybrid_found_documents_get(const HybridFoundDocuments *found, int64 position);

/* hybrid_found_documents_best: make a heap of the k best documents among those compared so far. */
extern void hybrid_found_documents_best(HybridFoundDocuments *found, int k);

/* hybrid_found_documents_begin: begin a round of searches, with one search for each vector of the query. */
extern void hybrid_found_documents_begin(HybridFoundDocuments *found);

/*
 * hybrid_found_documents_add: add the entries found for a vector of the query, sorted by distance, to their documents.
 * The table of documents may take `room` more bytes. If that is too little for new documents, only the documents that
 * are in the table already get their entries, and found->full is set.
 */
extern void hybrid_found_documents_add(HybridFoundDocuments *found, int part, int vector,
                                       const HybridFoundRow *rows, int count, double room);

/*
 * hybrid_found_documents_choose: set *first to at most `most` candidates of this round, those with the best estimates,
 * sorted. Sets the ranks of all documents. The caller frees first->items.
 */
extern void
hybrid_found_documents_choose(HybridFoundDocuments *found, int part, int64 most, HyTopK *first);

/* hybrid_found_documents_ranked: return how many of the k best documents have at least this rank. */
extern int hybrid_found_documents_ranked(const HybridFoundDocuments *found, int rank);

/* hybrid_found_documents_new: return how many of the k best documents were compared in this round. */
extern int hybrid_found_documents_new(const HybridFoundDocuments *found);

/*
 * hybrid_found_documents_later: return how many of the k best documents are not among the best `candidates` candidates
 * of the first part of the search. Changes the ranks of all documents.
 */
extern int hybrid_found_documents_later(HybridFoundDocuments *found, int64 candidates);

#endif
