/*
 * device.c
 *		Keeps a registered graph on a device: see device.h.
 *
 * On a device, a graph is a unit like the units of an index (dispatch/run/residency.h). In the unit's
 * key, the field `place` is the graph's serial number, which this process never reuses. The field
 * `version` is the hub exponent, because the unit holds the divisors computed with it. The unit depends on
 * no other parameter of hybrid_spread. After a graph is dropped, its unit is never requested again. The
 * cache then evicts that unit before all others.
 */
#include "postgres.h"

#include "graph/device.h"
#include "server/executor.h"
#include "server/memory.h"
#include "server/report.h"

static const char *const what = "spread activation";

static bool by_device(HybridGraph *graph, HyTask *task, uint64 room);
static HyUnitKey key_of(const HybridGraph *graph);
static bool pack(HybridGraph *graph, uint64 room);
static bool send_graph(HybridGraph *graph, HyResident *resident);
static void forget(void *arg);

void
hybrid_graph_run(HybridGraph *graph, HyTask *task, uint64 room)
{
	if (graph->number == 0 || !hybrid_graph_device_possible() || !by_device(graph, task, room))
		hybrid_run(task, what);
}

void
hybrid_graph_unpack(HybridGraph *graph)
{
	HyAllocator allocator = hybrid_allocator(graph->context);

	if (!graph->is_packed)
		return;
	forget(graph);
	hy_packed_graph_free(&graph->packed, &allocator);
	graph->is_packed = false;
}

bool
hybrid_graph_device_possible(void)
{
	return hy_resident_possible(hybrid_executor());
}

/*
 * by_device: run the task on a device. Returns false if no device has or should get the graph, if the
 * graph cannot be packed, or if the device failed. The caller must then run the task.
 */
static bool
by_device(HybridGraph *graph, HyTask *task, uint64 room)
{
	HyShape shape = hy_task_shape(task);
	HyPackedLayout layout =
		hy_packed_layout(graph->csr.nodes, graph->csr.edges, graph->hub_exponent != 0);
	HyUnitKey key = key_of(graph);
	HyResident resident;
	bool there = false;

	switch (hy_resident_ask(hybrid_executor(), &shape, layout.bytes, &key, &resident))
	{
		case HY_RESIDENT_THERE:
			/*
			 * the device may still have the unit although the host has dropped the packed layout: this
			 * happens if the hub exponent changes and then changes back
			 */
			there = pack(graph, room);
			break;
		case HY_RESIDENT_WANTED:
			there = pack(graph, room) && send_graph(graph, &resident);
			break;
		case HY_RESIDENT_NOT:
			break;
	}
	if (!there)
		return false;
	task->u.spread.packed = &graph->packed;
	there = hybrid_run_resident(task, &resident, what);
	task->u.spread.packed = NULL;
	return there;
}

/* key_of: return the key of the graph's unit. */
static HyUnitKey
key_of(const HybridGraph *graph)
{
	HyUnitKey key = {.place = {0, graph->number, graph->number}};

	memcpy(&key.version[0], &graph->hub_exponent, sizeof(graph->hub_exponent));
	return key;
}

/* pack: pack the graph unless it is packed already. Returns false if there is not enough memory. */
static bool
pack(HybridGraph *graph, uint64 room)
{
	HyAllocator allocator = hybrid_allocator(graph->context);
	HyStatus status;

	if (graph->is_packed)
		return true;
	if (hy_packed_graph_bytes(graph->csr.nodes, graph->csr.edges) > room)
		return false;
	status = hy_packed_graph_make(&graph->csr, graph->hub_exponent != 0, &allocator, &hybrid_cancel,
	                              &graph->packed);
	if (status == HY_CANCELLED)
		hybrid_check(status, what);
	if (status != HY_OK)
		return false;
	graph->is_packed = true;
	if (graph->forget.func == NULL)
	{
		graph->forget = (MemoryContextCallback){.func = forget, .arg = graph};
		MemoryContextRegisterResetCallback(graph->context, &graph->forget);
	}
	return true;
}

/* send_graph: send each part of the graph directly from the array that holds it. */
static bool
send_graph(HybridGraph *graph, HyResident *resident)
{
	const HyCsr *csr = &graph->csr;
	const HyPackedGraph *packed = &graph->packed;
	const uint64_t *offset = packed->layout.offset;
	const uint64 rows = packed->rows[0] + packed->rows[1] + packed->rows[2];
	const HyUnitPart part[HY_PACKED_PARTS] = {
		{csr->column, csr->edges * sizeof(*csr->column), offset[HY_PACKED_COLUMN]},
		{csr->weight, csr->edges * sizeof(*csr->weight), offset[HY_PACKED_WEIGHT]},
		{csr->out_weight, csr->nodes * sizeof(*csr->out_weight), offset[HY_PACKED_OUT_WEIGHT]},
		{graph->hub, packed->hub ? csr->nodes * sizeof(*graph->hub) : 0, offset[HY_PACKED_HUB]},
		{packed->row, rows * sizeof(*packed->row), offset[HY_PACKED_ROWS]}};
	const HyUnitRows sent = {.part = part,
	                         .parts = HY_PACKED_PARTS,
	                         .bytes = packed->layout.bytes,
	                         .rows = csr->edges,
	                         .cancel = &hybrid_cancel};

	return hybrid_keep(&sent, resident);
}

/*
 * forget: make the graph's unit the first that the cache evicts. Called when the layout is dropped or the
 * graph is freed, even after an error. Does not access a device.
 */
static void
forget(void *arg)
{
	const HybridGraph *graph = (const HybridGraph *) arg;
	HyUnitKey key = key_of(graph);

	hybrid_forget(&key);
}
