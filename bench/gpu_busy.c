/*
 * gpu_busy.c
 *		The part of gpubench that asks the driver how busy the multiprocessors are in batch runs.
 *
 * NVML is loaded at run time, and its functions are declared here.  With compute capability 9.0, its
 * counters give the share of the multiprocessors that had a warp, over the whole run.  NVML also gives
 * the share of the time in which any kernel ran, on however many multiprocessors; without the counters
 * this is the only figure.  It is never the smaller of the two, so it can only show that a target is
 * missed.
 */
#include "gpu.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_US 1.5e6 /* of a batch that runs over and over: NVML looks back for up to a second */
#define QUERY_SEED (UINT64_C(1) << 40)
#define CENTROID_SEED (UINT64_C(1) << 41)
#define MULTIPROCESSORS_BUSY 2 /* NVML_GPM_METRIC_SM_UTIL */
#define GPM_VERSION 1
#define GPM_ROOM 512 /* metrics, of which the library may clear all that it knows */

typedef struct GpmMetric
{
	unsigned metric;
	int status;
	double value;
	char *text[3];
} GpmMetric;

typedef struct GpmMetrics
{
	unsigned version;
	unsigned count;
	void *first;
	void *second;
	GpmMetric metric[GPM_ROOM];
} GpmMetrics;

/* Nvml: what is called of it; every function returns 0 where all is well. */
typedef struct Nvml
{
	int (*init)(void);
	int (*by_bus)(const char *bus, void **device);
	int (*rates)(void *device, unsigned *gpu_and_memory);
	/* NULL where the library is too old */
	int (*gpm_support)(void *device, unsigned *version_and_yes);
	int (*gpm_alloc)(void **sample);
	int (*gpm_free)(void *sample);
	int (*gpm_sample)(void *device, void *sample);
	int (*gpm_metrics)(GpmMetrics *metrics);
	void *device;
	bool counts;
	void *sample[2];
} Nvml;

static const char *find_nvml(Nvml *nvml);
static void *symbol(void *library, const char *name);
static void busy(Nvml *nvml, const char *why, const char *name, const HyTask *task);

void
gpu_busy(void)
{
	int64_t rows = gpu_size(1000000, 200);
	HyMatrix queries = gpu_matrix(768, gpu_size(1000, 16), QUERY_SEED);
	HyMatrix host = gpu_rows(HY_F32, 768, rows);
	HyMatrix resident = gpu_rows_resident(HY_F32, 768, rows);
	HyTask task = gpu_topk_task(HY_METRIC_L2, &queries, &resident);
	Nvml nvml = {NULL};
	const char *why = find_nvml(&nvml);
	HyAssignTask *a;

	busy(&nvml, why, "topk_resident", &task);
	task.u.topk.targets = host;
	busy(&nvml, why, "topk_host", &task);
	gpu_topk_free(&task);
	gpu_matrix_free(&queries);

	task = (HyTask){.op = HY_OP_ASSIGN, .allocator = &hy_malloc_allocator};
	a = &task.u.assign;
	a->rows = host;
	a->centroids = gpu_matrix(768, gpu_size(4096, 32), CENTROID_SEED);
	a->nearest = gpu_room((size_t) rows, sizeof(int32_t));
	busy(&nvml, why, "assign_host", &task);
	gpu_matrix_free(&a->centroids);
	free(a->nearest);

	task = gpu_spread_task(gpu_size(1000000, 200), 16, (int32_t) gpu_size(64, 16),
	                       (int32_t) gpu_size(50, 3));
	busy(&nvml, why, "spread_batch", &task);
	gpu_spread_free(&task);
	if (nvml.counts)
	{
		(void) nvml.gpm_free(nvml.sample[0]);
		(void) nvml.gpm_free(nvml.sample[1]);
	}
}

