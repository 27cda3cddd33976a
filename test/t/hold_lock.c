/*
 * hold_lock.c
 *		For tests: a lock that src/index/page/lock.h names, held by a session to the end of its transaction.
 *
 *			CREATE FUNCTION hold_lock(index regclass, block bigint) RETURNS void LANGUAGE c STRICT AS '.../hold_lock'
 *			CREATE FUNCTION hold_lock_alone(index regclass, block bigint) RETURNS void
 *				LANGUAGE c STRICT AS '.../hold_lock'
 *
 *		The first as who adds to a list holds its lock, the second as who copies it.
 *
 *			CREATE FUNCTION hold_extension(index regclass) RETURNS void LANGUAGE c STRICT AS '.../hold_lock'
 *
 *		Nobody adds a page to the index until this is cancelled: who has that lock waits for no other.
 */
#include "postgres.h"

#include "access/genam.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/latch.h"
#include "utils/wait_event.h"

#include "index/page/lock.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(hold_lock);
PG_FUNCTION_INFO_V1(hold_lock_alone);
PG_FUNCTION_INFO_V1(hold_extension);

static Datum hold(FunctionCallInfo fcinfo, LOCKMODE mode);

Datum
hold_lock(PG_FUNCTION_ARGS)
{
	return hold(fcinfo, ShareLock);
}

Datum
hold_lock_alone(PG_FUNCTION_ARGS)
{
	return hold(fcinfo, ExclusiveLock);
}

Datum
hold_extension(PG_FUNCTION_ARGS)
{
	Relation index = index_open(PG_GETARG_OID(0), AccessShareLock);

	LockRelationForExtension(index, ExclusiveLock);
	for (;;)
	{
		(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_EXIT_ON_PM_DEATH, -1, PG_WAIT_EXTENSION);
		ResetLatch(MyLatch);
		CHECK_FOR_INTERRUPTS();
	}
	PG_RETURN_VOID();
}

static Datum
hold(FunctionCallInfo fcinfo, LOCKMODE mode)
{
	Relation index = index_open(PG_GETARG_OID(0), AccessShareLock);

	hybrid_lock(index, (BlockNumber) PG_GETARG_INT64(1), mode);
	index_close(index, NoLock);
	PG_RETURN_VOID();
}
