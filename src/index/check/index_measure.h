/*
 * index_measure.h
 *		The index that hybrid_index_measure() measures, for the planner.
 */
#ifndef HYBRID_INDEX_INDEX_MEASURE_H
#define HYBRID_INDEX_INDEX_MEASURE_H

#include "postgres.h"

/*
 * hybrid_index_being_measured: the only index that plans may use now, or InvalidOid if none is being
 * measured.
 */
extern Oid hybrid_index_being_measured;

#endif
