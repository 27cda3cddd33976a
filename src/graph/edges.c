/*
 * edges.c
 *		Reads the edges that a query returns.
 *
 * The executor passes each row directly into an array of edges. The memory limit covers the array,
 * the graph that is built from it, and the scratch memory for building it. So the array may use only
 * a part of the limit.
 */
#include "postgres.h"

#include <ctype.h>

#include "catalog/pg_type.h"
#include "core/csr_build.h"
#include "graph/arguments.h"
#include "graph/edge.h"
#include "graph/edges.h"
#include "nodes/parsenodes.h"
#include "server/compat.h"
#include "server/query.h"
#include "server/settings.h"
#include "utils/builtins.h"
#include "utils/memutils.h"
#include "utils/plancache.h"

#define FIRST_CAPACITY 1024

/* Receiver: the state of reading an edges query. */
typedef struct Receiver
{
	HybridEdges *edges;
	int64 capacity;
	int64 most; /* number of edges that fit the memory limit */
	const HybridEdgesQuery *query;
	int columns;                   /* number of columns of an edge, 2 .. 4 */
	Oid type[HYBRID_EDGE_COLUMNS]; /* type of each column, with domains resolved */
	HybridTypes wanted;            /* types of the edges to read */
	MemoryContext edge_context;    /* holds the array of edges */
} Receiver;

static void check_plain_read(void *arg, SPIPlanPtr plan);
static void check_columns(void *arg, TupleDesc columns);
static bool take_edge(void *arg, TupleTableSlot *slot);
pg_noreturn static void report_null(const TupleTableSlot *slot, const Receiver *receiver);
static void append_edge(Receiver *receiver, const HyEdge *edge);

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

	memset(&receiver, 0, sizeof(receiver));
	receiver.edges = edges;
	receiver.most = hybrid_most_edges(query->direction);
	receiver.query = query;
	receiver.edge_context = CurrentMemoryContext;
	if (query->params != NULL && ARR_NDIM(query->params) > 1)
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
		                errmsg("params must have one dimension, not %d", ARR_NDIM(query->params))));
	hybrid_set_types(&receiver.wanted, query->types);
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

int64
hybrid_most_edges(HyDirection direction)
{
	uint64 limit = (uint64) hybrid_graph_memory_limit * 1024;
	uint64 fixed = hy_csr_bytes(0, direction);
	uint64 each = hy_csr_bytes(1, direction) - fixed;

	return limit > fixed ? (int64) ((limit - fixed) / each) : 0;
}

bool
hybrid_is_edges_query(const char *query)
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
	List *sources = SPI_plan_get_plan_sources(plan);
	CachedPlanSource *source;
	Query *query;

	(void) arg;
	if (list_length(sources) != 1)
		ereport(ERROR, (errcode(ERRCODE_SYNTAX_ERROR),
		                errmsg("edges query must be one statement, not %d", list_length(sources))));
	source = (CachedPlanSource *) linitial(sources);
	if (list_length(source->query_list) == 1)
	{
		query = linitial_node(Query, source->query_list);
		if (query->commandType == CMD_SELECT && !query->hasModifyingCTE && query->rowMarks == NIL)
			return;
	}
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("edges query must only read"),
	                errhint("It cannot change or lock rows, or create a table.")));
}

static void
check_columns(void *arg, TupleDesc columns)
{
	Receiver *receiver = (Receiver *) arg;
	int count = columns->natts - (receiver->query->names_rows ? 2 : 0);
	int i;

	if (count < 2 || count > HYBRID_EDGE_COLUMNS)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("edges query returns %d columns", count),
		                errhint("It must return source, target[, weight[, type]].")));
	if (receiver->wanted.name != NULL && count <= HYBRID_EDGE_TYPE)
		hybrid_report_no_type(receiver->query->registered);
	receiver->columns = count;
	receiver->edges->typed = count > HYBRID_EDGE_TYPE;
	for (i = 0; i < count; i++)
		receiver->type[i] =
			hybrid_edge_type((enum HybridEdgeColumn) i, TupleDescAttr(columns, i)->atttypid);
}

void
hybrid_report_no_type(bool registered)
{
	if (registered)
		ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
		                errmsg("registered graph has no type column to compare with types"),
		                errhint("Create its index on (source, target, weight, type).")));
	ereport(ERROR, (errcode(ERRCODE_DATATYPE_MISMATCH),
	                errmsg("edges query returns no type column to compare with types"),
	                errhint("It must return source, target, weight, type.")));
}

static bool
take_edge(void *arg, TupleTableSlot *slot)
{
	Receiver *receiver = (Receiver *) arg;
	HybridEdgeRow row = {.table = InvalidOid};
	HyEdge edge;

	if (slot->tts_isnull[HYBRID_EDGE_SOURCE] || slot->tts_isnull[HYBRID_EDGE_TARGET])
	{
		if (!receiver->query->registered)
			report_null(slot, receiver);
		return true;
	}
	edge.source =
		hybrid_edge_node(slot->tts_values[HYBRID_EDGE_SOURCE], receiver->type[HYBRID_EDGE_SOURCE]);
	edge.target =
		hybrid_edge_node(slot->tts_values[HYBRID_EDGE_TARGET], receiver->type[HYBRID_EDGE_TARGET]);
	if (receiver->query->names_rows)
	{
		row.table = DatumGetObjectId(slot->tts_values[receiver->columns]);
		row.tid = *(ItemPointer) DatumGetPointer(slot->tts_values[receiver->columns + 1]);
	}
	edge.weight = 1;
	if (receiver->columns > HYBRID_EDGE_WEIGHT)
		edge.weight = hybrid_edge_weight(slot->tts_values[HYBRID_EDGE_WEIGHT],
		                                 slot->tts_isnull[HYBRID_EDGE_WEIGHT],
		                                 receiver->type[HYBRID_EDGE_WEIGHT], &edge, &row);
	if (receiver->wanted.name != NULL &&
	    !hybrid_is_wanted(&receiver->wanted, slot->tts_values[HYBRID_EDGE_TYPE],
	                      slot->tts_isnull[HYBRID_EDGE_TYPE]))
		return true;
	if (receiver->query->take == NULL)
		append_edge(receiver, &edge);
	else
		receiver->query->take(receiver->query->take_arg, &edge,
		                      receiver->edges->typed && !slot->tts_isnull[HYBRID_EDGE_TYPE]
		                          ? DatumGetTextPP(slot->tts_values[HYBRID_EDGE_TYPE])
		                          : NULL);
	return true;
}

/* report_null: raise an error for an edge whose source or target is NULL. */
static void
report_null(const TupleTableSlot *slot, const Receiver *receiver)
{
	bool of_source = slot->tts_isnull[HYBRID_EDGE_SOURCE];
	int other = of_source ? HYBRID_EDGE_TARGET : HYBRID_EDGE_SOURCE;
	const char *end = of_source ? "source" : "target";
	const char *other_end = of_source ? "target" : "source";

	if (slot->tts_isnull[other])
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
		                errmsg("graph edge %s cannot be NULL", end),
		                errdetail("The %s of the edge is NULL too.", other_end)));
	ereport(ERROR,
	        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("graph edge %s cannot be NULL", end),
	         errdetail("The %s of the edge is " INT64_FORMAT ".", other_end,
	                   hybrid_edge_node(slot->tts_values[other], receiver->type[other]))));
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
