/*
 * spread.c
 *		hybrid_spread and hybrid_spread_batch: activation spreading over the edges that a query
 *		returns, from one set of seeds or from many.
 *
 * The sets of a batch go to the dispatcher in slices that fit the memory limit. A seed that occurs
 * in no edge is unknown. If unknown seeds are wanted, each is a node without edges, which keeps its
 * activation and is only added to the result.
 */
#include "postgres.h"

#include <math.h>

#include "graph/arguments.h"
#include "graph/call.h"
#include "graph/device.h"
#include "graph/spreading.h"
#include "miscadmin.h"
#include "port/pg_bitutils.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/memutils.h"

PG_FUNCTION_INFO_V1(hybrid_spread);
PG_FUNCTION_INFO_V1(hybrid_spread_batch);

/* Arguments of hybrid_spread. In hybrid_spread_batch, one more argument precedes the seeds. */
enum SpreadArgument
{
	GRAPH_ARGUMENT,
	SEEDS_ARGUMENT,
	ACTIVATION_ARGUMENT,
	HOPS_ARGUMENT,
	DECAY_ARGUMENT,
	FAN_ARGUMENT,
	HUB_ARGUMENT,
	THRESHOLD_ARGUMENT,
	REFIRE_ARGUMENT,
	COMBINE_ARGUMENT,
	DIRECTION_ARGUMENT,
	TYPES_ARGUMENT,
	NORMALIZE_ARGUMENT,
	UNKNOWN_ARGUMENT,
	TOLERANCE_ARGUMENT,
	K_ARGUMENT,
	PARAMS_ARGUMENT
};

#define SETS_ARGUMENT 1

/*
 * Bytes for each node: y, charge and the times fired in core, the divisor of a hub, and a row of the
 * answer; and for each set its activation, hops and what it has sent.
 */
#define TASK_BYTES (3 * sizeof(double) + sizeof(int32) + sizeof(HybridScored))
#define SET_BYTES (2 * sizeof(double) + sizeof(int32))

/* Maximum bytes of the answers of a slice, if no device can run it. */
#define HOST_SLICE_BYTES (UINT64CONST(4) << 20)

/* Number of a seed that is not in the graph, in HybridScored. */
#define UNKNOWN_NODE UINT32_MAX

/* Spreading: a call of either function. */
typedef struct Spreading
{
	HybridCall call;
	HySpreadParams params;
	bool batch; /* whether the first column of the answer is the set */
	double hub; /* the exponent */
	bool normalized;
	bool unknown; /* whether seeds that are not in the graph are wanted */
	int64 k;
	const HybridSeed *seeds; /* by set, then by id */
	int seed_count;
	HybridScored *row; /* space for the rows of one set */
} Spreading;

/* Slice: the sets that one task spreads from. */
typedef struct Slice
{
	int first; /* the seeds of the slice are first .. end - 1 */
	int end;
	int sets;
	int64 *start;  /* start of each set among the seeds that are nodes of the graph */
	uint32 *node;  /* their nodes */
	double *value; /* their activation */
	/* activation of all seeds of a set, divided by the activation of its seeds in the graph */
	double all_inside;
	HySpreadResult result;
	uint64 *reached; /* bitmap of the nodes that may have activation; others have no result */
} Slice;

/* Answer: the rows of a set. */
typedef struct Answer
{
	HybridScored *row;
	int64 count;
	double lane[HY_SPREAD_LANES]; /* the lanes of the sum of all activation */
} Answer;

static Datum answer(FunctionCallInfo fcinfo, bool batch);
static void read_params(FunctionCallInfo fcinfo, int shift, Spreading *spreading);
static void read_seeds(FunctionCallInfo fcinfo, int shift, Spreading *spreading);
static void spread_slice(Spreading *spreading, Slice *slice);
static int end_of_set(const Spreading *spreading, int first);
static double add_set(const Spreading *spreading, Slice *slice, int first, int end);
static void answer_set(Spreading *spreading, int first, int end, const HySpreadResult *result,
                       const uint64 *reached);
static int64 next_reached(const uint64 *reached, int64 from, int64 stop);
static void add_row(Answer *answer, int64 place, HybridScored row);
static void answer_row(Spreading *spreading, int64 set, const HybridScored *row, double divisor,
                       const double *sent, const uint64 *reached);
static void check_activation(int64 id, double activation);

Datum
hybrid_spread(PG_FUNCTION_ARGS)
{
	return answer(fcinfo, false);
}

Datum
hybrid_spread_batch(PG_FUNCTION_ARGS)
{
	return answer(fcinfo, true);
}

