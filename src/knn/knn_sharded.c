/*
 * knn_sharded.c
 *		hybrid_knn_sharded: the exact nearest rows of a relation whose rows lie in several tables or on
 *		several servers.
 *
 * Each table or server answers with its own k nearest rows, as ids and distances. One heap per query merges
 * these answers. A foreign server and a Citus shard run hybrid_knn_sharded as well, so their table may
 * itself be partitioned. Foreign servers are asked first, through server/remote.h. While they compute, this
 * process searches its own tables. Citus searches its shards with its own function run_command_on_shards.
 *
 * Ties are ordered by id, but hybrid_knn orders them by position. So hybrid_knn is asked for k + 1 rows of
 * a table. If the last of these rows has the distance of row k, rows with smaller ids may have been left
 * out. The query is then repeated for twice as many rows, until a larger distance or the end of the table is
 * reached.
 *
 * The answers are held in memory, so queries are processed in groups that fit work_mem.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "core/topk.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "knn/arguments.h"
#include "knn/nearest.h"
#include "knn/queries.h"
#include "knn/shards.h"
#include "miscadmin.h"
#include "server/remote.h"
#include "server/report.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(hybrid_knn_sharded);

/*
 * bytes of one candidate of a query: its row in SPI's result, and its elements in the heap and in the arrays
 */
#define CANDIDATE_BYTES 192

/* The text of a group's queries must stay far below the maximum size of a string, 1 GB. */
#define MOST_TEXT_BYTES (256 * 1024 * 1024)
#define NUMBER_BYTES 16 /* an element of a vector as text, with its comma */

/*
 * A server may ask other servers, these may ask others, and so on, up to this depth. Otherwise a
 * foreign table that refers to itself would open connections until its server refuses one.
 */
#define MOST_DEPTH 4
#define DEPTH_SETTING "hybrid_sharded.depth" /* depth of the call, in the session of a server */

/* qualified, because a type of the same name may come first in the search_path */
#define ANSWER_COLUMNS "query pg_catalog.int4[], id pg_catalog.int8[], distance pg_catalog.float8[]"

/*
 * The settings that may change which rows a query finds, or where and how the query is computed. This
 * session's values of these settings apply on all servers. The other settings describe a machine and its
 * load.
 */
static const char *const sent_settings[] = {"hybrid.target_recall",       "hybrid.probes",
                                            "hybrid.iterative_scan",      "hybrid.max_scan_tuples",
                                            "hybrid.scan_mem_multiplier", "hybrid.execution",
                                            "hybrid.force_cpu",           "hybrid.precision"};

/* Sharded: a call of the function. */
typedef struct Sharded
{
	List *shards;
	List *servers; /* OIDs of the foreign servers, each once */
	ReturnSetInfo *result;
	const char *schema; /* of this extension, quoted */
	const char *metric;
	const char *column;
	const char *id_column;
	const char *settings; /* names and values of the settings that are sent, as rows of VALUES */
	int32 k;
	Oid vector;

	/* all queries, and the group of queries that is being processed */
	Datum *queries;
	int count;
	int group;
	int first;

	HyTopK *nearest;  /* heap of each query of the group */
	const char *text; /* the group as an SQL literal; NULL: not needed so far */
} Sharded;

static void prepare(Sharded *call, FunctionCallInfo fcinfo);
static void take_queries(Sharded *call, ArrayType *array);
static int get_depth(void);
static const char *list_settings(void);
static void search(HybridRemotes *remotes, void *arg);
static void search_group(Sharded *call, HybridRemotes *remotes);
static void put_answers(const Sharded *call);
static const char *group_text(Sharded *call);
static ArrayType *make_array(const Sharded *call, const int *numbers, int count);
static void ask_server(Sharded *call, HybridRemotes *remotes, int i);
static void take_answer(void *arg, int i, HeapTuple row, TupleDesc columns);
static bool take_arrays(const Sharded *call, HeapTuple row, TupleDesc columns, int first);
static int take_array(HeapTuple row, TupleDesc columns, int number, Oid type, Datum **elements);
static int fitting_queries(int64 k);
static void search_local(const Sharded *call, const HybridShard *shard);
static int
ask_local(const Sharded *call, const HybridShard *shard, int32 k, int *numbers, int count);
static int take_local(const Sharded *call, const HybridShard *shard, int32 k, int *numbers);
static void search_citus(Sharded *call, const HybridShard *shard);
static void check_placements(const HybridShard *shard, uint64 answers);
static char *statement_head(const Sharded *call, const char *outputs);
static char *statement_row(const HybridShard *shard);
static char *statement_tail(Sharded *call, const char *schema);
static char *double_percents(const char *text);
static int32 get_query(HeapTuple row, TupleDesc columns);
static double get_distance(HeapTuple row, TupleDesc columns);

