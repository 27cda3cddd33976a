/*
 * sphere_selectivity.c
 *		Selectivity of "within a sphere": like matchingsel, but values of the column may have other
 *		dimensions than the sphere.
 *
 * The operator is run over the column's statistics. It raises an error if dimensions differ. But
 * planning must not fail where execution would not: another condition may remove such rows first.
 * Values with other dimensions are therefore skipped. The share of the remaining values that are within
 * the sphere is used for all rows. A statement on such a table can only succeed if another condition
 * removes the rows with other dimensions. So the planner needs the share among the remaining rows only.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_statistic.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "nodes/primnodes.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/selfuncs.h"

#include "types/sphere.h"
#include "types/vector.h"

/*
 * Constants of generic_restriction_selectivity(), which matchingsel calls: the minimum number of
 * histogram values, the number at or above which the histogram has full weight, and the minimum distance
 * of the result from 0 and from 1.
 */
#define HISTOGRAM_MIN 10
#define HISTOGRAM_FULL 100
#define HISTOGRAM_LEAST 0.0001

/* Condition: the operator and its constant operand. */
typedef struct Condition
{
	FmgrInfo within;
	Oid collation;
	Datum constant;
	bool vector_varies; /* the column is the operator's vector operand, not its sphere */
	MemoryContext context;
} Condition;

/*
 * Counted: the share of the rows whose vectors have as many dimensions as the constant, and the share of
 * the rows within the sphere.
 */
typedef struct Counted
{
	double comparable;
	double within;
} Counted;

static double restriction(VariableStatData *column, Condition *condition);
static double count_common(VariableStatData *column, Condition *condition, Counted *common);
static int count_histogram(VariableStatData *column, Condition *condition, Counted *histogram);
static bool comparable(Condition *condition, Datum value, bool *within);

PG_FUNCTION_INFO_V1(hybrid_within_selectivity);
Datum
hybrid_within_selectivity(PG_FUNCTION_ARGS)
{
	PlannerInfo *root = (PlannerInfo *) PG_GETARG_POINTER(0);
	Oid operator= PG_GETARG_OID(1);
	List *args = (List *) PG_GETARG_POINTER(2);
	int relation = PG_GETARG_INT32(3);
	double result = DEFAULT_MATCHING_SEL;
	VariableStatData column;
	Node *other;
	bool vector_varies;

	if (!get_restriction_variable(root, args, relation, &column, &other, &vector_varies))
		PG_RETURN_FLOAT8(result);
	if (IsA(other, Const) && ((Const *) other)->constisnull)
		result = 0;
	else if (IsA(other, Const))
	{
		Condition condition = {.collation = PG_GET_COLLATION(),
		                       .constant = ((Const *) other)->constvalue,
		                       .vector_varies = vector_varies};

		fmgr_info(get_opcode(operator), &condition.within);
		condition.context = AllocSetContextCreate(CurrentMemoryContext, "hybrid selectivity",
		                                          ALLOCSET_DEFAULT_SIZES);
		result = restriction(&column, &condition);
		MemoryContextDelete(condition.context);
	}
	ReleaseVariableStats(column);
	CLAMP_PROBABILITY(result);
	PG_RETURN_FLOAT8(result);
}

/* restriction: return the share of the column's rows that satisfy the condition. */
static double
restriction(VariableStatData *column, Condition *condition)
{
	Counted common = {0, 0}, histogram = {0, 0};
	double rest, share = DEFAULT_MATCHING_SEL, nulls = 0;
	int values;

	if (HeapTupleIsValid(column->statsTuple))
		nulls = ((Form_pg_statistic) GETSTRUCT(column->statsTuple))->stanullfrac;
	/* rows whose value is not among the most common values */
	rest = 1 - nulls - count_common(column, condition, &common);
	rest = Max(rest, 0);
	values = count_histogram(column, condition, &histogram);
	if (values > 0)
	{
		double counting = values * histogram.comparable;

		if (counting >= HISTOGRAM_MIN)
		{
			double weight = Min(counting / HISTOGRAM_FULL, 1);

			share = weight * histogram.within / histogram.comparable + (1 - weight) * share;
		}
		rest *= histogram.comparable;
	}
	share = Min(Max(share, HISTOGRAM_LEAST), 1 - HISTOGRAM_LEAST);
	if (common.comparable + rest <= 0)
		return DEFAULT_MATCHING_SEL;
	return (1 - nulls) * (common.within + rest * share) / (common.comparable + rest);
}

