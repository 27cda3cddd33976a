/*
 * kernels.c
 *		How near the distance kernels are to what this machine can do.
 *
 *		kernels [SECONDS [MEGABYTES [LEVEL]]]
 *
 * Two places: 'l1', one query against a few targets that all stay in the first-level cache, and
 * 'stream', one query against MEGABYTES (256) of targets, far beyond the last level.  Beside each
 * is the limit, measured in the same run and interleaved with the kernels: in L1 the faster of two
 * bare loops that load what the kernel must load and fuse what it must fuse, with no reduction at
 * the end; in a stream the fastest bare read of the same memory.  A share is limit time / kernel
 * time; medians over at least 7 rounds.
 *
 * Bit strings are of 8,192 bits.  Their limit in L1 is to load both and to combine them, without
 * counting: only an instruction that counts, as AVX-512 has, can come near it.
 *
 * CSV on stdout: kernel,level,metric,dtype,where,ns_per_pair,gb_per_s,share_of_limit.  gb_per_s
 * counts the bytes of the targets, and in L1 those of the query too.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ascending.h"
#include "core/bits.h"
#include "core/distance.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#define DIMS 768
#define BIT_BYTES 1024
#define HOT_TARGETS 4
#define MAX_ROUNDS 101
#define MIN_ROUNDS 7

typedef enum Where
{
	WHERE_L1,
	WHERE_STREAM
} Where;

/* Measured beside the metrics of HyMetric, on rows of BIT_BYTES. */
#define METRIC_LIMIT (-1)
#define METRIC_HAMMING HY_METRIC_COUNT
#define METRIC_JACCARD (HY_METRIC_COUNT + 1)

/* A measured loop: passes over rows of row_bytes, and what it costs. */
typedef struct Case
{
	const char *kernel;
	HySimd level;
	int metric; /* HyMetric, or one of the above */
	bool bits;  /* rows are bit strings, and not of dtype */
	HyDtype dtype;
	Where where;
	double seconds[MAX_ROUNDS]; /* of one pair, by round */
	int rounds;
} Case;

static float *query;
static char *memory;
static size_t memory_bytes;
static volatile float sink;

static double now(void);
static double median(const double *values, int n);
static double time_case(const Case *c, double seconds);
static void pass(const Case *c, int64_t rows, int64_t times);
static void report(const Case *cases, int n);

#if defined(__x86_64__)
#define TARGET_AVX2 __attribute__((target("avx2,fma,f16c")))
#define TARGET_AVX512 __attribute__((target("avx512f")))

/* The bare loops keep their eight accumulators over all rows, so that nothing but the limit shows. */
TARGET_AVX2 static float
bare_pairs_avx2(HyDtype dtype, const char *rows, int64_t n)
{
	__m256 acc[8];
	int64_t row;
	int i;
	int j;

	for (j = 0; j < 8; j++)
		acc[j] = _mm256_setzero_ps();
	for (row = 0; row < n; row++)
	{
		const char *b = rows + (size_t) row * DIMS * hy_dtype_size(dtype);

		for (i = 0; i < DIMS; i += 64)
		{
#pragma GCC unroll 8
			for (j = 0; j < 8; j++)
			{
				__m256 right = dtype == HY_F32
				                   ? _mm256_loadu_ps((const float *) b + i + j * 8)
				                   : _mm256_cvtph_ps(_mm_loadu_si128(
										 (const __m128i *) ((const uint16_t *) b + i + j * 8)));

				acc[j] = _mm256_fmadd_ps(_mm256_loadu_ps(query + i + j * 8), right, acc[j]);
			}
		}
	}
	for (j = 1; j < 8; j++)
		acc[0] = _mm256_add_ps(acc[0], acc[j]);
	return _mm256_cvtss_f32(acc[0]);
}

TARGET_AVX512 static float
bare_pairs_avx512(HyDtype dtype, const char *rows, int64_t n)
{
	__m512 acc[8];
	int64_t row;
	int i;
	int j;

	for (j = 0; j < 8; j++)
		acc[j] = _mm512_setzero_ps();
	for (row = 0; row < n; row++)
	{
		const char *b = rows + (size_t) row * DIMS * hy_dtype_size(dtype);

		for (i = 0; i < DIMS; i += 128)
		{
#pragma GCC unroll 8
			for (j = 0; j < 8; j++)
			{
				__m512 right = dtype == HY_F32
				                   ? _mm512_loadu_ps((const float *) b + i + j * 16)
				                   : _mm512_cvtph_ps(_mm256_loadu_si256(
										 (const __m256i *) ((const uint16_t *) b + i + j * 16)));

				acc[j] = _mm512_fmadd_ps(_mm512_loadu_ps(query + i + j * 16), right, acc[j]);
			}
		}
	}
	for (j = 1; j < 8; j++)
		acc[0] = _mm512_add_ps(acc[0], acc[j]);
	return _mm512_cvtss_f32(acc[0]);
}

