/*
 * build_sample.c
 *		CREATE INDEX: samples rows of the table, from which the centroids are computed.
 *
 * The sample consists of random blocks of the table, chosen as ANALYZE chooses them, and random rows of
 * these blocks. A hash of the row's position decides whether a row is chosen, so only chosen rows are
 * detoasted. (In an index on arrays, all rows of these blocks are detoasted, because each vector of a
 * row is chosen separately.) The blocks are divided into chunks. The process that takes a chunk keeps
 * the chunk's rows in its own memory. The order of the chunks determines the numbers of the rows in the
 * sample.
 */
#include "postgres.h"

#include <math.h>

#include "access/tableam.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/sampling.h"

#include "core/kmeans.h"
#include "core/random.h"
#include "server/position.h"

#include "index/build/build.h"

/* sampled rows per list_size rows of the table: half of the rows by default */
#define ROWS_A_LIST 96
#define ENOUGH 10000     /* minimum number of rows of the sample, if the table has as many */
#define BESIDE 0.25      /* spare capacity of the sample, as a share of the planned rows */
#define CHUNK_BLOCKS 4   /* minimum number of blocks per chunk */
#define CHUNKS 65536     /* approximate limit of the number of chunks */
#define WINDOW_SHARE 16  /* sums of lists take at most 1/WINDOW_SHARE of the memory */
#define SAMPLE_SEED 1    /* constant, so that the same table gives the same index */
#define POSITION_BITS 48 /* bits of a heap position */
#define COUNTED 16       /* number of blocks in which the elements of arrays are counted */
#define DEVIATIONS 4     /* spare capacity of the sample, in standard deviations of its size */

/* Sampling: state of a process that samples. */
typedef struct Sampling
{
	HybridBuild *build;
	HybridSample *sample;
	HybridFrame frame; /* frame without a center, because the center is computed from the sample */
	uint64 below;      /* a row is taken if its random number is at most this */
	double share;
	BlockSamplerData sampler;
	int64 passed;      /* number of blocks taken from the sampler so far */
	BlockNumber block; /* last block taken from the sampler */
	int64 allocated;
	int64 seen; /* number of rows of the chunk that were chosen, whether or not they fit */
	MemoryContext row_context;
	HybridEntry entry;
} Sampling;

/* Count: the number of rows in some blocks, and the number of their entries. */
typedef struct Count
{
	const HybridBuild *build;
	double rows;
	double entries;
} Count;

static double entries_a_row(const HybridBuild *build, BlockNumber blocks);
static void
count_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg);
static void take_rows(Sampling *sampling);
static void read_chunk(Sampling *sampling, int64 chunk);
static void next_block(Sampling *sampling);
static void add_chunk(HybridSample *sample, int chunk);
static void
sample_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg);
static bool chosen(const Sampling *sampling, ItemPointer tid, int which);
static void take_place(Sampling *sampling, const float *place, int64 position);
static void keep_row(Sampling *sampling, const float *place, int64 position);
static void number_chunks(HybridBuild *build, HybridSample *sample);
static void take_center(HybridBuild *build, HybridSample *sample);

void
hybrid_sample_plan(const HybridBuild *build, HybridBuildPlan *plan)
{
	const HybridIndex *definition = &build->definition;
	Size row = definition->layout.dims * sizeof(float);
	Size memory = (Size) maintenance_work_mem * 1024;
	double density, enough;
	BlockNumber blocks;
	double visible;

	memset(plan, 0, sizeof(*plan));
	if (!definition->coded)
		return;
	table_relation_estimate_size(build->heap, NULL, &blocks, &plan->tuples, &visible);
	plan->blocks = RelationGetNumberOfBlocks(build->heap);
	if (definition->opclass->many)
		plan->tuples *= entries_a_row(build, plan->blocks);
	density = plan->blocks > 0 ? Max(plan->tuples / plan->blocks, 1) : 1;
	enough = Max(plan->tuples / definition->list_size * ROWS_A_LIST, ENOUGH);
	enough = Min(enough, 2 * plan->tuples + 1024);
	plan->room = Max((int64) Min((double) (memory / 2 / row), enough * (1 + BESIDE)), 1);
	plan->room = Min(plan->room, PG_INT32_MAX);
	enough = Max(Min(enough, plan->room - DEVIATIONS * sqrt((double) plan->room)), 1);

	plan->sampled = (BlockNumber) Min(2 * enough / density + 16, (double) plan->blocks);
	plan->sampled = Min(plan->sampled, (BlockNumber) PG_INT32_MAX);
	plan->share = Min(enough / Max(density * plan->sampled, 1), 1);
	plan->chunk_blocks = (int) Max(plan->sampled / CHUNKS, CHUNK_BLOCKS);
	plan->chunks = (int) ((plan->sampled + plan->chunk_blocks - 1) / plan->chunk_blocks);

	plan->lists = (int) Min(
		Max(Max(plan->tuples, plan->room) * HYBRID_LISTS_A_LIST / definition->list_size, 2),
		Min((double) plan->room, PG_INT32_MAX / 2));
	plan->window = (int) Min(Max(memory / WINDOW_SHARE / (2 * row), 1), (Size) plan->lists);
	plan->queries = hybrid_calibrate_queries(plan->tuples, definition->layout.dims, plan->room);
}

