/*
 * list_rows.c
 *		Reads the visible rows of a table in the order of the lists of an index: see list_rows.h.
 *
 * The index names the rows of each list, and the table says which version of each row the snapshot
 * sees.
 */
#include "postgres.h"

#include "core/distance.h"
#include "knn/list_rows.h"
#include "miscadmin.h"
#include "server/position.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#define READ_ENTRIES 512 /* entries of the index read at a time */
#define RUN_LEAST 64     /* a list with fewer rows forms one run with the lists that follow */

/* Reading: the state of take_row. */
typedef struct Reading
{
	HybridListRows *read;
	bool full;
} Reading;

static bool take_row(void *arg, const HybridRow *row);
static void end_run(HybridListRows *read, bool last);
static void add_run(HybridListRows *read, int32 rows);

Size
hybrid_list_rows_bytes(const HybridCandidates *candidates, HyDtype dtype)
{
	/* position, id, run of the row */
	return candidates->shape.dims * hy_dtype_size(dtype) + 2 * sizeof(int64) + sizeof(int32);
}

bool
hybrid_list_rows_read(const HybridCandidates *candidates, HybridRows *rows, int64 most,
                      HybridListRows *read)
{
	const HybridStoreMethods *stores = hybrid_stores();
	HybridStore *store = stores->begin(candidates->index, GetActiveSnapshot());
	int64 positions[READ_ENTRIES];
	HybridStoreRows entries = {.positions = positions};
	Reading reading = {.read = read};
	HybridStoreUnit list;

	memset(read, 0, sizeof(*read));
	read->dtype = hybrid_rows_dtype(rows);
	read->dims = candidates->shape.dims;
	read->stride = read->dims * hy_dtype_size(read->dtype);
	read->room = Min(most, PG_INT32_MAX);
	read->vectors = MemoryContextAllocHuge(CurrentMemoryContext, read->room * read->stride);
	read->positions = MemoryContextAllocHuge(CurrentMemoryContext, read->room * sizeof(int64));
	read->ids = MemoryContextAllocHuge(CurrentMemoryContext, read->room * sizeof(int64));
	read->run_of = MemoryContextAllocHuge(CurrentMemoryContext, read->room * sizeof(int32));
	read->runs_room = (int32) (read->room / (RUN_LEAST / 2) + 2);
	read->first = MemoryContextAllocHuge(CurrentMemoryContext, read->runs_room * sizeof(int32));
	read->first[0] = 0;
	/* with a limit of 1 byte, a unit that has entries is a single list */
	while (!reading.full && stores->unit(store, 1, &list))
	{
		int count;

		while (!reading.full && (count = stores->read(store, &entries, READ_ENTRIES)) > 0)
		{
			(void) hybrid_rows_at(rows, positions, count, stores->share(store), take_row, &reading);
			hybrid_progress_update(candidates->progress, stores->share(store));
		}
		end_run(read, false);
	}
	end_run(read, true);
	stores->end(store);
	return !reading.full;
}

HyMatrix
hybrid_list_rows_matrix(const HybridListRows *rows, int64 first, int64 count)
{
	HyMatrix matrix = {.dtype = rows->dtype, .dims = rows->dims, .rows = count};

	matrix.stride = rows->stride;
	matrix.data = rows->vectors + first * rows->stride;
	return matrix;
}

void
hybrid_list_rows_widen(const HybridListRows *rows, int64 row, float *out)
{
	hy_widen(rows->dtype, rows->vectors + row * rows->stride, rows->dims, out);
}

static bool
take_row(void *arg, const HybridRow *row)
{
	Reading *reading = (Reading *) arg;
	HybridListRows *read = reading->read;
	int64 i = read->count;

	if (row->dims != read->dims)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
		                errmsg("different vector dimensions %d and %d", read->dims, row->dims)));
	if (i == read->room)
	{
		reading->full = true;
		return false;
	}
	memcpy(read->vectors + i * read->stride, row->x, read->stride);
	read->positions[i] = hybrid_position(&row->tid);
	read->ids[i] = row->id;
	read->count++;
	return true;
}

/*
 * end_run: end the current run, unless the run is short and other lists follow. A long run becomes
 * several.
 */
static void
end_run(HybridListRows *read, bool last)
{
	int32 rows = (int32) (read->count - read->first[read->runs]);
	int32 parts = (rows + HYBRID_RUN_MOST - 1) / HYBRID_RUN_MOST;

	if (rows == 0 || (rows < RUN_LEAST && !last))
		return;
	for (; parts > 0; parts--)
	{
		int32 part = rows / parts;

		add_run(read, part);
		rows -= part;
	}
}

static void
add_run(HybridListRows *read, int32 rows)
{
	int32 begin = read->first[read->runs];
	int32 i;

	Assert(read->runs + 1 < read->runs_room);
	for (i = begin; i < begin + rows; i++)
		read->run_of[i] = read->runs;
	read->first[++read->runs] = begin + rows;
}
