/*
 * spread_plan.c
 *		Plans the steps in which activation spreads over a graph.
 */
#include "cuda/spread_plan.h"

#include <string.h>

/* Work of one entry and set, in pairs of elements as hy_cuda_work counts them. */
#define ENTRY_WORK 8

/*
 * A hop of at most TURN_WORK work takes about as long as a turn, or less.  If hops are that short
 * and there are at most TURN_HOPS hops, turns are omitted.
 */
#define TURN_WORK ((uint64_t) 1 << 22)
#define TURN_HOPS 32

/*
 * SECTOR is the number of bytes that a read of a charge transfers if the charge is not in the
 * cache.  CACHE_SHARE is the share of the cache in which charges stay while other data streams
 * through.  It is low because on a large device, only half of the cache is near a multiprocessor.
 */
#define SECTOR 32
#define CACHE_SHARE 0.6

/*
 * Amounts of work that fill half a piece: bytes to clear, nodes to sum, and entries of one row.
 * The work limit does not measure these kinds of work.  Only 32 lanes per set add the nodes or
 * entries, and each lane adds one after another.
 */
#define CLEAR_BYTES ((int64_t) 128 * 1024 * 1024)
#define SUM_NODES ((int64_t) 1 << 22)
#define ROW_ENTRIES ((int64_t) 1 << 18)

static uint64_t hop_work(const HyCudaSpreadPlan *plan);
static void begin_group(HyCudaSpreadPlan *plan, int32_t first_set);
static void go_to(HyCudaSpreadPlan *plan, HyCudaSpreadStage stage);
static void end_stage(HyCudaSpreadPlan *plan);
static bool skip_stage(const HyCudaSpreadPlan *plan);
static void start_hop(HyCudaSpreadPlan *plan);
static bool take_share(HyCudaSpreadPlan *plan, const HyCudaSpreadRoom *room, int64_t all,
                       int64_t half_a_piece, HyCudaSpreadStep *step);
static bool
take_rows(HyCudaSpreadPlan *plan, const HyCudaSpreadRoom *room, int list, HyCudaSpreadStep *step);
static int64_t most_of_a_row(const HyCudaSpreadPlan *plan, const HyCudaSpreadRoom *room);
static int64_t row_entries(const HyCudaSpreadPlan *plan);
static bool take_part(HyCudaSpreadPlan *plan, const HyCudaSpreadRoom *room, HyCudaSpreadStep *step);
static bool take_some(HyCudaSpreadPlan *plan, int64_t all, int64_t most, HyCudaSpreadStep *step);

int32_t
hy_cuda_spread_width(int64_t sets, int32_t widest)
{
	int32_t width = 1;

	while (width < sets && width < widest)
		width *= 2;
	return width;
}

/*
 * Compares the bytes transferred per hop and set.  A hop reads the graph once per group, so the
 * sets of the group share that cost.  Each charge is read once, and once more for every entry whose
 * read misses the cache.  The width does not affect the number of bytes written.
 */
int32_t
hy_cuda_spread_best_width(int64_t sets, int64_t nodes, int64_t rows, int64_t edges, uint64_t cache)
{
	int32_t width = hy_cuda_spread_width(sets, HY_CUDA_SPREAD_WIDTH);
	double graph = (double) edges * (sizeof(uint32_t) + sizeof(float)) +
	               (double) rows * (sizeof(HyPackedRow) + sizeof(double));
	double least = 0;
	int32_t best = width;

	if (cache == 0)
		return width;
	for (; width >= 1; width /= 2)
	{
		double charge = (double) width * sizeof(double);
		double charges = (double) nodes * charge;
		double held = (double) cache * CACHE_SHARE;
		double missed = charges > held ? 1 - held / charges : 0;
		double bytes =
			graph + charges + missed * (double) edges * (charge > SECTOR ? charge : SECTOR);

		bytes /= width;
		if (width == best || bytes < least)
		{
			least = bytes;
			best = width;
		}
	}
	return best;
}

