/*
 * lock.h
 *		Functions of a lock, supplied by the owner of the data that the lock guards.
 *
 * The dispatcher knows nothing of PostgreSQL.  In a server the functions take an LWLock, which the
 * error path releases, and in the tests they take a mutex.  The lock is not recursive.  Its holder
 * waits for nothing, raises no error and calls no function that may do so.
 *
 * While another process writes the table as fast as it can, the dispatcher adds 81 ns to a small call.
 * A design without a lock, in which readers compared two copies of each value, added 80 ns (medians of
 * nine runs of bench/dispatch.c in turn).
 */
#ifndef HY_LOCK_H
#define HY_LOCK_H

#include <stddef.h>

/* HyLock: NULL functions mean that no lock is needed, since one thread of one process has the data. */
typedef struct HyLock
{
	void (*acquire)(void *arg);
	void (*release)(void *arg);
	void *arg;
} HyLock;

static inline void
hy_lock(const HyLock *lock)
{
	if (lock->acquire != NULL)
		lock->acquire(lock->arg);
}

static inline void
hy_unlock(const HyLock *lock)
{
	if (lock->release != NULL)
		lock->release(lock->arg);
}

#endif
