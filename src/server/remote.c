/*
 * remote.c
 *		Runs statements on several foreign servers at the same time: see remote.h.
 *
 * PostgreSQL's own dblink makes the connections, so its rules decide who may use a server. The user needs
 * USAGE on the server and a user mapping. For a user who is not a superuser, the mapping must contain a
 * password, and the server must ask for it. Otherwise the connection would use the identity of the operating
 * system's user who runs PostgreSQL. A connection of our own through libpq would have to repeat these rules,
 * and each later correction of them.
 *
 * Most functions of dblink are called through SPI, with the user's privileges. Three are called directly. The
 * functions that cancel and disconnect must also work after an error, when no query can run, and in a process
 * that exits. dblink_connect is called directly because SPI may raise a cancel after the function has
 * returned. The connection would then be open, but unknown here.
 *
 * dblink can wait for one server only, and in PostgreSQL 15 this wait cannot be interrupted. So this file
 * asks dblink at intervals whether an answer has arrived, and reads an answer only then. The interval is 1 ms
 * plus 2% of the time waited so far, and at most MOST_WAIT_MS, so the additional delay is small.
 */
#include "postgres.h"

#include "catalog/dependency.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "commands/extension.h"
#include "executor/spi.h"
#include "miscadmin.h"
#include "parser/parse_func.h"
#include "pgstat.h"
#include "portability/instr_time.h"
#include "server/compat.h"
#include "server/remote.h"
#include "storage/ipc.h"
#include "storage/latch.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#define MOST_WAIT_MS 20.0

typedef struct Remote
{
	char *name;
	Datum connection; /* name of the connection in dblink, a text */
	char *schema;     /* see hybrid_remote_schema */
	char *version;
	bool open;
	bool asked; /* a statement was sent, and its answer has not been read */
} Remote;

struct HybridRemotes
{
	Remote *remotes;
	int count;
	char *dblink; /* schema of dblink, quoted */
	FmgrInfo connect;
	FmgrInfo cancel;
	FmgrInfo disconnect;
	SPIPlanPtr is_busy;
	HybridRemotes *outer;
};

/* the calls of hybrid_remotes_use that have not ended, from the innermost to the outermost */
static HybridRemotes *innermost = NULL;

static void find_dblink(HybridRemotes *remotes);
static void find_function(const char *schema, const char *name, int arguments, FmgrInfo *function);
static void connect_all(HybridRemotes *remotes);
static void connect_to(HybridRemotes *remotes, Remote *remote);
static void find_extension(HybridRemotes *remotes);
static void take_extension(void *arg, int i, HeapTuple row, TupleDesc columns);
static void close_at_exit(int code, Datum arg);
static void close_all(HybridRemotes *remotes);
static bool answered(HybridRemotes *remotes, const Remote *remote);
static void wait_ms(double ms);
static void
receive(HybridRemotes *remotes, int i, const char *columns, HybridTakeRemote take, void *arg);
static void call(const Remote *remote, const char *text, const char *argument);
pg_noreturn static void rethrow(const Remote *remote, MemoryContext context);

bool
hybrid_is_postgres_fdw(const ForeignServer *server)
{
	const ForeignDataWrapper *wrapper = GetForeignDataWrapper(server->fdwid);
	Oid extension = get_extension_oid("postgres_fdw", true);

	return OidIsValid(extension) && OidIsValid(wrapper->fdwhandler) &&
	       getExtensionOfObject(ProcedureRelationId, wrapper->fdwhandler) == extension;
}

