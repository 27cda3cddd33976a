/*
 * gauge.c
 *		Measures the load from other tasks, and predicts the time that the load adds to a task.
 *
 * The cost model predicts the time of a task on an idle CPU or device.  The load changes this time
 * as follows:
 *
 *		on the CPU		if more processes per core are runnable now than while the history was
 *						recorded, the time is multiplied by the ratio of the two numbers (the
 *						number in the history counts as at least 1);
 *		on a device		the predicted times of all tasks that wait or are in flight there, of any
 *						client, are added.  A task without a prediction is assumed to take as long as
 *						this task.  If this task must run in pieces for lack of memory, its
 *						own time is the predicted time of all its pieces, if that is longer.
 *
 * This file also sets the timeout of the wait for a turn on a device, and records a failed wait.
 */
#include "dispatch/route/gauge.h"

#include "dispatch/model/slice.h"
#include "dispatch/route/session.h"

#define LEAST_TURN_TIMEOUT_NS UINT64_C(100000)
/* timeout of the wait for a turn if the CPU time is not known */
#define DEFAULT_TURN_TIMEOUT_NS UINT64_C(10000000)
#define LEAST_MISSED_TURN_NS UINT64_C(1000000)
#define MOST_MISSED_TURN_NS UINT64_C(10000000000)

static double
loaded_ns(const HyExecutor *executor, const HyShape *shape, int32_t device, double ns);
static double in_pieces_ns(const HyExecutor *executor, const HyMember *member, const HyShape *shape,
                           double whole_ns);

void
hy_gauge_update(HyExecutor *executor)
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
		load = hy_queue_load(&executor->queue_client, device);
	/* a task that was given up has left the queue, but may still keep the device busy */
	load.tasks += member->leftovers;
	load.unknown += member->leftovers;
	/*
	 * For a while after a failed wait, expect a wait of at least missed_turn_ns, even if the queue
	 * predicts less.
	 */
	if (member->missed_turn_until_ns > 0 && load.ns < (double) member->missed_turn_ns &&
	    hy_now(executor) < member->missed_turn_until_ns)
		load.ns = (double) member->missed_turn_ns;
	return load;
}

uint64_t
hy_turn_limit(const HyExecutor *executor)
{
	uint64_t limit = executor->config.timeout_ns > 0 ? executor->config.timeout_ns : UINT64_MAX;

	return executor->turn_timeout_ns > 0 && executor->turn_timeout_ns < limit
	           ? executor->turn_timeout_ns
	           : limit;
}

void
hy_turn_set_timeout(HyExecutor *executor, double cpu_ns)
{
	executor->turn_timeout_ns = 0;
	if (executor->config.execution != HY_EXECUTION_AUTO &&
	    executor->config.execution != HY_EXECUTION_SPLIT)
		return;
	executor->turn_timeout_ns = cpu_ns < 0                                ? DEFAULT_TURN_TIMEOUT_NS
	                            : cpu_ns > (double) LEAST_TURN_TIMEOUT_NS ? (uint64_t) cpu_ns
	                                                                      : LEAST_TURN_TIMEOUT_NS;
}

void
hy_turn_missed(HyExecutor *executor, HyMember *member, uint64_t waited_ns)
{
	uint64_t missed = 2 * member->missed_turn_ns;

	missed = missed > waited_ns ? missed : waited_ns;
	missed = missed > LEAST_MISSED_TURN_NS ? missed : LEAST_MISSED_TURN_NS;
	member->missed_turn_ns = missed < MOST_MISSED_TURN_NS ? missed : MOST_MISSED_TURN_NS;
	member->missed_turn_until_ns = hy_now(executor) + member->missed_turn_ns;
	executor->generation++;
}

void
hy_turn_came(HyMember *member)
{
	member->missed_turn_ns = 0;
	member->missed_turn_until_ns = 0;
}

bool
hy_gauge_less(const HyExecutor *executor, int32_t device, int32_t other)
{
	const HyQueueLoad *a = &executor->member[device].queue;
	const HyQueueLoad *b = &executor->member[other].queue;

	/* tasks without a prediction may be long, so compare the numbers of such tasks first */
	return a->unknown != b->unknown ? a->unknown < b->unknown : a->ns < b->ns;
}

int32_t
hy_gauge_threads(const HyExecutor *executor, const HyShape *shape)
{
	const HyMember *cpu = &executor->member[0];
	int32_t threads = cpu->backend->estimate(cpu->device, shape).threads;

	return threads > 1 ? threads : 1;
}

HyForecast
hy_gauge_forecast(const HyExecutor *executor, const HyShape *shape, int32_t device)
{
	HyShape running = *shape;

	if (device == 0)
		running.threads = hy_gauge_threads(executor, shape);
	return hy_tracker_forecast(executor->tracker, &running, device);
}

HySide
hy_gauge_side(const HyExecutor *executor, const HyShape *shape, int32_t device)
{
	HySide side = {.device = device, .forecast = hy_gauge_forecast(executor, shape, device)};

	side.ns = side.forecast.ns;
	if (side.ns >= 0)
		side.ns = loaded_ns(executor, shape, device, side.ns);
	return side;
}

double
hy_side_ns(const HyExecutor *executor, const HyShape *shape, int32_t device)
{
	return hy_gauge_side(executor, shape, device).ns;
}

void
hy_load_seen(HyExecutor *executor, int32_t count)
{
	double share = count < executor->config.window ? (double) count / executor->config.window : 1;

	if (executor->load.runnable > 0 && executor->load_seen > 0)
		executor->load_seen += share * (executor->load.runnable - executor->load_seen);
	else if (executor->load.runnable > 0)
		executor->load_seen = executor->load.runnable;
}

/* loaded_ns: predict the time of a task under the current load; `ns` is its time without load. */
static double
loaded_ns(const HyExecutor *executor, const HyShape *shape, int32_t device, double ns)
{
	const HyMember *member = &executor->member[device];
	double seen = executor->load_seen > 1 ? executor->load_seen : 1;

	if (device == 0)
		return executor->load.runnable > seen ? ns * executor->load.runnable / seen : ns;
	ns = in_pieces_ns(executor, member, shape, ns);
	return ns + member->queue.ns + member->queue.unknown * ns;
}

/*
 * in_pieces_ns: return the predicted time of all pieces of the task, one after the other, but at
 * least whole_ns.  Return whole_ns if the task fits the memory budget or cannot be cut, or if the
 * budget is not known.
 */
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
	/* the pieces in flight share the budget */
	pieces *= executor->config.queue_depth > 1 ? executor->config.queue_depth : 1;
	if (pieces > (double) extent)
		pieces = (double) extent;
	piece = hy_shape_slice(shape, (int64_t) ((double) extent / pieces));
	ns = pieces *
	     hy_tracker_predict(executor->tracker, &piece, (int32_t) (member - executor->member));
	return ns > whole_ns ? ns : whole_ns;
}
