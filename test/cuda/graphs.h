/*
 * graphs.h
 *		Random graphs, parameters and seeds for the tests of 'spread', and the CPU's answers.
 */
#ifndef HY_TEST_GRAPHS_H
#define HY_TEST_GRAPHS_H

#include "unit.h"

#include "core/csr_build.h"
#include "core/spread.h"
#include "dispatch/backend.h"

/* GraphJob: a task with its own graph, seeds and answers. */
typedef struct GraphJob
{
	HyTask task;
	HyCsr graph;
	int64_t *start;
	uint32_t *node;
	double *value;
	double *activation;
	int32_t *hop;
	double *expected;
	int32_t *expected_hop;
	double *hub;
	double *sent;
	double *expected_sent;
	int64_t values; /* nodes x sets */
	HyPackedGraph packed;
	HyCsr numbers; /* the part of the graph that a task knows if the graph is resident */
} GraphJob;

/*
 * make_graph: make a graph whose degrees follow a power law, with self loops, repeated edges, edges
 * of weight 0, and nodes that only send or only receive.  If hub > 0, this many edges end in one
 * additional node.
 */
static UNIT_UNUSED HyCsr
make_graph(UnitRandom *random, int64_t nodes, int64_t edges, int64_t hub, HyDirection direction)
{
	HyEdge *edge = malloc(sizeof(HyEdge) * (size_t) (edges + hub + 1));
	HyCsr graph;
	int64_t i;

	for (i = 0; i < edges; i++)
	{
		double skew = unit_random_unit(random);

		edge[i].source = (int64_t) unit_random_below(random, (uint64_t) nodes);
		edge[i].target = (int64_t) ((double) nodes * skew * skew * skew * skew);
		if (unit_random_below(random, 16) == 0)
			edge[i].target = edge[i].source;
		if (i > 0 && unit_random_below(random, 16) == 0)
			edge[i] = edge[i - 1];
		edge[i].weight = unit_random_below(random, 10) == 0 ? 0 : (float) unit_random_unit(random);
	}
	for (i = 0; i < hub; i++)
		edge[edges + i] = (HyEdge){nodes + 1 + i, nodes, (float) unit_random_unit(random)};
	/* the hub sends to a node with few entries */
	edge[edges + hub] = (HyEdge){hub > 0 ? nodes : 0, nodes / 2, 0.5f};
	CHECK_INT(hy_csr_build(edge, edges + hub + 1, direction, &hy_malloc_allocator, NULL, &graph),
	          HY_OK);
	free(edge);
	return graph;
}

static UNIT_UNUSED HySpreadParams
random_params(UnitRandom *random)
{
	static const double fans[] = {0, 0.5, 1};
	HySpreadParams params = {.hub = NULL};

	params.decay = unit_random_below(random, 8) == 0 ? 1 : unit_random_unit(random);
	params.fan = fans[unit_random_below(random, 3)];
	/* sometimes more hops than a device runs without turns */
	params.hops = (int32_t) unit_random_below(random, 7);
	if (unit_random_below(random, 8) == 0)
		params.hops += 30;
	params.threshold = unit_random_below(random, 2) == 0 ? 0 : 0.2 * unit_random_unit(random);
	params.refire = (int32_t) unit_random_below(random, 4);
	params.combine = unit_random_below(random, 3) == 0 ? HY_COMBINE_MAX : HY_COMBINE_SUM;
	params.tolerance = 1e-4;
	if (params.fan == 1 && params.decay < 0.9 && unit_random_below(random, 3) == 0)
		params.hops = -1;
	return params;
}

/*
 * graph_job: make a job that owns the graph.  Each set has up to `most` seeds, some repeated, some
 * of value 0.
 */
