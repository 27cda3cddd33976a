/*
 * copy.c
 *		A session's copies of registered graphs: see copy.h.
 *
 * The graph of a copy stores the origin of each edge: the number of the page that holds the edge's row (leaves.h). A
 * patch replaces the edges of all pages that were read again. If these pages or their edges are too many, all pages are
 * read and the graph is rebuilt. Apart from the graph, the edges are kept nowhere.
 *
 * If a leaf outgrows the page numbers reserved for it, the graph is rebuilt, too. The copy is dropped if a partitioned
 * table gets other leaves, or if a leaf gets other storage, as after TRUNCATE.
 *
 * A graph in shared memory never changes. A session that sees other edges first copies the graph into its own memory,
 * and changes this private graph. When the private graph has not changed for CALM_CALLS calls, the session shares it,
 * or takes a newer shared graph if there is one. Sessions that saw the same change then use one graph again. The graph
 * of a partitioned table is never shared.
 *
 * The graph changes only after all pages that must be read have been read. After an error or a cancel before that, the
 * graph is unchanged and the pages still count as unread. If the patch itself fails, the graph is dropped.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "graph/copy.h"
#include "graph/edge.h"
#include "graph/leaves.h"
#include "graph/shared_graphs.h"
#include "miscadmin.h"
#include "server/compat.h"
#include "server/settings.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/*
 * A graph is patched if at most FEW_PAGES pages or 1/PATCH_SHARE of all pages are read again, and if these pages
 * have at most 1/PATCH_SHARE of the edges that fit the memory limit.
 */
#define FEW_PAGES 16
#define PATCH_SHARE 8

/*
 * Number of calls without a change after which a graph is shared again. Sharing copies the whole graph. If each call
 * saw a change, sharing would take most of the time.
 */
#define CALM_CALLS 16

#define FIRST_CAPACITY 1024

typedef struct HybridCopy
{
	dlist_node node;
	MemoryContext context; /* all memory of the copy */
	HybridCopyKey key;
	Oid base_type[HYBRID_EDGE_COLUMNS];
	ArrayType *types; /* NULL: all */
	bool in_use;      /* a call that uses the copy is reading pages */
	bool is_partitioned;
	HybridLeaves leaves;
	int unchanged; /* calls since the graph was built, taken or changed; at most CALM_CALLS + 1 */
	HybridGraph *graph; /* NULL: not built */
} HybridCopy;

/* Reading: a call that brings a copy up to date. */
typedef struct Reading
{
	HybridCopy *copy;
	const HybridRegistered *registered;
	HybridPageReader reader;
	HybridTypes wanted;
	MemoryContext context; /* memory context of the call */
	HybridEdges edges;     /* edges of the pages that were read */
	int64 capacity;
	int64 most;
	uint64 unread;               /* pages to read */
	const HybridLeafTable *from; /* the leaf that is being read */
	uint32 origin;               /* number of the page that is being read */
	IndexInfo *info;
	EState *state;
	bool names_rows; /* whether errors name the ctid of a row */
	bool plain; /* every row is an edge, and the columns of the index are columns of the table */
	ExprState *condition;
	TupleTableSlot *slot;
} Reading;

static dlist_head copies = DLIST_STATIC_INIT(copies); /* most recently used first */
static MemoryContext all_context = NULL;              /* parent context of all copies */

static HybridCopy *find_copy(const HybridRegistered *registered, const HybridEdgesQuery *query);
static HybridCopy *make_copy(const HybridRegistered *registered, const HybridEdgesQuery *query);
static void drop_copy(HybridCopy *copy);
static void drop_graph(HybridCopy *copy);
static bool fit_limits(HybridCopy *copy);
static HybridGraph *bring_up_to_date(Reading *reading);
static void examine(Reading *reading);
static void take_shared(HybridCopy *copy);
static bool read_pages(Reading *reading, int64 most);
static bool read_leaf(Reading *reading, const HybridLeaf *leaf);
static HybridGraph *build(Reading *reading);
static bool change(Reading *reading);
static void patch(Reading *reading);
static bool take_row(void *arg, HeapTuple tuple);
static bool read_row(Reading *reading, HeapTuple tuple, HyEdge *edge);
static bool read_columns(Reading *reading, HeapTuple tuple, Datum *value, bool *is_null);
static bool append_edge(Reading *reading, const HyEdge *edge);
static void begin_rows(Reading *reading);
static void end_rows(Reading *reading);

