/*
 * executor.c
 *		The backend's own dispatcher.
 *
 * The executor is created when the first batch or the first use of a view needs it, never in the postmaster. Log
 * lines of the dispatcher are kept until it has returned, so that no ereport runs inside pure code.
 *
 * If there is a shared table, the executor adds its counters to the table at the end of every transaction, and
 * its cost models less often (hy_executor_settle). When the backend exits, everything is flushed. The executor
 * itself also flushes from time to time.
 */
#include "postgres.h"

#include <unistd.h>

#include "access/xact.h"
#include "miscadmin.h"
#include "nodes/pg_list.h"
#include "core/clock.h"
#include "core/distance.h"
#include "core/prefilter.h"
#include "dispatch/run/flush.h"
#include "dispatch/tools/plugin.h"
#include "server/execution_error.h"
#include "server/executor.h"
#include "server/load.h"
#include "server/memory.h"
#include "server/priors.h"
#include "server/report.h"
#include "server/settings.h"
#include "server/shared.h"
#include "server/threads.h"
#include "storage/ipc.h"
#include "utils/memutils.h"

#define LOG_LINES 16
#define LOG_LENGTH 256
/* argument of the exit hook that is set only while the main thread has other work */
#define MAIN_THREAD_WORK_HOOK ((Datum) 1)

static HyShiftedClock process_clock;
static HyExecutor *executor;
static HyAllocator executor_allocator;
static MemoryContext executor_context;
static uint64 configured_generation;
static uint64 listed_generation; /* hybrid_device_generation at the last listing of devices */
static uint64 primed_epoch;      /* hy_executor_epoch when the priors were loaded */
static Oid queue_role;           /* role for which this backend's tasks wait in the queue */
static HyLosses losses;          /* kept until the process ends, across executors */
static char *configured_plugins; /* hybrid.plugins when the executor was created */
static HySimd configured_simd;   /* CPU kernels for which the executor has history */
static bool configured_filter;

static char log_lines[LOG_LINES][LOG_LENGTH];
static int log_count;
static int log_lost;

static bool was_sent(HyStatus status);
static void create_executor(void);
static void apply_changes(void);
static void join_queue(void);
static void read_load(void);
static void drop_executor(void);
static void load_plugins(char *names);
static bool was_named(const char *names, const char *name);
static bool is_installed(const char *name);
static void save_line(void *arg, const char *text);
static void flush_log(void);
static void flush_at_end(XactEvent event, void *arg);
static void close_at_exit(int code, Datum arg);
static bool was_forced(const HyDecision *decision);

static const HyLog executor_log = {save_line, NULL};

const HyClock *
hybrid_clock(void)
{
	if (process_clock.clock.now == NULL)
		hy_shifted_clock_init(&process_clock);
	return &process_clock.clock;
}

HyExecutor *
hybrid_executor(void)
{
	if (executor != NULL && configured_generation == hybrid_settings_generation)
	{
		apply_changes();
		flush_log();
		return executor;
	}

	if (executor != NULL &&
	    (strcmp(configured_plugins, hybrid_plugins) != 0 ||
	     configured_simd != hy_kernels()->level || configured_filter != hy_prefilter_allowed()))
		drop_executor();
	if (executor != NULL && listed_generation != hybrid_device_generation &&
	    !hy_executor_reprobe(executor))
		drop_executor();
	if (executor == NULL)
		create_executor();
	listed_generation = hybrid_device_generation;
	if (configured_generation != hybrid_settings_generation)
	{
		HyConfig config;

		hybrid_settings_config(&config);
		hy_executor_configure(executor, &config);
		configured_generation = hybrid_settings_generation;
	}
	apply_changes();
	flush_log();
	return executor;
}

void
hybrid_run(HyTask *task, const char *what)
{
	hybrid_run_with_main_thread_work(task, what, NULL, NULL);
}

void
hybrid_run_with_main_thread_work(HyTask *task, const char *what, bool (*work)(void *arg), void *arg)
{
	HyExecutor *target = hybrid_executor();
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	HyDecision decision;
	HyStatus status;

	task->cancel = &hybrid_cancel;
	if (task->allocator == NULL)
		task->allocator = &allocator;
	/*
	 * If the process exits while it does `work`, threads and devices must stop before another exit hook frees
	 * their memory. Hooks run in reverse order, so this hook runs before the older ones.
	 */
	if (work != NULL)
		before_shmem_exit(close_at_exit, MAIN_THREAD_WORK_HOOK);
	/* hy_dispatch raises nothing, and no thread works on the task any more when it returns */
	hybrid_threads_set_main_thread_work(work, arg);
	status = hy_dispatch(target, task, &decision);
	hybrid_threads_set_main_thread_work(NULL, NULL);
	if (work != NULL)
		cancel_before_shmem_exit(close_at_exit, MAIN_THREAD_WORK_HOOK);
	if (task->allocator == &allocator)
		task->allocator = NULL;
	hybrid_threads_check();
	flush_log();
	if (status == HY_OK)
		return;
	if (status != HY_CANCELLED && was_forced(&decision))
		hybrid_report_execution_error(target, &decision, what);
	hybrid_check(status, what);
}