/* entries_a_row: estimate the mean number of elements of an array, from some blocks of the table. */
static double
entries_a_row(const HybridBuild *build, BlockNumber blocks)
{
	Count count = {.build = build};
	int i;

	for (i = 0; i < COUNTED && (BlockNumber) i < blocks; i++)
		table_index_build_range_scan(
			build->heap, build->index, build->info, false, !build->info->ii_Concurrent, false,
			(BlockNumber) ((uint64) blocks * i / COUNTED), 1, count_row, &count, NULL);
	return count.rows > 0 ? count.entries / count.rows : 1;
}

/* count_row: count the elements of the array of a row; an IndexBuildCallback. */
static void
count_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	Count *count = (Count *) arg;
	HybridRow row;

	(void) index;
	(void) tid;
	(void) alive;
	hybrid_row_begin(&count->build->definition, values, isnull, &row);
	count->rows++;
	count->entries += row.entries;
	hybrid_row_end(&count->build->definition, &row);
}

void
hybrid_sample_table(HybridBuild *build, HybridSample *sample)
{
	HybridTeam *team = build->team;
	const HybridBuildPlan *plan = &team->shared->plan;
	Sampling sampling;
	int64 total;

	memset(&sampling, 0, sizeof(sampling));
	sampling.build = build;
	sampling.sample = sample;
	sampling.share = plan->share;
	hybrid_frame_init(&sampling.frame, &build->definition, NULL);
	sampling.row_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid sample row", ALLOCSET_DEFAULT_SIZES);
	sampling.entry.vector = palloc(build->definition.layout.leaf.carried);
	memset(sample, 0, sizeof(*sample));
	hybrid_team_expect(team,
	                   (int64) (plan->share * plan->tuples * plan->sampled / Max(plan->blocks, 1)));
	for (;;)
	{
		take_rows(&sampling);
		hybrid_team_barrier(team);
		total = (int64) pg_atomic_read_u64(&team->shared->sampled);
		if (total <= plan->room)
			break;
		/* more rows were chosen than fit in memory: sample again, with a smaller share */
		sampling.share *= 0.9 * (double) plan->room / (double) total;
		hybrid_team_barrier(team);
		if (team->me == 0)
			pg_atomic_write_u64(&team->shared->sampled, 0);
		hybrid_team_barrier(team);
	}
	sample->total = total;
	sample->tuples = total / Min(sampling.share, 1) * plan->blocks / Max(plan->sampled, 1);
	MemoryContextDelete(sampling.row_context);
	number_chunks(build, sample);
	take_center(build, sample);
}

/* take_rows: sample chunk after chunk, until all chunks have been taken by this or another process. */
static void
take_rows(Sampling *sampling)
{
	HybridBuild *build = sampling->build;
	const HybridBuildPlan *plan = &build->team->shared->plan;
	int64 chunk;

	sampling->below =
		sampling->share >= 1 ? PG_UINT64_MAX : (uint64) (sampling->share * (double) PG_UINT64_MAX);
	sampling->sample->rows = 0;
	sampling->sample->chunks = 0;
	BlockSampler_Init(&sampling->sampler, plan->blocks, (int) plan->sampled, SAMPLE_SEED);
	sampling->passed = 0;
	sampling->block = InvalidBlockNumber;
	while ((chunk = hybrid_team_next(build->team)) < plan->chunks)
	{
		CHECK_FOR_INTERRUPTS();
		add_chunk(sampling->sample, (int) chunk);
		sampling->seen = 0;
		read_chunk(sampling, chunk);
		build->team->chunk_rows[chunk] = (int32) sampling->seen;
		hybrid_team_done(build->team, sampling->seen);
	}
}

