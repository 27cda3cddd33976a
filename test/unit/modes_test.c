/*
 * modes_test.c
 *		Every value of hybrid.execution with every state of a device: the side that runs the
 *		task, the reason given, and the refusals.
 *
 * 10,000 items take the CPU 1,000 us and the device 30, so by default the dispatcher takes the
 * device.
 */
#include "dispatch_stage.h"

#define ITEMS 10000

/* State: the condition of the device. */
typedef enum State
{
	ABLE = 0,
	NO_PLUGIN,    /* rule 3: no file, or one of another ABI */
	MISSING,      /* rule 3: it was there */
	UNSUPPORTED,  /* rule 4 */
	SMALL_BATCH,  /* rule 5 */
	UNRELIABLE,   /* rule 6 */
	NO_MEMORY,    /* rule 7, not even for the smallest piece */
	LITTLE_MEMORY /* rule 7, in pieces */
} State;

#define STATES (LITTLE_MEMORY + 1)

static const char *const state_names[STATES] = {"able",          "without a plug-in", "gone",
                                                "unsupported",   "below the minimum", "unreliable",
                                                "out of memory", "little memory"};

/* Mode: a value of hybrid.execution, and its effect if the device is not available. */
typedef struct Mode
{
	const char *name;
	HyExecution execution;
	const char *backend;
	bool wants_cpu;       /* rule 1, or prefer_cpu with a CPU that is able */
	bool insists;         /* an ERROR where the device is not able */
	bool minds_the_batch; /* rule 5 holds */
	HyReason taken;       /* why the device is, where it is able */
} Mode;

static const Mode modes[] = {
	{"auto", HY_EXECUTION_AUTO, "", false, false, true, HY_REASON_COST},
	{"cpu", HY_EXECUTION_CPU, "", true, false, false, HY_REASON_USER},
	{"gpu", HY_EXECUTION_GPU, "", false, true, false, HY_REASON_USER},
	{"prefer_cpu", HY_EXECUTION_PREFER_CPU, "", true, false, false, HY_REASON_USER},
	{"prefer_gpu", HY_EXECUTION_PREFER_GPU, "", false, false, false, HY_REASON_USER},
	{"the device's name", HY_EXECUTION_NAMED, "scripted", false, true, false, HY_REASON_USER},
	{"the CPU's name", HY_EXECUTION_NAMED, "cpu", true, false, false, HY_REASON_USER},
	{"split", HY_EXECUTION_SPLIT, "", false, false, false, HY_REASON_SPLIT}};

static void
put_in(State state)
{
	HyMember *member = &stage.executor->member[1];
	int op;
	int i;

	switch (state)
	{
		case ABLE:
		case NO_PLUGIN:
			break;
		case MISSING:
			hy_member_latch(stage.executor, member, false, false, "has left");
			break;
		case UNSUPPORTED:
			stage.unsupported = true;
			break;
		case SMALL_BATCH:
			for (op = 0; op < HY_OP_COUNT; op++)
				stage.config.min_batch[op] = ITEMS + 1;
			break;
		case UNRELIABLE:
			for (i = 0; i < 3; i++)
				(void) hy_breaker_record(&member->breakers[HY_OP_DISTANCE], stage.clock.time, false,
				                         0.95);
			break;
		case NO_MEMORY:
			stage.config.memory_limit = 7;
			break;
		case LITTLE_MEMORY:
			stage.config.memory_limit = 8 * ITEMS / 2;
			break;
	}
}

/* begin: set up a device that is open and known to be faster. */
static void
begin(void)
{
	stage_begin(1);
	stage.device_item_ns = 50; /* not by so much that a split would be no use */
	stage.config.execution = HY_EXECUTION_PREFER_GPU;
	CHECK_INT(stage_dispatch(1024, NULL), HY_OK);
	hy_executor_reset(stage.executor);
	stage_teach(stage.executor, 1);
	stage.executor->no_trials = true;
}

static void
check_cell(const Mode *mode, State state)
{
	static const HyReason reasons[STATES] = {
		HY_REASON_USER,      HY_REASON_NO_DEVICE,  HY_REASON_NO_DEVICE, HY_REASON_UNSUPPORTED,
		HY_REASON_BELOW_MIN, HY_REASON_UNRELIABLE, HY_REASON_MEMORY,    HY_REASON_USER};
	static const HyStatus refusals[STATES] = {HY_OK, HY_UNSUPPORTED, HY_UNSUPPORTED, HY_UNSUPPORTED,
	                                          HY_OK, HY_BUSY,        HY_NOMEM,       HY_OK};
	bool able =
		state == ABLE || state == LITTLE_MEMORY || (state == SMALL_BATCH && !mode->minds_the_batch);
	HyDecision decision;
	HyStatus st;
	int before;

	if (state != NO_PLUGIN)
		begin();
	else
	{
		stage_begin(0);
		hy_executor_add_missing(stage.executor, "hybrid_scripted", "of another ABI", false);
	}
	put_in(state);
	stage.config.execution = mode->execution;
	strcpy(stage.config.backend_name, mode->backend);
	before = stage.submits;
	st = stage_dispatch(ITEMS, &decision);
	if (mode->wants_cpu)
	{
		CHECK_INT(st, HY_OK);
		stage_expect(decision, 0, HY_REASON_USER);
		CHECK_INT(stage.submits, before);
	}
	else if (able)
	{
		CHECK_INT(st, HY_OK);
		stage_expect(decision, 1, mode->taken);
		CHECK(stage.submits > before);
		CHECK(decision.pieces > 1 || state != LITTLE_MEMORY);
		CHECK_INT(decision.pieces > 0,
		          state == LITTLE_MEMORY || mode->execution == HY_EXECUTION_SPLIT);
	}
	else
	{
		CHECK_INT(st, mode->insists ? refusals[state] : HY_OK);
		CHECK_INT(decision.status, st);
		CHECK_STR(hy_reason_name(decision.reason), hy_reason_name(reasons[state]));
		CHECK_INT(decision.device, mode->insists ? HY_NOWHERE : 0);
		CHECK_INT(stage.submits, before);
	}
	CHECK(!decision.fallback);
	stage_end();
}