HybridGraph *
hybrid_copy_open(const HybridRegistered *registered, const HybridEdgesQuery *query,
                 HybridValidation *validation)
{
	HybridCopy *copy = find_copy(registered, query);
	Reading reading = {.registered = registered, .context = CurrentMemoryContext};
	HybridGraph *graph = NULL;

	memset(validation, 0, sizeof(*validation));
	if (query->types != NULL && RelationGetDescr(registered->index)->natts <= HYBRID_EDGE_TYPE)
		hybrid_report_no_type(true);
	hybrid_set_types(&reading.wanted, query->types);
	if (copy == NULL)
		copy = make_copy(registered, query);
	/* The predicate of the index has called this function: an outer call is reading pages of this copy. */
	if (copy->in_use)
		return NULL;
	reading.copy = copy;
	reading.reader = (HybridPageReader){.snapshot = GetActiveSnapshot(),
	                                    .validation = validation,
	                                    .take = take_row,
	                                    .arg = &reading};
	copy->in_use = true;
	PG_TRY();
	{
		graph = bring_up_to_date(&reading);
	}
	PG_FINALLY();
	{
		copy->in_use = false;
	}
	PG_END_TRY();
	if (reading.reader.strategy != NULL)
		FreeAccessStrategy(reading.reader.strategy);
	validation->kept = copy->graph != NULL;
	validation->shared = validation->kept && graph->shared != NULL;
	if (!validation->kept)
		drop_copy(copy);
	(void) hybrid_shared_graphs_count(MemoryContextMemAllocated(all_context, true));
	return graph;
}

void
hybrid_copy_edges(const HybridGraph *graph, HybridEdges *edges)
{
	const HyCsr *csr = &graph->csr;
	const HyOrigins *origins = &graph->origins;
	const HyParallel *parallel = origins->parallel;
	const HyParallel *end = parallel + origins->parallels;
	int64_t row = 0;
	int64_t e;

	memset(edges, 0, sizeof(*edges));
	edges->edge = MemoryContextAllocHuge(
		CurrentMemoryContext, sizeof(HyEdge) * (Size) (csr->edges + origins->parallels + 1));
	for (e = 0; e < csr->edges; e++)
	{
		HyEdge edge;

		CHECK_FOR_INTERRUPTS();
		while (csr->row_start[row + 1] <= e)
			row++;
		edge = (HyEdge){csr->ids[csr->column[e]], csr->ids[row], csr->weight[e]};
		if (origins->entry[e] != HY_ORIGIN_MANY)
			edges->edge[edges->count++] = edge;
		for (; parallel < end && parallel->at == e; parallel++)
		{
			edge.weight = parallel->weight;
			edges->edge[edges->count++] = edge;
		}
	}
}

/*
 * find_copy: return the copy for the query, or NULL if there is none. Drops copies of this index that were made for
 * other leaves or other column types.
 */
static HybridCopy *
find_copy(const HybridRegistered *registered, const HybridEdgesQuery *query)
{
	TupleDesc columns = RelationGetDescr(registered->index);
	dlist_mutable_iter at;
	int i;

	dlist_foreach_modify(at, &copies)
	{
		HybridCopy *copy = dlist_container(HybridCopy, node, at.cur);
		bool same;

		if (copy->key.index != RelationGetRelid(registered->index))
			continue;
		same = hybrid_leaves_match(&copy->leaves, registered);
		for (i = 0; i < copy->key.columns; i++)
			same = same && copy->key.type[i] == TupleDescAttr(columns, i)->atttypid;
		if (!same && !copy->in_use)
			drop_copy(copy);
		else if (copy->key.direction == query->direction && copy->key.merge == query->merge &&
		         hybrid_same_types(copy->types, query->types))
		{
			dlist_move_head(&copies, &copy->node);
			return copy;
		}
	}
	return NULL;
}

