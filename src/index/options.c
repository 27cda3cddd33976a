/*
 * options.c
 *		WITH (storage = ...), and what the module registers of the access method at load.
 */
#include "postgres.h"

#include "access/reloptions.h"
#include "storage/lock.h"

#include "index/handler.h"
#include "index/index.h"

static relopt_kind kind;

static relopt_enum_elt_def storages[] = {
	{"float32", HY_F32}, {"float16", HY_F16}, {NULL, 0}, /* end */
};

void
hybrid_index_init(void)
{
	hybrid_register_stores(&hybrid_store_methods);
	kind = add_reloption_kind();
	add_enum_reloption(kind, "storage", "How vectors are stored in the index.", storages, HY_F32,
	                   "Valid values are \"float32\" and \"float16\".", AccessExclusiveLock);
}

bytea *
hybridoptions(Datum reloptions, bool validate)
{
	static const relopt_parse_elt elements[] = {
		{"storage", RELOPT_TYPE_ENUM, offsetof(HybridOptions, storage)},
	};

	return (bytea *) build_reloptions(reloptions, validate, kind, sizeof(HybridOptions), elements,
	                                  lengthof(elements));
}
