/*
 * shared_cell.h
 *		Stores values that one process at a time writes and all processes read without a lock: see
 *		shared_table.h.
 *
 * All data is read and written as 64-bit words, each with an atomic load or store.  So a copy that
 * a reader takes during a write may be stale or mixed, but never undefined.  The sequence number
 * then shows that the copy must not be used.  The words of a cell are stored with release and loaded
 * with acquire: a reader that sees one word of a newer value also sees a newer sequence number.  On
 * x86 these orderings cost nothing.
 */
#ifndef HY_SHARED_CELL_H
#define HY_SHARED_CELL_H

#include "dispatch/share/shared_table.h"

/* hy_cell_load, hy_cell_store: load or store one word. */
static inline uint64_t
hy_cell_load(const uint64_t *word)
{
	return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

static inline void
hy_cell_store(uint64_t *word, uint64_t value)
{
	__atomic_store_n(word, value, __ATOMIC_RELEASE);
}

/*
 * hy_cell_store_words, hy_cell_load_words: store or load several words, each of them atomically.
 * Loaded words may be from different moments.
 */
extern void hy_cell_store_words(uint64_t *to, const void *from, size_t words);
extern void hy_cell_load_words(void *to, const uint64_t *from, size_t words);

/*
 * hy_cell_put: store a new value.  The caller is the only writer.  Copy number (version % 2) is the
 * current copy.
 */
extern void hy_cell_put(uint64_t *version, uint64_t *copies, const void *value, size_t words);

/*
 * hy_cell_try: read the current copy.  Returns false if a writer incremented the version meanwhile,
 * which cannot happen under the lock.
 */
extern bool hy_cell_try(const uint64_t *version, const uint64_t *copies, void *value, size_t words);

/*
 * hy_cell_get: read the current copy at any time.  Takes the lock only if writers have interfered
 * with many attempts.
 */
extern void hy_cell_get(const HyTableLock *lock, const uint64_t *version, const uint64_t *copies,
                        void *value, size_t words);

#endif
