/*
 * tiles.c
 *		How near the tiles of products come to the limits of this machine, and how much they speed up
 *		the search that uses them.
 *
 *		tiles [SECONDS [ROWS]]
 *
 * 'dots': products of one panel of queries with as many panels of targets as the search keeps in the
 * second-level cache.  The limit is the rate of bare fp32 multiply-adds in registers at the same level,
 * which no exact kernel can exceed.  It is measured in the same run, interleaved.  'search': all of
 * hy_prefilter_search over ROWS (16384) targets beside hy_topk_search of the same, L2, 10 nearest.  The
 * vectors are normally distributed without any structure, which is the hardest case for a filter.
 * Medians over at least 5 rounds, in processor time.
 *
 * CSV on stdout: case,metric,value,better, as run.sh takes it.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rounds.h"
#include "core/distance.h"
#include "core/prefilter.h"
#include "core/tile.h"
#include "core/topk.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__aarch64__)
#include <arm_neon.h>
#endif

#define BLOCK_BYTES (256 * 1024) /* as in filter.c */
#define MOST_QUERIES 1000
#define MOST_DIMS 1536
#define K 10
#define MIN_ROUNDS 5

static float *queries;
static float *targets;
static int64_t rows = 16384;
static volatile float sink;

static double uniform(void);
static double bare_rate(HySimd level, double seconds);
static double dots_rate(const HyTileKernels *tiles, int dims, double seconds);
static double search_rate(bool filtered, int count, int dims);
static void measure_dots(int dims, int rounds, double seconds);
static void measure_search(int count, int dims, int rounds);

int
main(int argc, char **argv)
{
	static const int all_dims[] = {64, 128, 768, 1536};
	static const int all_counts[] = {8, 32, 128, 1000};
	double seconds = argc > 1 ? atof(argv[1]) : 20.0;
	int rounds = MIN_ROUNDS + (int) (seconds / 20);
	size_t i;
	size_t j;

	if (argc > 2)
		rows = atoll(argv[2]);
	if (rounds > MAX_ROUNDS)
		rounds = MAX_ROUNDS;
	queries = malloc(sizeof(float) * MOST_QUERIES * MOST_DIMS);
	targets = malloc(sizeof(float) * (size_t) rows * MOST_DIMS);
	if (queries == NULL || targets == NULL || rows < 1)
	{
		fprintf(stderr, "out of memory\n");
		return 1;
	}
	/* twelve uniform numbers are normal enough */
	for (i = 0; i < ((size_t) rows + MOST_QUERIES) * MOST_DIMS; i++)
	{
		double sum = -6;

		for (j = 0; j < 12; j++)
			sum += uniform();
		if (i < (size_t) rows * MOST_DIMS)
			targets[i] = (float) sum;
		else
			queries[i - (size_t) rows * MOST_DIMS] = (float) sum;
	}

	printf("case,metric,value,better\n");
	for (i = 0; i < 4; i++)
		measure_dots(all_dims[i], rounds, seconds / 100);
	for (i = 0; i < 4; i++)
	{
		for (j = 0; j < 4; j++)
			measure_search(all_counts[j], all_dims[i], rounds);
	}
	return 0;
}

static void
measure_dots(int dims, int rounds, double seconds)
{
	const HyTileKernels *tiles;
	int n;

	for (n = 0; (tiles = hy_tile_kernels_nth(n)) != NULL; n++)
	{
		double bare[MAX_ROUNDS];
		double dots[MAX_ROUNDS];
		double share[MAX_ROUNDS];
		char name[100];
		int round;

		for (round = 0; round < rounds; round++)
		{
			bare[round] = bare_rate(tiles->level, seconds / rounds);
			dots[round] = dots_rate(tiles, dims, seconds / rounds);
			share[round] = dots[round] / bare[round];
		}
		snprintf(name, sizeof(name), "dots %s %d dims", tiles->name, dims);
		printf("%s,gmac_per_s,%.2f,higher\n", name, median(dots, rounds) * 1e-9);
		printf("%s,share_of_fma,%.3f,higher\n", name, median(share, rounds));
		fflush(stdout);
	}
}

