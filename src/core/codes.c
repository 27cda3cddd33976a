/*
 * codes.c
 *		Codes of rows, tables of queries, and the choice of kernels.
 *
 * Indexes store the codes and factors, so these must be the same on every machine.  The kernels sum
 * in fp64, in eight lanes (element i in lane i mod 8).  The lanes are folded as a tree in this
 * file, and the factors are computed in plain C.  Therefore every machine writes the same bytes.
 */
#include "core/codes.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/codes_levels.h"
#include "core/distance.h"

#define LANES HY_CODE_LANES

_Static_assert(sizeof(HyCodeFactors) == 12 * HY_CODE_ROWS, "indexes store them");

/*
 * EARLY_LEAST: minimum number of early tables.  With fewer, the early check costs more than it
 * saves by skipping the other two thirds of the tables.
 */
#define EARLY_LEAST 64

static void begin_early(HyCodeQuery *query, const float *rotated);
static double fold(double *lanes);
static void bounds_of(const HyCodeQuery *query, const HyCodeLimits *limits, HyCodeBounds *bounds);
static void early_of(const HyCodeQuery *query, const HyCodeLimits *limits, HyCodeEarly *early);
static void allow(float reach, float slack, float eps, HyCodeBounds *bounds);

const HyCodeKernels *
hy_code_kernels(void)
{
	return hy_code_kernels_at(hy_kernels()->level);
}

const HyCodeKernels *
hy_code_kernels_at(HySimd level)
{
	if (!hy_simd_available(level))
		return NULL;
	switch (level)
	{
		case HY_SIMD_SCALAR:
			return &hy_code_kernels_scalar;
#if defined(__x86_64__)
		case HY_SIMD_AVX2:
			return &hy_code_kernels_avx2;
		case HY_SIMD_AVX512:
		case HY_SIMD_AMX:
			return &hy_code_kernels_avx512;
#endif
#if defined(__aarch64__)
		case HY_SIMD_NEON:
			return &hy_code_kernels_neon;
#endif
		default:
			return NULL;
	}
}

void
hy_code_encode(HyMetric metric, const float *residual, const float *centroid, int padded,
               double along, uint8_t *bits, HyCode *code)
{
	HyCodeSums sums;
	double square;
	double rs;
	double cs;
	double ratio;
	double excess;
	double half = metric == HY_METRIC_IP ? 1.0 : 2.0;
	double add;

	hy_code_kernels()->encode(residual, centroid, padded, bits, &sums);
	square = fold(sums.squares);
	rs = 0.5 * fold(sums.magnitudes);
	cs = 0.5 * fold(sums.signeds);

	ratio = rs > 0.0 ? square / rs : 0.0;
	excess = rs > 0.0 ? ratio / rs * (0.25 * padded) - 1.0 : 0.0;
	add = metric == HY_METRIC_IP ? ratio * cs - fold(sums.products) - along
	                             : square + 2.0 * ratio * cs;
	code->add = (float) add;
	code->rescale = (float) (-half * ratio);
	code->error = (float) (half * sqrt(square * (excess > 0.0 ? excess : 0.0) / (padded - 1)));
	if (!isfinite(code->add) || !isfinite(code->rescale) || !isfinite(code->error))
	{
		/* Nothing is known about this row, so no bound may exclude it. */
		code->add = 0.0f;
		code->rescale = 0.0f;
		code->error = INFINITY;
	}
}

void
hy_code_put(uint8_t *block, HyCodeFactors *factors, int padded, int i, const uint8_t *bits,
            const HyCode *code)
{
	int shift = i < HY_CODE_ROWS / 2 ? 0 : 4;
	uint8_t *at = block + i % (HY_CODE_ROWS / 2);
	uint8_t others = (uint8_t) (0xf0 >> shift);
	int b;

	for (b = 0; b < padded / 8; b++, at += HY_CODE_ROWS)
	{
		at[0] = (uint8_t) ((at[0] & others) | (bits[b] & 15) << shift);
		at[HY_CODE_ROWS / 2] =
			(uint8_t) ((at[HY_CODE_ROWS / 2] & others) | (bits[b] >> 4) << shift);
	}
	factors->add[i] = code->add;
	factors->rescale[i] = code->rescale;
	factors->error[i] = code->error;
}

