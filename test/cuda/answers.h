/*
 * answers.h
 *		Checks the answers of a 'topk' or 'score_codes' task: the best rows of each of many queries.
 */
#ifndef HY_TEST_ANSWERS_H
#define HY_TEST_ANSWERS_H

#include "unit.h"

#include "core/batch.h"

/*
 * Answers: a task's answers and the expected ones. `out` and `counts` have one more entry than the
 * task needs.  The test has filled that entry with 0x5a, and the task must not change it.
 */
typedef struct Answers
{
	int64_t queries;
	int32_t k;
	const HyNeighbor *out;
	const HyNeighbor *expected;
	const int32_t *counts;
	const int32_t *expected_counts;
} Answers;

/*
 * check_answers: check that each query has the same rows in the same order with the same bits of
 * the distances. `what` names the task in messages.
 */
static void
check_answers(const Answers *a, const char *what)
{
	int64_t q;
	int32_t i;

	for (q = 0; q < a->queries; q++)
	{
		CHECK_MSG(a->counts[q] == a->expected_counts[q], "%s: query %lld has %d, expected %d", what,
		          (long long) q, (int) a->counts[q], (int) a->expected_counts[q]);
		for (i = 0; i < a->expected_counts[q] && i < a->counts[q]; i++)
		{
			const HyNeighbor *is = &a->out[q * a->k + i];
			const HyNeighbor *should = &a->expected[q * a->k + i];

			CHECK_MSG(is->row == should->row && unit_same_f64(is->distance, should->distance),
			          "%s: query %lld [%d] is %lld at %a, expected %lld at %a", what, (long long) q,
			          (int) i, (long long) is->row, is->distance, (long long) should->row,
			          should->distance);
		}
	}
	/* the entries after the answers are unchanged */
	CHECK_INT(a->out[a->queries * a->k].row, INT64_C(0x5a5a5a5a5a5a5a5a));
	CHECK_INT(a->counts[a->queries], 0x5a5a5a5a);
}

#endif