/* make_copy: make an empty copy. Drops copies of indexes that are gone. */
static HybridCopy *
make_copy(const HybridRegistered *registered, const HybridEdgesQuery *query)
{
	TupleDesc columns = RelationGetDescr(registered->index);
	MemoryContext context;
	HybridCopy *copy;
	dlist_mutable_iter at;
	int i;

	if (all_context == NULL)
		all_context =
			AllocSetContextCreate(TopMemoryContext, "hybrid graph copies", ALLOCSET_SMALL_SIZES);
	dlist_foreach_modify(at, &copies)
	{
		copy = dlist_container(HybridCopy, node, at.cur);
		if (!copy->in_use && !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(copy->key.index)))
			drop_copy(copy);
	}

	context = AllocSetContextCreate(all_context, "hybrid graph copy", ALLOCSET_DEFAULT_SIZES);
	copy = MemoryContextAllocZero(context, sizeof(HybridCopy));
	copy->context = context;
	copy->is_partitioned = registered->table->rd_rel->relkind == RELKIND_PARTITIONED_TABLE;
	hybrid_leaves_make(&copy->leaves, registered, context);
	copy->key.direction = query->direction;
	copy->key.merge = query->merge;
	if (query->types != NULL)
	{
		copy->types = MemoryContextAlloc(context, VARSIZE(query->types));
		memcpy(copy->types, query->types, VARSIZE(query->types));
	}
	copy->key.database = MyDatabaseId;
	copy->key.index = RelationGetRelid(registered->index);
	copy->key.storage = registered->table->rd_locator;
	copy->key.columns = columns->natts;
	for (i = 0; i < columns->natts; i++)
	{
		copy->key.type[i] = TupleDescAttr(columns, i)->atttypid;
		copy->base_type[i] = hybrid_edge_type((enum HybridEdgeColumn) i, copy->key.type[i]);
	}
	dlist_push_head(&copies, &copy->node);
	return copy;
}

static void
drop_copy(HybridCopy *copy)
{
	dlist_delete(&copy->node);
	MemoryContextDelete(copy->context);
}

static void
drop_graph(HybridCopy *copy)
{
	MemoryContextDelete(copy->graph->context);
	copy->graph = NULL;
}

/*
 * fit_limits: return whether this session's copies fit hybrid.graph_memory_limit, and the copies of all sessions fit
 * hybrid.graph_memory_total. Drops other copies of this session, the least recently used first, until the remaining
 * copies fit. If this copy alone exceeds a limit, no other copy is dropped for its sake.
 */
static bool
fit_limits(HybridCopy *copy)
{
	const uint64 limit = (uint64) hybrid_graph_memory_limit * 1024;
	const uint64 total =
		hybrid_graph_memory_total == 0 ? UINT64_MAX : (uint64) hybrid_graph_memory_total * 1024;
	const uint64 own = MemoryContextMemAllocated(copy->context, true);
	const bool fits = own <= limit && own <= total;
	const uint64 left_out = fits ? 0 : own;

	for (;;)
	{
		uint64 all = MemoryContextMemAllocated(all_context, true) - left_out;
		HybridCopy *victim = NULL;
		dlist_iter at;

		if (all <= limit && hybrid_shared_graphs_count(all) <= total)
			return fits;
		dlist_reverse_foreach(at, &copies)
		{
			victim = dlist_container(HybridCopy, node, at.cur);
			if (victim != copy && !victim->in_use)
				break;
			victim = NULL;
		}
		if (victim == NULL)
			return false;
		drop_copy(victim);
	}
}

/*
 * bring_up_to_date: bring the graph of the copy up to date for the snapshot, and return it. Returns NULL if the graph
 * has too many edges to be built. If the copies exceed the limits (fit_limits), the graph is returned, but the copy
 * does not keep it.
 */
