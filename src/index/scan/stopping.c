/*
 * stopping.c
 *		When a search has found enough: how many rows it misses, by what it has seen itself.
 *
 * The codes of the rows that a search has scored are a sample of u (frontier.c), whose tail (core/tail.h) says how
 * many rows each of the other lists has that are nearer than the k-th best.  How many were found in lists beside how
 * many were expected there sets that right.  The search ends when fewer are expected to be missing than may be.  So a
 * query that is unlike the rows is not taken for one that is like them.  (A recall estimated for each query while it is
 * searched for: J. Mohoney et al., "Quake: adaptive indexing for vector search", 2025; M. Chatzakis et al., "DARTH:
 * declarative recall through early termination", 2025.)
 *
 * EVIDENCE, FEW, INSIDE and CLEAR were chosen by bench/recall.sh: with other random numbers, and for LIMIT 1, 10 and
 * 100, recall stays within the target's tolerance on the shapes that it has.
 */
#include "postgres.h"

#include <math.h>

#include "port/pg_bitutils.h"

#include "index/scan/stopping.h"

#define SAMPLED 64  /* rows of a list that are sampled */
#define SAMPLE 4096 /* and of all lists */
#define EVIDENCE 5  /* rows that count as expected and as found before there are any */
#define FEW 10.0    /* lists: an estimate after so many is doubled, after more of them by less */
#define CLEAR 16.0  /* dimensions: in fewer of them exactness is nearly free */
#define NEARLY 0.01 /* of the rows that are wanted may be missing then */
#define NEAR 8      /* lists, the first ones, by which it is said how difficult a query is */
/* INSIDE: squared distance of the first centroids, over squared radius: no row of theirs has less. */
#define INSIDE 0.75
#define NARROW 1e-3f /* radius of a list, over its distance: below that its rows are not sampled */

static void note_near(HybridStopping *stopping, const HybridFrontier *frontier, int which);
static double scale(const HybridStopping *stopping, const HybridLookupWork *work);

void
hybrid_stopping_init(HybridStopping *stopping)
{
	stopping->sample = palloc(SAMPLE * sizeof(float));
	hybrid_stopping_clear(stopping);
}

void
hybrid_stopping_clear(HybridStopping *stopping)
{
	float *sample = stopping->sample;

	memset(stopping, 0, sizeof(*stopping));
	stopping->sample = sample;
}

int
hybrid_stopping_list(HybridStopping *stopping, const HybridFrontier *frontier, int which)
{
	const HybridWaiting *list = &frontier->lists[which];

	if (!(list->radius > NARROW * list->reach.reach))
		return 0;
	if (stopping->near < NEAR)
		note_near(stopping, frontier, which);
	return stopping->sampled + SAMPLED <= SAMPLE ? SAMPLED / HY_CODE_ROWS - 1 : 0;
}

void
hybrid_stopping_rows(HybridStopping *stopping, const HybridFrontier *frontier, int which,
                     const HybridBlock *block, const float *estimates)
{
	float middle, inverse, reach = frontier->lists[which].reach.reach;
	float slack = frontier->scorer->query.slack;
	float *sample = stopping->sample + stopping->sampled;
	double noise = 0;
	uint32 live = block->live;
	int count = 0;

	hybrid_frontier_cosines(frontier, which, &middle, &inverse);
	for (; live != 0; live &= live - 1)
	{
		int i = pg_rightmost_one_pos32(live);
		float u = (middle - estimates[i]) * inverse;
		float code = block->factors.error[i] * reach * inverse;
		float tables = block->factors.rescale[i] * slack * inverse;

		if (!isfinite(u) || !isfinite(code))
			continue;
		sample[count++] = u;
		noise += code * code + tables * tables;
	}
	stopping->sampled += count;
	stopping->noise += noise;
}

void
hybrid_stopping_took(HybridStopping *stopping, const int *lists, int count)
{
	memcpy(stopping->taken, lists, count * sizeof(int));
	stopping->taken_count = count;
}

