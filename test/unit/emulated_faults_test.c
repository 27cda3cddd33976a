/*
 * emulated_faults_test.c
 *		Every failure on demand, and what is lost with it.
 */
#include "emulated_stage.h"

static void
test_fail_at_and_every(void)
{
	HyDevice *device;
	HyFailure failure;
	int i;

	begin();
	device = open_device(0);
	set("emulated_faults", "fail_at=3, status=busy");
	for (i = 1; i <= 6; i++)
		CHECK_INT(run_status(device, 10), i == 3 ? HY_BUSY : HY_OK);
	set("emulated_faults", "fail_every=3");
	for (i = 1; i <= 9; i++)
		CHECK_INT(run_status(device, 10), i % 3 == 0 ? HY_TRANSIENT : HY_OK);
	device_of->last_error(device, &failure);
	CHECK_INT(failure.native_code, 900 + HY_TRANSIENT);
	CHECK_STR(failure.text, "fault 1 of emulated_faults");
	set("emulated_faults", "");
	CHECK_INT(run_status(device, 10), HY_OK);
	/* set again, it counts from 1 again */
	set("emulated_faults", "fail_at=1;fail_at=2,status=nomem");
	CHECK_INT(run_status(device, 10), HY_TRANSIENT);
	CHECK_INT(run_status(device, 10), HY_NOMEM);
	CHECK_INT(run_status(device, 10), HY_OK);
	device_of->close(device);
}

static void
test_every_status_in_every_place(void)
{
	static const struct
	{
		const char *name;
		HyStatus status;
	} kinds[] = {{"unsupported", HY_UNSUPPORTED},
	             {"nomem", HY_NOMEM},
	             {"quota", HY_QUOTA},
	             {"busy", HY_BUSY},
	             {"transient", HY_TRANSIENT},
	             {"timeout", HY_TIMEOUT},
	             {"cancelled", HY_CANCELLED},
	             {"context_lost", HY_CONTEXT_LOST},
	             {"process_lost", HY_PROCESS_LOST},
	             {"sticky", HY_PROCESS_LOST},
	             {"device_gone", HY_DEVICE_GONE},
	             {"invalid", HY_INVALID},
	             {"bug", HY_BUG}};
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
	{
		HyStatus wanted = kinds[i].status;
		bool lasts = wanted == HY_PROCESS_LOST || wanted == HY_DEVICE_GONE;
		HyLimits limits = {0};
		char text[64];
		HyDevice *device;

		begin();
		device = open_device(0);
		snprintf(text, sizeof(text), "in=submit,fail_at=1,status=%s", kinds[i].name);
		set("emulated_faults", text);
		CHECK_INT(run_status(device, 10), wanted);
		CHECK_INT(run_status(device, 10), lasts || wanted == HY_CONTEXT_LOST ? wanted : HY_OK);
		device_of->close(device);

		begin();
		device = open_device(0);
		snprintf(text, sizeof(text), "in=poll,fail_at=2,status=%s", kinds[i].name);
		set("emulated_faults", text);
		CHECK_INT(run_status(device, 10), HY_OK);
		CHECK_INT(run_status(device, 10), wanted);
		CHECK_INT(*(const unsigned char *) out, 0xcc); /* garbage is left */
		device_of->close(device);

		begin();
		snprintf(text, sizeof(text), "in=open,fail_at=1,status=%s", kinds[i].name);
		set("emulated_faults", text);
		CHECK_INT(device_of->open(0, &limits, &device), wanted);
		CHECK_INT(device_of->open(0, &limits, &device), lasts ? wanted : HY_OK);
		if (!lasts)
			device_of->close(device);
		CHECK_INT(memory.outstanding, 0);
	}
}

static void
test_what_is_lost_comes_back_with_the_setting(void)
{
	HyDevice *device;
	HyDevice *second;

	begin();
	device = open_device(0);
	set("emulated_faults", "fail_at=1,status=context_lost");
	CHECK_INT(run_status(device, 10), HY_CONTEXT_LOST);
	second = open_device(0); /* a new context works */
	CHECK_INT(run_status(second, 10), HY_OK);
	CHECK_INT(run_status(device, 10), HY_CONTEXT_LOST);
	set("emulated_faults", "fail_at=1,status=sticky");
	CHECK_INT(run_status(device, 10), HY_PROCESS_LOST);
	CHECK_INT(run_status(second, 10), HY_PROCESS_LOST); /* all of the process */
	set("emulated_faults", "");
	CHECK_INT(run_status(device, 10), HY_OK);
	CHECK_INT(run_status(second, 10), HY_OK);
	device_of->close(device);
	device_of->close(second);
}

