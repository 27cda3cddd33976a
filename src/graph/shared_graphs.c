/*
 * shared_graphs.c
 *		Graphs in shared memory: see shared_graphs.h.
 *
 * The memory is requested when the server starts. It has the same address in all processes, so it can hold
 * pointers to its own parts. Each graph takes one contiguous stretch. There are few graphs, so the search for a
 * free stretch looks at all of them. (PostgreSQL's dynamic shared areas would scatter small blocks of their own
 * over the memory. With them, a graph half as large as the memory found no space.)
 *
 * One lock guards the table of graphs. A graph is freed when it is no longer current and no session uses it. A
 * session withdraws from a graph when it drops its copy, at the latest when it exits. If a session is killed, the
 * postmaster creates all shared memory again.
 */
#include "postgres.h"

#include "core/csr_copy.h"
#include "graph/shared_graphs.h"
#include "miscadmin.h"
#include "server/memory.h"
#include "server/settings.h"
#include "server/shared_memory.h"
#include "storage/ipc.h"
#include "storage/lwlock.h"
#include "storage/shmem.h"
#include "utils/memutils.h"

/* SharedGraph: an entry of the table. */
typedef struct SharedGraph
{
	char *memory; /* the arrays, the types and the pages */
	Size bytes;   /* 0: no entry */
	HybridCopyKey key;
	const ArrayType *types; /* NULL: all */
	HyCsr csr;
	HyOrigins origins;
	const char *pages;
	bool is_current; /* other sessions may take it */
	int64 sessions;  /* number of sessions that use it or build it */
	uint64 number;   /* serial number */
	uint64 last_use;
} SharedGraph;

typedef struct Table
{
	pg_atomic_uint64 private_bytes; /* bytes of the private copies of all sessions */
	uint64 uses;
	SharedGraph graph[HYBRID_SHARED_GRAPHS];
} Table;

static Table *table;
static LWLock *lock;
static char *area;
static bool attached;                             /* end_session will be called */
static uint64 counted;                            /* this session's part of private_bytes */
static dlist_head used = DLIST_STATIC_INIT(used); /* this session's graphs with shared arrays */

static Size memory_bytes(void);
static Size area_bytes(void);
static void start_memory(void *memory, LWLockPadded *locks, bool is_new);
static bool attach(void);
static void end_session(int code, Datum arg);
static SharedGraph *find(const HybridCopyKey *key, const ArrayType *types);
static SharedGraph *reserve(Size bytes);
static char *find_room(Size bytes, bool evicted);
static bool evict(void);
static void retire(SharedGraph *shared);
static void use(HybridGraph *graph, SharedGraph *shared);
static void withdraw(HybridGraph *graph);
static void forget(void *arg);
static void *take_array(void *arg, size_t size);
static void free_nothing(void *arg, void *pointer);

void
hybrid_shared_graphs_init(void)
{
	static const HybridSharedPart part = {"hybrid graphs", 1, memory_bytes, start_memory};

	hybrid_request_shared(&part);
}

HybridGraph *
hybrid_shared_graph_take(const HybridCopyKey *key, const ArrayType *types, MemoryContext context,
                         HybridPages *pages)
{
	HybridGraph *graph;
	SharedGraph *shared;

	if (!attach())
		return NULL;
	/* an error frees the graph, and the callback `forget` withdraws from the shared graph */
	graph = hybrid_graph_make(CurrentMemoryContext);
	LWLockAcquire(lock, LW_EXCLUSIVE);
	shared = find(key, types);
	if (shared != NULL)
		use(graph, shared);
	LWLockRelease(lock);
	if (shared == NULL)
	{
		MemoryContextDelete(graph->context);
		return NULL;
	}
	hybrid_pages_load(pages, shared->pages);
	MemoryContextSetParent(graph->context, context);
	hybrid_graph_keep(graph);
	return graph;
}

