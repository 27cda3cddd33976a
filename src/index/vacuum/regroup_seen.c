/*
 * regroup_seen.c
 *		Records which rows were copied to new leaves.
 *
 * If the change counter of a leaf is the same as when its rows were copied, the leaf has no new rows. A
 * copied row is identified by its heap position, except in an index on arrays. No other row can get
 * that position meanwhile, because only VACUUM frees positions, and this code runs within the table's
 * only VACUUM.
 *
 * In an index on arrays, a row has several entries, and may be copied while only some of them are in
 * the index. So an entry is identified by a 63-bit hash of its position and its stored vector. If an
 * array has equal vectors, some of their entries may be left out. This does not change the MaxSim of
 * the array.
 */
#include "postgres.h"

#include "common/hashfn.h"
#include "miscadmin.h"
#include "utils/hsearch.h"
#include "utils/memutils.h"
#include "utils/tuplesort.h"

#include "server/compat.h"
#include "server/position.h"

#include "index/vacuum/regroup.h"
#include "index/tree/tree.h"

/*
 * SeenLeaf: a leaf whose rows were copied, and its change counter at the time when its first page was
 * read.
 */
typedef struct SeenLeaf
{
	BlockNumber head;
	uint16 generation;
	uint64 changes;
} SeenLeaf;

static const SeenLeaf *seen_of(const HybridRegroup *regroup, const HybridLink *list);

bool
hybrid_regroup_may_differ(const HybridRegroup *regroup, const HybridLink *list)
{
	const SeenLeaf *seen = seen_of(regroup, list);

	return seen == NULL || hybrid_copy_log_has(&regroup->copy_log, list->head);
}

bool
hybrid_regroup_differs(const HybridRegroup *regroup, const HybridLink *list)
{
	const SeenLeaf *seen = seen_of(regroup, list);

	return seen == NULL ||
	       seen->changes !=
	           hybrid_list_changes(regroup->index, &regroup->open->layout, list, 0, NULL);
}

void
hybrid_regroup_record_leaf(HybridRegroup *regroup, const HybridLink *list, uint64 changes)
{
	SeenLeaf *seen;

	if (regroup->seen == NULL)
	{
		HASHCTL control;

		memset(&control, 0, sizeof(control));
		control.keysize = sizeof(BlockNumber);
		control.entrysize = sizeof(SeenLeaf);
		control.hcxt = regroup->context;
		regroup->seen = hash_create("leaves of a hybrid index that were copied", 1024, &control,
		                            HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	seen = hash_search(regroup->seen, &list->head, HASH_ENTER, NULL);
	seen->generation = list->generation;
	seen->changes = changes;
}

int64
hybrid_regroup_key(const HybridIndex *open, const ItemPointerData *tid, const HybridStored *stored,
                   const void *vector)
{
	int64 position = hybrid_position(tid);
	uint64 hash;

	if (!open->opclass->many)
		return position;
	/*
	 * hash the scale, too: multiples of a vector may be stored as the same bytes with different scales
	 */
	hash = hash_bytes_extended((const unsigned char *) &stored->scale, sizeof(stored->scale),
	                           (uint64) position);
	hash =
		hash_bytes_extended((const unsigned char *) vector, (int) open->layout.leaf.stride, hash);
	return (int64) (hash & PG_INT64_MAX);
}

bool
hybrid_regroup_was_copied(const HybridRegroup *regroup, int64 key)
{
	int i;

	for (i = 0; i < regroup->rounds; i++)
	{
		if (intset_is_member(regroup->copied[i], (uint64) key))
			return true;
	}
	return false;
}

void
hybrid_regroup_record_rows(HybridRegroup *regroup, Tuplesortstate *keys)
{
	MemoryContext old = MemoryContextSwitchTo(regroup->context);
	IntegerSet *copied = intset_create();
	int64 last = -1;
	bool isnull;
	Datum value;

	MemoryContextSwitchTo(old);
	tuplesort_performsort(keys);
	while (tuplesort_getdatum(keys, true, false, &value, &isnull, NULL))
	{
		CHECK_FOR_INTERRUPTS();
		if (DatumGetInt64(value) > last)
			intset_add_member(copied, (uint64) DatumGetInt64(value));
		last = DatumGetInt64(value);
	}
	tuplesort_end(keys);
	regroup->copied[regroup->rounds++] = copied;
}

static const SeenLeaf *
seen_of(const HybridRegroup *regroup, const HybridLink *list)
{
	const SeenLeaf *seen =
		regroup->seen == NULL ? NULL : hash_search(regroup->seen, &list->head, HASH_FIND, NULL);

	return seen != NULL && seen->generation == list->generation ? seen : NULL;
}
