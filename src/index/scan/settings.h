/*
 * settings.h
 *		The settings of index scans.
 */
#ifndef HYBRID_INDEX_SETTINGS_H
#define HYBRID_INDEX_SETTINGS_H

#include "postgres.h"

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

/* hybrid_define_index_settings: define the settings. Call it before the prefix is reserved. */
extern void hybrid_define_index_settings(void);

#endif
