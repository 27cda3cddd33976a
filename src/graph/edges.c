/*
 * edges.c
 *		Reads the edges that a query returns.
 *
 * The executor passes each row directly into an array of edges. The memory limit covers the array,
 * the graph that is built from it, and the scratch memory for building it. The array may use only
 * its part of that limit.
 */
#include "postgres.h"

#include <ctype.h>
#include <float.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "graph/arguments.h"
#include "graph/constant.h"
#include "graph/edges.h"
#include "nodes/parsenodes.h"
#include "server/query.h"
#include "server/settings.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/numeric.h"
#include "utils/plancache.h"

#define FIRST_CAPACITY 1024

enum EdgeColumn
{
	SOURCE_COLUMN = 1,
	TARGET_COLUMN,
	WEIGHT_COLUMN,
	TYPE_COLUMN
};

/* Receiver: the state of reading an edges query. */
typedef struct Receiver
{
	HybridEdges *edges;
	int64 capacity;
	int64 most;            /* number of edges that fit the memory limit */
	int columns;           /* number of columns, 2 .. 4 */
	Oid type[TYPE_COLUMN]; /* type of each column, with domains resolved */
	bool filtered;         /* whether to read only edges of the wanted types */
	text **wanted;         /* wanted types, ascending by compare_texts */
	int wanted_count;
	MemoryContext edge_context; /* holds the array of edges */
} Receiver;

static bool is_edges_query(const char *query);
static void check_plain_read(void *arg, SPIPlanPtr plan);
static void set_wanted(Receiver *receiver, ArrayType *types);
static void check_columns(void *arg, TupleDesc columns);
static bool take_edge(void *arg, TupleTableSlot *slot);
static int64 get_node(TupleTableSlot *slot, int column, Oid type);
static float get_weight(TupleTableSlot *slot, Oid type, const HyEdge *edge);
static bool is_wanted(const Receiver *receiver, TupleTableSlot *slot);
static void append_edge(Receiver *receiver, const HyEdge *edge);
static void
report_weight(const HyEdge *edge, const char *what, const char *weight) pg_attribute_noreturn();
static int compare_texts(const void *a, const void *b);

void
hybrid_read_edges(const HybridEdgesQuery *query, HybridEdges *edges)
{
	const char *text = text_to_cstring(query->text);
	Receiver receiver;
	HybridReader reader = {.what = "edges query",
	                       .check = check_plain_read,
	                       .columns = check_columns,
	                       .row = take_edge,
	                       .arg = &receiver,
	                       .params = query->params};
	uint64 limit = (uint64) hybrid_graph_memory_limit * 1024;
	uint64 fixed = hy_csr_bytes(0, query->direction);
	uint64 each = sizeof(HyEdge) + hy_csr_bytes(1, query->direction) - fixed;

	if (!is_edges_query(text))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT), errmsg("unknown graph \"%s\"", text),
		                errhint("Give an edges query that begins with SELECT, WITH, VALUES or "
		                        "TABLE and returns source, target, weight and type.")));

	memset(&receiver, 0, sizeof(receiver));
	receiver.edges = edges;
	receiver.most = limit > fixed ? (int64) ((limit - fixed) / each) : 0;
	receiver.edge_context = CurrentMemoryContext;
	if (query->params != NULL && ARR_NDIM(query->params) > 1)
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
		                errmsg("params must have one dimension, not %d", ARR_NDIM(query->params))));
	if (query->types != NULL)
		set_wanted(&receiver, query->types);
	memset(edges, 0, sizeof(*edges));

	hybrid_query_run(text, &reader);
}

void
hybrid_check_graph_memory(uint64 bytes, int64 nodes, int64 edges)
{
	if (bytes > (uint64) hybrid_graph_memory_limit * 1024)
		ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
		                errmsg("graph does not fit into \"hybrid.graph_memory_limit\" (%d kB)",
		                       hybrid_graph_memory_limit),
		                errdetail("A graph of " INT64_FORMAT " nodes and " INT64_FORMAT
		                          " edges needs " UINT64_FORMAT " kB.",
		                          nodes, edges, (bytes + 1023) / 1024),
		                errhint("Raise \"hybrid.graph_memory_limit\", or select fewer edges.")));
}

/*
 * is_edges_query: return whether the query begins with a word that can begin an edges query.
 * Whitespace, comments and parentheses may precede the word.
 */
static bool
is_edges_query(const char *query)
{
	static const char *const words[] = {"select", "with", "values", "table"};
	size_t length = 0;
	int i;

	for (;;)
	{
		query += strspn(query, " \t\n\r\f\v(");
		if (query[0] == '-' && query[1] == '-')
			query += strcspn(query, "\n\r");
		else if (query[0] == '/' && query[1] == '*')
		{
			int depth = 1;

			/* as in SQL, comments can be nested */
			for (query += 2; depth > 0; query++)
			{
				if (query[0] == '\0')
					return false;
				if (query[0] == '/' && query[1] == '*')
					depth++;
				else if (query[0] == '*' && query[1] == '/')
					depth--;
				else
					continue;
				query++;
			}
		}
		else
			break;
	}
	while (isalnum((unsigned char) query[length]) || query[length] == '_' || query[length] == '$' ||
	       (unsigned char) query[length] >= 0x80)
		length++;
	for (i = 0; i < (int) lengthof(words); i++)
	{
		if (length == strlen(words[i]) && pg_strncasecmp(query, words[i], length) == 0)
			return true;
	}
	return false;
}