Datum
hybrid_knn_sharded(PG_FUNCTION_ARGS)
{
	static const char *const names[] = {"rel", "col", "id_col", "queries", "k", "metric"};
	Sharded call = {.count = 0};

	hybrid_check_arguments(fcinfo, names, lengthof(names));
	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	call.result = (ReturnSetInfo *) fcinfo->resultinfo;
	/* SPI_finish frees everything allocated from here on */
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	prepare(&call, fcinfo);
	hybrid_remotes_use(call.servers, search, &call);
	SPI_finish();
	return (Datum) 0;
}

static void
prepare(Sharded *call, FunctionCallInfo fcinfo)
{
	HybridVectorTypes types = hybrid_vector_types(fcinfo);
	Oid function = fcinfo->flinfo->fn_oid;
	ListCell *cell;

	call->schema = quote_identifier(get_namespace_name(get_func_namespace(function)));
	call->column = NameStr(*PG_GETARG_NAME(1));
	call->id_column = NameStr(*PG_GETARG_NAME(2));
	call->k = PG_GETARG_INT32(4);
	hybrid_check_k_plus(call->k, 1);
	call->metric = text_to_cstring(PG_GETARG_TEXT_PP(5));
	(void) hybrid_parse_metric(call->metric);
	call->vector = types.vector;
	take_queries(call, PG_GETARG_ARRAYTYPE_P(3));
	call->shards = hybrid_shards(PG_GETARG_OID(0), call->column, call->id_column, &types);
	foreach (cell, call->shards)
	{
		const HybridShard *shard = lfirst(cell);

		if (shard->kind == HYBRID_SHARD_FOREIGN)
			call->servers = list_append_unique_oid(call->servers, shard->server);
	}
	if (call->servers != NIL && get_depth() >= MOST_DEPTH)
		ereport(ERROR, (errcode(ERRCODE_STATEMENT_TOO_COMPLEX),
		                errmsg("servers ask other servers more than %d levels deep", MOST_DEPTH),
		                errhint("A foreign table may refer to itself.")));
	call->settings = list_settings();
}

static void
take_queries(Sharded *call, ArrayType *array)
{
	HybridQueries checked;
	bool *nulls;
	int16 typlen;
	bool typbyval;
	char typalign;

	hybrid_queries_unpack(array, &checked);
	if (checked.x != NULL)
		pfree(checked.x);
	get_typlenbyvalalign(call->vector, &typlen, &typbyval, &typalign);
	deconstruct_array(array, call->vector, typlen, typbyval, typalign, &call->queries, &nulls,
	                  &call->count);
	call->group = Min(fitting_queries((int64) call->k + 1),
	                  MOST_TEXT_BYTES / NUMBER_BYTES / Max(checked.dims, 1));
	call->group = Max(1, Min(call->group, call->count));
}

/* get_depth: return 0 for a user's call, 1 for a call on a server that the user's call asks, and so on. */
static int
get_depth(void)
{
	const char *value = GetConfigOption(DEPTH_SETTING, true, false);
	const int depth = value != NULL ? atoi(value) : 0;

	return Max(0, Min(depth, MOST_DEPTH));
}

static const char *
list_settings(void)
{
	StringInfoData list;
	int i;

	initStringInfo(&list);
	/* extra_float_digits: the text of a float8 keeps all digits */
	appendStringInfo(&list, "('extra_float_digits', '1'), ('%s', '%d')", DEPTH_SETTING,
	                 get_depth() + 1);
	for (i = 0; i < (int) lengthof(sent_settings); i++)
		appendStringInfo(&list, ", (%s, %s)", quote_literal_cstr(sent_settings[i]),
		                 quote_literal_cstr(GetConfigOption(sent_settings[i], false, false)));
	return list.data;
}

