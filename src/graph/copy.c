/*
 * copy.c
 *		A session's copy of the edges of a registered graph: see copy.h.
 *
 * For each page of the table, the copy has the edges of the rows that were visible when the page was
 * read, and what proves later that a snapshot S sees the same rows there. S is the active snapshot
 * of the call that validates the copy. There are two proofs:
 *
 * 1. The visibility map said, when the copy was last validated, that all rows of the page are visible
 *    to everyone, and the bit was not cleared since. A bit that is cleared leaves the LSN of the
 *    map's page as it is, but setting it again changes the LSN. So a bit that was set and is set,
 *    with the same LSN, was never cleared. The map is copied before any page is read, so it never
 *    vouches for rows that are older than it.
 * 2. The page has the LSN that it had when it was read, so it holds the same rows. And S judges them
 *    as the snapshot R of that read did, because all transactions on the page had ended both for R and
 *    for S: their IDs precede the xmin of R (the page is settled) and of S. The LSN alone proves
 *    nothing, since a transaction ends without a change to the page. S may be older than R, so the
 *    test for R does not cover S. The IDs include the updaters in multixacts.
 *
 * A change whose LSN is not on the page yet belongs to a transaction that S does not see. So the LSN
 * is read without a lock on the contents of the page. When a page is read, the LSN is taken after
 * its rows are judged, under the same lock: judging sets hint bits, which can change the LSN.
 *
 * An error or a cancel leaves each page either as it was, read again, or unread. The map is replaced
 * only when all pages are validated. The older map is correct, too: it says which pages have not
 * changed since an earlier time.
 *
 * Proofs need LSNs that grow. hybrid_registered_may_copy() excludes the other tables.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/htup_details.h"
#include "access/transam.h"
#include "access/visibilitymap.h"
#include "catalog/index.h"
#include "catalog/pg_type.h"
#include "common/hashfn.h"
#include "executor/executor.h"
#include "graph/arguments.h"
#include "graph/copy.h"
#include "graph/edge.h"
#include "lib/ilist.h"
#include "miscadmin.h"
#include "server/settings.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

/* the layout of the visibility map, as in visibilitymap.c */
#define MAP_BYTES (BLCKSZ - MAXALIGN(SizeOfPageHeaderData))
#define PAGES_PER_BYTE (BITS_PER_BYTE / BITS_PER_HEAPBLOCK)
#define PAGES_PER_MAP_PAGE (MAP_BYTES * PAGES_PER_BYTE)

/* pages whose bits are compared at once */
#define PAGES_PER_WORD (sizeof(uint64) * PAGES_PER_BYTE)
#define ALL_VISIBLE_WORD UINT64CONST(0x5555555555555555)

#define NO_TYPE 0
#define FIRST_PAGES 64

/* CopyRow: a row of the table that is an edge. */
typedef struct CopyRow
{
	int64 source;
	int64 target;
	float weight;
	uint32 type; /* number of the type, NO_TYPE for NULL */
} CopyRow;

typedef enum CopyState
{
	COPY_UNREAD = 0,
	COPY_SETTLED,  /* all transactions on the page had ended for the snapshot that judged them */
	COPY_UNSETTLED /* not so: only the visibility map can prove that the page is unchanged */
} CopyState;

/* CopyPage: a page of the table. */
typedef struct CopyPage
{
	XLogRecPtr lsn;
	CopyRow *rows;        /* NULL if there are none */
	Buffer buffer;        /* where the page was last; a hint */
	TransactionId newest; /* newest transaction on it whose end matters, or InvalidTransactionId */
	uint16 count;
	uint8 state;
} CopyPage;

/* MapPage: a copy of a page of the visibility map. */
typedef struct MapPage
{
	bool present;
	XLogRecPtr lsn;
	uint8 bits[MAP_BYTES];
} MapPage;

typedef struct CopyType
{
	text *name;
	uint32 number;
} CopyType;

