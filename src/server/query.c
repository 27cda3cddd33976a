/*
 * query.c
 *		Run a user's query, and take its rows one at a time: see query.h.
 *
 * The rows go from the executor directly to the reader (a DestReceiver).  So no row is held twice, and the
 * reader can measure how long it waits for a row.  read_only makes SPI use the active snapshot as it is, and
 * reject statements that do more than read, such as a data-modifying WITH or FOR UPDATE.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "miscadmin.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "server/query.h"
#include "tcop/dest.h"
#include "utils/memutils.h"

/* Receiver: receives rows from the executor; the public part must come first. */
typedef struct Receiver
{
	DestReceiver pub;
	const HybridReader *reader;
	MemoryContext row_context;
} Receiver;

static ParamListInfo bind_params(const ArrayType *params, Oid **types);
static void receiver_startup(DestReceiver *self, int operation, TupleDesc columns);
static bool receiver_receive(TupleTableSlot *slot, DestReceiver *self);
static void receiver_end(DestReceiver *self);

void
hybrid_query_run(const char *text, const HybridReader *reader)
{
	Receiver receiver = {.pub = {.receiveSlot = receiver_receive,
	                             .rStartup = receiver_startup,
	                             .rShutdown = receiver_end,
	                             .rDestroy = receiver_end,
	                             .mydest = DestNone},
	                     .reader = reader};
	SPIExecuteOptions options = {.read_only = true, .must_return_tuples = true};
	ParamListInfo params;
	Oid *types;
	SPIPlanPtr plan;
	int code;

	receiver.row_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid row", ALLOCSET_SMALL_SIZES);
	options.dest = &receiver.pub;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	params = bind_params(reader->params, &types);
	options.params = params;
	plan = SPI_prepare_cursor(text, params == NULL ? 0 : params->numParams, types,
	                          CURSOR_OPT_PARALLEL_OK);
	if (plan == NULL)
		elog(ERROR, "could not prepare the %s: %s", reader->what,
		     SPI_result_code_string(SPI_result));
	if (reader->check != NULL)
		reader->check(reader->arg, plan);
	if (!SPI_is_cursor_plan(plan))
		ereport(ERROR, (errcode(ERRCODE_INVALID_CURSOR_DEFINITION),
		                errmsg("the %s must be a single query that returns rows", reader->what)));
	code = SPI_execute_plan_extended(plan, &options);
	if (code < 0)
		elog(ERROR, "could not run the %s: %s", reader->what, SPI_result_code_string(code));
	SPI_finish();
	MemoryContextDelete(receiver.row_context);
}

/*
 * bind_params: return the elements of a text[] as parameters, and their types in *types.  Both are allocated
 * in the current memory context.
 */
static ParamListInfo
bind_params(const ArrayType *params, Oid **types)
{
	ParamListInfo bound;
	Datum *values;
	bool *nulls;
	int count;
	int i;

	*types = NULL;
	if (params == NULL)
		return NULL;
	deconstruct_array(unconstify(ArrayType *, params), TEXTOID, -1, false, TYPALIGN_INT, &values,
	                  &nulls, &count);
	bound = makeParamList(count);
	*types = palloc(sizeof(Oid) * Max(count, 1));
	for (i = 0; i < count; i++)
	{
		bound->params[i] = (ParamExternData){
			.value = values[i], .isnull = nulls[i], .pflags = PARAM_FLAG_CONST, .ptype = TEXTOID};
		(*types)[i] = TEXTOID;
	}
	return bound;
}

static void
receiver_startup(DestReceiver *self, int operation, TupleDesc columns)
{
	const HybridReader *reader = ((Receiver *) self)->reader;

	(void) operation;
	reader->columns(reader->arg, columns);
}

static bool
receiver_receive(TupleTableSlot *slot, DestReceiver *self)
{
	Receiver *receiver = (Receiver *) self;
	MemoryContext before = MemoryContextSwitchTo(receiver->row_context);
	bool more;

	CHECK_FOR_INTERRUPTS();
	slot_getallattrs(slot);
	more = receiver->reader->row(receiver->reader->arg, slot);
	MemoryContextSwitchTo(before);
	MemoryContextReset(receiver->row_context);
	return more;
}

static void
receiver_end(DestReceiver *self)
{
	(void) self;
}
