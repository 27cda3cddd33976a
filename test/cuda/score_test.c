/*
 * score_test.c
 *		Runs the kernels of 'score_codes' on fibers.  The rows and the bits must be the CPU's,
 *		whatever the capacity of the lists and the number of multiprocessors.
 */
#include "kinds.h"

#include "cuda/score_launch.h"
#include "scores.h"

typedef struct Case
{
	int32_t padded;
	int32_t blocks;
	int32_t lists;
	int32_t queries;
	int32_t k;
	ScoreKind kind;
	int pieces; /* number of pieces of blocks */
	int multiprocessors;
	uint32_t room;
} Case;

static int64_t compared;

/* key_of: return the key of an expected row on the device. */
static uint64_t
key_of(const HyNeighbor *row)
{
	float bound = (float) row->distance;
	uint64_t zero = bound == 0 && signbit(bound);
	uint32_t bits;

	bound = bound == 0 ? 0 : bound;
	memcpy(&bits, &bound, sizeof(bits));
	bits = (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
	return (uint64_t) bits << 32 | (uint64_t) row->row << 1 | zero;
}

/* queries_up: copy up the tables and the other data of the queries. */
static void
queries_up(HyCudaScore *args, const ScoreJob *job, cudaStream_t stream)
{
	const HyScoreTask *s = &job->task.u.score;
	HyCudaScoreQuery *known = calloc((size_t) s->queries.count, sizeof(HyCudaScoreQuery));
	int32_t q;

	for (q = 0; q < s->queries.count; q++)
		known[q] =
			(HyCudaScoreQuery){job->query[q].scale, job->query[q].offset, job->query[q].slack, 0};
	args->tables = to_device(
		job->tables, (size_t) s->queries.count * hy_code_tables_size(s->rows.padded), stream);
	args->query = to_device(known, (size_t) s->queries.count * sizeof(HyCudaScoreQuery), stream);
	CHECK_INT(cudaStreamSynchronize(stream), cudaSuccess);
	free(known);
}

/* piece: score blocks first .. first + count - 1 for the queries. */
static void
piece(const Case *c, HyCudaScore args, const ScoreJob *job, int32_t first, int32_t count,
      cudaStream_t stream)
{
	const HyScoreTask *s = &job->task.u.score;
	size_t size = hy_code_block_size(c->padded);
	int32_t *list = calloc((size_t) count, sizeof(int32_t));
	HyCudaScoreReach *reach =
		calloc((size_t) c->lists * (size_t) c->queries, sizeof(HyCudaScoreReach));
	int32_t l;
	int32_t b;
	int32_t q;

	for (l = 0; l < c->lists; l++)
	{
		for (b = job->begin[l]; b < job->begin[l + 1]; b++)
		{
			if (b >= first && b < first + count)
				list[b - first] = l;
		}
		for (q = 0; q < c->queries; q++)
		{
			const HyScoreReach *known = &job->reach[q * s->queries.reach_stride + l];

			reach[l * c->queries + q] =
				(HyCudaScoreReach){.base = known->base, .reach = known->reach};
		}
	}
	args.codes = to_device(job->codes + (size_t) first * size, (size_t) count * size, stream);
	args.factors = to_device(job->factors + (size_t) first * sizeof(HyCodeFactors),
	                         (size_t) count * sizeof(HyCodeFactors), stream);
	args.list = to_device(list, (size_t) count * sizeof(int32_t), stream);
	args.live = to_device(job->live + first, (size_t) count * sizeof(uint32_t), stream);
	args.reach = to_device(
		reach, (size_t) c->lists * (size_t) c->queries * sizeof(HyCudaScoreReach), stream);
	args.blocks = count;
	args.first_row = (uint32_t) first * HY_CODE_ROWS;
	CHECK_INT(hy_cuda_launch_score(&args, c->multiprocessors, stream), cudaSuccess);
	CHECK_INT(cudaStreamSynchronize(stream), cudaSuccess);
	cudaFree((void *) args.codes);
	cudaFree((void *) args.factors);
	cudaFree((void *) args.list);
	cudaFree((void *) args.live);
	cudaFree(args.reach);
	free(list);
	free(reach);
}

static void
run_case(const Case *c)
{
	size_t bytes = (size_t) c->queries * (size_t) c->k * sizeof(uint64_t);
	uint64_t *best = malloc(bytes);
	HyCudaScore args = {.query_count = c->queries,
	                    .lists = c->lists,
	                    .padded = c->padded,
	                    .k = c->k,
	                    .eps = 1.9f,
	                    .room = c->room};
	const char *fault;
	cudaStream_t stream;
	int32_t first = 0;
	ScoreJob job;
	int32_t q;
	int32_t i;

	score_job(&job, &randomness, c->padded, c->blocks, c->lists, c->queries, c->k, c->kind, 0);
	memset(best, 0xff, bytes);
	CHECK_INT(cudaStreamCreateWithFlags(&stream, 0), cudaSuccess);
	queries_up(&args, &job, stream);
	args.best = to_device(best, bytes, stream);
	CHECK_INT(cudaMalloc((void **) &args.found, (size_t) c->queries * c->room * sizeof(uint64_t)),
	          cudaSuccess);
	CHECK_INT(cudaMalloc((void **) &args.counts, (size_t) c->queries * sizeof(unsigned)),
	          cudaSuccess);
	for (i = 1; i <= c->pieces; i++)
	{
		int32_t end = c->blocks * i / c->pieces;

		if (end > first)
			piece(c, args, &job, first, end - first, stream);
		first = end;
	}
	CHECK_INT(cudaMemcpyAsync(best, args.best, bytes, cudaMemcpyDeviceToHost, stream), cudaSuccess);
	CHECK_INT(cudaStreamSynchronize(stream), cudaSuccess);
	fault = hy_fake_fault();
	CHECK_MSG(fault == NULL, "%s", fault);
	for (q = 0; q < c->queries; q++)
	{
		for (i = 0; i < c->k; i++)
		{
			uint64_t is = best[(int64_t) q * c->k + i];
			uint64_t should = i < job.expected_counts[q]
			                      ? key_of(&job.expected[(int64_t) q * c->k + i])
			                      : HY_CUDA_SCORE_NONE;

			CHECK_MSG(is == should,
			          "padded %d, %d blocks, %d queries, k %d, kind %d, room %d, pieces %d: query "
			          "%d [%d] is %llx, expected %llx",
			          (int) c->padded, (int) c->blocks, (int) c->queries, (int) c->k, (int) c->kind,
			          (int) c->room, c->pieces, (int) q, (int) i, (unsigned long long) is,
			          (unsigned long long) should);
			compared++;
		}
	}
	cudaFree((void *) args.tables);
	cudaFree((void *) args.query);
	cudaFree(args.best);
	cudaFree(args.found);
	cudaFree(args.counts);
	cudaStreamDestroy(stream);
	free(best);
	score_job_free(&job);
}

static const Case plain = {.padded = 64,
                           .blocks = 20,
                           .lists = 3,
                           .queries = 3,
                           .k = 10,
                           .pieces = 1,
                           .multiprocessors = 1,
                           .room = 4096};

/*
 * blocks around the sizes of warps, turns and steps; queries around that of batches; k around the
 * parts of the buffer
 */
static void
every_boundary(void)
{
	static const int32_t blocks[] = {1, 2, 7, 8, 9, 16, 17, 33, 70};
	static const int32_t k[] = {1, 2, 31, 32, 33, 512, 1023, 1024};
	static const uint32_t rooms[] = {32, 64, 256, 992, 4096};
	size_t i;
	size_t j;

	for (i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
	{
		for (j = 0; j < sizeof(k) / sizeof(k[0]); j++)
		{
			Case c = plain;

			c.blocks = blocks[i];
			c.k = k[j];
			c.queries = 1 + (int32_t) (i + j) % 9;
			c.room = rooms[(i * 3 + j) % 5];
			c.multiprocessors = 1 + (int) (i + j) % 4;
			run_case(&c);
		}
	}
}

/*
 * equal bounds are ordered by row, whichever piece, step or list the row is in; zeros of both signs
 * are equal
 */
static void
ties_go_by_row(void)
{
	int pieces;
	int32_t k;

	for (pieces = 1; pieces <= 4; pieces++)
	{
		for (k = 5; k < 1000; k *= 9)
		{
			Case c = plain;

			c.kind = SCORE_FEW;
			c.pieces = pieces;
			c.k = k;
			c.blocks = 60;
			c.room = pieces % 2 ? 128 : 4096;
			run_case(&c);
		}
	}
}

/* bounds that are infinite or NaN */
static void
extremes(void)
{
	int i;

	for (i = 0; i < 12; i++)
	{
		Case c = plain;

		c.kind = SCORE_ODD;
		c.lists = 1 + i;
		c.k = 1 + i * i * 7;
		c.padded = 64 * (1 + i % 4);
		run_case(&c);
	}
}

/* tables that are loaded into shared memory at once, and in parts */
static void
every_width(void)
{
	static const int32_t padded[] = {64, 128, 192, 1984, 2048, 2112, 4096, 4160, 16000};
	size_t i;

	for (i = 0; i < sizeof(padded) / sizeof(padded[0]); i++)
	{
		Case c = plain;

		c.padded = padded[i];
		c.blocks = padded[i] < 1000 ? 30 : 9;
		c.queries = 5;
		run_case(&c);
	}
}

static void
random_cases(void)
{
	int i;

	for (i = 0; i < 80 / unit_share(); i++)
	{
		Case c = plain;

		c.padded = 64 * (1 + (int32_t) unit_random_below(&randomness, i % 8 == 0 ? 50 : 5));
		c.blocks = 1 + (int32_t) unit_random_below(&randomness, 60);
		c.lists = 1 + (int32_t) unit_random_below(&randomness, 9);
		c.queries = 1 + (int32_t) unit_random_below(&randomness, 14);
		c.k = 1 + (int32_t) unit_random_below(&randomness, i % 4 == 0 ? HY_SCORE_MOST : 60);
		c.kind = (ScoreKind) unit_random_below(&randomness, SCORE_KINDS);
		c.pieces = 1 + (int) unit_random_below(&randomness, 4);
		c.multiprocessors = 1 + (int) unit_random_below(&randomness, 9);
		c.room = 32 * (1 + (uint32_t) unit_random_below(&randomness, 60));
		run_case(&c);
	}
}

int
main(void)
{
	hy_fake_reset();
	UNIT_RUN(every_boundary);
	UNIT_RUN(ties_go_by_row);
	UNIT_RUN(extremes);
	UNIT_RUN(every_width);
	UNIT_RUN(random_cases);
	printf("# %lld entries compared, %d left allocated\n", (long long) compared, hy_fake_live());
	return unit_finish();
}