static UNIT_UNUSED void
graph_job(GraphJob *job, UnitRandom *random, HyCsr graph, HySpreadParams params, int32_t sets,
          int64_t most)
{
	int64_t n = graph.nodes;
	HySpreadTask *s = &job->task.u.spread;
	int32_t set;
	int64_t i;

	memset(job, 0, sizeof(*job));
	job->graph = graph;
	job->values = n * sets;
	job->start = malloc(sizeof(int64_t) * (size_t) (sets + 1));
	job->node = malloc(sizeof(uint32_t) * (size_t) (sets * (most + 1) + 3));
	job->value = malloc(sizeof(double) * (size_t) (sets * (most + 1) + 3));
	job->activation = malloc(sizeof(double) * (size_t) (job->values + 1));
	job->hop = malloc(sizeof(int32_t) * (size_t) (job->values + 1));
	job->expected = malloc(sizeof(double) * (size_t) (job->values + 1));
	job->expected_hop = malloc(sizeof(int32_t) * (size_t) (job->values + 1));
	job->hub = malloc(sizeof(double) * (size_t) (n + 1));
	job->sent = malloc(sizeof(double) * (size_t) (job->values + 1));
	job->expected_sent = malloc(sizeof(double) * (size_t) (job->values + 1));
	/* like a part of a larger task: the seeds do not begin at 0 */
	job->start[0] = 3;
	for (set = 0; set < sets; set++)
	{
		int64_t count = (int64_t) unit_random_below(random, (uint64_t) (most + 1));

		job->start[set + 1] = job->start[set] + count;
		for (i = job->start[set]; i < job->start[set + 1]; i++)
		{
			job->node[i] = (uint32_t) unit_random_below(random, (uint64_t) n);
			if (i > job->start[set] && unit_random_below(random, 4) == 0)
				job->node[i] = job->node[i - 1];
			job->value[i] = unit_random_below(random, 6) == 0 ? 0 : 2 * unit_random_unit(random);
		}
	}
	for (i = 0; i <= job->values; i++)
	{
		job->activation[i] = -77;
		job->hop[i] = -77;
		job->sent[i] = -77;
	}
	job->task.op = HY_OP_SPREAD;
	job->task.allocator = &hy_malloc_allocator;
	s->graph = &job->graph;
	s->params = params;
	s->seeds = (HySpreadSeeds){sets, job->start, job->node, job->value};
	s->activation = job->activation;
	s->hop = job->hop;
	CHECK_INT(hy_spread(&job->graph, &params, &s->seeds, &hy_malloc_allocator, NULL,
	                    &(HySpreadResult){job->expected, job->expected_hop, job->expected_sent}),
	          HY_OK);
}

/* graph_job_more: sometimes add a hub to the job, or request the charges that nodes have sent. */
static UNIT_UNUSED void
graph_job_more(GraphJob *job, UnitRandom *random)
{
	static const double hubs[] = {0.3, 0.5, 1};
	HySpreadTask *s = &job->task.u.spread;
	uint64_t hub = unit_random_below(random, 6);

	if (hub < 3)
	{
		CHECK_INT(hy_spread_hub(&job->graph, hubs[hub], NULL, job->hub), HY_OK);
		s->params.hub = job->hub;
	}
	if (unit_random_below(random, 3) != 0)
		s->sent = job->sent;
	CHECK_INT(hy_spread(&job->graph, &s->params, &s->seeds, &hy_malloc_allocator, NULL,
	                    &(HySpreadResult){job->expected, job->expected_hop, job->expected_sent}),
	          HY_OK);
}

/* graph_job_bytes: return the bytes to upload for the graph of a packed job. */
static UNIT_UNUSED int64_t
graph_job_bytes(const GraphJob *job)
{
	const HyPackedGraph *p = &job->packed;

	return (int64_t) (p->layout.offset[HY_PACKED_ROWS] +
	                  (uint64_t) (p->rows[0] + p->rows[1] + p->rows[2]) * sizeof(HyPackedRow));
}

/*
 * graph_job_reside: pack the job's graph, and upload it to a buffer of the device.  From then on,
 * the task knows only the sizes of the host's graph.
 */
