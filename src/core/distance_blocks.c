/*
 * distance_blocks.c
 *		Distances between many vectors and many others.
 *
 * Targets are divided into blocks of about HY_BLOCK_BYTES, which stay in the second-level cache
 * while they are compared with all queries of a group.  For the cosine distance, a part computes
 * each norm once, unless the matrix provides it.  The norms of targets are computed while their
 * block is in the cache.
 *
 * The work is divided into parts for the threads.  A part is a group of queries and a run of
 * blocks.
 */
#include "core/distance_blocks.h"

#include <math.h>
#include <string.h>

#include "core/threads.h"

#define HY_BLOCK_BYTES (128 * 1024)
#define HY_QUERY_GROUP 256

/* Elements between two polls: a millisecond in plain C, tens of microseconds with AVX. */
#define HY_POLL_ELEMENTS (1 << 20)

#define PARTS_PER_THREAD 4 /* several, so that no thread waits long for the others */

typedef struct Pairs
{
	HyMetric metric;
	const HyMatrix *queries;
	const HyMatrix *targets;
	HyBlockSink sink;
	void *arg;
	int block;    /* targets per block */
	int64_t run;  /* targets per part */
	int64_t runs; /* parts of one group */
	int group;    /* queries per part */
} Pairs;

typedef struct Pass
{
	HyMetric metric;
	const HyMatrix *queries;
	const HyMatrix *targets;
	const HyPairKernels *pair;
	float query_norms[HY_QUERY_GROUP];
	float target_norms[HY_BLOCK_ROWS];
	double distances[HY_BLOCK_ROWS];
	int64_t work; /* elements since the last poll */
} Pass;

typedef struct MatrixSink
{
	double *out;
	int64_t columns;
} MatrixSink;

static bool rows_readable(const HyMatrix *matrix);
static int rows_a_block(const HyMatrix *targets);
static HyStatus run_part(void *arg, int64_t part, int worker, const HyCancel *cancel);
static void block_of_one_query(Pass *pass, int64_t query, float query_norm, int64_t first, int n,
                               bool norms_known);
static void store_row(void *arg, int64_t query, int64_t first, int n, const double *distances);

HyStatus
hy_distance_matrix(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets, double *out,
                   const HyCancel *cancel)
{
	return hy_distance_window(metric, queries, targets, out, targets->rows, cancel);
}

HyStatus
hy_distance_window(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets, double *out,
                   int64_t stride, const HyCancel *cancel)
{
	MatrixSink sink;

	sink.out = out;
	sink.columns = stride;
	return hy_distance_blocks(metric, queries, targets, store_row, &sink, cancel);
}

HyStatus
hy_distance_blocks(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets,
                   HyBlockSink sink, void *arg, const HyCancel *cancel)
{
	Pairs pairs = {.metric = metric,
	               .queries = queries,
	               .targets = targets,
	               .sink = sink,
	               .arg = arg,
	               .runs = 1,
	               .group = HY_QUERY_GROUP};
	int64_t groups;
	int threads;

	if (!hy_shapes_agree(metric, queries, targets))
		return HY_INVALID;
	if (queries->rows == 0 || targets->rows == 0)
		return HY_OK;

	pairs.block = rows_a_block(targets);
	pairs.run = targets->rows;
	groups = (queries->rows + HY_QUERY_GROUP - 1) / HY_QUERY_GROUP;
	threads = hy_threads_for((double) queries->rows * (double) targets->rows *
	                         (targets->dims + HY_LANES));
	if (threads > 1)
	{
		int64_t blocks = (targets->rows + pairs.block - 1) / pairs.block;
		int64_t parts = (int64_t) threads * PARTS_PER_THREAD;

		/* divide the targets, and the queries too if there are few blocks */
		pairs.runs = (parts + groups - 1) / groups;
		if (pairs.runs > blocks)
			pairs.runs = blocks;
		pairs.run = (blocks + pairs.runs - 1) / pairs.runs * pairs.block;
		pairs.runs = (targets->rows + pairs.run - 1) / pairs.run;
		if (groups * pairs.runs < parts)
		{
			int64_t divided = (parts + pairs.runs - 1) / pairs.runs;
			int64_t group = (queries->rows + divided - 1) / divided;

			pairs.group = group < HY_QUERY_GROUP ? (int) group : HY_QUERY_GROUP;
			groups = (queries->rows + pairs.group - 1) / pairs.group;
		}
	}
	return hy_threads_run(threads, groups * pairs.runs, run_part, &pairs, cancel);
}

