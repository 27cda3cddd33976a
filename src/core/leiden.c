/*
 * leiden.c
 *		Communities by the method of V. Traag, L. Waltman and N. van Eck, "From Louvain to Leiden:
 *		guaranteeing well-connected communities", 2019.
 *
 * The first round begins with each node alone, and each later round with the communities of the round
 * before.  A round has three steps:
 *
 *		move		a queue holds the nodes that may be better off elsewhere.  Each moves to the
 *					neighboring or empty community that increases modularity most, if any does.
 *		refine		within each community, nodes that are alone join well-connected groups of nodes.
 *		aggregate	each group becomes a node of a smaller graph.  The community of this node is
 *					that of the group.
 *
 * These steps repeat on the smaller graph until each community is one node.  Rounds repeat until
 * modularity no longer grows.  The paper chooses among the groups at random, with a preference for
 * a larger gain.  Here a node always joins the group with the largest gain, which is the limit of a
 * strong preference.  So no exponential function is needed.  (Its bits may differ between
 * machines.)  The nodes are visited in random orders, which depend on the seed.
 *
 * At the end of a round, communities that are not connected are divided, which can only increase
 * modularity.  Such communities result from rounding, or from a step in which no node could join a
 * group.  In such a step the communities themselves are aggregated.
 *
 * The gain of node i in community c, times m, is w_ic - resolution * k_i * K_c / 2m.  Here w_ic is
 * the weight of the edges between i and c, k_i is the sum of row i, and K_c is the sum of the rows
 * of c.  Both w_ic and K_c leave out i itself.
 */
#include "core/leiden.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "core/communities.h"
#include "core/components.h"

/* Maximum number of rounds. */
#define MOST_ROUNDS 10

/*
 * A node moves, or joins a group, only if this gains more than LEAST_GAIN * k_i.  Another round
 * must increase modularity by more than LEAST_GAIN.  Otherwise rounding errors could move nodes
 * back and forth, or cause useless rounds.
 */
#define LEAST_GAIN 1e-10

/* Level: the graph itself, or a graph whose nodes are groups of nodes of the previous level. */
typedef struct Level
{
	int64_t nodes;
	const uint32_t *start; /* start of each row's entries, as in HyCsr */
	const uint32_t *neighbor;
	const float *base_weight; /* weights of the first level's entries; NULL on other levels */
	double *weight; /* weights of any other level; this array and own_* belong to the level */
	const double *strength; /* sum of each row */
	uint32_t *own_start;
	uint32_t *own_neighbor;
	double *own_strength;
} Level;

/* Leiden: the state of a call.  Arrays have an entry for each node of the graph. */
typedef struct Leiden
{
	const HyCsr *graph;
	double resolution;
	double all; /* sum of all rows, 2m */
	uint64_t seed;
	uint64_t step; /* number of random orders used so far */
	const HyAllocator *allocator;
	const HyCancel *cancel;
	int64_t polled;      /* entries examined since the last poll */
	uint32_t *community; /* community of each node of the level */
	uint32_t *group;     /* group of each node of the level, a part of its community */
	uint32_t *member;    /* for each node of the graph, the node of the level that contains it */
	double *total;       /* strength of each community */
	double *outside;     /* per group, weight of the edges to the rest of its community */
	double *group_total; /* strength of each group */
	uint32_t *size;      /* number of nodes in each community or group */
	double *sum; /* weight of a node's edges to each community or group; all 0 between nodes */
	uint32_t *touched; /* communities or groups whose sum is not 0 */
	uint32_t *order;   /* a random order, or the queue */
	uint32_t *spare;   /* numbers of empty communities, or scratch */
	bool *queued;
} Leiden;

static bool allocate(Leiden *leiden);
static void release(Leiden *leiden);
static HyStatus run_round(Leiden *leiden, uint32_t *community);
static HyStatus move_nodes(Leiden *leiden, const Level *level);
static HyStatus
move_node(Leiden *leiden, const Level *level, uint32_t node, int64_t *spares, bool *moved);
static HyStatus refine(Leiden *leiden, const Level *level);
static void join_group(Leiden *leiden, const Level *level, uint32_t node);
static HyStatus aggregate(Leiden *leiden, Level *level, int64_t groups);
static void order_by_group(Leiden *leiden, const Level *level, int64_t groups);
static HyStatus connect_groups(Leiden *leiden, const Level *level, Level *next);
static HyStatus divide(Leiden *leiden, uint32_t *community, double *modularity);
static int64_t
touch(Leiden *leiden, const Level *level, uint32_t node, const uint32_t *of, bool inside);
static void clear(Leiden *leiden, int64_t touched);
static bool must_stop(Leiden *leiden, int64_t entries);
static void free_level(Level *level, const HyAllocator *allocator);

