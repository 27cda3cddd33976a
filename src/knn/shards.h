/*
 * shards.h
 *		Finds the shards of a relation: the tables that together contain its rows.
 */
#ifndef HYBRID_SHARDS_H
#define HYBRID_SHARDS_H

#include "postgres.h"

#include "knn/arguments.h"
#include "nodes/pg_list.h"

typedef enum HybridShardKind
{
	HYBRID_SHARD_LOCAL,   /* a relation that hybrid_knn can search here */
	HYBRID_SHARD_FOREIGN, /* a table on a foreign server */
	HYBRID_SHARD_CITUS    /* all shards of a table of Citus */
} HybridShardKind;

typedef struct HybridShard
{
	HybridShardKind kind;
	Oid relid;
	Oid server; /* of HYBRID_SHARD_FOREIGN */

	/*
	 * names on the server of the shard: the relation's name is qualified and quoted, the columns' names
	 * are not quoted
	 */
	const char *relation;
	const char *column;
	const char *id_column;
} HybridShard;

/*
 * hybrid_shards: return the shards of a relation as a list of HybridShard. The shards are the leaf
 * partitions of a partitioned table, or else the relation itself. The relation stays locked.
 *
 * Raises if a column is missing or has a wrong type. Raises if the user may not select the columns of a
 * relation whose privileges hybrid_knn does not check. Raises if row security restricts the rows of a
 * partitioned table, because its partitions do not have its policies. Raises if a foreign table does
 * not belong to postgres_fdw.
 */
extern List *
hybrid_shards(Oid relid, const char *column, const char *id_column, const HybridVectorTypes *types);

#endif
