/*
 * citus.c
 *		Recognizes the tables whose rows the extension Citus keeps elsewhere: see citus.h.
 *
 * Citus lists these tables in a catalog of its own. Each of them has an ordinary table of the same
 * name, which is empty or holds old rows that were copied to the shards. Citus plans the queries on
 * such a table, but code that reads it directly gets only these old rows.
 *
 * The catalog is looked up by name each time, because Citus may be created or dropped meanwhile. A
 * database without Citus pays for one lookup in the system cache, which also remembers names that
 * do not exist.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "server/citus.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#define CITUS_CATALOG "pg_dist_partition"
#define CITUS_INDEX "pg_dist_partition_logical_relid_index"
#define CITUS_COLUMN "logicalrelid"

static bool is_listed(Relation catalog, AttrNumber column, Oid index, Oid relid);

Oid
hybrid_citus_table(const List *relids)
{
	Oid oid = get_relname_relid(CITUS_CATALOG, PG_CATALOG_NAMESPACE);
	Oid found = InvalidOid;
	Relation catalog;
	AttrNumber column;

	if (!OidIsValid(oid))
		return InvalidOid;
	/* if another session is dropping Citus, this waits until it has finished */
	catalog = try_table_open(oid, AccessShareLock);
	if (catalog == NULL)
		return InvalidOid;
	column = get_attnum(oid, CITUS_COLUMN);
	if (catalog->rd_rel->relkind == RELKIND_RELATION && column > 0 &&
	    get_atttype(oid, column) == REGCLASSOID)
	{
		Oid index = get_relname_relid(CITUS_INDEX, PG_CATALOG_NAMESPACE);
		ListCell *cell;

		foreach (cell, relids)
		{
			CHECK_FOR_INTERRUPTS();
			if (!is_listed(catalog, column, index, lfirst_oid(cell)))
				continue;
			found = lfirst_oid(cell);
			break;
		}
	}
	table_close(catalog, AccessShareLock);
	return found;
}

/* is_listed: return whether the catalog lists a table. Scans the catalog if there is no index (InvalidOid). */
static bool
is_listed(Relation catalog, AttrNumber column, Oid index, Oid relid)
{
	ScanKeyData key;
	SysScanDesc scan;
	bool found;

	ScanKeyInit(&key, column, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(relid));
	scan = systable_beginscan(catalog, index, OidIsValid(index), NULL, 1, &key);
	found = HeapTupleIsValid(systable_getnext(scan));
	systable_endscan(scan);
	return found;
}
