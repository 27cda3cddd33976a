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
 *
 *			CREATE FUNCTION hold_page(index regclass, block bigint, file text) RETURNS void
 *				LANGUAGE c STRICT AS '.../hold_lock'
 *
 *		Nobody reads or writes this page until the file exists. The function makes another one, FILE.held, when it has
 *		the page.
 */
#include "postgres.h"

#include <sys/stat.h>

#include "access/genam.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "storage/latch.h"
#include "utils/builtins.h"
#include "utils/wait_event.h"

#include "index/page/lock.h"

PG_MODULE_MAGIC;
PG_FUNCTION_INFO_V1(hold_lock);
PG_FUNCTION_INFO_V1(hold_lock_alone);
PG_FUNCTION_INFO_V1(hold_extension);
PG_FUNCTION_INFO_V1(hold_page);

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

Datum
hold_page(PG_FUNCTION_ARGS)
{
	Relation index = index_open(PG_GETARG_OID(0), AccessShareLock);
	Buffer buffer = ReadBuffer(index, (BlockNumber) PG_GETARG_INT64(1));
	char *file = text_to_cstring(PG_GETARG_TEXT_PP(2));
	struct stat unused;

	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	fclose(fopen(psprintf("%s.held", file), "w"));
	while (stat(file, &unused) != 0)
		pg_usleep(10000);
	UnlockReleaseBuffer(buffer);
	index_close(index, NoLock);
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
