/*
 * gpu_cublas.c
 *		The part of gpubench that has cuBLAS compute the products of a search of many queries; and a
 *		product that is large in each dimension, as a yardstick.
 *
 * It measures only the products, of bfloat16 vectors on the device, in parts whose products fit.  The k
 * nearest are not selected, and the products are not exact.  The library is loaded at run time, and its
 * functions are declared here.
 */
#include "gpu.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_SEED (UINT64_C(1) << 40)
#define DIMS 768
#define SQUARE 8192 /* of the yardstick: rows, queries and dims */

/* cublas_api.h */
#define OPERATION_NONE 0
#define OPERATION_TRANSPOSE 1
#define TYPE_FLOAT 0
#define TYPE_BFLOAT16 14
#define COMPUTE_FLOAT 68
#define ALGORITHM_DEFAULT (-1)

typedef int (*GemmEx)(void *handle, int transpose_a, int transpose_b, int m, int n, int k,
                      const void *alpha, const void *a, int type_a, int lda, const void *b,
                      int type_b, int ldb, const void *beta, void *c, int type_c, int ldc,
                      int compute, int algorithm);

/* Products: all rows against all queries. */
typedef struct Products
{
	GemmEx multiply;
	void *handle;
	void *queries;
	char *rows;
	void *out;
	int64_t query_count;
	int64_t row_count;
	int64_t part; /* rows */
	int32_t dims;
	int status; /* of the library */
} Products;

static void *load(const char **why);
static const char *begin(void *library, Products *products);
static void *on_device(const HyMatrix *matrix);
static void run_products(void *arg);

void
gpu_cublas(void)
{
	Products products = {.dims = DIMS,
	                     .query_count = gpu_size(10000, 32),
	                     .row_count = gpu_size(1000000, 1000),
	                     .part = gpu_size(100000, 300)};
	const char *name = gpu_name("cublas_bfloat16_%lldx%lldx%d", (long long) products.query_count,
	                            (long long) products.row_count, DIMS);
	HyMatrix queries;
	HyMatrix rows;
	const char *why;
	double rate;
	void *library = load(&why);

	if (library != NULL)
		why = gpu.matrix > 0 ? begin(library, &products) : "the unit has no bfloat16";
	if (why != NULL)
	{
		gpu_print_missing(name, "ratio", GPU_NOTHING, "%s", why);
		return;
	}
	queries = gpu_matrix(DIMS, products.query_count, QUERY_SEED);
	rows = gpu_rows(HY_F32, DIMS, products.row_count);
	products.queries = on_device(&queries);
	products.rows = on_device(&rows);
	gpu_check(cudaMalloc(&products.out,
	                     (size_t) products.part * (size_t) products.query_count * sizeof(float)),
	          "allocating");
	rate = 2.0 * (double) products.query_count * (double) products.row_count * DIMS /
	       gpu_median_us(run_products, &products);
	if (products.status == 0)
		gpu_print_matrix_share(name, rate, GPU_NOTHING);
	else
		gpu_print_missing(name, "ratio", GPU_NOTHING, "cublasGemmEx said %d", products.status);
	gpu_check(cudaFree(products.queries), "freeing");
	gpu_check(cudaFree(products.rows), "freeing");
	gpu_check(cudaFree(products.out), "freeing");
	gpu_matrix_free(&queries);
}

double
gpu_cublas_rate(const char **why)
{
	int32_t side = (int32_t) gpu_size(SQUARE, 64);
	Products products = {.dims = side, .query_count = side, .row_count = side, .part = side};
	void *library = load(why);
	HyMatrix matrix;
	double us;

	if (library != NULL)
		*why = begin(library, &products);
	if (*why != NULL)
		return 0;
	matrix = gpu_matrix(side, side, QUERY_SEED);
	products.queries = on_device(&matrix);
	products.rows = on_device(&matrix);
	gpu_check(cudaMalloc(&products.out, (size_t) side * (size_t) side * sizeof(float)),
	          "allocating");
	us = gpu_median_us(run_products, &products);
	gpu_check(cudaFree(products.queries), "freeing");
	gpu_check(cudaFree(products.rows), "freeing");
	gpu_check(cudaFree(products.out), "freeing");
	gpu_matrix_free(&matrix);
	if (products.status == 0)
		return 2.0 * side * side * side / us;
	*why = gpu_name("cublasGemmEx said %d", products.status);
	return 0;
}

/* load: NULL where there is none, and *why: what the loader said of the newest. */
static void *
load(const char **why)
{
	static const char *const names[] = {"libcublas.so.13", "libcublas.so.12", "libcublas.so.11",
	                                    "libcublas.so", "/usr/local/cuda/lib64/libcublas.so"};
	void *library = NULL;
	size_t i;

	*why = NULL;
	for (i = 0; i < sizeof(names) / sizeof(names[0]) && library == NULL; i++)
	{
		library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (library == NULL && i == 0)
			*why = gpu_name("cuBLAS was not found: %s", dlerror());
	}
	return library;
}

/* begin: NULL, or why it cannot be used. */
static const char *
begin(void *library, Products *products)
{
	int (*create)(void **handle);
	int (*set_stream)(void *handle, cudaStream_t stream);

	*(void **) &create = dlsym(library, "cublasCreate_v2");
	*(void **) &set_stream = dlsym(library, "cublasSetStream_v2");
	*(void **) &products->multiply = dlsym(library, "cublasGemmEx");
	if (create == NULL || set_stream == NULL || products->multiply == NULL)
		return "libcublas is another one than is known";
	if (create(&products->handle) != 0 || set_stream(products->handle, gpu.stream) != 0)
		return "cuBLAS cannot be started";
	return NULL;
}

/* on_device: in bfloat16, cut off. */
static void *
on_device(const HyMatrix *matrix)
{
	size_t count = (size_t) matrix->rows * (size_t) matrix->dims;
	uint16_t *cut = gpu_room(count, sizeof(uint16_t));
	void *memory;
	size_t i;

	for (i = 0; i < count; i++)
	{
		uint32_t bits;

		memcpy(&bits, (const float *) matrix->data + i, sizeof(bits));
		cut[i] = (uint16_t) (bits >> 16);
	}
	gpu_check(cudaMalloc(&memory, count * sizeof(uint16_t)), "allocating");
	gpu_check(
		cudaMemcpyAsync(memory, cut, count * sizeof(uint16_t), cudaMemcpyHostToDevice, gpu.stream),
		"copying");
	gpu_check(cudaStreamSynchronize(gpu.stream), "copying");
	free(cut);
	return memory;
}

/* run_products: its matrices are by columns, so that a row of ours is a column there. */
static void
run_products(void *arg)
{
	Products *p = arg;
	const float one = 1;
	const float zero = 0;
	int64_t at;

	for (at = 0; at < p->row_count && p->status == 0; at += p->part)
	{
		int64_t rows = p->row_count - at < p->part ? p->row_count - at : p->part;

		p->status = p->multiply(p->handle, OPERATION_TRANSPOSE, OPERATION_NONE, (int) rows,
		                        (int) p->query_count, p->dims, &one,
		                        p->rows + (size_t) at * (size_t) p->dims * sizeof(uint16_t),
		                        TYPE_BFLOAT16, p->dims, p->queries, TYPE_BFLOAT16, p->dims, &zero,
		                        p->out, TYPE_FLOAT, (int) rows, COMPUTE_FLOAT, ALGORITHM_DEFAULT);
	}
	gpu_check(cudaStreamSynchronize(gpu.stream), "multiplying");
}
