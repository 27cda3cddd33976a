/*
 * lock.h
 *		Defines the functions of a lock, which the owner of the guarded data supplies.
 *
 * The dispatcher does not depend on PostgreSQL.  In a server the functions take an LWLock, which
 * error handling releases.  In tests they take a mutex.  The lock is not recursive.  Its holder
 * waits for nothing, raises no error and calls no function that may do so.
 *
 * Locking costs no measurable time.  While another process writes the table as fast as it can, the
 * dispatcher adds 81 ns to a small call.  An earlier design without a lock, in which readers
 * compared two copies of each value, added 80 ns (medians of nine alternating runs of
 * bench/dispatch.c).
 */
#ifndef HY_LOCK_H
#define HY_LOCK_H

#include <stddef.h>

/*
 * HyLock: the functions of a lock.  They are NULL if only one thread of one process uses the data.
 */
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