void
hybrid_shared_graph_offer(const HybridCopyKey *key, const ArrayType *types, HybridGraph *graph,
                          const HybridPages *pages)
{
	const HyAllocator own = hybrid_allocator(graph->context);
	const Size arrays = hy_csr_copy_bytes(&graph->csr, &graph->origins);
	const Size type_bytes = types == NULL ? 0 : MAXALIGN(VARSIZE(types));
	/* rounded up, so that every stretch is aligned */
	const Size bytes =
		TYPEALIGN(HY_CSR_COPY_ALIGN, arrays + type_bytes + hybrid_pages_bytes(pages));
	char *next; /* the part of the stretch that is still free */
	const HyAllocator from_stretch = {take_array, free_nothing, &next};
	HyCsr csr = graph->csr;
	HyOrigins origins = graph->origins;
	const bool was_shared = graph->shared != NULL;
	SharedGraph *shared;
	SharedGraph *old;

	if (!attach())
		return;
	LWLockAcquire(lock, LW_EXCLUSIVE);
	shared = reserve(bytes);
	LWLockRelease(lock);
	if (shared == NULL)
		return;

	/* no other session uses the entry yet, and nothing below raises an error */
	next = shared->memory;
	(void) hy_csr_copy(&csr, &origins, &from_stretch, &shared->csr, &shared->origins);
	if (types != NULL)
	{
		memcpy(next, types, VARSIZE(types));
		shared->types = (const ArrayType *) next;
		next += type_bytes;
	}
	hybrid_pages_store(pages, next);
	shared->pages = next;

	if (was_shared)
		withdraw(graph);
	LWLockAcquire(lock, LW_EXCLUSIVE);
	old = find(key, types);
	if (old != NULL)
		retire(old);
	shared->key = *key;
	shared->is_current = true;
	shared->sessions = 0;
	shared->number = ++table->uses;
	use(graph, shared);
	LWLockRelease(lock);
	if (was_shared)
		return;
	hy_csr_free(&csr, &own);
	hy_origins_free(&origins, &own);
}

bool
hybrid_shared_graph_is_newer(const HybridCopyKey *key, const ArrayType *types,
                             const HybridGraph *graph)
{
	const SharedGraph *shared;
	bool is_newer;

	if (!attach() || graph->shared != NULL)
		return false;
	LWLockAcquire(lock, LW_SHARED);
	shared = find(key, types);
	is_newer = shared != NULL && shared->number != graph->left;
	LWLockRelease(lock);
	return is_newer;
}

HyStatus
hybrid_shared_graph_leave(HybridGraph *graph)
{
	const HyAllocator own = hybrid_allocator(graph->context);
	HyOrigins origins;
	HyCsr csr;
	HyStatus status;

	if (graph->shared == NULL)
		return HY_OK;
	status = hy_csr_copy(&graph->csr, &graph->origins, &own, &csr, &origins);
	if (status != HY_OK)
		return status;
	graph->left = graph->shared->number;
	withdraw(graph);
	graph->csr = csr;
	graph->origins = origins;
	return HY_OK;
}

int
hybrid_shared_graphs_list(HybridSharedGraphInfo *info, int most)
{
	int count = 0;
	int i;

	if (!attach())
		return 0;
	LWLockAcquire(lock, LW_SHARED);
	for (i = 0; i < HYBRID_SHARED_GRAPHS && count < most; i++)
	{
		const SharedGraph *shared = &table->graph[i];

		/* an entry that is being built has no key, so its database is 0 */
		if (shared->bytes > 0 && shared->key.database == MyDatabaseId)
			info[count++] = (HybridSharedGraphInfo){.key = shared->key,
			                                        .all_types = shared->types == NULL,
			                                        .nodes = shared->csr.nodes,
			                                        .edges = shared->csr.edges,
			                                        .bytes = (int64) shared->bytes,
			                                        .sessions = shared->sessions,
			                                        .is_current = shared->is_current};
	}
	LWLockRelease(lock);
	return count;
}

uint64
hybrid_shared_graphs_count(uint64 bytes)
{
	uint64 before = counted;

	if (!attach())
		return 0;
	counted = bytes;
	/* unsigned numbers wrap, so this also subtracts */
	return pg_atomic_add_fetch_u64(&table->private_bytes, (int64) (bytes - before));
}

static Size
memory_bytes(void)
{
	return add_size(CACHELINEALIGN(sizeof(Table)), area_bytes());
}

static Size
area_bytes(void)
{
	return (Size) hybrid_graph_shared_memory * 1024;
}

static void
start_memory(void *memory, LWLockPadded *locks, bool is_new)
{
	table = memory;
	area = (char *) memory + CACHELINEALIGN(sizeof(Table));
	lock = &locks[0].lock;
	if (is_new)
	{
		memset(table, 0, sizeof(Table));
		pg_atomic_init_u64(&table->private_bytes, 0);
	}
}

/* attach: return whether there is shared memory. If so, end_session will be called when the session ends. */
static bool
attach(void)
{
	if (!attached && table != NULL)
	{
		/*
		 * All callbacks of before_shmem_exit run first. They end the threads of this session, which may still read
		 * a shared graph. They also abort the transaction, which releases the lock if this process holds it.
		 */
		on_shmem_exit(end_session, (Datum) 0);
		attached = true;
	}
	return attached;
}

static void
end_session(int code, Datum arg)
{
	(void) code;
	(void) arg;
	while (!dlist_is_empty(&used))
		withdraw(dlist_head_element(HybridGraph, shared_node, &used));
	(void) hybrid_shared_graphs_count(0);
	table = NULL;
	attached = false;
}

