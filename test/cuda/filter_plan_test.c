/*
 * filter_plan_test.c
 *		Checks that the groups and pieces of a filtered task cover the task exactly once and fit
 *		their memory.
 */
#include "unit.h"

#include "cuda/filter_plan.h"

static UnitRandom randomness = {77};

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

/* check_parts: check that the parts follow each other and that each is as large as its content. */
static void
check_parts(const HyCudaFilterPlan *plan)
{
	int64_t queries = (plan->group + HY_CUDA_TILE - 1) / HY_CUDA_TILE * HY_CUDA_TILE;
	uint64_t bytes[HY_CUDA_PARTS] = {
		[HY_CUDA_PART_QUERIES] = (uint64_t) plan->group * plan->work.dims * sizeof(float),
		[HY_CUDA_PART_ROUNDED_QUERIES] = (uint64_t) queries * plan->padded * 2,
		[HY_CUDA_PART_AIM] = (uint64_t) queries * sizeof(HyCudaAim),
		[HY_CUDA_PART_COUNT] = (uint64_t) plan->group * sizeof(int32_t),
		[HY_CUDA_PART_FOUND] = (uint64_t) plan->group * plan->list_room * sizeof(int32_t),
		[HY_CUDA_PART_ROUNDED_ROWS] = (uint64_t) plan->room * plan->padded * 2,
		[HY_CUDA_PART_REACH] = (uint64_t) plan->room * sizeof(HyCudaReach),
		[HY_CUDA_PART_MIDDLE] = (uint64_t) plan->work.dims * sizeof(float),
		[HY_CUDA_PART_OVERFLOW] = sizeof(int32_t),
		[HY_CUDA_PART_KEPT] =
			plan->keeps ? (uint64_t) plan->work.rows * plan->work.dims * plan->work.element : 0};
	int part;

	CHECK(plan->padded >= plan->work.dims && plan->padded % HY_CUDA_TILE_DIMS == 0);
	CHECK(plan->room % HY_CUDA_TILE == 0);
	for (part = 0; part < HY_CUDA_PARTS; part++)
	{
		uint64_t end = part + 1 < HY_CUDA_PARTS ? plan->offset[part + 1] : plan->bytes;

		/* asynchronous copies transfer 16 bytes at a time */
		CHECK_INT(plan->offset[part] % 16, 0);
		CHECK(plan->offset[part] + bytes[part] <= end);
	}
}

static void
check_cover(const HyCudaFilterPlan *plan, const HyCudaScratch *scratch, const HyCudaPace *canonical,
            const HyCudaPace *filtered, bool useless)
{
	const HyCudaWork *work = &plan->work;
	HyCudaFilterPiece piece = {0};
	const HyCudaChunk *chunk = &piece.chunk;
	int64_t query = 0;
	int64_t row = 0;
	int32_t up = 0;
	int32_t count = 0;

	while (hy_cuda_filter_next(plan, scratch, canonical, filtered, useless, &piece))
	{
		const HyCudaPace *pace = piece.stage == HY_CUDA_FILTERED ? filtered : canonical;

		if (row == work->rows)
		{
			query += count;
			row = 0;
			up = 0;
		}
		CHECK_INT(chunk->first_query, query);
		count = chunk->query_count;
		CHECK(count >= 1 && count <= plan->group && count <= HY_CUDA_MAX_QUERIES);
		CHECK((uint64_t) count * (uint64_t) plan->k * sizeof(HyNeighbor) <=
		      scratch->down - HY_CUDA_FILTER_WORD);
		CHECK_INT(chunk->first_row, row);
		if (piece.stage == HY_CUDA_QUERIES_UP)
		{
			CHECK_INT(row, 0);
			CHECK_INT(chunk->row_count, 0);
			CHECK_INT(piece.up_first, up);
			CHECK(piece.up_count >= 1);
			CHECK((uint64_t) piece.up_count * work->dims * sizeof(float) <= scratch->up);
			up += piece.up_count;
			continue;
		}
		/* rows come only after all queries of the group */
		CHECK_INT(up, count);
		CHECK(chunk->row_count >= 1 && row + chunk->row_count <= work->rows);
		CHECK_INT(hy_cuda_filter_uploads(plan, chunk),
		          !work->resident && (query == 0 || !plan->keeps));
		if (hy_cuda_filter_uploads(plan, chunk))
			CHECK((uint64_t) chunk->row_count * work->dims * work->element <= scratch->up);
		if (chunk->row_count > 1)
			CHECK(hy_cuda_work(work->dims, count, chunk->row_count) <= pace->work);
		CHECK_INT(piece.stage, useless || row < plan->first ? HY_CUDA_CANONICAL : HY_CUDA_FILTERED);
		if (piece.stage == HY_CUDA_FILTERED)
		{
			/* k distances are known, and the piece has no more rows than were compared before */
			CHECK(row >= 2 * plan->k && chunk->row_count <= row && chunk->row_count <= plan->room);
		}
		row += chunk->row_count;
		if (unit_failed_checks > 0)
			return;
	}
	CHECK_INT(query + count, work->queries);
	CHECK_INT(row, work->rows);
}

