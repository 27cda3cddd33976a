/*
 * copy_test.c
 *		Checks that copies have the same bytes on any number of threads, and also if the host runs
 *		only some of the parts or none.
 */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/copy.h"

#define MOST_BYTES ((size_t) 1 << 20)
#define GUARD 0x5a
#define MOST_PARTS 4096

static UnitRandom randomness = {5};
static HyHost host;
static int threads;   /* number of threads on which the host runs parts */
static int64_t fails; /* part at which the host's run fails, or -1 */
static int64_t parts_run;
static int ran[MOST_PARTS]; /* how often each part was run */
static double work_told;

/* Asked: the caller's part function, which counted() calls. */
typedef struct Asked
{
	HyPart part;
	void *arg;
} Asked;

static HyStatus
counted(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	const Asked *asked = arg;

	if (part == fails)
		return HY_CANCELLED;
	if (part < MOST_PARTS)
		(void) __atomic_fetch_add(&ran[part], 1, __ATOMIC_RELAXED);
	return asked->part(asked->arg, part, worker, cancel);
}

static HyStatus
run_parts(void *arg, HyOp op, double work, int64_t parts, HyPart part, void *part_arg)
{
	Asked asked = {part, part_arg};

	CHECK(arg == &host);
	CHECK_INT(op, HY_OP_SCORE_CODES);
	CHECK(parts > 1);
	work_told = work;
	parts_run = parts;
	memset(ran, 0, sizeof(ran));
	return hy_threads_run_soon(threads, parts, counted, &asked, NULL);
}

static void
check_parts_once(void)
{
	int64_t part;

	for (part = 0; part < parts_run && part < MOST_PARTS; part++)
		CHECK_INT(ran[part], part == fails ? 0 : 1);
}

static size_t
below(size_t limit)
{
	return (size_t) unit_random_below(&randomness, (uint64_t) limit);
}

/* draw: return a copy of random kind, size, strides and addresses in arrays of MOST_BYTES bytes. */
static HyCudaCopy
draw(const char *from, char *to)
{
	HyCudaCopy copy = {.kind = (HyCudaCopyKind) below(3)};
	size_t widest = (size_t) 1 << (2 + below(19));
	bool gaps = below(3) > 0;

	copy.bytes = below(8) == 0 ? 0 : 1 + below(widest);
	copy.from_stride = copy.bytes + (gaps ? below(300) : 0);
	copy.to_stride = copy.bytes + (gaps && below(2) == 0 ? below(300) : 0);
	if (copy.kind == HY_CUDA_COPY_HOPS)
	{
		copy.bytes = copy.bytes / 4 * 4;
		copy.from_stride = copy.from_stride / 4 * 4;
		copy.to_stride = copy.to_stride / 4 * 4;
	}
	copy.from = from + below(64) / 4 * 4;
	copy.to = to + below(64) / 4 * 4;
	if (copy.bytes > 0)
	{
		size_t stride = copy.from_stride > copy.to_stride ? copy.from_stride : copy.to_stride;

		copy.rows = (int64_t) ((MOST_BYTES - 64) / stride);
		copy.rows = copy.rows == 0 ? 0 : (int64_t) below((size_t) copy.rows + 1);
		if (copy.bytes > MOST_BYTES - 64)
			copy.rows = 0;
	}
	return copy;
}

/* expect: make a copy row by row, to compare with. */
static void
expect(const HyCudaCopy *copy, char *to)
{
	int64_t row;
	size_t at;

	for (row = 0; row < copy->rows; row++)
	{
		const char *source = copy->from + (size_t) row * copy->from_stride;
		char *target = to + (size_t) row * copy->to_stride;

		memcpy(target, source, copy->bytes);
		for (at = 0; at < copy->bytes && copy->kind == HY_CUDA_COPY_HOPS; at += 4)
		{
			uint32_t hop;

			memcpy(&hop, source + at, 4);
			hop--;
			memcpy(target + at, &hop, 4);
		}
	}
}