static UNIT_UNUSED HyStatus
graph_job_reside(GraphJob *job, const HyBackend *backend, HyDevice *device)
{
	HySpreadTask *s = &job->task.u.spread;
	const HyPackedGraph *p = &job->packed;
	uint64_t edges = (uint64_t) job->graph.edges;
	HyStatus status;
	int i;

	CHECK_INT(hy_packed_graph_make(&job->graph, s->params.hub != NULL, &hy_malloc_allocator, NULL,
	                               &job->packed),
	          HY_OK);
	status = backend->buf_alloc(device, p->layout.bytes, &s->buffer);
	for (i = 0; i < HY_PACKED_PARTS && status == HY_OK; i++)
	{
		const struct
		{
			const void *data;
			uint64_t bytes;
		} part[HY_PACKED_PARTS] = {
			{job->graph.column, edges * sizeof(uint32_t)},
			{job->graph.weight, edges * sizeof(float)},
			{job->graph.out_weight, (uint64_t) job->graph.nodes * sizeof(double)},
			{job->hub, p->hub ? (uint64_t) job->graph.nodes * sizeof(double) : 0},
			{p->row, (uint64_t) graph_job_bytes(job) - p->layout.offset[HY_PACKED_ROWS]}};

		if (part[i].bytes > 0)
			status = backend->upload(device, s->buffer, p->layout.offset[i], part[i].data,
			                         part[i].bytes);
	}
	job->numbers = (HyCsr){.nodes = job->graph.nodes, .edges = job->graph.edges};
	s->graph = &job->numbers;
	s->packed = p;
	return status;
}

/* graph_job_leave: free the buffer, so that the task uploads its graph again. */
static UNIT_UNUSED void
graph_job_leave(GraphJob *job, const HyBackend *backend, HyDevice *device)
{
	HySpreadTask *s = &job->task.u.spread;

	backend->buf_free(device, s->buffer);
	hy_packed_graph_free(&job->packed, &hy_malloc_allocator);
	s->graph = &job->graph;
	s->packed = NULL;
	s->buffer = NULL;
}

static UNIT_UNUSED void
graph_job_check(const GraphJob *job, const char *what)
{
	const HySpreadParams *p = &job->task.u.spread.params;
	int64_t n = job->graph.nodes;
	int64_t i;

	for (i = 0; i < job->values; i++)
		CHECK_MSG(unit_same_f64(job->activation[i], job->expected[i]) &&
		              job->hop[i] == job->expected_hop[i],
		          "%s: %lld nodes, %lld edges, hops %d, threshold %g, refire %d, combine %d: set "
		          "%lld, node %lld is %a at %d, expected %a at %d",
		          what, (long long) n, (long long) job->graph.edges, (int) p->hops, p->threshold,
		          (int) p->refire, (int) p->combine, (long long) (i / n), (long long) (i % n),
		          job->activation[i], (int) job->hop[i], job->expected[i],
		          (int) job->expected_hop[i]);
	for (i = 0; i < job->values && job->task.u.spread.sent != NULL; i++)
		CHECK_MSG(unit_same_f64(job->sent[i], job->expected_sent[i]),
		          "%s: set %lld, node %lld has sent %a, expected %a", what, (long long) (i / n),
		          (long long) (i % n), job->sent[i], job->expected_sent[i]);
	CHECK_SAME_F64(job->sent[job->values], -77);
	CHECK_SAME_F64(job->activation[job->values], -77);
	CHECK_INT(job->hop[job->values], -77);
}

static UNIT_UNUSED void
graph_job_free(GraphJob *job)
{
	hy_csr_free(&job->graph, &hy_malloc_allocator);
	free(job->start);
	free(job->node);
	free(job->value);
	free(job->activation);
	free(job->hop);
	free(job->expected);
	free(job->expected_hop);
	free(job->hub);
	free(job->sent);
	free(job->expected_sent);
}

#endif
