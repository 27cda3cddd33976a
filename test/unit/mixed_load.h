/*
 * mixed_load.h
 *		A short life on an emulated device of a given profile: what bench/audit.c measures and
 *		audit_test.c holds the dispatcher to.
 */
#ifndef MIXED_LOAD_H
#define MIXED_LOAD_H

#include <math.h>
#include <string.h>

#include "core/rotation.h"
#include "dispatch/model/cost_model.h"
#include "dispatch/run/dispatcher.h"
#include "unit.h"

/* The emulated plug-in, linked in. */
extern const HyBackend *hy_plugin_entry(const HyHost *host);

static const char *const mixed_profiles[] = {"pcie", "integrated", "bad"};

#define MIXED_PROFILES 3
#define CODE_WORK 16 /* of codes, in the time of one of vectors */

/* mixed_setting: of the host; arg is the profile's name. */
static UNIT_UNUSED const char *
mixed_setting(void *arg, const char *name)
{
	if (strcmp(name, "emulated_profile") == 0)
		return arg;
	if (strcmp(name, "emulated_memory_mb") == 0)
		return "65536";
	return NULL;
}

/*
 * mixed_config: the bad device fails one call in ten, and may: where it is not trusted there is
 * nothing to choose.
 */
static UNIT_UNUSED void
mixed_config(HyConfig *config)
{
	hy_config_default(config);
	config->timeout_ns = 0;
	config->success_threshold = 0.5;
}

/*
 * mixed_shape: such as users have: sizes evenly over the powers, dims of common models, and no more
 * than most units of work, most_spread in spread, whose edges take longer, and more in codes, so that
 * thousands end.
 */
static HyShape
mixed_shape(UnitRandom *random, double most, double most_spread)
{
	static const int32_t dims[] = {64, 100, 768, 1000, 4096, 5000};
	static const HyOp ops[] = {HY_OP_DISTANCE, HY_OP_TOPK, HY_OP_SPREAD, HY_OP_SCORE_CODES,
	                           HY_OP_ASSIGN};
	HyShape shape = {.dtype = HY_F32, .metric = HY_METRIC_L2};

	do
	{
		shape.op = ops[unit_random(random) % 5];
		shape.dims = shape.op == HY_OP_SPREAD ? 0 : dims[unit_random(random) % 6];
		/* codes are of whole steps */
		if (shape.op == HY_OP_SCORE_CODES)
			shape.dims = (shape.dims + HY_ROTATION_STEP - 1) / HY_ROTATION_STEP * HY_ROTATION_STEP;
		shape.queries = unit_random(random) % 2 ? 1 : 1 + (int64_t) (unit_random(random) % 32);
		shape.targets = (int64_t) (8 * exp(unit_random_unit(random) * log(125000)));
		shape.k = hy_op_has_k(shape.op) ? 10 : 0;
	} while (hy_cost_terms(&shape, true).work > (shape.op == HY_OP_SPREAD        ? most_spread
	                                             : shape.op == HY_OP_SCORE_CODES ? CODE_WORK * most
	                                                                             : most));
	return shape;
}

#endif