/* A bare read of n rows as 64-bit words, several streams of one pass. */
TARGET_AVX2 static float
bare_read_avx2(const char *rows, size_t bytes)
{
	__m256i acc[4];
	size_t i;
	int j;

	for (j = 0; j < 4; j++)
		acc[j] = _mm256_setzero_si256();
	for (i = 0; i + 256 <= bytes; i += 256)
	{
#pragma GCC unroll 8
		for (j = 0; j < 8; j++)
			acc[j % 4] = _mm256_xor_si256(
				acc[j % 4], _mm256_loadu_si256((const __m256i *) (rows + i + 32 * (size_t) j)));
	}
	acc[0] = _mm256_xor_si256(_mm256_xor_si256(acc[0], acc[1]), _mm256_xor_si256(acc[2], acc[3]));
	return (float) _mm256_extract_epi32(acc[0], 0);
}
#endif

#if defined(__x86_64__)
/* Two bit strings loaded and combined. */
TARGET_AVX2 static float
bare_bits_avx2(const char *rows, int64_t n)
{
	__m256i acc[4];
	int64_t row;
	int i;
	int j;

	for (j = 0; j < 4; j++)
		acc[j] = _mm256_setzero_si256();
	for (row = 0; row < n; row++)
	{
		const char *b = rows + row * BIT_BYTES;

		for (i = 0; i < BIT_BYTES; i += 128)
		{
#pragma GCC unroll 4
			for (j = 0; j < 4; j++)
			{
				__m256i left =
					_mm256_loadu_si256((const __m256i *) ((const char *) query + i + 32 * j));
				__m256i right = _mm256_loadu_si256((const __m256i *) (b + i + 32 * j));

				acc[j] = _mm256_or_si256(acc[j], _mm256_xor_si256(left, right));
			}
		}
	}
	acc[0] = _mm256_xor_si256(_mm256_xor_si256(acc[0], acc[1]), _mm256_xor_si256(acc[2], acc[3]));
	return (float) _mm256_extract_epi32(acc[0], 0);
}

TARGET_AVX512 static float
bare_bits_avx512(const char *rows, int64_t n)
{
	__m512i acc[4];
	int64_t row;
	int i;
	int j;

	for (j = 0; j < 4; j++)
		acc[j] = _mm512_setzero_si512();
	for (row = 0; row < n; row++)
	{
		const char *b = rows + row * BIT_BYTES;

		for (i = 0; i < BIT_BYTES; i += 256)
		{
#pragma GCC unroll 4
			for (j = 0; j < 4; j++)
			{
				__m512i left = _mm512_loadu_si512((const char *) query + i + 64 * j);
				__m512i right = _mm512_loadu_si512(b + i + 64 * j);

				acc[j] = _mm512_or_si512(acc[j], _mm512_xor_si512(left, right));
			}
		}
	}
	acc[0] = _mm512_or_si512(_mm512_or_si512(acc[0], acc[1]), _mm512_or_si512(acc[2], acc[3]));
	return (float) _mm_cvtsi128_si32(_mm512_castsi512_si128(acc[0]));
}
#endif

/* Without an instruction set of ours, the bare loops are the compiler's. */
static float
bare_bits_plain(const char *rows, int64_t n)
{
	uint64_t acc[4] = {0};
	int64_t row;
	int i;
	int j;

	for (row = 0; row < n; row++)
	{
		const char *b = rows + row * BIT_BYTES;

		for (i = 0; i < BIT_BYTES; i += 32)
		{
			for (j = 0; j < 4; j++)
			{
				uint64_t left;
				uint64_t right;

				memcpy(&left, (const char *) query + i + 8 * j, sizeof(left));
				memcpy(&right, b + i + 8 * j, sizeof(right));
				acc[j] |= left ^ right;
			}
		}
	}
	return (float) (acc[0] ^ acc[1] ^ acc[2] ^ acc[3]);
}

static float
bare_pairs_plain(HyDtype dtype, const char *rows, int64_t n)
{
	float acc[16] = {0};
	int64_t row;
	int i;
	int j;

	for (row = 0; row < n; row++)
	{
		const char *b = rows + (size_t) row * DIMS * hy_dtype_size(dtype);

		for (i = 0; i < DIMS; i += 16)
		{
			for (j = 0; j < 16; j++)
				acc[j] += query[i + j] * (dtype == HY_F32 ? ((const float *) b)[i + j]
				                                          : (float) ((const uint16_t *) b)[i + j]);
		}
	}
	for (j = 1; j < 16; j++)
		acc[0] += acc[j];
	return acc[0];
}

