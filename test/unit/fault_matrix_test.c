/*
 * fault_matrix_test.c
 *		Every failure of a device, in every mode of execution: the answer is the CPU's to the
 *		bit, or a refusal that the user requested.  With one kind of fault at a time, records and
 *		counters are as the table says, and the device is used again when the fault has ended.
 *		With all faults at every place on every kind of device, the totals agree.
 */
#define _XOPEN_SOURCE 700

#include "fault_stage.h"
#include "fault_table.h"

#include "dispatch/tools/plugin.h"
#include "dispatch/tools/words.h"

/* Tally: the results of a number of calls of one operation. */
typedef struct Tally
{
	HyCounters before; /* the device's */
	HyCounters after;
	int answered;
	int fallbacks;
	int refused[HY_STATUS_COUNT];
	int by_reason[HY_REASON_COUNT];
	int stood[HY_STATUS_COUNT]; /* in the records of calls that were sent to the device */
	uint64_t longest_ns;
	char text[HY_TEXT_LENGTH]; /* of the last call that says why it failed or was refused */
} Tally;

static void
play(HyExecutor *executor, HyOp op, int calls, Tally *tally)
{
	HyExecution execution = executor->config.execution;
	int i;

	memset(tally, 0, sizeof(*tally));
	tally->before = *hy_executor_counters(executor, 1, op);
	for (i = 0; i < calls; i++)
	{
		HyTask task = task_of(op);
		HyDecision decision;
		HyStatus st;

		wipe();
		st = hy_dispatch(executor, &task, &decision);
		if (st == HY_OK)
		{
			CHECK(right(op));
			tally->answered++;
		}
		else
		{
			CHECK_MSG(execution == HY_EXECUTION_GPU || execution == HY_EXECUTION_NAMED, "%s",
			          hy_status_name(st));
			CHECK(decision.status == st && decision.failure.text[0] != '\0');
			tally->refused[st]++;
		}
		tally->fallbacks += decision.fallback;
		tally->by_reason[decision.reason]++;
		if (decision.device > 0)
			tally->stood[decision.status]++;
		if (decision.failure.text[0] != '\0')
			memcpy(tally->text, decision.failure.text, sizeof(tally->text));
		if (decision.actual_ns > tally->longest_ns)
			tally->longest_ns = decision.actual_ns;
	}
	tally->after = *hy_executor_counters(executor, 1, op);
}

#define GREW(field) (tally->after.field - tally->before.field)

static bool
as_many(int64_t actual, int expected)
{
	return expected == ANY ? actual > 0 : actual == expected;
}

static HyStatus
refusal_of(HyReason reason)
{
	return reason == HY_REASON_UNRELIABLE ? HY_BUSY
	       : reason == HY_REASON_MEMORY   ? HY_NOMEM
	                                      : HY_UNSUPPORTED;
}

/*
 * expect: check that the records and the counters are as the row says, and that nothing else
 * changed.
 */