static inline double
weight_of(const Level *level, int64_t entry)
{
	return level->weight != NULL ? level->weight[entry] : level->base_weight[entry];
}

HyStatus
hy_leiden(const HyCsr *graph, double resolution, uint64_t seed, const HyAllocator *allocator,
          const HyCancel *cancel, uint32_t *community, double *modularity)
{
	Leiden leiden = {.graph = graph,
	                 .resolution = resolution,
	                 .seed = seed,
	                 .allocator = allocator,
	                 .cancel = cancel};
	uint32_t *best = NULL;
	int64_t i;
	int round;
	HyStatus status = HY_NOMEM;

	*modularity = 0;
	if (!(resolution >= 0) || isinf(resolution))
		return HY_INVALID;
	if (graph->nodes == 0)
		return HY_OK;
	for (i = 0; i < graph->nodes; i++)
	{
		community[i] = (uint32_t) i;
		leiden.all += graph->out_weight[i];
	}
	if (leiden.all == 0)
		return HY_OK;
	best = hy_alloc_array(allocator, (size_t) graph->nodes, sizeof(uint32_t));
	if (best == NULL || !allocate(&leiden))
		goto done;

	status = HY_OK;
	memcpy(best, community, (size_t) graph->nodes * sizeof(uint32_t));
	for (round = 0; round < MOST_ROUNDS; round++)
	{
		double reached;

		status = run_round(&leiden, best);
		if (status == HY_OK)
			status = divide(&leiden, best, &reached);
		if (status != HY_OK || (round > 0 && !(reached > *modularity + LEAST_GAIN)))
			break;
		memcpy(community, best, (size_t) graph->nodes * sizeof(uint32_t));
		*modularity = reached;
	}

done:
	hy_free(allocator, best);
	release(&leiden);
	return status;
}

static bool
allocate(Leiden *leiden)
{
	size_t nodes = (size_t) leiden->graph->nodes;
	const HyAllocator *allocator = leiden->allocator;

	leiden->community = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	leiden->group = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	leiden->member = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	leiden->total = hy_alloc_array(allocator, nodes, sizeof(double));
	leiden->outside = hy_alloc_array(allocator, nodes, sizeof(double));
	leiden->group_total = hy_alloc_array(allocator, nodes, sizeof(double));
	leiden->size = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	leiden->sum = hy_alloc_zero(allocator, nodes * sizeof(double));
	leiden->touched = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	leiden->order = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	leiden->spare = hy_alloc_array(allocator, nodes, sizeof(uint32_t));
	leiden->queued = hy_alloc_array(allocator, nodes, sizeof(bool));
	return leiden->community != NULL && leiden->group != NULL && leiden->member != NULL &&
	       leiden->total != NULL && leiden->outside != NULL && leiden->group_total != NULL &&
	       leiden->size != NULL && leiden->sum != NULL && leiden->touched != NULL &&
	       leiden->order != NULL && leiden->spare != NULL && leiden->queued != NULL;
}

static void
release(Leiden *leiden)
{
	const HyAllocator *allocator = leiden->allocator;

	hy_free(allocator, leiden->community);
	hy_free(allocator, leiden->group);
	hy_free(allocator, leiden->member);
	hy_free(allocator, leiden->total);
	hy_free(allocator, leiden->outside);
	hy_free(allocator, leiden->group_total);
	hy_free(allocator, leiden->size);
	hy_free(allocator, leiden->sum);
	hy_free(allocator, leiden->touched);
	hy_free(allocator, leiden->order);
	hy_free(allocator, leiden->spare);
	hy_free(allocator, leiden->queued);
}

/*
 * run_round: run one round, which replaces the communities in community[].  Their numbers may be
 * any below `nodes`.
 */
static HyStatus
run_round(Leiden *leiden, uint32_t *community)
{
	const HyCsr *graph = leiden->graph;
	Level level = {.nodes = graph->nodes,
	               .start = graph->row_start,
	               .neighbor = graph->column,
	               .base_weight = graph->weight,
	               .strength = graph->out_weight};
	int64_t i;
	HyStatus status;

	memcpy(leiden->community, community, (size_t) graph->nodes * sizeof(uint32_t));
	for (i = 0; i < graph->nodes; i++)
		leiden->member[i] = (uint32_t) i;
	for (;;)
	{
		int64_t groups;

		status = move_nodes(leiden, &level);
		if (status != HY_OK)
			break;
		if (hy_communities_compact(level.nodes, leiden->community, level.nodes, leiden->spare) ==
		    level.nodes)
			break;
		status = refine(leiden, &level);
		if (status != HY_OK)
			break;
		groups = hy_communities_compact(level.nodes, leiden->group, level.nodes, leiden->spare);
		if (groups == level.nodes)
		{
			/* no node has joined another, so use the communities as groups */
			memcpy(leiden->group, leiden->community, (size_t) level.nodes * sizeof(uint32_t));
			groups = hy_communities_compact(level.nodes, leiden->group, level.nodes, leiden->spare);
		}
		status = aggregate(leiden, &level, groups);
		if (status != HY_OK)
			break;
	}
	for (i = 0; i < graph->nodes; i++)
		community[i] = leiden->community[leiden->member[i]];
	free_level(&level, leiden->allocator);
	return status;
}