/* search: process the groups, with open connections to the servers. */
static void
search(HybridRemotes *remotes, void *arg)
{
	Sharded *call = (Sharded *) arg;
	int i;

	for (i = 0; i < list_length(call->servers); i++)
	{
		if (hybrid_remote_schema(remotes, i) == NULL)
			ereport(ERROR,
			        (errcode(ERRCODE_UNDEFINED_OBJECT),
			         errmsg("server \"%s\": extension \"hybrid\" does not exist",
			                hybrid_remote_name(remotes, i)),
			         errhint("Run CREATE EXTENSION hybrid in the database of that server.")));
	}
	for (call->first = 0; call->first < call->count; call->first += call->group)
	{
		MemoryContext context = AllocSetContextCreate(CurrentMemoryContext, "hybrid_knn_sharded",
		                                              ALLOCSET_DEFAULT_SIZES);
		MemoryContext before = MemoryContextSwitchTo(context);

		call->group = Min(call->group, call->count - call->first);
		search_group(call, remotes);
		put_answers(call);
		MemoryContextSwitchTo(before);
		MemoryContextDelete(context);
	}
}

static void
search_group(Sharded *call, HybridRemotes *remotes)
{
	HyNeighbor *items = MemoryContextAllocHuge(CurrentMemoryContext,
	                                           (Size) call->group * call->k * sizeof(HyNeighbor));
	ListCell *cell;
	int i;

	call->text = NULL;
	call->nearest = MemoryContextAllocHuge(CurrentMemoryContext, call->group * sizeof(HyTopK));
	for (i = 0; i < call->group; i++)
		hy_topk_init(&call->nearest[i], items + (Size) i * call->k, call->k);
	for (i = 0; i < list_length(call->servers); i++)
		ask_server(call, remotes, i);
	foreach (cell, call->shards)
	{
		const HybridShard *shard = lfirst(cell);

		CHECK_FOR_INTERRUPTS();
		if (shard->kind == HYBRID_SHARD_LOCAL)
			search_local(call, shard);
		else if (shard->kind == HYBRID_SHARD_CITUS)
			search_citus(call, shard);
	}
	hybrid_remotes_receive(remotes, ANSWER_COLUMNS, take_answer, call);
}

static void
put_answers(const Sharded *call)
{
	bool nulls[3] = {false, false, false};
	int i;
	int32 n;

	for (i = 0; i < call->group; i++)
	{
		HyTopK *best = &call->nearest[i];

		hy_topk_sort(best);
		for (n = 0; n < best->count; n++)
		{
			Datum values[3];

			CHECK_FOR_INTERRUPTS();
			values[0] = Int32GetDatum(call->first + i + 1);
			values[1] = Int64GetDatum(best->items[n].row);
			values[2] = Float8GetDatum(best->items[n].distance);
			tuplestore_putvalues(call->result->setResult, call->result->setDesc, values, nulls);
		}
	}
}

/*
 * group_text: return the group as an SQL literal of type vector[]. array_out would take twice as long,
 * because it looks for characters that need quoting. A vector's text has none.
 */
static const char *
group_text(Sharded *call)
{
	StringInfoData text;
	FmgrInfo function;
	Oid output;
	bool varlena;
	int i;

	if (call->text != NULL)
		return call->text;
	getTypeOutputInfo(call->vector, &output, &varlena);
	fmgr_info(output, &function);
	initStringInfo(&text);
	for (i = 0; i < call->group; i++)
	{
		char *query = OutputFunctionCall(&function, call->queries[call->first + i]);

		CHECK_FOR_INTERRUPTS();
		appendStringInfoString(&text, i > 0 ? "\",\"" : "'{\"");
		appendStringInfoString(&text, query);
		pfree(query);
	}
	appendStringInfoString(&text, "\"}'");
	call->text = text.data;
	return call->text;
}

/* make_array: return an array of the group's queries with these numbers. */
static ArrayType *
make_array(const Sharded *call, const int *numbers, int count)
{
	Datum *elements = palloc(count * sizeof(Datum));
	int16 typlen;
	bool typbyval;
	char typalign;
	int i;

	for (i = 0; i < count; i++)
		elements[i] = call->queries[call->first + numbers[i]];
	get_typlenbyvalalign(call->vector, &typlen, &typbyval, &typalign);
	return construct_array(elements, count, call->vector, typlen, typbyval, typalign);
}