/* CopyGraph: a graph that was built from the copy. */
typedef struct CopyGraph
{
	dlist_node node;
	HybridGraph *graph;
	HyDirection direction;
	HyMerge merge;
	bytea *types; /* NULL: all */
	uint64 version;
} CopyGraph;

struct HybridCopy
{
	dlist_node node;
	MemoryContext context; /* all memory of the copy */
	MemoryContext row_context;
	Oid index;
	RelFileNode storage; /* of the table */
	int columns;
	Oid type[HYBRID_EDGE_COLUMNS];
	Oid base_type[HYBRID_EDGE_COLUMNS];
	bool in_use;       /* by a call that is reading pages */
	BlockNumber pages; /* number of entries of page in use */
	BlockNumber room;
	BlockNumber unread; /* entries in use that are COPY_UNREAD */
	CopyPage *page;
	BlockNumber map_pages;
	MapPage *map;   /* as of the last complete validation */
	MapPage *fresh; /* as of the validation in progress */
	HTAB *types;
	uint64 version;    /* grows with each change of the edges */
	dlist_head graphs; /* the last used first */
};

/* Reading: a validation in progress. */
typedef struct Reading
{
	HybridCopy *copy;
	const HybridRegistered *graph;
	Snapshot snapshot;
	HybridValidation *validation;
	BufferAccessStrategy strategy;
	IndexInfo *info;
	EState *state;   /* NULL until a page is read */
	bool names_rows; /* whether errors name the ctid of a row */
	ExprState *condition;
	TupleTableSlot *slot;
	CopyRow row[MaxHeapTuplesPerPage];
} Reading;

static dlist_head copies = DLIST_STATIC_INIT(copies); /* the last used first */
static MemoryContext all_context = NULL;              /* parent of the memory of all copies */

static HybridCopy *find_copy(const HybridRegistered *graph);
static HybridCopy *make_copy(const HybridRegistered *graph);
static void drop_copy(HybridCopy *copy);
static bool fit(HybridCopy *copy, Size more);
static bool validate(Reading *reading);
static void make_room(HybridCopy *copy, BlockNumber pages);
static void read_map(Reading *reading, BlockNumber map_pages);
static void cut(HybridCopy *copy, BlockNumber pages);
static bool validate_map_page(Reading *reading, BlockNumber number, BlockNumber pages);
static bool is_unchanged(Reading *reading, BlockNumber block);
static void read_page(Reading *reading, BlockNumber block);
static TransactionId newest_of(HeapTupleHeader row, TransactionId newest);
static bool read_row(Reading *reading, HeapTuple tuple, CopyRow *row);
static void begin_rows(Reading *reading);
static void end_rows(Reading *reading);
static void replace_rows(HybridCopy *copy, BlockNumber block, const CopyRow *row, int count);
static uint32 type_number(HybridCopy *copy, text *name);
static uint32 hash_type(const void *key, Size size);
static int match_type(const void *a, const void *b, Size size);
static bool *wanted_types(HybridCopy *copy, ArrayType *types);
static HybridGraph *find_graph(HybridCopy *copy, const HybridEdgesQuery *query);
static void add_graph(HybridCopy *copy, const HybridEdgesQuery *query, HybridGraph *graph);
static bool same_types(const bytea *kept, const ArrayType *types);
static void drop_graph(CopyGraph *kept);

HybridCopy *
hybrid_copy_open(const HybridRegistered *graph, HybridValidation *validation)
{
	HybridCopy *copy = find_copy(graph);
	Reading *reading;
	bool complete = false;

	memset(validation, 0, sizeof(*validation));
	if (copy == NULL)
		copy = make_copy(graph);
	/* nested in a call that is reading pages, by a function behind an operator of the predicate */
	if (copy->in_use)
		return NULL;
	reading = palloc0(sizeof(Reading));
	reading->copy = copy;
	reading->graph = graph;
	reading->snapshot = GetActiveSnapshot();
	reading->validation = validation;
	copy->in_use = true;
	PG_TRY();
	{
		complete = validate(reading);
	}
	PG_FINALLY();
	{
		copy->in_use = false;
	}
	PG_END_TRY();
	end_rows(reading);
	pfree(reading);
	if (complete)
		return copy;
	drop_copy(copy);
	return NULL;
}

