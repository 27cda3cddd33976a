/*
 * maxsim.h
 *		MaxSim: how well a document of many vectors answers a query of many vectors.
 *
 * For each vector of the query, take the largest inner product with a vector of the document.
 * MaxSim is the sum of these products, in double precision and in the order of the query's vectors.
 * Products are canonical (distance.h), so MaxSim has the same bits on every machine.  A product
 * that is NaN does not count.  If all products of a query vector are NaN, MaxSim is NaN.
 */
#ifndef HY_MAXSIM_H
#define HY_MAXSIM_H

#include "core/allocator.h"
#include "core/batch.h"
#include "core/cancel.h"
#include "core/status.h"

/*
 * HyMaxsim: a query whose vectors were rounded to integers as in prefilter.h.  Rounded products of all
 * pairs then show which canonical products may be the largest.
 */
typedef struct HyMaxsim HyMaxsim;

/*
 * hy_maxsim_create: round a query that is compared with many documents.  Returns NULL if the query
 * has too few vectors to save time, if it has too many, or when out of memory.
 */
extern HyMaxsim *hy_maxsim_create(const HyMatrix *query, const HyAllocator *allocator);

/* hy_maxsim_free: free what hy_maxsim_create returned.  maxsim may be NULL. */
extern void hy_maxsim_free(HyMaxsim *maxsim, const HyAllocator *allocator);

/*
 * hy_maxsim: compute MaxSim of a query of fp32 vectors and a document, both with at least one row,
 * of the same dimensions.  `rounded` was created from this query, or is NULL.  The result is the
 * same either way.  Returns HY_INVALID, HY_CANCELLED, or HY_OK.
 */
extern HyStatus hy_maxsim(const HyMatrix *query, HyMaxsim *rounded, const HyMatrix *document,
                          double *out, const HyCancel *cancel);

#endif
