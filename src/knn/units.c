/*
 * units.c
 *		Searches a store by units whose vectors may stay on a device: see units.h.
 *
 * The size of a unit is chosen to fit the device (hy_resident_unit_bytes). To send a unit, this process
 * never holds the whole unit in memory. On the device, as in any batch, the rows are in order of
 * position, because this order decides between equal distances. So all positions are read first and
 * sorted. Then the unit's lists are read again for each range of positions that fits the batch. Each
 * vector is read once. Only the pages that hold the tids of the unit are read repeatedly.
 *
 * Half of work_mem is for batches. While a unit is sent, this half is divided: a quarter of work_mem is
 * for a range of rows, and a quarter is for the HostData of all rows of the unit, which limits the number
 * of rows.
 */
#include "postgres.h"

#include "knn/units.h"
#include "miscadmin.h"
#include "server/executor.h"
#include "server/position.h"
#include "utils/memutils.h"

#define READ_ROWS 64
#define READ_POSITIONS 65536
#define HOST_DATA_SHARE 8 /* units with HostData above 1/8 of the bytes of vectors are not sent */

/* Lost: an entry whose copy lost precision. */
typedef struct Lost
{
	int64 position;
	float norm;
	float residual;
} Lost;

/*
 * HostData: the data that the host keeps about a unit. In memory, this struct is followed by the
 * positions and then by the losses.
 */
typedef struct HostData
{
	int64 rows;
	int64 lost;
} HostData;

static bool by_device(HybridUnits *units, const HybridStoreUnit *unit);
static void offer_lost(HybridUnits *units, const HostData *host_data);
static bool send_unit(HybridUnits *units, const HybridStoreUnit *unit, HyResident *resident);
static bool read_positions(HybridUnits *units, const HybridStoreUnit *unit, HostData *host_data);
static bool send_rows(HybridUnits *units, const HybridStoreUnit *unit, HyResident *resident,
                      HostData *host_data);
static bool read_range(HybridUnits *units, int64 wanted, HostData *host_data);
static Size host_data_size(int64 rows, int64 lost);
static int64 most_lost(const HybridUnits *units, int64 rows);
static int64 *positions_of(const HostData *host_data);
static Lost *lost_of(const HostData *host_data);

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
	if (units->possible)
	{
		Size each = host_data_size(1, most_lost(units, 1)) - sizeof(HostData);

		units->most = Min(HY_UNIT_MOST, (Size) work_mem * 1024 / 4 / each * shape->stride);
		units->bytes = Min(units->most, hy_resident_unit_bytes(hybrid_executor()));
	}
}

bool
hybrid_units_next(HybridUnits *units)
{
	const HybridStoreMethods *stores = hybrid_stores();
	bool begun = units->begun;
	HybridStoreUnit unit;

	/* without devices, the whole store is one unit */
	units->begun = true;
	if (!units->possible)
		return !begun;
	while (stores->unit(units->store, units->bytes, &unit))
	{
		CHECK_FOR_INTERRUPTS();
		if (!unit.named || !by_device(units, &unit))
			return true;
	}
	return false;
}

/*
 * by_device: search the unit on a device. Returns false if the caller must read the unit from the store
 * instead.
 */