void
hybrid_copy_edges(HybridCopy *copy, ArrayType *types, HyDirection direction, HybridEdges *edges)
{
	bool *wanted = types == NULL ? NULL : wanted_types(copy, types);
	int64 most = hybrid_most_edges(direction);
	int64 count = 0;
	BlockNumber block;
	int i;

	memset(edges, 0, sizeof(*edges));
	for (block = 0; block < copy->pages; block++)
	{
		const CopyPage *page = &copy->page[block];

		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < page->count; i++)
			count += wanted == NULL || wanted[page->rows[i].type];
	}
	if (count > most)
		hybrid_report_most_edges(most);
	edges->edge =
		MemoryContextAllocHuge(CurrentMemoryContext, sizeof(HyEdge) * (Size) Max(count, 1));
	for (block = 0; block < copy->pages; block++)
	{
		const CopyPage *page = &copy->page[block];

		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < page->count; i++)
		{
			const CopyRow *row = &page->rows[i];

			if (wanted == NULL || wanted[row->type])
				edges->edge[edges->count++] = (HyEdge){row->source, row->target, row->weight};
		}
	}
}

HybridGraph *
hybrid_copy_graph(HybridCopy *copy, const HybridEdgesQuery *query)
{
	HybridGraph *graph = find_graph(copy, query);
	HybridEdges edges;

	if (graph != NULL)
		return graph;
	hybrid_copy_edges(copy, query->types, query->direction, &edges);
	graph = hybrid_graph_build(&edges, query->direction, query->merge);
	if (fit(copy, MemoryContextMemAllocated(graph->context, true)))
		add_graph(copy, query, graph);
	else if (!fit(copy, 0))
		drop_copy(copy);
	return graph;
}

/* find_copy: return the copy of the graph, or NULL if there is none that could be validated. */
static HybridCopy *
find_copy(const HybridRegistered *graph)
{
	TupleDesc columns = RelationGetDescr(graph->index);
	dlist_iter at;
	int i;

	dlist_foreach(at, &copies)
	{
		HybridCopy *copy = dlist_container(HybridCopy, node, at.cur);
		bool same = RelFileNodeEquals(copy->storage, graph->table->rd_node);

		if (copy->index != RelationGetRelid(graph->index))
			continue;
		for (i = 0; i < copy->columns; i++)
			same = same && copy->type[i] == TupleDescAttr(columns, i)->atttypid;
		if (!same && !copy->in_use)
		{
			drop_copy(copy);
			return NULL;
		}
		dlist_move_head(&copies, &copy->node);
		return copy;
	}
	return NULL;
}

/* make_copy: make an empty copy. Drops copies of indexes that are gone. */
static HybridCopy *
make_copy(const HybridRegistered *graph)
{
	TupleDesc columns = RelationGetDescr(graph->index);
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
		if (!copy->in_use && !SearchSysCacheExists1(RELOID, ObjectIdGetDatum(copy->index)))
			drop_copy(copy);
	}

	context = AllocSetContextCreate(all_context, "hybrid graph copy", ALLOCSET_DEFAULT_SIZES);
	copy = MemoryContextAllocZero(context, sizeof(HybridCopy));
	copy->context = context;
	copy->row_context =
		GenerationContextCreate(context, "hybrid graph copy rows", ALLOCSET_DEFAULT_SIZES);
	copy->index = RelationGetRelid(graph->index);
	copy->storage = graph->table->rd_node;
	copy->columns = columns->natts;
	for (i = 0; i < columns->natts; i++)
	{
		copy->type[i] = TupleDescAttr(columns, i)->atttypid;
		copy->base_type[i] = hybrid_edge_type((enum HybridEdgeColumn) i, copy->type[i]);
	}
	dlist_init(&copy->graphs);
	dlist_push_head(&copies, &copy->node);
	return copy;
}

