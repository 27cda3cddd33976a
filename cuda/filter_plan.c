/*
 * filter_plan.c
 *		Plans the groups and pieces of a filtered 'topk'.
 *
 * If there are several groups, rows in host memory are uploaded with the first group and stay on
 * the device for the later groups.  If the plan would then take more than half of the free memory,
 * each group uploads the rows again.
 *
 * Groups of queries are as large as memory allows, because all rows are rounded once per group.  A
 * filtered piece has at most as many rows as all earlier pieces together.  So at least half of all
 * rows up to its end have been compared already, and the lists of candidates stay short.
 */
#include "cuda/filter_plan.h"

#include <math.h>

#define MIB ((uint64_t) 1024 * 1024)
#define ALIGNED 256

/*
 * Most bytes for queries and for rows.  They are enough for a group of 10,000 queries of 768 dims
 * with k = 10, and for a piece of 40,000 rows of that width.  The matrix unit of a large device
 * multiplies such a piece in slightly more than a millisecond.  A piece should not be shorter,
 * because settling takes some time even with few candidates.
 */
#define MOST_OF_QUERIES (64 * MIB)
#define MOST_OF_ROWS (64 * MIB)

/*
 * A plan that needs too much memory gets smaller pieces, down to about SMALLEST_ROOM rows, and then
 * smaller groups, down to SMALLEST_GROUP queries.  Smaller sizes are not worth the filter's start
 * cost.
 */
#define SMALLEST_GROUP HY_CUDA_TILE
#define SMALLEST_ROOM (4 * HY_CUDA_TILE)

#define LIST_ROOM 32       /* capacity of a list of candidates, as a multiple of k */
#define CANONICAL_ROWS 256 /* fewest rows per group that are compared canonically first */

/*
 * Costs of four steps of the filter: rounding a row, rounding a query, computing a product, and
 * examining a candidate.  The unit is the cost of a canonical distance.  The costs are derived from
 * rated speeds of instructions and memory of compute capability 8.0, not measured.
 */
#define ROW_PRICE 4
#define QUERY_PRICE 10
#define PRODUCT_PRICE 0.06
#define CANDIDATE_PRICE 3

static int64_t room_of(const HyCudaFilterPlan *plan, const HyCudaScratch *scratch, int64_t most);
static int64_t uploaded_at_once(const HyCudaWork *work, const HyCudaScratch *scratch);
static uint64_t part_bytes(const HyCudaFilterPlan *plan, int part);
static uint64_t lay_out(HyCudaFilterPlan *plan);
static void take_group(const HyCudaFilterPlan *plan, HyCudaFilterPiece *piece);
static int64_t least(int64_t a, int64_t b);
static int64_t whole(int64_t count, int64_t of);

/* Estimates the number of candidates as hy_prefilter_pays does. */
bool
hy_cuda_filter_suits(HyMetric metric, const HyCudaWork *work, int32_t k, uint64_t least_work)
{
	double q = (double) work->queries;
	double n = (double) work->rows;
	double product = PRODUCT_PRICE;
	double candidates;

	if (metric == HY_METRIC_L1 || k < 1 || k > HY_CUDA_MAX_K || work->queries == 0 || n < 4.0 * k ||
	    n <= CANONICAL_ROWS || q * n * work->dims < (double) least_work)
		return false;
	product *= (double) whole(work->queries, HY_CUDA_TILE) / q *
	           (double) whole(work->dims, HY_CUDA_TILE_DIMS) / work->dims;
	candidates = k * (2 + log(n / (2.0 * k)));
	return q * n * (1 - product) > n * ROW_PRICE + q * (QUERY_PRICE + CANDIDATE_PRICE * candidates);
}