/* find_nvml: NULL, or why there is none. */
static const char *
find_nvml(Nvml *nvml)
{
	void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
	unsigned support[2] = {GPM_VERSION, 0};
	char bus[32];

	if (library == NULL)
		return "libnvidia-ml.so.1 cannot be loaded";
	*(void **) &nvml->init = symbol(library, "nvmlInit_v2");
	*(void **) &nvml->by_bus = symbol(library, "nvmlDeviceGetHandleByPciBusId_v2");
	*(void **) &nvml->rates = symbol(library, "nvmlDeviceGetUtilizationRates");
	*(void **) &nvml->gpm_support = symbol(library, "nvmlGpmQueryDeviceSupport");
	*(void **) &nvml->gpm_alloc = symbol(library, "nvmlGpmSampleAlloc");
	*(void **) &nvml->gpm_free = symbol(library, "nvmlGpmSampleFree");
	*(void **) &nvml->gpm_sample = symbol(library, "nvmlGpmSampleGet");
	*(void **) &nvml->gpm_metrics = symbol(library, "nvmlGpmMetricsGet");
	if (nvml->init == NULL || nvml->by_bus == NULL || nvml->rates == NULL)
		return "libnvidia-ml.so.1 is too old";
	/* numbers of devices are not the same there */
	gpu_check(cudaDeviceGetPCIBusId(bus, sizeof(bus), gpu.number), "asking for the bus");
	if (nvml->init() != 0 || nvml->by_bus(bus, &nvml->device) != 0)
		return "NVML does not know the device";
	nvml->counts = nvml->gpm_support != NULL && nvml->gpm_alloc != NULL && nvml->gpm_free != NULL &&
	               nvml->gpm_sample != NULL && nvml->gpm_metrics != NULL &&
	               nvml->gpm_support(nvml->device, support) == 0 && support[1] != 0 &&
	               nvml->gpm_alloc(&nvml->sample[0]) == 0 && nvml->gpm_alloc(&nvml->sample[1]) == 0;
	return NULL;
}

static void *
symbol(void *library, const char *name)
{
	return dlsym(library, name);
}

/* busy: of the batch, over and over. */
static void
busy(Nvml *nvml, const char *why, const char *name, const HyTask *task)
{
	static GpmMetrics metrics;
	unsigned rates[2] = {0, 0};
	bool counted = why == NULL && nvml->counts;
	double begin;

	/* as in the middle of a run */
	gpu_run_task(task);
	if (counted)
		counted = nvml->gpm_sample(nvml->device, nvml->sample[0]) == 0;
	begin = gpu_now_us();
	do
		gpu_run_task(task);
	while (!gpu.fake && gpu_now_us() - begin < BATCH_US);
	if (why == NULL && nvml->rates(nvml->device, rates) != 0)
		why = "NVML does not tell";
	if (counted && nvml->gpm_sample(nvml->device, nvml->sample[1]) == 0)
	{
		memset(&metrics, 0, sizeof(metrics));
		metrics.version = GPM_VERSION;
		metrics.count = 1;
		metrics.first = nvml->sample[0];
		metrics.second = nvml->sample[1];
		metrics.metric[0].metric = MULTIPROCESSORS_BUSY;
		if (nvml->gpm_metrics(&metrics) == 0 && metrics.metric[0].status == 0)
			gpu_print_beside(gpu_name("busy_%s", name), metrics.metric[0].value, "percent",
			                 GPU_AT_LEAST(80), "of the multiprocessors had a warp; on average");
		else
			counted = false;
	}
	else
		counted = false;
	if (!counted)
		gpu_print_missing(gpu_name("busy_%s", name), "percent", GPU_AT_LEAST(80), "%s",
		                  why != NULL ? why : "NVML has no counters of this device");
	if (why == NULL)
		gpu_print_beside(gpu_name("busy_%s_any_kernel", name), rates[0], "percent", GPU_NOTHING,
		                 "of NVML's last period; a kernel ran; on however many multiprocessors");
	else
		gpu_print_missing(gpu_name("busy_%s_any_kernel", name), "percent", GPU_NOTHING, "%s", why);
}
