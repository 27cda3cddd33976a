/*
 * index_measure.c
 *		hybrid_index_measure(): measures the recall of an index for the caller's own queries, and can
 *		calibrate the index by them.
 *
 * The exact answers come from hybrid_knn. Each query then goes through the planner and the executor,
 * once for each target recall, as the caller's own statement would:
 *
 *		SELECT v <-> $1 FROM t ORDER BY v <-> $1 LIMIT k
 *
 * Settings make the planner avoid every plan but an index scan, and the cost estimate makes it avoid
 * every index but this one. An error is raised if it uses another plan nevertheless. The work of each
 * search is counted as hybrid_last_scan() would report it.
 *
 * Both searches run with the rights of the caller and on the snapshot of the calling statement. They
 * therefore see the same rows. Under row security, these are the rows that the caller may see.
 *
 * Only the number of rows and the largest distance of an exact answer are kept. A row at most that far
 * away counts as found, even if the exact answer has another row at the same distance.
 *
 * With keep, the recall curve of the index is first measured on these queries (recalibrate.c). A query
 * that is given several times counts once, because copies say nothing about future queries. This curve
 * is measured on all entries of the index, as in VACUUM, whatever rows the caller may see.
 *
 * With keep, the function holds the table's lock in the mode that VACUUM uses, from before the index is
 * opened until the curve is written. So VACUUM, which could measure a curve or replace the tree, runs
 * before or after this time, and so does another call with keep. Inserts and their splits go on. The
 * lock is released once the curve is written. The remaining work changes nothing, so VACUUM need not
 * wait for it.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/relation.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "nodes/makefuncs.h"
#include "lib/qunique.h"
#include "portability/instr_time.h"
#include "storage/lmgr.h"
#include "tcop/utility.h"
#include "utils/acl.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "core/distance.h"
#include "server/compat.h"

#include "index/build/build.h"
#include "index/scan/last_scan.h"
#include "index/build/recalibrate.h"
#include "index/check/index_measure.h"
#include "index/scan/settings.h"

#define LOW_RECALL 0.5
#define COLUMNS 7

/* Nearest: the exact answer to a query. */
typedef struct Nearest
{
	int64 rows; /* number of rows: k, or fewer if fewer rows have a distance */
	double farthest;
} Nearest;

/* Measure: an index and the queries that it is measured with. */
typedef struct Measure
{
	Relation table;
	Relation index;
	HybridIndex open;
	const char *schema; /* schema of the extension, quoted */
	const char *from;   /* the table, and the condition of a partial index, as SQL */
	Oid array_type;     /* type of the query array, after the cast to the column's type */
	Datum array;
	Datum *queries; /* queries, which are the elements of that array */
	int count;
	int32 k;
	bool keep;
	/* the distinct queries, detoasted; by cosine, without those of length 0 */
	const void **kept;
	int kept_count;
	Nearest *nearest; /* exact answer to each query */
	/* plan of a search; $1 is a query, and $2 is the largest distance of its exact answer */
	SPIPlanPtr plan;
} Measure;

/* Sums: totals over the searches for one target recall. */
typedef struct Sums
{
	int64 counted; /* number of queries whose exact answer has rows */
	int64 low;     /* number of these queries with a recall of at most LOW_RECALL */
	double recall;
	double lists;
	double rows;
} Sums;

Oid hybrid_index_being_measured = InvalidOid;

static void check_arguments(FunctionCallInfo fcinfo);
static void check_keeper(Oid oid);
static void open_relations(Measure *measure, Oid oid);
static void check_index(const Measure *measure);
static const char *condition_of(const Measure *measure);
static void take_queries(Measure *measure, Datum array);
static void cast_queries(Measure *measure, Oid type);
static int elements_of(const Measure *measure, Datum **elements, bool **nulls);
static void choose_kept(Measure *measure);
static bool has_distances(const Measure *measure, const void *query);
static void keep(const Measure *measure);
static void find_nearest(Measure *measure);
static void measure_targets(Measure *measure, ReturnSetInfo *result);
static void prepare(Measure *measure);
static void measure_target(const Measure *measure, double target, ReturnSetInfo *result);
static int64 search(const Measure *measure, int query, double *ms);
static void set_locally(const char *name, const char *value);
static int compare_doubles(const void *a, const void *b);
static int compare_values(const void *a, const void *b);

