/*
 * settings.c
 *		The settings under "hybrid.": names, defaults, ranges, and the dispatcher's configuration from them.
 *
 * A setting that a session can change takes effect at the session's next statement. If the dispatcher reads
 * the setting, its assignment increases a generation number, and the next dispatch configures the executor
 * again.
 */
#include "postgres.h"

#include <limits.h>

#include "core/distance.h"
#include "core/prefilter.h"
#include "dispatch/tools/plugin.h"
#include "dispatch/share/queue.h"
#include "dispatch/tools/words.h"
#include "core/threads.h"
#include "server/compat.h"
#include "server/settings.h"
#include "server/threads.h"
#include "miscadmin.h"
#include "utils/guc.h"

int hybrid_graph_memory_limit;
int hybrid_graph_memory_total;
int hybrid_graph_shared_memory;
char *hybrid_plugins;
uint64 hybrid_settings_generation = 1;
uint64 hybrid_device_generation = 1;

static bool force_cpu;
static char *execution;
static int gpu_min_batch;
static char *gpu_min_batch_overrides;
static double gpu_speedup_threshold;
static double gpu_success_threshold;
static int tracker_window;
static int batch_max;
static int batch_min;
static int batch_wait;
static bool telemetry;
static char *gpu_device;
static uint64 gpu_devices; /* gpu_device parsed; 0: any */
static int gpu_queue_depth;
static int split_gpu_percent;
static int gpu_memory_limit;    /* MB */
static int gpu_resident_memory; /* MB; -1: limited only by dispatch/route/budget.c */
static int gpu_max_contexts;
static int gpu_timeout;      /* ms */
static int gpu_idle_timeout; /* ms; plug-ins read it by its name */
static int simd;
static int precision;

static int emulated_devices;
static double emulated_launch_us;
static double emulated_bandwidth_gbs;
static double emulated_rate_gflops;
static int emulated_memory_mb;
static double emulated_open_ms;
static char *emulated_profile;
static char *emulated_faults;
static bool emulated_wait;

#define SIMD_AUTO (-1)

static const struct config_enum_entry simd_options[] = {{"auto", SIMD_AUTO, false},
                                                        {"scalar", HY_SIMD_SCALAR, false},
                                                        {"avx2", HY_SIMD_AVX2, false},
                                                        {"avx512", HY_SIMD_AVX512, false},
                                                        {"amx", HY_SIMD_AMX, false},
                                                        {"neon", HY_SIMD_NEON, false},
                                                        {NULL, 0, false}};

enum
{
	PRECISION_AUTO,
	PRECISION_EXACT
};

static const struct config_enum_entry precision_options[] = {
	{"auto", PRECISION_AUTO, false}, {"exact", PRECISION_EXACT, false}, {NULL, 0, false}};

/* MinBatchOverrides: gpu_min_batch_overrides, parsed; -1 for an operation that is not named. */
typedef struct MinBatchOverrides
{
	int64 items[HY_OP_COUNT];
} MinBatchOverrides;

static MinBatchOverrides overrides = {{-1, -1, -1, -1, -1}};

StaticAssertDecl(HY_OP_COUNT == 5, "one initial value of overrides for each operation");

static void define_dispatcher_settings(void);
static void define_device_settings(void);
static void define_emulated_settings(void);
static void define_batch_settings(void);
static bool check_bare_names(char **newval, void **extra, GucSource source);
static bool check_profile(char **newval, void **extra, GucSource source);
static bool check_execution(char **newval, void **extra, GucSource source);
static bool check_devices(char **newval, void **extra, GucSource source);
static void assign_devices(const char *newval, void *extra);
static bool check_overrides(char **newval, void **extra, GucSource source);
static void assign_overrides(const char *newval, void *extra);
static bool check_simd(int *newval, void **extra, GucSource source);
static void assign_simd(int newval, void *extra);
static void assign_precision(int newval, void *extra);
static void assign_bool(bool newval, void *extra);
static void assign_int(int newval, void *extra);
static void assign_real(double newval, void *extra);
static void assign_string(const char *newval, void *extra);
static void assign_device_bool(bool newval, void *extra);
static void assign_device_int(int newval, void *extra);
static void assign_device_real(double newval, void *extra);
static void assign_device_string(const char *newval, void *extra);