static float
bare_read_plain(const char *rows, size_t bytes)
{
	uint64_t acc[8] = {0};
	size_t i;
	int j;

	for (i = 0; i + 64 <= bytes; i += 64)
	{
		for (j = 0; j < 8; j++)
		{
			uint64_t word;

			memcpy(&word, rows + i + 8 * (size_t) j, sizeof(word));
			acc[j] ^= word;
		}
	}
	for (j = 1; j < 8; j++)
		acc[0] ^= acc[j];
	return (float) acc[0];
}

int
main(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 20.0;
	static Case cases[256];
	int n = 0;
	int rounds;
	int round;
	int level;
	int metric;
	int dtype;
	int where;
	size_t i;

	memory_bytes = (size_t) (argc > 2 ? atoi(argv[2]) : 256) << 20;
	if (posix_memalign((void **) &memory, 4096, memory_bytes) != 0 ||
	    posix_memalign((void **) &query, 4096, DIMS * sizeof(float)) != 0)
	{
		fprintf(stderr, "out of memory\n");
		return 1;
	}
	/* 0x2e2e.. and the like: ordinary numbers as float32 and as float16. */
	for (i = 0; i < memory_bytes; i++)
		memory[i] = (char) (0x2c + (i * 2654435761u >> 20 & 0xf));
	for (i = 0; i < DIMS; i++)
		query[i] = (float) (i % 17) * 0.01f - 0.05f;

	for (level = 0; level < HY_SIMD_COUNT; level++)
	{
		if (hy_kernels_at((HySimd) level) == NULL ||
		    (argc > 3 && strcmp(argv[3], hy_simd_name((HySimd) level)) != 0))
			continue;
		for (where = 0; where < 2; where++)
		{
			for (dtype = 0; dtype < HY_DTYPE_COUNT; dtype++)
			{
				Case limit = {"limit",         (HySimd) level, METRIC_LIMIT, false,
				              (HyDtype) dtype, (Where) where,  {0},          0};

				cases[n++] = limit;
				for (metric = 0; metric < HY_METRIC_COUNT; metric++)
				{
					limit.kernel = "kernel";
					limit.metric = metric;
					cases[n++] = limit;
				}
			}
			for (metric = METRIC_LIMIT; metric <= METRIC_JACCARD;
			     metric = metric == METRIC_LIMIT ? METRIC_HAMMING : metric + 1)
			{
				Case bits = {metric == METRIC_LIMIT ? "limit" : "kernel",
				             (HySimd) level,
				             metric,
				             true,
				             HY_F32,
				             (Where) where,
				             {0},
				             0};

				cases[n++] = bits;
			}
		}
	}

	rounds = MIN_ROUNDS + (int) (seconds / 10);
	if (rounds > MAX_ROUNDS)
		rounds = MAX_ROUNDS;
	for (round = 0; round < rounds; round++)
	{
		for (i = 0; i < (size_t) n; i++)
			cases[i].seconds[cases[i].rounds++] = time_case(&cases[i], seconds / (rounds * n));
	}
	report(cases, n);
	return 0;
}

static double
now(void)
{
	struct timespec ts;

	/* Processor time: other work on the machine then disturbs least. */
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	return (double) ts.tv_sec + (double) ts.tv_nsec * 1e-9;
}

static double
median(const double *values, int n)
{
	double sorted[MAX_ROUNDS];

	memcpy(sorted, values, (size_t) n * sizeof(double));
	qsort(sorted, (size_t) n, sizeof(double), ascending);
	return sorted[n / 2];
}

static size_t
row_bytes_of(const Case *c)
{
	return c->bits ? BIT_BYTES : DIMS * hy_dtype_size(c->dtype);
}

/* time_case: seconds a pair, over at least the given time. */
static double
time_case(const Case *c, double seconds)
{
	size_t row_bytes = row_bytes_of(c);
	int64_t rows = c->where == WHERE_L1 ? HOT_TARGETS : (int64_t) (memory_bytes / row_bytes);
	int64_t times = c->where == WHERE_L1 ? 1000 : 1;
	int64_t done = 0;
	double start;
	double end;

	if (c->where == WHERE_L1)
		pass(c, rows, times);
	start = now();
	do
	{
		pass(c, rows, times);
		done += rows * times;
		end = now();
	} while (end - start < seconds);
	return (end - start) / (double) done;
}

