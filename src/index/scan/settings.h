/*
 * settings.h
 *		The settings of index scans.
 */
#ifndef HYBRID_INDEX_SETTINGS_H
#define HYBRID_INDEX_SETTINGS_H

#include "postgres.h"

extern double hybrid_target_recall; /* 0.5 .. 1 */
extern int hybrid_probes;           /* leaf lists; 0: by the recall */

typedef enum HybridIterative
{
	HYBRID_ITERATIVE_OFF = 0, /* what the first search finds */
	HYBRID_ITERATIVE_STRICT, /* further searches; rows that should have come earlier are left out */
	HYBRID_ITERATIVE_RELAXED /* or come late */
} HybridIterative;

extern int hybrid_iterative_scan; /* HybridIterative */
extern int hybrid_max_scan_tuples;
extern double hybrid_scan_mem_multiplier; /* of work_mem */

/* hybrid_define_index_settings: before the prefix is reserved. */
extern void hybrid_define_index_settings(void);

#endif
