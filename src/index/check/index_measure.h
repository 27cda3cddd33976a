/*
 * index_measure.h
 *		The recall that an index has for the caller's own queries.
 */
#ifndef HYBRID_INDEX_INDEX_MEASURE_H
#define HYBRID_INDEX_INDEX_MEASURE_H

#include "postgres.h"

/* hybrid_measured_index: the only index that plans may use meanwhile; InvalidOid: none is measured. */
extern Oid hybrid_measured_index;

#endif