void
hy_code_get(const uint8_t *block, const HyCodeFactors *factors, int padded, int i, uint8_t *bits,
            HyCode *code)
{
	int shift = i < HY_CODE_ROWS / 2 ? 0 : 4;
	const uint8_t *at = block + i % (HY_CODE_ROWS / 2);
	int b;

	for (b = 0; b < padded / 8; b++, at += HY_CODE_ROWS)
		bits[b] = (uint8_t) ((at[0] >> shift & 15) | (at[HY_CODE_ROWS / 2] >> shift & 15) << 4);
	code->add = factors->add[i];
	code->rescale = factors->rescale[i];
	code->error = factors->error[i];
}

void
hy_code_query_init(HyCodeQuery *query, const float *rotated, int padded, uint8_t *tables)
{
	const HyCodeKernels *kernels = hy_code_kernels();
	float losses[16] = {0};
	double loss = 0.0;
	uint32_t entries;
	float most;
	int count = padded / 4;
	int i;

	memset(query, 0, sizeof(*query));
	query->padded = padded;
	query->tables = tables;
	most = kernels->widest(rotated, count);
	if (!(most > FLT_MIN * HY_CODE_ENTRY) || !isfinite(most))
	{
		/*
		 * The query is nearly 0 or not finite.  Use tables of zeros, and a slack that covers the
		 * largest possible |<s,q'>|.
		 */
		memset(tables, 0, hy_code_tables_size(padded));
		query->slack = isfinite(most) ? most * (float) count : INFINITY;
		return;
	}
	entries = kernels->tables(rotated, count, HY_CODE_ENTRY / most, tables, losses);
	for (i = 0; i < 16; i++)
		loss += (double) losses[i];
	query->scale = most / HY_CODE_ENTRY;
	/* The mean of <s,q'> over all codes is 0. */
	query->offset = (float) (-(double) query->scale * (double) entries / 16.0);
	query->slack = (float) ((double) query->scale * sqrt(loss / 16.0));
	begin_early(query, rotated);
}

/*
 * begin_early: compute the scale, offset and slack for an estimate of <s,q'> from the first third
 * of the tables.  Does nothing if this third has fewer than EARLY_LEAST tables.
 */
static void
begin_early(HyCodeQuery *query, const float *rotated)
{
	int count = query->padded / 4;
	int first = count / 48 * 16;
	double head[LANES] = {0};
	double tail[LANES] = {0};
	double part;
	double error;
	uint32_t entries = 0;
	int i;

	if (first < EARLY_LEAST)
		return;
	for (i = 0; i < first * 16; i++)
		entries += query->tables[i];
	for (i = 0; i < first * 4; i++)
		head[i % LANES] += (double) rotated[i] * rotated[i];
	for (; i < query->padded; i++)
		tail[i % LANES] += (double) rotated[i] * rotated[i];
	part = (double) count / first;
	error = ((part - 1.0) * (part - 1.0) * fold(head) + fold(tail)) / 4.0;
	query->early_count = first;
	query->early_scale = (float) (query->scale * part);
	query->early_offset = (float) (-(double) query->early_scale * entries / 16.0);
	/*
	 * The first tables contribute slack^2 / part.  Scaling their sum by `part` multiplies this
	 * contribution by part^2.
	 */
	query->early_slack = (float) sqrt(part * query->slack * query->slack + error);
}

void
hy_code_score(const HyCodeQuery *query, const HyCodeBlocks *blocks, const HyCodeLimits *limits,
              float *estimate, float *lower, uint32_t *masks)
{
	HyCodeScorer scorer;

	hy_code_scorer_init(&scorer, query, limits);
	hy_code_scorer_run(&scorer, blocks, estimate, lower, masks);
}