uint64_t
hy_cuda_spread_node_bytes(bool converging, bool refire, bool sent)
{
	/*
	 * two charges, the activation and the hop; only if needed, y, the number of firings and the
	 * charges sent
	 */
	return 3 * sizeof(double) + sizeof(uint32_t) + (converging ? sizeof(double) : 0) +
	       (refire ? sizeof(uint32_t) : 0) + (sent ? sizeof(double) : 0);
}

void
hy_cuda_spread_plan_begin(HyCudaSpreadPlan *plan)
{
	/* without entries, hops have no effect */
	if (hy_cuda_spread_rows(plan->packed) == 0)
		plan->hops = 0;
	plan->turns = plan->hops == -1 || plan->hops > TURN_HOPS || hop_work(plan) > TURN_WORK;
	begin_group(plan, 0);
}

bool
hy_cuda_spread_step(HyCudaSpreadPlan *plan, const HyCudaSpreadRoom *room, HyCudaSpreadStep *step)
{
	int64_t seeds;

	while (plan->stage != HY_CUDA_STAGE_END && skip_stage(plan))
		end_stage(plan);
	memset(step, 0, sizeof(*step));
	step->hop = plan->hop;
	switch (plan->stage)
	{
		case HY_CUDA_STAGE_CLEAR:
			step->kind = HY_CUDA_SPREAD_CLEAR;
			return take_share(plan, room,
			                  HY_CUDA_SPREAD_CONTROL +
			                      plan->nodes * plan->width * (int64_t) plan->node_bytes,
			                  CLEAR_BYTES, step);
		case HY_CUDA_STAGE_WIPE:
			/*
			 * clear the charges of the seeds, because hops overwrite only the charges of rows with
			 * entries
			 */
			step->kind = HY_CUDA_SPREAD_CLEAR;
			return take_share(plan, room, plan->nodes * plan->width * (int64_t) sizeof(double),
			                  CLEAR_BYTES, step);
		case HY_CUDA_STAGE_SEEDS:
			step->kind = HY_CUDA_SPREAD_SEEDS;
			seeds = plan->seeds->start[plan->first_set + plan->sets] -
			        plan->seeds->start[plan->first_set];
			return take_some(plan, seeds, room->seeds, step);
		case HY_CUDA_STAGE_SUM:
			step->kind = HY_CUDA_SPREAD_SUM;
			return take_share(plan, room, plan->nodes, SUM_NODES, step);
		case HY_CUDA_STAGE_TURN:
			step->kind = HY_CUDA_SPREAD_TURN;
			end_stage(plan);
			return true;
		case HY_CUDA_STAGE_SHORTS:
			step->kind = HY_CUDA_SPREAD_SHORTS;
			return take_rows(plan, room, 0, step);
		case HY_CUDA_STAGE_ROWS:
			step->kind = HY_CUDA_SPREAD_ROWS;
			return take_rows(plan, room, 1, step);
		case HY_CUDA_STAGE_LONG:
			step->kind = HY_CUDA_SPREAD_LONG;
			if (plan->from > 0 || row_entries(plan) > most_of_a_row(plan, room))
				return take_part(plan, room, step);
			return take_rows(plan, room, 2, step);
		case HY_CUDA_STAGE_DOWN:
			step->kind = HY_CUDA_SPREAD_DOWN;
			return take_some(plan, plan->nodes, room->nodes, step);
		default:
			return false;
	}
}

void
hy_cuda_spread_quiet(HyCudaSpreadPlan *plan, int32_t first_set)
{
	if (plan->first_set == first_set && plan->stage >= HY_CUDA_STAGE_SHORTS &&
	    plan->stage < HY_CUDA_STAGE_DOWN)
		go_to(plan, HY_CUDA_STAGE_DOWN);
}

/* hop_work: return the work of one hop for a group of the largest width. */
static uint64_t
hop_work(const HyCudaSpreadPlan *plan)
{
	uint64_t work = 0;
	int l;

	for (l = 0; l < HY_PACKED_LISTS; l++)
		work += plan->packed->work[l][hy_packed_blocks(plan->packed, l)];
	return work * (uint64_t) plan->widest * ENTRY_WORK;
}