static Datum
answer(FunctionCallInfo fcinfo, bool batch)
{
	int shift = batch ? 1 : 0;
	HybridArguments arguments = {GRAPH_ARGUMENT, TYPES_ARGUMENT + shift, PARAMS_ARGUMENT + shift};
	Spreading spreading = {.batch = batch};
	HybridCall *call = &spreading.call;
	Slice slice = {0};
	int64 most;

	hybrid_call_begin(call, fcinfo);
	read_params(fcinfo, shift, &spreading);
	spreading.k = hybrid_call_limit(call, K_ARGUMENT + shift);
	read_seeds(fcinfo, shift, &spreading);
	hybrid_call_open(call, &arguments, hybrid_call_direction(call, DIRECTION_ARGUMENT + shift),
	                 HY_MERGE_SUM);
	hybrid_call_reserve(call, TASK_BYTES + SET_BYTES, 0);
	spreading.params.hub = hybrid_graph_hub(call->graph, spreading.hub);
	hybrid_spreading_check_converges(call, &spreading.params);

	most = Min(1 + (int64) (call->room / (SET_BYTES * (uint64) Max(call->csr->nodes, 1))),
	           batch ? Max(spreading.seed_count, 1) : 1);
	/* the CPU gains nothing from many sets in a slice; small slices can use the same memory again */
	if (!hybrid_graph_device_possible())
		most = Min(
			most, 1 + (int64) (HOST_SLICE_BYTES / (SET_BYTES * (uint64) Max(call->csr->nodes, 1))));
	call->room -= (uint64) (most - 1) * SET_BYTES * (uint64) call->csr->nodes;
	spreading.row =
		hybrid_call_array(call, call->csr->nodes + spreading.seed_count, sizeof(HybridScored));
	slice.start = hybrid_call_array(call, most + 1, sizeof(int64));
	slice.node = hybrid_call_array(call, spreading.seed_count, sizeof(uint32));
	slice.value = hybrid_call_array(call, spreading.seed_count, sizeof(double));
	slice.result.activation = hybrid_call_array(call, most * call->csr->nodes, sizeof(double));
	slice.result.hop = hybrid_call_array(call, most * call->csr->nodes, sizeof(int32));
	slice.result.sent = hybrid_call_array(call, most * call->csr->nodes, sizeof(double));
	slice.reached =
		hybrid_call_array(call, most * hy_spread_words(call->csr->nodes), sizeof(uint64));

	for (slice.first = 0; slice.first < spreading.seed_count; slice.first = slice.end)
	{
		slice.end = slice.first;
		slice.sets = 0;
		slice.start[0] = 0;
		while (slice.end < spreading.seed_count && slice.sets < most)
		{
			int end = end_of_set(&spreading, slice.end);
			double all_inside = add_set(&spreading, &slice, slice.end, end);

			/* a task has one tolerance */
			if (slice.sets > 0 && all_inside != slice.all_inside)
				break;
			slice.all_inside = all_inside;
			slice.sets++;
			slice.end = end;
		}
		spread_slice(&spreading, &slice);
	}
	return hybrid_call_end(call);
}

