/*
 * audit.c
 *		Measures whether each task was sent where it is fastest: see audit.h.
 */
#include "dispatch/tools/audit.h"

#include <string.h>

#include "dispatch/route/able.h"
#include "dispatch/route/memo.h"
#include "dispatch/tools/workload.h"

#define REPEATS 5
#define MEMORY UINT64_C(67108864)
#define LONGEST_NS 1e7
#define NS_PER_WORK 0.2 /* rough estimate, which only determines how far to reduce the targets */
#define SPREAD_NS_PER_WORK 30.0
#define CODE_NS_PER_WORK 0.02

static const HyOp grid_ops[] = {HY_OP_DISTANCE, HY_OP_TOPK, HY_OP_ASSIGN, HY_OP_SCORE_CODES,
                                HY_OP_SPREAD};
static const int32_t grid_dims[] = {64, 768, 4096};
static const int64_t grid_queries[] = {1, 16};
static const int64_t grid_counts[] = {8,     16,    32,     64,     128,    256,
                                      512,   1000,  2000,   4000,   8000,   16000,
                                      32000, 64000, 125000, 250000, 500000, 1000000};

#define LENGTH(array) ((int) (sizeof(array) / sizeof((array)[0])))

static HyStatus compare(HyExecutor *executor, HyWorkload *workload, double longest,
                        const HyChoice *choice, HyAuditRow *row);
static HyStatus measure(HyExecutor *executor, HyWorkload *workload, double longest, int32_t device,
                        const HyShape *shape, double *ns, bool *scaled);
static bool device_open(const HyExecutor *executor);

int32_t
hy_audit_grid(HyShape *shapes)
{
	int32_t count = 0;
	int o;
	int d;
	int q;
	int n;

	for (o = 0; o < LENGTH(grid_ops); o++)
	{
		bool plain = grid_ops[o] == HY_OP_SPREAD; /* the operation has no dims */

		for (d = 0; d < (plain ? 1 : LENGTH(grid_dims)); d++)
		{
			for (q = 0; q < LENGTH(grid_queries); q++)
			{
				for (n = 0; n < LENGTH(grid_counts); n++)
				{
					HyShape *shape = &shapes[count++];

					memset(shape, 0, sizeof(*shape));
					shape->op = grid_ops[o];
					shape->dtype = HY_F32;
					shape->metric = HY_METRIC_L2;
					shape->dims = plain ? 0 : grid_dims[d];
					shape->queries = grid_queries[q];
					shape->targets = grid_counts[n];
					shape->k = hy_op_has_k(grid_ops[o]) ? 10 : 0;
				}
			}
		}
	}
	return count;
}

HyStatus
hy_audit(HyExecutor *executor, const HyAuditLimits *limits, HyAuditRow *rows, HyAudit *audit)
{
	HyShape shapes[HY_AUDIT_SHAPES];
	HyChoice choices[HY_AUDIT_SHAPES];
	double longest = limits->longest_ns > 0 ? (double) limits->longest_ns : LONGEST_NS;
	uint64_t now = hy_now(executor);
	HyWorkload *workload;
	HyStatus st;
	int32_t i;

	memset(audit, 0, sizeof(*audit));
	audit->shapes = hy_audit_grid(shapes);
	if (hy_executor_foreign(executor) || !device_open(executor))
	{
		audit->why = "no device is open";
		return HY_OK;
	}
	st = hy_workload_create(limits->allocator, limits->cancel,
	                        limits->memory > 0 ? limits->memory : MEMORY, &workload);
	if (st != HY_OK)
		return st;
	hy_memo_fold(executor, true);
	executor->no_trials = true;
	for (i = 0; i < audit->shapes; i++)
		hy_decide(executor, &shapes[i], HY_CLASS_EXACT, now, &choices[i]);
	executor->no_trials = false;

	for (i = 0; i < audit->shapes && st == HY_OK; i++)
	{
		HyAuditRow *row = &rows[audit->compared];

		memset(row, 0, sizeof(*row));
		row->shape = shapes[i];
		if (hy_cancelled(limits->cancel))
			st = HY_CANCELLED;
		else
			st = compare(executor, workload, longest, &choices[i], row);
		if (st != HY_OK || row->cpu_ns < 0 || row->device_ns < 0)
			continue;
		if (row->reason == HY_REASON_UNRELIABLE)
		{
			audit->untrusted++;
			continue;
		}
		audit->compared++;
		audit->right += row->right;
		audit->best_ns += row->cpu_ns < row->device_ns ? row->cpu_ns : row->device_ns;
		audit->lost_ns += row->lost_ns;
	}
	hy_workload_destroy(workload);
	if (st == HY_OK && audit->compared == 0)
		audit->why = "no shape can run on more than one side";
	return st;
}