/*
 * check_plain_read: raise unless the query is a single statement that only reads. In read-only
 * mode, SPI rejects writes, too, but its message is about volatility, which users of graphs would
 * not understand.
 */
static void
check_plain_read(void *arg, SPIPlanPtr plan)
{
	Receiver *receiver = (Receiver *) arg;
	List *sources = SPI_plan_get_plan_sources(plan);
	CachedPlanSource *source;
	Query *query;

	if (list_length(sources) != 1)
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
		                errmsg("edges query must be one statement, not %d", list_length(sources))));
	source = (CachedPlanSource *) linitial(sources);
	if (list_length(source->query_list) == 1)
	{
		query = linitial_node(Query, source->query_list);
		if (query->commandType == CMD_SELECT && !query->hasModifyingCTE && query->rowMarks == NIL)
		{
			receiver->edges->constant = hybrid_query_is_constant(query);
			return;
		}
	}
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("edges query must only read"),
	                errhint("It cannot change or lock rows, or create a table.")));
}

static void
set_wanted(Receiver *receiver, ArrayType *types)
{
	Datum *elements;

	hybrid_check_array(types, "types");
	deconstruct_array(types, TEXTOID, -1, false, TYPALIGN_INT, &elements, NULL,
	                  &receiver->wanted_count);
	receiver->filtered = true;
	receiver->wanted = (text **) elements;
	qsort(receiver->wanted, receiver->wanted_count, sizeof(text *), compare_texts);
}

static void
check_columns(void *arg, TupleDesc columns)
{
	Receiver *receiver = (Receiver *) arg;
	int i;

	if (columns->natts < 2 || columns->natts > 4)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("edges query returns %d columns", columns->natts),
		                errhint("It must return source, target[, weight[, type]].")));
	if (receiver->filtered && columns->natts < TYPE_COLUMN)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("edges query returns no type column to compare with types"),
		                errhint("It must return source, target, weight, type.")));
	receiver->columns = columns->natts;
	for (i = 0; i < columns->natts; i++)
	{
		static const char *const names[] = {"source", "target", "weight", "type"};
		static const char *const expected[] = {"an integer", "an integer", "a number", "text"};
		Oid type = getBaseType(TupleDescAttr(columns, i)->atttypid);
		bool is_integer = type == INT2OID || type == INT4OID || type == INT8OID;
		bool is_number = is_integer || type == FLOAT4OID || type == FLOAT8OID || type == NUMERICOID;
		bool is_text = type == TEXTOID || type == VARCHAROID;

		if (i + 1 == TYPE_COLUMN ? !is_text : i + 1 == WEIGHT_COLUMN ? !is_number : !is_integer)
			ereport(
				ERROR,
				(errcode(ERRCODE_DATATYPE_MISMATCH),
			     errmsg("graph edge %s must be %s, not %s", names[i], expected[i],
			            format_type_be(TupleDescAttr(columns, i)->atttypid)),
			     errhint("Columns are matched by position: source, target[, weight[, type]].")));
		receiver->type[i] = type;
	}
}

static bool
take_edge(void *arg, TupleTableSlot *slot)
{
	Receiver *receiver = (Receiver *) arg;
	HyEdge edge;

	edge.source = get_node(slot, SOURCE_COLUMN, receiver->type[SOURCE_COLUMN - 1]);
	edge.target = get_node(slot, TARGET_COLUMN, receiver->type[TARGET_COLUMN - 1]);
	edge.weight = 1;
	if (receiver->columns >= WEIGHT_COLUMN)
		edge.weight = get_weight(slot, receiver->type[WEIGHT_COLUMN - 1], &edge);
	if (!receiver->filtered || is_wanted(receiver, slot))
		append_edge(receiver, &edge);
	return true;
}

static int64
get_node(TupleTableSlot *slot, int column, Oid type)
{
	Datum value = slot->tts_values[column - 1];

	if (slot->tts_isnull[column - 1])
	{
		int other = column == SOURCE_COLUMN ? TARGET_COLUMN : SOURCE_COLUMN;
		const char *end = column == SOURCE_COLUMN ? "source" : "target";
		const char *other_end = column == SOURCE_COLUMN ? "target" : "source";
		Oid other_type = getBaseType(TupleDescAttr(slot->tts_tupleDescriptor, other - 1)->atttypid);

		if (slot->tts_isnull[other - 1])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			                errmsg("graph edge %s cannot be NULL", end),
			                errdetail("The %s of the edge is NULL too.", other_end)));
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
		                errmsg("graph edge %s cannot be NULL", end),
		                errdetail("The %s of the edge is " INT64_FORMAT ".", other_end,
		                          get_node(slot, other, other_type))));
	}
	if (type == INT2OID)
		return DatumGetInt16(value);
	if (type == INT4OID)
		return DatumGetInt32(value);
	return DatumGetInt64(value);
}

