/*
 * kernels.c
 *		How near the distance kernels come to the limits of this machine.
 *
 *		kernels [SECONDS [MEGABYTES [LEVEL]]]
 *
 * Two places: 'l1', one query against a few targets that all stay in the first-level cache, and
 * 'stream', one query against MEGABYTES (256) of targets, far beyond the last-level cache.  The limit
 * of each is measured in the same run, interleaved with the kernels.  In L1 it is the faster of two
 * bare loops that load what the kernel must load and fuse what it must fuse, without a reduction at
 * the end.  In a stream it is the fastest bare read of the same memory.  A share is limit time /
 * kernel time.  Medians over at least 7 rounds.
 *
 * Bit strings have 8,192 bits.  Their limit in L1 is to load both and to combine them, without
 * counting.  Only an instruction that counts, as AVX-512 has, can come near it.
 *
 * Sparse vectors have 77 of 768 elements, which are expanded, and 128 of 30,000, which are merged.
 * Their limit in L1 is to read both lists, without matching their elements.
 *
 * CSV on stdout: kernel,level,metric,dtype,where,ns_per_pair,gb_per_s,share_of_limit.  gb_per_s
 * counts the bytes of the targets, and in L1 those of the query too.
 */
#define _POSIX_C_SOURCE 200809L

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rounds.h"
#include "core/bits.h"
#include "core/distance.h"
#include "core/sparse.h"
#include "limits.h"

#define HOT_TARGETS 4
#define HOT_SPARSE 16
#define MIN_ROUNDS 7

typedef enum Where
{
	WHERE_L1,
	WHERE_STREAM
} Where;

/* What rows are. */
typedef enum Kind
{
	KIND_DENSE, /* DIMS of a dtype */
	KIND_BITS,  /* BIT_BYTES */
	KIND_SPARSE
} Kind;

typedef struct SparseShape
{
	const char *name;
	int32_t dims;
	int32_t count;
	char *rows; /* memory_bytes of them; the first is the query */
} SparseShape;

static SparseShape sparse_shapes[] = {{"sparse 77/768", 768, 77, NULL},
                                      {"sparse 128/30000", 30000, 128, NULL}};

/* Measured beside the metrics of HyMetric; the latter two on bits. */
#define METRIC_LIMIT (-1)
#define METRIC_HAMMING HY_METRIC_COUNT
#define METRIC_JACCARD (HY_METRIC_COUNT + 1)

/* A measured loop: passes over rows, and what it costs. */
typedef struct Case
{
	const char *kernel;
	HySimd level;
	int metric; /* HyMetric, or one of the above */
	Kind kind;
	HyDtype dtype;             /* of dense rows */
	const SparseShape *sparse; /* of sparse ones */
	Where where;
	double seconds[MAX_ROUNDS]; /* of one pair, by round */
	int rounds;
} Case;

static float *query;
static char *memory;
static size_t memory_bytes;
static volatile float sink;