void
hybrid_define_settings(void)
{
	define_dispatcher_settings();
	define_batch_settings();
	define_device_settings();
	define_emulated_settings();

	DefineCustomEnumVariable(
		"hybrid.simd", "Instruction set of the CPU kernels.",
		"All give identical results. auto selects the widest set that this machine supports.",
		&simd, SIMD_AUTO, simd_options, PGC_USERSET, 0, check_simd, assign_simd, NULL);
	DefineCustomEnumVariable(
		"hybrid.precision", "Controls whether rounded values may preselect candidates.",
		"Results are identical. exact computes every distance with the canonical kernels.",
		&precision, PRECISION_AUTO, precision_options, PGC_USERSET, 0, NULL, assign_precision,
		NULL);
	DefineCustomIntVariable(
		"hybrid.threads", "Maximum number of threads that compute a batch on the CPU.",
		"Results are identical. 0 means no limit other than the number of cores, "
		"max_parallel_workers_per_gather and max_parallel_workers. 1 uses no additional thread.",
		&hybrid_threads, 0, 0, HY_THREADS_MOST, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable("hybrid.graph_memory_limit",
	                        "Maximum memory that one graph function may use for its graph.", NULL,
	                        &hybrid_graph_memory_limit, 256 * 1024, 64, MAX_KILOBYTES, PGC_USERSET,
	                        GUC_UNIT_KB, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"hybrid.graph_memory_total",
		"Maximum memory that the copies of registered graphs take in all sessions together.",
		"Requires that the library is preloaded. 0 means no limit.", &hybrid_graph_memory_total, 0,
		0, MAX_KILOBYTES, PGC_SIGHUP, GUC_UNIT_KB, NULL, NULL, NULL);
	/* once the server runs, defining a PGC_POSTMASTER setting is an error */
	DefineCustomIntVariable(
		"hybrid.graph_shared_memory", "Shared memory for registered graphs that all sessions use.",
		"Requires that the library is preloaded. 0 means none.", &hybrid_graph_shared_memory,
		64 * 1024, 0, MAX_KILOBYTES,
		process_shared_preload_libraries_in_progress ? PGC_POSTMASTER : PGC_SIGHUP, GUC_UNIT_KB,
		NULL, NULL, NULL);
	MarkGUCPrefixReserved("hybrid");
}

void
hybrid_settings_config(HyConfig *config)
{
	int word;
	int op;

	hy_config_default(config);
	config->force_cpu = force_cpu;
	word = hy_word_read(HY_WORDS_EXECUTION, execution, strlen(execution));
	config->execution = word < 0 ? HY_EXECUTION_NAMED : (HyExecution) word;
	if (config->execution == HY_EXECUTION_NAMED)
		strlcpy(config->backend_name, execution, sizeof(config->backend_name));
	for (op = 0; op < HY_OP_COUNT; op++)
		config->min_batch[op] = overrides.items[op] >= 0 ? overrides.items[op] : gpu_min_batch;
	config->speedup_threshold = gpu_speedup_threshold;
	config->success_threshold = gpu_success_threshold;
	config->window = tracker_window;
	config->telemetry = telemetry;
	config->devices = gpu_devices;
	config->queue_depth = gpu_queue_depth;
	config->split_percent = split_gpu_percent;
	config->memory_limit = (uint64) gpu_memory_limit * 1024 * 1024;
	config->resident_limit =
		gpu_resident_memory < 0 ? UINT64_MAX : (uint64) gpu_resident_memory * 1024 * 1024;
	config->max_contexts = gpu_max_contexts;
	config->timeout_ns = (uint64) gpu_timeout * 1000000;
	config->batch_max = batch_max;
	config->batch_min = batch_min;
	config->batch_wait_ns = (uint64) batch_wait * 1000000;
}

const char *
hybrid_setting_text(void *arg, const char *name)
{
	char full[NAMEDATALEN];

	(void) arg;
	snprintf(full, sizeof(full), "hybrid.%s", name);
	return GetConfigOption(full, true, false);
}

static void
define_dispatcher_settings(void)
{
	static char executions[HY_WORDS_LENGTH + 64]; /* static, because the server keeps no copy */
	char list[HY_WORDS_LENGTH];

	snprintf(executions, sizeof(executions), "Valid values: %s, or the name of a backend.",
	         hy_words_list(HY_WORDS_EXECUTION, "", ", ", list));
	DefineCustomBoolVariable("hybrid.force_cpu", "Runs every batch on the CPU.", NULL, &force_cpu,
	                         false, PGC_USERSET, 0, NULL, assign_bool, NULL);
	DefineCustomStringVariable("hybrid.execution", "Selects where batches run.", executions,
	                           &execution, "auto", PGC_USERSET, 0, check_execution, assign_string,
	                           NULL);
	DefineCustomIntVariable(
		"hybrid.split_gpu_percent",
		"Percentage of a batch that goes to the devices when devices and CPU share it.",
		"-1 divides the batch by the measured speeds.", &split_gpu_percent, -1, -1, 100,
		PGC_USERSET, 0, NULL, assign_int, NULL);
	DefineCustomIntVariable("hybrid.gpu_min_batch",
	                        "Minimum number of items in a batch that may run on a device.",
	                        "0 leaves the decision to the measured times.", &gpu_min_batch, 64, 0,
	                        INT_MAX, PGC_USERSET, 0, NULL, assign_int, NULL);
	DefineCustomStringVariable("hybrid.gpu_min_batch_overrides",
	                           "Values of hybrid.gpu_min_batch for individual operations.",
	                           "For example 'topk:128,spread:1000'.", &gpu_min_batch_overrides, "",
	                           PGC_USERSET, GUC_LIST_INPUT, check_overrides, assign_overrides,
	                           NULL);
	DefineCustomRealVariable(
		"hybrid.gpu_speedup_threshold", "Expected speedup at which batches move to a device.",
		"They move back to the CPU when the expected speedup falls below 1.",
		&gpu_speedup_threshold, 1.1, 1.0, 1000.0, PGC_USERSET, 0, NULL, assign_real, NULL);
	DefineCustomRealVariable("hybrid.gpu_success_threshold",
	                         "Success rate below which a device is temporarily not used.", NULL,
	                         &gpu_success_threshold, 0.95, 0.0, 1.0, PGC_USERSET, 0, NULL,
	                         assign_real, NULL);
	DefineCustomIntVariable(
		"hybrid.tracker_window", "Number of observations kept for each kind of batch.", NULL,
		&tracker_window, 100, 1, HY_TRACKER_MAX_WINDOW, PGC_USERSET, 0, NULL, assign_int, NULL);
	DefineCustomBoolVariable("hybrid.telemetry",
	                         "Keeps the most recent decisions for hybrid_events.", NULL, &telemetry,
	                         true, PGC_USERSET, 0, NULL, assign_bool, NULL);
}

static void
define_batch_settings(void)
{
	DefineCustomIntVariable(
		"hybrid.batch_max", "Maximum number of items gathered into one batch.",
		"0 means the size with the smallest expected time per item, at least 64.", &batch_max, 0, 0,
		INT_MAX, PGC_USERSET, 0, NULL, assign_int, NULL);
	DefineCustomIntVariable(
		"hybrid.batch_min",
		"Minimum number of items in a batch that is sent because of hybrid.batch_wait.", NULL,
		&batch_min, 8, 1, INT_MAX, PGC_USERSET, 0, NULL, assign_int, NULL);
	DefineCustomIntVariable("hybrid.batch_wait",
	                        "Maximum time that an item waits for its batch to fill.",
	                        "0 means no limit.", &batch_wait, 10, 0, INT_MAX, PGC_USERSET,
	                        GUC_UNIT_MS, NULL, assign_int, NULL);
}

static void
define_device_settings(void)
{
	DefineCustomStringVariable(
		"hybrid.plugins", "Device plug-ins to load.",
		"File names in PostgreSQL's library directory, without path and suffix.", &hybrid_plugins,
		HYBRID_DEFAULT_PLUGINS, PGC_SUSET, GUC_LIST_INPUT, check_bare_names, assign_string, NULL);
	DefineCustomStringVariable("hybrid.gpu_device", "Devices that may be used.",
	                           "auto, or a list of numbers such as '0,2'.", &gpu_device, "auto",
	                           PGC_USERSET, GUC_LIST_INPUT, check_devices, assign_devices, NULL);
	DefineCustomIntVariable(
		"hybrid.gpu_memory_limit", "Maximum memory of a device that all sessions together may use.",
		"Each open context has an equal share. 0 means 80% of the device's memory. "
		"Unless the library is preloaded, the limit applies to each session by itself.",
		&gpu_memory_limit, 0, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MB, NULL, assign_int, NULL);
	DefineCustomIntVariable(
		"hybrid.gpu_resident_memory",
		"Maximum memory of a device for vectors and graphs that this session keeps there.",
		"-1 means half of the session's share of the device's memory, which is also the "
		"maximum. 0 means that nothing is kept there.",
		&gpu_resident_memory, -1, -1, INT_MAX, PGC_USERSET, GUC_UNIT_MB, NULL, assign_int, NULL);
	DefineCustomIntVariable(
		"hybrid.gpu_max_contexts",
		"Maximum number of contexts that all sessions together hold on a device.",
		"0 means no limit. Enforced only if the library is preloaded.", &gpu_max_contexts, 0, 0,
		INT_MAX, PGC_SUSET, 0, NULL, assign_int, NULL);
	DefineCustomIntVariable(
		"hybrid.gpu_queue_depth", "Maximum number of batches in flight on a device.",
		"If the library is preloaded, this counts all sessions, and roles take turns.",
		&gpu_queue_depth, 2, 1, HY_QUEUE_SLOTS, PGC_SUSET, 0, NULL, assign_int, NULL);
	DefineCustomIntVariable("hybrid.gpu_timeout", "Maximum time for a task on a device.",
	                        "After that time, the CPU runs the task.", &gpu_timeout, 2000, 1,
	                        INT_MAX, PGC_SUSET, GUC_UNIT_MS, NULL, assign_int, NULL);
	DefineCustomIntVariable("hybrid.gpu_idle_timeout", "Idle time after which a context is closed.",
	                        "The next batch opens it again. 0 disables the timeout.",
	                        &gpu_idle_timeout, 60000, 0, INT_MAX, PGC_SUSET, GUC_UNIT_MS, NULL,
	                        NULL, NULL);
}

/*
 * define_emulated_settings: define the settings of the emulated device. They do not appear in SHOW ALL and
 * pg_settings, since only tests and demonstrations use them.
 */
static void
define_emulated_settings(void)
{
	DefineCustomIntVariable("hybrid.emulated_devices", "Number of emulated devices.",
	                        "All emulated_* settings apply to the plug-in hybrid_emulated.",
	                        &emulated_devices, 1, 1, HY_MAX_DEVICES - 1, PGC_SUSET, GUC_NO_SHOW_ALL,
	                        NULL, assign_device_int, NULL);
	DefineCustomRealVariable("hybrid.emulated_launch_us",
	                         "Launch time of the emulated device in microseconds.", NULL,
	                         &emulated_launch_us, 20.0, 0.0, 1e9, PGC_SUSET, GUC_NO_SHOW_ALL, NULL,
	                         assign_device_real, NULL);
	DefineCustomRealVariable(
		"hybrid.emulated_bandwidth_gbs", "Bus bandwidth of the emulated device in GB/s.",
		"0 means that nothing needs to be copied.", &emulated_bandwidth_gbs, 25.0, 0.0, 1e9,
		PGC_SUSET, GUC_NO_SHOW_ALL, NULL, assign_device_real, NULL);
	DefineCustomRealVariable("hybrid.emulated_rate_gflops",
	                         "Arithmetic rate of the emulated device in GFLOP/s.", NULL,
	                         &emulated_rate_gflops, 5000.0, 1e-3, 1e12, PGC_SUSET, GUC_NO_SHOW_ALL,
	                         NULL, assign_device_real, NULL);
	DefineCustomIntVariable("hybrid.emulated_memory_mb", "Memory of the emulated device in MB.",
	                        NULL, &emulated_memory_mb, 4096, 1, INT_MAX, PGC_SUSET, GUC_NO_SHOW_ALL,
	                        NULL, assign_device_int, NULL);
	DefineCustomRealVariable("hybrid.emulated_open_ms",
	                         "Time to open a context on the emulated device in milliseconds.", NULL,
	                         &emulated_open_ms, 0.0, 0.0, 1e9, PGC_SUSET, GUC_NO_SHOW_ALL, NULL,
	                         assign_device_real, NULL);
	DefineCustomStringVariable(
		"hybrid.emulated_profile", "Kind of device to emulate.",
		"pcie, integrated or bad. If empty, the other emulated_* settings apply.",
		&emulated_profile, "", PGC_SUSET, GUC_NO_SHOW_ALL, check_profile, assign_device_string,
		NULL);
	DefineCustomStringVariable("hybrid.emulated_faults", "Failures to emulate.",
	                           "For example 'fail_at=3,status=transient'.", &emulated_faults, "",
	                           PGC_SUSET, GUC_NO_SHOW_ALL, NULL, assign_device_string, NULL);
	DefineCustomBoolVariable(
		"hybrid.emulated_wait", "Makes the emulated time pass in real time as well.", NULL,
		&emulated_wait, false, PGC_SUSET, GUC_NO_SHOW_ALL, NULL, assign_device_bool, NULL);
}

/*
 * check_bare_names: allow only file names without a path.  With a path, a library could be loaded from
 * anywhere.
 */
static bool
check_bare_names(char **newval, void **extra, GucSource source)
{
	const char *c;
	int length = 0;

	(void) extra;
	(void) source;
	for (c = *newval; *c != '\0'; c++)
	{
		bool between = *c == ',' || *c == ' ';

		if (!(between || (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') ||
		      (*c >= '0' && *c <= '9') || *c == '_' || *c == '-'))
		{
			GUC_check_errdetail(
				"The name of a plug-in can contain only letters, digits, \"_\" and \"-\".");
			return false;
		}
		length = between ? 0 : length + 1;
		if (length >= HY_NAME_LENGTH)
		{
			GUC_check_errdetail("A plug-in's name has at most %d characters.", HY_NAME_LENGTH - 1);
			return false;
		}
	}
	return true;
}

static bool
check_profile(char **newval, void **extra, GucSource source)
{
	(void) extra;
	(void) source;
	if (**newval == '\0' || strcmp(*newval, "pcie") == 0 || strcmp(*newval, "integrated") == 0 ||
	    strcmp(*newval, "bad") == 0)
		return true;
	GUC_check_errhint("Available values: pcie, integrated, bad, or an empty string.");
	return false;
}

/*
 * check_execution: allow any name that a backend may have, because a plug-in that is loaded later is not known
 * here.
 */
static bool
check_execution(char **newval, void **extra, GucSource source)
{
	char list[HY_WORDS_LENGTH];

	(void) extra;
	(void) source;
	if (hy_word_read(HY_WORDS_EXECUTION, *newval, strlen(*newval)) >= 0 ||
	    hy_backend_name_allowed(*newval))
		return true;
	GUC_check_errhint("Available values: %s, or the name of a backend, such as cuda, in lower-case "
	                  "letters, digits and \"_\".",
	                  hy_words_list(HY_WORDS_EXECUTION, "", ", ", list));
	return false;
}

/*
 * check_devices: allow auto, or a comma-separated list of device numbers. Each backend counts its devices from
 * 0.
 */
static bool
check_devices(char **newval, void **extra, GucSource source)
{
	uint64 *devices = guc_malloc(LOG, sizeof(uint64));
	const char *at = *newval;

	(void) source;
	if (devices == NULL)
		return false;
	*devices = 0;
	while (*at != '\0' && strcmp(*newval, "auto") != 0)
	{
		char *end;
		long number = strtol(at, &end, 10);

		if (end == at || number < 0 || number >= HY_BACKEND_DEVICES)
			break;
		*devices |= UINT64CONST(1) << number;
		at = end + strspn(end, " \t");
		if (*at == ',' && at[1 + strspn(at + 1, " \t")] != '\0')
			at++;
		else
			break;
	}
	if (strcmp(*newval, "auto") == 0 || (*at == '\0' && *devices != 0))
	{
		*extra = devices;
		return true;
	}
	guc_free(devices);
	GUC_check_errdetail("The value must be auto, or a list of device numbers below %d.",
	                    HY_BACKEND_DEVICES);
	return false;
}

static void
assign_devices(const char *newval, void *extra)
{
	(void) newval;
	gpu_devices = *(uint64 *) extra;
	hybrid_settings_generation++;
}

/* check_overrides: parse [op:items[,op:items ...]], with spaces allowed around each part. */
static bool
check_overrides(char **newval, void **extra, GucSource source)
{
	MinBatchOverrides *parsed = guc_malloc(LOG, sizeof(MinBatchOverrides));
	const char *at = *newval;
	char list[HY_WORDS_LENGTH];
	int op;

	(void) source;
	if (parsed == NULL)
		return false;
	for (op = 0; op < HY_OP_COUNT; op++)
		parsed->items[op] = -1;

	at += strspn(at, " \t");
	while (*at != '\0')
	{
		size_t length = strcspn(at, ":, \t");
		char *end;
		long long items;

		op = hy_word_read(HY_WORDS_OPERATION, at, length);
		if (op < 0)
		{
			GUC_check_errdetail("There is no operation \"%.*s\".", (int) length, at);
			GUC_check_errhint("Operations are %s.",
			                  hy_words_list(HY_WORDS_OPERATION, "", " and ", list));
			guc_free(parsed);
			return false;
		}
		at += length;
		at += strspn(at, " \t");
		errno = 0;
		items = *at == ':' ? strtoll(at + 1, &end, 10) : -1;
		if (*at != ':' || end == at + 1 || errno != 0 || items < 0)
		{
			GUC_check_errdetail("Expected \"%s:items\" with items >= 0.", hy_op_name((HyOp) op));
			guc_free(parsed);
			return false;
		}
		parsed->items[op] = items;
		at = end + strspn(end, " \t");
		if (*at == ',')
		{
			at++;
			at += strspn(at, " \t");
			if (*at != '\0')
				continue;
			at--;
		}
		if (*at != '\0')
		{
			GUC_check_errdetail("Unexpected \"%s\".", at);
			guc_free(parsed);
			return false;
		}
	}
	*extra = parsed;
	return true;
}

static void
assign_overrides(const char *newval, void *extra)
{
	(void) newval;
	overrides = *(MinBatchOverrides *) extra;
	hybrid_settings_generation++;
}

static bool
check_simd(int *newval, void **extra, GucSource source)
{
	(void) extra;
	(void) source;
	if (*newval == SIMD_AUTO || hy_simd_available((HySimd) *newval))
		return true;
	GUC_check_errdetail("This machine does not support %s.", hy_simd_name((HySimd) *newval));
	return false;
}

static void
assign_simd(int newval, void *extra)
{
	(void) extra;
	hy_kernels_force(newval == SIMD_AUTO ? hy_simd_best() : (HySimd) newval);
	/* Times measured with another instruction set count as times of another device. */
	hybrid_settings_generation++;
}

static void
assign_precision(int newval, void *extra)
{
	(void) extra;
	hy_prefilter_allow(newval == PRECISION_AUTO);
	hybrid_settings_generation++;
}

static void
assign_bool(bool newval, void *extra)
{
	(void) newval;
	(void) extra;
	hybrid_settings_generation++;
}

static void
assign_int(int newval, void *extra)
{
	(void) newval;
	(void) extra;
	hybrid_settings_generation++;
}

static void
assign_real(double newval, void *extra)
{
	(void) newval;
	(void) extra;
	hybrid_settings_generation++;
}

static void
assign_string(const char *newval, void *extra)
{
	(void) newval;
	(void) extra;
	hybrid_settings_generation++;
}

static void
assign_device_bool(bool newval, void *extra)
{
	assign_bool(newval, extra);
	hybrid_device_generation++;
}

static void
assign_device_int(int newval, void *extra)
{
	assign_int(newval, extra);
	hybrid_device_generation++;
}

static void
assign_device_real(double newval, void *extra)
{
	assign_real(newval, extra);
	hybrid_device_generation++;
}

static void
assign_device_string(const char *newval, void *extra)
{
	assign_string(newval, extra);
	hybrid_device_generation++;
}