static void
drop_copy(HybridCopy *copy)
{
	dlist_delete(&copy->node);
	MemoryContextDelete(copy->context);
}

/*
 * fit: return whether all copies together with more bytes fit the memory limit. Drops other copies
 * and then graphs of this copy until they do, the least recently used first.
 */
static bool
fit(HybridCopy *copy, Size more)
{
	Size limit = (Size) hybrid_graph_memory_limit * 1024;
	dlist_iter at;

	while (MemoryContextMemAllocated(all_context, true) + more > limit)
	{
		HybridCopy *victim = NULL;

		dlist_reverse_foreach(at, &copies)
		{
			victim = dlist_container(HybridCopy, node, at.cur);
			if (victim != copy && !victim->in_use)
				break;
			victim = NULL;
		}
		if (victim != NULL)
			drop_copy(victim);
		else if (!dlist_is_empty(&copy->graphs))
			drop_graph(dlist_container(CopyGraph, node, dlist_tail_node(&copy->graphs)));
		else
			return false;
	}
	return true;
}

/*
 * validate: bring the copy up to date for the snapshot. Returns false if it does not fit the memory
 * limit.
 */
static bool
validate(Reading *reading)
{
	HybridCopy *copy = reading->copy;
	BlockNumber pages = RelationGetNumberOfBlocks(reading->graph->table);
	BlockNumber map_pages = pages / PAGES_PER_MAP_PAGE + (pages % PAGES_PER_MAP_PAGE > 0);
	BlockNumber number;
	MapPage *before;

	/* pages that VACUUM has cut off */
	cut(copy, pages);
	make_room(copy, pages);
	read_map(reading, map_pages);
	/* reading a large table must not displace what others have in shared buffers */
	if (pages > (BlockNumber) NBuffers / 4)
		reading->strategy = GetAccessStrategy(BAS_BULKREAD);
	for (number = 0; number < map_pages; number++)
	{
		if (!validate_map_page(reading, number, pages))
			return false;
	}
	before = copy->map;
	copy->map = copy->fresh;
	copy->fresh = before;
	return true;
}

/* make_room: make entries for this many pages, and for their pages of the visibility map. */
static void
make_room(HybridCopy *copy, BlockNumber pages)
{
	if (pages > copy->room)
	{
		BlockNumber room = Max(pages, FIRST_PAGES);

		if (copy->room > 0)
			room += Min(room / 8, MaxBlockNumber - room);
		if (copy->page == NULL)
			copy->page = MemoryContextAllocHuge(copy->context, sizeof(CopyPage) * (Size) room);
		else
			copy->page = repalloc_huge(copy->page, sizeof(CopyPage) * (Size) room);
		copy->room = room;
	}
	if (pages > copy->pages)
	{
		memset(copy->page + copy->pages, 0, sizeof(CopyPage) * (Size) (pages - copy->pages));
		copy->unread += pages - copy->pages;
		copy->pages = pages;
	}
}