static void
measure_search(int count, int dims, int rounds)
{
	const HyTileKernels *tiles;
	int n;

	for (n = 0; (tiles = hy_tile_kernels_nth(n)) != NULL; n++)
	{
		double exact[MAX_ROUNDS];
		double filtered[MAX_ROUNDS];
		double ratio[MAX_ROUNDS];
		char name[100];
		int round;

		/* plain C is no match for this much work */
		if (tiles->level == HY_SIMD_SCALAR && tiles->level != hy_simd_best())
			continue;
		hy_tile_kernels_force(tiles);
		for (round = 0; round < rounds; round++)
		{
			exact[round] = search_rate(false, count, dims);
			filtered[round] = search_rate(true, count, dims);
			ratio[round] = filtered[round] / exact[round];
		}
		hy_tile_kernels_force(NULL);
		snprintf(name, sizeof(name), "search %s %d queries %d dims", tiles->name, count, dims);
		printf("%s,gmac_per_s,%.2f,higher\n", name, median(filtered, rounds) * 1e-9);
		printf("%s,exact_gmac_per_s,%.2f,higher\n", name, median(exact, rounds) * 1e-9);
		printf("%s,times_exact,%.3f,higher\n", name, median(ratio, rounds));
		fflush(stdout);
	}
}

static double
search_rate(bool filtered, int count, int dims)
{
	static HyNeighbor out[MOST_QUERIES * K];
	static int32_t counts[MOST_QUERIES];
	HyMatrix left = {.dtype = HY_F32,
	                 .dims = dims,
	                 .rows = count,
	                 .stride = (size_t) dims * sizeof(float),
	                 .data = queries};
	HyMatrix right = {.dtype = HY_F32,
	                  .dims = dims,
	                  .rows = rows,
	                  .stride = (size_t) dims * sizeof(float),
	                  .data = targets};
	double start = now();
	HyStatus status;

	if (filtered)
		status =
			hy_prefilter_search(&(HyNearest){HY_METRIC_L2, K, &left, &right, NULL, out, counts},
		                        &hy_malloc_allocator, NULL);
	else
		status = hy_topk_search(HY_METRIC_L2, &left, &right, K, out, counts, NULL);
	if (status != HY_OK)
	{
		fprintf(stderr, "%s\n", hy_status_name(status));
		exit(1);
	}
	return (double) count * (double) rows * dims / (now() - start);
}

static double
dots_rate(const HyTileKernels *tiles, int dims, double seconds)
{
	static float out[HY_TILE_QUERIES * HY_TILE_TARGETS];
	int run_bytes = tiles->run * (int) sizeof(int16_t);
	size_t units = (size_t) ((dims * tiles->element + run_bytes - 1) / run_bytes * tiles->run);
	int panels = (int) (BLOCK_BYTES / (units * sizeof(int16_t) * (size_t) tiles->targets));
	int16_t *left;
	int16_t *right;
	int64_t done = 0;
	double start;
	double end;
	int i;

	panels = panels > 0 ? panels : 1;
	if (posix_memalign((void **) &left, 64, units * sizeof(int16_t) * (size_t) tiles->queries) ||
	    posix_memalign((void **) &right, 64,
	                   units * sizeof(int16_t) * (size_t) (tiles->targets * panels)))
		exit(1);
	/* small as integers, as bytes and as bfloat16 */
	memset(left, 1, units * sizeof(int16_t) * (size_t) tiles->queries);
	memset(right, 1, units * sizeof(int16_t) * (size_t) (tiles->targets * panels));
	start = now();
	do
	{
		if (tiles->begin != NULL)
			tiles->begin();
		for (i = 0; i < panels; i++)
			tiles->dots(left, right + units * (size_t) (tiles->targets * i), (int) units / 2, out);
		if (tiles->end != NULL)
			tiles->end();
		done += panels;
		end = now();
	} while (end - start < seconds);
	sink = out[0];
	free(left);
	free(right);
	return (double) done * tiles->queries * tiles->targets * dims / (end - start);
}