static HybridGraph *
bring_up_to_date(Reading *reading)
{
	HybridCopy *copy = reading->copy;
	const int64 most = hybrid_most_edges(copy->key.direction);
	HybridGraph *graph;
	bool had_graph;
	bool is_offered = true;

	if (copy->graph != NULL && copy->unchanged >= CALM_CALLS &&
	    hybrid_shared_graph_is_newer(&copy->key, copy->types, copy->graph))
		drop_graph(copy);
	had_graph = copy->graph != NULL;
	if (!had_graph)
		take_shared(copy);
	examine(reading);
	/* another session may have built the graph again */
	if (had_graph && copy->graph == NULL)
	{
		take_shared(copy);
		if (copy->graph != NULL)
			examine(reading);
	}
	/* a patch needs more scratch memory for each edge than a build, so it may have fewer edges */
	if (copy->graph != NULL && !read_pages(reading, most / PATCH_SHARE))
		drop_graph(copy);
	if (copy->graph == NULL)
	{
		hybrid_leaves_forget(&copy->leaves, &reading->reader);
		reading->edges.count = 0;
		if (!hybrid_leaves_number(&copy->leaves) || !read_pages(reading, most))
			return NULL;
		copy->graph = build(reading);
		copy->unchanged = 0;
	}
	else
		is_offered = change(reading);
	graph = copy->graph;
	hybrid_leaves_finish(&copy->leaves);
	MemoryContextSetParent(graph->context, copy->context);
	if (!fit_limits(copy))
	{
		MemoryContextSetParent(graph->context, CurrentMemoryContext);
		copy->graph = NULL;
	}
	else if (is_offered && !copy->is_partitioned)
		hybrid_shared_graph_offer(&copy->key, copy->types, graph, &copy->leaves.leaf[0].pages);
	return graph;
}

/*
 * examine: find the pages that must be read. Drops the graph if there are too many such pages, or if a leaf has
 * outgrown its page numbers.
 */
static void
examine(Reading *reading)
{
	HybridCopy *copy = reading->copy;
	HybridLeafTotal total;

	hybrid_leaves_examine(&copy->leaves, reading->registered, &reading->reader);
	total = hybrid_leaves_total(&copy->leaves);
	if (copy->graph != NULL && (total.is_outgrown || (total.unread > FEW_PAGES &&
	                                                  total.unread > total.pages / PATCH_SHARE)))
		drop_graph(copy);
}

/* take_shared: take the graph from shared memory if there is one for this copy. */
static void
take_shared(HybridCopy *copy)
{
	HybridLeaf *leaf = &copy->leaves.leaf[0];

	copy->unchanged = 0;
	if (copy->is_partitioned)
		return;
	copy->graph = hybrid_shared_graph_take(&copy->key, copy->types, copy->context, &leaf->pages);
	if (copy->graph == NULL)
		return;
	leaf->blocks = leaf->pages.count;
	(void) hybrid_leaves_number(&copy->leaves);
}

/* read_pages: read the edges of the pages that must be read. Returns false if there are more than `most` edges. */
static bool
read_pages(Reading *reading, int64 most)
{
	HybridLeaves *leaves = &reading->copy->leaves;
	bool more = true;
	int i;

	reading->most = most;
	reading->unread = hybrid_leaves_total(leaves).unread;
	for (i = 0; more && i < leaves->count; i++)
	{
		if (leaves->leaf[i].pages.unread == 0)
			continue;
		reading->from = list_nth(reading->registered->leaves, i);
		hybrid_leaves_choose(leaves, reading->registered, i, &reading->reader);
		begin_rows(reading);
		more = read_leaf(reading, &leaves->leaf[i]);
		end_rows(reading);
	}
	return more;
}

