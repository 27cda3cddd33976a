/*
 * stats.c
 *		hybrid_index_stats(): what an index holds.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_authid.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "index/index.h"

PG_FUNCTION_INFO_V1(hybrid_index_stats);
Datum
hybrid_index_stats(PG_FUNCTION_ARGS)
{
	Oid oid = PG_GETARG_OID(0);
	Relation relation;
	const HybridLayout *layout;
	BufferAccessStrategy strategy = GetAccessStrategy(BAS_BULKREAD);
	BlockNumber blocks, groups, group;
	int64 live = 0, dead = 0;
	TupleDesc descriptor;
	Datum values[6];
	bool nulls[6] = {false};
	HybridIndex open;

	if (get_call_result_type(fcinfo, NULL, &descriptor) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	relation = hybrid_open_index(oid, AccessShareLock);
	if (!pg_class_ownercheck(oid, GetUserId()) &&
	    !has_privs_of_role(GetUserId(), ROLE_PG_STAT_SCAN_TABLES))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, RelationGetRelationName(relation));
	open = hybrid_index_open(relation);
	layout = &open.layout;
	blocks = RelationGetNumberOfBlocks(relation);
	groups = hybrid_groups(layout, blocks);
	for (group = 0; group < groups; group++)
	{
		BlockNumber head = hybrid_group_head(layout, group);
		Buffer buffer;
		Page page;

		CHECK_FOR_INTERRUPTS();
		buffer = ReadBufferExtended(relation, MAIN_FORKNUM, head, RBM_NORMAL, strategy);
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		page = BufferGetPage(buffer);
		if (!PageIsNew(page))
		{
			hybrid_page_check(relation, layout, page, head, HYBRID_PAGE_HEAD);
			live += hybrid_special(page)->count - hybrid_special(page)->dead;
			dead += hybrid_special(page)->dead;
		}
		UnlockReleaseBuffer(buffer);
	}

	values[0] = Int64GetDatum((int64) blocks);
	values[1] = Int64GetDatum(live);
	values[2] = Int64GetDatum(dead);
	values[3] = Int32GetDatum(layout->dims);
	values[4] = CStringGetTextDatum(hy_dtype_name(layout->dtype));
	values[5] = Int64GetDatum((int64) blocks * BLCKSZ);
	relation_close(relation, AccessShareLock);
	FreeAccessStrategy(strategy);
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(descriptor), values, nulls)));
}