/* move_nodes: move nodes to better communities until none is better off elsewhere. */
static HyStatus
move_nodes(Leiden *leiden, const Level *level)
{
	int64_t nodes = level->nodes;
	int64_t head = 0;
	int64_t waiting = nodes;
	int64_t spares = 0;
	int64_t i;

	memset(leiden->size, 0, (size_t) nodes * sizeof(uint32_t));
	for (i = 0; i < nodes; i++)
		leiden->total[i] = 0;
	for (i = 0; i < nodes; i++)
	{
		leiden->size[leiden->community[i]]++;
		leiden->total[leiden->community[i]] += level->strength[i];
		leiden->queued[i] = true;
	}
	for (i = nodes - 1; i >= 0; i--)
	{
		if (leiden->size[i] == 0)
			leiden->spare[spares++] = (uint32_t) i;
	}
	hy_communities_shuffle(leiden->seed, leiden->step++, nodes, leiden->order);
	while (waiting > 0)
	{
		uint32_t node = leiden->order[head];
		bool moved;
		HyStatus status;

		head = head + 1 == nodes ? 0 : head + 1;
		waiting--;
		leiden->queued[node] = false;
		status = move_node(leiden, level, node, &spares, &moved);
		if (status != HY_OK)
			return status;
		for (i = level->start[node]; moved && i < level->start[node + 1]; i++)
		{
			uint32_t other = level->neighbor[i];

			if (leiden->queued[other] || other == node ||
			    leiden->community[other] == leiden->community[node])
				continue;
			leiden->queued[other] = true;
			leiden->order[(head + waiting++) % nodes] = other;
		}
	}
	return HY_OK;
}

/* move_node: move a node to the community with the largest gain, if that is not its own. */
static HyStatus
move_node(Leiden *leiden, const Level *level, uint32_t node, int64_t *spares, bool *moved)
{
	uint32_t own = leiden->community[node];
	uint32_t best = own;
	double strength = level->strength[node];
	double share = leiden->resolution * strength / leiden->all;
	double best_gain;
	int64_t touched;
	int64_t i;

	*moved = false;
	if (must_stop(leiden, level->start[node + 1] - level->start[node]))
		return HY_CANCELLED;
	/* drop the rounding errors of a community that is empty now: its total is exactly 0 */
	leiden->size[own]--;
	leiden->total[own] = leiden->size[own] == 0 ? 0 : leiden->total[own] - strength;
	touched = touch(leiden, level, node, leiden->community, false);
	best_gain = leiden->sum[own] - share * leiden->total[own] + LEAST_GAIN * strength;
	for (i = 0; i < touched; i++)
	{
		uint32_t other = leiden->touched[i];
		double gain = leiden->sum[other] - share * leiden->total[other];

		if (other != own && gain > best_gain)
		{
			best = other;
			best_gain = gain;
		}
	}
	clear(leiden, touched);
	/* the gain of an empty community is 0 */
	if (leiden->size[own] > 0 && best_gain < 0)
		best = leiden->spare[--*spares];
	if (best != own && leiden->size[own] == 0)
		leiden->spare[(*spares)++] = own;
	leiden->size[best]++;
	leiden->total[best] += strength;
	leiden->community[node] = best;
	*moved = best != own;
	return HY_OK;
}