void
hybrid_remotes_use(const List *servers, HybridUseRemotes use, void *arg)
{
	static bool exit_expected = false;
	static uint32 number = 0; /* makes the name of a connection unique in this session */
	HybridRemotes *remotes = palloc0(sizeof(HybridRemotes));
	ListCell *cell;

	remotes->remotes = palloc0(sizeof(Remote) * Max(list_length(servers), 1));
	if (servers != NIL)
		find_dblink(remotes);
	foreach (cell, servers)
	{
		Remote *remote = &remotes->remotes[remotes->count++];

		remote->name = pstrdup(GetForeignServer(lfirst_oid(cell))->servername);
		remote->connection = CStringGetTextDatum(psprintf("hybrid %u", ++number));
	}
	if (!exit_expected)
		before_shmem_exit(close_at_exit, (Datum) 0);
	exit_expected = true;
	remotes->outer = innermost;
	innermost = remotes;
	PG_TRY();
	{
		connect_all(remotes);
		find_extension(remotes);
		use(remotes, arg);
	}
	PG_FINALLY();
	{
		innermost = remotes->outer;
		close_all(remotes);
	}
	PG_END_TRY();
}

static void
find_dblink(HybridRemotes *remotes)
{
	Oid text[] = {TEXTOID};
	char *schema;

	if (!OidIsValid(get_extension_oid("dblink", true)))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
		                errmsg("extension \"dblink\" is needed to ask foreign servers"),
		                errhint("Run CREATE EXTENSION dblink.")));
	if (SPI_execute("SELECT n.nspname FROM pg_catalog.pg_extension e, pg_catalog.pg_namespace n "
	                "WHERE e.extname OPERATOR(pg_catalog.=) 'dblink' "
	                "AND n.oid OPERATOR(pg_catalog.=) e.extnamespace",
	                true, 1) != SPI_OK_SELECT ||
	    SPI_processed != 1)
		elog(ERROR, "could not find the schema of extension dblink");
	schema = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	SPI_freetuptable(SPI_tuptable);
	remotes->dblink = pstrdup(quote_identifier(schema));
	find_function(schema, "dblink_connect", 2, &remotes->connect);
	if (object_aclcheck(ProcedureRelationId, remotes->connect.fn_oid, GetUserId(), ACL_EXECUTE) !=
	    ACLCHECK_OK)
		aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_FUNCTION, "dblink_connect");
	find_function(schema, "dblink_cancel_query", 1, &remotes->cancel);
	find_function(schema, "dblink_disconnect", 1, &remotes->disconnect);
	remotes->is_busy =
		SPI_prepare(psprintf("SELECT %s.dblink_is_busy($1)", remotes->dblink), 1, text);
	if (remotes->is_busy == NULL)
		elog(ERROR, "could not prepare dblink_is_busy: %s", SPI_result_code_string(SPI_result));
}

/* find_function: prepare to call a function that has one or two arguments, all of type text. */
static void
find_function(const char *schema, const char *name, int arguments, FmgrInfo *function)
{
	List *names = list_make2(makeString(pstrdup(schema)), makeString(pstrdup(name)));
	Oid texts[] = {TEXTOID, TEXTOID};

	fmgr_info(LookupFuncName(names, arguments, texts, false), function);
}

static void
connect_all(HybridRemotes *remotes)
{
	int i;

	for (i = 0; i < remotes->count; i++)
	{
		CHECK_FOR_INTERRUPTS();
		connect_to(remotes, &remotes->remotes[i]);
	}
}

static void
connect_to(HybridRemotes *remotes, Remote *remote)
{
	MemoryContext context = CurrentMemoryContext;
	Datum name = CStringGetTextDatum(remote->name);

	PG_TRY();
	{
		(void) FunctionCall2(&remotes->connect, remote->connection, name);
		remote->open = true;
	}
	PG_CATCH();
	{
		rethrow(remote, context);
	}
	PG_END_TRY();
}