/* find: return the current graph of this key, or NULL if there is none. The caller holds the lock. */
static SharedGraph *
find(const HybridCopyKey *key, const ArrayType *types)
{
	int i;

	for (i = 0; i < HYBRID_SHARED_GRAPHS; i++)
	{
		SharedGraph *shared = &table->graph[i];

		if (shared->bytes > 0 && shared->is_current &&
		    memcmp(&shared->key, key, sizeof(*key)) == 0 && hybrid_same_types(shared->types, types))
			return shared;
	}
	return NULL;
}

/*
 * reserve: make an entry with a stretch of memory, used only by this session. Evicts unused graphs until there is
 * enough space. Returns NULL if even evicting all of them is not enough. The caller holds the lock.
 */
static SharedGraph *
reserve(Size bytes)
{
	SharedGraph *entry = NULL;
	char *memory;
	int i;

	/* evict nothing if there is not enough space even without all unused graphs */
	if (find_room(bytes, true) == NULL)
		return NULL;
	for (;;)
	{
		for (i = 0; i < HYBRID_SHARED_GRAPHS && entry == NULL; i++)
		{
			if (table->graph[i].bytes == 0)
				entry = &table->graph[i];
		}
		memory = find_room(bytes, false);
		if (entry != NULL && memory != NULL)
			break;
		if (!evict())
			return NULL;
	}
	*entry = (SharedGraph){.memory = memory, .bytes = bytes, .sessions = 1};
	return entry;
}

/*
 * find_room: return the first free stretch of this size, or NULL. If `evicted` is true, graphs that no session
 * uses count as free.
 */
static char *
find_room(Size bytes, bool evicted)
{
	char *first = NULL;
	int i;

	/* the first free stretch begins at the start of the area or at the end of a graph */
	for (i = -1; i < HYBRID_SHARED_GRAPHS; i++)
	{
		char *begin = area;
		bool is_free;
		int j;

		if (i >= 0)
		{
			const SharedGraph *before = &table->graph[i];

			if (before->bytes == 0)
				continue;
			begin = before->memory + before->bytes;
		}
		is_free = bytes <= area_bytes() && begin <= area + area_bytes() - bytes;
		for (j = 0; is_free && j < HYBRID_SHARED_GRAPHS; j++)
		{
			const SharedGraph *other = &table->graph[j];

			is_free = other->bytes == 0 || (evicted && other->sessions == 0) ||
			          begin + bytes <= other->memory || other->memory + other->bytes <= begin;
		}
		if (is_free && (first == NULL || begin < first))
			first = begin;
	}
	return first;
}

/* evict: free the least recently used graph that no session uses. Returns false if there is none. */
static bool
evict(void)
{
	SharedGraph *oldest = NULL;
	int i;

	for (i = 0; i < HYBRID_SHARED_GRAPHS; i++)
	{
		SharedGraph *shared = &table->graph[i];

		if (shared->bytes > 0 && shared->sessions == 0 &&
		    (oldest == NULL || shared->last_use < oldest->last_use))
			oldest = shared;
	}
	if (oldest != NULL)
		oldest->bytes = 0;
	return oldest != NULL;
}

/* retire: let no other session take a graph. It is freed as soon as no session uses it. */
static void
retire(SharedGraph *shared)
{
	shared->is_current = false;
	if (shared->sessions == 0)
		shared->bytes = 0;
}

/* use: let the graph use the arrays of a shared graph. The caller holds the lock. */
static void
use(HybridGraph *graph, SharedGraph *shared)
{
	shared->sessions++;
	shared->last_use = ++table->uses;
	graph->shared = shared;
	graph->csr = shared->csr;
	graph->origins = shared->origins;
	dlist_push_head(&used, &graph->shared_node);
	if (graph->withdraw.func == NULL)
	{
		graph->withdraw = (MemoryContextCallback){.func = forget, .arg = graph};
		MemoryContextRegisterResetCallback(graph->context, &graph->withdraw);
	}
}

static void
withdraw(HybridGraph *graph)
{
	SharedGraph *shared = graph->shared;

	dlist_delete(&graph->shared_node);
	graph->shared = NULL;
	LWLockAcquire(lock, LW_EXCLUSIVE);
	shared->sessions--;
	if (!shared->is_current)
		retire(shared);
	LWLockRelease(lock);
}

/* forget: withdraw from the shared graph when the memory of this session's graph is freed. */
static void
forget(void *arg)
{
	HybridGraph *graph = (HybridGraph *) arg;

	if (graph->shared != NULL)
		withdraw(graph);
}

/* take_array: allocate an array at the start of the free part of a stretch. The caller has made it large enough. */
static void *
take_array(void *arg, size_t size)
{
	char **next = (char **) arg;
	char *array = *next;

	*next += TYPEALIGN(HY_CSR_COPY_ALIGN, size);
	return array;
}

static void
free_nothing(void *arg, void *pointer)
{
	(void) arg;
	(void) pointer;
}