static void
pieces_cover_a_task_once(void)
{
	int planned = 0;
	int i;

	for (i = 0; i < 3000; i++)
	{
		HyCudaScratch scratch;
		HyCudaFilterPlan plan;
		HyCudaWork work = {0};
		HyCudaPace canonical = {UINT64_C(1) << (18 + unit_random_below(&randomness, 23))};
		HyCudaPace filtered = {UINT64_C(1) << (18 + unit_random_below(&randomness, 23))};
		int32_t k = 1 + (int32_t) unit_random_below(&randomness, HY_CUDA_MAX_K);
		uint64_t budget = UINT64_C(1) << (20 + unit_random_below(&randomness, 13));

		CHECK(hy_cuda_scratch_plan(budget, &scratch));
		budget -= hy_cuda_scratch_bytes(&scratch);
		work.queries =
			1 + (int64_t) unit_random_below(&randomness, 1 << unit_random_below(&randomness, 18));
		work.rows =
			1 + (int64_t) unit_random_below(&randomness, 1 << unit_random_below(&randomness, 13));
		work.dims = 1 + (int32_t) unit_random_below(&randomness, i % 3 == 0 ? HY_MAX_DIMS : 300);
		work.element = unit_random_below(&randomness, 2) ? 4 : 2;
		work.resident = unit_random_below(&randomness, 2) != 0;
		work.query_down = k * (int32_t) sizeof(HyNeighbor);
		if (work.queries * work.rows > 1 << 22)
			work.rows = 1 + (1 << 22) / work.queries;
		if (!hy_cuda_filter_plan(&work, k, &scratch, budget, true, &plan))
			continue;
		planned++;
		CHECK(plan.bytes <= budget / 2);
		check_parts(&plan);
		check_cover(&plan, &scratch, &canonical, &filtered, i % 7 == 0);
	}
	printf("# %d of 3000 had the memory\n", planned);
	CHECK(planned > 1000);
}

/* the shape for which the sizes were chosen has one group and few pieces */
static void
many_queries_are_one_group(void)
{
	HyCudaWork work = {.queries = 10000,
	                   .rows = 1000000,
	                   .dims = 768,
	                   .element = 4,
	                   .resident = true,
	                   .query_down = 160};
	HyCudaFilterPlan plan;
	HyCudaScratch scratch;

	CHECK(hy_cuda_scratch_plan(UINT64_C(8) << 30, &scratch));
	CHECK(hy_cuda_filter_suits(HY_METRIC_L2, &work, 10, HY_CUDA_FILTER_LEAST));
	CHECK(hy_cuda_filter_plan(&work, 10, &scratch, UINT64_C(8) << 30, true, &plan));
	CHECK_INT(plan.group, 10000);
	CHECK(plan.room > 20000);
	CHECK(plan.bytes < UINT64_C(128) << 20);
	CHECK_INT(hy_cuda_filter_up_bytes(&plan), UINT64_C(10000) * (768 * 4 + 160));
	/* with little memory there are more groups, of about the same size */
	CHECK(hy_cuda_filter_plan(&work, 10, &scratch, UINT64_C(16) << 20, true, &plan));
	CHECK(plan.group < 2000 && 10000 % plan.group < 2000);
	CHECK(plan.bytes <= UINT64_C(8) << 20);
	CHECK(!hy_cuda_filter_plan(&work, 10, &scratch, UINT64_C(1) << 20, true, &plan));
	/* the k best rows of a group are copied down at once */
	work.query_down = 128 * 16;
	CHECK(hy_cuda_filter_plan(&work, 128, &scratch, UINT64_C(8) << 30, true, &plan));
	CHECK(plan.group <= 2048);
}