/* run_part: pass the distances between a group of queries and a run of targets to the sink. */
static HyStatus
run_part(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	const Pairs *pairs = arg;
	const HyMatrix *queries = pairs->queries;
	const HyMatrix *targets = pairs->targets;
	HyMetric metric = pairs->metric;
	int64_t group = part / pairs->runs * pairs->group;
	int64_t left = queries->rows - group;
	int grouped = left < pairs->group ? (int) left : pairs->group;
	int64_t first = part % pairs->runs * pairs->run;
	int64_t last = targets->rows - first < pairs->run ? targets->rows : first + pairs->run;
	Pass pass;
	int i;

	(void) worker;
	pass.metric = metric;
	pass.queries = queries;
	pass.targets = targets;
	pass.pair = &hy_kernels()->pair[targets->dtype];
	pass.work = 0;
	if (hy_cancelled(cancel))
		return HY_CANCELLED;
	for (i = 0; i < grouped && metric == HY_METRIC_COSINE; i++)
		pass.query_norms[i] =
			queries->norms != NULL
				? queries->norms[group + i]
				: hy_norm_sq(HY_F32, hy_matrix_row(queries, group + i), queries->dims);

	for (; first < last; first += pairs->block)
	{
		int n = last - first < pairs->block ? (int) (last - first) : pairs->block;
		bool norms_known = false;

		if (targets->norms != NULL)
		{
			memcpy(pass.target_norms, targets->norms + first, (size_t) n * sizeof(float));
			norms_known = true;
		}
		for (i = 0; i < grouped; i++)
		{
			if (pass.work >= HY_POLL_ELEMENTS)
			{
				if (hy_cancelled(cancel))
					return HY_CANCELLED;
				pass.work = 0;
			}
			block_of_one_query(&pass, group + i,
			                   metric == HY_METRIC_COSINE ? pass.query_norms[i] : 0.0f, first, n,
			                   norms_known);
			norms_known = true;
			pairs->sink(pairs->arg, group + i, first, n, pass.distances);
		}
	}
	return HY_OK;
}

bool
hy_shapes_agree(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets)
{
	return (int) metric >= 0 && (int) metric < HY_METRIC_COUNT && queries->dtype == HY_F32 &&
	       queries->dims == targets->dims && rows_readable(queries) && rows_readable(targets);
}

static bool
rows_readable(const HyMatrix *matrix)
{
	size_t element;

	if ((int) matrix->dtype < 0 || (int) matrix->dtype >= HY_DTYPE_COUNT)
		return false;
	if (matrix->dims < 1 || matrix->dims > HY_MAX_DIMS || matrix->rows < 0)
		return false;
	if (matrix->rows == 0)
		return true;
	element = hy_dtype_size(matrix->dtype);
	return matrix->data != NULL && (uintptr_t) matrix->data % element == 0 &&
	       (matrix->rows == 1 ||
	        (matrix->stride % element == 0 && matrix->stride >= (size_t) matrix->dims * element));
}

static int
rows_a_block(const HyMatrix *targets)
{
	size_t rows = HY_BLOCK_BYTES / ((size_t) targets->dims * hy_dtype_size(targets->dtype));

	if (rows < 1)
		return 1;
	return rows < HY_BLOCK_ROWS ? (int) rows : HY_BLOCK_ROWS;
}

/*
 * block_of_one_query: compute the distances from one query to the n rows of a block.  Also computes
 * target_norms if they are needed and unknown.
 */
static void
block_of_one_query(Pass *pass, int64_t query, float query_norm, int64_t first, int n,
                   bool norms_known)
{
	const HyPairKernels *pair = pass->pair;
	const float *a = hy_matrix_row(pass->queries, query);
	int dims = pass->targets->dims;
	int i;

	for (i = 0; i < n; i++)
	{
		const void *b = hy_matrix_row(pass->targets, first + i);
		float sum[2] = {0.0f, 0.0f};
		float norm = 0.0f;

		switch (pass->metric)
		{
			case HY_METRIC_L2:
				sum[0] = pair->l2sq(a, b, dims);
				break;
			case HY_METRIC_IP:
				sum[0] = pair->ip(a, b, dims);
				break;
			case HY_METRIC_L1:
				sum[0] = pair->l1(a, b, dims);
				break;
			case HY_METRIC_COSINE:
				if (norms_known)
					sum[0] = pair->ip(a, b, dims);
				else
				{
					pair->ip_norm(a, b, dims, sum);
					pass->target_norms[i] = sum[1];
				}
				norm = pass->target_norms[i];
				break;
		}
		pass->distances[i] = hy_distance_from_sums(pass->metric, sum[0], query_norm, norm);
	}
	pass->work += (int64_t) n * (dims + HY_LANES);
}

static void
store_row(void *arg, int64_t query, int64_t first, int n, const double *distances)
{
	MatrixSink *sink = arg;

	memcpy(sink->out + query * sink->columns + first, distances, (size_t) n * sizeof(double));
}