static void
expect(const Row *row, const Outcome *outcome, HyReason then, bool must, const Tally *tally)
{
	int s;

	CHECK_MSG(as_many(GREW(failures), outcome->failures), "%lld failures",
	          (long long) GREW(failures));
	for (s = 1; s < HY_STATUS_COUNT; s++)
	{
		int refused = (s == (int) row->status && must ? outcome->given_up : 0) +
		              (s == (int) refusal_of(then) && must ? outcome->kept : 0);

		CHECK_MSG(GREW(by_status[s]) == (s == (int) row->status ? GREW(failures) : 0), "%lld %s",
		          (long long) GREW(by_status[s]), hy_status_name((HyStatus) s));
		CHECK_MSG(GREW(by_cause[s]) == (s == (int) row->status && !must ? outcome->given_up : 0),
		          "%lld given up for %s", (long long) GREW(by_cause[s]),
		          hy_status_name((HyStatus) s));
		CHECK_MSG(tally->refused[s] == refused, "%d refused for %s, not %d", tally->refused[s],
		          hy_status_name((HyStatus) s), refused);
		if (s != (int) row->status)
			CHECK_MSG(tally->stood[s] == 0 || (must && s == (int) refusal_of(then)),
			          "a record of %s", hy_status_name((HyStatus) s));
	}
	CHECK(tally->stood[row->status] >= (outcome->given_up > 0 ? outcome->given_up : 1));
	CHECK_INT(GREW(fallbacks), must ? 0 : outcome->given_up);
	CHECK_INT(GREW(fallbacks), tally->fallbacks);
	CHECK_INT(tally->answered, must ? CALLS - outcome->given_up - outcome->kept : CALLS);
	CHECK_MSG(tally->by_reason[then] == outcome->kept, "%d calls were kept for '%s', not %d",
	          tally->by_reason[then], hy_reason_name(then), outcome->kept);
	/* who hangs costs the time that it is given */
	CHECK(tally->longest_ns <= TIMEOUT_NS + 5000000 + CPU_ITEM_NS * (uint64_t) (QUERIES * ROWS));
}

/* recovers: check the device after the fault and its back-off have ended. */
static void
recovers(const Row *row, bool tripped, HyExecutor *executor, HyOp op)
{
	const HyMember *member = &executor->member[1];
	Tally now;
	const Tally *tally = &now;

	set_fault("");
	CHECK_INT(member->breakers[op].state, tripped ? HY_BREAKER_OPEN : HY_BREAKER_CLOSED);
	if (tripped)
	{
		clock_.time = member->breakers[op].open_until_ns - CPU_ITEM_NS * (QUERIES * ROWS);
		play(executor, op, 1, &now);
		CHECK_INT(GREW(by_status[HY_OK]), 0);
		CHECK_INT(now.by_reason[HY_REASON_UNRELIABLE], 1);
	}
	clock_.time += row->back_ns;
	play(executor, op, 4 * CALLS, &now);
	CHECK_INT(GREW(failures), 0);
	CHECK_INT(member->latched, row->latched);
	if (row->latched)
	{
		CHECK_INT(GREW(by_status[HY_OK]), 0);
		CHECK_INT(now.by_reason[HY_REASON_NO_DEVICE], 4 * CALLS);
		CHECK(strlen(member->why) > 5);
		if (executor->config.execution == HY_EXECUTION_GPU)
			CHECK_STR(now.text, member->why);
		return;
	}
	CHECK_MSG(GREW(calls) >= 2 * CALLS, "%lld calls", (long long) GREW(calls));
	CHECK(GREW(by_status[HY_OK]) >= 2 * CALLS);
	CHECK_INT(member->breakers[op].state, HY_BREAKER_CLOSED);
	CHECK_INT(member->breakers[op].opened, tripped);
}

/* warm_up: make both sides known for the operation. */
static void
warm_up(HyExecutor *executor, HyOp op)
{
	static const HyExecution sides[] = {HY_EXECUTION_CPU, HY_EXECUTION_PREFER_GPU};
	HyConfig wanted = executor->config;
	HyConfig config = wanted;
	Tally tally;
	int i;

	for (i = 0; i < 2; i++)
	{
		config.execution = sides[i];
		hy_executor_configure(executor, &config);
		play(executor, op, WARM_UP, &tally);
		CHECK_INT(tally.after.calls, i * WARM_UP);
	}
	hy_executor_configure(executor, &wanted);
}

