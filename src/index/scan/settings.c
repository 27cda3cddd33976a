/*
 * settings.c
 *		The settings of index scans.
 */
#include "postgres.h"

#include <limits.h>

#include "utils/guc.h"

#include "index/scan/settings.h"

double hybrid_target_recall = 0.95;
int hybrid_probes = 0;
int hybrid_iterative_scan = HYBRID_ITERATIVE_STRICT;
/*
 * A search checks the filter on a cached row in half a microsecond, which is less than a tenth of the time that HNSW
 * takes for a row that it visits. So the default is five times that of pgvector. (WordNet, a filter that 1% of the rows
 * satisfy, LIMIT 10: a search at .95 checks 21,000 rows on average. With a maximum of 20,000, recall is .93 at a target
 * of .95, and .88 at .99; with a maximum of 100,000 it is 1.00.)
 */
#define MOST_TUPLES 100000
int hybrid_max_scan_tuples = MOST_TUPLES;
double hybrid_scan_mem_multiplier = 1;
bool hybrid_adjust_scans = true;

static HybridAdjustScan adjust_scan = NULL;

static const struct config_enum_entry iterative_options[] = {
	{"off", HYBRID_ITERATIVE_OFF, false},
	{"strict_order", HYBRID_ITERATIVE_STRICT, false},
	{"relaxed_order", HYBRID_ITERATIVE_RELAXED, false},
	{NULL, 0, false},
};

void
hybrid_define_index_settings(void)
{
	DefineCustomRealVariable("hybrid.target_recall",
	                         "Target share of the nearest rows that an index scan finds.",
	                         "At 1 the scan reads every stored vector.", &hybrid_target_recall,
	                         0.95, 0.5, 1, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("hybrid.probes", "Number of lists that an index scan examines.",
	                        "0 means as many as hybrid.target_recall requires.", &hybrid_probes, 0,
	                        0, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable(
		"hybrid.iterative_scan",
		"Controls whether an index scan continues when too few rows match.",
		"strict_order omits rows that are found out of order; relaxed_order returns them.",
		&hybrid_iterative_scan, HYBRID_ITERATIVE_STRICT, iterative_options, PGC_USERSET, 0, NULL,
		NULL, NULL);
	DefineCustomIntVariable(
		"hybrid.max_scan_tuples",
		"Number of examined rows after which an index scan does not continue.",
		"Counts rows whose vectors the scan read or that it checked against a filter.",
		&hybrid_max_scan_tuples, MOST_TUPLES, 1, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomRealVariable(
		"hybrid.scan_mem_multiplier", "Maximum memory of an index scan, as a multiple of work_mem.",
		NULL, &hybrid_scan_mem_multiplier, 1, 1, 1000, PGC_USERSET, 0, NULL, NULL, NULL);
}

HybridScanSettings
hybrid_scan_settings(Relation index)
{
	HybridScanSettings settings = {hybrid_target_recall, hybrid_iterative_scan,
	                               hybrid_max_scan_tuples, hybrid_scan_mem_multiplier};

	if (adjust_scan != NULL && hybrid_adjust_scans)
		adjust_scan(index, &settings);
	return settings;
}

void
hybrid_index_adjust_with(HybridAdjustScan adjust)
{
	adjust_scan = adjust;
}