/* read_chunk: read the sampled blocks of a chunk from the table. */
static void
read_chunk(Sampling *sampling, int64 chunk)
{
	HybridBuild *build = sampling->build;
	const HybridBuildPlan *plan = &build->team->shared->plan;
	int64 begin = chunk * plan->chunk_blocks;
	int64 end = Min(begin + plan->chunk_blocks, (int64) plan->sampled);

	while (sampling->passed < end)
	{
		CHECK_FOR_INTERRUPTS();
		next_block(sampling);
		if (sampling->passed > begin)
			table_index_build_range_scan(build->heap, build->index, build->info, false,
			                             !build->info->ii_Concurrent, false, sampling->block, 1,
			                             sample_row, sampling, NULL);
	}
}

/* next_block: move on to the next sampled block. */
static void
next_block(Sampling *sampling)
{
	sampling->block = BlockSampler_Next(&sampling->sampler);
	sampling->passed++;
}

/* add_chunk: begin a chunk. Rows that are kept from now on belong to it. */
static void
add_chunk(HybridSample *sample, int chunk)
{
	if (sample->chunks == sample->chunks_allocated)
	{
		sample->chunks_allocated = Max(64, sample->chunks_allocated * 2);
		sample->chunk = sample->chunk == NULL
		                    ? palloc(sample->chunks_allocated * sizeof(HybridSampleChunk))
		                    : repalloc_huge(sample->chunk,
		                                    sample->chunks_allocated * sizeof(HybridSampleChunk));
	}
	sample->chunk[sample->chunks].number = chunk;
	sample->chunk[sample->chunks++].first = sample->rows;
}

static void
sample_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	Sampling *sampling = (Sampling *) arg;
	HybridBuild *build = sampling->build;
	const HybridLayout *layout = &build->definition.layout;
	MemoryContext old;
	HybridRow row;
	int i;

	(void) index;
	(void) alive;
	/* a row without a vector need not be detoasted, nor a row whose only entry is not chosen */
	if (isnull[0] || (!build->definition.opclass->many && !chosen(sampling, tid, 0)))
		return;
	old = MemoryContextSwitchTo(sampling->row_context);
	hybrid_row_begin(&build->definition, values, isnull, &row);
	for (i = 0; i < row.entries; i++)
	{
		float *place;

		if (!chosen(sampling, tid, i) ||
		    !hybrid_entry_form(&build->definition, &row, i, tid, &sampling->entry))
			continue;
		place = palloc(layout->dims * sizeof(float));

		hybrid_widen_vector(layout->leaf.storage, &sampling->entry.stored, sampling->entry.vector,
		                    layout->dims, build->widened);
		hybrid_frame_place(&sampling->frame, build->widened, sampling->entry.stored.norm, place);
		take_place(sampling, place, hybrid_position(tid));
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(sampling->row_context);
}

/* chosen: test whether entry number `which` of a row is in the sample. */
static bool
chosen(const Sampling *sampling, ItemPointer tid, int which)
{
	uint64 number = (uint64) hybrid_position(tid) + ((uint64) which << POSITION_BITS);

	return hy_random(SAMPLE_SEED, number) <= sampling->below;
}

/* take_place: count a chosen row, and keep its vector if the sample has room. */
static void
take_place(Sampling *sampling, const float *place, int64 position)
{
	HybridTeamShared *shared = sampling->build->team->shared;

	sampling->seen++;
	/* also count rows that do not fit, so that the share can be corrected */
	if ((int64) pg_atomic_fetch_add_u64(&shared->sampled, 1) < shared->plan.room)
		keep_row(sampling, place, position);
}

static void
keep_row(Sampling *sampling, const float *place, int64 position)
{
	HybridSample *sample = sampling->sample;
	int dims = sampling->build->definition.layout.dims;

	if (sample->rows == sampling->allocated)
	{
		const HybridTeam *team = sampling->build->team;
		int64 part = team->shared->plan.room / team->participants;
		int64 allocated =
			Min(Max(part + 1024, sampling->allocated * 3 / 2), team->shared->plan.room);
		MemoryContext context = GetMemoryChunkContext(sampling->entry.vector);
		Size row = dims * sizeof(float);

		/*
		 * unused parts of a large allocation cost nothing, because the operating system provides memory
		 * at the first write
		 */
		if (sample->places == NULL)
		{
			sample->places = MemoryContextAllocHuge(context, allocated * row);
			sample->positions = MemoryContextAllocHuge(context, allocated * sizeof(int64));
		}
		else
		{
			sample->places = repalloc_huge(sample->places, allocated * row);
			sample->positions = repalloc_huge(sample->positions, allocated * sizeof(int64));
		}
		sampling->allocated = allocated;
	}
	memcpy(sample->places + sample->rows * dims, place, dims * sizeof(float));
	sample->positions[sample->rows++] = position;
}