static void
every_fault_leaves_what_the_table_says(void)
{
	static const Kind card = {"a PCIe card", "20", "25", "5000", "1", ""};
	static const HyOp ops[] = {HY_OP_DISTANCE, HY_OP_TOPK, HY_OP_SPREAD};
	static const HyExecution wishes[] = {HY_EXECUTION_AUTO, HY_EXECUTION_SPLIT, HY_EXECUTION_GPU,
	                                     HY_EXECUTION_PREFER_GPU};
	size_t r, o, w;

	kind = &card;
	for (r = 0; r < ROWS_OF_TABLE; r++)
	{
		const Row *row = &rows[r];
		const Outcome *const outcomes[] = {&row->automatic, &row->split, &row->gpu,
		                                   &row->prefer_gpu};

		for (o = 0; o < 3; o++)
		{
			if (!(row->ops & (ops[o] == HY_OP_SPREAD ? WHOLE : CUT)))
				continue;
			for (w = 0; w < 4; w++)
			{
				HyExecutor *executor = new_executor_on_a_slow_cpu(wishes[w]);
				bool must = wishes[w] == HY_EXECUTION_GPU;
				HyReason then = row->then;
				int checks = unit_failed_checks;
				Tally tally;

				/* who insists does not wait for a device to open */
				if (must && then == HY_REASON_NOT_OPEN)
					then = HY_REASON_UNRELIABLE;
				set_fault("");
				CHECK_INT(hy_executor_add_backend(executor, hy_plugin_entry(&host)), HY_OK);
				if (!row->cold)
					warm_up(executor, ops[o]);
				set_fault(row->faults);
				play(executor, ops[o], CALLS, &tally);
				expect(row, outcomes[w], then, must, &tally);
				recovers(row, then == HY_REASON_UNRELIABLE && outcomes[w]->kept > 0, executor,
				         ops[o]);
				hy_executor_destroy(executor);
				if (unit_failed_checks > checks)
					printf("# the above with %s, %s, %s\n", row->name, hy_op_name(ops[o]),
					       hy_execution_name(wishes[w]));
			}
		}
	}
	CHECK_INT(memory.outstanding, 0);
	CHECK(blocks.next == &blocks);
}

#define SWEEP_CALLS 9 /* of each combination; where both sides work four times as many */

static const Kind kinds[] = {
	{"a PCIe card", "20", "25", "5000", "1", ""},
	{"an integrated device", "5", "0", "500", "1", ""},
	{"a slow one that fails", "900", "0.5", "1", "1", "; in=poll,fail_rate=0.4,status=transient"},
	{"two cards", "20", "25", "5000", "2", "; device=1,fail_every=2"}};

static const char *const statuses[] = {
	"transient", "nomem",        "quota",       "busy",    "timeout", "cancelled",  "context_lost",
	"sticky",    "process_lost", "device_gone", "invalid", "bug",     "unsupported"};

static const char *const faults[] = {
	"",
	"in=%s,status=%s",
	"in=%s,status=%s,fail_at=2",
	"in=%s,status=%s,fail_every=3",
	"in=%s,status=%s,op=topk",
	"in=%s,status=%s,fail_rate=0.5",
};

static const HyExecution executions[] = {
	HY_EXECUTION_AUTO,       HY_EXECUTION_CPU,   HY_EXECUTION_GPU,  HY_EXECUTION_PREFER_CPU,
	HY_EXECUTION_PREFER_GPU, HY_EXECUTION_NAMED, HY_EXECUTION_SPLIT};

static int64_t reasons_seen[HY_REASON_COUNT];

/* Books: totals of the decisions, to be compared with the counters. */
typedef struct Books
{
	int64_t answered[HY_OP_COUNT];
	int64_t fallbacks[HY_OP_COUNT];
} Books;

static void
balance(const HyExecutor *executor, const Books *books)
{
	int op;

	for (op = 0; op < HY_OP_COUNT; op++)
	{
		int64_t calls = 0;
		int64_t fallbacks = 0;
		int32_t d;

		for (d = 0; d < hy_executor_devices(executor); d++)
		{
			const HyCounters *counters = hy_executor_counters(executor, d, (HyOp) op);
			int64_t by_status = 0;
			int64_t latencies = 0;
			int s, b;

			for (s = 1; s < HY_STATUS_COUNT; s++)
				by_status += counters->by_status[s];
			for (b = 0; b < HY_MAX_LATENCIES; b++)
				latencies += counters->latency[b];
			CHECK_INT(counters->failures, by_status);
			CHECK_INT(latencies, counters->calls);
			calls += counters->calls;
			fallbacks += counters->fallbacks;
		}
		CHECK_INT(calls, books->answered[op]);
		CHECK_INT(fallbacks, books->fallbacks[op]);
	}
}

