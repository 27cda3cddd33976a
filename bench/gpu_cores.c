/*
 * gpu_cores.c
 *		The part of gpubench that runs tasks on the CPU: on one backend, as a session has it, and on one
 *		process per core, as that many sessions or workers would share the work.
 */
#include "gpu.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dispatch/run/backend_cpu.h"

#define PARTS 64       /* the smallest part of a task that is tried first */
#define STEP 4         /* so many times as much is tried next */
#define LEAST_ROWS 256 /* a part of less says nothing of the whole */
#define ENOUGH_US 1.5e6
#define MOST_CORES 256

static void run_cpu(void *arg);
static HyTask share_of(const HyTask *task, int part, int parts);
static HyTask sample_of(const HyTask *task, int parts);
static int64_t sampled(const HyTask *task);
static HyTask on_host(const HyTask *task);
static void cut_rows(HyMatrix *matrix, int64_t first, int64_t end);
static void be_a_core(const HyTask *task, int ready, int go);
static void tell(int fd);
static void hear(int fd);

double
gpu_cpu_us(const HyTask *task, int *parts)
{
	const HyTask whole = on_host(task);
	int n;

	if (parts != NULL)
		*parts = 1;
	for (n = PARTS; n > 1; n /= STEP)
	{
		HyTask sample;
		double us;

		if (sampled(task) / n < (task->op == HY_OP_SPREAD ? 1 : LEAST_ROWS))
			continue;
		sample = sample_of(&whole, n);
		us = gpu_now_us();
		run_cpu(&sample);
		us = gpu_now_us() - us;
		if (us > ENOUGH_US)
		{
			if (parts != NULL)
				*parts = n;
			return us * n;
		}
		/* far from enough: no need to try what is in between */
		if (us * n < ENOUGH_US)
			break;
	}
	return gpu_median_us(run_cpu, (void *) (uintptr_t) &whole);
}

double
gpu_cores_us(const HyTask *task)
{
	const HyTask whole = on_host(task);
	int cores = gpu.cores < MOST_CORES ? gpu.cores : MOST_CORES;
	pid_t child[MOST_CORES];
	int ready[2];
	int go[2];
	double us;
	int i;

	if (pipe(ready) != 0 || pipe(go) != 0)
		exit(1);
	fflush(stdout);
	for (i = 0; i < cores; i++)
	{
		child[i] = fork();
		if (child[i] == 0)
		{
			HyTask share = share_of(&whole, i, cores);

			/* so that it ends with its parent */
			(void) close(go[1]);
			be_a_core(&share, ready[1], go[0]);
		}
		if (child[i] < 0)
			exit(1);
	}
	/* so that there is an end of it when they have all ended */
	(void) close(ready[1]);
	for (i = 0; i < cores; i++)
		hear(ready[0]);
	us = gpu_now_us();
	for (i = 0; i < cores; i++)
		tell(go[1]);
	for (i = 0; i < cores; i++)
		hear(ready[0]);
	us = gpu_now_us() - us;
	for (i = 0; i < cores; i++)
		(void) waitpid(child[i], NULL, 0);
	(void) close(ready[0]);
	(void) close(go[0]);
	(void) close(go[1]);
	return us;
}

void
gpu_print_cpu(const char *name, const HyTask *task, double us, GpuAsked asked)
{
	int parts;
	double cpu = gpu_cpu_us(task, &parts);

	gpu_print_beside(gpu_name("%s_one_cpu", name), cpu, "us", GPU_NOTHING, "%s",
	                 parts > 1 ? gpu_name("1/%d of it was run", parts) : "");
	gpu_print_beside(gpu_name("%s_speedup", name), cpu / us, "ratio", asked,
	                 "%.6g us against %.6g us", us, cpu);
}

/* on_host: a task over a graph that lies on a device has the host's as well (gpu_spread_reside). */
static HyTask
on_host(const HyTask *task)
{
	HyTask whole = *task;

	if (task->op == HY_OP_SPREAD)
		whole.u.spread.buffer = NULL;
	return whole;
}

