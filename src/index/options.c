/*
 * options.c
 *		WITH (storage = ..., list_size = ...), and everything that the access method registers at
 *		load.
 *
 * Changed options take effect only with REINDEX, and ALTER INDEX raises a notice that says so. ALTER
 * INDEX raises an error for options that CREATE INDEX would refuse.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/reloptions.h"
#include "access/table.h"
#include "catalog/index.h"
#include "catalog/indexing.h"
#include "catalog/objectaccess.h"
#include "catalog/pg_class.h"
#include "storage/lock.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"

#include "index/handler.h"
#include "index/page/index.h"
#include "index/scan/plan_limit.h"
#include "index/scan/unread_distance.h"
#include "index/build/build.h"
#include "index/tree/read.h"

static relopt_kind own_kind;
static object_access_hook_type next_access = NULL;

static void accessed(ObjectAccessType access, Oid class, Oid object, int part, void *arg);
static void tell_if_changed(Oid oid);

static relopt_enum_elt_def storages[] = {
	{"float32", HYBRID_FLOAT32},
	{"float16", HYBRID_FLOAT16},
	{"int8", HYBRID_INT8},
	{NULL, 0}, /* end of the list */
};

void
hybrid_index_init(void)
{
	hybrid_index_register(hybridbuild);
	hybrid_plan_limit_init();
	hybrid_unread_init();
	next_access = object_access_hook;
	object_access_hook = accessed;
	hybrid_register_stores(&hybrid_store_methods);
	own_kind = add_reloption_kind();
	hybrid_index_add_options(own_kind);
}

void
hybrid_index_add_options(bits32 kind)
{
	add_enum_reloption(
		kind, "storage", "How vectors are stored in the index.", storages, HYBRID_STORAGE_UNSET,
		"Valid values are \"float32\", \"float16\" and \"int8\".", AccessExclusiveLock);
	add_int_reloption(
		kind, "list_size", "Maximum number of rows in a list before it is split in two.",
		HYBRID_LIST_SIZE, HYBRID_LIST_SIZE_MIN, HYBRID_LIST_SIZE_MAX, AccessExclusiveLock);
}

bytea *
hybridoptions(Datum reloptions, bool validate)
{
	static const relopt_parse_elt elements[] = {
		{"storage", RELOPT_TYPE_ENUM, offsetof(HybridOptions, storage)},
		{"list_size", RELOPT_TYPE_INT, offsetof(HybridOptions, list_size)},
	};

	return (bytea *) build_reloptions(reloptions, validate, own_kind, sizeof(HybridOptions),
	                                  elements, lengthof(elements));
}

static void
accessed(ObjectAccessType access, Oid class, Oid object, int part, void *arg)
{
	if (next_access != NULL)
		next_access(access, class, object, part, arg);
	if (access == OAT_POST_ALTER && class == RelationRelationId && part == 0 &&
	    get_rel_relkind(object) == RELKIND_INDEX)
		tell_if_changed(object);
}

/*
 * tell_if_changed: raise a notice if the current statement, which holds a lock on this index, has just
 * changed its options. Raises an error if the new options are not allowed.
 */
static void
tell_if_changed(Oid oid)
{
	Relation index = index_open(oid, NoLock), classes;
	HybridOptions before = {0, HYBRID_STORAGE_UNSET, HYBRID_LIST_SIZE}, after = before;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	if (!hybrid_is_our_index(index))
	{
		index_close(index, NoLock);
		return;
	}
	if (index->rd_options != NULL)
		before = *(const HybridOptions *) index->rd_options;
	classes = table_open(RelationRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_class_oid, BTEqualStrategyNumber, F_OIDEQ, ObjectIdGetDatum(oid));
	/* the catalog cache does not show the new row yet */
	scan = systable_beginscan(classes, ClassOidIndexId, true, SnapshotSelf, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bytea *options =
			extractRelOptions(tuple, RelationGetDescr(classes), index->rd_indam->amoptions);

		if (options != NULL)
			after = *(const HybridOptions *) options;
	}
	systable_endscan(scan);
	table_close(classes, AccessShareLock);
	/*
	 * Check the options before the notice, and only if the storage was changed. An invalid storage option
	 * that the index already has may be removed or left as it is.
	 */
	if (before.storage != after.storage)
		hybrid_index_check_options(index, &after);
	if (before.storage != after.storage || before.list_size != after.list_size)
		ereport(NOTICE,
		        (errmsg("index \"%s\" stays as it was built", RelationGetRelationName(index)),
		         errhint("Options take effect with REINDEX INDEX.")));
	index_close(index, NoLock);
}