static void
begin_group(HyCudaSpreadPlan *plan, int32_t first_set)
{
	int32_t left = plan->seeds->sets - first_set;

	plan->first_set = first_set;
	plan->width = hy_cuda_spread_width(left, plan->widest);
	plan->sets = left < plan->width ? left : plan->width;
	plan->hop = 0;
	go_to(plan, left > 0 && plan->nodes > 0 ? HY_CUDA_STAGE_CLEAR : HY_CUDA_STAGE_END);
}

static void
go_to(HyCudaSpreadPlan *plan, HyCudaSpreadStage stage)
{
	plan->stage = stage;
	plan->at = 0;
	plan->from = 0;
}

static void
end_stage(HyCudaSpreadPlan *plan)
{
	switch (plan->stage)
	{
		case HY_CUDA_STAGE_SEEDS:
			go_to(plan, plan->hops == 0 ? HY_CUDA_STAGE_DOWN : HY_CUDA_STAGE_SUM);
			break;
		case HY_CUDA_STAGE_TURN:
			go_to(plan, HY_CUDA_STAGE_WIPE);
			break;
		case HY_CUDA_STAGE_WIPE:
			start_hop(plan);
			break;
		case HY_CUDA_STAGE_DOWN:
			begin_group(plan, plan->first_set + plan->sets);
			break;
		default:
			go_to(plan, plan->stage + 1);
	}
}

static bool
skip_stage(const HyCudaSpreadPlan *plan)
{
	switch (plan->stage)
	{
		case HY_CUDA_STAGE_CLEAR:
			return plan->first_set == 0;
		case HY_CUDA_STAGE_SEEDS:
			return plan->seeds->start[plan->first_set + plan->sets] ==
			       plan->seeds->start[plan->first_set];
		case HY_CUDA_STAGE_SHORTS:
		case HY_CUDA_STAGE_ROWS:
		case HY_CUDA_STAGE_LONG:
			return plan->packed->rows[plan->stage - HY_CUDA_STAGE_SHORTS] == 0;
		case HY_CUDA_STAGE_SUM:
			return plan->hops != -1;
		case HY_CUDA_STAGE_TURN:
			return !plan->turns;
		case HY_CUDA_STAGE_WIPE:
			/*
			 * After the first hop, the third is the next to read the array of the seeds' charges.
			 * Nothing has to be cleared if there is no third hop, or if the second hop overwrites
			 * the whole array.
			 */
			return plan->hop != 1 || plan->hops == 1 || plan->hops == 2 ||
			       hy_cuda_spread_rows(plan->packed) == plan->nodes;
		default:
			return false;
	}
}

static void
start_hop(HyCudaSpreadPlan *plan)
{
	if (plan->hops != -1 && plan->hop == (uint32_t) plan->hops)
		go_to(plan, HY_CUDA_STAGE_DOWN);
	else
	{
		plan->hop++;
		go_to(plan, HY_CUDA_STAGE_SHORTS);
	}
}

/*
 * take_share: take the next part of `all` units of work that the work limit does not measure.
 * half_a_piece is the number of units that fill half a piece.
 */
static bool
take_share(HyCudaSpreadPlan *plan, const HyCudaSpreadRoom *room, int64_t all, int64_t half_a_piece,
           HyCudaSpreadStep *step)
{
	int64_t left = all - plan->at;

	step->first = plan->at;
	step->count = left < half_a_piece ? left : half_a_piece;
	step->work =
		(uint64_t) ((double) (room->pace / 2) * (double) step->count / (double) half_a_piece);
	if (step->work > room->left && !room->empty)
		return false;
	plan->at += step->count;
	if (plan->at == all)
		end_stage(plan);
	return true;
}

/*
 * take_rows: take as many blocks of a list as fit the piece, but at least one if the piece is
 * empty.
 */