bool
hy_cuda_filter_plan(const HyCudaWork *work, int32_t k, const HyCudaScratch *scratch,
                    uint64_t free_bytes, bool may_keep, HyCudaFilterPlan *plan)
{
	int64_t results = (int64_t) (scratch->down - HY_CUDA_FILTER_WORD);
	int64_t most;
	int64_t group;

	*plan = (HyCudaFilterPlan){.work = *work, .k = k, .list_room = LIST_ROOM * k};
	plan->padded = (int32_t) whole(work->dims, HY_CUDA_TILE_DIMS);
	plan->first = 2 * k > CANONICAL_ROWS ? 2 * k : CANONICAL_ROWS;

	/* the k best rows of all queries of a group must fit into one copy to the host */
	group = least(work->queries, HY_CUDA_MAX_QUERIES);
	group = least(group, results / (k * (int64_t) sizeof(HyNeighbor)));
	most = (int64_t) (MOST_OF_ROWS / ((uint64_t) plan->padded * sizeof(uint16_t)));
	most = whole(least(most, work->rows), HY_CUDA_TILE);

	plan->group = HY_CUDA_TILE;
	group = least(group, (int64_t) (MOST_OF_QUERIES / (lay_out(plan) / HY_CUDA_TILE)));
	for (;;)
	{
		int64_t groups;

		if (group < 1)
			return false;
		/* give all groups about the same size */
		groups = (work->queries + group - 1) / group;
		plan->group = (int32_t) ((work->queries + groups - 1) / groups);
		for (plan->keeps = may_keep && groups > 1 && !work->resident;; plan->keeps = false)
		{
			plan->room = room_of(plan, scratch, most);
			plan->bytes = lay_out(plan);
			if (plan->bytes <= free_bytes / 2)
				return true;
			if (!plan->keeps)
				break;
		}
		if (plan->room > SMALLEST_ROOM)
			most = whole(plan->room / 2, HY_CUDA_TILE);
		else if (plan->group >= 2 * SMALLEST_GROUP)
			group = plan->group / 2;
		else
			return false;
	}
}

uint64_t
hy_cuda_filter_up_bytes(const HyCudaFilterPlan *plan)
{
	const HyCudaWork *work = &plan->work;
	uint64_t queries = (uint64_t) work->queries;
	uint64_t groups = (queries + (uint64_t) plan->group - 1) / (uint64_t) plan->group;
	uint64_t row_bytes = (uint64_t) work->dims * (uint64_t) work->element;

	return queries *
	           ((uint64_t) work->dims * sizeof(float) + (uint64_t) plan->k * sizeof(HyNeighbor)) +
	       (work->resident ? 0 : (plan->keeps ? 1 : groups) * (uint64_t) work->rows * row_bytes);
}

bool
hy_cuda_filter_next(const HyCudaFilterPlan *plan, const HyCudaScratch *scratch,
                    const HyCudaPace *canonical, const HyCudaPace *filtered, bool useless,
                    HyCudaFilterPiece *piece)
{
	const HyCudaWork *work = &plan->work;
	HyCudaChunk *chunk = &piece->chunk;
	const HyCudaPace *pace;
	int64_t rows;

	chunk->first_row += chunk->row_count;
	chunk->row_count = 0;
	if (chunk->query_count == 0 || chunk->first_row == work->rows)
	{
		if (chunk->first_query + chunk->query_count == work->queries)
			return false;
		take_group(plan, piece);
	}

	piece->up_first += piece->up_count;
	piece->up_count = 0;
	if (piece->up_first < chunk->query_count)
	{
		int64_t count = chunk->query_count - piece->up_first;

		count = least(count, (int64_t) (scratch->up / ((uint64_t) work->dims * sizeof(float))));
		piece->stage = HY_CUDA_QUERIES_UP;
		piece->up_count = (int32_t) count;
		return true;
	}

	piece->stage = useless || chunk->first_row < plan->first ? HY_CUDA_CANONICAL : HY_CUDA_FILTERED;
	rows = work->rows - chunk->first_row;
	if (hy_cuda_filter_uploads(plan, chunk))
		rows = least(rows, uploaded_at_once(work, scratch));
	if (piece->stage == HY_CUDA_FILTERED)
	{
		pace = filtered;
		rows = least(rows, least(plan->room, chunk->first_row));
	}
	else
	{
		pace = canonical;
		if (chunk->first_row < plan->first)
			rows = least(rows, plan->first - chunk->first_row);
	}
	rows = least(rows, (int64_t) (pace->work / hy_cuda_work(work->dims, chunk->query_count, 1)));
	/* an incomplete tile takes as long as a complete tile */
	if (piece->stage == HY_CUDA_FILTERED && rows > HY_CUDA_TILE &&
	    rows < work->rows - chunk->first_row)
		rows -= rows % HY_CUDA_TILE;
	chunk->row_count = rows < 1 ? 1 : rows;
	return true;
}

