/*
 * copy.c
 *		Copies rows between the task's memory and pinned memory.
 *
 * One thread copies several times more slowly than the bus transfers.  So the copies are divided
 * into parts of about 64 KiB.  The host runs the parts on threads that it lends (HyHost.run).
 * Copying a part calls neither the host nor CUDA, and allocates no memory.
 *
 * The CPU does not read the packed rows in pinned memory again.  So large copies of long rows to
 * pinned memory use stores that bypass the cache (core/stream_copy.h).
 */
#include "cuda/copy.h"

#include <string.h>

#include "core/stream_copy.h"

#define PART ((size_t) 64 * 1024)

/*
 * Work of copying one byte, in the unit of HyHost.run, chosen so that a copy gets one thread per
 * MiB.  Copying 1 MiB takes about 0.1 ms.  A thread is worth waking only for at least that much
 * work.
 */
#define BYTE_WORK 2.0

/* fewest bytes of a row for streaming stores; shorter rows have too many incomplete cache lines */
#define SHORTEST_STREAM 1024

/* Cut: a copy and its division into parts.  A part is several rows, or a section of one row. */
typedef struct Cut
{
	HyCudaCopy copy;
	int64_t first;    /* number of the copy's first part among the parts of all copies */
	int64_t rows;     /* number of rows in a part */
	int64_t sections; /* number of parts per row; 1 if a part has whole rows */
	bool streams;
} Cut;

typedef struct Cuts
{
	Cut cut[HY_CUDA_COPIES];
	int count;
	int64_t parts;
} Cuts;

static double divide(const HyCudaCopy *copies, int count, Cuts *cuts);
static HyStatus run_part(void *arg, int64_t part, int worker, const HyCancel *cancel);
static void copy_row(const Cut *cut, char *to, const char *from, size_t bytes);
static void subtract(char *to, const char *from, size_t bytes);

void
hy_cuda_copy(const HyHost *host, HyOp op, const HyCudaCopy *copies, int count)
{
	Cuts cuts;
	double bytes = divide(copies, count, &cuts);
	int64_t part;

	if (cuts.parts > 1 && host->run != NULL &&
	    host->run(host->run_arg, op, bytes * BYTE_WORK, cuts.parts, run_part, &cuts) == HY_OK)
		return;
	for (part = 0; part < cuts.parts; part++)
		(void) run_part(&cuts, part, 0, NULL);
}

/* divide: divide all copies into parts.  Returns the total number of bytes. */
static double
divide(const HyCudaCopy *copies, int count, Cuts *cuts)
{
	double all = 0;
	int i;

	cuts->count = 0;
	cuts->parts = 0;
	for (i = 0; i < count; i++)
	{
		Cut *cut = &cuts->cut[cuts->count];
		HyCudaCopy *copy = &cut->copy;
		size_t bytes;

		if (copies[i].bytes == 0 || copies[i].rows == 0)
			continue;
		cuts->count++;
		*copy = copies[i];
		/* rows without gaps are one long row */
		if (copy->from_stride == copy->bytes && copy->to_stride == copy->bytes)
		{
			copy->bytes *= (size_t) copy->rows;
			copy->rows = 1;
		}
		bytes = copy->bytes * (size_t) copy->rows;
		cut->first = cuts->parts;
		cut->rows = copy->bytes < PART ? (int64_t) (PART / copy->bytes) : 1;
		cut->sections = (int64_t) ((copy->bytes + PART - 1) / PART);
		cut->streams =
			copy->kind == HY_CUDA_COPY_UP && bytes > PART && copy->bytes >= SHORTEST_STREAM;
		cuts->parts += (copy->rows + cut->rows - 1) / cut->rows * cut->sections;
		all += (double) bytes;
	}
	return all;
}

/* run_part: copy one part. */
static HyStatus
run_part(void *arg, int64_t part, int worker, const HyCancel *cancel)
{
	const Cuts *cuts = arg;
	const Cut *cut = &cuts->cut[cuts->count - 1];
	const HyCudaCopy *copy;
	int64_t row;
	int64_t end;
	size_t at;
	size_t bytes;

	(void) worker;
	(void) cancel;
	while (part < cut->first)
		cut--;
	copy = &cut->copy;
	part -= cut->first;
	at = (size_t) (part % cut->sections) * PART;
	bytes = copy->bytes - at < PART ? copy->bytes - at : PART;
	row = part / cut->sections * cut->rows;
	end = row + cut->rows < copy->rows ? row + cut->rows : copy->rows;
	for (; row < end; row++)
		copy_row(cut, copy->to + (size_t) row * copy->to_stride + at,
		         copy->from + (size_t) row * copy->from_stride + at, bytes);
	if (cut->streams)
		hy_stream_end();
	return HY_OK;
}

static void
copy_row(const Cut *cut, char *to, const char *from, size_t bytes)
{
	if (cut->streams)
		hy_stream_copy(to, from, bytes);
	else if (cut->copy.kind == HY_CUDA_COPY_HOPS)
		subtract(to, from, bytes);
	else
		memcpy(to, from, bytes);
}

static void
subtract(char *to, const char *from, size_t bytes)
{
	size_t at;

	for (at = 0; at < bytes; at += sizeof(uint32_t))
	{
		uint32_t value;

		memcpy(&value, from + at, sizeof(value));
		value--;
		memcpy(to + at, &value, sizeof(value));
	}
}
