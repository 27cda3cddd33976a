/*
 * key.c
 *		All that the answer of an edges query depends on: see key.h.
 *
 * That is more than the query and the snapshot.  Who asks decides about rights and row security; the
 * settings, about what names mean, how text is read, and about anything else, for a policy of row
 * security, or a stable function, may ask for a setting by name.  So all settings are part of a key.  So is
 * the time at which the client's statement began, which for a cursor is that of each FETCH.
 *
 * What the catalogs say is not: a key has how many messages of changes have come from other processes,
 * and how many commands have changed anything in this transaction, or were rolled back.  That is more than
 * the catalogs, but of whatever table, type or right: what a function asks for nobody knows.  Nobody else
 * can change a table that was read, since its lock is held until the transaction ends, and with it the key.
 *
 * What a function tells of sessions is in no key: their state, this one's prepared statements and cursors,
 * whether its transaction has a number.
 */
#include "postgres.h"

#include "access/xact.h"
#include "graph/key.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/sinval.h"
#include "utils/guc_tables.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

#define LONGEST_KEY (4 * 1024 * 1024) /* users make settings of their own, up to a gigabyte each */

static uint64 rollbacks; /* of subtransactions */

static void write_changes(StringInfo key);
static void
count_rollbacks(SubXactEvent event, SubTransactionId own, SubTransactionId parent, void *arg);
static void write_snapshot(Snapshot snapshot, StringInfo key);
static bool write_settings(StringInfo key);
static bool write_text(const char *text, StringInfo key);

/* APPEND: the bytes of a variable that has no padding. */
#define APPEND(key, variable)                                                                      \
	appendBinaryStringInfo(key, (const char *) &(variable), sizeof(variable))

bool
hybrid_write_edges_key(const HybridEdgesQuery *query, StringInfo key)
{
	uint32 length = VARSIZE_ANY_EXHDR(query->text);
	uint32 types = query->types == NULL ? 0 : VARSIZE(query->types);
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	Oid user;
	int context;

	GetUserIdAndSecContext(&user, &context);
	APPEND(key, length);
	appendBinaryStringInfo(key, VARDATA_ANY(query->text), (int) length);
	APPEND(key, types);
	if (types > 0)
		appendBinaryStringInfo(key, (const char *) query->types, (int) types);
	APPEND(key, query->direction);
	APPEND(key, user);
	APPEND(key, context);
	APPEND(key, MyProc->lxid);
	APPEND(key, statement);
	write_changes(key);
	write_snapshot(GetActiveSnapshot(), key);
	return write_settings(key);
}

/* write_changes: how many there are in the catalogs, as far as this process has heard. */
static void
write_changes(StringInfo key)
{
	static bool counting = false;
	CommandId command = GetCurrentCommandId(false);

	if (!counting)
		RegisterSubXactCallback(count_rollbacks, NULL);
	counting = true;
	/* those of others are heard of when tables are opened, which a kept graph spares */
	AcceptInvalidationMessages();
	APPEND(key, SharedInvalidMessageCounter);
	APPEND(key, command);
	APPEND(key, rollbacks);
}

static void
count_rollbacks(SubXactEvent event, SubTransactionId own, SubTransactionId parent, void *arg)
{
	(void) own;
	(void) parent;
	(void) arg;
	/* one without a number has changed nothing */
	if (event == SUBXACT_EVENT_ABORT_SUB && TransactionIdIsValid(GetCurrentTransactionIdIfAny()))
		rollbacks++;
}

/* write_snapshot: all that decides which rows it sees. */
static void
write_snapshot(Snapshot snapshot, StringInfo key)
{
	APPEND(key, snapshot->snapshot_type);
	APPEND(key, snapshot->xmin);
	APPEND(key, snapshot->xmax);
	APPEND(key, snapshot->xcnt);
	APPEND(key, snapshot->subxcnt);
	APPEND(key, snapshot->suboverflowed);
	APPEND(key, snapshot->takenDuringRecovery);
	APPEND(key, snapshot->curcid);
	if (snapshot->xcnt > 0)
		appendBinaryStringInfo(key, (const char *) snapshot->xip,
		                       (int) (snapshot->xcnt * sizeof(TransactionId)));
	if (snapshot->subxcnt > 0)
		appendBinaryStringInfo(key, (const char *) snapshot->subxip,
		                       (int) (snapshot->subxcnt * sizeof(TransactionId)));
}

/* write_settings: which there are, and the value of each; false: too long. */
static bool
write_settings(StringInfo key)
{
	struct config_generic **all = get_guc_variables();
	int count = GetNumConfigOptions();
	int i;

	APPEND(key, count);
	for (i = 0; i < count; i++)
	{
		const struct config_generic *setting = all[i];

		/* a library that is loaded can take away one that had only a name */
		APPEND(key, setting);
		switch (setting->vartype)
		{
			case PGC_BOOL:
				APPEND(key, *((const struct config_bool *) setting)->variable);
				break;
			case PGC_INT:
				APPEND(key, *((const struct config_int *) setting)->variable);
				break;
			case PGC_REAL:
				APPEND(key, *((const struct config_real *) setting)->variable);
				break;
			case PGC_ENUM:
				APPEND(key, *((const struct config_enum *) setting)->variable);
				break;
			case PGC_STRING:
				if (!write_text(*((const struct config_string *) setting)->variable, key))
					return false;
				break;
		}
	}
	return true;
}

static bool
write_text(const char *text, StringInfo key)
{
	size_t length = text == NULL ? 0 : strlen(text) + 1;

	if ((size_t) key->len + length > LONGEST_KEY)
		return false;
	appendStringInfoChar(key, text == NULL ? 'N' : 'T');
	if (text != NULL)
		appendBinaryStringInfo(key, text, (int) length);
	return true;
}