static void
every_mode_in_every_state(void)
{
	size_t m;
	int s;

	for (m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
	{
		for (s = 0; s < STATES; s++)
		{
			int failed = unit_failed_checks;

			check_cell(&modes[m], (State) s);
			if (unit_failed_checks > failed)
				printf("# the above with %s, and a device that is: %s\n", modes[m].name,
				       state_names[s]);
		}
	}
}

/* force_cpu overrides everything. */
static void
force_cpu_in_every_mode(void)
{
	size_t m;

	for (m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
	{
		HyDecision decision;
		int before;

		begin();
		stage.config.execution = modes[m].execution;
		strcpy(stage.config.backend_name, modes[m].backend);
		stage.config.force_cpu = true;
		before = stage.submits;
		CHECK_INT(stage_dispatch(ITEMS, &decision), HY_OK);
		stage_expect(decision, 0, HY_REASON_USER);
		CHECK_INT(stage.submits, before);
		stage_end();
	}
}

static HyCaps
no_caps(const HyDevice *device, const HyShape *shape)
{
	(void) device;
	(void) shape;
	return (HyCaps){.ok = false, .reason = "it was told not to"};
}

/* prefer_cpu takes the other side if the CPU is not able. */
static void
prefer_cpu_where_the_cpu_is_not_able(void)
{
	HyDecision decision;

	begin();
	stage_cpu.caps = no_caps;
	stage.config.execution = HY_EXECUTION_PREFER_CPU;
	CHECK_INT(stage_dispatch(ITEMS, &decision), HY_OK);
	stage_expect(decision, 1, HY_REASON_USER);
	stage_end();
}

/*
 * If the device is requested by name or as gpu, a context is opened at once; auto waits until it
 * pays.
 */
static void
a_device_that_is_not_open_yet(void)
{
	size_t m;

	for (m = 0; m < sizeof(modes) / sizeof(modes[0]); m++)
	{
		bool waits = modes[m].minds_the_batch || modes[m].execution == HY_EXECUTION_SPLIT;
		HyDecision decision;

		stage_begin(0);
		stage.devices = 1;
		stage.open_cost_ns = UINT64_C(1000000000);
		CHECK_INT(hy_executor_add_backend(stage.executor, &stage_backend), HY_OK);
		stage_teach(stage.executor, 1);
		stage.config.execution = modes[m].execution;
		strcpy(stage.config.backend_name, modes[m].backend);
		CHECK_INT(stage_dispatch(ITEMS, &decision), HY_OK);
		CHECK_INT(stage.opens, !waits && !modes[m].wants_cpu);
		CHECK_STR(hy_reason_name(decision.reason),
		          hy_reason_name(waits ? HY_REASON_NOT_OPEN : HY_REASON_USER));
		stage_end();
	}
}

/* A user who insists on a device but has excluded it is told so. */
static void
a_device_that_is_left_out(void)
{
	static const struct
	{
		const char *name; /* NULL: gpu */
		const char *says;
	} wishes[] = {
		{NULL, "it is left out: hybrid.gpu_device does not name it"},
		{"scripted", "it is left out: hybrid.gpu_device does not name it"},
		{"absent", "no backend is called \"absent\""},
		{"hybrid_cuda", "no driver"},
	};
	size_t i;

	for (i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++)
	{
		HyDecision decision;

		begin();
		/* of which there is no device to leave out */
		hy_executor_add_missing(stage.executor, "hybrid_cuda", "no driver", false);
		stage.config.devices = 1 << 5;
		stage.config.execution = HY_EXECUTION_GPU;
		if (wishes[i].name != NULL)
		{
			stage.config.execution = HY_EXECUTION_NAMED;
			strcpy(stage.config.backend_name, wishes[i].name);
		}
		CHECK(stage_dispatch(ITEMS, &decision) != HY_OK);
		CHECK_STR(hy_reason_name(decision.reason), "no device");
		CHECK_STR(decision.failure.text, wishes[i].says);
		stage_end();
	}
}

int
main(void)
{
	UNIT_RUN(every_mode_in_every_state);
	UNIT_RUN(force_cpu_in_every_mode);
	UNIT_RUN(prefer_cpu_where_the_cpu_is_not_able);
	UNIT_RUN(a_device_that_is_not_open_yet);
	UNIT_RUN(a_device_that_is_left_out);
	return unit_finish();
}
