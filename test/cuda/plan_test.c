/*
 * plan_test.c
 *		Checks that pieces cover a task exactly once, fit the scratch memory, and keep the work
 *		limit.
 */
#include "unit.h"

#include "cuda/plan.h"

static UnitRandom randomness = {7};

static void
scratch_fits_its_budget(void)
{
	HyCudaScratch scratch;
	uint64_t budget;
	uint64_t smallest = 0;

	for (budget = 1; budget < UINT64_C(1) << 40; budget += budget / 7 + 1)
	{
		if (!hy_cuda_scratch_plan(budget, &scratch))
		{
			CHECK(smallest == 0);
			continue;
		}
		if (smallest == 0)
			smallest = budget;
		CHECK(hy_cuda_scratch_bytes(&scratch) <= budget);
		/* a row and a query of the widest vectors */
		CHECK(scratch.up >= HY_MAX_DIMS * sizeof(float));
		CHECK(scratch.queries >= HY_MAX_DIMS * sizeof(float));
		if (budget > UINT64_C(2) << 20)
			CHECK(hy_cuda_scratch_bytes(&scratch) <= budget / 2);
	}
	CHECK(smallest > 0 && smallest <= UINT64_C(1) << 20);
	CHECK(hy_cuda_scratch_plan(UINT64_C(64) << 30, &scratch));
	CHECK(hy_cuda_scratch_bytes(&scratch) <= UINT64_C(49) << 20);
	CHECK_INT(scratch.up, 16 << 20);
	CHECK_INT(scratch.down, 4 << 20);
	/* with less memory, the part for rows shrinks first */
	CHECK(hy_cuda_scratch_plan(UINT64_C(64) << 20, &scratch));
	CHECK_INT(scratch.up, 4 << 20);
	CHECK_INT(scratch.down, 4 << 20);
}

static void
check_cover(const HyCudaWork *work, const HyCudaScratch *scratch, const HyCudaPace *pace)
{
	HyCudaChunk chunk = {0};
	int64_t query = 0;
	int64_t row = 0;
	int32_t count = 0;
	uint64_t row_bytes = (uint64_t) work->dims * (uint64_t) work->element;

	while (hy_cuda_next_chunk(work, scratch, pace, &chunk))
	{
		if (row == work->rows)
		{
			row = 0;
			query += count;
		}
		CHECK_INT(chunk.first_query, query);
		CHECK_INT(chunk.first_row, row);
		CHECK(row == 0 || chunk.query_count == count);
		CHECK(chunk.query_count >= 1 && chunk.query_count <= HY_CUDA_MAX_QUERIES);
		CHECK(chunk.row_count >= 1 && row + chunk.row_count <= work->rows);
		CHECK((uint64_t) chunk.query_count * (work->dims * sizeof(float) + work->query_up) <=
		      scratch->queries);
		CHECK((uint64_t) chunk.query_count *
		          (work->query_down + chunk.row_count * work->pair_down) <=
		      scratch->down);
		if (!work->resident)
		{
			uint64_t rows = (uint64_t) chunk.row_count * row_bytes;

			/* norms are floats that follow the rows, aligned */
			if (work->row_up > 0)
				rows = (rows + 3) / 4 * 4 + (uint64_t) (chunk.row_count * work->row_up);
			CHECK(rows <= scratch->up);
		}
		if (chunk.row_count > 1)
			CHECK((uint64_t) chunk.query_count * chunk.row_count *
			          (work->dims > 64 ? work->dims : 64) <=
			      pace->work);
		count = chunk.query_count;
		row += chunk.row_count;
		if (unit_failed_checks > 0)
			return;
	}
	CHECK_INT(work->rows == 0 || work->queries == 0 ? 0 : query + count,
	          work->rows == 0 ? 0 : work->queries);
	CHECK(work->queries == 0 || row == work->rows);
}

