/*
 * registered.c
 *		A registered graph: see registered.h.
 *
 * A copy answers only if it provably equals what a query would return. All other cases are left to a query:
 *
 * - SERIALIZABLE transactions, because only a scan by the executor records what they read
 * - row security for the caller
 * - expressions and predicates with more than columns, constants, casts and operators of plain types,
 *   because their values may change although no row changes
 * - indexes that are not valid
 * - tables of access methods other than heap, foreign tables, and materialized views without data
 * - tables whose rows Citus keeps in shards, because the local table is empty or contains old rows
 * - tables whose changes are not written to the WAL, because the LSNs of their pages do not grow
 * - tables whose storage this transaction has created, because COPY FREEZE then adds rows to a page
 *   that is all-visible, and changes neither its bit nor the LSN of the visibility map
 * - old_snapshot_threshold, which lets VACUUM remove rows that a snapshot still sees
 * - snapshots that are not MVCC snapshots
 *
 * The rows of a partitioned table are in its leaves. The conditions for tables and indexes hold for each leaf, and
 * each leaf needs an index that belongs to the graph's index. Otherwise a query reads the whole graph.
 * The leaves are those that a query reads: the partitions of the active snapshot, locked in the planner's order.
 * Privileges and row security are those of the partitioned table, as for a query.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/relation.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/namespace.h"
#include "catalog/partition.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "server/citus.h"
#include "server/compat.h"
#include "graph/edge.h"
#include "graph/registered.h"
#include "graph/registered_am.h"
#include "lib/stringinfo.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "partitioning/partdesc.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/rls.h"
#include "utils/ruleutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"
#include "utils/varlena.h"

#define MOST_NAMES 3 /* database, schema and index */

/*
 * PartitionIndex: a partition, an index of its parent, and the index of the partition that is attached to the
 * parent's index.
 */
typedef struct PartitionIndex
{
	Oid table;
	Oid index;
	Oid own; /* InvalidOid: none */
} PartitionIndex;

static HTAB *partition_indexes = NULL; /* entries by table and index; NULL: no table of them */
static bool are_outdated = false;      /* a relation was invalidated since the entries were made */

static Oid find_index(const char *name);
static void lock_table(const RangeVar *name, Oid found, Oid before, void *arg);
pg_noreturn static void report_unknown(const char *name);
static void check_privileges(const HybridRegistered *graph);
static bool open_leaves(HybridRegistered *graph);
static bool open_partitions(HybridRegistered *graph, Relation parent, Oid index);
static Oid partition_index(Relation table, Oid index);
static void relation_changed(Datum arg, Oid relation);
static void add_leaf(HybridRegistered *graph, Relation table, Relation index);
static bool has_proofs(Relation table);
static bool is_elsewhere(Relation table);
static bool is_new(Relation table);
static bool depends_on_more(Relation index);
static bool is_replaceable(Oid function, void *context);
static bool is_more(Node *node, void *context);
static bool is_plain(Oid type);

void
hybrid_registered_open(const char *name, HybridRegistered *graph)
{
	Oid oid = find_index(name);

	graph->leaves = NIL;
	graph->index = relation_open(oid, NoLock);
	if (!hybrid_is_registered(graph->index))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
		                errmsg("\"%s\" is not a registered graph", name),
		                errhint("Create an index with USING hybrid_graph (source, target[, "
		                        "weight[, type]]), or give an edges query.")));
	graph->table = table_open(graph->index->rd_index->indrelid, NoLock);
	hybrid_registered_check(RelationGetDescr(graph->index));
}

void
hybrid_registered_close(HybridRegistered *graph)
{
	ListCell *cell;

	foreach (cell, graph->leaves)
	{
		const HybridLeafTable *leaf = lfirst(cell);

		if (leaf->table == graph->table)
			continue;
		relation_close(leaf->index, NoLock);
		table_close(leaf->table, NoLock);
	}
	relation_close(graph->index, NoLock);
	table_close(graph->table, NoLock);
}

bool
hybrid_registered_may_copy(HybridRegistered *graph)
{
	if (check_enable_rls(RelationGetRelid(graph->table), InvalidOid, true) == RLS_ENABLED)
		return false;
	check_privileges(graph);
	return !IsolationIsSerializable() && graph->index->rd_index->indisvalid &&
	       !is_elsewhere(graph->table) && old_snapshot_threshold < 0 &&
	       !depends_on_more(graph->index) && GetActiveSnapshot()->snapshot_type == SNAPSHOT_MVCC &&
	       open_leaves(graph);
}

