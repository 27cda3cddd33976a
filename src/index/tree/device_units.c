/*
 * device_units.c
 *		Units, which are runs of lists that may stay in a device's memory (GPU), and their keys.
 *
 * While a list's change counter stays the same, the list has the same live entries with the same vectors.
 * So `version` in a unit's key is a hash of the links, counters and sizes of all lists of the unit.
 * `place` in the key identifies the index's file and the unit's first list. It stays the same when lists
 * of the unit gain or lose rows.
 *
 * A unit that is at least half full ends before the next list whose hashed link satisfies a condition
 * (begins_unit). So when a list is added or removed, for example by a split, only the ends of a few nearby
 * units move. If no list satisfies the condition, the unit ends when it is full.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "server/compat.h"

#include "index/tree/read.h"
#include "index/tree/tree.h"

static uint32 builds; /* number of builds done by this process */

static void stand_before(HybridStore *store, int list);
static bool begins_unit(const HybridLink *list, int lists);
static void read_head(HybridStore *store, int list, uint64 *changes, int64 *rows);
static void name_list(HyUnitKey *key, const HybridLink *list, uint64 changes, int64 rows);
static uint64 mix(uint64 z);

bool
hybrid_store_unit(HybridStore *store, Size bytes, HybridStoreUnit *unit)
{
	const RelFileLocator *file = &store->index->rd_locator;
	int64 most = bytes / store->stride;
	int i;

	if (store->list >= store->count)
		return false;
	memset(unit, 0, sizeof(*unit));
	unit->first = store->list;
	unit->key.place[0] = (uint64) file->spcOid << 32 | file->relNumber;
	unit->key.place[1] = (uint64) RelationGetRelid(store->index) << 32 | builds;
	unit->key.place[2] =
		(uint64) store->lists[store->list].head << 16 | store->lists[store->list].generation;
	for (i = store->list; i < store->count; i++)
	{
		uint64 changes;
		int64 rows;

		CHECK_FOR_INTERRUPTS();
		if (i > unit->first && unit->rows >= (most + 1) / 2 &&
		    begins_unit(&store->lists[i], i - unit->first))
			break;
		read_head(store, i, &changes, &rows);
		if (i > unit->first && unit->rows + rows > most)
			break;
		name_list(&unit->key, &store->lists[i], changes, rows);
		unit->rows += rows;
	}
	unit->end = store->stop = i;
	unit->named = unit->rows > 0;
	return true;
}

bool
hybrid_store_unchanged(HybridStore *store, const HybridStoreUnit *unit)
{
	HyUnitKey key = {.place = {0}};
	int i;

	for (i = unit->first; i < unit->end; i++)
	{
		uint64 changes;
		int64 rows;

		CHECK_FOR_INTERRUPTS();
		read_head(store, i, &changes, &rows);
		name_list(&key, &store->lists[i], changes, rows);
	}
	return memcmp(key.version, unit->key.version, sizeof(key.version)) == 0;
}

void
hybrid_store_pass(HybridStore *store, const HybridStoreUnit *unit)
{
	stand_before(store, unit->end);
	store->least = PG_INT64_MIN;
	store->most = PG_INT64_MAX;
}

void
hybrid_store_again(HybridStore *store, const HybridStoreUnit *unit, int64 least, int64 most)
{
	stand_before(store, unit->first);
	store->least = least;
	store->most = most;
}

void
hybrid_units_forget(void)
{
	builds++;
}

static void
stand_before(HybridStore *store, int list)
{
	store->list = list;
	store->block = list < store->count ? store->lists[list].head : InvalidBlockNumber;
	store->slot = 0;
	store->pages = 0;
}

/*
 * begins_unit: test whether a list begins the next unit. The current unit has `lists` lists and is at
 * least half full. About one list in n begins a unit, where n is `lists` / 4 rounded up to a power of two.
 * A list that begins a unit for a larger n also does so for a smaller n.
 */
static bool
begins_unit(const HybridLink *list, int lists)
{
	uint64 one_in = pg_nextpower2_32(lists / 4 + 1);

	return (mix((uint64) list->head << 16 | list->generation) & (one_in - 1)) == 0;
}

static void
read_head(HybridStore *store, int list, uint64 *changes, int64 *rows)
{
	const HybridLink *link = &store->lists[list];
	Buffer buffer =
		hybrid_list_read(store->index, &store->open.layout, link, 0, link->head, store->strategy);
	const HybridListPage *head = hybrid_list_page(BufferGetPage(buffer));

	/* the caller may read no other page of the list, so test here whether entries that it needs were removed */
	TestForOldSnapshot(store->snapshot, store->index, BufferGetPage(buffer));
	*changes = head->changes;
	*rows = head->total;
	UnlockReleaseBuffer(buffer);
}

/*
 * name_list: add a list to key->version, which is two hashes of 64 bits. If two units differ in one word
 * only, their hashes differ.
 */
static void
name_list(HyUnitKey *key, const HybridLink *list, uint64 changes, int64 rows)
{
	uint64 words[3];
	int i;

	words[0] = (uint64) list->head << 16 | list->generation;
	words[1] = changes;
	words[2] = (uint64) rows;
	for (i = 0; i < 3; i++)
	{
		key->version[0] = mix(key->version[0] ^ words[i]);
		key->version[1] = mix(key->version[1] + words[i] * UINT64CONST(0x9fb21c651e98df25));
	}
}

/* mix: map a number to another by splitmix64, which is a permutation of all 64-bit numbers. */
static uint64
mix(uint64 z)
{
	z += UINT64CONST(0x9e3779b97f4a7c15);
	z = (z ^ (z >> 30)) * UINT64CONST(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64CONST(0x94d049bb133111eb);
	return z ^ (z >> 31);
}
