/*
 * associate.c
 *		hybrid_associate: the rows nearest to a vector and the rows related to them, ranked by one score.
 *
 * One SQL statement (associate_statement.h) computes the answer, with the snapshot and privileges of the caller.
 */
#include "postgres.h"

#include "executor/spi.h"
#include "executor/tstoreReceiver.h"
#include "graph/arguments.h"
#include "graph/associate_statement.h"
#include "graph/call.h"
#include "utils/lsyscache.h"

PG_FUNCTION_INFO_V1(hybrid_associate);

static void check_arguments(FunctionCallInfo fcinfo);
pg_noreturn static void rethrow(const HybridCall *call, const char *statement, const char *place);

Datum
hybrid_associate(PG_FUNCTION_ARGS)
{
	HybridCall call;
	SPIExecuteOptions options = {.read_only = true, .must_return_tuples = true};
	const char *statement;
	const char *place;
	int n;

	hybrid_call_begin(&call, fcinfo);
	check_arguments(fcinfo);
	options.params = makeParamList(LAST_ARGUMENT + 1);
	for (n = 0; n <= LAST_ARGUMENT; n++)
		options.params->params[n] =
			(ParamExternData){fcinfo->args[n].value, fcinfo->args[n].isnull, PARAM_FLAG_CONST,
		                      get_fn_expr_argtype(fcinfo->flinfo, n)};
	options.dest = CreateDestReceiver(DestTuplestore);
	SetTuplestoreDestReceiverParams(options.dest, call.result->setResult,
	                                call.result->econtext->ecxt_per_query_memory, false, NULL,
	                                NULL);
	statement = hybrid_associate_statement(fcinfo);
	place =
		psprintf("hybrid_associate over column \"%s\" of \"%s\"",
	             NameStr(*PG_GETARG_NAME(COL_ARGUMENT)), get_rel_name(PG_GETARG_OID(REL_ARGUMENT)));
	PG_TRY();
	{
		SPI_connect();
		SPI_execute_extended(statement, &options);
		SPI_finish();
	}
	PG_CATCH();
	{
		rethrow(&call, statement, place);
	}
	PG_END_TRY();
	return hybrid_call_end(&call);
}

/*
 * check_arguments: raise if an argument is NULL or a number is out of range. The remaining arguments are checked
 * where they are used.
 */
static void
check_arguments(FunctionCallInfo fcinfo)
{
	static const char *const names[] = {"rel",   "id", "col",   "query",
	                                    "graph", "k",  "seeds", "vector_weight"};
	static const HybridRange weights = {0, 1, .words = "between 0 and 1"};
	int n;

	for (n = REL_ARGUMENT; n <= WEIGHT_ARGUMENT; n++)
		hybrid_require_argument(fcinfo, n, names[n]);
	(void) hybrid_count_argument(fcinfo, K_ARGUMENT, names[K_ARGUMENT], 1, 0, NULL);
	(void) hybrid_count_argument(fcinfo, SEEDS_ARGUMENT, names[SEEDS_ARGUMENT], 1, 0, NULL);
	(void) hybrid_number_argument(fcinfo, WEIGHT_ARGUMENT, names[WEIGHT_ARGUMENT], &weights);
}

/* rethrow: raise the current error again. In its context, `place` replaces the line that shows the statement. */
static void
rethrow(const HybridCall *call, const char *statement, const char *place)
{
	ErrorData *error;
	char *begin;

	MemoryContextSwitchTo(call->context);
	error = CopyErrorData();
	FlushErrorState();
	begin = error->context == NULL ? NULL : strstr(error->context, statement);
	if (begin != NULL)
	{
		const char *end = begin + strlen(statement);

		/* replace the whole line: the words around the statement depend on lc_messages */
		end += strcspn(end, "\n");
		while (begin > error->context && begin[-1] != '\n')
			begin--;
		error->context =
			psprintf("%.*s%s%s", (int) (begin - error->context), error->context, place, end);
	}
	ReThrowError(error);
}
