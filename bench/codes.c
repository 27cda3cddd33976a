/*
 * codes.c
 *		The cost of a scan of codes: estimate and bound of a row, from each level of the caches, and the
 *		preparation of a query and of a row.
 *
 *		codes [SECONDS]
 *
 * 'score': hy_code_score over pages of 8 KB.  A page holds as many blocks of 32 rows as fit, each with
 * its factors and room for 32 places of six bytes, as in an index.  It runs over 256 KB again and again
 * (the second-level cache), 8 MB (the third) and 256 MB (memory).  One row in a hundred is below the
 * threshold.  'rotate', 'prepare': a query's rotation and tables.  'encode': bits and factors of a
 * row, without its rotation, and storing them in a block.  The result is the fastest of at least 25
 * rounds, in processor time: other processes can only slow a round down, by taking caches and memory.
 *
 * CSV on stdout: case,metric,value,better, as run.sh takes it.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/codes.h"
#include "core/distance.h"
#include "core/rotation.h"
#include "rounds.h"

#define MOST_DIMS 1536
#define PAGE 8192
#define PLACES (HY_CODE_ROWS * 6)
#define MIN_ROUNDS 25
#define LARGEST ((size_t) 256 << 20)

static char *pages;
static float vector[MOST_DIMS];
static float rotated[MOST_DIMS];
static uint8_t tables[MOST_DIMS * 4];
static HyRotation rotation;
static volatile float sink;

static double fastest(const double *values, int n);
static double uniform(void);
static double score(const HyCodeQuery *query, size_t bytes, float threshold, double seconds);
static double one_threshold(const HyCodeQuery *query);
static double repeat(void (*what)(void), double seconds);
static void rotate(void);
static void prepare(void);
static void encode(void);
static void measure(HySimd level, int dims, int rounds, double seconds);

int
main(int argc, char **argv)
{
	static const int all_dims[] = {128, 768, 1536};
	double seconds = argc > 1 ? atof(argv[1]) : 20.0;
	int rounds = MIN_ROUNDS + (int) (seconds / 20);
	size_t i;
	int level;

	if (rounds > MAX_ROUNDS)
		rounds = MAX_ROUNDS;
	if (posix_memalign((void **) &pages, PAGE, LARGEST))
	{
		fprintf(stderr, "out of memory\n");
		return 1;
	}
	printf("case,metric,value,better\n");
	for (i = 0; i < 3; i++)
	{
		for (level = 0; level < HY_SIMD_COUNT; level++)
		{
			if (level != HY_SIMD_AMX && hy_kernels_force((HySimd) level) == HY_OK)
				measure((HySimd) level, all_dims[i], rounds, seconds / 100);
		}
	}
	free(pages);
	return 0;
}

static size_t
block_bytes(void)
{
	return hy_code_block_size(rotation.padded) + sizeof(HyCodeFactors) + PLACES;
}

static HyCodeBlocks
blocks_of(const char *page)
{
	HyCodeBlocks blocks = {.codes = (const uint8_t *) page,
	                       .code_stride = block_bytes(),
	                       .factors =
	                           (const HyCodeFactors *) (page + hy_code_block_size(rotation.padded)),
	                       .factor_stride = block_bytes(),
	                       .count = (int) (PAGE / block_bytes())};

	return blocks;
}

static void
measure(HySimd level, int dims, int rounds, double seconds)
{
	static const struct
	{
		const char *name;
		size_t bytes;
	} places[] = {{"L2", (size_t) 256 << 10}, {"L3", (size_t) 8 << 20}, {"memory", LARGEST}};
	static const struct
	{
		const char *name;
		void (*what)(void);
	} others[] = {{"rotate", rotate}, {"prepare", prepare}, {"encode", encode}};
	double taken[MAX_ROUNDS];
	HyCodeQuery query;
	float threshold;
	size_t i;
	int round;
	int b;

	if (hy_rotation_init(&rotation, dims, 1, &hy_malloc_allocator) != HY_OK)
		exit(1);
	for (i = 0; i < (size_t) dims; i++)
		vector[i] = (float) (uniform() - 0.5);
	rotate();
	hy_code_query_init(&query, rotated, rotation.padded, tables);
	for (i = 0; i < LARGEST; i += PAGE)
	{
		HyCodeBlocks blocks = blocks_of(pages + i);
		size_t j;

		for (j = 0; j < PAGE; j += 8)
		{
			uint64_t bits = (uint64_t) (uniform() * 0x1p53) * UINT64_C(0x9e3779b97f4a7c15);

			memcpy(pages + i + j, &bits, 8);
		}
		for (b = 0; b < blocks.count; b++)
		{
			HyCodeFactors factors;

			for (j = 0; j < HY_CODE_ROWS; j++)
			{
				factors.add[j] = (float) (1.0 + 0.1 * uniform());
				factors.rescale[j] = -0.2f;
				factors.error[j] = 0.1f;
			}
			memcpy(pages + i + (size_t) b * block_bytes() + hy_code_block_size(rotation.padded),
			       &factors, sizeof(factors));
		}
	}
	threshold = (float) one_threshold(&query);

	for (i = 0; i < 3; i++)
	{
		for (round = 0; round < rounds; round++)
			taken[round] = score(&query, places[i].bytes, threshold, seconds / rounds);
		printf("score %s %d dims from %s,ns_a_row,%.2f,lower\n", hy_simd_name(level), dims,
		       places[i].name, fastest(taken, rounds) * 1e9);
	}
	for (i = 0; i < 3; i++)
	{
		for (round = 0; round < rounds; round++)
			taken[round] = repeat(others[i].what, seconds / rounds);
		printf("%s %s %d dims,us,%.3f,lower\n", others[i].name, hy_simd_name(level), dims,
		       fastest(taken, rounds) * 1e6);
	}
	fflush(stdout);
	hy_rotation_free(&rotation);
}

/* one_threshold: what one row in a hundred of the first pages is below. */
static double
one_threshold(const HyCodeQuery *query)
{
	static double bounds[PAGE * 100];
	HyCodeLimits limits = {.base = 1.0f, .reach = 1.0f, .eps = 1.9f, .threshold = 0.0f};
	float estimate[PAGE];
	float lower[PAGE];
	uint32_t masks[PAGE / HY_CODE_ROWS];
	int n = 0;
	int p;
	int i;

	for (p = 0; p < 100; p++)
	{
		HyCodeBlocks blocks = blocks_of(pages + (size_t) p * PAGE);

		hy_code_score(query, &blocks, &limits, estimate, lower, masks);
		for (i = 0; i < blocks.count * HY_CODE_ROWS; i++)
			bounds[n++] = lower[i];
	}
	qsort(bounds, (size_t) n, sizeof(double), ascending);
	return bounds[n / 100];
}