static void
test_above(void)
{
	HyDevice *device;

	begin();
	device = open_device(0);
	set("emulated_faults", "above=100k");
	CHECK_INT(run_status(device, 100), HY_OK);
	CHECK_INT(run_status(device, ROWS), HY_NOMEM); /* 144 kB */
	set("emulated_faults", "above=14656");         /* what 100 rows need */
	CHECK_INT(run_status(device, 100), HY_OK);
	set("emulated_faults", "above=14655");
	CHECK_INT(run_status(device, 100), HY_NOMEM);
	set("emulated_faults", "above=1m");
	CHECK_INT(run_status(device, ROWS), HY_OK);
	set("emulated_faults", "above=5");
	CHECK_INT(run_status(device, 1), HY_NOMEM);
	device_of->close(device);
}

static void
test_only_some_calls(void)
{
	HyDevice *device;

	begin();
	device = open_device(0);
	set("emulated_faults", "op=topk");
	CHECK_INT(run_status(device, 10), HY_OK);
	set("emulated_faults", "op=distance");
	CHECK_INT(run_status(device, 10), HY_TRANSIENT);
	set("emulated_faults", "device=1");
	CHECK_INT(run_status(device, 10), HY_OK);
	set("emulated_faults", "device=0");
	CHECK_INT(run_status(device, 10), HY_TRANSIENT);
	device_of->close(device);
}

static void
test_random_rate(void)
{
	HyDevice *device;
	int failed[3] = {0, 0, 0};
	uint64_t pattern[3] = {0, 0, 0};
	int round;
	int i;

	begin();
	device = open_device(0);
	for (round = 0; round < 3; round++)
	{
		set("emulated_faults", "");
		CHECK_INT(run_status(device, 1), HY_OK);
		set("emulated_faults", round == 2 ? "fail_rate=0.25,seed=8" : "fail_rate=0.25,seed=7");
		for (i = 0; i < 400; i++)
		{
			bool bad = run_status(device, 1) != HY_OK;

			failed[round] += bad;
			if (i < 64)
				pattern[round] |= (uint64_t) bad << i;
		}
		CHECK(failed[round] > 60 && failed[round] < 140);
	}
	CHECK(pattern[0] == pattern[1]);
	CHECK(pattern[0] != pattern[2]);
	device_of->close(device);
}

static void
test_grammar(void)
{
	static const char *const bad[] = {
		"nonsense",    "fail_at=0", "fail_at=x",   "fail_at=", "fail_rate=2", "status=ill",
		"op=dance",    "in=bed",    "above=-5",    "above=5q", "device=-1",   "fail_every=0",
		"fail_at=1,,", "seed=-1",   "fail_at=1 2", "=",        "a;b;c"};
	HyDevice *device;
	HyFailure failure;
	char longer[700];
	size_t i;

	begin();
	device = open_device(0);
	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
	{
		set("emulated_faults", bad[i]);
		CHECK_MSG(run_status(device, 10) == HY_INVALID, "%s", bad[i]);
		device_of->last_error(device, &failure);
		CHECK_MSG(strstr(failure.text, "emulated_faults: cannot read") == failure.text, "%s",
		          failure.text);
	}
	memset(longer, ' ', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	set("emulated_faults", longer);
	CHECK_INT(run_status(device, 10), HY_INVALID);
	set("emulated_faults", "fail_at=9;;;;fail_at=9;fail_at=9;fail_at=9;fail_at=9;fail_at=9;"
	                       "fail_at=9;fail_at=9;fail_at=9");
	CHECK_INT(run_status(device, 10), HY_INVALID);
	set("emulated_faults", " ; fail_at = 2 , status = quota ; ");
	CHECK_INT(run_status(device, 10), HY_OK);
	CHECK_INT(run_status(device, 10), HY_QUOTA);
	device_of->close(device);
}

int
main(void)
{
	UNIT_RUN(test_fail_at_and_every);
	UNIT_RUN(test_every_status_in_every_place);
	UNIT_RUN(test_what_is_lost_comes_back_with_the_setting);
	UNIT_RUN(test_above);
	UNIT_RUN(test_only_some_calls);
	UNIT_RUN(test_random_rate);
	UNIT_RUN(test_grammar);
	return unit_finish();
}