static void
run_cpu(void *arg)
{
	HyDevice *device;
	HyTicket ticket;
	HyTimings timings;
	bool done;

	if (hy_backend_cpu.open(0, NULL, &device) != HY_OK ||
	    hy_backend_cpu.submit(device, arg, &ticket) != HY_OK)
	{
		printf("# a task failed on the CPU\n");
		fflush(stdout);
		_exit(1);
	}
	(void) hy_backend_cpu.poll(device, ticket, &done, &timings);
	hy_backend_cpu.close(device);
}

/* share_of: what one of several processes does of it: queries, rows to be assigned, sets of seeds. */
static HyTask
share_of(const HyTask *task, int part, int parts)
{
	HyTask share = *task;
	int64_t first;
	int64_t end;

	if (task->op == HY_OP_TOPK)
	{
		HyTopKTask *t = &share.u.topk;

		first = t->queries.rows * part / parts;
		end = t->queries.rows * (part + 1) / parts;
		cut_rows(&t->queries, first, end);
		t->out += first * t->k;
		t->counts += first;
	}
	else if (task->op == HY_OP_ASSIGN)
	{
		HyAssignTask *a = &share.u.assign;

		first = a->rows.rows * part / parts;
		end = a->rows.rows * (part + 1) / parts;
		cut_rows(&a->rows, first, end);
		a->nearest += first;
	}
	else if (task->op == HY_OP_SPREAD)
	{
		HySpreadTask *s = &share.u.spread;

		first = (int64_t) s->seeds.sets * part / parts;
		end = (int64_t) s->seeds.sets * (part + 1) / parts;
		s->seeds.sets = (int32_t) (end - first);
		s->seeds.start += first;
		s->activation += first * s->graph->nodes;
		s->hop += first * s->graph->nodes;
	}
	return share;
}

/* sample_of: a part that takes such a part of the time: of what is looked at for every query. */
static HyTask
sample_of(const HyTask *task, int parts)
{
	HyTask sample = *task;

	if (task->op == HY_OP_TOPK)
		cut_rows(&sample.u.topk.targets, 0, task->u.topk.targets.rows / parts);
	else if (task->op == HY_OP_DISTANCE)
	{
		sample.u.distance.out_stride = hy_distance_stride(&task->u.distance);
		cut_rows(&sample.u.distance.targets, 0, task->u.distance.targets.rows / parts);
	}
	else if (task->op == HY_OP_SCORE_CODES)
		sample.u.score.queries.count /= parts;
	else
		return share_of(task, 0, parts);
	return sample;
}

/* sampled: how many of what sample_of takes a part of. */
static int64_t
sampled(const HyTask *task)
{
	switch (task->op)
	{
		case HY_OP_TOPK:
			return task->u.topk.targets.rows;
		case HY_OP_DISTANCE:
			return task->u.distance.targets.rows;
		case HY_OP_SCORE_CODES:
			return (int64_t) task->u.score.queries.count * LEAST_ROWS;
		case HY_OP_ASSIGN:
			return task->u.assign.rows.rows;
		case HY_OP_SPREAD:
			return task->u.spread.seeds.sets;
	}
	return 0;
}

static void
cut_rows(HyMatrix *matrix, int64_t first, int64_t end)
{
	matrix->data = hy_matrix_row(matrix, first);
	matrix->rows = end - first;
	if (matrix->norms != NULL)
		matrix->norms += first;
}

/*
 * be_a_core: a process: does its share once to warm up, for its memory is the parent's until it writes
 * there, and once when it is told to.  It must not call CUDA, and does not.
 */
static void
be_a_core(const HyTask *task, int ready, int go)
{
	HyTask own = *task;
	/* there may be more cores than queries */
	bool nothing = (task->op == HY_OP_TOPK && task->u.topk.queries.rows == 0) ||
	               (task->op == HY_OP_ASSIGN && task->u.assign.rows.rows == 0) ||
	               (task->op == HY_OP_SPREAD && task->u.spread.seeds.sets == 0);

	if (!nothing)
		run_cpu(&own);
	tell(ready);
	hear(go);
	if (!nothing)
		run_cpu(&own);
	tell(ready);
	_exit(0);
}

static void
tell(int fd)
{
	if (write(fd, "", 1) != 1)
		_exit(1);
}

static void
hear(int fd)
{
	char token;

	/* nobody is there any more: of a task that failed its own process has told */
	if (read(fd, &token, 1) != 1)
		_exit(1);
}