static void
check_call(HyExecutor *executor, HyExecution execution, HyOp op, Books *books)
{
	bool must = execution == HY_EXECUTION_GPU || execution == HY_EXECUTION_NAMED;
	HyTask task = task_of(op);
	HyDecision decision;
	HyStatus st;

	wipe();
	st = hy_dispatch(executor, &task, &decision);
	if (st == HY_OK)
	{
		CHECK_MSG(right(op), "wrong answer of %s", hy_op_name(op));
		books->answered[op]++;
		CHECK(!must || (decision.device > 0 && !decision.fallback));
	}
	else
	{
		CHECK_MSG(must, "%s failed: %s", hy_op_name(op), hy_status_name(st));
		/* a lost context is opened again and the task retried once; the decision keeps the first */
		CHECK(decision.status == st || decision.status == HY_CONTEXT_LOST);
	}
	reasons_seen[decision.reason]++;
	if (decision.fallback)
	{
		CHECK(!must && decision.device > 0 && decision.status != HY_OK);
		books->fallbacks[op]++;
	}
	if (execution == HY_EXECUTION_CPU)
		CHECK(decision.device == 0 && decision.reason == HY_REASON_USER);
}

/* combination: run a few calls of each operation on a new executor. */
static void
combination(HyExecution execution, const char *text)
{
	/* until both sides are known each task is split, and then as it pays */
	int calls = execution == HY_EXECUTION_SPLIT ? 4 * SWEEP_CALLS : SWEEP_CALLS;
	int checks = unit_failed_checks;
	Books books = {{0}, {0}};
	HyExecutor *executor = new_executor(execution);
	int i;

	set_fault(text);
	(void) hy_executor_add_backend(executor, hy_plugin_entry(&host));
	for (i = 0; i < calls; i++)
	{
		static const HyOp ops[] = {HY_OP_DISTANCE, HY_OP_TOPK, HY_OP_SPREAD};

		check_call(executor, execution, ops[i % 3], &books);
	}
	balance(executor, &books);
	hy_executor_destroy(executor);
	if (unit_failed_checks > checks)
		printf("# the above with %s, %s, '%s'\n", kind->name, hy_execution_name(execution), fault);
}

static int combinations;

static void
every_execution(const char *text)
{
	char all[200];
	size_t e;

	/* the sweep costs what it runs under */
	if (combinations++ % unit_share() != 0)
		return;
	snprintf(all, sizeof(all), "%s%s", text, kind->more_faults);
	for (e = 0; e < sizeof(executions) / sizeof(executions[0]); e++)
		combination(executions[e], all);
}

static void
every_failure_everywhere(void)
{
	static const char *const places[] = {"open", "submit", "poll"};
	size_t k, f, p, s;

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
	{
		kind = &kinds[k];
		every_execution("fail_at=1000000");
		for (f = 1; f < sizeof(faults) / sizeof(faults[0]); f++)
		{
			for (p = 0; p < sizeof(places) / sizeof(places[0]); p++)
			{
				for (s = 0; s < sizeof(statuses) / sizeof(statuses[0]); s++)
				{
					char text[100];

					snprintf(text, sizeof(text), faults[f], places[p], statuses[s]);
					every_execution(text);
				}
			}
		}
	}
	/* what is said of modes and breakers above was put to the test */
	CHECK(reasons_seen[HY_REASON_SPLIT] > (unit_share() == 1 ? 1000 : 0));
	CHECK(reasons_seen[HY_REASON_UNRELIABLE] > (unit_share() == 1 ? 1000 : 0));
	CHECK_INT(memory.outstanding, 0);
	CHECK(blocks.next == &blocks);
}

