/*
 * index_measure.h
 *		The index that hybrid_index_measure() is measuring, for use by the planner.
 */
#ifndef HYBRID_INDEX_INDEX_MEASURE_H
#define HYBRID_INDEX_INDEX_MEASURE_H

#include "postgres.h"

/*
 * hybrid_index_being_measured: the only index that plans may use now, or InvalidOid if no index is being
 * measured.
 */
extern Oid hybrid_index_being_measured;

#endif