/* read_leaf: read the edges of a leaf's pages that must be read. Returns false if there are too many. */
static bool
read_leaf(Reading *reading, const HybridLeaf *leaf)
{
	BlockNumber block;

	for (block = 0; block < leaf->pages.count; block++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!hybrid_page_must_be_read(&leaf->pages, block))
			continue;
		reading->origin = leaf->first + block;
		if (!hybrid_page_read(&reading->reader, block))
			return false;
	}
	return true;
}

static HybridGraph *
build(Reading *reading)
{
	const HybridCopy *copy = reading->copy;
	HybridGraph *graph;

	/* even a graph without edges needs an array of origins, so that it can be patched later */
	if (reading->edges.origin == NULL)
		reading->edges.origin = palloc(sizeof(uint32));
	graph = hybrid_graph_build(&reading->edges, copy->key.direction, copy->key.merge);
	hybrid_graph_keep(graph);
	return graph;
}

/* change: patch the graph if pages have changed. Returns whether to offer the graph to other sessions. */
static bool
change(Reading *reading)
{
	HybridCopy *copy = reading->copy;
	const uint64 number = copy->graph->number;
	const bool was_shared = copy->graph->shared != NULL;
	const HybridLeafTotal total = hybrid_leaves_total(&copy->leaves);
	bool is_offered = false;

	if (total.unread > 0 || total.is_shorter)
	{
		patch(reading);
		/* this session read many pages; unless it offers its graph, the next session must read them, too */
		is_offered = was_shared && reading->reader.validation->read > FEW_PAGES;
	}
	if (copy->graph->number != number)
		copy->unchanged = 0;
	else if (copy->graph->shared == NULL &&
	         (copy->unchanged < CALM_CALLS ||
	          (copy->unchanged == CALM_CALLS && reading->reader.validation->read == 0)))
		/* a session with an old snapshot reads pages at each call, so it does not offer its graph */
		is_offered = ++copy->unchanged > CALM_CALLS || is_offered;
	return is_offered;
}

/* patch: replace the edges of the pages that were read, and remove the edges of pages that are gone. */
static void
patch(Reading *reading)
{
	HybridCopy *copy = reading->copy;
	HyCsrPatch what = {.changed = hybrid_leaves_changed(&copy->leaves),
	                   .edge = reading->edges.edge,
	                   .origin = reading->edges.origin,
	                   .count = reading->edges.count,
	                   .direction = copy->key.direction,
	                   .merge = copy->key.merge};
	HybridGraph *graph = copy->graph;

	copy->graph = NULL;
	hybrid_graph_patch(graph, &what);
	copy->graph = graph;
}

/* take_row: add the edge of a visible row. Returns false if there are too many edges. */
static bool
take_row(void *arg, HeapTuple tuple)
{
	Reading *reading = (Reading *) arg;
	HyEdge edge;

	return !read_row(reading, tuple, &edge) || append_edge(reading, &edge);
}

/* read_row: convert a row of the table to an edge. Returns false if the row is not an edge of the graph. */
static bool
read_row(Reading *reading, HeapTuple tuple, HyEdge *edge)
{
	HybridCopy *copy = reading->copy;
	HybridEdgeRow place = {.table = reading->names_rows ? tuple->t_tableOid : InvalidOid,
	                       .tid = tuple->t_self};
	Datum value[INDEX_MAX_KEYS];
	bool is_null[INDEX_MAX_KEYS];
	MemoryContext before;
	bool is_edge = false;

	ResetPerTupleExprContext(reading->state);
	before = MemoryContextSwitchTo(GetPerTupleMemoryContext(reading->state));
	if (read_columns(reading, tuple, value, is_null) && !is_null[HYBRID_EDGE_SOURCE] &&
	    !is_null[HYBRID_EDGE_TARGET])
	{
		is_edge = true;
		edge->source =
			hybrid_edge_node(value[HYBRID_EDGE_SOURCE], copy->base_type[HYBRID_EDGE_SOURCE]);
		edge->target =
			hybrid_edge_node(value[HYBRID_EDGE_TARGET], copy->base_type[HYBRID_EDGE_TARGET]);
		edge->weight = 1;
		if (copy->key.columns > HYBRID_EDGE_WEIGHT)
			edge->weight =
				hybrid_edge_weight(value[HYBRID_EDGE_WEIGHT], is_null[HYBRID_EDGE_WEIGHT],
			                       copy->base_type[HYBRID_EDGE_WEIGHT], edge, &place);
		/* check the type last: an invalid weight raises an error even if the type is not wanted */
		if (reading->wanted.name != NULL)
			is_edge = hybrid_is_wanted(&reading->wanted, value[HYBRID_EDGE_TYPE],
			                           is_null[HYBRID_EDGE_TYPE]);
	}
	MemoryContextSwitchTo(before);
	return is_edge;
}