/* rows are uploaded once if the device can keep them, and once per group if it cannot */
static void
later_groups_find_their_rows(void)
{
	HyCudaWork work = {
		.queries = 32768, .rows = 200000, .dims = 768, .element = 4, .query_down = 160};
	uint64_t rows = UINT64_C(200000) * 768 * 4;
	uint64_t queries = UINT64_C(32768) * (768 * 4 + 160);
	HyCudaFilterPlan plan;
	HyCudaScratch scratch;

	CHECK(hy_cuda_scratch_plan(UINT64_C(8) << 30, &scratch));
	CHECK(hy_cuda_filter_plan(&work, 10, &scratch, UINT64_C(8) << 30, true, &plan));
	CHECK(plan.group <= 32768 / 2 && plan.keeps);
	CHECK_INT(hy_cuda_filter_up_bytes(&plan), queries + rows);
	/* pieces of later groups are as large as those of resident rows */
	CHECK(plan.room > 20000);
	CHECK(hy_cuda_filter_plan(&work, 10, &scratch, UINT64_C(1) << 30, true, &plan));
	CHECK(!plan.keeps);
	CHECK_INT(hy_cuda_filter_up_bytes(&plan),
	          queries + (uint64_t) ((32768 + plan.group - 1) / plan.group) * rows);
	/* a single group needs its rows only once, so they are not kept */
	work.queries = 1000;
	CHECK(hy_cuda_filter_plan(&work, 10, &scratch, UINT64_C(8) << 30, true, &plan));
	CHECK(!plan.keeps && plan.bytes < UINT64_C(128) << 20);
	work.queries = 32768;
	work.resident = true;
	CHECK(hy_cuda_filter_plan(&work, 10, &scratch, UINT64_C(8) << 30, true, &plan));
	CHECK(!plan.keeps);
}

/* suits: return hy_cuda_filter_suits for cosine. */
static bool
suits(const HyCudaWork *work, int32_t k, uint64_t least_work)
{
	return hy_cuda_filter_suits(HY_METRIC_COSINE, work, k, least_work);
}

static void
few_go_the_canonical_way(void)
{
	HyCudaWork work = {.queries = 10000, .rows = 1000000, .dims = 768, .element = 4};
	HyCudaWork other = work;

	CHECK(suits(&work, 10, HY_CUDA_FILTER_LEAST));
	CHECK(!hy_cuda_filter_suits(HY_METRIC_L1, &work, 10, HY_CUDA_FILTER_LEAST));
	CHECK(!suits(&work, 129, HY_CUDA_FILTER_LEAST));
	other.queries = 10;
	CHECK(!suits(&other, 10, 0));
	other.queries = 16;
	CHECK(suits(&other, 10, 0));
	other.queries = 64;
	CHECK(suits(&other, 10, HY_CUDA_FILTER_LEAST));
	other.rows = 1000;
	CHECK(!suits(&other, 10, HY_CUDA_FILTER_LEAST));
	other = work;
	other.rows = least(500, work.rows);
	CHECK(!suits(&other, 128, 0));
	/* dims that are mostly padding */
	other = work;
	other.dims = 1;
	CHECK(!suits(&other, 10, 0));
	other.queries = other.rows = 0;
	CHECK(!suits(&other, 10, 0));
}

int
main(void)
{
	UNIT_RUN(pieces_cover_a_task_once);
	UNIT_RUN(many_queries_are_one_group);
	UNIT_RUN(later_groups_find_their_rows);
	UNIT_RUN(few_go_the_canonical_way);
	return unit_finish();
}
