/*
 * spread.c
 *		hybrid_spread and hybrid_spread_batch: spread activation over a graph, from one set of seeds or
 *		from many.
 */
#include "postgres.h"

#include <math.h>

#include "graph/arguments.h"
#include "graph/spread_sets.h"
#include "graph/spreading.h"

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

static Datum answer(FunctionCallInfo fcinfo, int shift);
static HySpreadParams read_params(FunctionCallInfo fcinfo, int shift);
static void answer_row(void *arg, const HybridSpreadRow *row);

Datum
hybrid_spread(PG_FUNCTION_ARGS)
{
	return answer(fcinfo, 0);
}

Datum
hybrid_spread_batch(PG_FUNCTION_ARGS)
{
	return answer(fcinfo, 1);
}

/* answer: answer a call. The numbers of the arguments after the graph are higher by `shift`. */
static Datum
answer(FunctionCallInfo fcinfo, int shift)
{
	static const HybridRange hubs = {0, 1, .words = "between 0 and 1"};
	HybridArguments arguments = {GRAPH_ARGUMENT, TYPES_ARGUMENT + shift, PARAMS_ARGUMENT + shift};
	HybridCall call;
	HybridSpreadSets sets = {.call = &call, .take = answer_row, .arg = &call};

	hybrid_call_begin(&call, fcinfo);
	sets.params = read_params(fcinfo, shift);
	sets.hub = hybrid_number_argument(fcinfo, HUB_ARGUMENT + shift, "hub", &hubs);
	sets.normalized = hybrid_flag_argument(fcinfo, NORMALIZE_ARGUMENT + shift, "normalized");
	sets.unknown = hybrid_flag_argument(fcinfo, UNKNOWN_ARGUMENT + shift, "unknown");
	sets.k = hybrid_call_limit(&call, K_ARGUMENT + shift);
	sets.seeds = hybrid_seeds_argument(fcinfo, shift == 0 ? -1 : SETS_ARGUMENT,
	                                   SEEDS_ARGUMENT + shift, &sets.seed_count);
	hybrid_call_open(&call, &arguments, hybrid_call_direction(&call, DIRECTION_ARGUMENT + shift),
	                 HY_MERGE_SUM);
	hybrid_spread_sets(&sets);
	return hybrid_call_end(&call);
}

/* read_params: read and check the arguments that say how activation spreads, except hub. */
static HySpreadParams
read_params(FunctionCallInfo fcinfo, int shift)
{
	/* in the order of HyCombine */
	static const HybridWords combines = {{"sum", "max"},
	                                     "Activation is combined by \"sum\" or \"max\"."};
	static const HybridRange decays = {0, 1, .words = "between 0 and 1",
	                                   .hint = "It is the share that is kept at each hop."};
	static const HybridRange fans = {0, 1, 0.5, .words = "0, 0.5 or 1"};
	static const HybridRange thresholds = {0, INFINITY, .words = "at least 0"};
	HySpreadParams params = {0};

	params.hops = (int32) hybrid_count_argument(fcinfo, HOPS_ARGUMENT + shift, "hops", 0, -1,
	                                            "NULL means until the activation has died away.");
	params.decay = hybrid_number_argument(fcinfo, DECAY_ARGUMENT + shift, "decay", &decays);
	params.fan = hybrid_number_argument(fcinfo, FAN_ARGUMENT + shift, "fan", &fans);
	params.threshold =
		hybrid_number_argument(fcinfo, THRESHOLD_ARGUMENT + shift, "threshold", &thresholds);
	params.refire = (int32) hybrid_count_argument(fcinfo, REFIRE_ARGUMENT + shift, "refire", 1, 0,
	                                              "NULL means that a node may fire at every hop.");
	params.combine =
		(HyCombine) hybrid_word_argument(fcinfo, COMBINE_ARGUMENT + shift, "combine", &combines);
	params.tolerance = hybrid_spreading_tolerance(fcinfo, TOLERANCE_ARGUMENT + shift);
	return params;
}

/* answer_row: store a row. Only the rows of hybrid_spread_batch have the column of the set. */
static void
answer_row(void *arg, const HybridSpreadRow *row)
{
	HybridCall *call = arg;
	Datum values[] = {Int64GetDatum(row->set), Int64GetDatum(row->id),
	                  Float8GetDatum(row->activation), Int32GetDatum(row->hop),
	                  Int64GetDatum(row->via < 0 ? 0 : call->csr->ids[row->via])};
	bool nulls[] = {false, false, false, false, row->via < 0};
	int from = (int) lengthof(values) - call->result->setDesc->natts;

	hybrid_call_row_with_nulls(call, values + from, nulls + from);
}
