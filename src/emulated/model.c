/*
 * model.c
 *		Reads the settings of the emulated devices, and computes how long a task takes:
 *
 *		launch + copies + waves (+ merging of k) (+ warm-up), all with jitter
 *
 * On purpose, this sum does not have the form that the dispatcher's cost model assumes
 * (dispatch/model/cost_model.h). Work is done in whole waves of blocks over the cores. Copies
 * transfer whole pages, with a latency for each direction. Jitter makes every run up to 10% longer
 * or shorter. It depends only on the run's serial number in its context and on the device.
 */
#include "emulated/emulated.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_ITEMS 256
#define BLOCKS_PER_CORE 2
#define PAGE_BYTES 65536.0
#define COPY_LATENCY_NS 1500.0
#define JITTER 0.10
#define WARM_UP 10.0 /* additional time of a first run, in launches */
#define GUESSED_HOPS 10
#define MOST_VALUES (UINT64_C(1) << 58) /* with this limit, sizes in bytes fit in 63 bits */

/*
 * Profile: a value of emulated_profile, and the values that replace the settings of the same names.
 */
typedef struct Profile
{
	const char *name;
	double launch_us;
	double bandwidth_gbs;
	double rate_gflops;
	const char *faults; /* used if emulated_faults is empty */
} Profile;

static const Profile profiles[] = {
	{"pcie", 20, 25, 5000, ""},
	{"integrated", 5, 0, 400, ""},
	{"bad", 300, 2, 25, "fail_rate=0.05,seed=11; in=poll,fail_rate=0.05,seed=12"},
};

static const Profile *find_profile(const HyHost *host);
static double setting_number(const HyHost *host, const char *name, double otherwise);
static bool setting_on(const HyHost *host, const char *name);
static bool setting_is(const HyHost *host, const char *name, const char *value);
static void spread_load(int64_t nodes, const HyShape *shape, int32_t hops, EmulatedLoad *load);

void
emulated_settings(const HyHost *host, EmulatedSettings *settings)
{
	const Profile *profile = find_profile(host);

	settings->devices = (int32_t) setting_number(host, "emulated_devices", 1);
	settings->launch_ns = setting_number(host, "emulated_launch_us", 20) * 1e3;
	settings->bytes_per_ns = setting_number(host, "emulated_bandwidth_gbs", 25);
	settings->flop_per_ns = setting_number(host, "emulated_rate_gflops", 5000);
	settings->memory = (uint64_t) (setting_number(host, "emulated_memory_mb", 4096) * 1048576);
	settings->open_ns = (uint64_t) (setting_number(host, "emulated_open_ms", 0) * 1e6);
	settings->wait = setting_on(host, "emulated_wait");
	settings->exact = setting_is(host, "precision", "exact");
	if (profile != NULL)
	{
		settings->launch_ns = profile->launch_us * 1e3;
		settings->bytes_per_ns = profile->bandwidth_gbs;
		settings->flop_per_ns = profile->rate_gflops;
	}
	if (!(settings->flop_per_ns > 0))
		settings->flop_per_ns = 1e-3;
}

const char *
emulated_faults_text(const HyHost *host)
{
	const char *text =
		host->setting != NULL ? host->setting(host->setting_arg, "emulated_faults") : NULL;
	const Profile *profile;

	if (text != NULL && text[0] != '\0')
		return text;
	profile = find_profile(host);
	return profile != NULL ? profile->faults : "";
}

void
emulated_load(const HyShape *shape, EmulatedLoad *load)
{
	double pairs = (double) shape->queries * (double) shape->targets;
	uint64_t dims = (uint64_t) shape->dims;
	uint64_t query_bytes = (uint64_t) shape->queries * dims * 4;
	uint64_t target_bytes = (uint64_t) shape->targets * dims * hy_dtype_size(shape->dtype);

	memset(load, 0, sizeof(*load));
	load->items = hy_shape_items(shape);
	if (shape->op == HY_OP_SPREAD)
	{
		spread_load(shape->targets / 4 + 1, shape, GUESSED_HOPS, load);
		return;
	}
	load->flop = pairs * (double) dims * (shape->metric == HY_METRIC_COSINE ? 4 : 3);
	load->k = hy_op_has_k(shape->op) ? shape->k : 0;
	/*
	 * Scoring a code takes one table look-up per four dimensions. Uploading it takes one bit per
	 * dimension, plus the factors of the code.
	 */
	if (shape->op == HY_OP_SCORE_CODES)
	{
		load->flop = pairs * ((double) dims / 4 + 10);
		target_bytes = (uint64_t) shape->targets * (dims / 8 + sizeof(HyCode));
	}
	load->bytes_up = query_bytes + (shape->resident ? 0 : target_bytes);
	/* for assign, `resident` means that the rows (here the queries) are on the device */
	if (shape->op == HY_OP_ASSIGN && shape->resident)
		load->bytes_up = target_bytes;
	if (hy_op_has_k(shape->op))
		load->bytes_down = (uint64_t) shape->queries * (uint64_t) shape->k * sizeof(HyNeighbor);
	else if (shape->op == HY_OP_ASSIGN)
		load->bytes_down = (uint64_t) shape->queries * sizeof(int32_t);
	else
		load->bytes_down = (uint64_t) load->items * sizeof(double);
	load->device_bytes = load->bytes_up + load->bytes_down;
}