/*
 * count_common: compute `common` from the most common values, as shares of all rows of the table. Returns
 * the share of the rows whose value is one of the most common values.
 */
static double
count_common(VariableStatData *column, Condition *condition, Counted *common)
{
	AttStatsSlot slot;
	double all = 0;
	int i;

	if (!HeapTupleIsValid(column->statsTuple) ||
	    !statistic_proc_security_check(column, condition->within.fn_oid) ||
	    !get_attstatsslot(&slot, column->statsTuple, STATISTIC_KIND_MCV, InvalidOid,
	                      ATTSTATSSLOT_VALUES | ATTSTATSSLOT_NUMBERS))
		return 0;
	for (i = 0; i < slot.nvalues; i++)
	{
		bool within;

		all += slot.numbers[i];
		if (!comparable(condition, slot.values[i], &within))
			continue;
		common->comparable += slot.numbers[i];
		if (within)
			common->within += slot.numbers[i];
	}
	free_attstatsslot(&slot);
	return all;
}

/*
 * count_histogram: compute both shares among the values of the histogram. The first and the last value
 * are left out, because they may be outliers. Returns the number of values of the histogram, or 0 if it
 * has at most two, or if there is no histogram that may be used.
 */
static int
count_histogram(VariableStatData *column, Condition *condition, Counted *histogram)
{
	AttStatsSlot slot;
	int values, i;

	if (!HeapTupleIsValid(column->statsTuple) ||
	    !statistic_proc_security_check(column, condition->within.fn_oid) ||
	    !get_attstatsslot(&slot, column->statsTuple, STATISTIC_KIND_HISTOGRAM, InvalidOid,
	                      ATTSTATSSLOT_VALUES))
		return 0;
	values = slot.nvalues > 2 ? slot.nvalues : 0;
	for (i = 1; i < slot.nvalues - 1; i++)
	{
		bool within;

		if (!comparable(condition, slot.values[i], &within))
			continue;
		histogram->comparable += 1.0 / (values - 2);
		if (within)
			histogram->within += 1.0 / (values - 2);
	}
	free_attstatsslot(&slot);
	return values;
}

/*
 * comparable: test whether a value has the dimensions of the constant, so that the operator can be
 * called. *within is set to the operator's result, or to false if the operator was not called.
 */
static bool
comparable(Condition *condition, Datum value, bool *within)
{
	LOCAL_FCINFO(call, 2);
	Datum vector = condition->vector_varies ? value : condition->constant;
	Datum ball = condition->vector_varies ? condition->constant : value;
	MemoryContext old = MemoryContextSwitchTo(condition->context);
	HybridSphere sphere;
	bool comparable = true;

	CHECK_FOR_INTERRUPTS();
	*within = false;
	/* a sphere without a center or radius contains nothing, whatever the dimensions */
	if (hybrid_sphere_open(ball, &sphere))
	{
		comparable = hybrid_dense_peek_dims(vector) == sphere.center->dim;
		if (comparable)
		{
			Datum answer;

			InitFunctionCallInfoData(*call, &condition->within, 2, condition->collation, NULL,
			                         NULL);
			call->args[0].value = vector;
			call->args[0].isnull = false;
			call->args[1].value = ball;
			call->args[1].isnull = false;
			answer = FunctionCallInvoke(call);
			*within = !call->isnull && DatumGetBool(answer);
		}
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(condition->context);
	return comparable;
}