static bool
take_rows(HyCudaSpreadPlan *plan, const HyCudaSpreadRoom *room, int list, HyCudaSpreadStep *step)
{
	const uint64_t *sum = plan->packed->work[list];
	int64_t blocks = hy_packed_blocks(plan->packed, list);
	int64_t block_rows = list < 2 ? HY_PACKED_BLOCK : 1;
	uint64_t unit = (uint64_t) plan->width * ENTRY_WORK;
	uint64_t most = room->left / unit;
	int64_t low = plan->at;
	int64_t high = blocks;

	/*
	 * find the last block that ends within the remaining work; in the list of long rows, stop
	 * before a row with more than ROW_ENTRIES entries, which is divided
	 */
	while (low < high)
	{
		int64_t middle = high - (high - low) / 2;

		if (sum[middle] - sum[plan->at] <= most)
			low = middle;
		else
			high = middle - 1;
	}
	if (list == 2)
	{
		for (high = plan->at; high < low; high++)
		{
			if (sum[high + 1] - sum[high] > (uint64_t) ROW_ENTRIES + HY_PACKED_ROW_COST)
				break;
		}
		low = high;
	}
	if (low == plan->at && !room->empty)
		return false;
	if (low == plan->at)
		low++;
	step->first = plan->at * block_rows;
	step->count = low * block_rows < plan->packed->rows[list]
	                  ? low * block_rows - step->first
	                  : plan->packed->rows[list] - step->first;
	step->work = (sum[low] - sum[plan->at]) * unit;
	step->last = true;
	plan->at = low;
	if (low == blocks)
		end_stage(plan);
	return true;
}

/*
 * most_of_a_row: return the largest number of entries of one row that fit a piece: a multiple of
 * HY_CUDA_SPREAD_WINDOW, at least one window.
 */
static int64_t
most_of_a_row(const HyCudaSpreadPlan *plan, const HyCudaSpreadRoom *room)
{
	int64_t most = (int64_t) (room->pace / ((uint64_t) plan->width * ENTRY_WORK));

	if (most > ROW_ENTRIES)
		most = ROW_ENTRIES;
	most -= most % HY_CUDA_SPREAD_WINDOW;
	return most > 0 ? most : HY_CUDA_SPREAD_WINDOW;
}

/* row_entries: return the number of entries of the next long row. */
static int64_t
row_entries(const HyCudaSpreadPlan *plan)
{
	const uint64_t *sum = plan->packed->work[2];

	return (int64_t) (sum[plan->at + 1] - sum[plan->at]) - HY_PACKED_ROW_COST;
}

/* take_part: take the next entries of a row that is too long for one piece. */
static bool
take_part(HyCudaSpreadPlan *plan, const HyCudaSpreadRoom *room, HyCudaSpreadStep *step)
{
	int64_t most = most_of_a_row(plan, room);
	int64_t entries = row_entries(plan);
	uint64_t alone;

	step->first = plan->at;
	step->count = 1;
	step->from = plan->from;
	step->to = entries - plan->from <= most ? entries : plan->from + most;
	step->last = step->to == entries;
	step->work = (uint64_t) (step->to - step->from) * (uint64_t) plan->width * ENTRY_WORK;
	alone = room->pace / 2 * (uint64_t) (step->to - step->from) / (uint64_t) ROW_ENTRIES;
	if (step->work < alone)
		step->work = alone;
	if (step->work > room->left && !room->empty)
		return false;
	plan->from = step->last ? 0 : step->to;
	if (step->last && ++plan->at == plan->packed->rows[2])
		end_stage(plan);
	return true;
}

/*
 * take_some: take the next items of a stage whose steps are limited only by the number of items,
 * `most`.
 */
static bool
take_some(HyCudaSpreadPlan *plan, int64_t all, int64_t most, HyCudaSpreadStep *step)
{
	int64_t left = all - plan->at;

	if (most < 1)
		return false;
	step->first = plan->at;
	step->count = left < most ? left : most;
	plan->at += step->count;
	if (plan->at == all)
		end_stage(plan);
	return true;
}
