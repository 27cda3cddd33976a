/*
 * associate_statement.c
 *		The statement that hybrid_associate runs: see associate_statement.h.
 *
 * A row that is not among the nearest rows is no nearer than the last of them. This bounds the row's score, so the
 * statement reads the vectors only of related rows that may still be among the first k. A row without a vector has
 * similarity 0, so the bound on the similarity is never below 0.
 *
 * The caller's search_path applies only to the edges query, because the statement qualifies all names and
 * operators.
 */
#include "postgres.h"

#include "access/relation.h"
#include "catalog/pg_type.h"
#include "graph/arguments.h"
#include "graph/associate_statement.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/syscache.h"

/* clang-format off */
#define OP(name) " OPERATOR(pg_catalog." name ") "
#define SCORE(similarity, activation) \
	"(($8" OP("*") similarity ")" OP("+") "((1" OP("-") "$8)" OP("*") activation "))"

/*
 * psprintf inserts these parts: 1 the relation, 2 its id column, 3 the distance of row r, 4 the similarity
 * computed from f.distance, 5 the schema of the extension.
 */
#define STATEMENT \
	"WITH near AS MATERIALIZED (SELECT f.id, %4$s AS similarity, " \
	"  pg_catalog.row_number() OVER (ORDER BY f.distance, f.id) AS place " \
	"  FROM (SELECT r.%2$s::pg_catalog.int8 AS id, %3$s AS distance FROM %1$s r WHERE r.%2$s IS NOT NULL " \
	"  ORDER BY 2 LIMIT GREATEST($6, $7)) f WHERE f.distance" OP("<") "'NaN'), " \
	"reached AS MATERIALIZED (" \
	"  SELECT s.id, s.activation" OP("/") "pg_catalog.max(s.activation) OVER () AS activation, s.hop, s.via " \
	"  FROM (SELECT COALESCE(pg_catalog.array_agg(id), '{}') AS ids, " \
	"  COALESCE(pg_catalog.array_agg(GREATEST(similarity, 0)), '{}') AS strengths " \
	"  FROM near WHERE place" OP("<=") "$7) n, LATERAL %5$s.hybrid_spread($5, n.ids, n.strengths, " \
	"  hops => $10, decay => $11, fan => $12, hub => $13, direction => $14, types => $15, params => $16, " \
	"  unknown => true) s), " \
	"scored AS MATERIALIZED (SELECT n.id, n.similarity, COALESCE(s.activation, 0) AS activation, s.hop, s.via, " \
	SCORE("n.similarity", "COALESCE(s.activation, 0)") " AS score " \
	"  FROM near n LEFT JOIN reached s ON s.id" OP("=") "n.id), " \
	"bound AS MATERIALIZED (SELECT l.score, l.id, n.similarity " \
	"  FROM (SELECT GREATEST(pg_catalog.min(similarity), 0) AS similarity FROM near) n LEFT JOIN " \
	"  (SELECT score, id FROM scored ORDER BY score DESC, id OFFSET $6" OP("-") "1 LIMIT 1) l ON true), " \
	"related AS (SELECT f.id, CASE WHEN f.distance" OP("<") "'NaN' THEN %4$s END AS similarity, " \
	"f.activation, f.hop, f.via " \
	"  FROM (SELECT s.*, %3$s AS distance FROM reached s, bound b, %1$s r WHERE r.%2$s" OP("=") "s.id " \
	"  AND (b.score IS NULL OR " SCORE("b.similarity", "s.activation") OP(">") "b.score " \
	"  OR s.id" OP("<") "b.id AND " SCORE("b.similarity", "s.activation") OP("=") "b.score) " \
	"  AND NOT EXISTS (SELECT FROM near WHERE near.id" OP("=") "s.id)) f) " \
	"SELECT id, score, similarity, activation, hop, via FROM scored UNION ALL " \
	"SELECT id, " SCORE("COALESCE(similarity, 0)", "activation") ", similarity, activation, hop, via FROM related " \
	"ORDER BY 2 DESC, 1 LIMIT $6"