/* get_weight: convert the weight as a cast to real would. edge is used only in error messages. */
static float
get_weight(TupleTableSlot *slot, Oid type, const HyEdge *edge)
{
	Datum value = slot->tts_values[WEIGHT_COLUMN - 1];
	double exact = 0;
	float weight = 0;

	if (slot->tts_isnull[WEIGHT_COLUMN - 1])
		report_weight(edge, "cannot be NULL", "NULL");
	switch (type)
	{
		case FLOAT4OID:
			exact = weight = DatumGetFloat4(value);
			break;
		case FLOAT8OID:
			exact = DatumGetFloat8(value);
			weight = (float) exact;
			break;
		case NUMERICOID:
			exact = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value));
			if (isinf(exact) && !numeric_is_inf(DatumGetNumeric(value)))
				report_weight(edge, "is out of the range of real",
				              numeric_out_sci(DatumGetNumeric(value), 3));
			/* a conversion through double would round twice */
			if (fabs(exact) <= FLT_MAX && fabs(exact) >= FLT_MIN)
				weight = DatumGetFloat4(DirectFunctionCall1(numeric_float4, value));
			else
				weight = (float) exact;
			break;
		case INT2OID:
			exact = weight = DatumGetInt16(value);
			break;
		case INT4OID:
			exact = weight = (float) DatumGetInt32(value);
			break;
		case INT8OID:
			exact = weight = (float) DatumGetInt64(value);
			break;
		default:
			elog(ERROR, "unexpected type of graph edge weight: %u", type);
	}
	if (isnan(exact))
		report_weight(edge, "cannot be NaN", "NaN");
	if (isinf(exact))
		report_weight(edge, "cannot be infinite", float8out_internal(exact));
	if (exact < 0)
		report_weight(edge, "cannot be negative", float8out_internal(exact));
	if (isinf(weight) || (weight == 0 && exact != 0))
		report_weight(edge, "is out of the range of real", float8out_internal(exact));
	return weight;
}

static void
report_weight(const HyEdge *edge, const char *what, const char *weight)
{
	ereport(ERROR,
	        (errcode(strcmp(weight, "NULL") == 0 ? ERRCODE_NULL_VALUE_NOT_ALLOWED
	                                             : ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
	         errmsg("graph edge weight %s", what),
	         errdetail("The edge goes from " INT64_FORMAT " to " INT64_FORMAT ", with weight %s.",
	                   edge->source, edge->target, weight)));
}

static bool
is_wanted(const Receiver *receiver, TupleTableSlot *slot)
{
	text *type;

	if (slot->tts_isnull[TYPE_COLUMN - 1])
		return false;
	type = DatumGetTextPP(slot->tts_values[TYPE_COLUMN - 1]);
	return bsearch(&type, receiver->wanted, receiver->wanted_count, sizeof(text *),
	               compare_texts) != NULL;
}

static void
append_edge(Receiver *receiver, const HyEdge *edge)
{
	HybridEdges *edges = receiver->edges;

	if (edges->count == receiver->most)
		ereport(ERROR, (errcode(ERRCODE_CONFIGURATION_LIMIT_EXCEEDED),
		                errmsg("graph does not fit into \"hybrid.graph_memory_limit\" (%d kB)",
		                       hybrid_graph_memory_limit),
		                errdetail("It leaves room for " INT64_FORMAT " edges.", receiver->most),
		                errhint("Raise \"hybrid.graph_memory_limit\", or select fewer edges.")));
	if (edges->count == receiver->capacity)
	{
		int64 capacity = receiver->capacity == 0 ? FIRST_CAPACITY : 2 * receiver->capacity;

		capacity = Min(capacity, receiver->most);
		if (edges->edge == NULL)
			edges->edge =
				MemoryContextAllocHuge(receiver->edge_context, (Size) capacity * sizeof(HyEdge));
		else
			edges->edge = repalloc_huge(edges->edge, (Size) capacity * sizeof(HyEdge));
		receiver->capacity = capacity;
	}
	edges->edge[edges->count++] = *edge;
}

/*
 * compare_texts: compare two texts bytewise. Any total order is correct, because only equality
 * matters.
 */
static int
compare_texts(const void *a, const void *b)
{
	const text *left = *(text *const *) a;
	const text *right = *(text *const *) b;
	size_t left_length = VARSIZE_ANY_EXHDR(left);
	size_t right_length = VARSIZE_ANY_EXHDR(right);
	int order = memcmp(VARDATA_ANY(left), VARDATA_ANY(right), Min(left_length, right_length));

	if (order != 0)
		return order;
	return left_length == right_length ? 0 : left_length < right_length ? -1 : 1;
}