bool
hybrid_registered_names_rows(const HybridRegistered *graph)
{
	/* the ctid of a row in a Citus shard does not identify the row without the shard */
	return pg_class_aclcheck(RelationGetRelid(graph->table), GetUserId(), ACL_SELECT) ==
	           ACLCHECK_OK &&
	       !is_elsewhere(graph->table);
}

void
hybrid_registered_query(const HybridRegistered *graph, HybridEdgesQuery *query)
{
	Relation table = graph->table;
	Oid oid = RelationGetRelid(table);
	List *condition = RelationGetIndexPredicate(graph->index);
	StringInfoData text;

	query->names_rows = hybrid_registered_names_rows(graph);
	query->registered = true;
	initStringInfo(&text);
	appendStringInfo(
		&text, "SELECT %s%s FROM %s%s",
		pg_get_indexdef_columns(RelationGetRelid(graph->index), false),
		query->names_rows ? ", tableoid, ctid" : "",
		table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE || is_elsewhere(table) ? "" : "ONLY ",
		quote_qualified_identifier(get_namespace_name(RelationGetNamespace(table)),
	                               RelationGetRelationName(table)));
	if (condition != NIL)
		appendStringInfo(
			&text, " WHERE %s",
			deparse_expression((Node *) make_ands_explicit(condition),
		                       deparse_context_for(RelationGetRelationName(table), oid), false,
		                       false));
	query->text = cstring_to_text(text.data);
}

void
hybrid_registered_check(TupleDesc columns)
{
	int i;

	if (columns->natts < 2 || columns->natts > HYBRID_EDGE_COLUMNS)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("registered graph must have 2 to 4 columns, not %d", columns->natts),
		                errhint("The columns of the index must be source, target[, weight[, "
		                        "type]].")));
	for (i = 0; i < columns->natts; i++)
		(void) hybrid_edge_type((enum HybridEdgeColumn) i, TupleDescAttr(columns, i)->atttypid);
}

/* find_index: return the relation of this name, and lock it. If it is an index, locks its table first. */
static Oid
find_index(const char *name)
{
	char *copy = pstrdup(name);
	Oid table = InvalidOid;
	List *names;
	List *values = NIL;
	ListCell *cell;
	Oid found;

	if (!SplitIdentifierString(copy, '.', &names) || names == NIL ||
	    list_length(names) > MOST_NAMES)
		report_unknown(name);
	foreach (cell, names)
		values = lappend(values, makeString((char *) lfirst(cell)));
	found = RangeVarGetRelidExtended(makeRangeVarFromNameList(values), AccessShareLock,
	                                 RVR_MISSING_OK, lock_table, &table);
	if (!OidIsValid(found))
		report_unknown(name);
	return found;
}

/*
 * lock_table: lock the table of the index that was found, before the index is locked. All statements lock a table
 * before its indexes. RangeVarGetRelidExtended calls this function again if the name has come to mean another
 * index.
 */
static void
lock_table(const RangeVar *name, Oid found, Oid before, void *arg)
{
	Oid *table = (Oid *) arg;

	(void) name;
	if (found == before)
		return;
	if (OidIsValid(*table))
		UnlockRelationOid(*table, AccessShareLock);
	*table = OidIsValid(found) ? IndexGetRelation(found, true) : InvalidOid;
	if (OidIsValid(*table))
		LockRelationOid(*table, AccessShareLock);
}

static void
report_unknown(const char *name)
{
	ereport(ERROR,
	        (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("unknown graph \"%s\"", name),
	         errhint("Give the name of an index that was created with USING hybrid_graph, or "
	                 "an edges query that begins with SELECT, WITH, VALUES or TABLE and "
	                 "returns source, target, weight and type.")));
}