/* find_extension: prepare the sessions, and find the extension hybrid in their databases. */
static void
find_extension(HybridRemotes *remotes)
{
	int i;

	for (i = 0; i < remotes->count; i++)
		hybrid_remote_send(
			remotes, i,
			"SELECT e.extnamespace::pg_catalog.regnamespace::pg_catalog.text, e.extversion, "
			"pg_catalog.concat(pg_catalog.set_config('search_path', 'pg_catalog', false), "
			/* progress reports do not go to this server's log */
			"pg_catalog.set_config('client_min_messages', 'warning', false)) "
			"FROM pg_catalog.pg_extension e WHERE e.extname OPERATOR(pg_catalog.=) 'hybrid'");
	hybrid_remotes_receive(remotes,
	                       "schema pg_catalog.text, version pg_catalog.text, "
	                       "settings pg_catalog.text",
	                       take_extension, remotes);
}

static void
take_extension(void *arg, int i, HeapTuple row, TupleDesc columns)
{
	Remote *remote = &((HybridRemotes *) arg)->remotes[i];

	remote->schema = SPI_getvalue(row, columns, 1);
	remote->version = SPI_getvalue(row, columns, 2);
}

/*
 * close_at_exit: close the connections of a session that is terminated, because such a session does not
 * return to hybrid_remotes_use.
 */
static void
close_at_exit(int code, Datum arg)
{
	(void) code;
	(void) arg;
	for (; innermost != NULL; innermost = innermost->outer)
		close_all(innermost);
}

/* close_all: cancel the running statements, and close the connections. Also works after an error. */
static void
close_all(HybridRemotes *remotes)
{
	int i;

	HOLD_INTERRUPTS();
	for (i = 0; i < remotes->count; i++)
	{
		Remote *remote = &remotes->remotes[i];

		if (!remote->asked)
			continue;
		/* cleared first, so that close_at_exit does not repeat the cancel if it raises an error */
		remote->asked = false;
		(void) FunctionCall1(&remotes->cancel, remote->connection);
	}
	for (i = 0; i < remotes->count; i++)
	{
		Remote *remote = &remotes->remotes[i];

		if (!remote->open)
			continue;
		remote->open = false;
		(void) FunctionCall1(&remotes->disconnect, remote->connection);
	}
	RESUME_INTERRUPTS();
}

int
hybrid_remotes_count(const HybridRemotes *remotes)
{
	return remotes->count;
}

const char *
hybrid_remote_name(const HybridRemotes *remotes, int i)
{
	return remotes->remotes[i].name;
}

const char *
hybrid_remote_schema(const HybridRemotes *remotes, int i)
{
	return remotes->remotes[i].schema;
}

const char *
hybrid_remote_version(const HybridRemotes *remotes, int i)
{
	return remotes->remotes[i].version;
}

void
hybrid_remote_send(HybridRemotes *remotes, int i, const char *statement)
{
	Remote *remote = &remotes->remotes[i];
	bool isnull;
	int32 sent;

	Assert(!remote->asked);
	/* set first: even if sending fails, a statement may run that must be canceled */
	remote->asked = true;
	call(remote, psprintf("SELECT %s.dblink_send_query($1, $2)", remotes->dblink), statement);
	sent = DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull));
	SPI_freetuptable(SPI_tuptable);
	/* dblink gives the reason only in a NOTICE; without this error, the answer would just have no rows */
	if (sent != 1)
		ereport(ERROR, (errcode(ERRCODE_CONNECTION_FAILURE),
		                errmsg("server \"%s\": could not send the statement", remote->name)));
}

void
hybrid_remotes_receive(HybridRemotes *remotes, const char *columns, HybridTakeRemote take,
                       void *arg)
{
	instr_time start;

	INSTR_TIME_SET_CURRENT(start);
	for (;;)
	{
		instr_time waited;
		int left = 0;
		int i;

		CHECK_FOR_INTERRUPTS();
		for (i = 0; i < remotes->count; i++)
		{
			if (!remotes->remotes[i].asked)
				continue;
			if (answered(remotes, &remotes->remotes[i]))
				receive(remotes, i, columns, take, arg);
			else
				left++;
		}
		if (left == 0)
			return;
		INSTR_TIME_SET_CURRENT(waited);
		INSTR_TIME_SUBTRACT(waited, start);
		wait_ms(1 + INSTR_TIME_GET_MILLISEC(waited) / 50);
	}
}