/* ask_server: start one statement on a server, for all shards on that server. */
static void
ask_server(Sharded *call, HybridRemotes *remotes, int i)
{
	StringInfoData statement;
	bool first = true;
	ListCell *cell;

	initStringInfo(&statement);
	appendStringInfoString(
		&statement, statement_head(call, "COALESCE(pg_catalog.array_agg(s.query), '{}'), "
	                                     "COALESCE(pg_catalog.array_agg(s.id), '{}'), "
	                                     "COALESCE(pg_catalog.array_agg(s.distance), '{}')"));
	foreach (cell, call->shards)
	{
		const HybridShard *shard = lfirst(cell);

		if (shard->kind != HYBRID_SHARD_FOREIGN || shard->server != list_nth_oid(call->servers, i))
			continue;
		appendStringInfo(&statement, "%s%s%s)", first ? "" : ", ", statement_row(shard),
		                 quote_literal_cstr(shard->relation));
		first = false;
	}
	appendStringInfoString(&statement, statement_tail(call, hybrid_remote_schema(remotes, i)));
	hybrid_remote_send(remotes, i, statement.data);
	pfree(statement.data);
}

static void
take_answer(void *arg, int i, HeapTuple row, TupleDesc columns)
{
	const Sharded *call = (const Sharded *) arg;

	if (!take_arrays(call, row, columns, 1))
		ereport(ERROR, (errcode(ERRCODE_FDW_ERROR),
		                errmsg("server \"%s\": the answer is not one of hybrid_knn_sharded",
		                       GetForeignServer(list_nth_oid(call->servers, i))->servername)));
}

/*
 * take_arrays: add an answer's candidates to the heaps. Three columns, from number `first` on, contain
 * arrays: the query numbers, ids and distances. Returns false if the arrays are not an answer for the group.
 */
static bool
take_arrays(const Sharded *call, HeapTuple row, TupleDesc columns, int first)
{
	Datum *queries;
	Datum *ids;
	Datum *distances;
	int count = take_array(row, columns, first, INT4OID, &queries);
	int i;

	if (count < 0 || take_array(row, columns, first + 1, INT8OID, &ids) != count ||
	    take_array(row, columns, first + 2, FLOAT8OID, &distances) != count)
		return false;
	for (i = 0; i < count; i++)
	{
		int32 query = DatumGetInt32(queries[i]);

		CHECK_FOR_INTERRUPTS();
		if (query < 1 || query > call->group)
			return false;
		(void) hy_topk_push(&call->nearest[query - 1], DatumGetFloat8(distances[i]),
		                    DatumGetInt64(ids[i]));
	}
	pfree(queries);
	pfree(ids);
	pfree(distances);
	return true;
}

/* take_array: store the elements of an array, and return their number; -1 if the array or an element is NULL. */
static int
take_array(HeapTuple row, TupleDesc columns, int number, Oid type, Datum **elements)
{
	bool isnull;
	Datum array = SPI_getbinval(row, columns, number, &isnull);
	int16 typlen;
	bool typbyval;
	char typalign;
	int count;

	if (isnull || array_contains_nulls(DatumGetArrayTypeP(array)))
		return -1;
	get_typlenbyvalalign(type, &typlen, &typbyval, &typalign);
	deconstruct_array(DatumGetArrayTypeP(array), type, typlen, typbyval, typalign, elements, NULL,
	                  &count);
	return count;
}

/* fitting_queries: return how many queries with k candidates each fit in work_mem, at least 1. */
static int
fitting_queries(int64 k)
{
	int64 most = (int64) work_mem * 1024 / (CANDIDATE_BYTES * k);

	return (int) Max(1, Min(most, PG_INT32_MAX));
}

static void
search_local(const Sharded *call, const HybridShard *shard)
{
	int *numbers = palloc(call->group * sizeof(int));
	int64 k = (int64) call->k + 1;
	int left = call->group;
	int i;

	for (i = 0; i < call->group; i++)
		numbers[i] = i;
	while (left > 0)
	{
		int repeat = 0;
		int end;

		for (i = 0; i < left; i = end)
		{
			int tied;

			end = i + Min(left - i, fitting_queries(k));
			tied = ask_local(call, shard, (int32) Min(k, PG_INT32_MAX), numbers + i, end - i);
			memmove(numbers + repeat, numbers + i, tied * sizeof(int));
			repeat += tied;
		}
		left = repeat;
		k *= 2;
	}
	pfree(numbers);
}

