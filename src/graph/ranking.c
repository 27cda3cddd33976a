/*
 * ranking.c
 *		The first k rows of an answer that is ordered by score: see ranking.h.
 */
#include "postgres.h"

#include "graph/ranking.h"
#include "miscadmin.h"

static void sink(HybridRanking *ranking, int64 i);
static int compare_scored(const void *a, const void *b);

HybridRanking
hybrid_ranking(HybridCall *call, int64 rows, int64 k)
{
	HybridRanking ranking = {.room = Max(Min(rows, k), 1)};

	ranking.row = hybrid_call_array(call, ranking.room, sizeof(HybridScored));
	return ranking;
}

void
hybrid_ranking_add(HybridRanking *ranking, const HybridScored *row)
{
	int64 i;

	if (ranking->count < ranking->room)
	{
		ranking->row[ranking->count++] = *row;
		for (i = ranking->room / 2 - 1; ranking->count == ranking->room && i >= 0; i--)
			sink(ranking, i);
	}
	else if (compare_scored(row, &ranking->row[0]) < 0)
	{
		ranking->row[0] = *row;
		sink(ranking, 0);
	}
}

void
hybrid_ranking_sort(HybridRanking *ranking)
{
	qsort(ranking->row, (size_t) ranking->count, sizeof(HybridScored), compare_scored);
}

void
hybrid_ranking_answer(HybridRanking *ranking, HybridCall *call, double divisor)
{
	int64 i;

	hybrid_ranking_sort(ranking);
	for (i = 0; i < ranking->count; i++)
		hybrid_call_row(call, (Datum[]){Int64GetDatum(ranking->row[i].id),
		                                Float8GetDatum(ranking->row[i].score / divisor)});
}

/* sink: move row i down the heap until the heap is in order. */
static void
sink(HybridRanking *ranking, int64 i)
{
	HybridScored *heap = ranking->row;
	HybridScored row = heap[i];

	for (;;)
	{
		int64 child = 2 * i + 1;

		if (child >= ranking->count)
			break;
		if (child + 1 < ranking->count && compare_scored(&heap[child + 1], &heap[child]) > 0)
			child++;
		if (compare_scored(&heap[child], &row) <= 0)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = row;
}

static int
compare_scored(const void *a, const void *b)
{
	const HybridScored *left = a;
	const HybridScored *right = b;

	CHECK_FOR_INTERRUPTS();
	if (left->score != right->score)
		return left->score > right->score ? -1 : 1;
	return left->id < right->id ? -1 : left->id > right->id ? 1 : 0;
}