PG_FUNCTION_INFO_V1(hybrid_index_measure);
Datum
hybrid_index_measure(PG_FUNCTION_ARGS)
{
	Measure measure;

	memset(&measure, 0, sizeof(measure));
	check_arguments(fcinfo);
	measure.keep = PG_GETARG_BOOL(3);
	if (measure.keep)
		check_keeper(PG_GETARG_OID(0));
	InitMaterializedSRF(fcinfo, 0);
	open_relations(&measure, PG_GETARG_OID(0));
	/* SPI_finish frees everything allocated from here on */
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	measure.schema =
		quote_identifier(get_namespace_name(get_func_namespace(fcinfo->flinfo->fn_oid)));
	measure.from =
		psprintf("ONLY %s%s",
	             quote_qualified_identifier(get_namespace_name(RelationGetNamespace(measure.table)),
	                                        RelationGetRelationName(measure.table)),
	             condition_of(&measure));
	measure.k = PG_GETARG_INT32(2);
	take_queries(&measure, PG_GETARG_DATUM(1));
	if (measure.keep)
		choose_kept(&measure);
	find_nearest(&measure);
	if (measure.keep)
		keep(&measure);
	measure_targets(&measure, (ReturnSetInfo *) fcinfo->resultinfo);
	SPI_finish();
	relation_close(measure.index, NoLock);
	relation_close(measure.table, NoLock);
	PG_RETURN_NULL();
}

static void
check_arguments(FunctionCallInfo fcinfo)
{
	static const char *const names[] = {"index", "queries", "k", "keep"};
	int i;

	for (i = 0; i < (int) lengthof(names); i++)
	{
		if (PG_ARGISNULL(i))
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			                errmsg("%s must not be NULL", names[i])));
	}
	if (PG_GETARG_INT32(2) < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("k must be at least 1, not %d", PG_GETARG_INT32(2))));
}

/* check_keeper: raise an error unless the caller owns the index and may write to it now. */
static void
check_keeper(Oid oid)
{
	PreventCommandDuringRecovery("hybrid_index_measure(keep => true)");
	PreventCommandIfReadOnly("hybrid_index_measure(keep => true)");
	/* an OID that is not of an index is refused later, when open_relations opens it */
	if (OidIsValid(IndexGetRelation(oid, true)) &&
	    !object_ownercheck(RelationRelationId, oid, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX, get_rel_name(oid));
}

/*
 * open_relations: open the table before the index, as PostgreSQL does everywhere. Raises an error if
 * the index cannot be measured.
 */
static void
open_relations(Measure *measure, Oid oid)
{
	Oid table = IndexGetRelation(oid, true);

	if (OidIsValid(table) && measure->keep)
		LockRelationOid(table, ShareUpdateExclusiveLock);
	if (OidIsValid(table))
		measure->table = relation_open(table, AccessShareLock);
	measure->index = hybrid_open_index(oid, AccessShareLock);
	if (measure->table == NULL || table != IndexGetRelation(oid, false))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("could not open the table of index \"%s\"",
		                       RelationGetRelationName(measure->index))));
	check_index(measure);
	measure->open = hybrid_index_open(measure->index);
	if (measure->keep && measure->open.keys > 0)
		ereport(ERROR,
		        (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		         errmsg("queries are not kept for index \"%s\", which has keys before the vector",
		                RelationGetRelationName(measure->index))));
	if (measure->open.opclass->many)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
		                errmsg("index \"%s\" is on arrays of vectors",
		                       RelationGetRelationName(measure->index))));
	if (!measure->open.opclass->type->dense)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
		                errmsg("index \"%s\" is of type %s, not vector or halfvec",
		                       RelationGetRelationName(measure->index),
		                       measure->open.opclass->type->name)));
}

/* check_index: raise an error unless the index is on a column that the caller may read. */
static void
check_index(const Measure *measure)
{
	/* measure->open is not set yet, so count the keys here */
	int vector = hybrid_keys_count(measure->index);
	AttrNumber attnum = measure->index->rd_index->indkey.values[vector];
	Oid table = RelationGetRelid(measure->table), user = GetUserId();

	if (pg_class_aclcheck(table, user, ACL_SELECT) != ACLCHECK_OK &&
	    (attnum == 0 || pg_attribute_aclcheck(table, attnum, user, ACL_SELECT) != ACLCHECK_OK))
		aclcheck_error(ACLCHECK_NO_PRIV, get_relkind_objtype(measure->table->rd_rel->relkind),
		               RelationGetRelationName(measure->table));
	if (attnum == 0)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		     errmsg("index \"%s\" is on an expression", RelationGetRelationName(measure->index)),
		     errdetail("Recall can be measured of indexes on a column of vector or halfvec.")));
}