bool
hybrid_keep(const HyUnitRows *rows, HyResident *resident)
{
	return was_sent(hy_resident_keep(executor, rows, resident));
}

bool
hybrid_resident_begin(uint64 bytes, int64 rows, HyResident *resident)
{
	return was_sent(hy_resident_begin(executor, bytes, rows, resident));
}

bool
hybrid_resident_send(const HyUnitPart *part, HyResident *resident)
{
	return was_sent(hy_resident_send(executor, part, &hybrid_cancel, resident));
}

bool
hybrid_resident_end(const void *sender_data, Size sender_data_bytes, HyResident *resident)
{
	return was_sent(hy_resident_end(executor, sender_data, sender_data_bytes, resident));
}

/* was_sent: log the kept lines, and return whether status is HY_OK.  Raises on cancel. */
static bool
was_sent(HyStatus status)
{
	flush_log();
	if (status == HY_CANCELLED)
		hybrid_check(status, "send to a device");
	return status == HY_OK;
}

bool
hybrid_run_resident(HyTask *task, HyResident *resident, const char *what)
{
	HyAllocator allocator = hybrid_allocator(CurrentMemoryContext);
	HyStatus status;

	task->cancel = &hybrid_cancel;
	task->allocator = &allocator;
	status = hy_resident_run(executor, task, resident, NULL);
	task->allocator = NULL;
	flush_log();
	hybrid_threads_check();
	if (status == HY_CANCELLED)
		hybrid_check(status, what);
	return status == HY_OK;
}

void
hybrid_forget(const HyUnitKey *key)
{
	if (executor != NULL)
		hy_resident_forget(executor, key);
}

static void
create_executor(void)
{
	static bool hooked = false;
	char *names;

	if (executor_context == NULL)
		executor_context =
			AllocSetContextCreate(TopMemoryContext, "hybrid executor", ALLOCSET_DEFAULT_SIZES);
	MemoryContextReset(executor_context); /* frees what a failed attempt has allocated */
	executor_allocator = hybrid_allocator(executor_context);
	/* the first call reads files and may raise; later calls come from pure code, which must not raise */
	(void) hybrid_cores();
	/*
	 * everything that may raise is done before `executor` is set, so that it never points to an incomplete
	 * executor
	 */
	if (!hooked)
	{
		RegisterXactCallback(flush_at_end, NULL);
		before_shmem_exit(close_at_exit, (Datum) 0);
		hybrid_threads_lend();
		hooked = true;
	}
	configured_plugins = MemoryContextStrdup(executor_context, hybrid_plugins);
	configured_simd = hy_kernels()->level;
	configured_filter = hy_prefilter_allowed();
	names = MemoryContextStrdup(executor_context, configured_plugins);
	hybrid_check(hy_executor_create(&executor_allocator, hybrid_clock(), &executor_log, &executor),
	             "start the dispatcher");
	configured_generation = 0;
	primed_epoch = 0;
	hy_executor_set_losses(executor, &losses);
	load_plugins(names);
	pfree(names);
	if (hybrid_shared_table() != NULL)
	{
		hy_executor_share(executor, hybrid_shared_table(), hybrid_shared_host());
		queue_role = InvalidOid;
	}
}

/*
 * apply_changes: take over the changes of other backends, read the load of the machine, and join the queue for
 * the current role.  Load the calibration into an executor that is new or that was reset.
 */
static void
apply_changes(void)
{
	hy_executor_follow(executor);
	read_load();
	join_queue();
	if (unlikely(primed_epoch != hy_executor_epoch(executor)) && hybrid_load_priors(executor))
		primed_epoch = hy_executor_epoch(executor);
}

/* join_queue: join the queue for devices, if there is one.  Roles take turns, and SET ROLE changes the role. */
static void
join_queue(void)
{
	Oid role = GetOuterUserId();

	if (likely(queue_role == role) || hybrid_shared_table() == NULL)
		return;
	hy_executor_use_queue(executor, hybrid_shared_queue_client(executor, role));
	queue_role = role;
}

