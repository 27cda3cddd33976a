/*
 * settings.h
 *		The settings of index scans.
 */
#ifndef HYBRID_INDEX_SETTINGS_H
#define HYBRID_INDEX_SETTINGS_H

#include "postgres.h"

#include "utils/relcache.h"

extern double hybrid_target_recall; /* target recall, from 0.5 to 1 */
/* number of leaf lists to examine; 0: the target recall determines it */
extern int hybrid_probes;

typedef enum HybridIterative
{
	HYBRID_ITERATIVE_OFF = 0, /* return only the rows that the first search finds */
	HYBRID_ITERATIVE_STRICT,  /* search further; omit rows that should have come earlier */
	HYBRID_ITERATIVE_RELAXED  /* search further; return such rows late */
} HybridIterative;

extern int hybrid_iterative_scan; /* a HybridIterative value */
extern int hybrid_max_scan_tuples;
extern double hybrid_scan_mem_multiplier; /* maximum memory of a scan, in multiples of work_mem */

/* HybridScanSettings: the settings that one index scan uses. */
typedef struct HybridScanSettings
{
	double target_recall;
	int iterative_scan; /* a HybridIterative value */
	int max_scan_tuples;
	double mem_multiplier;
} HybridScanSettings;

/* HybridAdjustScan: change the settings for scans of this index. */
typedef void (*HybridAdjustScan)(Relation index, HybridScanSettings *settings);

/*
 * hybrid_adjust_scans: whether the function of hybrid_index_adjust_with is called; false while hybrid_index_measure()
 * tries targets of its own
 */
extern bool hybrid_adjust_scans;

/* hybrid_scan_settings: return the settings for scans of this index. */
extern HybridScanSettings hybrid_scan_settings(Relation index);

/*
 * hybrid_index_adjust_with: register a function that adjusts the settings of scans. It is for a library
 * that has other names for this access method. The function is called for every index of this access
 * method, and must leave the settings for other indexes alone. There can be only one such library.
 */
PGDLLEXPORT void hybrid_index_adjust_with(HybridAdjustScan adjust);

/* hybrid_define_index_settings: define the settings. Call it before the prefix is reserved. */
extern void hybrid_define_index_settings(void);

#endif
