/*
 * assigned.h
 *		Tasks of 'assign' with random vectors for the tests of the plug-in, and the CPU's answers.
 */
#ifndef HY_TEST_ASSIGNED_H
#define HY_TEST_ASSIGNED_H

#include "plugged.h"

#include "core/assign.h"

/* How vectors are made. */
typedef enum VectorKind
{
	VECTORS_PLAIN,
	VECTORS_FEW,   /* few different values: many equal distances */
	VECTORS_EQUAL, /* all centroids the same */
	VECTORS_LATE,  /* rows without a bound, after rows that are bounded */
	VECTOR_KINDS
} VectorKind;

/* The sizes of a task. */
typedef struct AssignSizes
{
	int32_t dims;
	int64_t rows;
	int32_t centroids;
	int32_t groups; /* 0: none */
	int32_t probes;
	size_t
		/*
		 * unused elements between two rows; twice as many between centroids, three times between
		 * centers
		 */
		gap;
} AssignSizes;

/* AssignJob: a task with its own data. */
typedef struct AssignJob
{
	HyTask task;
	float *data[3]; /* rows, centroids, centers */
	int32_t *begin;
	int32_t *nearest;
	int32_t *expected;
	int64_t rows;
} AssignJob;

static HyMatrix
assign_matrix(UnitRandom *random, int32_t dims, int64_t rows, size_t gap, VectorKind kind,
              float **data)
{
	size_t stride = (size_t) dims + gap;
	int64_t i;
	int32_t d;

	*data = calloc((size_t) rows * stride + 1, sizeof(float));
	for (i = 0; i < rows; i++)
	{
		float *x = *data + (size_t) i * stride;

		for (d = 0; d < dims; d++)
		{
			if (kind == VECTORS_FEW)
				x[d] = (float) unit_random_below(random, 7) - 3;
			else if (kind == VECTORS_EQUAL)
				x[d] = (float) (d % 5) / 4;
			else
				x[d] = unit_random_float(random);
		}
		if (kind == VECTORS_LATE && i > rows / 2)
			x[0] = i % 2 ? NAN : INFINITY;
	}
	return (HyMatrix){.dims = dims, .rows = rows, .stride = stride * sizeof(float), .data = *data};
}

/* assign_expect: compute the CPU's answers for the task's current groups. */
static void
assign_expect(AssignJob *job)
{
	const HyAssignTask *a = &job->task.u.assign;

	CHECK_INT(hy_assign(&a->rows, &a->centroids, a->groups.centers.rows > 0 ? &a->groups : NULL,
	                    &hy_malloc_allocator, job->expected, NULL),
	          HY_OK);
}

static UNIT_UNUSED void
assign_job(AssignJob *job, UnitRandom *random, AssignSizes sizes, VectorKind kind)
{
	HyAssignTask *a = &job->task.u.assign;
	size_t answers = (size_t) (sizes.rows + 1) * sizeof(int32_t);
	int32_t g;
	int32_t i;

	memset(job, 0, sizeof(*job));
	job->rows = sizes.rows;
	job->task.op = HY_OP_ASSIGN;
	job->task.allocator = &memory.allocator;
	a->rows = assign_matrix(random, sizes.dims, sizes.rows, sizes.gap,
	                        kind == VECTORS_EQUAL ? VECTORS_PLAIN : kind, &job->data[0]);
	a->centroids = assign_matrix(random, sizes.dims, sizes.centroids, sizes.gap * 2,
	                             kind == VECTORS_LATE ? VECTORS_PLAIN : kind, &job->data[1]);
	a->groups.centers =
		assign_matrix(random, sizes.dims, sizes.groups, sizes.gap * 3, VECTORS_FEW, &job->data[2]);
	job->begin = calloc((size_t) sizes.groups + 1, sizeof(int32_t));
	for (i = 0; i < sizes.centroids && sizes.groups > 0; i++)
		job->begin[1 + unit_random_below(random, (uint64_t) sizes.groups)]++;
	for (g = 0; g < sizes.groups; g++)
		job->begin[g + 1] += job->begin[g];
	a->groups.begin = job->begin;
	a->groups.probes = sizes.probes;
	job->nearest = malloc(answers);
	job->expected = malloc(answers);
	memset(job->nearest, 0x5a, answers);
	a->nearest = job->nearest;
	assign_expect(job);
}

static UNIT_UNUSED void
assign_check(const void *of)
{
	const AssignJob *job = of;
	int64_t i;

	for (i = 0; i < job->rows; i++)
		CHECK_MSG(job->nearest[i] == job->expected[i], "row %lld goes to %d, expected %d",
		          (long long) i, (int) job->nearest[i], (int) job->expected[i]);
	/* the entry after the answers is unchanged */
	CHECK_INT(job->nearest[job->rows], 0x5a5a5a5a);
}

static UNIT_UNUSED Trial
assign_trial(AssignJob *job)
{
	return (Trial){.task = &job->task,
	               .check = assign_check,
	               .job = job,
	               .answer = {{job->nearest, (size_t) job->rows * sizeof(int32_t)}}};
}

static UNIT_UNUSED void
assign_free(AssignJob *job)
{
	int i;

	for (i = 0; i < 3; i++)
		free(job->data[i]);
	free(job->begin);
	free(job->nearest);
	free(job->expected);
}

#endif
