/*
 * build_rows.c
 *		CREATE INDEX: assigns rows of the table to lists, one batch at a time.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "index/build/build.h"

#define BATCH_ROWS 8192
#define BATCH_LEAST 64
/* bytes of a batch when rows go from the scan straight to the sort */
#define BATCH_BYTES (4 * 1024 * 1024)

static void assign_batch(HybridBuild *build);

void
hybrid_build_begin_rows(HybridBuild *build, int share, SortCoordinate coordinate)
{
	const HybridLayout *layout = &build->definition.layout;
	Size memory = (Size) maintenance_work_mem * 1024 / share;
	Size row = layout->stride + sizeof(HybridEntry);
	int i;

	hybrid_row_sort_begin(&build->sort, layout, maintenance_work_mem / 2 / share, coordinate);
	build->row_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid build row", ALLOCSET_DEFAULT_SIZES);
	if (build->centroids.count > 0)
	{
		/* an assignment needs the same amount of memory again */
		row += 2 * layout->dims * sizeof(float);
		build->batch_size = (int) Min(Max(memory / 4 / row, BATCH_LEAST), BATCH_ROWS);
		build->batch_places = MemoryContextAllocHuge(
			CurrentMemoryContext, (Size) build->batch_size * layout->dims * sizeof(float));
	}
	else
		build->batch_size = (int) Max(Min(BATCH_BYTES / row, BATCH_ROWS), 1);
	build->batch = palloc(build->batch_size * sizeof(HybridEntry));
	for (i = 0; i < build->batch_size; i++)
		build->batch[i].vector = palloc(layout->stride);
	build->batch_lists = palloc0(build->batch_size * sizeof(int));
}

void
hybrid_build_end_rows(HybridBuild *build)
{
	int i;

	assign_batch(build);
	for (i = 0; i < build->batch_size; i++)
		pfree(build->batch[i].vector);
	pfree(build->batch);
	pfree(build->batch_lists);
	if (build->batch_places != NULL)
		pfree(build->batch_places);
	MemoryContextDelete(build->row_context);
}

void
hybrid_build_add_row(Relation index, ItemPointer tid, Datum *values, bool *isnull, bool alive,
                     void *arg)
{
	HybridBuild *build = (HybridBuild *) arg;
	const HybridLayout *layout = &build->definition.layout;
	HybridEntry *entry = &build->batch[build->batch_rows];
	MemoryContext old;

	(void) index;
	(void) alive;

	if (isnull[0])
		return;

	old = MemoryContextSwitchTo(build->row_context);
	if (hybrid_entry_form(&build->definition, values[0], tid, entry))
	{
		if (build->centroids.count > 0)
		{
			hybrid_widen_vector(layout->storage, &entry->stored, entry->vector, layout->dims,
			                    build->widened);
			hybrid_frame_place(&build->frame, build->widened, entry->stored.norm,
			                   build->batch_places + (Size) build->batch_rows * layout->dims);
		}
		build->batch_rows++;
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(build->row_context);
	if (build->batch_rows == build->batch_size)
		assign_batch(build);
}

/* assign_batch: assign the rows of the batch and put them into the sort. */
static void
assign_batch(HybridBuild *build)
{
	MemoryContext old;
	int i;

	if (build->centroids.count > 0 && build->batch_rows > 0)
	{
		old = MemoryContextSwitchTo(build->row_context);
		hybrid_assign(&build->centroids, build->batch_places, build->batch_rows,
		              build->batch_lists);
		MemoryContextSwitchTo(old);
		MemoryContextReset(build->row_context);
	}
	for (i = 0; i < build->batch_rows; i++)
	{
		if (i % 256 == 0)
			CHECK_FOR_INTERRUPTS();
		hybrid_row_sort_put(&build->sort, build->batch_lists[i], &build->batch[i]);
		build->list_rows[build->batch_lists[i]]++;
	}
	build->stored += build->batch_rows;
	hybrid_team_done(build->team, build->batch_rows);
	build->batch_rows = 0;
}