/* refine: divide each community into groups. */
static HyStatus
refine(Leiden *leiden, const Level *level)
{
	int64_t nodes = level->nodes;
	int64_t i;
	int64_t e;

	for (i = 0; i < nodes; i++)
		leiden->total[i] = 0;
	for (i = 0; i < nodes; i++)
	{
		if (must_stop(leiden, level->start[i + 1] - level->start[i]))
			return HY_CANCELLED;
		leiden->total[leiden->community[i]] += level->strength[i];
		leiden->group[i] = (uint32_t) i;
		leiden->group_total[i] = level->strength[i];
		leiden->size[i] = 1;
		leiden->outside[i] = 0;
		for (e = level->start[i]; e < level->start[i + 1]; e++)
		{
			if (level->neighbor[e] != i &&
			    leiden->community[level->neighbor[e]] == leiden->community[i])
				leiden->outside[i] += weight_of(level, e);
		}
	}
	hy_communities_shuffle(leiden->seed, leiden->step++, nodes, leiden->order);
	for (i = 0; i < nodes; i++)
	{
		uint32_t node = leiden->order[i];

		if (must_stop(leiden, level->start[node + 1] - level->start[node]))
			return HY_CANCELLED;
		/* a group has the number of its first node */
		if (leiden->group[node] == node && leiden->size[node] == 1)
			join_group(leiden, level, node);
	}
	return HY_OK;
}

/* join_group: let a node that is alone join the well-connected group with the largest gain. */
static void
join_group(Leiden *leiden, const Level *level, uint32_t node)
{
	double scale = leiden->resolution / leiden->all;
	double strength = level->strength[node];
	double total = leiden->total[leiden->community[node]];
	uint32_t best = node;
	double best_gain = LEAST_GAIN * strength;
	double between;
	int64_t touched;
	int64_t i;

	if (leiden->outside[node] < scale * strength * (total - strength))
		return;
	touched = touch(leiden, level, node, leiden->group, true);
	for (i = 0; i < touched; i++)
	{
		uint32_t other = leiden->touched[i];
		double other_total = leiden->group_total[other];
		double gain = leiden->sum[other] - scale * strength * other_total;

		if (gain > best_gain &&
		    leiden->outside[other] >= scale * other_total * (total - other_total))
		{
			best = other;
			best_gain = gain;
		}
	}
	between = leiden->sum[best];
	clear(leiden, touched);
	if (best == node)
		return;
	leiden->group[node] = best;
	leiden->group_total[best] += strength;
	leiden->outside[best] += leiden->outside[node] - 2 * between;
	leiden->size[best]++;
	leiden->size[node] = 0;
}

/*
 * aggregate: replace the level by the graph of its groups, which are numbered 0 .. groups - 1.
 * Then member[] maps to the groups, and community[g] is the community of group g.
 */
static HyStatus
aggregate(Leiden *leiden, Level *level, int64_t groups)
{
	const HyAllocator *allocator = leiden->allocator;
	size_t entries = (size_t) level->start[level->nodes] + 1;
	Level next = {.nodes = groups};
	int64_t i;
	HyStatus status = HY_NOMEM;

	next.own_start = hy_alloc_array(allocator, (size_t) groups + 1, sizeof(uint32_t));
	next.own_neighbor = hy_alloc_array(allocator, entries, sizeof(uint32_t));
	next.weight = hy_alloc_array(allocator, entries, sizeof(double));
	next.own_strength = hy_alloc_zero(allocator, (size_t) groups * sizeof(double));
	if (next.own_start == NULL || next.own_neighbor == NULL || next.weight == NULL ||
	    next.own_strength == NULL)
		goto done;

	order_by_group(leiden, level, groups);
	status = connect_groups(leiden, level, &next);
	if (status != HY_OK)
		goto done;
	memcpy(leiden->community, leiden->size, (size_t) groups * sizeof(uint32_t));
	for (i = 0; i < leiden->graph->nodes; i++)
		leiden->member[i] = leiden->group[leiden->member[i]];
	next.start = next.own_start;
	next.neighbor = next.own_neighbor;
	next.strength = next.own_strength;
	free_level(level, allocator);
	*level = next;
	return HY_OK;

done:
	free_level(&next, allocator);
	return status;
}

/*
 * order_by_group: list the nodes in order[], sorted by group.  On return, group g ends before
 * spare[g].
 */
static void
order_by_group(Leiden *leiden, const Level *level, int64_t groups)
{
	int64_t begin = 0;
	int64_t i;
	int64_t g;

	/*
	 * spare[g] is first the number of nodes of group g, and then the index of its next node in
	 * order[]
	 */
	memset(leiden->spare, 0, (size_t) groups * sizeof(uint32_t));
	for (i = 0; i < level->nodes; i++)
		leiden->spare[leiden->group[i]]++;
	for (g = 0; g < groups; g++)
	{
		int64_t count = leiden->spare[g];

		leiden->spare[g] = (uint32_t) begin;
		begin += count;
	}
	for (i = 0; i < level->nodes; i++)
		leiden->order[leiden->spare[leiden->group[i]]++] = (uint32_t) i;
}

/*
 * connect_groups: add up the edges between groups, and the strength of each group.  size[g] becomes
 * the community of group g.
 */
