/*
 * executor_test.c
 *		The table of devices: which devices a full table omits, when it must be rebuilt, and what
 *		is kept for a missing device.
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
	hy_executor_add_missing(stage.executor, "one more", "no room", false);
	CHECK_INT(hy_executor_devices(stage.executor), HY_MAX_DEVICES);
	hy_executor_device(stage.executor, 7, &state);
	CHECK_STR(state.backend, "scripted");
	CHECK_INT(state.number, 1);
	stage_end();
}

/*
 * When the table of devices is full, an additional device changes nothing; a missing one always
 * does.
 */
static void
test_a_full_table_is_looked_at_again(void)
{
	stage_begin(HY_MAX_DEVICES - 1);
	CHECK_INT(hy_executor_devices(stage.executor), HY_MAX_DEVICES);
	CHECK(hy_executor_reprobe(stage.executor));
	stage.devices = HY_MAX_DEVICES;
	CHECK(hy_executor_reprobe(stage.executor));
	stage.devices = HY_MAX_DEVICES - 2;
	CHECK(!hy_executor_reprobe(stage.executor));
	stage_end();
	/* with room for it, it is a reason to begin anew */
	stage_begin(HY_MAX_DEVICES - 2);
	CHECK(hy_executor_reprobe(stage.executor));
	stage.devices = HY_MAX_DEVICES - 1;
	CHECK(!hy_executor_reprobe(stage.executor));
	stage_end();
}

/* A backend whose devices cannot be counted or do not answer, with its error number and text. */
static struct
{
	HyStatus count;
	HyStatus probe;
	int32_t devices;
	HyFailure failure;
} broken;

static HyStatus
broken_count(int32_t *count)
{
	*count = broken.devices;
	return broken.count;
}

static HyStatus
broken_probe(int32_t number, HyDeviceInfo *info)
{
	memset(info, 1, sizeof(*info));
	return number == 0 ? broken.probe : stage_probe(number, info);
}

static void
broken_last_error(const HyDevice *device, HyFailure *failure)
{
	CHECK(device == NULL);
	*failure = broken.failure;
}

static HyStatus
add_broken(HyStatus count, HyStatus probe, int32_t devices, int32_t native_code, const char *text)
{
	static HyBackend backend;

	backend = stage_backend;
	backend.device_count = broken_count;
	backend.probe = broken_probe;
	backend.last_error = broken_last_error;
	broken.count = count;
	broken.probe = probe;
	broken.devices = devices;
	broken.failure.native_code = native_code;
	snprintf(broken.failure.text, sizeof(broken.failure.text), "%s", text);
	return hy_executor_add_backend(stage.executor, &backend);
}

/*
 * excused: check that the CPU answers rows items, and that the call and its event say why no device
 * did.
 */
static void
excused(int64_t rows, int32_t native_code, const char *text)
{
	const HyDecision *event;
	HyDecision decision;

	CHECK_INT(stage_dispatch(rows, &decision), HY_OK);
	stage_expect(decision, 0, HY_REASON_NO_DEVICE);
	CHECK_INT(decision.status, HY_OK);
	CHECK_INT(decision.failure.native_code, native_code);
	CHECK_STR(decision.failure.text, text);
	event = hy_executor_event(stage.executor, hy_executor_events(stage.executor) - 1);
	CHECK_INT(event->failure.native_code, native_code);
	CHECK_STR(event->failure.text, text);
}

/*
 * The driver's error from counting devices is attached to each task that the CPU runs for lack of a
 * device.
 */