/* read_map: copy this many pages of the visibility map, those that exist, into fresh. */
static void
read_map(Reading *reading, BlockNumber map_pages)
{
	HybridCopy *copy = reading->copy;
	Buffer buffer = InvalidBuffer;
	BlockNumber number;

	if (map_pages > copy->map_pages)
	{
		MapPage *map = MemoryContextAllocExtended(copy->context, sizeof(MapPage) * (Size) map_pages,
		                                          MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
		MapPage *fresh = MemoryContextAllocExtended(
			copy->context, sizeof(MapPage) * (Size) map_pages, MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);

		if (copy->map_pages > 0)
		{
			memcpy(map, copy->map, sizeof(MapPage) * (Size) copy->map_pages);
			pfree(copy->map);
			pfree(copy->fresh);
		}
		copy->map = map;
		copy->fresh = fresh;
		copy->map_pages = map_pages;
	}
	for (number = 0; number < copy->map_pages; number++)
	{
		MapPage *to = &copy->fresh[number];

		CHECK_FOR_INTERRUPTS();
		to->present = false;
		if (number >= map_pages)
			continue;
		/* pins the page of the map if it exists */
		(void) visibilitymap_get_status(reading->graph->table, number * PAGES_PER_MAP_PAGE,
		                                &buffer);
		if (!BufferIsValid(buffer))
			continue;
		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		memcpy(to->bits, PageGetContents(BufferGetPage(buffer)), MAP_BYTES);
		to->lsn = BufferGetLSNAtomic(buffer);
		LockBuffer(buffer, BUFFER_LOCK_UNLOCK);
		to->present = true;
	}
	if (BufferIsValid(buffer))
		ReleaseBuffer(buffer);
}

/* cut: remove the pages from number pages on. */
static void
cut(HybridCopy *copy, BlockNumber pages)
{
	while (copy->pages > pages)
	{
		BlockNumber last = copy->pages - 1;

		replace_rows(copy, last, NULL, 0);
		if (copy->page[last].state == COPY_UNREAD)
			copy->unread--;
		copy->pages = last;
	}
}

/*
 * validate_map_page: validate the pages of the table, of which there are pages, that this page of
 * the visibility map covers. Returns false if the copy does not fit the memory limit.
 */
static bool
validate_map_page(Reading *reading, BlockNumber number, BlockNumber pages)
{
	HybridCopy *copy = reading->copy;
	HybridValidation *validation = reading->validation;
	const MapPage *was = &copy->map[number];
	const MapPage *is = &copy->fresh[number];
	BlockNumber first = number * PAGES_PER_MAP_PAGE;
	BlockNumber count = Min(pages - first, PAGES_PER_MAP_PAGE);
	bool same = was->present && is->present && was->lsn == is->lsn;
	BlockNumber i = 0;

	while (i < count)
	{
		uint32 byte = i / PAGES_PER_BYTE;

		CHECK_FOR_INTERRUPTS();
		if (same && copy->unread == 0 && i % PAGES_PER_WORD == 0 && count - i >= PAGES_PER_WORD)
		{
			uint64 word, before;

			memcpy(&word, &is->bits[byte], sizeof(word));
			memcpy(&before, &was->bits[byte], sizeof(before));
			if ((word & before & ALL_VISIBLE_WORD) == ALL_VISIBLE_WORD)
			{
				validation->by_map += PAGES_PER_WORD;
				i += PAGES_PER_WORD;
				continue;
			}
		}
		if (same && copy->page[first + i].state != COPY_UNREAD &&
		    ((is->bits[byte] & was->bits[byte]) >> (i % PAGES_PER_BYTE * BITS_PER_HEAPBLOCK) &
		     VISIBILITYMAP_ALL_VISIBLE) != 0)
			validation->by_map++;
		else if (is_unchanged(reading, first + i))
			validation->by_lsn++;
		else
		{
			read_page(reading, first + i);
			validation->read++;
			if (!fit(copy, 0))
				return false;
		}
		i++;
	}
	return true;
}

/* is_unchanged: return whether the LSN of a page proves that the snapshot sees the copied rows. */
static bool
is_unchanged(Reading *reading, BlockNumber block)
{
	Relation table = reading->graph->table;
	CopyPage *page = &reading->copy->page[block];
	Buffer buffer = page->buffer;
	XLogRecPtr lsn;

	if (page->state != COPY_SETTLED)
		return false;
	if (TransactionIdIsNormal(page->newest) &&
	    !TransactionIdPrecedes(page->newest, reading->snapshot->xmin))
		return false;
	if (!BufferIsValid(buffer) || !ReadRecentBuffer(table->rd_node, MAIN_FORKNUM, block, buffer))
		buffer = ReadBufferExtended(table, MAIN_FORKNUM, block, RBM_NORMAL, reading->strategy);
	lsn = BufferGetLSNAtomic(buffer);
	ReleaseBuffer(buffer);
	page->buffer = buffer;
	return lsn == page->lsn;
}

/* read_page: read the rows of a page that the snapshot sees. */
static void
read_page(Reading *reading, BlockNumber block)
{
	HybridCopy *copy = reading->copy;
	Relation table = reading->graph->table;
	CopyPage *page = &copy->page[block];
	OffsetNumber visible[MaxHeapTuplesPerPage];
	TransactionId newest = InvalidTransactionId;
	HeapTupleData row = {.t_tableOid = RelationGetRelid(table)};
	Buffer buffer;
	Page contents;
	XLogRecPtr lsn;
	OffsetNumber last;
	OffsetNumber at;
	int visible_count = 0;
	int count = 0;
	int i;

	if (page->state != COPY_UNREAD)
		copy->unread++;
	page->state = COPY_UNREAD;
	begin_rows(reading);

	buffer = ReadBufferExtended(table, MAIN_FORKNUM, block, RBM_NORMAL, reading->strategy);
	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	contents = BufferGetPage(buffer);
	last = PageIsNew(contents) ? InvalidOffsetNumber : PageGetMaxOffsetNumber(contents);
	for (at = FirstOffsetNumber; at <= last; at++)
	{
		ItemId item = PageGetItemId(contents, at);

		if (!ItemIdIsNormal(item))
			continue;
		row.t_data = (HeapTupleHeader) PageGetItem(contents, item);
		row.t_len = ItemIdGetLength(item);
		ItemPointerSet(&row.t_self, block, at);
		if (HeapTupleSatisfiesVisibility(&row, reading->snapshot, buffer))
			visible[visible_count++] = at;
		newest = newest_of(row.t_data, newest);
	}
	lsn = BufferGetLSNAtomic(buffer);
	LockBuffer(buffer, BUFFER_LOCK_UNLOCK);

	/* a visible row stays where it is while the page is pinned */
	for (i = 0; i < visible_count; i++)
	{
		ItemId item = PageGetItemId(contents, visible[i]);

		row.t_data = (HeapTupleHeader) PageGetItem(contents, item);
		row.t_len = ItemIdGetLength(item);
		ItemPointerSet(&row.t_self, block, visible[i]);
		if (read_row(reading, &row, &reading->row[count]))
			count++;
	}
	ReleaseBuffer(buffer);

	replace_rows(copy, block, reading->row, count);
	page->lsn = lsn;
	page->buffer = buffer;
	page->newest = newest;
	page->state =
		!TransactionIdIsNormal(newest) || TransactionIdPrecedes(newest, reading->snapshot->xmin)
			? COPY_SETTLED
			: COPY_UNSETTLED;
	copy->unread--;
}

/*
 * newest_of: return the newer of newest and the transactions whose end decides whether a snapshot
 * sees the row.
 */
static TransactionId
newest_of(HeapTupleHeader row, TransactionId newest)
{
	TransactionId ids[3] = {InvalidTransactionId, InvalidTransactionId, InvalidTransactionId};
	int i;

	if (!HeapTupleHeaderXminFrozen(row) && !HeapTupleHeaderXminInvalid(row))
		ids[0] = HeapTupleHeaderGetRawXmin(row);
	/* of a multixact, only the transaction that updates or deletes the row */
	if ((row->t_infomask & HEAP_XMAX_INVALID) == 0 && !HEAP_XMAX_IS_LOCKED_ONLY(row->t_infomask))
		ids[1] = HeapTupleHeaderGetUpdateXid(row);
	if ((row->t_infomask & HEAP_MOVED) != 0)
		ids[2] = HeapTupleHeaderGetXvac(row);
	for (i = 0; i < (int) lengthof(ids); i++)
	{
		if (TransactionIdIsNormal(ids[i]) &&
		    (!TransactionIdIsNormal(newest) || TransactionIdFollows(ids[i], newest)))
			newest = ids[i];
	}
	return newest;
}

/* read_row: convert a row of the table. Returns false if it is no edge of the graph. */
static bool
read_row(Reading *reading, HeapTuple tuple, CopyRow *row)
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
	ExecStoreHeapTuple(tuple, reading->slot, false);
	if (reading->condition == NULL ||
	    ExecQual(reading->condition, GetPerTupleExprContext(reading->state)))
	{
		FormIndexDatum(reading->info, reading->slot, reading->state, value, is_null);
		is_edge = !is_null[HYBRID_EDGE_SOURCE] && !is_null[HYBRID_EDGE_TARGET];
	}
	if (is_edge)
	{
		HyEdge edge;

		edge.source =
			hybrid_edge_node(value[HYBRID_EDGE_SOURCE], copy->base_type[HYBRID_EDGE_SOURCE]);
		edge.target =
			hybrid_edge_node(value[HYBRID_EDGE_TARGET], copy->base_type[HYBRID_EDGE_TARGET]);
		edge.weight = 1;
		if (copy->columns > HYBRID_EDGE_WEIGHT)
			edge.weight = hybrid_edge_weight(value[HYBRID_EDGE_WEIGHT], is_null[HYBRID_EDGE_WEIGHT],
			                                 copy->base_type[HYBRID_EDGE_WEIGHT], &edge, &place);
		*row = (CopyRow){edge.source, edge.target, edge.weight, NO_TYPE};
		if (copy->columns > HYBRID_EDGE_TYPE && !is_null[HYBRID_EDGE_TYPE])
			row->type = type_number(copy, DatumGetTextPP(value[HYBRID_EDGE_TYPE]));
	}
	ExecClearTuple(reading->slot);
	MemoryContextSwitchTo(before);
	return is_edge;
}