/*
 * ask_local: find k rows for each of count queries of the group. Returns the number of queries for
 * which more rows are needed because of ties, and moves their numbers to the front of `numbers`.
 */
static int
ask_local(const Sharded *call, const HybridShard *shard, int32 k, int *numbers, int count)
{
	Oid types[] = {REGCLASSOID, NAMEOID, get_array_type(call->vector), INT4OID, TEXTOID};
	ArrayType *queries = make_array(call, numbers, count);
	NameData column;
	Datum values[] = {ObjectIdGetDatum(shard->relid), NameGetDatum(&column),
	                  PointerGetDatum(queries), Int32GetDatum(k),
	                  CStringGetTextDatum(call->metric)};
	char *text = psprintf("SELECT n.query, n.distance, t.%s::pg_catalog.int8 "
	                      "FROM %s.hybrid_knn($1, $2, $3, $4, $5, NULL::pg_catalog.text) n "
	                      "JOIN ONLY %s t ON t.ctid OPERATOR(pg_catalog.=) n.tid ORDER BY 1, 2, 3",
	                      quote_identifier(shard->id_column), call->schema, shard->relation);
	int left;

	namestrcpy(&column, shard->column);
	if (SPI_execute_with_args(text, lengthof(types), types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not search: %s", SPI_result_code_string(SPI_result));
	left = take_local(call, shard, k, numbers);
	SPI_freetuptable(SPI_tuptable);
	pfree(queries);
	return left;
}

/* take_local: add the rows in SPI_tuptable to the heaps. The result and `numbers` are as in ask_local. */
static int
take_local(const Sharded *call, const HybridShard *shard, int32 k, int *numbers)
{
	HeapTuple *rows = SPI_tuptable->vals;
	TupleDesc columns = SPI_tuptable->tupdesc;
	uint64 first;
	uint64 end;
	uint64 i;
	int left = 0;

	for (first = 0; first < SPI_processed; first = end)
	{
		int32 query = get_query(rows[first], columns);
		int number = numbers[query - 1];

		CHECK_FOR_INTERRUPTS();
		for (end = first + 1; end < SPI_processed; end++)
		{
			if (get_query(rows[end], columns) != query)
				break;
		}
		if (end - first >= (uint64) k && get_distance(rows[first + call->k - 1], columns) ==
		                                     get_distance(rows[end - 1], columns))
		{
			/* this overwrites only numbers of queries that have been processed */
			numbers[left++] = number;
			continue;
		}
		for (i = first; i < end && i < first + call->k; i++)
		{
			bool isnull;
			Datum id = SPI_getbinval(rows[i], columns, 3, &isnull);

			if (isnull)
				ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
				                errmsg("column \"%s\" of \"%s\" contains NULL", shard->id_column,
				                       get_rel_name(shard->relid))));
			(void) hy_topk_push(&call->nearest[number], get_distance(rows[i], columns),
			                    DatumGetInt64(id));
		}
	}
	return left;
}

