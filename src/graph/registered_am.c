/*
 * registered_am.c
 *		The access method hybrid_graph: an index that registers columns as a graph.
 *
 * Such an index stores nothing, not even a page, and a scan cannot use it. Inserts and VACUUM do
 * nothing, and REINDEX only checks the columns. The graph functions read the table itself
 * (registered.h).
 */
#include "postgres.h"

#include "access/amapi.h"
#include "catalog/pg_opclass.h"
#include "fmgr.h"
#include "graph/edge.h"
#include "graph/registered.h"
#include "graph/registered_am.h"
#include "optimizer/cost.h"
#include "server/compat.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/syscache.h"

PG_FUNCTION_INFO_V1(hybrid_graph_handler);

static void build_empty(Relation index);
static bool insert(Relation index, Datum *values, bool *is_null, ItemPointer tid, Relation table,
                   IndexUniqueCheck unique, bool unchanged, IndexInfo *info);
static IndexBulkDeleteResult *bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
                                          IndexBulkDeleteCallback callback, void *state);
static IndexBulkDeleteResult *vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats);
static void
cost_estimate(PlannerInfo *root, IndexPath *path, double loops, Cost *startup, Cost *total,
              Selectivity *selectivity, double *correlation, double *pages);
static bytea *options(Datum reloptions, bool validate);
static bool validate_class(Oid class);

Datum
hybrid_graph_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *routine = makeNode(IndexAmRoutine);

	(void) fcinfo;
	/* several columns, but no search conditions and no order; fields that are not set are false or NULL */
	routine->amcanmulticol = true;
	routine->amoptionalkey = false;
	routine->amkeytype = InvalidOid;
	hybrid_set_summarizing(routine);

	routine->ambuild = hybrid_registered_build;
	routine->ambuildempty = build_empty;
	routine->aminsert = insert;
	routine->ambulkdelete = bulk_delete;
	routine->amvacuumcleanup = vacuum_cleanup;
	routine->amcostestimate = cost_estimate;
	routine->amoptions = options;
	routine->amvalidate = validate_class;

	PG_RETURN_POINTER(routine);
}

bool
hybrid_is_registered(Relation index)
{
	return (index->rd_rel->relkind == RELKIND_INDEX ||
	        index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX) &&
	       index->rd_indam->ambuild == hybrid_registered_build;
}

IndexBuildResult *
hybrid_registered_build(Relation table, Relation index, IndexInfo *info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));

	(void) table;
	(void) info;
	hybrid_registered_check(RelationGetDescr(index));
	/* -1: no rows were counted, so the statistics of the table stay as they are */
	result->heap_tuples = -1;
	return result;
}

/* build_empty: write the initial contents of the index of an unlogged table: nothing. */
static void
build_empty(Relation index)
{
	(void) index;
}

static bool
insert(Relation index, Datum *values, bool *is_null, ItemPointer tid, Relation table,
       IndexUniqueCheck unique, bool unchanged, IndexInfo *info)
{
	(void) index;
	(void) values;
	(void) is_null;
	(void) tid;
	(void) table;
	(void) unique;
	(void) unchanged;
	(void) info;
	return false;
}

static IndexBulkDeleteResult *
bulk_delete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback,
            void *state)
{
	(void) info;
	(void) callback;
	(void) state;
	return stats;
}

static IndexBulkDeleteResult *
vacuum_cleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	(void) info;
	return stats;
}

/* cost_estimate: discourage scans. The planner never calls it, because no operator is indexable. */
static void
cost_estimate(PlannerInfo *root, IndexPath *path, double loops, Cost *startup, Cost *total,
              Selectivity *selectivity, double *correlation, double *pages)
{
	(void) root;
	(void) path;
	(void) loops;
	*startup = *total = disable_cost;
	*selectivity = 1;
	*correlation = 0;
	*pages = 0;
}

static bytea *
options(Datum reloptions, bool validate)
{
	if (validate && DatumGetPointer(reloptions) != NULL)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("an index of access method hybrid_graph has no options")));
	return NULL;
}

/* validate_class: check that an operator class has no operators or functions. It only names a type. */
static bool
validate_class(Oid class)
{
	HeapTuple tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(class));
	CatCList *operators, *functions;
	Form_pg_opclass form;
	bool valid;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", class);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(form->opcfamily));
	functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(form->opcfamily));
	valid = operators->n_members == 0 && functions->n_members == 0;
	if (!valid)
		ereport(INFO,
		        (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
		         errmsg("operator class \"%s\" of access method hybrid_graph has operators or "
		                "functions",
		                NameStr(form->opcname))));
	ReleaseCatCacheList(functions);
	ReleaseCatCacheList(operators);
	ReleaseSysCache(tuple);
	return valid;
}