/* compare: run one shape on the CPU and on every open device that rules 3, 4 and 7 allow. */
static HyStatus
compare(HyExecutor *executor, HyWorkload *workload, double longest, const HyChoice *choice,
        HyAuditRow *row)
{
	double ns[HY_MAX_DEVICES];
	double best;
	HyStatus st;
	int32_t d;

	row->taken = choice->device;
	row->reason = choice->reason;
	row->predicted_cpu_ns = choice->cpu_ns;
	row->predicted_device_ns = choice->device_ns;
	row->device_ns = -1;
	st = measure(executor, workload, longest, 0, &row->shape, &row->cpu_ns, &row->scaled);
	if (st != HY_OK)
		return st;
	best = row->cpu_ns;
	for (d = 0; d < executor->members; d++)
	{
		ns[d] = d == 0 ? row->cpu_ns : -1;
		if (d == 0 || executor->member[d].device == NULL || executor->member[d].latched ||
		    !hy_side_can(executor, &row->shape, d))
			continue;
		st = measure(executor, workload, longest, d, &row->shape, &ns[d], &row->scaled);
		if (st == HY_CANCELLED)
			return st;
		if (st != HY_OK)
		{
			ns[d] = -1;
			continue;
		}
		if (row->device_ns < 0 || ns[d] < row->device_ns)
			row->device_ns = ns[d];
		if (best < 0 || ns[d] < best)
		{
			best = ns[d];
			row->best = d;
		}
	}
	if (row->cpu_ns < 0 || row->device_ns < 0)
		return HY_OK;
	/* If the chosen device could not be measured, use the CPU's time instead. */
	row->lost_ns = (ns[row->taken] >= 0 ? ns[row->taken] : row->cpu_ns) - best;
	row->right = row->lost_ns <= (HY_AUDIT_TIE - 1) * best;
	return HY_OK;
}

/*
 * measure: measure the median time of several runs, with fewer targets if necessary.  *ns is -1 if
 * not even the smallest part of the shape can be run.
 */
static HyStatus
measure(HyExecutor *executor, HyWorkload *workload, double longest, int32_t device,
        const HyShape *shape, double *ns, bool *scaled)
{
	const HyMember *member = &executor->member[device];
	double per_work = shape->op == HY_OP_SPREAD        ? SPREAD_NS_PER_WORK
	                  : shape->op == HY_OP_SCORE_CODES ? CODE_NS_PER_WORK
	                                                   : NS_PER_WORK;
	double expected = hy_cost_terms(shape, true).work * per_work;
	HyShape piece = *shape;
	HyTask task;
	uint64_t times[REPEATS];
	int count = 0;
	int i;

	*ns = -1;
	if (member->info.virtual_time)
	{
		*ns = (double) member->backend->estimate(member->device, shape).virtual_ns;
		return HY_OK;
	}
	if (expected > longest)
		piece.targets = (int64_t) ((double) piece.targets * longest / expected);
	if (piece.targets < 1)
		piece.targets = 1;
	while (!hy_workload_task(workload, &piece, &task))
	{
		if (piece.targets < 16)
			return HY_OK;
		piece.targets /= 2;
	}
	if (piece.targets != shape->targets)
		*scaled = true;
	/* one run to warm up, then the median of the others; fewer runs if they take long */
	for (i = -1; i < REPEATS; i++)
	{
		uint64_t took;
		HyStatus st = hy_workload_run(executor, device, &task, &took);
		int at = count;

		if (st != HY_OK)
			return st;
		if (i < 0)
			continue;
		for (; at > 0 && times[at - 1] > took; at--)
			times[at] = times[at - 1];
		times[at] = took;
		count++;
		if ((double) took > longest && count % 2 == 1)
			break;
	}
	*ns = (double) times[count / 2] * ((double) shape->targets / (double) piece.targets);
	if (*ns < 1)
		*ns = 1;
	return HY_OK;
}

static bool
device_open(const HyExecutor *executor)
{
	int32_t d;

	for (d = 1; d < executor->members; d++)
	{
		if (executor->member[d].device != NULL && !executor->member[d].latched)
			return true;
	}
	return false;
}
