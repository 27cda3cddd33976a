/*
 * vector.c
 *		The extension "vector": hnsw and ivfflat as names of the access method hybrid.
 *
 * The handlers return hybrid's routine with other options, so an index by either name is an ordinary hybrid
 * index. This library adds what clients of pgvector expect besides the names: the options m, ef_construction
 * and lists, and the settings "hnsw." and "ivfflat.".
 *
 * While a setting has its default value, hybrid's own setting for the same purpose applies. pgvector's clients
 * raise ef_search and probes to miss fewer rows. So twice the default value lets a scan miss half as many rows
 * as hybrid.target_recall allows. m, ef_construction, lists and ivfflat.max_probes have no effect.
 *
 * This is a library of its own, which defines the settings when it is loaded. PostgreSQL loads a session's
 * libraries into its parallel workers before it passes the session's settings to them, so the workers know
 * these settings.
 */
#include "postgres.h"

#include <limits.h>

#include "access/amapi.h"
#include "access/reloptions.h"
#include "fmgr.h"
#include "utils/guc.h"
#include "utils/rel.h"

#include "index/handler.h"
#include "index/page/index.h"
#include "index/scan/settings.h"

#define LIBRARY "$libdir/hybrid"

#define EF_SEARCH 40
#define PROBES 1
#define MAX_PROBES 32768
#define MAX_SCAN_TUPLES 20000
#define MEM_MULTIPLIER 1.0
#define LEAST_RECALL 0.5 /* minimum of hybrid.target_recall */

PG_MODULE_MAGIC;

/* NamedOptions: options of an hnsw or ivfflat index; m, ef_construction and lists are 0 if not set. */
typedef struct NamedOptions
{
	HybridOptions hybrid;
	int m;
	int ef_construction;
	int lists;
} NamedOptions;

PGDLLEXPORT void _PG_init(void);

static void define_settings(void);
static void define_options(void);
static IndexAmRoutine *routine_with(amoptions_function options);
static bytea *hnsw_options(Datum reloptions, bool validate);
static bytea *ivfflat_options(Datum reloptions, bool validate);
static bytea *named_options(Datum reloptions, bool validate, relopt_kind kind);
static void adjust(Relation index, HybridScanSettings *settings);

static int ef_search;
static int hnsw_iterative_scan;
static int max_scan_tuples;
static double mem_multiplier;
static int probes;
static int ivfflat_iterative_scan;
static int max_probes;

static relopt_kind hnsw_kind;
static relopt_kind ivfflat_kind;

static const struct config_enum_entry hnsw_iterative[] = {
	{"off", HYBRID_ITERATIVE_OFF, false},
	{"relaxed_order", HYBRID_ITERATIVE_RELAXED, false},
	{"strict_order", HYBRID_ITERATIVE_STRICT, false},
	{NULL, 0, false},
};

static const struct config_enum_entry ivfflat_iterative[] = {
	{"off", HYBRID_ITERATIVE_OFF, false},
	{"relaxed_order", HYBRID_ITERATIVE_RELAXED, false},
	{NULL, 0, false},
};

void
_PG_init(void)
{
	void (*adjust_with)(HybridAdjustScan) =
		(void *) load_external_function(LIBRARY, "hybrid_index_adjust_with", true, NULL);

	define_options();
	define_settings();
	adjust_with(adjust);
}

PG_FUNCTION_INFO_V1(hybrid_hnsw_handler);
Datum
hybrid_hnsw_handler(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	PG_RETURN_POINTER(routine_with(hnsw_options));
}

PG_FUNCTION_INFO_V1(hybrid_ivfflat_handler);
Datum
hybrid_ivfflat_handler(PG_FUNCTION_ARGS)
{
	(void) fcinfo;
	PG_RETURN_POINTER(routine_with(ivfflat_options));
}

/* routine_with: return the routine of the access method hybrid, with `options` as its amoptions. */
static IndexAmRoutine *
routine_with(amoptions_function options)
{
	PGFunction handler = load_external_function(LIBRARY, "hybrid_handler", true, NULL);
	IndexAmRoutine *routine =
		(IndexAmRoutine *) DatumGetPointer(DirectFunctionCall1(handler, PointerGetDatum(NULL)));

	routine->amoptions = options;
	return routine;
}

static void
define_options(void)
{
	void (*add_options)(bits32) =
		(void *) load_external_function(LIBRARY, "hybrid_index_add_options", true, NULL);

	hnsw_kind = add_reloption_kind();
	add_options(hnsw_kind);
	add_int_reloption(hnsw_kind, "m", "Has no effect; accepted for pgvector's clients.", 0, 2, 100,
	                  AccessExclusiveLock);
	add_int_reloption(hnsw_kind, "ef_construction",
	                  "Has no effect; accepted for pgvector's clients.", 0, 4, 1000,
	                  AccessExclusiveLock);
	ivfflat_kind = add_reloption_kind();
	add_options(ivfflat_kind);
	add_int_reloption(ivfflat_kind, "lists", "Has no effect; accepted for pgvector's clients.", 0,
	                  1, 32768, AccessExclusiveLock);
}

