/*
 * tracker_stage.h
 *		What the tests of trackers share.
 */
#ifndef HY_TRACKER_STAGE_H
#define HY_TRACKER_STAGE_H

#include "dispatch/model/tracker_forecast.h"
#include "unit.h"

/* shape_of: a task of so many items. */
static HyShape
shape_of(int64_t items)
{
	HyShape shape = {.op = HY_OP_DISTANCE, .dims = 768, .queries = 1, .targets = items};

	return shape;
}

#endif
