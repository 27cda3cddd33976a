/*
 * servers.c
 *		Implements hybrid_setting_check, which compares the settings of foreign servers with
 *		those of this session.
 */
#include "postgres.h"

#include "catalog/pg_foreign_server.h"
#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "server/remote.h"
#include "utils/array.h"
#include "utils/builtins.h"

PG_FUNCTION_INFO_V1(hybrid_setting_check);

/* Check: the settings of this session, and the result set to which differences are added. */
typedef struct Check
{
	ReturnSetInfo *result;
	const char *version;
	uint64 count;
	const char **names;
	const char **values;
	HybridRemotes *remotes;
} Check;

static List *usable_servers(void);
static List *named_servers(ArrayType *names);
static void read_settings(Check *check);
static void compare(HybridRemotes *remotes, void *arg);
static void take_setting(void *arg, int i, HeapTuple row, TupleDesc columns);
static void
put(const Check *check, int i, const char *setting, const char *here, const char *there);

Datum
hybrid_setting_check(PG_FUNCTION_ARGS)
{
	Check check;
	List *servers;

	InitMaterializedSRF(fcinfo, 0);
	check.result = (ReturnSetInfo *) fcinfo->resultinfo;
	/* SPI_finish frees everything allocated from here on */
	if (SPI_connect() != SPI_OK_CONNECT)
		elog(ERROR, "could not connect to SPI");
	servers = PG_ARGISNULL(0) ? usable_servers() : named_servers(PG_GETARG_ARRAYTYPE_P(0));
	read_settings(&check);
	hybrid_remotes_use(servers, compare, &check);
	SPI_finish();
	return (Datum) 0;
}

/*
 * usable_servers: return the postgres_fdw servers on which the user has USAGE, and a user mapping
 * (or PUBLIC has one).
 */
static List *
usable_servers(void)
{
	List *servers = NIL;
	uint64 i;

	if (SPI_execute("SELECT s.oid FROM pg_catalog.pg_foreign_server s "
	                "WHERE pg_catalog.has_server_privilege(s.oid, 'USAGE') "
	                "AND EXISTS (SELECT FROM pg_catalog.pg_user_mappings m "
	                "WHERE m.srvid OPERATOR(pg_catalog.=) s.oid "
	                "AND m.umuser OPERATOR(pg_catalog.=) ANY (ARRAY[0::pg_catalog.oid, "
	                "CURRENT_USER::pg_catalog.regrole::pg_catalog.oid])) "
	                "ORDER BY s.srvname",
	                true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not list the servers: %s", SPI_result_code_string(SPI_result));
	for (i = 0; i < SPI_processed; i++)
	{
		bool isnull;
		Oid server = DatumGetObjectId(
			SPI_getbinval(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1, &isnull));

		CHECK_FOR_INTERRUPTS();
		if (hybrid_is_postgres_fdw(GetForeignServer(server)))
			servers = lappend_oid(servers, server);
	}
	SPI_freetuptable(SPI_tuptable);
	return servers;
}

static List *
named_servers(ArrayType *names)
{
	List *servers = NIL;
	Datum *elements;
	bool *nulls;
	int count;
	int i;

	deconstruct_array(names, NAMEOID, NAMEDATALEN, false, TYPALIGN_CHAR, &elements, &nulls, &count);
	for (i = 0; i < count; i++)
	{
		const ForeignServer *server;

		CHECK_FOR_INTERRUPTS();
		if (nulls[i])
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			                errmsg("servers must not contain NULL")));
		server = GetForeignServerByName(NameStr(*DatumGetName(elements[i])), false);
		if (!hybrid_is_postgres_fdw(server))
			ereport(ERROR,
			        (errcode(ERRCODE_WRONG_OBJECT_TYPE),
			         errmsg("server \"%s\" does not belong to postgres_fdw", server->servername)));
		servers = list_append_unique_oid(servers, server->serverid);
	}
	return servers;
}