static void
wait_ms(double ms)
{
	(void) WaitLatch(MyLatch, WL_LATCH_SET | WL_TIMEOUT | WL_EXIT_ON_PM_DEATH,
	                 (long) Min(ms, MOST_WAIT_MS), PG_WAIT_EXTENSION);
	ResetLatch(MyLatch);
}

/*
 * answered: return whether dblink can read the next part of the answer (its rows or its end) without waiting.
 */
static bool
answered(HybridRemotes *remotes, const Remote *remote)
{
	Datum arguments[] = {remote->connection};
	bool isnull;
	bool busy;

	if (SPI_execute_plan(remotes->is_busy, arguments, NULL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not ask whether server \"%s\" is busy", remote->name);
	busy =
		DatumGetInt32(SPI_getbinval(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1, &isnull)) != 0;
	SPI_freetuptable(SPI_tuptable);
	return !busy;
}

static void
receive(HybridRemotes *remotes, int i, const char *columns, HybridTakeRemote take, void *arg)
{
	Remote *remote = &remotes->remotes[i];
	char *text =
		psprintf("SELECT * FROM %s.dblink_get_result($1) AS t(%s)", remotes->dblink, columns);
	SPITupleTable *rows;
	uint64 count;
	uint64 row;

	call(remote, text, NULL);
	rows = SPI_tuptable;
	count = SPI_processed;
	/*
	 * dblink accepts the next statement only after a second call, which returns nothing. That call reads
	 * the end of the answer, which may arrive later.
	 */
	while (!answered(remotes, remote))
	{
		CHECK_FOR_INTERRUPTS();
		wait_ms(1);
	}
	call(remote, text, NULL);
	SPI_freetuptable(SPI_tuptable);
	remote->asked = false;
	for (row = 0; row < count; row++)
	{
		CHECK_FOR_INTERRUPTS();
		take(arg, i, rows->vals[row], rows->tupdesc);
	}
	SPI_freetuptable(rows);
	pfree(text);
}

/*
 * call: run a statement that calls dblink. The parameters of the statement are the connection and, unless it
 * is NULL, `argument`. Leaves the rows in SPI_tuptable.
 */
static void
call(const Remote *remote, const char *text, const char *argument)
{
	MemoryContext context = CurrentMemoryContext;
	Oid types[] = {TEXTOID, TEXTOID};
	Datum values[] = {remote->connection,
	                  argument != NULL ? CStringGetTextDatum(argument) : (Datum) 0};
	const int count = argument != NULL ? 2 : 1;

	PG_TRY();
	{
		int code = SPI_execute_with_args(text, count, types, values, NULL, true, 0);

		if (code != SPI_OK_SELECT)
			elog(ERROR, "could not call dblink: %s", SPI_result_code_string(code));
	}
	PG_CATCH();
	{
		rethrow(remote, context);
	}
	PG_END_TRY();
	if (argument != NULL)
		pfree(DatumGetPointer(values[1]));
}

/*
 * rethrow: raise the current error again, with the name of the server. The message of a cancel stays
 * unchanged, because this session may be the one that was canceled. The name of the server is then in the
 * context.
 */
static void
rethrow(const Remote *remote, MemoryContext context)
{
	ErrorData *error;

	MemoryContextSwitchTo(context);
	error = CopyErrorData();
	FlushErrorState();
	if (error->sqlerrcode == ERRCODE_QUERY_CANCELED)
		error->context = psprintf("%s%sserver \"%s\"", error->context != NULL ? error->context : "",
		                          error->context != NULL ? "\n" : "", remote->name);
	else
		error->message = psprintf("server \"%s\": %s", remote->name, error->message);
	ReThrowError(error);
}
