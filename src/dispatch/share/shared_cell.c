/*
 * shared_cell.c
 *		Stores values that one process at a time writes and all processes read: see shared_cell.h.
 */
#include "dispatch/share/shared_cell.h"

#include <string.h>

#define TRIES 1000 /* attempts before a reader takes the lock */

void
hy_cell_store_words(uint64_t *to, const void *from, size_t words)
{
	size_t i;

	for (i = 0; i < words; i++)
	{
		uint64_t word;

		memcpy(&word, (const char *) from + i * sizeof(word), sizeof(word));
		hy_cell_store(&to[i], word);
	}
}

void
hy_cell_load_words(void *to, const uint64_t *from, size_t words)
{
	size_t i;

	for (i = 0; i < words; i++)
	{
		uint64_t word = hy_cell_load(&from[i]);

		memcpy((char *) to + i * sizeof(word), &word, sizeof(word));
	}
}

void
hy_cell_put(uint64_t *version, uint64_t *copies, const void *value, size_t words)
{
	uint64_t next = *version + 1;

	hy_cell_store_words(copies + (next & 1) * words, value, words);
	hy_cell_store(version, next);
}

void
hy_cell_get(const HyTableLock *lock, const uint64_t *version, const uint64_t *copies, void *value,
            size_t words)
{
	int i;

	for (i = 0; i < TRIES; i++)
	{
		if (hy_cell_try(version, copies, value, words))
			return;
	}
	if (lock->acquire != NULL)
		lock->acquire(lock->arg);
	hy_cell_try(version, copies, value, words);
	if (lock->release != NULL)
		lock->release(lock->arg);
}

bool
hy_cell_try(const uint64_t *version, const uint64_t *copies, void *value, size_t words)
{
	uint64_t before = hy_cell_load(version);

	hy_cell_load_words(value, copies + (before & 1) * words, words);
	return hy_cell_load(version) == before;
}
