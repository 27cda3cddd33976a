/*
 * executor_test.c
 *		The table of devices: what is left out of a full one, and when it must be made anew.
 */
#include "dispatch_stage.h"

static void
test_too_many_devices(void)
{
	HyDeviceState state;

	stage_begin(5);
	CHECK_INT(hy_executor_add_backend(stage.executor, &stage_backend), HY_QUOTA);
	CHECK_INT(stage_logged("3 of 5 devices from scripted are left out"), 1);
	CHECK_INT(hy_executor_devices(stage.executor), HY_MAX_DEVICES);
	hy_executor_add_missing(stage.executor, "one more", "no room");
	CHECK_INT(hy_executor_devices(stage.executor), HY_MAX_DEVICES);
	hy_executor_device(stage.executor, 7, &state);
	CHECK_STR(state.backend, "scripted");
	CHECK_INT(state.number, 1);
	stage_end();
}

/* Where the table of devices is full one more changes nothing; one that has left always does. */
static void
test_a_full_table_is_looked_at_again(void)
{
	stage_begin(HY_MAX_DEVICES - 1);
	CHECK_INT(hy_executor_devices(stage.executor), HY_MAX_DEVICES);
	CHECK(hy_executor_look_again(stage.executor));
	stage.devices = HY_MAX_DEVICES;
	CHECK(hy_executor_look_again(stage.executor));
	stage.devices = HY_MAX_DEVICES - 2;
	CHECK(!hy_executor_look_again(stage.executor));
	stage_end();
	/* with room for it, it is a reason to begin anew */
	stage_begin(HY_MAX_DEVICES - 2);
	CHECK(hy_executor_look_again(stage.executor));
	stage.devices = HY_MAX_DEVICES - 1;
	CHECK(!hy_executor_look_again(stage.executor));
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_too_many_devices);
	UNIT_RUN(test_a_full_table_is_looked_at_again);
	return unit_finish();
}