/* check_privileges: raise unless the caller may read all columns that a query would read. */
static void
check_privileges(const HybridRegistered *graph)
{
	const Form_pg_index form = graph->index->rd_index;
	Oid oid = RelationGetRelid(graph->table);
	Oid user = GetUserId();
	Bitmapset *columns = NULL;
	AclResult result = pg_class_aclcheck(oid, user, ACL_SELECT);
	int column = -1;
	int i;

	if (result == ACLCHECK_OK)
		return;
	for (i = 0; i < form->indnatts; i++)
	{
		if (form->indkey.values[i] != 0)
			columns = bms_add_member(columns,
			                         form->indkey.values[i] - FirstLowInvalidHeapAttributeNumber);
	}
	pull_varattnos((Node *) RelationGetIndexExpressions(graph->index), 1, &columns);
	pull_varattnos((Node *) RelationGetIndexPredicate(graph->index), 1, &columns);
	/* if no column is read, a privilege on any column suffices, as for a query */
	if (columns == NULL)
		result = pg_attribute_aclcheck_all(oid, user, ACL_SELECT, ACLMASK_ANY);
	while ((column = bms_next_member(columns, column)) >= 0)
	{
		AttrNumber number = (AttrNumber) (column + FirstLowInvalidHeapAttributeNumber);

		/* 0: the row as a whole */
		result = number == 0 ? pg_attribute_aclcheck_all(oid, user, ACL_SELECT, ACLMASK_ALL)
		                     : pg_attribute_aclcheck(oid, number, user, ACL_SELECT);
		if (result != ACLCHECK_OK)
			break;
	}
	if (result != ACLCHECK_OK)
		aclcheck_error(result, get_relkind_objtype(graph->table->rd_rel->relkind),
		               RelationGetRelationName(graph->table));
}

/* open_leaves: open and lock the leaves. Returns false if the graph must be read by a query because of a leaf. */
static bool
open_leaves(HybridRegistered *graph)
{
	List *partitions = NIL;
	ListCell *cell;

	if (graph->table->rd_rel->relkind != RELKIND_PARTITIONED_TABLE)
	{
		add_leaf(graph, graph->table, graph->index);
		return has_proofs(graph->table);
	}
	/*
	 * taking a lock that this session already holds processes no invalidation messages, so the list of partitions
	 * may be stale
	 */
	AcceptInvalidationMessages();
	if (!open_partitions(graph, graph->table, RelationGetRelid(graph->index)))
		return false;
	foreach (cell, graph->leaves)
		partitions =
			lappend_oid(partitions, RelationGetRelid(((HybridLeafTable *) lfirst(cell))->table));
	return !OidIsValid(hybrid_citus_table(partitions));
}

/*
 * open_partitions: open the leaves below a partitioned table. `index` is the index of this table. Returns false if
 * the graph must be read by a query because of a leaf.
 */
static bool
open_partitions(HybridRegistered *graph, Relation parent, Oid index)
{
	const PartitionDescData *partitions = RelationGetPartitionDesc(parent, true);
	const int count = partitions->nparts;
	Oid *oids = palloc(sizeof(Oid) * (Size) Max(count, 1));
	bool ok = true;
	int i;

	check_stack_depth();
	/* copy the OIDs, because opening a table may rebuild the descriptor */
	if (count > 0)
		memcpy(oids, partitions->oids, sizeof(Oid) * (Size) count);
	for (i = 0; ok && i < count; i++)
	{
		Relation table = try_table_open(oids[i], AccessShareLock);
		Relation own_index;
		Oid own;

		CHECK_FOR_INTERRUPTS();
		/* the partition was detached and dropped meanwhile */
		if (table == NULL)
			return false;
		own = partition_index(table, index);
		if (table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE)
		{
			ok = OidIsValid(own) && open_partitions(graph, table, own);
			table_close(table, NoLock);
			continue;
		}
		own_index =
			OidIsValid(own) && has_proofs(table) ? try_relation_open(own, AccessShareLock) : NULL;
		ok = own_index != NULL && own_index->rd_index->indisvalid;
		if (ok)
			add_leaf(graph, table, own_index);
		else
		{
			if (own_index != NULL)
				relation_close(own_index, NoLock);
			table_close(table, NoLock);
		}
	}
	pfree(oids);
	return ok;
}

/*
 * partition_index: return the index of a partition that is attached to an index of its parent, or InvalidOid.
 * Keeps the answer until this session learns that any relation has changed, because a lookup takes longer than all
 * other work for a leaf.
 */
static Oid
partition_index(Relation table, Oid index)
{
	static bool is_registered = false;
	PartitionIndex key = {RelationGetRelid(table), index, InvalidOid};
	PartitionIndex *known;

	if (!is_registered)
		CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	is_registered = true;
	if (are_outdated && partition_indexes != NULL)
	{
		hash_destroy(partition_indexes);
		partition_indexes = NULL;
	}
	if (partition_indexes == NULL)
		partition_indexes = hash_create("hybrid partition indexes", 64,
		                                &(HASHCTL){.keysize = offsetof(PartitionIndex, own),
		                                           .entrysize = sizeof(PartitionIndex)},
		                                HASH_ELEM | HASH_BLOBS);
	are_outdated = false;
	known = hash_search(partition_indexes, &key, HASH_FIND, NULL);
	if (known != NULL)
		return known->own;
	key.own = index_get_partition(table, index);
	/* the lookup may have processed an invalidation */
	if (!are_outdated)
	{
		known = hash_search(partition_indexes, &key, HASH_ENTER, NULL);
		known->own = key.own;
	}
	return key.own;
}