/* begin_rows: prepare to convert rows, unless this was done. */
static void
begin_rows(Reading *reading)
{
	if (reading->state != NULL)
		return;
	reading->names_rows = hybrid_registered_names_rows(reading->graph);
	reading->info = BuildIndexInfo(reading->graph->index);
	reading->state = CreateExecutorState();
	reading->slot =
		MakeSingleTupleTableSlot(RelationGetDescr(reading->graph->table), &TTSOpsHeapTuple);
	GetPerTupleExprContext(reading->state)->ecxt_scantuple = reading->slot;
	if (reading->info->ii_Predicate != NIL)
		reading->condition = ExecPrepareQual(reading->info->ii_Predicate, reading->state);
}

static void
end_rows(Reading *reading)
{
	if (reading->strategy != NULL)
		FreeAccessStrategy(reading->strategy);
	if (reading->state == NULL)
		return;
	ExecDropSingleTupleTableSlot(reading->slot);
	FreeExecutorState(reading->state);
}

/* replace_rows: replace the rows of a page, if they differ. */
static void
replace_rows(HybridCopy *copy, BlockNumber block, const CopyRow *row, int count)
{
	CopyPage *page = &copy->page[block];
	CopyRow *rows = NULL;

	if (page->count == count &&
	    (count == 0 || memcmp(page->rows, row, sizeof(CopyRow) * (Size) count) == 0))
		return;
	if (count > 0)
	{
		rows = MemoryContextAlloc(copy->row_context, sizeof(CopyRow) * (Size) count);
		memcpy(rows, row, sizeof(CopyRow) * (Size) count);
	}
	copy->version++;
	if (page->rows != NULL)
		pfree(page->rows);
	page->rows = rows;
	page->count = (uint16) count;
}