/* condition_of: return the condition of a partial index as SQL, or "" for other indexes. */
static const char *
condition_of(const Measure *measure)
{
	List *predicate = RelationGetIndexPredicate(measure->index);
	List *context;

	if (predicate == NIL)
		return "";
	context = deparse_context_for(RelationGetRelationName(measure->table),
	                              RelationGetRelid(measure->table));
	return psprintf(" WHERE %s", deparse_expression((Node *) make_ands_explicit(predicate), context,
	                                                false, false));
}

static void
take_queries(Measure *measure, Datum array)
{
	Oid type = measure->index->rd_opcintype[measure->open.keys];
	int dims = measure->open.layout.dims, i;
	bool *nulls;

	measure->array = PointerGetDatum(PG_DETOAST_DATUM(array));
	if (ARR_NDIM(DatumGetArrayTypeP(measure->array)) > 1)
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
		                errmsg("queries must be an array of one dimension, not %d",
		                       ARR_NDIM(DatumGetArrayTypeP(measure->array)))));
	measure->count = elements_of(measure, &measure->queries, &nulls);
	if (measure->count == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("queries must not be an empty array")));
	for (i = 0; i < measure->count; i++)
	{
		int own;

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			                errmsg("queries must not contain NULL")));
		own = hybrid_type_vector.dims(PG_DETOAST_DATUM(measure->queries[i]));
		if (own != dims)
			ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
			                errmsg("different vector dimensions %d and %d", dims, own)));
	}
	measure->array_type = get_array_type(ARR_ELEMTYPE(DatumGetArrayTypeP(measure->array)));
	if (ARR_ELEMTYPE(DatumGetArrayTypeP(measure->array)) != type)
		cast_queries(measure, type);
}

/* cast_queries: cast the queries to the type that the operator takes. */
static void
cast_queries(Measure *measure, Oid type)
{
	char *text = psprintf("SELECT $1::%s[]", format_type_be_qualified(type));
	bool isnull, *nulls;

	if (SPI_execute_with_args(text, 1, &measure->array_type, &measure->array, NULL, true, 1) !=
	    SPI_OK_SELECT)
		elog(ERROR, "could not cast the queries: %s", SPI_result_code_string(SPI_result));
	measure->array = SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull);
	measure->array = PointerGetDatum(PG_DETOAST_DATUM(measure->array));
	measure->array_type = get_array_type(type);
	(void) elements_of(measure, &measure->queries, &nulls);
}

/* elements_of: deconstruct the array of queries. Returns their number. */
static int
elements_of(const Measure *measure, Datum **elements, bool **nulls)
{
	ArrayType *array = DatumGetArrayTypeP(measure->array);
	int16 length;
	bool by_value;
	char alignment;
	int count;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &alignment);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, alignment, elements, nulls,
	                  &count);
	return count;
}

/* choose_kept: fill measure->kept. Raises an error if there are too few different queries. */
static void
choose_kept(Measure *measure)
{
	int i;

	measure->kept = MemoryContextAllocHuge(CurrentMemoryContext, measure->count * sizeof(void *));
	for (i = 0; i < measure->count; i++)
	{
		const void *query = PG_DETOAST_DATUM(measure->queries[i]);

		CHECK_FOR_INTERRUPTS();
		if (has_distances(measure, query))
			measure->kept[measure->kept_count++] = query;
	}
	qsort(measure->kept, measure->kept_count, sizeof(void *), compare_values);
	measure->kept_count =
		(int) qunique(measure->kept, measure->kept_count, sizeof(void *), compare_values);
	if (measure->kept_count < HYBRID_QUERIES_LEAST)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("at least %d different queries are needed to calibrate the index, not %d",
		                HYBRID_QUERIES_LEAST, measure->kept_count),
		         measure->open.metric == HY_METRIC_COSINE
		             ? errdetail(
						   "Queries whose squared length is 0 do not count under cosine distance.")
		             : 0));
}

/*
 * has_distances: test whether a query has distances from rows. Under cosine, a query without a
 * direction has none.
 */
static bool
has_distances(const Measure *measure, const void *query)
{
	const float *x;
	bool directed;

	if (measure->open.metric != HY_METRIC_COSINE)
		return true;
	x = hybrid_type_floats(measure->open.opclass->type, query);
	directed = hy_norm_sq(HY_F32, x, measure->open.layout.dims) > 0;
	if (measure->open.opclass->type->dtype != HY_F32)
		pfree(unconstify(float *, x));
	return directed;
}

