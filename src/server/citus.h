/*
 * citus.h
 *		Recognizes the tables whose rows the extension Citus keeps elsewhere.
 */
#ifndef HYBRID_CITUS_H
#define HYBRID_CITUS_H

#include "postgres.h"

#include "nodes/pg_list.h"

/*
 * hybrid_citus_table: return the first of the relations (a list of OIDs) whose rows Citus keeps in
 * shard tables: a distributed table, a reference table or a local table that Citus manages. Returns
 * InvalidOid if there is none. A shard table is an ordinary table.
 */
extern Oid hybrid_citus_table(const List *relids);

#endif
