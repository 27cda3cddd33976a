/*
 * libraries.c
 *		Stand-ins for NVML and cuBLAS, as gpubench calls them.  One file is loaded under both names.
 *		They check their arguments and compute nothing.
 *
 * Written from the libraries' documentation.  A wrong argument is refused.  Then the bench prints
 * no figure, and the test of the bench notices that.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define REFUSED 2

/* ------------------------------------------------------------------------------------------- */

typedef struct Metric
{
	unsigned int metricId;
	int nvmlReturn;
	double value;
	struct
	{
		char *shortName;
		char *longName;
		char *unit;
	} metricInfo;
} Metric;

typedef struct Metrics
{
	unsigned int version;
	unsigned int numMetrics;
	int *sample1;
	int *sample2;
	Metric metrics[333];
} Metrics;

static int the_device;
static int started;

extern int nvmlInit_v2(void);
extern int nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device);
extern int nvmlDeviceGetUtilizationRates(void *device, unsigned int *rates);
extern int nvmlGpmQueryDeviceSupport(void *device, unsigned int *support);
extern int nvmlGpmSampleAlloc(int **sample);
extern int nvmlGpmSampleFree(int *sample);
extern int nvmlGpmSampleGet(void *device, int *sample);
extern int nvmlGpmMetricsGet(Metrics *metrics);

int
nvmlInit_v2(void)
{
	started = 1;
	return 0;
}

int
nvmlDeviceGetHandleByPciBusId_v2(const char *bus, void **device)
{
	*device = &the_device;
	return started && strcmp(bus, "0000:00:00.0") == 0 ? 0 : REFUSED;
}

int
nvmlDeviceGetUtilizationRates(void *device, unsigned int *rates)
{
	rates[0] = 99;
	rates[1] = 50;
	return device == &the_device ? 0 : REFUSED;
}

int
nvmlGpmQueryDeviceSupport(void *device, unsigned int *support)
{
	if (device != &the_device || support[0] != 1)
		return REFUSED;
	support[1] = 1;
	return 0;
}

int
nvmlGpmSampleAlloc(int **sample)
{
	*sample = calloc(1, sizeof(int));
	return *sample != NULL ? 0 : REFUSED;
}

int
nvmlGpmSampleFree(int *sample)
{
	free(sample);
	return 0;
}

int
nvmlGpmSampleGet(void *device, int *sample)
{
	*sample = ++the_device;
	return device == &the_device ? 0 : REFUSED;
}

/* The second sample is the later one, or there is nothing between them. */
int
nvmlGpmMetricsGet(Metrics *metrics)
{
	if (metrics->version != 1 || metrics->numMetrics != 1 || *metrics->sample1 >= *metrics->sample2)
		return REFUSED;
	metrics->metrics[0].nvmlReturn = metrics->metrics[0].metricId == 2 ? 0 : REFUSED;
	metrics->metrics[0].value = 88;
	return 0;
}

/* ------------------------------------------------------------------------------------------- */

static int the_handle;
static void *the_stream;

extern int cublasCreate_v2(void **handle);
extern int cublasSetStream_v2(void *handle, void *stream);
extern int
cublasGemmEx(void *handle, int transa, int transb, int m, int n, int k, const void *alpha,
             const void *a, int atype, int lda, const void *b, int btype, int ldb, const void *beta,
             void *c, int ctype, int ldc, int compute, int algorithm);

int
cublasCreate_v2(void **handle)
{
	*handle = &the_handle;
	return 0;
}

int
cublasSetStream_v2(void *handle, void *stream)
{
	the_stream = stream;
	return handle == &the_handle && stream != NULL ? 0 : REFUSED;
}

/* C = A transposed times B, columns of bfloat16 to columns of float. */
int
cublasGemmEx(void *handle, int transa, int transb, int m, int n, int k, const void *alpha,
             const void *a, int atype, int lda, const void *b, int btype, int ldb, const void *beta,
             void *c, int ctype, int ldc, int compute, int algorithm)
{
	if (handle != &the_handle || the_stream == NULL || transa != 1 || transb != 0 || m < 1 ||
	    n < 1 || k < 1 || a == NULL || b == NULL || c == NULL || atype != 14 || btype != 14 ||
	    ctype != 0 || compute != 68 || algorithm != -1 || lda < k || ldb < k || ldc < m)
		return REFUSED;
	return *(const float *) alpha == 1 && *(const float *) beta == 0 ? 0 : REFUSED;
}
