/*
 * explain.c
 *		Implements hybrid_explain, which shows where the dispatcher would run a batch, and its
 *		cost on the CPU and on each device.
 */
#include "postgres.h"

#include "core/batch.h"
#include "dispatch/tools/explain.h"
#include "fmgr.h"
#include "funcapi.h"
#include "server/executor.h"
#include "server/report.h"
#include "telemetry/rows.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(hybrid_explain);

static HyShape shape_from(FunctionCallInfo fcinfo);
static int parse_word(FunctionCallInfo fcinfo, int argument, HyWords kind);
static void store_side(FunctionCallInfo fcinfo, const HyExecutor *executor,
                       const HyDecision *decision, const HySideCost *cost);

Datum
hybrid_explain(PG_FUNCTION_ARGS)
{
	HyShape shape = shape_from(fcinfo);
	HyExecutor *executor = hybrid_viewed_executor();
	HySideCost costs[HY_MAX_DEVICES];
	HyDecision decision;
	int32_t count;
	int32_t i;

	InitMaterializedSRF(fcinfo, 0);
	/* even if each argument is valid by itself, the batch may exceed the memory of any process */
	if (hy_explain(executor, &shape, &decision, costs, &count) == HY_INVALID && count == 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("no process can hold a batch of %lld queries and %lld targets",
		                       (long long) shape.queries, (long long) shape.targets)));
	for (i = 0; i < count; i++)
		store_side(fcinfo, executor, &decision, &costs[i]);
	return (Datum) 0;
}

/*
 * shape_from: convert the arguments to a shape: operation, targets, dims, queries, metric, k,
 * dtype.
 */
static HyShape
shape_from(FunctionCallInfo fcinfo)
{
	HyShape shape = {.op = (HyOp) parse_word(fcinfo, 0, HY_WORDS_OPERATION),
	                 .targets = PG_GETARG_INT64(1),
	                 .queries = PG_GETARG_INT64(3)};
	int32 dims = PG_GETARG_INT32(2);
	int32 k = PG_GETARG_INT32(5);

	if (shape.targets < 0 || shape.queries < 0)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("%s must not be negative: %lld", shape.targets < 0 ? "targets" : "queries",
		                (long long) Min(shape.targets, shape.queries))));
	if (shape.op == HY_OP_SPREAD)
		return shape;
	if (dims < 1 || dims > HY_MAX_DIMS)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("dims must be between 1 and %d: %d", HY_MAX_DIMS, dims)));
	shape.dims = dims;
	shape.metric = (HyMetric) parse_word(fcinfo, 4, HY_WORDS_METRIC);
	shape.dtype = (HyDtype) parse_word(fcinfo, 6, HY_WORDS_DTYPE);
	if (!hy_op_has_k(shape.op))
		return shape;
	if (k < 1)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("k must be at least 1: %d", k)));
	shape.k = k;
	return shape;
}

static int
parse_word(FunctionCallInfo fcinfo, int argument, HyWords kind)
{
	return hybrid_parse_word(kind, text_to_cstring(PG_GETARG_TEXT_PP(argument)));
}

static void
store_side(FunctionCallInfo fcinfo, const HyExecutor *executor, const HyDecision *decision,
           const HySideCost *cost)
{
	bool chosen = decision->device == cost->device;
	HyDeviceState state;
	HybridRow row = {.columns = 0};

	hy_executor_device(executor, cost->device, &state);
	hybrid_row_put(&row, Int32GetDatum(cost->device));
	hybrid_row_put_text(&row, state.backend);
	hybrid_row_put(&row, BoolGetDatum(chosen));
	hybrid_row_put_text(&row, chosen ? hy_reason_name(decision->reason) : NULL);
	hybrid_row_put_text(&row, chosen ? hy_status_name(decision->status) : NULL);
	hybrid_row_put_text(&row, chosen && decision->failure.text[0] != '\0' ? decision->failure.text
	                                                                      : NULL);
	hybrid_row_put(&row, BoolGetDatum(cost->able));
	hybrid_row_put(&row, BoolGetDatum(cost->open));
	hybrid_row_put_us(&row, cost->ns);
	hybrid_row_put_us(&row, cost->in_flight_ns);
	hybrid_row_put(&row, Int32GetDatum(cost->samples));
	hybrid_row_put(&row, Int64GetDatum((int64) Min(cost->needs.device_bytes, PG_INT64_MAX)));
	hybrid_row_put(&row, Int64GetDatum((int64) Min(cost->needs.bytes_up, PG_INT64_MAX)));
	hybrid_row_put(&row, Int64GetDatum((int64) Min(cost->needs.bytes_down, PG_INT64_MAX)));
	hybrid_row_put_if(&row, chosen && decision->bytes_required > 0,
	                  Int64GetDatum((int64) Min(decision->bytes_available, PG_INT64_MAX)));
	if (decision->split_share >= 0 && (chosen || cost->device == 0))
		hybrid_row_put(&row, Float8GetDatum(cost->device == 0 ? 1 - decision->split_share
		                                                      : decision->split_share));
	else
		hybrid_row_put_null(&row);
	hybrid_row_put(&row, BoolGetDatum(state.info.virtual_time));
	hybrid_row_store(fcinfo, &row);
}
