/*
 * hold_lock.c
 *		For tests: a lock that src/index/lock.h names, held by a session to the end of its transaction.
 *
 *			CREATE FUNCTION hold_lock(index regclass, block bigint) RETURNS void LANGUAGE c STRICT AS '.../hold_lock'
 *			CREATE FUNCTION hold_lock_alone(index regclass, block bigint) RETURNS void LANGUAGE c STRICT AS '.../hold_lock'
 *
 *		The first as who adds to a list holds its lock, the second as who copies it.
 */
#include "postgres.h"

#include "access/genam.h"
#include "fmgr.h"

#include "index/lock.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(hold_lock);
PG_FUNCTION_INFO_V1(hold_lock_alone);

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

static Datum
hold(FunctionCallInfo fcinfo, LOCKMODE mode)
{
	Relation index = index_open(PG_GETARG_OID(0), AccessShareLock);

	hybrid_lock(index, (BlockNumber) PG_GETARG_INT64(1), mode);
	index_close(index, NoLock);
	PG_RETURN_VOID();
}
