/*
 * assign_filter_plan.c
 *		Plans the filter of 'assign'.
 *
 * All centroids are rounded once, and rows are rounded piece by piece.  Each slot has its own
 * memory for rounded rows, so that two pieces can run at the same time.
 */
#include "cuda/assign_filter_plan.h"

#define MIB ((uint64_t) 1024 * 1024)
#define ALIGNED 256

/*
 * Most bytes of filter memory per slot.  This is enough for 32,768 resident rows of 768 dims, so
 * that a piece is long enough for a large device.
 */
#define MOST_OF_SLOT (96 * MIB)
/* most tiles of centroids; tiles of a piece are numbered in 32 bits */
#define MOST_TILES 65535
/* elements rounded per piece: 0.4 GB read and written, 2 ms at 200 GB/s */
#define ROUND_ELEMENTS ((int64_t) 1 << 26)

/*
 * Costs of three steps of the filter: ROUND_PRICE to round a centroid or a row, OPEN_PRICE to
 * settle the candidates of a row (which are gathered from memory), PRODUCT_PRICE for one product.
 * The unit is the cost of comparing one row with one centroid in the canonical kernel, which reads
 * an element once for eight such pairs.  The costs are derived from rated speeds of instructions
 * and memory, not measured.
 */
#define ROUND_PRICE 30.0
#define OPEN_PRICE 50.0
#define PRODUCT_PRICE 0.06

static uint64_t part_bytes(const HyCudaAssignPlan *plan, int part);
static void lay_out(HyCudaAssignPlan *plan);

bool
hy_cuda_assign_filter_suits(int64_t rows, int64_t centroids, int32_t dims, uint64_t least)
{
	double n = (double) rows;
	double c = (double) centroids;
	double padded =
		(double) ((dims + HY_CUDA_TILE_DIMS - 1) / HY_CUDA_TILE_DIMS) * HY_CUDA_TILE_DIMS;
	double product;

	if (rows < 1 || centroids < 1 || centroids > (int64_t) MOST_TILES * HY_CUDA_TILE ||
	    n * c * dims < (double) least)
		return false;
	product = PRODUCT_PRICE * (double) hy_cuda_assign_whole(rows) / n *
	          (double) hy_cuda_assign_whole(centroids) / c * padded / dims;
	return n * c * (1 - product) > (n + c) * ROUND_PRICE + n * OPEN_PRICE;
}

bool
hy_cuda_assign_filter_plan(int64_t rows, int64_t centroids, int32_t dims, uint64_t free_bytes,
                           HyCudaAssignPlan *plan)
{
	int64_t padded = (dims + HY_CUDA_TILE_DIMS - 1) / HY_CUDA_TILE_DIMS * HY_CUDA_TILE_DIMS;
	int64_t round = ROUND_ELEMENTS / padded / HY_CUDA_TILE * HY_CUDA_TILE;

	*plan = (HyCudaAssignPlan){
		.centroids = centroids, .dims = dims, .padded = (int32_t) padded, .rows = rows};
	plan->round = round > HY_CUDA_TILE ? round : HY_CUDA_TILE;
	for (;;)
	{
		lay_out(plan);
		if (plan->slot_bytes <= MOST_OF_SLOT && plan->bytes <= free_bytes / 2)
			return true;
		/* fewer rows would not help, because an incomplete tile takes as long as a complete tile */
		if (plan->rows <= HY_CUDA_TILE)
			return false;
		plan->rows = hy_cuda_assign_whole(plan->rows / 2);
	}
}

static uint64_t
part_bytes(const HyCudaAssignPlan *plan, int part)
{
	uint64_t centroids = (uint64_t) hy_cuda_assign_whole(plan->centroids);
	uint64_t whole = (uint64_t) hy_cuda_assign_whole(plan->rows);
	uint64_t rows = (uint64_t) plan->rows;

	switch (part)
	{
		case HY_CUDA_ASSIGN_CENTROIDS:
			return centroids * (uint64_t) plan->padded * sizeof(uint16_t);
		case HY_CUDA_ASSIGN_REACH:
			return centroids * sizeof(HyCudaReach);
		case HY_CUDA_ASSIGN_MIDDLE:
			return (uint64_t) plan->dims * sizeof(float);
		case HY_CUDA_ASSIGN_ROWS:
			return whole * (uint64_t) plan->padded * sizeof(uint16_t);
		case HY_CUDA_ASSIGN_AIM:
			return whole * sizeof(HyCudaAim);
		case HY_CUDA_ASSIGN_OPEN:
			return rows * HY_CUDA_ASSIGN_LIST * sizeof(HyCudaOpen);
		default:
			return rows * sizeof(int32_t);
	}
}

/* lay_out: set the offsets of all parts and the total bytes in *plan. */
static void
lay_out(HyCudaAssignPlan *plan)
{
	uint64_t end = 0;
	int part;

	for (part = 0; part < HY_CUDA_ASSIGN_PARTS; part++)
	{
		plan->offset[part] = end;
		end += (part_bytes(plan, part) + ALIGNED - 1) / ALIGNED * ALIGNED;
	}
	plan->slot_bytes = end - plan->offset[HY_CUDA_ASSIGN_ROWS];
	plan->bytes = end + (HY_CUDA_SLOTS - 1) * plan->slot_bytes;
}