#if defined(__x86_64__)

__attribute__((target("avx2,fma"))) static void
bare_avx2(int turns)
{
	const __m256 x = _mm256_set1_ps(0.5f);
	__m256 sums[12];
	int t;
	int i;

#pragma GCC unroll 12
	for (i = 0; i < 12; i++)
		sums[i] = _mm256_set1_ps((float) i);
	for (t = 0; t < turns; t++)
	{
#pragma GCC unroll 12
		for (i = 0; i < 12; i++)
			sums[i] = _mm256_fmadd_ps(sums[i], x, x);
	}
	for (i = 1; i < 12; i++)
		sums[0] = _mm256_add_ps(sums[0], sums[i]);
	sink = _mm256_cvtss_f32(sums[0]);
}

__attribute__((target("avx512f"))) static void
bare_avx512(int turns)
{
	const __m512 x = _mm512_set1_ps(0.5f);
	__m512 sums[12];
	int t;
	int i;

#pragma GCC unroll 12
	for (i = 0; i < 12; i++)
		sums[i] = _mm512_set1_ps((float) i);
	for (t = 0; t < turns; t++)
	{
#pragma GCC unroll 12
		for (i = 0; i < 12; i++)
			sums[i] = _mm512_fmadd_ps(sums[i], x, x);
	}
	for (i = 1; i < 12; i++)
		sums[0] = _mm512_add_ps(sums[0], sums[i]);
	sink = _mm512_cvtss_f32(sums[0]);
}

#elif defined(__aarch64__)

static void
bare_neon(int turns)
{
	const float32x4_t x = vdupq_n_f32(0.5f);
	float32x4_t sums[16];
	int t;
	int i;

#pragma GCC unroll 16
	for (i = 0; i < 16; i++)
		sums[i] = vdupq_n_f32((float) i);
	for (t = 0; t < turns; t++)
	{
#pragma GCC unroll 16
		for (i = 0; i < 16; i++)
			sums[i] = vfmaq_f32(x, sums[i], x);
	}
	for (i = 1; i < 16; i++)
		sums[0] = vaddq_f32(sums[0], sums[i]);
	sink = vgetq_lane_f32(sums[0], 0);
}

#endif

/* Without an instruction set of ours: what the compiler makes of it. */
static void
bare_plain(int turns)
{
	float sums[16];
	int t;
	int i;

	for (i = 0; i < 16; i++)
		sums[i] = (float) i;
	for (t = 0; t < turns; t++)
	{
		for (i = 0; i < 16; i++)
			sums[i] = sums[i] * 0.5f + 0.5f;
	}
	for (i = 1; i < 16; i++)
		sums[0] += sums[i];
	sink = sums[0];
}

/* bare_rate: multiply-adds a second, of sums that stay in registers. */
static double
bare_rate(HySimd level, double seconds)
{
	void (*bare)(int turns) = bare_plain;
	double each = 16;
	int turns = 20000;
	int64_t done = 0;
	double start;
	double end;

#if defined(__x86_64__)
	if (level == HY_SIMD_AVX2)
	{
		bare = bare_avx2;
		each = 12 * 8;
	}
	else if (level == HY_SIMD_AVX512 || level == HY_SIMD_AMX)
	{
		bare = bare_avx512;
		each = 12 * 16;
	}
#elif defined(__aarch64__)
	if (level == HY_SIMD_NEON)
	{
		bare = bare_neon;
		each = 16 * 4;
	}
#endif
	(void) level;
	start = now();
	do
	{
		bare(turns);
		done += turns;
		end = now();
	} while (end - start < seconds);
	return (double) done * each / (end - start);
}

static double
uniform(void)
{
	static uint64_t state = 88172645463325252u;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (double) (state >> 11) * 0x1p-53;
}
