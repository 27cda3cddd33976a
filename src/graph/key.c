/*
 * key.c
 *		All that the answer of an edges query depends on: see key.h.
 *
 * That is more than the query and the snapshot.  Who asks decides about rights and row security; the
 * settings, about what names mean, how text is read, and about anything else, for a policy of row
 * security, or a stable function, may ask for a setting by name.  So all settings are part of a key.  So is
 * the time at which the client's statement began, which for a cursor is that of each FETCH.
 *
 * What the catalogs say is not: a key has how many changes of them this process has heard of, its own,
 * those that it has rolled back, or others'.  Changes of tables, views, policies, functions, types, casts,
 * operators, text search, schemas and roles are counted, of whatever table or function: what a function calls nobody
 * knows.  Nobody else can change a table that was read, since its lock is held until the transaction
 * ends, and with it the key.
 */
#include "postgres.h"

#include "access/xact.h"
#include "graph/key.h"
#include "miscadmin.h"
#include "storage/proc.h"
#include "utils/guc_tables.h"
#include "utils/inval.h"
#include "utils/snapmgr.h"
#include "utils/syscache.h"

#define LONGEST_KEY (4 * 1024 * 1024) /* users make settings of their own, up to a gigabyte each */

static uint64 catalog_changes;

static void count_catalog_changes(void);
static void relation_changed(Datum arg, Oid relation);
static void object_changed(Datum arg, int cache, uint32 hash);
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

	count_catalog_changes();
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
	APPEND(key, catalog_changes);
	write_snapshot(GetActiveSnapshot(), key);
	return write_settings(key);
}

/* count_catalog_changes: from the first call on, which is before there is any key. */
static void
count_catalog_changes(void)
{
	static const int caches[] = {AUTHMEMROLEMEM, AUTHOID, CASTSOURCETARGET, NAMESPACEOID,
	                             OPEROID,        PROCOID, TSCONFIGMAP,      TSCONFIGOID,
	                             TSDICTOID,      TYPEOID};
	static bool counting = false;
	int i;

	if (counting)
		return;
	counting = true;
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	for (i = 0; i < (int) lengthof(caches); i++)
		CacheRegisterSyscacheCallback(caches[i], object_changed, (Datum) 0);
}

static void
relation_changed(Datum arg, Oid relation)
{
	(void) arg;
	(void) relation;
	catalog_changes++;
}

static void
object_changed(Datum arg, int cache, uint32 hash)
{
	(void) arg;
	(void) cache;
	(void) hash;
	catalog_changes++;
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