void
hybrid_stopping_compare(HybridStopping *stopping, const HybridFrontier *frontier, float limit,
                        int k, int found)
{
	double expected = 0;
	float middle, inverse;
	int i;

	hy_tail_fit(&stopping->tail, stopping->sample, stopping->sampled,
	            (float) (stopping->noise / Max(stopping->sampled, 1)),
	            1.0f / frontier->scorer->open.layout.dims);
	for (i = 0; i < stopping->taken_count; i++)
	{
		hybrid_frontier_cosines(frontier, stopping->taken[i], &middle, &inverse);
		expected += frontier->lists[stopping->taken[i]].rows *
		            hy_tail_at(&stopping->tail, (middle - limit) * inverse);
	}
	stopping->found += found;
	/* there cannot be more than k */
	stopping->expected += Min(expected, k);
	stopping->taken_count = 0;
}

bool
hybrid_stopping_enough(HybridStopping *stopping, HybridFrontier *frontier, float limit, int k,
                       const HybridLookupWork *work, double *beyond)
{
	const HybridLookupLimits *limits = &frontier->limits;
	int difficulty = hybrid_stopping_difficulty(stopping, frontier, limit);
	/* the more has been looked at, the less there is to be saved by a guess at the rest */
	double left = Max(1 - (double) work->lists / frontier->scorer->tree.leaves, 0);
	double missing;

	stopping->rest = hybrid_frontier_expect(frontier, &stopping->tail, limit);
	stopping->estimated = true;
	missing = difficulty < 0 ? -1 : limits->missing[difficulty];
	missing = missing < 0 ? limits->other : missing;
	/* in few dimensions it is clear which lists have what is near */
	missing = Min(missing, Max(missing * frontier->scorer->open.layout.dims / CLEAR, NEARLY));
	*beyond = missing * k * left * left / scale(stopping, work);
	stopping->ended = stopping->rest <= *beyond;
	return stopping->ended;
}

double
hybrid_stopping_missing(const HybridStopping *stopping, const HybridLookupWork *work)
{
	return stopping->rest * scale(stopping, work);
}

int
hybrid_stopping_difficulty(const HybridStopping *stopping, const HybridFrontier *frontier,
                           float limit)
{
	/* of the cosine that the k-th row has in a list as near as the first ones */
	static const float edges[HYBRID_DIFFICULTIES - 1] = {0.15f, 0.3f, 0.45f, 0.6f, 0.8f};
	float cosine;
	int difficulty = 0;

	if (isinf(limit) || stopping->near == 0 ||
	    (frontier->scorer->open.metric != HY_METRIC_IP &&
	     stopping->near_reach < INSIDE * stopping->near_radius))
		return -1;
	cosine = (float) ((stopping->near_middle - limit * stopping->near_inverse) / stopping->near);
	while (difficulty < HYBRID_DIFFICULTIES - 1 && cosine > edges[difficulty])
		difficulty++;
	return difficulty;
}

/* note_near: one of the first lists. */
static void
note_near(HybridStopping *stopping, const HybridFrontier *frontier, int which)
{
	const HybridWaiting *list = &frontier->lists[which];
	float middle, inverse;

	hybrid_frontier_cosines(frontier, which, &middle, &inverse);
	if (!isfinite(middle * inverse))
		return;
	stopping->near++;
	stopping->near_middle += (double) middle * inverse;
	stopping->near_inverse += inverse;
	stopping->near_reach += (double) list->reach.reach * list->reach.reach;
	stopping->near_radius += (double) list->radius * list->radius;
}

/*
 * scale: how many rows there will be for each that is expected: as many as there were in the lists that were looked
 * into, and of these as many as are wanted.
 */
static double
scale(const HybridStopping *stopping, const HybridLookupWork *work)
{
	double wanted =
		work->rejected > 0 ? (double) work->rescored / (work->rescored + work->rejected) : 1;

	return wanted * (stopping->found + EVIDENCE) / (stopping->expected * wanted + EVIDENCE) *
	       (1 + FEW / Max(work->lists, 1));
}
