/*
 * last_scan.c
 *		hybrid_last_scan(): reports the work of the session's last index scan.
 *
 * A scan counts its work in its own HybridScanDone. When the scan ends, is started again for another
 * query, or fails with an error, its counts replace those of the previous scan. After a plan with several
 * scans, the function therefore reports the scan that ended last. A scan in a parallel worker ends in the
 * worker, and the session does not see its counts.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_class.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/syscache.h"

#include "index/scan/explain_scans.h"
#include "index/scan/last_scan.h"

#define COLUMNS 11

static HybridLastScan last;

void
hybrid_last_scan_end(void *arg)
{
	HybridScanDone *done = arg;

	if (!OidIsValid(done->index))
		return;
	last.number++;
	last.done = *done;
	hybrid_explain_add(done);
	memset(done, 0, sizeof(*done));
}

const HybridLastScan *
hybrid_last_scan_get(void)
{
	return &last;
}

PG_FUNCTION_INFO_V1(hybrid_last_scan);
Datum
hybrid_last_scan(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	const HybridScanDone *done = &last.done;
	Datum values[COLUMNS];
	bool nulls[COLUMNS] = {false};
	int i = 0;

	InitMaterializedSRF(fcinfo, 0);
	if (last.number == 0)
		PG_RETURN_NULL();
	nulls[i] = !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(done->index));
	values[i++] = ObjectIdGetDatum(done->index);
	values[i++] = Float8GetDatum(done->target);
	values[i++] = Int32GetDatum(done->probes);
	values[i++] = Int64GetDatum(done->rounds);
	values[i++] = Int64GetDatum(done->work.lists);
	values[i++] = Int64GetDatum(hybrid_scan_scored(done));
	values[i++] = Int64GetDatum(done->work.rescored);
	values[i++] = Int64GetDatum(done->work.rejected);
	values[i++] = Int64GetDatum(done->work.excluded);
	values[i++] = Int64GetDatum(done->returned);
	nulls[i] = isnan(done->expected);
	values[i++] = Float8GetDatum(done->expected);
	Assert(i == COLUMNS);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	PG_RETURN_NULL();
}