static void
read_settings(Check *check)
{
	uint64 i;

	if (SPI_execute("SELECT e.extversion FROM pg_catalog.pg_extension e "
	                "WHERE e.extname OPERATOR(pg_catalog.=) 'hybrid'",
	                true, 1) != SPI_OK_SELECT ||
	    SPI_processed != 1)
		elog(ERROR, "could not find the version of extension hybrid");
	check->version = SPI_getvalue(SPI_tuptable->vals[0], SPI_tuptable->tupdesc, 1);
	if (SPI_execute(
			"SELECT s.name, pg_catalog.current_setting(s.name) FROM pg_catalog.pg_settings s "
			"WHERE pg_catalog.starts_with(s.name, 'hybrid.') ORDER BY s.name",
			true, 0) != SPI_OK_SELECT)
		elog(ERROR, "could not read the settings: %s", SPI_result_code_string(SPI_result));
	check->count = SPI_processed;
	check->names = palloc(check->count * sizeof(char *));
	check->values = palloc(check->count * sizeof(char *));
	for (i = 0; i < check->count; i++)
	{
		check->names[i] = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 1);
		check->values[i] = SPI_getvalue(SPI_tuptable->vals[i], SPI_tuptable->tupdesc, 2);
	}
}

static void
compare(HybridRemotes *remotes, void *arg)
{
	Check *check = (Check *) arg;
	StringInfoData names;
	uint64 n;
	int i;

	check->remotes = remotes;
	initStringInfo(&names);
	for (n = 0; n < check->count; n++)
		appendStringInfo(&names, "%s%s", n > 0 ? ", " : "", quote_literal_cstr(check->names[n]));
	for (i = 0; i < hybrid_remotes_count(remotes); i++)
	{
		const char *schema = hybrid_remote_schema(remotes, i);
		const char *version = hybrid_remote_version(remotes, i);

		if (version == NULL || strcmp(version, check->version) != 0)
			put(check, i, "version", check->version, version);
		if (schema == NULL)
			continue;
		/* reading a vector loads the library, which defines the settings */
		hybrid_remote_send(
			remotes, i,
			psprintf("SELECT s.number, pg_catalog.current_setting(s.name, true) "
		             "FROM pg_catalog.unnest(ARRAY[%s]::pg_catalog.text[]) "
		             "WITH ORDINALITY s(name, number) WHERE '[1]'::%s.vector IS NOT NULL",
		             names.data, schema));
	}
	hybrid_remotes_receive(remotes, "number bigint, value pg_catalog.text", take_setting, check);
}

static void
take_setting(void *arg, int i, HeapTuple row, TupleDesc columns)
{
	const Check *check = (const Check *) arg;
	bool isnull;
	int64 number = DatumGetInt64(SPI_getbinval(row, columns, 1, &isnull));
	const char *there = SPI_getvalue(row, columns, 2);

	if (isnull || number < 1 || (uint64) number > check->count)
		ereport(ERROR, (errcode(ERRCODE_FDW_ERROR),
		                errmsg("server \"%s\": the answer does not list settings",
		                       hybrid_remote_name(check->remotes, i))));
	if (there == NULL || strcmp(there, check->values[number - 1]) != 0)
		put(check, i, check->names[number - 1], check->values[number - 1], there);
}

/*
 * put: add a row with the value `here`, in this session, and `there`, on the server. `there` is
 * NULL if the server does not have the setting or the extension.
 */
static void
put(const Check *check, int i, const char *setting, const char *here, const char *there)
{
	NameData server;
	bool nulls[] = {false, false, false, there == NULL};
	Datum values[] = {NameGetDatum(&server), CStringGetTextDatum(setting),
	                  CStringGetTextDatum(here),
	                  there == NULL ? (Datum) 0 : CStringGetTextDatum(there)};

	namestrcpy(&server, hybrid_remote_name(check->remotes, i));
	tuplestore_putvalues(check->result->setResult, check->result->setDesc, values, nulls);
}