/*
 * number_chunks: compute the number, in the whole sample, of the first row of each chunk of this
 * process.
 */
static void
number_chunks(HybridBuild *build, HybridSample *sample)
{
	const HybridTeam *team = build->team;
	const HybridBuildPlan *plan = &team->shared->plan;
	int own = 0, chunk;
	int64 number = 0;

	for (chunk = 0; chunk < plan->chunks; chunk++)
	{
		if (own < sample->chunks && sample->chunk[own].number == chunk)
			sample->chunk[own++].number_of_first = number;
		number += team->chunk_rows[chunk];
	}
}

int64
hybrid_sample_find(const HybridSample *sample, int64 number, int *chunk)
{
	while (*chunk < sample->chunks)
	{
		const HybridSampleChunk *at = &sample->chunk[*chunk];
		int64 end = *chunk + 1 < sample->chunks ? at[1].first : sample->rows;

		if (number < at->number_of_first)
			return -1;
		if (number < at->number_of_first + end - at->first)
			return at->first + number - at->number_of_first;
		(*chunk)++;
	}
	return -1;
}

void
hybrid_sample_take_queries(const HybridSample *sample, Size dims, HybridQueries *queries)
{
	int chunk = 0, i;

	queries->count = queries->kept;
	for (i = 0; i < queries->kept; i++)
	{
		int64 row =
			hybrid_sample_find(sample, hybrid_sample_query(sample, queries->kept, i), &chunk);

		if (row < 0)
			continue;
		memcpy(queries->places + i * dims, sample->places + row * dims, dims * sizeof(float));
		queries->positions[i] = sample->positions[row];
	}
}

float
hybrid_sample_largest(const HybridSample *sample, int dims)
{
	int32 largest = 0;
	float number;
	int64 i;
	int j;

	/*
	 * The bits of absolute values, taken as integers, have the order of the values. Comparing integers
	 * lets the compiler vectorize the loop.
	 */
	for (i = 0; i < sample->rows; i++)
	{
		const float *place = sample->places + i * dims;

		CHECK_FOR_INTERRUPTS();
		for (j = 0; j < dims; j++)
		{
			int32 bits;

			memcpy(&bits, place + j, sizeof(bits));
			bits &= 0x7fffffff;
			largest = Max(largest, bits);
		}
	}
	memcpy(&number, &largest, sizeof(number));
	return number;
}

/*
 * take_center: compute the center, which is the mean of the sample, and subtract it from the rows. The
 * sums are exact in any order: see hy_kmeans_grid.
 */
static void
take_center(HybridBuild *build, HybridSample *sample)
{
	HybridTeam *team = build->team;
	HybridTeamShared *shared = team->shared;
	int dims = build->definition.layout.dims, j;
	double *sums = palloc0(dims * sizeof(double)), grid;
	float largest = hybrid_sample_largest(sample, dims);
	uint32 bits;
	int64 i;

	memcpy(&bits, &largest, sizeof(bits));
	SpinLockAcquire(&shared->mutex);
	shared->largest = Max(shared->largest, bits);
	SpinLockRelease(&shared->mutex);
	hybrid_team_barrier(team);
	memcpy(&largest, &shared->largest, sizeof(largest));
	grid = hy_kmeans_grid(largest, sample->total);
	for (i = 0; i < sample->rows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		hy_kmeans_add_on_grid(sums, sample->places + i * dims, dims, grid);
	}
	hybrid_team_add(&shared->mutex, team->sums, sums, dims);
	hybrid_team_barrier(team);

	sample->center = palloc(dims * sizeof(float));
	for (j = 0; j < dims; j++)
		sample->center[j] = (float) (team->sums[j] / Max(sample->total, 1));
	for (i = 0; i < sample->rows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (j = 0; j < dims; j++)
			sample->places[i * dims + j] -= sample->center[j];
	}
	/* after the subtraction, a coordinate is at most twice as large as the largest before */
	sample->grid = hy_kmeans_grid(2 * largest, sample->total);
	hybrid_team_barrier(team);
	if (team->me == 0)
		memset(team->sums, 0, dims * sizeof(double));
	pfree(sums);
}