/*
 * read_columns: read the columns of the index from a row. Returns false if the predicate of the index
 * excludes the row.
 */
static bool
read_columns(Reading *reading, HeapTuple tuple, Datum *value, bool *is_null)
{
	const IndexInfo *info = reading->info;
	bool included;
	int i;

	if (reading->plain)
	{
		TupleDesc columns = RelationGetDescr(reading->from->table);

		for (i = 0; i < info->ii_NumIndexAttrs; i++)
			value[i] = heap_getattr(tuple, info->ii_IndexAttrNumbers[i], columns, &is_null[i]);
		return true;
	}
	ExecStoreHeapTuple(tuple, reading->slot, false);
	included = reading->condition == NULL ||
	           ExecQual(reading->condition, GetPerTupleExprContext(reading->state));
	if (included)
		FormIndexDatum(reading->info, reading->slot, reading->state, value, is_null);
	ExecClearTuple(reading->slot);
	return included;
}

/* append_edge: add an edge of the page that is being read. Returns false if there are too many. */
static bool
append_edge(Reading *reading, const HyEdge *edge)
{
	HybridEdges *edges = &reading->edges;

	if (edges->count == reading->most)
		return false;
	if (edges->count == reading->capacity)
	{
		const double read = (double) reading->reader.validation->read + 1;
		/* expect the same number of edges per page as so far, and 2% more */
		double expected = (double) edges->count / read * (double) reading->unread * 1.02;
		int64 capacity = edges->count + edges->count / 8 + FIRST_CAPACITY;

		if (expected > (double) capacity)
			capacity = (int64) Min(expected, (double) reading->most);
		capacity = Min(capacity, reading->most);
		if (edges->edge == NULL)
		{
			edges->edge =
				MemoryContextAllocHuge(reading->context, sizeof(HyEdge) * (Size) capacity);
			edges->origin =
				MemoryContextAllocHuge(reading->context, sizeof(uint32) * (Size) capacity);
		}
		else
		{
			edges->edge = repalloc_huge(edges->edge, sizeof(HyEdge) * (Size) capacity);
			edges->origin = repalloc_huge(edges->origin, sizeof(uint32) * (Size) capacity);
		}
		reading->capacity = capacity;
	}
	edges->edge[edges->count] = *edge;
	edges->origin[edges->count++] = reading->origin;
	return true;
}

/* begin_rows: prepare to convert the rows of a leaf. */
static void
begin_rows(Reading *reading)
{
	reading->names_rows = hybrid_registered_names_rows(reading->registered);
	reading->info = BuildIndexInfo(reading->from->index);
	reading->plain = reading->info->ii_Predicate == NIL && reading->info->ii_Expressions == NIL;
	reading->state = CreateExecutorState();
	reading->slot =
		MakeSingleTupleTableSlot(RelationGetDescr(reading->from->table), &TTSOpsHeapTuple);
	GetPerTupleExprContext(reading->state)->ecxt_scantuple = reading->slot;
	if (reading->info->ii_Predicate != NIL)
		reading->condition = ExecPrepareQual(reading->info->ii_Predicate, reading->state);
}

static void
end_rows(Reading *reading)
{
	ExecDropSingleTupleTableSlot(reading->slot);
	FreeExecutorState(reading->state);
	reading->condition = NULL;
}
