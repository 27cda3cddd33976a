/*
 * compat.h
 *		Differences between PostgreSQL versions, and nothing else.
 *
 * The source is written for PostgreSQL 18. In older versions, this header defines the names and parameters
 * that newer versions have. In newer versions, it defines names that these versions have removed. A file that
 * uses one of these names includes this header. All tests run with 15, and some of them with 17 and 18
 * (test/versions.sh).
 */
#ifndef HYBRID_COMPAT_H
#define HYBRID_COMPAT_H

#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/relscan.h"
#include "catalog/pg_class.h"
#include "catalog/pg_namespace.h"
#include "catalog/pg_proc.h"
#include "commands/explain.h"
#include "commands/vacuum.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "optimizer/cost.h"
#include "pgstat.h"
#include "storage/lmgr.h"
#include "storage/proc.h"
#include "tcop/tcopprot.h"
#include "utils/acl.h"
#include "utils/guc_tables.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"

#if PG_VERSION_NUM < 150000
#error "hybrid needs PostgreSQL 15 or later"
#endif

#if PG_VERSION_NUM >= 160000
#include "utils/guc.h"
#include "varatt.h"
#else
#define RelFileLocator RelFileNode
#define RelFileLocatorEquals RelFileNodeEquals
#define rd_locator rd_node
#define rd_newRelfilelocatorSubid rd_newRelfilenodeSubid
#define rd_firstRelfilelocatorSubid rd_firstRelfilenodeSubid
#define spcOid spcNode
#define relNumber relNode
#define PGIOAlignedBlock PGAlignedBlock
#define tuplesort_getdatum(state, forward, copy, value, isnull, abbrev)                            \
	tuplesort_getdatum(state, forward, value, isnull, abbrev)
#define get_guc_variables(count) (*(count) = GetNumConfigOptions(), get_guc_variables())
/* the server frees the *extra of a check hook with free(), and from 16 on with guc_free() */
#define guc_malloc(elevel, size) malloc(size)
#define guc_free(pointer) free(pointer)

static inline bool
object_ownercheck(Oid class, Oid object, Oid role)
{
	Assert(class == RelationRelationId);
	(void) class;
	return pg_class_ownercheck(object, role);
}

static inline AclResult
object_aclcheck(Oid class, Oid object, Oid role, AclMode mode)
{
	if (class == ProcedureRelationId)
		return pg_proc_aclcheck(object, role, mode);
	Assert(class == NamespaceRelationId);
	return pg_namespace_aclcheck(object, role, mode);
}
#endif

#if PG_VERSION_NUM >= 170000
/* In 17, old_snapshot_threshold was removed. VACUUM no longer removes rows that a snapshot may need. */
#define old_snapshot_threshold (-1)
#define TestForOldSnapshot(snapshot, relation, page) ((void) (snapshot))
#else
#include "postmaster/autovacuum.h"
#include "utils/snapmgr.h"
#define AmAutoVacuumWorkerProcess() IsAutoVacuumWorkerProcess()
#endif

#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#define vacuum_delay_point(is_analyze) vacuum_delay_point()
#define ConditionalLockTuple(relation, tid, mode, log) ConditionalLockTuple(relation, tid, mode)
#define LockAcquireExtended(tag, mode, session, dont_wait, memory_error, local, log)               \
	LockAcquireExtended(tag, mode, session, dont_wait, memory_error, local)
#endif

#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#elif PG_VERSION_NUM < 170000
/* standard_ExplainOneQuery: plan a query and let EXPLAIN show the plan, as the server does without a hook. */
static inline void
standard_ExplainOneQuery(Query *query, int cursor_options, IntoClause *into, ExplainState *es,
                         const char *text, ParamListInfo params, QueryEnvironment *environment)
{
	BufferUsage before = pgBufferUsage, used;
	instr_time begin, duration;
	PlannedStmt *plan;

	memset(&used, 0, sizeof(used));
	INSTR_TIME_SET_CURRENT(begin);
	plan = pg_plan_query(query, text, cursor_options, params);
	INSTR_TIME_SET_CURRENT(duration);
	INSTR_TIME_SUBTRACT(duration, begin);
	BufferUsageAccumDiff(&used, &pgBufferUsage, &before);
	ExplainOnePlan(plan, into, es, text, params, environment, &duration,
	               es->buffers ? &used : NULL);
}
#endif

/* hybrid_local_transaction: return the local ID of this backend's current transaction. */
static inline LocalTransactionId
hybrid_local_transaction(void)
{
#if PG_VERSION_NUM >= 170000
	return MyProc->vxid.lxid;
#else
	return MyProc->lxid;
#endif
}

/*
 * hybrid_other_end_pending: test for events that end a statement but set neither QueryCancelPending nor
 * ProcDiePending. From 17 on these are transaction_timeout and, on a standby, a conflict with replay.
 */
static inline bool
hybrid_other_end_pending(void)
{
#if PG_VERSION_NUM >= 170000
	return (TransactionTimeoutPending && TransactionTimeout > 0) || MyProc->recoveryConflictPending;
#else
	return false;
#endif
}

/* hybrid_count_search: count a search of an index, for the statistics and, from 18 on, for EXPLAIN ANALYZE. */
static inline void
hybrid_count_search(IndexScanDesc scan)
{
	pgstat_count_index_scan(scan->indexRelation);
#if PG_VERSION_NUM >= 180000
	if (scan->instrument != NULL)
		scan->instrument->nsearches++;
#endif
}

/*
 * hybrid_offer_path: make the planner avoid a path that is not possible. The cost estimate of the access
 * method calls this function for each path, and must also return a prohibitive cost for an impossible one.
 * From 18 on, the planner compares the numbers of disabled nodes before it compares costs. It does not count
 * disabled nodes below a bitmap scan, so this function clears amhasgetbitmap. The planner reads that flag
 * right after the cost estimate. The function never sets the flag to true, because it is also false if the
 * table's access method has no bitmap scans.
 */
static inline void
hybrid_offer_path(IndexPath *path, bool possible)
{
#if PG_VERSION_NUM >= 180000
	if (!possible)
	{
		path->indexinfo->amhasgetbitmap = false;
		path->path.disabled_nodes++;
	}
#else
	(void) path;
	(void) possible;
#endif
}

/* hybrid_disable_path: treat a path like one that a setting has disabled. Returns the cost to add to it. */
static inline Cost
hybrid_disable_path(IndexPath *path)
{
#if PG_VERSION_NUM >= 180000
	path->path.disabled_nodes++;
	return 0;
#else
	(void) path;
	return disable_cost;
#endif
}

/*
 * hybrid_set_summarizing: declare that an access method has no entries for single rows. From 16 on, an update
 * can be HOT if it changes only columns of such indexes.
 */
static inline void
hybrid_set_summarizing(IndexAmRoutine *routine)
{
#if PG_VERSION_NUM >= 160000
	routine->amsummarizing = true;
#else
	(void) routine;
#endif
}

#endif