static void
devices_that_hang_or_are_too_small(void)
{
	static const char *const texts[] = {"status=hang",
	                                    "status=hang,fail_every=2",
	                                    "op=topk,status=hang",
	                                    "above=1k",
	                                    "above=4k",
	                                    "above=1k,status=quota",
	                                    "above=1; in=open,busy",
	                                    "no such word",
	                                    "above=2k,fail_rate=0.5"};
	size_t k, f;

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
	{
		kind = &kinds[k];
		for (f = 0; f < sizeof(texts) / sizeof(texts[0]); f++)
		{
			every_execution(texts[f]);
		}
	}
	CHECK_INT(memory.outstanding, 0);
	CHECK(blocks.next == &blocks);
}

/* without_a_device: check an executor whose plug-in could not be loaded for this reason. */
static void
without_a_device(HyExecution execution, const char *why)
{
	static const HyOp ops[] = {HY_OP_DISTANCE, HY_OP_TOPK, HY_OP_SPREAD};
	HyExecutor *executor = new_executor(execution);
	bool must = execution == HY_EXECUTION_GPU || execution == HY_EXECUTION_NAMED;
	bool asked = must || execution == HY_EXECUTION_PREFER_GPU || execution == HY_EXECUTION_SPLIT;
	HyDeviceState state;
	Tally now;
	const Tally *tally = &now;
	size_t o;

	hy_executor_add_missing(executor, "hybrid_emulated", why, false);
	hy_executor_device(executor, 1, &state);
	CHECK(!state.open && state.latched);
	CHECK_STR(state.why, why);
	for (o = 0; o < 3; o++)
	{
		const HyCounters *cpu = hy_executor_counters(executor, 0, ops[o]);

		play(executor, ops[o], CALLS, &now);
		CHECK_INT(now.by_reason[HY_REASON_NO_DEVICE], CALLS);
		CHECK_INT(now.refused[HY_UNSUPPORTED], must ? CALLS : 0);
		CHECK_INT(now.answered, must ? 0 : CALLS);
		CHECK_STR(now.text, asked ? why : "");
		CHECK_INT(cpu->calls, now.answered);
		CHECK_INT(cpu->by_reason[HY_REASON_NO_DEVICE], now.answered);
		CHECK_INT(GREW(calls) + GREW(failures) + GREW(fallbacks), 0);
	}
	hy_executor_destroy(executor);
}

/* library: build name.so, a backend without devices that has this ABI. */
static void
library(const char *directory, const char *name, int abi)
{
	char command[1024];

	snprintf(command, sizeof(command),
	         "cd %s && printf '%%s\\n' '#include \"dispatch/backend.h\"' "
	         "'static HyStatus count(int32_t *n) { *n = 0; return HY_OK; }' "
	         "'static void nothing(void) { }' "
	         "'#define F (void *) nothing' 'static const HyBackend b = {%d, sizeof(HyBackend), "
	         "\"emulated\", count, F, F, F, F, F, F, F, F, F, F, F, F, F, F, F};' "
	         "'const HyBackend *hy_plugin_entry(const HyHost *h) { return &b; }' > plugin.c && "
	         "cc -std=c11 -w -shared -fPIC -I\"$OLDPWD/src\" -o %s.so plugin.c",
	         directory, abi, name);
	CHECK_INT(system(command), 0);
}