static void
test_a_count_that_fails_keeps_its_number(void)
{
	static const struct
	{
		HyStatus status;
		int32_t native_code;
		const char *text;
	} said[] = {{HY_DEVICE_GONE, 803, "unsupported display driver / cuda driver combination"},
	            {HY_TRANSIENT, 802, "not yet initialized"},
	            {HY_PROCESS_LOST, 3, "initialization error"},
	            {HY_NOMEM, 2, "out of memory"},
	            {HY_BUSY, 46, "busy or unavailable"}};
	size_t i;
	int call;

	for (i = 0; i < sizeof(said) / sizeof(said[0]); i++)
	{
		HyDecision decision;
		int32_t events;
		int memoed = 0;

		stage_begin(0);
		CHECK_INT(add_broken(said[i].status, HY_OK, 0, said[i].native_code, said[i].text),
		          said[i].status);
		CHECK_INT(stage_logged("no device from scripted: "), 1);
		CHECK_INT(stage_logged(said[i].text), 1);
		/* as it is decided, and as a memo of that has it */
		for (call = 0; call < 20; call++)
		{
			int32_t before = stage.executor->next_event;

			CHECK_INT(stage_dispatch(200, &decision), HY_OK);
			memoed += stage.executor->briefs[before].memo != HY_BRIEF_FULL;
		}
		CHECK(memoed > 0);
		events = hy_executor_events(stage.executor);
		for (call = 0; call < events; call++)
		{
			const HyDecision *event = hy_executor_event(stage.executor, call);

			CHECK_INT(event->status, HY_OK);
			CHECK_INT(event->failure.native_code, said[i].native_code);
			CHECK_STR(event->failure.text, said[i].text);
		}
		excused(200, said[i].native_code, said[i].text);
		/* and with one that insists on a device */
		stage.config.execution = HY_EXECUTION_GPU;
		CHECK_INT(stage_dispatch(200, &decision), HY_UNSUPPORTED);
		CHECK_INT(decision.failure.native_code, said[i].native_code);
		CHECK_STR(decision.failure.text, said[i].text);
		stage_end();
	}
}

/* excused_each_time: the same for many calls, decided anew and by memo. */
static void
excused_each_time(int32_t native_code, const char *text)
{
	int call;

	for (call = 0; call < 20; call++)
		excused(200, native_code, text);
}

/* Without a card and without a fault, only a user who requests a device is told. */
static void
test_a_machine_without_a_card(void)
{
	static const char why[] = "no device is detected";
	static const char line[] = "no device from scripted: no device is detected";
	HyDecision decision;
	HyDeviceState state;

	stage_begin(0);
	CHECK_INT(add_broken(HY_OK, HY_OK, 0, 100, why), HY_OK);
	excused_each_time(0, "");
	stage.config.force_cpu = true;
	CHECK_INT(stage_dispatch(200, &decision), HY_OK);
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(200, &decision), HY_OK);
	stage.config.force_cpu = false;
	stage.config.execution = HY_EXECUTION_PREFER_CPU;
	CHECK_INT(stage_dispatch(200, &decision), HY_OK);
	CHECK_INT(stage.lines, 0);
	hy_executor_device(stage.executor, 1, &state);
	CHECK(state.latched);
	CHECK_STR(state.why, why);
	/* each way to ask; one line, however often */
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	excused_each_time(100, why);
	CHECK_INT(stage_logged(line), 1);
	stage.config.execution = HY_EXECUTION_SPLIT;
	excused_each_time(100, why);
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(200, &decision), HY_UNSUPPORTED);
	CHECK_INT(decision.failure.native_code, 100);
	CHECK_STR(decision.failure.text, why);
	stage.config.execution = HY_EXECUTION_AUTO;
	stage.config.devices = 1;
	excused_each_time(100, why);
	/* and no more when it is not asked for */
	stage.config.devices = 0;
	excused_each_time(0, "");
	CHECK_INT(stage.lines, 1);
	stage_end();
}