void
hy_code_scorer_init(HyCodeScorer *scorer, const HyCodeQuery *query, const HyCodeLimits *limits)
{
	scorer->kernels = hy_code_kernels();
	scorer->tables = query->tables;
	scorer->count = query->padded / 4;
	bounds_of(query, limits, &scorer->bounds);
	early_of(query, limits, &scorer->early);
}

void
hy_code_scorer_run(const HyCodeScorer *scorer, const HyCodeBlocks *blocks, float *estimate,
                   float *lower, uint32_t *masks)
{
	int b;
	int i;

	for (b = 0; b < blocks->count; b++)
	{
		const uint8_t *codes = blocks->codes + (size_t) b * blocks->code_stride;
		const uint8_t *next = b + 1 < blocks->count ? codes + blocks->code_stride : blocks->next;
		const char *factors = (const char *) blocks->factors + (size_t) b * blocks->factor_stride;
		const HyCodeFactors *own = (const HyCodeFactors *) (const void *) factors;
		float *about = estimate + b * HY_CODE_ROWS;
		float *least = lower + b * HY_CODE_ROWS;

		for (i = 0; i < (int) sizeof(HyCodeFactors) && next != NULL; i += 64)
			__builtin_prefetch(next + (factors - (const char *) codes) + i);
		next = next != NULL ? next : codes;
		if (scorer->count <= HY_CODE_CHUNK)
			masks[b] = scorer->kernels->score(scorer, codes, next, own, about, least);
		else
			masks[b] = hy_code_score_block(scorer->kernels, scorer, codes, next, own, about, least);
	}
}

void
hy_code_sums(const HyCodeQuery *query, const uint8_t *codes, int first, int count, uint32_t *sums)
{
	hy_code_kernels()->sums(query->tables + (size_t) first * 16, codes, codes, count, sums);
}

uint32_t
hy_code_bounds(const HyCodeQuery *query, const uint32_t *sums, const HyCodeFactors *factors,
               const HyCodeLimits *limits, float *estimate, float *lower)
{
	HyCodeBounds bounds;

	bounds_of(query, limits, &bounds);
	return hy_code_kernels()->bounds(&bounds, sums, factors, estimate, lower);
}

/* bounds_of: compute the bounds that use all tables. */
static void
bounds_of(const HyCodeQuery *query, const HyCodeLimits *limits, HyCodeBounds *bounds)
{
	bounds->scale = query->scale;
	bounds->offset = query->offset;
	bounds->base = limits->base;
	bounds->threshold = limits->threshold;
	allow(limits->reach, query->slack, limits->eps, bounds);
}

/*
 * early_of: compute the early bounds and the number of tables that they use.  If they use all
 * tables, no block is abandoned early.
 */
static void
early_of(const HyCodeQuery *query, const HyCodeLimits *limits, HyCodeEarly *early)
{
	early->count = query->padded / 4;
	if (!(limits->early > 0.0f) || query->early_count == 0)
		return;
	early->count = query->early_count;
	early->bounds.scale = query->early_scale;
	early->bounds.offset = query->early_offset;
	early->bounds.base = limits->base;
	early->bounds.threshold = limits->threshold;
	allow(limits->reach, query->early_slack, limits->early, &early->bounds);
}

/*
 * allow: set the slack and margin of the bounds, to allow for eps standard deviations of both
 * errors combined.
 */
static void
allow(float reach, float slack, float eps, HyCodeBounds *bounds)
{
	double rows = reach;
	double tables = HY_CODE_TYPICAL_RATIO * (double) slack;
	double both = sqrt(rows * rows + tables * tables);

	bounds->slack = eps * slack;
	bounds->margin = eps * reach;
	/* Otherwise the angle t is undefined, and the values above stand. */
	if (both > 0.0 && isfinite(both))
	{
		double by = eps / both;

		bounds->margin = (float) (by * rows * rows);
		bounds->slack = (float) (by * tables * (double) slack);
	}
}

static double
fold(double *lanes)
{
	int h;
	int i;

	for (h = LANES / 2; h > 0; h /= 2)
	{
		for (i = 0; i < h; i++)
			lanes[i] += lanes[i + h];
	}
	return lanes[0];
}