/* check_copies: make several copies in one call, on several numbers of threads. */
static void
check_copies(void)
{
	static const int numbers[] = {0, 1, 2, 3, 7}; /* 0: the host runs no parts */
	char *from = malloc(HY_CUDA_COPIES * MOST_BYTES);
	char *to = malloc(HY_CUDA_COPIES * MOST_BYTES);
	char *expected = malloc(HY_CUDA_COPIES * MOST_BYTES);
	int several = 0;
	size_t i;
	int round;

	for (i = 0; i < HY_CUDA_COPIES * MOST_BYTES; i++)
		from[i] = (char) unit_random_below(&randomness, 256);
	for (round = 0; round < 60; round++)
	{
		HyCudaCopy copies[HY_CUDA_COPIES];
		int count = 1 + (int) below(HY_CUDA_COPIES);
		double bytes = 0;

		memset(expected, GUARD, HY_CUDA_COPIES * MOST_BYTES);
		for (i = 0; i < (size_t) count; i++)
		{
			copies[i] = draw(from + i * MOST_BYTES, to + i * MOST_BYTES);
			expect(&copies[i], expected + (copies[i].to - to));
			bytes += (double) copies[i].bytes * (double) copies[i].rows;
		}
		for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		{
			threads = numbers[i];
			host.run = threads > 0 ? run_parts : NULL;
			parts_run = 0;
			fails = -1;
			memset(to, GUARD, HY_CUDA_COPIES * MOST_BYTES);
			hy_cuda_copy(&host, HY_OP_SCORE_CODES, copies, count);
			CHECK(memcmp(to, expected, HY_CUDA_COPIES * MOST_BYTES) == 0);
			check_parts_once();
			if (parts_run > 0)
			{
				CHECK(work_told == 2 * bytes);
				several++;
			}
		}
		if (unit_failed_checks > 0)
			break;
	}
	CHECK(several > 60);
	free(from);
	free(to);
	free(expected);
}

/* if the host's run fails or is canceled, it leaves some parts out, but all bytes are copied */
static void
check_failing_host(void)
{
	size_t bytes = MOST_BYTES + 12345;
	char *from = malloc(bytes);
	char *to = malloc(bytes);
	HyCudaCopy copy = hy_cuda_copy_of(HY_CUDA_COPY_UP, to, from, bytes);
	size_t i;

	for (i = 0; i < bytes; i++)
		from[i] = (char) unit_random_below(&randomness, 256);
	host.run = run_parts;
	for (threads = 1; threads <= 3; threads++)
	{
		for (fails = 0; fails < 17; fails++)
		{
			memset(to, GUARD, bytes);
			hy_cuda_copy(&host, HY_OP_SCORE_CODES, &copy, 1);
			CHECK(memcmp(to, from, bytes) == 0);
			CHECK_INT(parts_run, 17);
			CHECK_INT(ran[fails], 0);
		}
	}
	free(from);
	free(to);
}

/* a copy of one part, or of nothing, does not call the host */
static void
check_small(void)
{
	char from[65536];
	char to[65536];
	HyCudaCopy copy = hy_cuda_copy_of(HY_CUDA_COPY_UP, to, from, sizeof(to));

	memset(from, 7, sizeof(from));
	memset(to, GUARD, sizeof(to));
	host.run = run_parts;
	threads = 3;
	fails = -1;
	parts_run = 0;
	hy_cuda_copy(&host, HY_OP_SCORE_CODES, &copy, 1);
	CHECK_INT(parts_run, 0);
	CHECK(memcmp(to, from, sizeof(to)) == 0);
	hy_cuda_copy(&host, HY_OP_SCORE_CODES, &copy, 0);
	copy.rows = 0;
	copy.to = NULL;
	copy.from = NULL;
	hy_cuda_copy(&host, HY_OP_SCORE_CODES, &copy, 1);
	CHECK_INT(parts_run, 0);
}

int
main(void)
{
	host.run_arg = &host;
	UNIT_RUN(check_copies);
	UNIT_RUN(check_failing_host);
	UNIT_RUN(check_small);
	return unit_finish();
}