static float
bare_pairs(HySimd level, HyDtype dtype, const char *rows, int64_t n)
{
#if defined(__x86_64__)
	if (level == HY_SIMD_AVX512 || level == HY_SIMD_AMX)
		return bare_pairs_avx512(dtype, rows, n);
	if (level == HY_SIMD_AVX2)
		return bare_pairs_avx2(dtype, rows, n);
#endif
	(void) level;
	return bare_pairs_plain(dtype, rows, n);
}

static float
bare_bits(HySimd level, const char *rows, int64_t n)
{
#if defined(__x86_64__)
	if (level == HY_SIMD_AVX512 || level == HY_SIMD_AMX)
		return bare_bits_avx512(rows, n);
	if (level == HY_SIMD_AVX2)
		return bare_bits_avx2(rows, n);
#endif
	(void) level;
	return bare_bits_plain(rows, n);
}

static float
bare_read(const char *rows, size_t bytes)
{
#if defined(__x86_64__)
	if (hy_simd_available(HY_SIMD_AVX2))
		return bare_read_avx2(rows, bytes);
#endif
	return bare_read_plain(rows, bytes);
}

/* pass: the kernel over all rows, times times. */
static void
pass(const Case *c, int64_t rows, int64_t times)
{
	const HyPairKernels *pair = &hy_kernels_at(c->level)->pair[c->dtype];
	const HyBitKernels *bits = hy_bit_kernels_at(c->level);
	size_t row_bytes = row_bytes_of(c);
	float total = 0.0f;
	float both[2];
	int64_t t;
	int64_t i;

	for (t = 0; t < times; t++)
	{
		if (c->metric == METRIC_LIMIT)
		{
			if (c->where == WHERE_STREAM)
				total += bare_read(memory, (size_t) rows * row_bytes);
			else if (c->bits)
				total += bare_bits(c->level, memory, rows);
			else
				total += bare_pairs(c->level, c->dtype, memory, rows);
			continue;
		}
		for (i = 0; i < rows; i++)
		{
			const char *row = memory + (size_t) i * row_bytes;
			uint64_t counts[2];

			if (c->metric == METRIC_HAMMING)
			{
				total += (float) bits->differing((const uint8_t *) query, (const uint8_t *) row,
				                                 BIT_BYTES);
				continue;
			}
			if (c->metric == METRIC_JACCARD)
			{
				bits->common((const uint8_t *) query, (const uint8_t *) row, BIT_BYTES, &counts[0],
				             &counts[1]);
				total += (float) (counts[0] + counts[1]);
				continue;
			}
			switch ((HyMetric) c->metric)
			{
				case HY_METRIC_L2:
					total += pair->l2sq(query, row, DIMS);
					break;
				case HY_METRIC_IP:
					total += pair->ip(query, row, DIMS);
					break;
				case HY_METRIC_L1:
					total += pair->l1(query, row, DIMS);
					break;
				case HY_METRIC_COSINE:
					pair->ip_norm(query, row, DIMS, both);
					total += both[0] + both[1];
					break;
			}
		}
	}
	sink = total;
}

static const char *
metric_name(const Case *c)
{
	if (c->metric == METRIC_HAMMING)
		return "hamming";
	if (c->metric == METRIC_JACCARD)
		return "jaccard";
	if (c->metric != METRIC_LIMIT)
		return hy_metric_name((HyMetric) c->metric);
	if (c->where == WHERE_STREAM)
		return "read";
	return c->bits ? "load" : "load+fma";
}

static void
report(const Case *cases, int n)
{
	const Case *limit = cases;
	int i;

	printf("kernel,level,metric,dtype,where,ns_per_pair,gb_per_s,share_of_limit\n");
	for (i = 0; i < n; i++)
	{
		const Case *c = &cases[i];
		double pair = median(c->seconds, c->rounds);
		double bytes = (double) row_bytes_of(c);
		const char *metric = metric_name(c);
		double shares[MAX_ROUNDS];
		int round;

		/* A limit comes before the kernels it belongs to; rounds are compared one by one. */
		if (c->metric == METRIC_LIMIT)
			limit = c;
		for (round = 0; round < c->rounds; round++)
			shares[round] = limit->seconds[round] / c->seconds[round];
		if (c->where == WHERE_L1)
			bytes += c->bits ? BIT_BYTES : DIMS * sizeof(float);
		printf("%s,%s,%s,%s,%s,%.2f,%.2f,%.3f\n", c->kernel, hy_simd_name(c->level), metric,
		       c->bits ? "bit" : hy_dtype_name(c->dtype), c->where == WHERE_L1 ? "l1" : "stream",
		       pair * 1e9, bytes / pair * 1e-9, median(shares, c->rounds));
	}
}