/* read_params: read and check all arguments about how activation spreads and which rows are wanted. */
static void
read_params(FunctionCallInfo fcinfo, int shift, Spreading *spreading)
{
	/* in the order of HyCombine */
	static const HybridWords combines = {{"sum", "max"},
	                                     "Activation is combined by \"sum\" or \"max\"."};

	HySpreadParams *params = &spreading->params;

	params->hops = -1;
	if (!PG_ARGISNULL(HOPS_ARGUMENT + shift))
	{
		params->hops = PG_GETARG_INT32(HOPS_ARGUMENT + shift);
		if (params->hops < 0)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			                errmsg("hops must be at least 0, not %d", params->hops),
			                errhint("NULL means until the activation has died away.")));
	}

	hybrid_require_argument(fcinfo, DECAY_ARGUMENT + shift, "decay");
	params->decay = PG_GETARG_FLOAT8(DECAY_ARGUMENT + shift);
	if (!(params->decay >= 0 && params->decay <= 1))
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("decay must be between 0 and 1, not %s", float8out_internal(params->decay)),
		         errhint("It is the share that is kept at each hop.")));

	hybrid_require_argument(fcinfo, FAN_ARGUMENT + shift, "fan");
	params->fan = PG_GETARG_FLOAT8(FAN_ARGUMENT + shift);
	if (params->fan != 0 && params->fan != 0.5 && params->fan != 1)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("fan must be 0, 0.5 or 1, not %s", float8out_internal(params->fan))));

	hybrid_require_argument(fcinfo, HUB_ARGUMENT + shift, "hub");
	spreading->hub = PG_GETARG_FLOAT8(HUB_ARGUMENT + shift);
	if (!(spreading->hub >= 0 && spreading->hub <= 1))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("hub must be between 0 and 1, not %s",
		                       float8out_internal(spreading->hub))));

	hybrid_require_argument(fcinfo, THRESHOLD_ARGUMENT + shift, "threshold");
	params->threshold = PG_GETARG_FLOAT8(THRESHOLD_ARGUMENT + shift);
	if (!(params->threshold >= 0))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("threshold must be at least 0, not %s",
		                       float8out_internal(params->threshold))));

	if (!PG_ARGISNULL(REFIRE_ARGUMENT + shift))
	{
		params->refire = PG_GETARG_INT32(REFIRE_ARGUMENT + shift);
		if (params->refire < 1)
			ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			                errmsg("refire must be at least 1, not %d", params->refire),
			                errhint("NULL means that a node may fire at every hop.")));
	}

	params->combine =
		(HyCombine) hybrid_word_argument(fcinfo, COMBINE_ARGUMENT + shift, "combine", &combines);
	params->tolerance = hybrid_spreading_tolerance(fcinfo, TOLERANCE_ARGUMENT + shift);

	hybrid_require_argument(fcinfo, NORMALIZE_ARGUMENT + shift, "normalized");
	spreading->normalized = PG_GETARG_BOOL(NORMALIZE_ARGUMENT + shift);
	hybrid_require_argument(fcinfo, UNKNOWN_ARGUMENT + shift, "unknown");
	spreading->unknown = PG_GETARG_BOOL(UNKNOWN_ARGUMENT + shift);
}

/* read_seeds: read the seeds. There are none if seeds is NULL. */
static void
read_seeds(FunctionCallInfo fcinfo, int shift, Spreading *spreading)
{
	ArrayType *sets = NULL;
	ArrayType *activation = NULL;

	if (PG_ARGISNULL(SEEDS_ARGUMENT + shift))
		return;
	if (spreading->batch)
	{
		hybrid_require_argument(fcinfo, SETS_ARGUMENT, "sets");
		sets = PG_GETARG_ARRAYTYPE_P(SETS_ARGUMENT);
	}
	if (!PG_ARGISNULL(ACTIVATION_ARGUMENT + shift))
		activation = PG_GETARG_ARRAYTYPE_P(ACTIVATION_ARGUMENT + shift);
	spreading->seeds = hybrid_parse_seeds(sets, PG_GETARG_ARRAYTYPE_P(SEEDS_ARGUMENT + shift),
	                                      activation, &spreading->seed_count);
}

/* spread_slice: spread from the sets of a slice, and store the rows of each. */
static void
spread_slice(Spreading *spreading, Slice *slice)
{
	HybridCall *call = &spreading->call;
	int64 nodes = call->csr->nodes;
	HySpreadSeeds seeds = {slice->sets, slice->start, slice->node, slice->value};
	HySpreadParams params = spreading->params;
	int first = slice->first;
	int set;

	/* the tolerance is relative to the sum of all seeds, including seeds without edges */
	params.tolerance *= slice->all_inside;
	hybrid_spreading_run(call, &params, &seeds, &slice->result, slice->reached);
	for (set = 0; set < slice->sets; set++)
	{
		int end = end_of_set(spreading, first);

		answer_set(spreading, first, end,
		           &(HySpreadResult){slice->result.activation + set * nodes,
		                             slice->result.hop + set * nodes,
		                             slice->result.sent + set * nodes},
		           slice->reached + set * hy_spread_words(nodes));
		first = end;
	}
}

/* end_of_set: return the end of the set whose first seed is given. */
static int
end_of_set(const Spreading *spreading, int first)
{
	const HybridSeed *seeds = spreading->seeds;
	int end = first + 1;

	while (end < spreading->seed_count && seeds[end].set == seeds[first].set)
		end++;
	return end;
}

/*
 * add_set: add the seeds first .. end - 1 that are nodes of the graph to the slice, as its set
 * number slice->sets. Returns all_inside of the set, or 1 if no seed in the graph has activation.
 */