static HyStatus
connect_groups(Leiden *leiden, const Level *level, Level *next)
{
	int64_t filled = 0;
	int64_t i = 0;
	int64_t g;

	for (g = 0; g < next->nodes; g++)
	{
		int64_t touched = 0;
		int64_t t;

		next->own_start[g] = (uint32_t) filled;
		for (; i < leiden->spare[g]; i++)
		{
			uint32_t node = leiden->order[i];
			int64_t e;

			if (must_stop(leiden, level->start[node + 1] - level->start[node]))
			{
				clear(leiden, touched);
				return HY_CANCELLED;
			}
			next->own_strength[g] += level->strength[node];
			/* there are at most as many communities as groups, so their numbers are valid in next */
			leiden->size[g] = leiden->community[node];
			for (e = level->start[node]; e < level->start[node + 1]; e++)
			{
				uint32_t other = leiden->group[level->neighbor[e]];

				if (!(weight_of(level, e) > 0))
					continue;
				if (leiden->sum[other] == 0)
					leiden->touched[touched++] = other;
				leiden->sum[other] += weight_of(level, e);
			}
		}
		for (t = 0; t < touched; t++)
		{
			next->own_neighbor[filled] = leiden->touched[t];
			next->weight[filled++] = leiden->sum[leiden->touched[t]];
		}
		clear(leiden, touched);
	}
	next->own_start[next->nodes] = (uint32_t) filled;
	return HY_OK;
}

/*
 * divide: divide communities that are not connected, give each the number of its smallest node, and
 * compute the modularity.
 */
static HyStatus
divide(Leiden *leiden, uint32_t *community, double *modularity)
{
	const HyCsr *graph = leiden->graph;
	uint32_t *part = leiden->group;
	double within = 0;
	double squares = 0;
	int64_t i;
	int64_t e;

	for (i = 0; i < graph->nodes; i++)
	{
		part[i] = (uint32_t) i;
		leiden->total[i] = 0;
	}
	for (i = 0; i < graph->nodes; i++)
	{
		if (must_stop(leiden, graph->row_start[i + 1] - graph->row_start[i]))
			return HY_CANCELLED;
		for (e = graph->row_start[i]; e < graph->row_start[i + 1]; e++)
		{
			uint32_t other = graph->column[e];

			if (community[other] != community[i] || !(graph->weight[e] > 0))
				continue;
			within += graph->weight[e];
			hy_components_join(part, (uint32_t) i, other);
		}
	}
	for (i = 0; i < graph->nodes; i++)
	{
		part[i] = part[part[i]];
		community[i] = part[i];
		leiden->total[part[i]] += graph->out_weight[i];
	}
	for (i = 0; i < graph->nodes; i++)
		squares += leiden->total[i] / leiden->all * (leiden->total[i] / leiden->all);
	*modularity = within / leiden->all - leiden->resolution * squares;
	return HY_OK;
}

/*
 * touch: add up the weights of the edges from a node to each community or group.  of[] is the
 * community or group of each node.  If `inside` is set, only neighbors in the node's own community
 * count.  Returns the number of communities or groups with a sum.
 */
static int64_t
touch(Leiden *leiden, const Level *level, uint32_t node, const uint32_t *of, bool inside)
{
	int64_t touched = 0;
	int64_t e;

	for (e = level->start[node]; e < level->start[node + 1]; e++)
	{
		uint32_t other = level->neighbor[e];
		double weight = weight_of(level, e);

		if (other == node || !(weight > 0) ||
		    (inside && leiden->community[other] != leiden->community[node]))
			continue;
		if (leiden->sum[of[other]] == 0)
			leiden->touched[touched++] = of[other];
		leiden->sum[of[other]] += weight;
	}
	return touched;
}

static void
clear(Leiden *leiden, int64_t touched)
{
	int64_t i;

	for (i = 0; i < touched; i++)
		leiden->sum[leiden->touched[i]] = 0;
}

/*
 * must_stop: count entries to be examined next, and poll cancel once per HY_CANCEL_BLOCK of them.
 */
static bool
must_stop(Leiden *leiden, int64_t entries)
{
	leiden->polled += entries + 1;
	if (leiden->polled < HY_CANCEL_BLOCK)
		return false;
	leiden->polled = 0;
	return hy_cancelled(leiden->cancel);
}

/* free_level: free the arrays that the level owns.  The first level owns none. */
static void
free_level(Level *level, const HyAllocator *allocator)
{
	hy_free(allocator, level->weight);
	hy_free(allocator, level->own_start);
	hy_free(allocator, level->own_neighbor);
	hy_free(allocator, level->own_strength);
}