/*
 * read_load: read the load of the machine, at most once a second and once a statement, because it takes a
 * few system calls.
 */
static void
read_load(void)
{
	static TimestampTz read_at;
	TimestampTz now = GetCurrentStatementStartTimestamp();
	HyLoad load;

	if (likely(now - read_at < USECS_PER_SEC && now >= read_at))
		return;
	read_at = now;
	hybrid_load(&load);
	hy_executor_set_load(executor, &load);
}

/*
 * drop_executor: destroy the executor after a change of the plug-ins, the number of their devices, the CPU's
 * instruction set or hybrid.precision.  The next executor starts with the session's counters at zero.  The losses
 * are kept.
 */
static void
drop_executor(void)
{
	hy_executor_destroy(executor);
	executor = NULL;
	configured_plugins = NULL;
	MemoryContextReset(executor_context);
}

/* load_plugins: load each plug-in of a list. Modifies the list. */
static void
load_plugins(char *names)
{
	static HyHost host;
	char *state = NULL;
	char *name;

	host.abi = HY_BACKEND_ABI;
	host.clock = hybrid_clock();
	host.allocator = &hy_malloc_allocator;
	host.setting = hybrid_setting_text;
	host.setting_arg = NULL;
	host.run = hybrid_threads_run;
	host.run_arg = NULL;

	for (name = strtok_r(names, ", ", &state); name != NULL; name = strtok_r(NULL, ", ", &state))
	{
		char why[HY_TEXT_LENGTH];
		const HyBackend *backend;

		/* A plug-in listed twice would add each device twice, and both would compete for one context. */
		if (was_named(names, name))
			continue;
		backend = hy_plugin_load(pkglib_path, name, &host, why, sizeof(why));
		if (backend == NULL)
			/* The default plug-in is expected to be absent, because most machines do not have it. */
			hy_executor_add_missing(executor, name, why,
			                        strcmp(name, HYBRID_DEFAULT_PLUGINS) == 0 &&
			                            !is_installed(name));
		else
			(void) hy_executor_add_backend(executor, backend);
	}
}

/*
 * was_named: test whether the word at `name` also occurs before it in names.  The words before `name` and the
 * word at `name` already end in NUL.
 */
static bool
was_named(const char *names, const char *name)
{
	const char *word = names + strspn(names, ", ");

	while (word < name)
	{
		if (strcmp(word, name) == 0)
			return true;
		word += strlen(word) + 1;
		word += strspn(word, ", ");
	}
	return false;
}

static bool
is_installed(const char *name)
{
	char path[MAXPGPATH];

	snprintf(path, sizeof(path), "%s/%s.so", pkglib_path, name);
	return access(path, F_OK) == 0;
}

/* save_line: keep a line for flush_log.  Pure code calls it, so it must not raise. */
static void
save_line(void *arg, const char *text)
{
	(void) arg;
	if (log_count == LOG_LINES)
	{
		log_lost++;
		return;
	}
	strlcpy(log_lines[log_count++], text, LOG_LENGTH);
}

static void
flush_log(void)
{
	int i;

	if (likely(log_count == 0))
		return;
	for (i = 0; i < log_count; i++)
		ereport(LOG, (errmsg("hybrid: %s", log_lines[i]), errhidestmt(true)));
	if (log_lost > 0)
		ereport(LOG, (errmsg("hybrid: %d more lines", log_lost), errhidestmt(true)));
	log_count = 0;
	log_lost = 0;
}

static void
flush_at_end(XactEvent event, void *arg)
{
	(void) arg;
	/* the events before a commit or a prepare are too early, because an error may still occur */
	if (executor != NULL && event != XACT_EVENT_PRE_COMMIT &&
	    event != XACT_EVENT_PARALLEL_PRE_COMMIT && event != XACT_EVENT_PRE_PREPARE)
		hy_executor_settle(executor);
}

static void
close_at_exit(int code, Datum arg)
{
	(void) code;
	(void) arg;
	if (executor == NULL)
		return;
	hybrid_leave_queue();
	hy_executor_flush(executor);
	hy_executor_close_devices(executor);
}

/*
 * was_forced: test whether hybrid.execution required a device. If so, the CPU must not run the task. Returns
 * false if another setting of the user sent the task to the CPU.
 */
static bool
was_forced(const HyDecision *decision)
{
	bool on_cpu = decision->device <= 0 && decision->reason == HY_REASON_USER;

	return !on_cpu &&
	       (decision->execution == HY_EXECUTION_GPU || decision->execution == HY_EXECUTION_NAMED);
}
