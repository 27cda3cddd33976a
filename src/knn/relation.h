/*
 * relation.h
 *		Refuses relations whose rows cannot be read here, or cannot be identified by a tid.
 */
#ifndef HYBRID_KNN_RELATION_H
#define HYBRID_KNN_RELATION_H

#include "postgres.h"

#include "utils/relcache.h"

/*
 * hybrid_check_relation: raise if Citus keeps the rows of the relation, or of a table that a view
 * reads, in shard tables. Raise also if the relation has partitions or child tables, or is a view
 * whose ctids come from several tables. column is the vector column, for hints; it need not exist.
 */
extern void hybrid_check_relation(Relation relation, const char *column);

#endif
