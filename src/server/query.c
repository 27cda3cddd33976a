/*
 * query.c
 *		Run a user's query, and take its rows one at a time: see query.h.
 *
 * The rows go from the executor directly to the reader (a DestReceiver).  So no row is held twice, and the
 * reader can measure how long it waits for a row.  read_only makes SPI use the active snapshot as it is, and
 * refuse all but plain reads (a data-modifying WITH, FOR UPDATE).
 */
#include "postgres.h"

#include "miscadmin.h"
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
	SPIPlanPtr plan;
	int code;

	receiver.row_context =
		AllocSetContextCreate(CurrentMemoryContext, "hybrid row", ALLOCSET_SMALL_SIZES);
	options.dest = &receiver.pub;
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	plan = SPI_prepare_cursor(text, 0, NULL, CURSOR_OPT_PARALLEL_OK);
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