static double
add_set(const Spreading *spreading, Slice *slice, int first, int end)
{
	double inside = 0;
	double all = 0;
	int64 filled = slice->start[slice->sets];
	int i;

	for (i = first; i < end; i++)
	{
		const HybridSeed *seed = &spreading->seeds[i];
		int64 found = hy_csr_find(spreading->call.csr, seed->id);

		CHECK_FOR_INTERRUPTS();
		all += seed->activation;
		if (found < 0)
			continue;
		inside += seed->activation;
		slice->node[filled] = (uint32) found;
		slice->value[filled] = seed->activation;
		filled++;
	}
	if (isinf(all) && spreading->params.hops == -1)
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("sum of the activation of seeds is out of range"),
		                errhint("Give a number of hops, or lower the activation of the seeds.")));
	slice->start[slice->sets + 1] = filled;
	return inside < all && inside > 0 ? all / inside : 1;
}

/*
 * answer_set: store the rows of one set, whose seeds are first .. end - 1. There is a row for each node
 * with activation above 0 and, if unknown seeds are wanted, for each of them. The sum is canonical:
 * each node adds to the next lane, even if its activation is 0.
 */
static void
answer_set(Spreading *spreading, int first, int end, const HySpreadResult *result,
           const uint64 *reached)
{
	const HyCsr *csr = spreading->call.csr;
	const HybridSeed *seeds = spreading->seeds;
	int64 set = seeds[first].set;
	Answer answer = {.row = spreading->row};
	int64 node = 0;
	int64 unknown = 0; /* rows so far of seeds that are not in the graph */
	double sum;
	int64 i;

	for (;; first++)
	{
		int64 stop = first < end ? hy_csr_first(csr, seeds[first].id) : csr->nodes;

		CHECK_FOR_INTERRUPTS();
		/* the other nodes have no activation, and add nothing to the sum */
		for (node = next_reached(reached, node, stop); node < stop;
		     node = next_reached(reached, node + 1, stop))
			add_row(&answer, node + unknown,
			        (HybridScored){csr->ids[node], result->activation[node], result->hop[node],
			                       (uint32) node});
		if (first == end)
			break;
		/* a seed in the graph is a node like the others, and is reached if it has activation */
		if (spreading->unknown && (stop == csr->nodes || csr->ids[stop] != seeds[first].id))
			add_row(&answer, node + unknown++,
			        (HybridScored){seeds[first].id, seeds[first].activation, 0, UNKNOWN_NODE});
	}
	sum = hy_spread_fold(answer.lane);
	if (spreading->normalized && isinf(sum))
		ereport(ERROR,
		        (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		         errmsg("sum of the activation of all nodes is out of range"),
		         errhint("Lower the activation of the seeds, decay or the number of hops, or "
		                 "set fan to 1.")));
	hybrid_sort_scored(answer.row, answer.count, spreading->k);
	for (i = 0; i < answer.count && i < spreading->k; i++)
		answer_row(spreading, set, &answer.row[i], spreading->normalized ? sum : 1, result->sent,
		           reached);
}

/* next_reached: return the first marked node of the range [from, stop), or stop if there is none. */
static int64
next_reached(const uint64 *reached, int64 from, int64 stop)
{
	while (from < stop)
	{
		uint64 rest = reached[from / 64] >> from % 64;

		CHECK_FOR_INTERRUPTS();
		if (rest != 0)
			return Min(from + pg_rightmost_one_pos64(rest), stop);
		from += 64 - from % 64;
	}
	return stop;
}

/*
 * add_row: add a row. place is its position in the order of ids of all nodes, known and unknown.
 */
static void
add_row(Answer *answer, int64 place, HybridScored row)
{
	check_activation(row.id, row.score);
	answer->lane[place % HY_SPREAD_LANES] += row.score;
	if (row.score > 0)
		answer->row[answer->count++] = row;
}

/* answer_row: store a row of a set, with its activation divided by divisor. */
static void
answer_row(Spreading *spreading, int64 set, const HybridScored *row, double divisor,
           const double *sent, const uint64 *reached)
{
	HybridCall *call = &spreading->call;
	int64 via = row->node == UNKNOWN_NODE ? -1 : hy_spread_via(call->csr, sent, reached, row->node);
	Datum values[] = {Int64GetDatum(set), Int64GetDatum(row->id),
	                  Float8GetDatum(row->score / divisor), Int32GetDatum(row->hop),
	                  Int64GetDatum(via < 0 ? 0 : call->csr->ids[via])};
	bool nulls[] = {false, false, false, false, via < 0};
	int from = spreading->batch ? 0 : 1;

	hybrid_call_row_with_nulls(call, values + from, nulls + from);
}

static void
check_activation(int64 id, double activation)
{
	if (isinf(activation) || isnan(activation))
		ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
		                errmsg("activation of node " INT64_FORMAT " is out of range", id),
		                errhint("Lower decay or the number of hops, or set fan to 1.")));
}