/* keep: store a curve measured on these queries in the index, and release the table's lock. */
static void
keep(const Measure *measure)
{
	if (hybrid_recalibrate(measure->index, &measure->open, NULL, measure->kept,
	                       measure->kept_count))
		/*
		 * Assign a transaction ID, so that the commit waits until WAL is on disk, and on a synchronous
		 * standby.
		 */
		(void) GetTopTransactionId();
	else
		ereport(NOTICE,
		        (errmsg("queries are not kept, since searches in index \"%s\" read all rows",
		                RelationGetRelationName(measure->index))));
	UnlockRelationOid(RelationGetRelid(measure->table), ShareUpdateExclusiveLock);
}

/* find_nearest: get the exact answers from hybrid_knn. */
static void
find_nearest(Measure *measure)
{
	AttrNumber attnum = measure->index->rd_index->indkey.values[measure->open.keys];
	Oid types[] = {REGCLASSOID, NAMEOID, measure->array_type, INT4OID, TEXTOID, TEXTOID};
	Datum values[] = {
		ObjectIdGetDatum(RelationGetRelid(measure->table)),
		NameGetDatum(&TupleDescAttr(RelationGetDescr(measure->table), attnum - 1)->attname),
		measure->array,
		Int32GetDatum(measure->k),
		CStringGetTextDatum(hy_metric_name(measure->open.metric)),
		CStringGetTextDatum(psprintf("SELECT ctid FROM %s", measure->from))};
	bool partial = RelationGetIndexPredicate(measure->index) != NIL;
	char *text = psprintf("SELECT query, pg_catalog.count(*), pg_catalog.max(distance) "
	                      "FROM %s.hybrid_knn($1, $2, $3::%s.vector[], $4, $5, $6) GROUP BY query",
	                      measure->schema, measure->schema);
	uint64 i;

	measure->nearest = MemoryContextAllocExtended(
		CurrentMemoryContext, measure->count * sizeof(Nearest), MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	if (SPI_execute_with_args(text, lengthof(types), types, values, partial ? NULL : "     n", true,
	                          0) != SPI_OK_SELECT)
		elog(ERROR, "could not find the exact answers: %s", SPI_result_code_string(SPI_result));
	for (i = 0; i < SPI_processed; i++)
	{
		HeapTuple row = SPI_tuptable->vals[i];
		TupleDesc columns = SPI_tuptable->tupdesc;
		bool isnull;
		int query = DatumGetInt32(SPI_getbinval(row, columns, 1, &isnull)) - 1;

		measure->nearest[query].rows = DatumGetInt64(SPI_getbinval(row, columns, 2, &isnull));
		measure->nearest[query].farthest = DatumGetFloat8(SPI_getbinval(row, columns, 3, &isnull));
	}
	SPI_freetuptable(SPI_tuptable);
}

/* measure_targets: add one row per target recall to the result, in ascending order. */
static void
measure_targets(Measure *measure, ReturnSetInfo *result)
{
	double targets[] = {0.9, 0.95, 0.99, hybrid_scan_settings(measure->index).target_recall};
	int count = lengthof(targets), level = NewGUCNestLevel();
	Oid outer = hybrid_index_being_measured;

	qsort(targets, count, sizeof(double), compare_doubles);
	count = (int) qunique(targets, count, sizeof(double), compare_doubles);

	set_locally("enable_indexscan", "on");
	set_locally("enable_seqscan", "off");
	set_locally("enable_sort", "off");
	set_locally("hybrid.probes", "0");
	PG_TRY();
	{
		int i;

		hybrid_index_being_measured = RelationGetRelid(measure->index);
		hybrid_adjust_scans = false;
		prepare(measure);
		for (i = 0; i < count; i++)
			measure_target(measure, targets[i], result);
	}
	PG_FINALLY();
	{
		hybrid_index_being_measured = outer;
		hybrid_adjust_scans = !OidIsValid(outer);
	}
	PG_END_TRY();
	AtEOXact_GUC(true, level);
}

/* prepare: plan the search once for all queries and targets. */
static void
prepare(Measure *measure)
{
	AttrNumber attnum = measure->index->rd_index->indkey.values[measure->open.keys];
	Oid type = measure->index->rd_opcintype[measure->open.keys];
	Oid types[] = {type, FLOAT8OID};
	Oid op = get_opfamily_member(measure->index->rd_opfamily[measure->open.keys], type, type,
	                             HYBRID_DISTANCE_STRATEGY);
	HeapTuple tuple = SearchSysCache1(OPEROID, ObjectIdGetDatum(op));
	Form_pg_operator form;
	double unused;
	char *text;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator %u", op);
	form = (Form_pg_operator) GETSTRUCT(tuple);
	text = psprintf("SELECT pg_catalog.count(*) FILTER (WHERE d OPERATOR(pg_catalog.<=) $2) FROM "
	                "(SELECT %s OPERATOR(%s.%s) $1 AS d FROM %s ORDER BY 1 LIMIT %d) s",
	                quote_identifier(NameStr(
						TupleDescAttr(RelationGetDescr(measure->table), attnum - 1)->attname)),
	                quote_identifier(get_namespace_name(form->oprnamespace)),
	                NameStr(form->oprname), measure->from, measure->k);
	ReleaseSysCache(tuple);
	measure->plan = SPI_prepare_cursor(text, lengthof(types), types, CURSOR_OPT_GENERIC_PLAN);
	if (measure->plan == NULL)
		elog(ERROR, "could not prepare the search: %s", SPI_result_code_string(SPI_result));
	/* search once now: the first search includes the time for planning, so its time is not used */
	(void) search(measure, 0, &unused);
}

static void
measure_target(const Measure *measure, double target, ReturnSetInfo *result)
{
	double *ms = MemoryContextAllocHuge(CurrentMemoryContext, measure->count * sizeof(double));
	double count = measure->count;
	Datum values[COLUMNS];
	bool nulls[COLUMNS] = {false};
	Sums sums;
	int i;

	memset(&sums, 0, sizeof(sums));
	set_locally("hybrid.target_recall", psprintf("%.17g", target));
	for (i = 0; i < measure->count; i++)
	{
		int64 rows = measure->nearest[i].rows, found;
		const HybridScanDone *done = &hybrid_last_scan_get()->done;

		CHECK_FOR_INTERRUPTS();
		found = search(measure, i, &ms[i]);
		sums.lists += (double) done->work.lists;
		sums.rows += (double) done->work.rows;
		if (rows == 0)
			continue;
		sums.counted++;
		sums.recall += (double) found / rows;
		sums.low += found <= LOW_RECALL * rows;
	}
	qsort(ms, measure->count, sizeof(double), compare_doubles);

	nulls[1] = nulls[2] = sums.counted == 0;
	values[0] = Float8GetDatum(target);
	values[1] = Float8GetDatum(sums.recall / sums.counted);
	values[2] = Float8GetDatum((double) sums.low / sums.counted);
	values[3] = Float8GetDatum(sums.lists / count);
	values[4] = Float8GetDatum(sums.rows / count);
	values[5] = Float8GetDatum(ms[(int) ceil(count * 0.5) - 1]);
	values[6] = Float8GetDatum(ms[(int) ceil(count * 0.99) - 1]);
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
	pfree(ms);
}

/*
 * search: run one query. Returns the number of rows of the exact answer that the search found. *ms is set
 * to the time that the search took.
 */
static int64
search(const Measure *measure, int query, double *ms)
{
	const HybridLastScan *last = hybrid_last_scan_get();
	uint64 scans = last->number;
	Datum values[] = {measure->queries[query], Float8GetDatum(measure->nearest[query].farthest)};
	instr_time begin, end;
	int64 found;
	bool isnull;
	int code;

	INSTR_TIME_SET_CURRENT(begin);
	code = SPI_execute_plan(measure->plan, values, NULL, true, 0);
	INSTR_TIME_SET_CURRENT(end);
	if (code != SPI_OK_SELECT)
		elog(ERROR, "could not search: %s", SPI_result_code_string(code));
	INSTR_TIME_SUBTRACT(end, begin);
	*ms = INSTR_TIME_GET_MILLISEC(end);
	found = DatumGetInt64(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_freetuptable(SPI_tuptable);
	if (last->number == scans || last->done.index != RelationGetRelid(measure->index))
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		                errmsg("queries of this transaction cannot use index \"%s\"",
		                       RelationGetRelationName(measure->index))));
	return found;
}

/* set_locally: change a setting until the current GUC nest level ends. */
static void
set_locally(const char *name, const char *value)
{
	(void) set_config_option(name, value, PGC_USERSET, PGC_S_SESSION, GUC_ACTION_SAVE, true, 0,
	                         false);
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *) a, y = *(const double *) b;

	return x < y ? -1 : x > y;
}

/*
 * compare_values: compare two queries byte by byte. Only equality matters, but the order must not
 * depend on the order of the input.
 */
static int
compare_values(const void *a, const void *b)
{
	const void *x = *(const void *const *) a, *y = *(const void *const *) b;

	return memcmp(x, y, Min(VARSIZE(x), VARSIZE(y)));
}