bool
hy_cuda_filter_uploads(const HyCudaFilterPlan *plan, const HyCudaChunk *chunk)
{
	return !plan->work.resident && !(plan->keeps && chunk->first_query > 0);
}

/* room_of: return the largest number of rows that one piece can round, at most `most`. */
static int64_t
room_of(const HyCudaFilterPlan *plan, const HyCudaScratch *scratch, int64_t most)
{
	if (plan->work.resident || plan->keeps)
		return most;
	return whole(least(most, uploaded_at_once(&plan->work, scratch)), HY_CUDA_TILE);
}

/* uploaded_at_once: return the largest number of rows that one piece can upload. */
static int64_t
uploaded_at_once(const HyCudaWork *work, const HyCudaScratch *scratch)
{
	return (int64_t) (scratch->up / ((uint64_t) work->dims * (uint64_t) work->element));
}

static uint64_t
part_bytes(const HyCudaFilterPlan *plan, int part)
{
	uint64_t dims = (uint64_t) plan->work.dims;
	uint64_t padded = (uint64_t) plan->padded;
	uint64_t group = (uint64_t) plan->group;
	uint64_t group_room = (uint64_t) whole(plan->group, HY_CUDA_TILE);
	uint64_t room = (uint64_t) plan->room;

	switch (part)
	{
		case HY_CUDA_PART_QUERIES:
			return group * dims * sizeof(float);
		case HY_CUDA_PART_ROUNDED_QUERIES:
			return group_room * padded * sizeof(uint16_t);
		case HY_CUDA_PART_AIM:
			return group_room * sizeof(HyCudaAim);
		case HY_CUDA_PART_COUNT:
			return group * sizeof(int32_t);
		case HY_CUDA_PART_FOUND:
			return group * (uint64_t) plan->list_room * sizeof(int32_t);
		case HY_CUDA_PART_ROUNDED_ROWS:
			return room * padded * sizeof(uint16_t);
		case HY_CUDA_PART_REACH:
			return room * sizeof(HyCudaReach);
		case HY_CUDA_PART_MIDDLE:
			return dims * sizeof(float);
		case HY_CUDA_PART_KEPT:
			return plan->keeps ? (uint64_t) plan->work.rows * dims * (uint64_t) plan->work.element
			                   : 0;
		default:
			return sizeof(int32_t);
	}
}

/* lay_out: set the offsets of all parts and return the total bytes. */
static uint64_t
lay_out(HyCudaFilterPlan *plan)
{
	uint64_t end = 0;
	int part;

	for (part = 0; part < HY_CUDA_PARTS; part++)
	{
		plan->offset[part] = end;
		end += (part_bytes(plan, part) + ALIGNED - 1) / ALIGNED * ALIGNED;
	}
	return end;
}

/*
 * take_group: set *piece to the start of the next group.  None of the group's queries is on the
 * device yet.
 */
static void
take_group(const HyCudaFilterPlan *plan, HyCudaFilterPiece *piece)
{
	HyCudaChunk *chunk = &piece->chunk;

	chunk->first_query += chunk->query_count;
	chunk->query_count = (int32_t) least(plan->group, plan->work.queries - chunk->first_query);
	chunk->first_row = 0;
	piece->up_first = piece->up_count = 0;
}

static int64_t
least(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t
whole(int64_t count, int64_t of)
{
	return (count + of - 1) / of * of;
}
