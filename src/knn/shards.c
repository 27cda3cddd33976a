/*
 * shards.c
 *		Finds the shards of a relation: see shards.h.
 *
 * hybrid_knn checks the privileges and policies of the tables that it searches here. A foreign server checks those
 * of its own tables. Nobody else checks the partitioned table, the foreign table and the table of Citus, which have
 * privileges of their own, so this file checks them.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/objectaddress.h"
#include "catalog/pg_class.h"
#include "catalog/pg_foreign_table.h"
#include "catalog/pg_inherits.h"
#include "catalog/pg_namespace.h"
#include "commands/defrem.h"
#include "foreign/foreign.h"
#include "knn/relation.h"
#include "knn/rows.h"
#include "knn/shards.h"
#include "miscadmin.h"
#include "server/citus.h"
#include "server/compat.h"
#include "server/remote.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/rls.h"

static void check_partitioned(Relation relation, const char *column, const char *id_column);
static HybridShard *make_shard(Relation relation, const char *column, const char *id_column);
static void find_foreign(HybridShard *shard, Relation relation);
static void check_select(Relation relation, const char *column, const char *id_column);
static const char *option(List *options, const char *name, const char *otherwise);
static const char *remote_column(Oid relid, const char *column);

List *
hybrid_shards(Oid relid, const char *column, const char *id_column, const HybridVectorTypes *types)
{
	Relation relation = try_relation_open(relid, AccessShareLock);
	List *shards = NIL;

	if (relation == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("relation with OID %u does not exist", relid)));
	hybrid_rows_check_columns(relation, column, types, id_column);
	if (relation->rd_rel->relkind == RELKIND_PARTITIONED_TABLE &&
	    !OidIsValid(hybrid_citus_table(list_make1_oid(relid))))
	{
		ListCell *cell;

		check_partitioned(relation, column, id_column);
		foreach (cell, find_all_inheritors(relid, AccessShareLock, NULL))
		{
			CHECK_FOR_INTERRUPTS();
			if (get_rel_relkind(lfirst_oid(cell)) != RELKIND_PARTITIONED_TABLE)
			{
				Relation leaf = relation_open(lfirst_oid(cell), NoLock);

				shards = lappend(shards, make_shard(leaf, column, id_column));
				relation_close(leaf, NoLock);
			}
		}
	}
	else
		shards = list_make1(make_shard(relation, column, id_column));
	relation_close(relation, NoLock);
	return shards;
}

static void
check_partitioned(Relation relation, const char *column, const char *id_column)
{
	check_select(relation, column, id_column);
	if (check_enable_rls(RelationGetRelid(relation), InvalidOid, false) == RLS_ENABLED)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		                errmsg("row security of \"%s\" does not apply to its partitions",
		                       RelationGetRelationName(relation)),
		                errhint("Call the function for each partition that the user may read.")));
}

static HybridShard *
make_shard(Relation relation, const char *column, const char *id_column)
{
	HybridShard *shard = palloc0(sizeof(HybridShard));

	shard->relid = RelationGetRelid(relation);
	shard->column = column;
	shard->id_column = id_column;
	shard->relation = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
	                                             RelationGetRelationName(relation));
	if (relation->rd_rel->relkind == RELKIND_FOREIGN_TABLE)
		find_foreign(shard, relation);
	else if (OidIsValid(hybrid_citus_table(list_make1_oid(shard->relid))))
		shard->kind = HYBRID_SHARD_CITUS;
	else
		shard->kind = HYBRID_SHARD_LOCAL;
	if (shard->kind == HYBRID_SHARD_LOCAL)
		hybrid_check_relation(relation, column);
	else
		check_select(relation, column, id_column);
	return shard;
}

/*
 * find_foreign: set the server of a foreign table's shard, and the names of the table and its columns there. Raises
 * if the table does not belong to postgres_fdw.
 */
static void
find_foreign(HybridShard *shard, Relation relation)
{
	const ForeignTable *table = GetForeignTable(shard->relid);
	const char *schema;

	/* refuses child tables, whose rows would be missed */
	hybrid_check_relation(relation, shard->column);
	shard->kind = HYBRID_SHARD_FOREIGN;
	shard->server = table->serverid;
	if (!hybrid_is_postgres_fdw(GetForeignServer(table->serverid)))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
		                errmsg("foreign table \"%s\" does not belong to postgres_fdw",
		                       RelationGetRelationName(relation))));
	schema =
		option(table->options, "schema_name", get_namespace_name(RelationGetNamespace(relation)));
	shard->relation = quote_qualified_identifier(
		schema, option(table->options, "table_name", RelationGetRelationName(relation)));
	shard->column = remote_column(shard->relid, shard->column);
	shard->id_column = remote_column(shard->relid, shard->id_column);
}

/* check_select: raise unless the user may select both columns, as in a query. */
static void
check_select(Relation relation, const char *column, const char *id_column)
{
	Oid relid = RelationGetRelid(relation);
	Oid schema = RelationGetNamespace(relation);
	const char *columns[] = {column, id_column};
	int i;

	/* the user can pass the OID of a table in a schema that the user may not access */
	if (object_aclcheck(NamespaceRelationId, schema, GetUserId(), ACL_USAGE) != ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_SCHEMA, get_namespace_name(schema));
	if (pg_class_aclcheck(relid, GetUserId(), ACL_SELECT) == ACLCHECK_OK)
		return;
	for (i = 0; i < (int) lengthof(columns); i++)
	{
		if (pg_attribute_aclcheck(relid, get_attnum(relid, columns[i]), GetUserId(), ACL_SELECT) !=
		    ACLCHECK_OK)
			aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(relation->rd_rel->relkind),
			               RelationGetRelationName(relation));
	}
}

/* option: return the value of an option, or `otherwise` if it is not set. */
static const char *
option(List *options, const char *name, const char *otherwise)
{
	ListCell *cell;

	foreach (cell, options)
	{
		DefElem *element = lfirst_node(DefElem, cell);

		if (strcmp(element->defname, name) == 0)
			return defGetString(element);
	}
	return otherwise;
}

static const char *
remote_column(Oid relid, const char *column)
{
	return option(GetForeignColumnOptions(relid, get_attnum(relid, column)), "column_name", column);
}