static bool
by_device(HybridUnits *units, const HybridStoreUnit *unit)
{
	HybridSearch *search = units->search;
	HyShape shape = hybrid_search_shape(search, unit->rows);
	Size bytes = unit->rows * units->shape->stride;
	HyResident resident;

	if (bytes > units->most ||
	    host_data_size(unit->rows, most_lost(units, unit->rows)) > bytes / HOST_DATA_SHARE)
		return false;
	switch (hy_resident_ask(hybrid_executor(), &shape, bytes, &unit->key, &resident))
	{
		case HY_RESIDENT_THERE:
		{
			const HostData *host_data = hy_unit_sender_data(resident.unit);

			if (!hybrid_search_resident(search, &resident, positions_of(host_data)))
				return false;
			offer_lost(units, host_data);
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
offer_lost(HybridUnits *units, const HostData *host_data)
{
	const Lost *lost = lost_of(host_data);
	int64 i;

	for (i = 0; i < host_data->lost; i++)
		hybrid_outliers_offer(units->outliers, units->metric, lost[i].position, lost[i].norm,
		                      lost[i].residual);
}

/*
 * send_unit: read the unit, send it to the device and search it there. Returns false if the unit's
 * entries have changed meanwhile, or if the device failed. The caller must then read the unit from its
 * beginning.
 */
static bool
send_unit(HybridUnits *units, const HybridStoreUnit *unit, HyResident *resident)
{
	const HybridStoreMethods *stores = hybrid_stores();
	HybridSearch *search = units->search;
	MemoryContext before = MemoryContextSwitchTo(search->context);
	HostData *host_data;
	bool done;

	/* flush the batch before the transfer begins, because the batch may run on the same device */
	hybrid_search_stage(search, Min(hybrid_search_piece(search), unit->rows));
	/* space for one more row, to detect additional entries */
	host_data = MemoryContextAllocHuge(
		search->context, host_data_size(unit->rows + 1, most_lost(units, unit->rows)));
	host_data->rows = unit->rows;
	host_data->lost = 0;
	done = read_positions(units, unit, host_data) &&
	       hybrid_resident_begin(unit->rows * units->shape->stride, unit->rows, resident) &&
	       send_rows(units, unit, resident, host_data) && stores->unchanged(units->store, unit) &&
	       hybrid_resident_end(host_data, host_data_size(host_data->rows, host_data->lost),
	                           resident) &&
	       hybrid_search_resident(search, resident, positions_of(host_data));
	if (done)
	{
		offer_lost(units, host_data);
		stores->pass(units->store, unit);
	}
	else
		stores->again(units->store, unit, PG_INT64_MIN, PG_INT64_MAX);
	pfree(host_data);
	MemoryContextSwitchTo(before);
	return done;
}

/*
 * read_positions: read and sort the positions. Returns false unless there are exactly unit->rows
 * entries, all at different positions.
 */
static bool
read_positions(HybridUnits *units, const HybridStoreUnit *unit, HostData *host_data)
{
	int64 *positions = positions_of(host_data);
	int64 filled = 0;
	int64 i;
	int rows;

	do
	{
		HybridStoreRows into = {.positions = positions + filled};

		rows = hybrid_stores()->read(units->store, &into,
		                             (int) Min(READ_POSITIONS, unit->rows + 1 - filled));
		filled += rows;
	} while (rows > 0 && filled <= unit->rows);
	if (filled != unit->rows)
		return false;
	qsort(positions, filled, sizeof(int64), hybrid_compare_positions);
	for (i = 1; i < filled; i++)
	{
		if (positions[i - 1] == positions[i])
			return false;
	}
	return true;
}

/*
 * send_rows: read the rows and send them, one range of positions after another. Returns false if entries
 * have changed or sending failed.
 */
static bool
send_rows(HybridUnits *units, const HybridStoreUnit *unit, HyResident *resident,
          HostData *host_data)
{
	HybridSearch *search = units->search;
	const int64 *positions = positions_of(host_data);
	int64 first;
	int64 rows;
	bool done = true;

	for (first = 0; done && first < host_data->rows; first += rows)
	{
		HyUnitPart part = {.data = search->vectors, .offset = first * search->stride};

		rows = Min(search->capacity, host_data->rows - first);
		part.bytes = rows * search->stride;
		hybrid_stores()->again(units->store, unit, positions[first], positions[first + rows - 1]);
		if (!read_range(units, rows, host_data))
			return false;
		hybrid_search_staged(search, rows);
		hybrid_search_discard(search);
		done = memcmp(search->positions, positions + first, rows * sizeof(int64)) == 0 &&
		       hybrid_resident_send(&part, resident);
	}
	return done;
}

/*
 * read_range: read `wanted` entries, and record which of them lost precision. Returns false if
 * there are fewer entries, or if more of them lost precision than *host_data can hold.
 */
static bool
read_range(HybridUnits *units, int64 wanted, HostData *host_data)
{
	HybridSearch *search = units->search;
	const int64 most = most_lost(units, host_data->rows);
	float residuals[READ_ROWS];
	int64 filled = 0;
	int rows;
	int i;

	while (filled < wanted)
	{
		HybridStoreRows into = {.vectors = search->vectors + filled * search->stride,
		                        .norms = search->norms + filled,
		                        .residuals = residuals,
		                        .positions = search->positions + filled};

		rows = hybrid_stores()->read(units->store, &into, (int) Min(READ_ROWS, wanted - filled));
		if (rows == 0)
			return false;
		for (i = 0; i < rows; i++)
		{
			if (residuals[i] == 0)
				continue;
			if (host_data->lost == most)
				return false;
			lost_of(host_data)[host_data->lost++] =
				(Lost){into.positions[i], into.norms[i], residuals[i]};
		}
		filled += rows;
	}
	return true;
}

static Size
host_data_size(int64 rows, int64 lost)
{
	return sizeof(HostData) + rows * sizeof(int64) + lost * sizeof(Lost);
}

/*
 * most_lost: return how many of this many rows can have lost precision. In a lossless store, this is 0.
 */
static int64
most_lost(const HybridUnits *units, int64 rows)
{
	return units->shape->lossless ? 0 : rows;
}

static int64 *
positions_of(const HostData *host_data)
{
	return (int64 *) (host_data + 1);
}

static Lost *
lost_of(const HostData *host_data)
{
	return (Lost *) (positions_of(host_data) + host_data->rows);
}
