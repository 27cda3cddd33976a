/*
 * key.c
 *		A key that covers everything on which the result of an edges query depends: see key.h.
 *
 * The query and the snapshot are not enough. The user determines privileges and row security.
 * Settings determine what names mean and how text is read. Any setting may matter, because a policy
 * of row security or a stable function may read it by name. So all settings are part of the key.
 * The key also contains the time at which the client's statement began. For a cursor this is the
 * time of each FETCH.
 *
 * The contents of the catalogs are not part of the key. Three counts replace the contents: the
 * count of invalidation messages received from other processes, the count of commands of this
 * transaction that changed anything, and the count of subtransactions that were rolled back. The
 * counts cover every table, type and privilege, because it is unknown which of these objects a
 * function reads. No other session can alter a table that was read, because this transaction holds
 * a lock on the table until it ends. The key is not used after the end of the transaction.
 *
 * The key does not cover functions that report on sessions. These functions return the state of
 * other sessions, the prepared statements and cursors of this session, and whether its transaction
 * has an ID.
 */
#include "postgres.h"

#include "access/xact.h"
#include "server/compat.h"
#include "graph/key.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "storage/sinval.h"
#include "utils/guc_tables.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"

#define LONGEST_KEY (4 * 1024 * 1024) /* custom settings can be up to a gigabyte each */

static uint64 rollbacks; /* number of subtransactions that were rolled back */

static void write_changes(StringInfo key);
static void
count_rollbacks(SubXactEvent event, SubTransactionId own, SubTransactionId parent, void *arg);
static void write_snapshot(Snapshot snapshot, StringInfo key);
static bool write_settings(StringInfo key);
static bool write_text(const char *text, StringInfo key);

/* APPEND: append the bytes of a variable, which must not contain padding. */
#define APPEND(key, variable)                                                                      \
	appendBinaryStringInfo(key, (const char *) &(variable), sizeof(variable))

bool
hybrid_write_edges_key(const HybridEdgesQuery *query, StringInfo key)
{
	uint32 length = VARSIZE_ANY_EXHDR(query->text);
	uint32 types = query->types == NULL ? 0 : VARSIZE(query->types);
	uint32 params = query->params == NULL ? 0 : VARSIZE(query->params);
	TimestampTz statement = GetCurrentStatementStartTimestamp();
	LocalTransactionId transaction = hybrid_local_transaction();
	Oid user;
	int context;

	GetUserIdAndSecContext(&user, &context);
	APPEND(key, length);
	appendBinaryStringInfo(key, VARDATA_ANY(query->text), (int) length);
	APPEND(key, types);
	if (types > 0)
		appendBinaryStringInfo(key, (const char *) query->types, (int) types);
	APPEND(key, params);
	if (params > 0)
		appendBinaryStringInfo(key, (const char *) query->params, (int) params);
	APPEND(key, query->direction);
	APPEND(key, query->merge);
	APPEND(key, query->registered);
	APPEND(key, query->names_rows);
	APPEND(key, user);
	APPEND(key, context);
	APPEND(key, transaction);
	APPEND(key, statement);
	write_changes(key);
	write_snapshot(GetActiveSnapshot(), key);
	return write_settings(key);
}

/* write_changes: append the counts of catalog changes that this process knows of. */
static void
write_changes(StringInfo key)
{
	static bool counting = false;
	CommandId command = GetCurrentCommandId(false);

	if (!counting)
		RegisterSubXactCallback(count_rollbacks, NULL);
	counting = true;
	/*
	 * messages are normally received when tables are opened, but the use of a kept graph opens none
	 */
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
	/* a subtransaction without an ID has changed nothing */
	if (event == SUBXACT_EVENT_ABORT_SUB && TransactionIdIsValid(GetCurrentTransactionIdIfAny()))
		rollbacks++;
}

/* write_snapshot: append everything that determines which rows the snapshot sees. */
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

/*
 * write_settings: append the identity and the value of each setting. Returns false if the key
 * becomes too long.
 */
static bool
write_settings(StringInfo key)
{
	int count, i;
	struct config_generic **all = get_guc_variables(&count);

	APPEND(key, count);
	for (i = 0; i < count; i++)
	{
		const struct config_generic *setting = all[i];

		/*
		 * the identity is needed because loading a library can remove a setting that was only a
		 * placeholder
		 */
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