void
emulated_task_load(const HyTask *task, EmulatedLoad *load)
{
	HyShape shape = hy_task_shape(task);

	emulated_load(&shape, load);
	if (task->op == HY_OP_SPREAD)
	{
		const HySpreadTask *s = &task->u.spread;

		uint64_t node_bytes = (uint64_t) s->graph->nodes * sizeof(double);
		uint64_t hub = s->params.hub != NULL && !shape.resident ? node_bytes : 0;
		uint64_t sent = s->sent != NULL ? node_bytes * (uint64_t) shape.queries : 0;

		spread_load(s->graph->nodes, &shape, s->params.hops < 0 ? GUESSED_HOPS : s->params.hops,
		            load);
		load->bytes_up += hub;
		load->bytes_down += sent;
		load->device_bytes += hub + sent;
	}
}

double
emulated_expected(const EmulatedSettings *settings, const EmulatedLoad *load)
{
	double blocks = ceil((double) load->items / BLOCK_ITEMS);
	double waves = ceil(blocks / (EMULATED_CORES * BLOCKS_PER_CORE));
	double ns = settings->launch_ns;

	if (load->items > 0)
	{
		double item_flop = load->flop / (double) load->items;
		double wave_flop = item_flop * BLOCK_ITEMS * EMULATED_CORES * BLOCKS_PER_CORE;

		ns += waves * wave_flop / settings->flop_per_ns;
	}
	if (load->k > 1)
		ns += 0.25 * settings->launch_ns * log2(load->k);
	return ns + emulated_copy_ns(settings, load->bytes_up) +
	       emulated_copy_ns(settings, load->bytes_down);
}

uint64_t
emulated_duration(const EmulatedSettings *settings, const EmulatedLoad *load, bool first,
                  uint64_t seed)
{
	double ns = emulated_expected(settings, load);
	double shake;

	if (first)
		ns += WARM_UP * settings->launch_ns;
	shake = (double) (emulated_random(seed) >> 11) * 0x1p-53; /* 0 .. 1 */
	ns *= 1 + JITTER * (2 * shake - 1);
	return ns < 1 ? 1 : ns > 1e18 ? UINT64_C(1000000000000000000) : (uint64_t) ns;
}

uint64_t
emulated_random(uint64_t seed)
{
	uint64_t z = seed * UINT64_C(0x9e3779b97f4a7c15) + UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static const Profile *
find_profile(const HyHost *host)
{
	const char *name =
		host->setting != NULL ? host->setting(host->setting_arg, "emulated_profile") : NULL;
	size_t i;

	for (i = 0; name != NULL && i < sizeof(profiles) / sizeof(profiles[0]); i++)
	{
		if (strcmp(name, profiles[i].name) == 0)
			return &profiles[i];
	}
	return NULL;
}

static double
setting_number(const HyHost *host, const char *name, double otherwise)
{
	const char *text = host->setting != NULL ? host->setting(host->setting_arg, name) : NULL;
	char *end;
	double number;

	if (text == NULL)
		return otherwise;
	number = strtod(text, &end);
	return end == text || !(number >= 0) ? otherwise : number;
}

static bool
setting_on(const HyHost *host, const char *name)
{
	return setting_is(host, name, "on") || setting_is(host, name, "true") ||
	       setting_is(host, name, "yes") || setting_is(host, name, "1");
}

static bool
setting_is(const HyHost *host, const char *name, const char *value)
{
	const char *text = host->setting != NULL ? host->setting(host->setting_arg, name) : NULL;

	return text != NULL && strcmp(text, value) == 0;
}

static void
spread_load(int64_t nodes, const HyShape *shape, int32_t hops, EmulatedLoad *load)
{
	uint64_t n = (uint64_t) nodes;
	uint64_t e = (uint64_t) shape->targets;
	uint64_t s = (uint64_t) shape->queries;
	uint64_t values;

	load->flop = 2.0 * (double) shape->targets * (double) shape->queries * (double) hops;
	load->bytes_up = s * 16 + (shape->resident ? 0 : e * 8 + n * 16);
	/* a shape that is only estimated may exceed any memory, so limit the number of values */
	if (__builtin_mul_overflow(n, s, &values) || values > MOST_VALUES)
		values = MOST_VALUES;
	load->bytes_down = values * 12;
	load->device_bytes = load->bytes_up + load->bytes_down + values * 16;
}

double
emulated_copy_ns(const EmulatedSettings *settings, uint64_t bytes)
{
	if (bytes == 0 || !(settings->bytes_per_ns > 0))
		return 0;
	return COPY_LATENCY_NS +
	       ceil((double) bytes / PAGE_BYTES) * PAGE_BYTES / settings->bytes_per_ns;
}
