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
int hybrid_max_scan_tuples = 20000;
double hybrid_scan_mem_multiplier = 1;

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
	                         "Share of the nearest rows that an index scan finds.",
	                         "At 1 it looks at every stored vector.", &hybrid_target_recall, 0.95,
	                         0.5, 1, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("hybrid.probes", "Lists that an index scan looks into.",
	                        "0 means as many as hybrid.target_recall needs.", &hybrid_probes, 0, 0,
	                        INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomEnumVariable(
		"hybrid.iterative_scan", "Whether an index scan searches on when too few rows match.",
		"strict_order leaves out rows that are found late, relaxed_order returns them late.",
		&hybrid_iterative_scan, HYBRID_ITERATIVE_STRICT, iterative_options, PGC_USERSET, 0, NULL,
		NULL, NULL);
	DefineCustomIntVariable(
		"hybrid.max_scan_tuples", "Rows looked at after which an index scan does not search on.",
		"Those whose vectors it has read, or which it has asked for a filter.",
		&hybrid_max_scan_tuples, 20000, 1, INT_MAX, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomRealVariable("hybrid.scan_mem_multiplier",
	                         "Memory that an index scan may take, in multiples of work_mem.", NULL,
	                         &hybrid_scan_mem_multiplier, 1, 1, 1000, PGC_USERSET, 0, NULL, NULL,
	                         NULL);
}