/* score: seconds a row, over the first so many bytes of pages. */
static double
score(const HyCodeQuery *query, size_t bytes, float threshold, double seconds)
{
	HyCodeLimits limits = {.base = 1.0f, .reach = 1.0f, .eps = 1.9f, .threshold = threshold};
	float estimate[PAGE];
	float lower[PAGE];
	uint32_t masks[PAGE / HY_CODE_ROWS];
	int64_t done = 0;
	int64_t found = 0;
	double start = now();
	double end;
	size_t p = 0;
	int turn;
	int b;

	do
	{
		for (turn = 0; turn < 32; turn++)
		{
			HyCodeBlocks blocks = blocks_of(pages + p);

			p = p + PAGE < bytes ? p + PAGE : 0;
			blocks.next = (const uint8_t *) pages + p;
			hy_code_score(query, &blocks, &limits, estimate, lower, masks);
			for (b = 0; b < blocks.count; b++)
			{
				while (masks[b] != 0)
				{
					found += (int64_t) lower[b * HY_CODE_ROWS + __builtin_ctz(masks[b])] != 0;
					masks[b] &= masks[b] - 1;
				}
			}
			done += blocks.count * HY_CODE_ROWS;
		}
		end = now();
	} while (end - start < seconds);
	sink = (float) found;
	return (end - start) / (double) done;
}

/* repeat: seconds a call. */
static double
repeat(void (*what)(void), double seconds)
{
	int64_t done = 0;
	double start = now();
	double end;
	int i;

	do
	{
		for (i = 0; i < 100; i++)
			what();
		done += 100;
		end = now();
	} while (end - start < seconds);
	return (end - start) / (double) done;
}

static void
rotate(void)
{
	hy_rotation_apply(&rotation, vector, rotated);
	sink = rotated[0];
}

static void
prepare(void)
{
	HyCodeQuery query;

	hy_code_query_init(&query, rotated, rotation.padded, tables);
	sink = query.slack;
}

static void
encode(void)
{
	static uint8_t block[MOST_DIMS * 4];
	static HyCodeFactors factors;
	static int row;
	uint8_t bits[MOST_DIMS / 8];
	HyCode code;

	hy_code_encode(HY_METRIC_L2, rotated, rotated, rotation.padded, 0.0, bits, &code);
	row = (row + 1) % HY_CODE_ROWS;
	hy_code_put(block, &factors, rotation.padded, row, bits, &code);
	sink = code.add;
}

static double
fastest(const double *values, int n)
{
	double least = values[0];
	int i;

	for (i = 1; i < n; i++)
		least = values[i] < least ? values[i] : least;
	return least;
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