/* clang-format on */

static int
check_column(FunctionCallInfo fcinfo, int n, const Oid *types, const char *list, int32 *typmod);

char *
hybrid_associate_statement(FunctionCallInfo fcinfo)
{
	static const HybridWords metrics = {{"cosine", "l2", "l1"},
	                                    "Metrics are \"cosine\", \"l2\" and \"l1\"."};
	static const char *const operators[] = {"<=>", "<->", "<+>"};
	static const char *const names[] = {"vector", "halfvec", "sparsevec"};
	static const Oid integers[] = {INT2OID, INT4OID, INT8OID};
	Oid rel = PG_GETARG_OID(REL_ARGUMENT);
	Oid schema = get_func_namespace(fcinfo->flinfo->fn_oid);
	const char *namespace = get_namespace_name(schema);
	const char *quoted;
	int metric = hybrid_word_argument(fcinfo, METRIC_ARGUMENT, "metric", &metrics);
	/* stays locked until the transaction ends, so that the statement finds the same relation and columns */
	Relation relation = try_relation_open(rel, AccessShareLock);
	Oid vectors[lengthof(names)];
	const char *name;
	int32 typmod;
	char *distance;
	int i;

	if (relation == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("relation with OID %u does not exist", rel)));
	/* the extension was dropped while the query ran */
	if (namespace == NULL)
		elog(ERROR, "cache lookup failed for function %u", fcinfo->flinfo->fn_oid);
	quoted = quote_identifier(namespace);
	for (i = 0; i < (int) lengthof(names); i++)
		vectors[i] = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(names[i]),
		                             ObjectIdGetDatum(schema));
	check_column(fcinfo, ID_ARGUMENT, integers, "smallint, integer or bigint", &typmod);
	i = check_column(fcinfo, COL_ARGUMENT, vectors, "vector, halfvec or sparsevec", &typmod);
	/* without the cast, an index on a halfvec or sparsevec column would not be used */
	distance = psprintf(
		"r.%s OPERATOR(%s.%s) $4::%s", quote_identifier(NameStr(*PG_GETARG_NAME(COL_ARGUMENT))),
		quoted, operators[metric],
		format_type_extended(vectors[i], typmod,
	                         FORMAT_TYPE_TYPEMOD_GIVEN | FORMAT_TYPE_FORCE_QUALIFY));
	name = quote_qualified_identifier(get_namespace_name(RelationGetNamespace(relation)),
	                                  RelationGetRelationName(relation));
	relation_close(relation, NoLock);
	return psprintf(
		STATEMENT, name, quote_identifier(NameStr(*PG_GETARG_NAME(ID_ARGUMENT))), distance,
		metric == 0 ? "(1" OP("-") "f.distance)" : "(1" OP("/") "(1" OP("+") "f.distance))",
		quoted);
}

/*
 * check_column: return which of three types a column has, as an index into `types`. Argument n names the
 * column. A domain counts as its base type. Sets *typmod to the column's type modifier. Raises if there is no
 * such column, or if it has another type; `list` names the three types in the error.
 */
static int
check_column(FunctionCallInfo fcinfo, int n, const Oid *types, const char *list, int32 *typmod)
{
	Oid rel = PG_GETARG_OID(REL_ARGUMENT);
	const char *column = NameStr(*PG_GETARG_NAME(n));
	AttrNumber number = get_attnum(rel, column);
	Oid type;
	Oid base;
	Oid collation;
	int i;

	if (number <= 0)
		ereport(ERROR,
		        (errcode(ERRCODE_UNDEFINED_COLUMN),
		         errmsg("column \"%s\" of \"%s\" does not exist", column, get_rel_name(rel))));
	get_atttypetypmodcoll(rel, number, &type, typmod, &collation);
	base = getBaseTypeAndTypmod(type, typmod);
	for (i = 0; i < 3; i++)
	{
		if (base == types[i])
			return i;
	}
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
	                errmsg("column \"%s\" of \"%s\" is of type %s, not %s", column,
	                       get_rel_name(rel), format_type_be(type), list)));
}