/* relation_changed: let the next lookup forget all kept answers. Called when any relation is invalidated. */
static void
relation_changed(Datum arg, Oid relation)
{
	(void) arg;
	(void) relation;
	are_outdated = true;
}

static void
add_leaf(HybridRegistered *graph, Relation table, Relation index)
{
	HybridLeafTable *leaf = palloc(sizeof(HybridLeafTable));

	*leaf = (HybridLeafTable){.table = table, .index = index};
	graph->leaves = lappend(graph->leaves, leaf);
}

/*
 * has_proofs: return whether the visibility map and LSNs can prove that pages of a table are unchanged (pages.h).
 */
static bool
has_proofs(Relation table)
{
	return RelationIsScannable(table) && table->rd_tableam == GetHeapamTableAmRoutine() &&
	       RelationNeedsWAL(table) && !is_new(table);
}

/* is_elsewhere: return whether Citus keeps the rows of the table in shards. */
static bool
is_elsewhere(Relation table)
{
	return OidIsValid(hybrid_citus_table(list_make1_oid(RelationGetRelid(table))));
}

/* is_new: return whether this transaction has created the storage of the table. */
static bool
is_new(Relation table)
{
	return table->rd_createSubid != InvalidSubTransactionId ||
	       table->rd_newRelfilelocatorSubid != InvalidSubTransactionId ||
	       table->rd_firstRelfilelocatorSubid != InvalidSubTransactionId;
}

/*
 * depends_on_more: return whether an expression or the predicate of the index contains more than columns,
 * constants, casts and operators of plain types. The value of any other node may change although no row changes: a
 * function may be replaced, and other expressions depend on a setting, on the columns of a row type, or on a text
 * search configuration. Reads the catalog, because the expressions of an open index have functions inlined.
 */
static bool
depends_on_more(Relation index)
{
	static const AttrNumber attributes[] = {Anum_pg_index_indexprs, Anum_pg_index_indpred};
	int i;

	for (i = 0; i < (int) lengthof(attributes); i++)
	{
		bool is_null;
		Datum written = SysCacheGetAttr(INDEXRELID, index->rd_indextuple, attributes[i], &is_null);

		if (!is_null && is_more(stringToNode(TextDatumGetCString(written)), NULL))
			return true;
	}
	return false;
}

static bool
is_more(Node *node, void *context)
{
	if (node == NULL)
		return false;
	switch (nodeTag(node))
	{
		case T_List:
		case T_BoolExpr:
			break;
		case T_Var:
			/* excludes whole rows: the columns of a row type may change */
			if (((const Var *) node)->varattno <= 0 || !is_plain(exprType(node)))
				return true;
			break;
		case T_NullTest:
			if (((const NullTest *) node)->argisrow)
				return true;
			break;
		case T_FuncExpr:
			/* casts only: other functions may depend on settings or on objects that can be altered */
			if (((const FuncExpr *) node)->funcformat != COERCE_EXPLICIT_CAST &&
			    ((const FuncExpr *) node)->funcformat != COERCE_IMPLICIT_CAST)
				return true;
			if (!is_plain(exprType(node)))
				return true;
			break;
		case T_Const:
		case T_OpExpr:
		case T_DistinctExpr:
		case T_ScalarArrayOpExpr:
		case T_ArrayExpr:
		case T_RelabelType:
		case T_BooleanTest:
			if (!is_plain(exprType(node)))
				return true;
			break;
		default:
			return true;
	}
	return check_functions_in_node(node, is_replaceable, context) ||
	       expression_tree_walker(node, is_more, context);
}

/* is_plain: return whether the meaning of the type's values, or of its elements' values, never changes. */
static bool
is_plain(Oid type)
{
	Oid element = get_element_type(type);

	switch (OidIsValid(element) ? element : type)
	{
		case BOOLOID:
		case INT2OID:
		case INT4OID:
		case INT8OID:
		case FLOAT4OID:
		case FLOAT8OID:
		case NUMERICOID:
		case TEXTOID:
		case VARCHAROID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case UUIDOID:
			return true;
		default:
			return false;
	}
}

static bool
is_replaceable(Oid function, void *context)
{
	(void) context;
	return function >= FirstNormalObjectId;
}