/* type_number: return the number of a type, a new one if no row had this type before. */
static uint32
type_number(HybridCopy *copy, text *name)
{
	CopyType *type;
	Size size = VARSIZE_ANY(name);
	text *kept;

	if (copy->types == NULL)
	{
		HASHCTL control = {.keysize = sizeof(text *),
		                   .entrysize = sizeof(CopyType),
		                   .hash = hash_type,
		                   .match = match_type,
		                   .hcxt = copy->context};

		copy->types = hash_create("hybrid graph types", 16, &control,
		                          HASH_ELEM | HASH_FUNCTION | HASH_COMPARE | HASH_CONTEXT);
	}
	type = hash_search(copy->types, &name, HASH_FIND, NULL);
	if (type != NULL)
		return type->number;
	kept = MemoryContextAlloc(copy->context, size);
	memcpy(kept, name, size);
	type = hash_search(copy->types, &kept, HASH_ENTER, NULL);
	type->number = (uint32) hash_get_num_entries(copy->types);
	return type->number;
}

static uint32
hash_type(const void *key, Size size)
{
	const text *name = *(text *const *) key;

	(void) size;
	return hash_bytes((const unsigned char *) VARDATA_ANY(name), (int) VARSIZE_ANY_EXHDR(name));
}

static int
match_type(const void *a, const void *b, Size size)
{
	(void) size;
	return hybrid_compare_texts(a, b);
}

