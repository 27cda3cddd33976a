/*
 * gauge.c
 *		The load gauge: what is going on elsewhere, and what it adds to a prediction.
 *
 * A law says what a task takes on a side that is idle.  On top of that come
 *
 *		on the CPU		the factor by which more processes want a core than while history was made;
 *		on a device		the tasks that wait or are in flight there, of everybody in the queue, those
 *						of which nobody could say how long they take counted as long as this one;
 *						and where memory is so scarce that the task has to go in pieces, what
 *						starting all of them costs.
 *
 * And for how long a turn on a device is worth waiting for, and what one that never came says.
 */
#include "dispatch/executor_state.h"

#include "dispatch/slice.h"

#define LEAST_PATIENCE_NS UINT64_C(100000)
#define BLIND_PATIENCE_NS UINT64_C(10000000) /* where nobody knows what the CPU would take */
#define LEAST_TAKEN_NS UINT64_C(1000000)
#define MOST_TAKEN_NS UINT64_C(10000000000)

static double in_pieces_ns(const HyExecutor *executor, const HyMember *member, const HyShape *shape,
                           double whole_ns);

void
hy_gauge_look(HyExecutor *executor)
{
	int32_t d;

	for (d = 1; d < executor->members; d++)
		executor->member[d].queue = hy_gauge_queue(executor, d);
}

HyQueueLoad
hy_gauge_queue(const HyExecutor *executor, int32_t device)
{
	const HyMember *member = &executor->member[device];
	HyQueueLoad load = {.tasks = 0};

	if (executor->queued)
		load = hy_queue_load(&executor->seat, device);
	/* what was given up has left the queue, and keeps the device busy all the same */
	load.tasks += member->leftovers;
	load.unknown += member->leftovers;
	/* who waited in vain just now would wait in vain again, whatever the tasks there promise */
	if (member->taken_until_ns > 0 && load.ns < (double) member->taken_ns &&
	    hy_now(executor) < member->taken_until_ns)
		load.ns = (double) member->taken_ns;
	return load;
}

uint64_t
hy_turn_limit(const HyExecutor *executor)
{
	uint64_t limit = executor->config.timeout_ns > 0 ? executor->config.timeout_ns : UINT64_MAX;

	return executor->patience_ns > 0 && executor->patience_ns < limit ? executor->patience_ns
	                                                                  : limit;
}

void
hy_turn_patience(HyExecutor *executor, const HyChoice *choice)
{
	executor->patience_ns = 0;
	if (executor->config.execution != HY_EXECUTION_AUTO &&
	    executor->config.execution != HY_EXECUTION_SPLIT)
		return;
	executor->patience_ns = choice->cpu_ns < 0 ? BLIND_PATIENCE_NS
	                        : choice->cpu_ns > (double) LEAST_PATIENCE_NS
	                            ? (uint64_t) choice->cpu_ns
	                            : LEAST_PATIENCE_NS;
}

void
hy_turn_missed(HyExecutor *executor, HyMember *member, uint64_t waited_ns)
{
	uint64_t taken = 2 * member->taken_ns;

	taken = taken > waited_ns ? taken : waited_ns;
	taken = taken > LEAST_TAKEN_NS ? taken : LEAST_TAKEN_NS;
	member->taken_ns = taken < MOST_TAKEN_NS ? taken : MOST_TAKEN_NS;
	member->taken_until_ns = hy_now(executor) + member->taken_ns;
	executor->generation++;
}

void
hy_turn_came(HyMember *member)
{
	member->taken_ns = 0;
	member->taken_until_ns = 0;
}

bool
hy_gauge_less(const HyExecutor *executor, int32_t device, int32_t other)
{
	const HyQueueLoad *a = &executor->member[device].queue;
	const HyQueueLoad *b = &executor->member[other].queue;

	/* what takes nobody knows how long may take long */
	return a->unknown != b->unknown ? a->unknown < b->unknown : a->ns < b->ns;
}

double
hy_gauge_ns(const HyExecutor *executor, const HyShape *shape, int32_t device, double ns)
{
	const HyMember *member = &executor->member[device];
	double seen = executor->load_seen > 1 ? executor->load_seen : 1;

	if (ns < 0)
		return ns;
	if (device == 0)
		return executor->load.runnable > seen ? ns * executor->load.runnable / seen : ns;
	ns = in_pieces_ns(executor, member, shape, ns);
	return ns + member->queue.ns + member->queue.unknown * ns;
}

/* in_pieces_ns: whole_ns, or where that does not fit the budget what the pieces take one by one. */
static double
in_pieces_ns(const HyExecutor *executor, const HyMember *member, const HyShape *shape,
             double whole_ns)
{
	int64_t extent = hy_shape_extent(shape);
	double available = (double) member->budget_bytes;
	double pieces;
	HyShape piece;
	double ns;

	if (!executor->cuts || member->backend == NULL || extent < 2 || available == 0)
		return whole_ns;
	pieces = (double) member->backend->estimate(member->device, shape).device_bytes / available;
	if (pieces <= 1)
		return whole_ns;
	/* as many as may be in flight share the budget */
	pieces *= executor->config.queue_depth > 1 ? executor->config.queue_depth : 1;
	if (pieces > (double) extent)
		pieces = (double) extent;
	piece = hy_shape_slice(shape, (int64_t) ((double) extent / pieces));
	ns = pieces *
	     hy_tracker_predict(executor->tracker, &piece, (int32_t) (member - executor->member));
	return ns > whole_ns ? ns : whole_ns;
}
