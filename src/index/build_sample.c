/*
 * build_sample.c
 *		Some rows of the table, to find out where lists should be.
 *
 * Random blocks of the table, as ANALYZE takes them, and random rows of these (J. Vitter's reservoir,
 * "Random sampling with a reservoir", algorithm R), so that only rows that are kept are detoasted.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "common/pg_prng.h"
#include "miscadmin.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/sampling.h"

#include "server/position.h"

#include "index/build.h"

#define ROWS_A_LIST 96 /* of the sample, for as many rows as a list may have: half of the rows */
#define ENOUGH 10000   /* rows, however few the table has */
#define SAMPLE_SEED 1  /* the same table gives the same index */

/* Sampling: the reservoir. */
typedef struct Sampling
{
	const HybridIndex *definition;
	HybridFrame frame; /* without a centre: it is what is looked for */
	pg_prng_state random;
	float *places;
	int64 *positions;
	int64 kept;
	int64 most;
	int64 seen;
	MemoryContext row_context;
	HybridEntry entry;
	float *widened;
} Sampling;

static void scan_some_blocks(Sampling *sampling, Relation heap, Relation index, IndexInfo *info);
static void
sample_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg);
static void take_centre(HybridSample *sample, int dims);

void
hybrid_sample_table(HybridSample *sample, Relation heap, Relation index, IndexInfo *info,
                    const HybridIndex *definition, Size bytes)
{
	int dims = definition->layout.dims;
	Sampling sampling;

	memset(&sampling, 0, sizeof(sampling));
	sampling.definition = definition;
	hybrid_frame_init(&sampling.frame, definition, NULL);
	pg_prng_seed(&sampling.random, SAMPLE_SEED);
	sampling.most = Max((int64) (bytes / (dims * sizeof(float))), 1);
	sampling.row_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid sample row", ALLOCSET_DEFAULT_SIZES);
	sampling.entry.vector = palloc(definition->layout.stride);
	sampling.widened = palloc(dims * sizeof(float));
	scan_some_blocks(&sampling, heap, index, info);
	MemoryContextDelete(sampling.row_context);

	memset(sample, 0, sizeof(*sample));
	sample->places = sampling.places;
	sample->positions = sampling.positions;
	sample->rows = sampling.kept;
	sample->centre = palloc0(dims * sizeof(float));
	take_centre(sample, dims);
}

/* scan_some_blocks: about as many as have twice the rows that are kept. */
static void
scan_some_blocks(Sampling *sampling, Relation heap, Relation index, IndexInfo *info)
{
	int dims = sampling->definition->layout.dims;
	BlockSamplerData sampler;
	BlockNumber blocks, wanted;
	double tuples, visible, density, enough;

	table_relation_estimate_size(heap, NULL, &blocks, &tuples, &visible);
	blocks = RelationGetNumberOfBlocks(heap);
	density = blocks > 0 ? Max(tuples / blocks, 1) : 1;
	enough = Max(tuples / sampling->definition->list_size * ROWS_A_LIST, ENOUGH);
	sampling->most = Min(sampling->most, (int64) Min(enough, 2 * tuples + 1024));
	wanted = (BlockNumber) Min(2 * (double) sampling->most / density + 16, (double) blocks);
	sampling->places =
		MemoryContextAllocHuge(CurrentMemoryContext, sampling->most * dims * sizeof(float));
	sampling->positions =
		MemoryContextAllocHuge(CurrentMemoryContext, sampling->most * sizeof(int64));

	BlockSampler_Init(&sampler, blocks, (int) Min(wanted, (BlockNumber) PG_INT32_MAX), SAMPLE_SEED);
	while (BlockSampler_HasMore(&sampler))
	{
		CHECK_FOR_INTERRUPTS();
		table_index_build_range_scan(heap, index, info, false, true, false,
		                             BlockSampler_Next(&sampler), 1, sample_row, sampling, NULL);
	}
}

static void
sample_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive, void *arg)
{
	Sampling *sampling = (Sampling *) arg;
	const HybridLayout *layout = &sampling->definition->layout;
	MemoryContext old;
	int64 place = sampling->kept;

	(void) index;
	(void) alive;
	if (isnull[0])
		return;
	sampling->seen++;
	if (place == sampling->most)
	{
		place = (int64) pg_prng_uint64_range(&sampling->random, 0, (uint64) sampling->seen - 1);
		if (place >= sampling->most)
			return;
	}
	old = MemoryContextSwitchTo(sampling->row_context);
	if (hybrid_entry_form(sampling->definition, values[0], tid, &sampling->entry))
	{
		hybrid_widen_vector(layout->storage, &sampling->entry.stored, sampling->entry.vector,
		                    layout->dims, sampling->widened);
		hybrid_frame_place(&sampling->frame, sampling->widened, sampling->entry.stored.norm,
		                   sampling->places + place * layout->dims);
		sampling->positions[place] = hybrid_position(tid);
		if (place == sampling->kept)
			sampling->kept++;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(sampling->row_context);
}

/* take_centre: the mean of the sample becomes the centre, and places are relative to it. */
static void
take_centre(HybridSample *sample, int dims)
{
	double *sums = palloc0(dims * sizeof(double));
	int64 i;
	int j;

	for (i = 0; i < sample->rows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (j = 0; j < dims; j++)
			sums[j] += sample->places[i * dims + j];
	}
	for (j = 0; j < dims && sample->rows > 0; j++)
		sample->centre[j] = (float) (sums[j] / sample->rows);
	for (i = 0; i < sample->rows; i++)
	{
		CHECK_FOR_INTERRUPTS();
		for (j = 0; j < dims; j++)
			sample->places[i * dims + j] -= sample->centre[j];
	}
	pfree(sums);
}