/* wanted_types: return for each number of a type whether the array contains the type. */
static bool *
wanted_types(HybridCopy *copy, ArrayType *types)
{
	long known = copy->types == NULL ? 0 : hash_get_num_entries(copy->types);
	bool *wanted = palloc0(sizeof(bool) * (Size) (known + 1));
	Datum *name;
	int count;
	int i;

	hybrid_check_array(types, "types");
	if (copy->columns <= HYBRID_EDGE_TYPE)
		hybrid_report_no_type(true);
	deconstruct_array(types, TEXTOID, -1, false, TYPALIGN_INT, &name, NULL, &count);
	for (i = 0; known > 0 && i < count; i++)
	{
		text *key = DatumGetTextPP(name[i]);
		const CopyType *type = hash_search(copy->types, &key, HASH_FIND, NULL);

		CHECK_FOR_INTERRUPTS();
		if (type != NULL)
			wanted[type->number] = true;
	}
	return wanted;
}

/* find_graph: return the graph that was built for this query from these edges, or NULL. */
static HybridGraph *
find_graph(HybridCopy *copy, const HybridEdgesQuery *query)
{
	HybridGraph *found = NULL;
	dlist_mutable_iter at;

	dlist_foreach_modify(at, &copy->graphs)
	{
		CopyGraph *kept = dlist_container(CopyGraph, node, at.cur);

		if (kept->version != copy->version)
			drop_graph(kept);
		else if (found == NULL && kept->direction == query->direction &&
		         kept->merge == query->merge && same_types(kept->types, query->types))
		{
			found = kept->graph;
			dlist_move_head(&copy->graphs, &kept->node);
		}
	}
	return found;
}

static bool
same_types(const bytea *kept, const ArrayType *types)
{
	if (kept == NULL || types == NULL)
		return kept == NULL && types == NULL;
	return VARSIZE(kept) == VARSIZE(types) && memcmp(kept, types, VARSIZE(types)) == 0;
}

/* add_graph: keep the graph with the copy. */
static void
add_graph(HybridCopy *copy, const HybridEdgesQuery *query, HybridGraph *graph)
{
	CopyGraph *kept = MemoryContextAllocZero(graph->context, sizeof(CopyGraph));

	if (query->types != NULL)
	{
		kept->types = MemoryContextAlloc(graph->context, VARSIZE(query->types));
		memcpy(kept->types, query->types, VARSIZE(query->types));
	}
	kept->graph = graph;
	kept->direction = query->direction;
	kept->merge = query->merge;
	kept->version = copy->version;
	MemoryContextSetParent(graph->context, copy->context);
	hybrid_graph_keep(graph);
	dlist_push_head(&copy->graphs, &kept->node);
}

static void
drop_graph(CopyGraph *kept)
{
	dlist_delete(&kept->node);
	MemoryContextDelete(kept->graph->context);
}