/* A missing file and one with another interface; once it is repaired the next session uses it. */
static void
plugins_that_cannot_be_had(void)
{
	static const HyExecution wishes[] = {HY_EXECUTION_AUTO, HY_EXECUTION_SPLIT, HY_EXECUTION_GPU,
	                                     HY_EXECUTION_PREFER_GPU, HY_EXECUTION_NAMED};
	char directory[] = "/tmp/hybrid-faults-XXXXXX";
	char command[64];
	char why[HY_TEXT_LENGTH];
	char other[64];
	size_t w;

	snprintf(other, sizeof(other), "other.so was built for backend interface %d, this is %d",
	         HY_BACKEND_ABI + 1, HY_BACKEND_ABI);
	if (mkdtemp(directory) == NULL)
	{
		CHECK(false);
		return;
	}
	library(directory, "other", HY_BACKEND_ABI + 1);
	for (w = 0; w < sizeof(wishes) / sizeof(wishes[0]); w++)
	{
		CHECK(hy_plugin_load(directory, "missing", &host, why, sizeof(why)) == NULL);
		CHECK_STR(why, "missing.so is not installed");
		without_a_device(wishes[w], why);
		CHECK(hy_plugin_load(directory, "other", &host, why, sizeof(why)) == NULL);
		CHECK_STR(why, other);
		without_a_device(wishes[w], why);
	}
	library(directory, "missing", HY_BACKEND_ABI);
	CHECK(hy_plugin_load(directory, "missing", &host, why, sizeof(why)) != NULL);
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	CHECK_INT(system(command), 0);
	CHECK_INT(memory.outstanding, 0);
}

/* The dispatcher gives up a hanging device and leaks its context. */
static void
devices_that_do_not_hear(void)
{
	static const HyExecution wishes[] = {HY_EXECUTION_AUTO, HY_EXECUTION_GPU,
	                                     HY_EXECUTION_PREFER_GPU};
	size_t k, w;

	for (k = 0; k < sizeof(kinds) / sizeof(kinds[0]); k++)
	{
		kind = &kinds[k];
		every_execution("status=deaf,fail_at=2");
	}
	for (w = 0; w < 3; w++)
	{
		HyExecutor *executor = new_executor_on_a_slow_cpu(wishes[w]);
		bool must = wishes[w] == HY_EXECUTION_GPU;
		Tally now;
		const Tally *tally = &now;

		kind = &kinds[0];
		set_fault("");
		CHECK_INT(hy_executor_add_backend(executor, hy_plugin_entry(&host)), HY_OK);
		warm_up(executor, HY_OP_TOPK);
		set_fault("status=deaf,fail_at=1");
		play(executor, HY_OP_TOPK, CALLS, &now);
		/* one is waited for, and then it has not ended yet */
		CHECK_INT(GREW(by_status[HY_TIMEOUT]), 1);
		CHECK_INT(GREW(by_status[HY_BUSY]), CALLS - 1);
		CHECK_INT(GREW(fallbacks), must ? 0 : CALLS);
		CHECK_INT(now.refused[HY_TIMEOUT], must);
		CHECK_INT(now.refused[HY_BUSY], must ? CALLS - 1 : 0);
		CHECK_STR(now.text, "an earlier task has not ended yet");
		/* the fault ends, but nobody trusts it again */
		set_fault("");
		clock_.time += 60000000;
		play(executor, HY_OP_TOPK, CALLS, &now);
		CHECK_INT(now.by_reason[HY_REASON_NO_DEVICE], CALLS - 1);
		CHECK_INT(now.refused[HY_UNSUPPORTED], must ? CALLS - 1 : 0);
		CHECK_INT(GREW(calls), 0);
		CHECK_STR(executor->member[1].why, "it does not answer");
		hy_executor_destroy(executor);
	}
	CHECK_INT(memory.outstanding, 0);
}

int
main(void)
{
	prepare();
	UNIT_RUN(every_fault_leaves_what_the_table_says);
	UNIT_RUN(plugins_that_cannot_be_had);
	UNIT_RUN(every_failure_everywhere);
	UNIT_RUN(devices_that_hang_or_are_too_small);
	UNIT_RUN(devices_that_do_not_hear);
	while (blocks.next != &blocks)
		block_free(NULL, blocks.next + 1);
	hy_csr_free(&graph, &hy_malloc_allocator);
	return unit_finish();
}
