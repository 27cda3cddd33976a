/*
 * settings.h
 *		The settings of index scans.
 */
#ifndef HYBRID_INDEX_SETTINGS_H
#define HYBRID_INDEX_SETTINGS_H

#include "postgres.h"

extern double hybrid_target_recall; /* 0.5 .. 1 */
extern int hybrid_probes;           /* number of leaf lists; 0: determined by the target recall */

typedef enum HybridIterative
{
	HYBRID_ITERATIVE_OFF = 0, /* return only the rows that the first search finds */
	HYBRID_ITERATIVE_STRICT,  /* search further; rows that should have come earlier are left out */
	HYBRID_ITERATIVE_RELAXED  /* search further; such rows come late */
} HybridIterative;

extern int hybrid_iterative_scan; /* a HybridIterative */
extern int hybrid_max_scan_tuples;
extern double hybrid_scan_mem_multiplier; /* maximum memory of a scan, in multiples of work_mem */

/* hybrid_define_index_settings: define the settings. To be called before the prefix is reserved. */
extern void hybrid_define_index_settings(void);

#endif