/* search_citus: run one statement on each shard of a table of Citus, on all nodes at once. */
static void
search_citus(Sharded *call, const HybridShard *shard)
{
	Oid types[] = {REGCLASSOID, TEXTOID};
	const char *head = statement_head(
		call, "pg_catalog.concat_ws('|', COALESCE(pg_catalog.array_agg(s.query), '{}'), "
			  "COALESCE(pg_catalog.array_agg(s.id), '{}'), "
			  "COALESCE(pg_catalog.array_agg(s.distance), '{}'))");
	/* Citus replaces %L by the name of the shard, as a literal */
	char *command =
		psprintf("%s%s%%L)%s", double_percents(head), double_percents(statement_row(shard)),
	             double_percents(statement_tail(call, call->schema)));
	Datum values[] = {ObjectIdGetDatum(shard->relid), CStringGetTextDatum(command)};
	uint64 i;

	if (SPI_execute_with_args("SELECT s.shardid, s.success, s.result, "
	                          "CASE WHEN s.success THEN pg_catalog.split_part(s.result, '|', "
	                          "1)::pg_catalog.int4[] END, "
	                          "CASE WHEN s.success THEN pg_catalog.split_part(s.result, '|', "
	                          "2)::pg_catalog.int8[] END, "
	                          "CASE WHEN s.success THEN pg_catalog.split_part(s.result, '|', "
	                          "3)::pg_catalog.float8[] END "
	                          "FROM pg_catalog.run_command_on_shards($1, $2) s",
	                          lengthof(types), types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not search the shards: %s", SPI_result_code_string(SPI_result));
	for (i = 0; i < SPI_processed; i++)
	{
		HeapTuple row = SPI_tuptable->vals[i];
		TupleDesc columns = SPI_tuptable->tupdesc;
		bool isnull;

		CHECK_FOR_INTERRUPTS();
		if (!DatumGetBool(SPI_getbinval(row, columns, 2, &isnull)) ||
		    !take_arrays(call, row, columns, 4))
			ereport(ERROR, (errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION),
			                errmsg("shard %s of \"%s\": %s", SPI_getvalue(row, columns, 1),
			                       get_rel_name(shard->relid), SPI_getvalue(row, columns, 3))));
	}
	SPI_freetuptable(SPI_tuptable);
	check_placements(shard, i);
}

/* check_placements: raise if a shard has not answered, because no node has an active copy of it. */
static void
check_placements(const HybridShard *shard, uint64 answers)
{
	Oid types[] = {REGCLASSOID};
	Datum values[] = {ObjectIdGetDatum(shard->relid)};
	uint64 shards;
	bool isnull;

	if (SPI_execute_with_args("SELECT pg_catalog.count(*) FROM pg_catalog.pg_dist_shard "
	                          "WHERE logicalrelid OPERATOR(pg_catalog.=) $1",
	                          lengthof(types), types, values, NULL, true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not count the shards: %s", SPI_result_code_string(SPI_result));
	shards = (uint64) DatumGetInt64(
		SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_freetuptable(SPI_tuptable);
	if (answers != shards)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		                errmsg(UINT64_FORMAT " of " UINT64_FORMAT
		                                     " shards of \"%s\" have no active placement",
		                       shards - answers, shards, get_rel_name(shard->relid))));
}

/*
 * statement_head: begin the statement that a server or a shard runs. The rows of VALUES follow, one
 * per relation, and then the tail.
 *
 * The statement first assigns the settings, for its own duration. The tail refers to the number of
 * settings, so that they are assigned before the search.
 */
static char *
statement_head(const Sharded *call, const char *outputs)
{
	return psprintf("WITH g AS MATERIALIZED (SELECT pg_catalog.count(pg_catalog.set_config(c.name, "
	                "c.setting, true)) AS settings FROM (VALUES %s) c(name, setting)) "
	                "SELECT %s FROM g, (VALUES ",
	                call->settings, outputs);
}

/* statement_row: begin a row of VALUES. The caller appends the relation's name and a parenthesis. */
static char *
statement_row(const HybridShard *shard)
{
	return psprintf("(%s, %s, ", quote_literal_cstr(shard->column),
	                quote_literal_cstr(shard->id_column));
}

static char *
statement_tail(Sharded *call, const char *schema)
{
	return psprintf(") t(col, id, rel), LATERAL %s.hybrid_knn_sharded(t.rel::pg_catalog.regclass, "
	                "t.col::pg_catalog.name, t.id::pg_catalog.name, %s::%s.vector[], "
	                "CASE WHEN g.settings IS NOT NULL THEN %d END, %s) s",
	                schema, group_text(call), schema, call->k, quote_literal_cstr(call->metric));
}

/* double_percents: protect the percent signs of a text that Citus passes to format(). */
static char *
double_percents(const char *text)
{
	StringInfoData doubled;

	initStringInfo(&doubled);
	for (; *text != '\0'; text++)
	{
		if (*text == '%')
			appendStringInfoChar(&doubled, '%');
		appendStringInfoChar(&doubled, *text);
	}
	return doubled.data;
}

/* get_query, get_distance: return a column of a row of ask_local. */
static int32
get_query(HeapTuple row, TupleDesc columns)
{
	bool isnull;

	return DatumGetInt32(SPI_getbinval(row, columns, 1, &isnull));
}

static double
get_distance(HeapTuple row, TupleDesc columns)
{
	bool isnull;

	return DatumGetFloat8(SPI_getbinval(row, columns, 2, &isnull));
}
