/*
 * units.c
 *		Units of a store on a device: see units.h.
 *
 * A unit is searched as one batch, and so it is no larger than a batch can be: half of work_mem.  Its
 * rows lie in order of position, as those of any batch.
 */
#include "postgres.h"

#include "knn/units.h"
#include "miscadmin.h"
#include "server/executor.h"
#include "server/report.h"
#include "utils/memutils.h"

#define READ_ROWS 64
#define NOTES_SHARE 8 /* notes take at most this part of what the vectors take, or they stay away */

/* Lost: an entry whose copy lost something. */
typedef struct Lost
{
	int64 position;
	float norm;
	float residual;
} Lost;

/* Notes: what the host keeps of a unit; followed by the positions, and then by what was lost. */
typedef struct Notes
{
	int64 rows;
	int64 lost;
} Notes;

static bool by_device(HybridUnits *units, const HybridStoreUnit *unit);
static void offer_lost(HybridUnits *units, const Notes *notes);
static bool send_unit(HybridUnits *units, const HybridStoreUnit *unit, HyResident *resident);
static int64 read_unit(HybridUnits *units, int64 most, Lost *lost, int64 *lost_count);
static Size notes_size(int64 rows, int64 lost);
static Notes *write_notes(const HybridSearch *search, int64 rows, const Lost *lost, int64 count);
static const int64 *positions_of(const Notes *notes);

void
hybrid_units_begin(HybridUnits *units, HybridSearch *search, HybridStore *store,
                   const HybridStoreShape *shape, HybridOutliers *outliers, HyMetric metric)
{
	units->search = search;
	units->store = store;
	units->shape = shape;
	units->outliers = outliers;
	units->metric = metric;
	units->possible = hy_resident_possible(hybrid_executor());
	units->begun = false;
}

bool
hybrid_units_next(HybridUnits *units)
{
	const HybridStoreMethods *stores = hybrid_stores();
	Size bytes = hybrid_search_most(units->search) * units->shape->stride;
	bool begun = units->begun;
	HybridStoreUnit unit;

	/* without devices all is one unit */
	units->begun = true;
	if (!units->possible)
		return !begun;
	while (stores->unit(units->store, bytes, &unit))
	{
		CHECK_FOR_INTERRUPTS();
		if (!unit.named || !by_device(units, &unit))
			return true;
	}
	return false;
}

/* by_device: whether the unit was searched on a device; else what is left of it is to be read. */
static bool
by_device(HybridUnits *units, const HybridStoreUnit *unit)
{
	HybridSearch *search = units->search;
	HyShape shape = hybrid_search_shape(search, unit->rows);
	Size bytes = unit->rows * units->shape->stride;
	HyResident resident;

	if (notes_size(unit->rows, units->shape->lossless ? 0 : unit->rows) > bytes / NOTES_SHARE)
		return false;
	switch (hy_resident_ask(hybrid_executor(), &shape, bytes, &unit->key, &resident))
	{
		case HY_RESIDENT_THERE:
		{
			const Notes *notes = hy_unit_notes(resident.unit);

			if (!hybrid_search_resident(search, &resident, positions_of(notes)))
				return false;
			offer_lost(units, notes);
			hybrid_stores()->pass(units->store, unit);
			return true;
		}
		case HY_RESIDENT_WANTED:
			return send_unit(units, unit, &resident);
		case HY_RESIDENT_NOT:
			break;
	}
	return false;
}

static void
offer_lost(HybridUnits *units, const Notes *notes)
{
	const Lost *lost = (const Lost *) (positions_of(notes) + notes->rows);
	int64 i;

	for (i = 0; i < notes->lost; i++)
		hybrid_outliers_offer(units->outliers, units->metric, lost[i].position, lost[i].norm,
		                      lost[i].residual);
}

/*
 * send_unit: reads it, sends it to the device and searches it there, or as any batch.  False: more
 * entries have come meanwhile than there was room for, and are to be read.
 */
static bool
send_unit(HybridUnits *units, const HybridStoreUnit *unit, HyResident *resident)
{
	HybridSearch *search = units->search;
	MemoryContext before = MemoryContextSwitchTo(search->context);
	Lost *lost = MemoryContextAllocHuge(search->context, (unit->rows + 1) * sizeof(Lost));
	int64 lost_count = 0;
	int64 rows;
	bool whole;
	bool went = false;

	/* room for one more says whether there are more */
	hybrid_search_stage(search, unit->rows + 1);
	rows = read_unit(units, unit->rows + 1, lost, &lost_count);
	whole = rows == unit->rows && hybrid_stores()->unchanged(units->store, unit);
	hybrid_search_staged(search, rows);
	if (whole)
	{
		Notes *notes = write_notes(search, rows, lost, lost_count);
		HyUnitPart part = {.data = search->vectors, .bytes = rows * search->stride};
		HyUnitRows sent = {.part = &part,
		                   .parts = 1,
		                   .bytes = part.bytes,
		                   .rows = rows,
		                   .notes = notes,
		                   .notes_bytes = notes_size(rows, lost_count),
		                   .cancel = &hybrid_cancel};

		went = hybrid_keep(HY_OP_TOPK, &sent, resident) &&
		       hybrid_search_resident(search, resident, search->positions);
		pfree(notes);
		hybrid_stores()->pass(units->store, unit);
	}
	if (went)
		hybrid_search_discard(search);
	else
		hybrid_search_send(search);
	pfree(lost);
	MemoryContextSwitchTo(before);
	return whole;
}

/* read_unit: at most so many entries, into the batch; how many there were, and which lost what. */
static int64
read_unit(HybridUnits *units, int64 most, Lost *lost, int64 *lost_count)
{
	HybridSearch *search = units->search;
	float norms[READ_ROWS];
	float residuals[READ_ROWS];
	int64 filled = 0;
	int rows;
	int i;

	while (filled < most)
	{
		HybridStoreRows into = {.vectors = search->vectors + filled * search->stride,
		                        .norms = norms,
		                        .residuals = residuals,
		                        .positions = search->positions + filled};

		rows = hybrid_stores()->read(units->store, &into, (int) Min(READ_ROWS, most - filled));
		if (rows == 0)
			break;
		if (search->norms != NULL)
			memcpy(search->norms + filled, norms, rows * sizeof(float));
		for (i = 0; i < rows; i++)
		{
			hybrid_outliers_offer(units->outliers, units->metric, into.positions[i], norms[i],
			                      residuals[i]);
			if (residuals[i] != 0)
				lost[(*lost_count)++] = (Lost){into.positions[i], norms[i], residuals[i]};
		}
		filled += rows;
	}
	return filled;
}

static Size
notes_size(int64 rows, int64 lost)
{
	return sizeof(Notes) + rows * sizeof(int64) + lost * sizeof(Lost);
}

/* write_notes: of the rows of the batch. */
static Notes *
write_notes(const HybridSearch *search, int64 rows, const Lost *lost, int64 count)
{
	Notes *notes = MemoryContextAllocHuge(search->context, notes_size(rows, count));
	char *at = (char *) (notes + 1);

	notes->rows = rows;
	notes->lost = count;
	memcpy(at, search->positions, rows * sizeof(int64));
	memcpy(at + rows * sizeof(int64), lost, count * sizeof(Lost));
	return notes;
}

static const int64 *
positions_of(const Notes *notes)
{
	return (const int64 *) (notes + 1);
}
