/*
 * handler.c
 *		The handler function: describes the access method to PostgreSQL.
 */
#include "postgres.h"

#include "commands/vacuum.h"
#include "fmgr.h"

#include "index/page/index.h"
#include "index/handler.h"
#include "index/build/build.h"
#include "index/scan/scan.h"
#include "index/vacuum/vacuum.h"
#include "index/write/insert.h"

PG_FUNCTION_INFO_V1(hybrid_handler);
Datum
hybrid_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	(void) fcinfo;
	routine->amstrategies = HYBRID_STRATEGIES;
	routine->amsupport = HYBRID_METRIC_PROC;
	routine->amoptsprocnum = 0;
	routine->amcanorder = false;
	routine->amcanorderbyop = true;
	routine->amcanbackward = false;
	routine->amcanunique = false;
	routine->amcanmulticol = true;
	/* a scan may have an order without conditions, or conditions without an order */
	routine->amoptionalkey = true;
	/*
	 * IN and IS NULL must not be index conditions on the vector: an IN list has several spheres, and
	 * the index has no entries for NULL. On a key, they are handled like conditions on included columns
	 * (included_quals.h).
	 */
	routine->amsearcharray = false;
	routine->amsearchnulls = false;
	routine->amstorage = false;
	routine->amclusterable = false;
	routine->ampredlocks = false;
	routine->amcanparallel = false;
	routine->amcaninclude = true;
	routine->amusemaintenanceworkmem = true;
	routine->amparallelvacuumoptions =
		VACUUM_OPTION_PARALLEL_BULKDEL | VACUUM_OPTION_PARALLEL_COND_CLEANUP;
	routine->amkeytype = InvalidOid;

	routine->ambuild = hybridbuild;
	routine->ambuildempty = hybridbuildempty;
	routine->aminsert = hybridinsert;
	routine->ambulkdelete = hybridbulkdelete;
	routine->amvacuumcleanup = hybridvacuumcleanup;
	routine->amcanreturn = hybridcanreturn;
	routine->amcostestimate = hybridcostestimate;
	routine->amoptions = hybridoptions;
	routine->amproperty = hybridproperty;
	routine->ambuildphasename = hybridbuildphasename;
	routine->amvalidate = hybridvalidate;
	routine->amadjustmembers = NULL;
	routine->ambeginscan = hybridbeginscan;
	routine->amrescan = hybridrescan;
	routine->amgettuple = hybridgettuple;
	routine->amgetbitmap = hybridgetbitmap;
	routine->amendscan = hybridendscan;
	routine->ammarkpos = NULL;
	routine->amrestrpos = NULL;
	routine->amestimateparallelscan = NULL;
	routine->aminitparallelscan = NULL;
	routine->amparallelrescan = NULL;

	PG_RETURN_POINTER(routine);
}