/* The driver's error is not the reason for a failure of the CPU, decided anew or by memo. */
static void
test_a_cancel_on_the_cpu_has_no_number(void)
{
	HyDecision decision;
	int memos;

	for (memos = 0; memos < 2; memos++)
	{
		int call;

		stage_begin(0);
		CHECK_INT(add_broken(HY_BUSY, HY_OK, 0, 46, "busy or unavailable"), HY_BUSY);
		for (call = 0; call < memos * 20; call++)
			CHECK_INT(stage_dispatch(20000, &decision), HY_OK);
		unit_cancel_init(&stage.cancel, 1);
		CHECK_INT(stage_dispatch(20000, &decision), HY_CANCELLED);
		CHECK_INT(decision.status, HY_CANCELLED);
		CHECK_INT(decision.failure.native_code, 0);
		CHECK_STR(decision.failure.text, "");
		unit_cancel_init(&stage.cancel, 0);
		stage_end();
	}
}

/* A missing plug-in is not a failure of a device; the view of devices gives the reason. */
static void
test_a_missing_plug_in_has_no_number(void)
{
	HyDecision decision;

	stage_begin(0);
	hy_executor_add_missing(stage.executor, "hybrid_cuda", "hybrid_cuda.so is not installed", true);
	excused_each_time(0, "");
	CHECK_INT(stage.lines, 0);
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	excused_each_time(0, "hybrid_cuda.so is not installed");
	CHECK_INT(stage_logged("no device from hybrid_cuda: hybrid_cuda.so is not installed"), 1);
	stage.config.execution = HY_EXECUTION_GPU;
	CHECK_INT(stage_dispatch(200, &decision), HY_UNSUPPORTED);
	CHECK_INT(decision.failure.native_code, 0);
	CHECK_STR(decision.failure.text, "hybrid_cuda.so is not installed");
	stage_end();
	/* one that was to be there, and is not */
	stage_begin(0);
	hy_executor_add_missing(stage.executor, "hybrid_cuda", "it is of another ABI", false);
	CHECK_INT(stage_logged("no device from hybrid_cuda: it is of another ABI"), 1);
	excused_each_time(0, "");
	CHECK_INT(stage.lines, 1);
	stage_end();
	/* nor is one whose devices the settings leave out */
	stage_begin(1);
	CHECK_INT(add_broken(HY_OK, HY_OK, 0, 100, "no device is detected"), HY_OK);
	stage.config.devices = 2;
	excused(200, 0, "");
	stage.config.devices = 0;
	stage_end();
}

/* A device that is counted but does not answer is left unused, with its driver's error. */
static void
test_a_device_that_does_not_answer(void)
{
	HyDeviceState state;

	stage_begin(0);
	CHECK_INT(add_broken(HY_OK, HY_TRANSIENT, 1, 999, "unknown error"), HY_OK);
	CHECK_INT(stage_logged("device 1 (scripted 0) does not answer when probed: unknown error"), 1);
	hy_executor_device(stage.executor, 1, &state);
	CHECK(state.latched);
	CHECK_STR(state.why, "it does not answer when probed: unknown error");
	CHECK_STR(state.info.name, "");
	excused(200, 999, "it does not answer when probed: unknown error");
	stage_end();
	/* it says nothing; beside it is one that answers */
	stage_begin(0);
	CHECK_INT(add_broken(HY_OK, HY_TRANSIENT, 2, 0, ""), HY_OK);
	CHECK_INT(stage_logged("device 1 (scripted 0) does not answer when probed"), 1);
	CHECK_INT(stage_logged("probed:"), 0);
	hy_executor_device(stage.executor, 1, &state);
	CHECK_STR(state.why, "it does not answer when probed");
	hy_executor_device(stage.executor, 2, &state);
	CHECK(!state.latched && state.why == NULL);
	stage_end();
}

int
main(void)
{
	UNIT_RUN(test_too_many_devices);
	UNIT_RUN(test_a_full_table_is_looked_at_again);
	UNIT_RUN(test_a_count_that_fails_keeps_its_number);
	UNIT_RUN(test_a_machine_without_a_card);
	UNIT_RUN(test_a_cancel_on_the_cpu_has_no_number);
	UNIT_RUN(test_a_missing_plug_in_has_no_number);
	UNIT_RUN(test_a_device_that_does_not_answer);
	return unit_finish();
}