static void
pieces_cover_a_task_once(void)
{
	HyCudaScratch scratch;
	HyCudaPace pace;
	int i;

	for (i = 0; i < 3000; i++)
	{
		HyCudaWork work;

		CHECK(hy_cuda_scratch_plan(UINT64_C(1) << (20 + unit_random_below(&randomness, 10)),
		                           &scratch));
		work.queries =
			(int64_t) unit_random_below(&randomness, 1 << unit_random_below(&randomness, 17));
		work.rows =
			(int64_t) unit_random_below(&randomness, 1 << unit_random_below(&randomness, 13));
		work.dims = 1 + (int32_t) unit_random_below(&randomness, i % 3 == 0 ? HY_MAX_DIMS : 300);
		work.element = unit_random_below(&randomness, 2) ? 4 : 2;
		work.resident = unit_random_below(&randomness, 2) != 0;
		work.query_up = i % 3 == 0 ? 0 : 8;
		work.row_up = i % 5 == 0 ? 4 : 0;
		/* distances, the k best, or both */
		work.query_down = i % 2 == 0 ? 0 : 16 * (1 + (int32_t) unit_random_below(&randomness, 128));
		work.pair_down = i % 4 == 1 ? 0 : 8;
		pace.work = UINT64_C(1) << (18 + unit_random_below(&randomness, 16));
		if (work.queries * work.rows > 1 << 22)
			work.rows = 1 + (1 << 22) / work.queries;
		check_cover(&work, &scratch, &pace);
	}
}

/*
 * whatever the speed of the device, the time of kernels settles between a fifth of the limit and
 * the limit
 */
static void
pace_finds_the_rate_of_a_device(void)
{
	double us_a_million;

	for (us_a_million = 0.5; us_a_million < 5000; us_a_million *= 1.7)
	{
		HyCudaPace pace;
		double us = 0;
		int i;

		hy_cuda_pace_init(&pace);
		for (i = 0; i < 40; i++)
		{
			us = (double) pace.work / 1e6 * us_a_million;
			hy_cuda_pace_adjust(&pace, pace.work, us);
		}
		CHECK_MSG(us <= HY_CUDA_KERNEL_US && us >= HY_CUDA_KERNEL_US * 0.19,
		          "%g us a million: %g us a kernel", us_a_million, us);
	}
}

/*
 * a million resident rows on a fast device: the number of pieces of the first task and of the next
 * one
 */
static void
one_query_becomes_one_piece(void)
{
	static const int expected[] = {2, 1, 1, 1};
	HyCudaWork work = {.queries = 1,
	                   .rows = 1000000,
	                   .dims = 128,
	                   .element = 4,
	                   .resident = true,
	                   .query_up = 8,
	                   .query_down = 160};
	HyCudaScratch scratch;
	HyCudaPace pace;
	size_t i;

	CHECK(hy_cuda_scratch_plan(UINT64_C(64) << 30, &scratch));
	hy_cuda_pace_init(&pace);
	for (i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
	{
		HyCudaPace before = pace;
		HyCudaChunk chunk = {0};
		int pieces = 0;

		while (hy_cuda_next_chunk(&work, &scratch, &before, &chunk))
		{
			/* both pieces are queued before the time of the first is known */
			hy_cuda_pace_adjust(&pace, hy_cuda_work(work.dims, 1, chunk.row_count),
			                    (double) chunk.row_count * 200 / 1000000);
			pieces++;
		}
		CHECK_INT(pieces, expected[i]);
	}
}

static void
small_work_teaches_no_speed(void)
{
	HyCudaPace pace;
	uint64_t before;

	hy_cuda_pace_init(&pace);
	before = pace.work;
	hy_cuda_pace_adjust(&pace, 1000, 3.0);
	CHECK_INT(pace.work, before);
	hy_cuda_pace_adjust(&pace, 1000, HY_CUDA_KERNEL_US * 2.0);
	CHECK_INT(pace.work, before / 2);
}

int
main(void)
{
	UNIT_RUN(scratch_fits_its_budget);
	UNIT_RUN(pieces_cover_a_task_once);
	UNIT_RUN(pace_finds_the_rate_of_a_device);
	UNIT_RUN(one_query_becomes_one_piece);
	UNIT_RUN(small_work_teaches_no_speed);
	return unit_finish();
}