static bytea *
hnsw_options(Datum reloptions, bool validate)
{
	return named_options(reloptions, validate, hnsw_kind);
}

static bytea *
ivfflat_options(Datum reloptions, bool validate)
{
	return named_options(reloptions, validate, ivfflat_kind);
}

/*
 * named_options: parse the options of an index. `elements` lists the options of both access methods; an option
 * that `kind` does not have is an error, like any unknown option. If one of pgvector's options is set, a notice
 * says once in a session that these options have no effect.
 */
static bytea *
named_options(Datum reloptions, bool validate, relopt_kind kind)
{
	static const relopt_parse_elt elements[] = {
		{.optname = "storage",
	     .opttype = RELOPT_TYPE_ENUM,
	     .offset = offsetof(NamedOptions, hybrid.storage)},
		{.optname = "list_size",
	     .opttype = RELOPT_TYPE_INT,
	     .offset = offsetof(NamedOptions, hybrid.list_size)},
		{.optname = "m", .opttype = RELOPT_TYPE_INT, .offset = offsetof(NamedOptions, m)},
		{.optname = "ef_construction",
	     .opttype = RELOPT_TYPE_INT,
	     .offset = offsetof(NamedOptions, ef_construction)},
		{.optname = "lists", .opttype = RELOPT_TYPE_INT, .offset = offsetof(NamedOptions, lists)},
	};
	static bool said = false;
	NamedOptions *named = build_reloptions(reloptions, validate, kind, sizeof(NamedOptions),
	                                       elements, lengthof(elements));

	if (validate && !said && named != NULL &&
	    (named->m != 0 || named->ef_construction != 0 || named->lists != 0))
	{
		said = true;
		ereport(NOTICE, (errmsg("options \"m\", \"ef_construction\" and \"lists\" have no effect"),
		                 errdetail("The index is one of access method hybrid, which needs no such "
		                           "options.")));
	}
	return (bytea *) named;
}

static void
define_settings(void)
{
	DefineCustomIntVariable("hnsw.ef_search",
	                        "Controls the share of the nearest rows that a scan finds.",
	                        "At 40, hybrid.target_recall applies. Twice the value misses half as "
	                        "many rows.",
	                        &ef_search, EF_SEARCH, 1, 1000, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable(
		"hnsw.iterative_scan", "Controls whether a scan continues when too few rows match.",
		"At off, hybrid.iterative_scan applies.", &hnsw_iterative_scan, HYBRID_ITERATIVE_OFF,
		hnsw_iterative, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("hnsw.max_scan_tuples",
	                        "Number of examined rows after which a scan does not continue.",
	                        "At 20000, hybrid.max_scan_tuples applies.", &max_scan_tuples,
	                        MAX_SCAN_TUPLES, 1, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomRealVariable("hnsw.scan_mem_multiplier",
	                         "Maximum memory of a scan, as a multiple of work_mem.",
	                         "At 1, hybrid.scan_mem_multiplier applies.", &mem_multiplier,
	                         MEM_MULTIPLIER, 1, 1000, PGC_USERSET, 0, NULL, NULL, NULL);
	MarkGUCPrefixReserved("hnsw");
	DefineCustomIntVariable("ivfflat.probes",
	                        "Controls the share of the nearest rows that a scan finds.",
	                        "At 1, hybrid.target_recall applies. Twice the value misses half as "
	                        "many rows.",
	                        &probes, PROBES, 1, MAX_PROBES, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable(
		"ivfflat.iterative_scan", "Controls whether a scan continues when too few rows match.",
		"At off, hybrid.iterative_scan applies.", &ivfflat_iterative_scan, HYBRID_ITERATIVE_OFF,
		ivfflat_iterative, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("ivfflat.max_probes", "Has no effect.",
	                        "hybrid.max_scan_tuples and hybrid.scan_mem_multiplier limit a scan.",
	                        &max_probes, MAX_PROBES, 1, MAX_PROBES, PGC_USERSET, 0, NULL, NULL,
	                        NULL);
	MarkGUCPrefixReserved("ivfflat");
}

/*
 * adjust: apply the "hnsw." settings to an index created with USING hnsw, and the "ivfflat." settings
 * to one created with USING ivfflat. The function is a HybridAdjustScan.
 */
static void
adjust(Relation index, HybridScanSettings *settings)
{
	double effort = 1;
	int iterative = HYBRID_ITERATIVE_OFF;

	if (index->rd_indam->amoptions == hnsw_options)
	{
		effort = (double) ef_search / EF_SEARCH;
		iterative = hnsw_iterative_scan;
		if (max_scan_tuples != MAX_SCAN_TUPLES)
			settings->max_scan_tuples = max_scan_tuples;
		if (mem_multiplier != MEM_MULTIPLIER)
			settings->mem_multiplier = mem_multiplier;
	}
	else if (index->rd_indam->amoptions == ivfflat_options)
	{
		effort = (double) probes / PROBES;
		iterative = ivfflat_iterative_scan;
	}
	if (effort != 1)
		settings->target_recall = Max(1 - (1 - settings->target_recall) / effort, LEAST_RECALL);
	if (iterative != HYBRID_ITERATIVE_OFF)
		settings->iterative_scan = iterative;
}