static void make_sparse(const SparseShape *shape);
static double time_case(const Case *c, double seconds);
static void pass(const Case *c, int64_t rows, int64_t times);
static void report(const Case *cases, int n);

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
	    posix_memalign((void **) &sparse_shapes[0].rows, 4096, memory_bytes) != 0 ||
	    posix_memalign((void **) &sparse_shapes[1].rows, 4096, memory_bytes) != 0 ||
	    posix_memalign((void **) &query, 4096, DIMS * sizeof(float)) != 0)
	{
		fprintf(stderr, "out of memory\n");
		return 1;
	}
	/* 0x2e2e.. and the like: ordinary numbers as float32 and as float16. */
	for (i = 0; i < memory_bytes; i++)
		memory[i] = (char) (0x2c + (i * 2654435761u >> 20 & 0xf));
	for (i = 0; i < sizeof(sparse_shapes) / sizeof(sparse_shapes[0]); i++)
		make_sparse(&sparse_shapes[i]);
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
				Case limit = {"limit", (HySimd) level, METRIC_LIMIT, KIND_DENSE, (HyDtype) dtype,
				              NULL,    (Where) where,  {0},          0};

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
				             KIND_BITS,
				             HY_F32,
				             NULL,
				             (Where) where,
				             {0},
				             0};

				cases[n++] = bits;
			}
			for (i = 0; i < sizeof(sparse_shapes) / sizeof(sparse_shapes[0]); i++)
			{
				for (metric = METRIC_LIMIT; metric < HY_METRIC_COUNT; metric++)
				{
					Case sparse = {metric == METRIC_LIMIT ? "limit" : "kernel",
					               (HySimd) level,
					               metric,
					               KIND_SPARSE,
					               HY_F32,
					               &sparse_shapes[i],
					               (Where) where,
					               {0},
					               0};

					cases[n++] = sparse;
				}
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

static size_t
row_bytes_of(const Case *c)
{
	switch (c->kind)
	{
		case KIND_BITS:
			return BIT_BYTES;
		case KIND_SPARSE:
			/* indices and values */
			return (size_t) c->sparse->count * (sizeof(int32_t) + sizeof(float));
		case KIND_DENSE:
			break;
	}
	return DIMS * hy_dtype_size(c->dtype);
}

/* fill_sparse: a row: of each of count equal parts one index, which nobody can foretell. */
static void
fill_sparse(const SparseShape *shape, int32_t *row, uint32_t *random)
{
	float *values = (float *) (void *) (row + shape->count);
	int32_t part = shape->dims / shape->count;
	int32_t i;

	for (i = 0; i < shape->count; i++)
	{
		*random = *random * 1664525u + 1013904223u;
		row[i] = i * part + (int32_t) (*random >> 8) % part;
		values[i] = 0.25f + (float) (*random >> 24) / 256.0f;
	}
}

static void
make_sparse(const SparseShape *shape)
{
	size_t row_bytes = (size_t) shape->count * (sizeof(int32_t) + sizeof(float));
	uint32_t random = 1;
	size_t i;

	for (i = 0; (i + 1) * row_bytes <= memory_bytes; i++)
		fill_sparse(shape, (int32_t *) (void *) (shape->rows + i * row_bytes), &random);
}

static HySparse
sparse_row(const SparseShape *shape, int64_t number)
{
	size_t row_bytes = (size_t) shape->count * (sizeof(int32_t) + sizeof(float));
	const int32_t *indices = (const int32_t *) (void *) (shape->rows + (size_t) number * row_bytes);
	HySparse row = {shape->dims, shape->count, indices,
	                (const float *) (const void *) (indices + shape->count)};

	return row;
}

/* time_case: seconds a pair, over at least the given time. */
static double
time_case(const Case *c, double seconds)
{
	size_t row_bytes = row_bytes_of(c);
	/* a merge of few rows would be foretold */
	int64_t hot = c->kind == KIND_SPARSE ? HOT_SPARSE : HOT_TARGETS;
	int64_t rows = c->where == WHERE_L1 ? hot : (int64_t) (memory_bytes / row_bytes);
	int64_t times = c->where == WHERE_L1 ? 1000 : 1;
	int64_t done = 0;
	double start;
	double end;

	if (c->kind == KIND_SPARSE)
	{
		rows = rows > hot ? rows - 1 : rows;
		hy_kernels_force(c->level);
		times = c->where == WHERE_L1 ? 100 : 1;
	}
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

/* bare_lists: the query's and each row's. */
static float
bare_lists(const SparseShape *shape, int64_t n)
{
	size_t bytes = (size_t) shape->count * (sizeof(int32_t) + sizeof(float));
	float total = 0.0f;
	int64_t i;

	for (i = 0; i < n; i++)
		total += bare_read(shape->rows, bytes) +
		         bare_read(shape->rows + (size_t) (i + 1) * bytes, bytes);
	return total;
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
			if (c->kind == KIND_SPARSE && c->where == WHERE_STREAM)
				total += bare_read(c->sparse->rows, (size_t) rows * row_bytes);
			else if (c->where == WHERE_STREAM)
				total += bare_read(memory, (size_t) rows * row_bytes);
			else if (c->kind == KIND_SPARSE)
				total += bare_lists(c->sparse, rows);
			else if (c->kind == KIND_BITS)
				total += bare_bits(c->level, (const char *) query, memory, rows);
			else
				total += bare_pairs(c->level, c->dtype, query, memory, rows);
			continue;
		}
		for (i = 0; i < rows; i++)
		{
			const char *row = memory + (size_t) i * row_bytes;
			uint64_t counts[2];

			if (c->kind == KIND_SPARSE)
			{
				HySparse a = sparse_row(c->sparse, 0);
				HySparse b = sparse_row(c->sparse, i + 1);

				total += (float) hy_sparse_distance((HyMetric) c->metric, &a, &b);
				continue;
			}
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
	if (c->kind == KIND_SPARSE)
		return "read";
	return c->kind == KIND_BITS ? "load" : "load+fma";
}

static const char *
row_name(const Case *c)
{
	if (c->kind == KIND_SPARSE)
		return c->sparse->name;
	return c->kind == KIND_BITS ? "bit" : hy_dtype_name(c->dtype);
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
			bytes += c->kind == KIND_DENSE ? DIMS * sizeof(float) : bytes;
		printf("%s,%s,%s,%s,%s,%.2f,%.2f,%.3f\n", c->kernel, hy_simd_name(c->level), metric,
		       row_name(c), c->where == WHERE_L1 ? "l1" : "stream", pair * 1e9, bytes / pair * 1e-9,
		       median(shares, c->rounds));
	}
}
