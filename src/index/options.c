/*
 * options.c
 *		WITH (storage = ..., list_size = ...), and everything that the access method registers at load.
 *
 * Changed options take effect only with REINDEX. Only then are they checked against the type of the
 * column, because PostgreSQL does not pass the index to amoptions.
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "storage/lock.h"

#include "index/handler.h"
#include "index/page/index.h"
#include "index/scan/index_search.h"
#include "index/scan/explain_scans.h"
#include "index/scan/plan_limit.h"
#include "index/scan/unread_distance.h"
#include "index/build/build.h"
#include "index/tree/read.h"

static relopt_kind own_kind;

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
	hybrid_explain_init();
	hybrid_unread_init();
	hybrid_register_stores(&hybrid_store_methods, &hybrid_search_methods);
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
		{.optname = "storage",
	     .opttype = RELOPT_TYPE_ENUM,
	     .offset = offsetof(HybridOptions, storage)},
		{.optname = "list_size",
	     .opttype = RELOPT_TYPE_INT,
	     .offset = offsetof(HybridOptions, list_size)},
	};

	return (bytea *) build_reloptions(reloptions, validate, own_kind, sizeof(HybridOptions),
	                                  elements, lengthof(elements));
}
