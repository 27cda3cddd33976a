/*
 * distance_blocks_test.c
 *		Matrices of distances: every pair equals hy_distance, whatever the blocks; contradictory
 *		shapes are refused; a cancel is noticed in time.
 */
#include "unit.h"

#include "core/distance.h"

static HyMatrix
matrix(HyDtype dtype, int dims, int64_t rows, size_t stride, const void *data)
{
	HyMatrix m = {dtype, dims, rows, stride, data, NULL, 0, NULL};

	return m;
}

/* random_floats: make random rows, of which every 13th is zero. */
static float *
random_floats(UnitRandom *random, int64_t rows, int columns)
{
	float *data = malloc((size_t) rows * (size_t) columns * sizeof(float));
	int64_t i;

	for (i = 0; i < rows * columns; i++)
		data[i] = i / columns % 13 == 12 ? 0.0f : unit_random_float(random);
	return data;
}

static void
check_all_pairs(HyMetric metric, const HyMatrix *queries, const HyMatrix *targets)
{
	size_t pairs = (size_t) (queries->rows * targets->rows);
	double *out = malloc((pairs + 1) * sizeof(double));
	float *widened = malloc((size_t) targets->dims * sizeof(float));
	int64_t q;
	int64_t t;
	int i;

	out[pairs] = -77.0;
	CHECK_INT(hy_distance_matrix(metric, queries, targets, out, NULL), HY_OK);
	CHECK_SAME_F64(out[pairs], -77.0);
	for (t = 0; t < targets->rows; t++)
	{
		const void *row = hy_matrix_row(targets, t);

		for (i = 0; i < targets->dims; i++)
			widened[i] = targets->dtype == HY_F32 ? ((const float *) row)[i]
			                                      : hy_half_to_float(((const uint16_t *) row)[i]);
		for (q = 0; q < queries->rows; q++)
			CHECK_SAME_F64(out[q * targets->rows + t],
			               hy_distance(metric, hy_matrix_row(queries, q), widened, targets->dims));
	}
	free(out);
	free(widened);
}

static void
test_all_pairs(void)
{
	static const int shapes[][3] = {/* dims, queries, targets */
	                                {1, 1, 1},    {3, 5, 1000},  {100, 300, 40}, {768, 3, 100},
	                                {768, 1, 43}, {16000, 2, 5}, {7, 260, 270},  {9000, 3, 9},
	                                {64, 0, 10},  {64, 10, 0}};
	UnitRandom random = {11};
	int s;
	int metric;

	for (s = 0; s < (int) (sizeof(shapes) / sizeof(shapes[0])); s++)
	{
		int dims = shapes[s][0];
		int pitch = dims + 3;
		int64_t q = shapes[s][1];
		int64_t t = shapes[s][2];
		float *a = random_floats(&random, q, dims);
		float *b = random_floats(&random, t, pitch);
		uint16_t *half = malloc((size_t) t * (size_t) pitch * sizeof(uint16_t));
		float *norms = malloc((size_t) (t > q ? t : q) * sizeof(float));
		HyMatrix queries = matrix(HY_F32, dims, q, (size_t) dims * 4, a);
		HyMatrix targets = matrix(HY_F32, dims, t, (size_t) pitch * 4, b);
		HyMatrix halves = matrix(HY_F16, dims, t, (size_t) pitch * 2, half);
		int64_t i;

		for (i = 0; i < t * pitch; i++)
			half[i] = hy_float_to_half(b[i]);
		for (metric = 0; metric < HY_METRIC_COUNT; metric++)
		{
			check_all_pairs((HyMetric) metric, &queries, &targets);
			check_all_pairs((HyMetric) metric, &queries, &halves);
		}
		for (i = 0; i < t; i++)
			norms[i] = hy_norm_sq(HY_F32, hy_matrix_row(&targets, i), dims);
		targets.norms = norms;
		check_all_pairs(HY_METRIC_COSINE, &queries, &targets);
		targets.norms = NULL;
		for (i = 0; i < q; i++)
			norms[i] = hy_norm_sq(HY_F32, hy_matrix_row(&queries, i), dims);
		queries.norms = norms;
		check_all_pairs(HY_METRIC_COSINE, &queries, &targets);
		free(a);
		free(b);
		free(half);
		free(norms);
	}
}

/* Given norms are used without a check; otherwise they would save nothing. */
static void
test_given_norms_are_used(void)
{
	float a[2] = {1.0f, 0.0f};
	float b[4] = {1.0f, 0.0f, 1.0f, 0.0f};
	float norms[2] = {1.0f, 4.0f};
	double out[2];
	HyMatrix queries = matrix(HY_F32, 2, 1, 8, a);
	HyMatrix targets = matrix(HY_F32, 2, 2, 8, b);

	targets.norms = norms;
	CHECK_INT(hy_distance_matrix(HY_METRIC_COSINE, &queries, &targets, out, NULL), HY_OK);
	CHECK_SAME_F64(out[0], 0.0);
	CHECK_SAME_F64(out[1], 0.5);
}

static void
test_sums_out_of_range(void)
{
	float a[2] = {3e38f, 1e38f};
	float b[4] = {-3e38f, 1e38f, 1.0f, 1.0f};
	HyMatrix queries = matrix(HY_F32, 2, 1, 8, a);
	HyMatrix targets = matrix(HY_F32, 2, 2, 8, b);
	int metric;

	for (metric = 0; metric < HY_METRIC_COUNT; metric++)
		check_all_pairs((HyMetric) metric, &queries, &targets);
}

static void
test_contradictions(void)
{
	float data[16] = {0};
	double out[16];
	HyMatrix good = matrix(HY_F32, 4, 2, 16, data);
	HyMatrix bad;

#define REFUSED(q, t) CHECK_INT(hy_distance_matrix(HY_METRIC_L2, q, t, out, NULL), HY_INVALID)
	CHECK_INT(hy_distance_matrix(HY_METRIC_L2, &good, &good, out, NULL), HY_OK);
	CHECK_INT(hy_distance_matrix((HyMetric) HY_METRIC_COUNT, &good, &good, out, NULL), HY_INVALID);
	CHECK_INT(hy_distance_matrix((HyMetric) -1, &good, &good, out, NULL), HY_INVALID);
	bad = good;
	bad.dims = 3;
	REFUSED(&good, &bad);
	REFUSED(&bad, &good);
	bad = good;
	bad.dtype = HY_F16;
	REFUSED(&bad, &good);
	bad = good;
	bad.data = NULL;
	REFUSED(&good, &bad);
	REFUSED(&bad, &good);
	bad = good;
	bad.stride = 15;
	REFUSED(&good, &bad);
	bad.stride = 12;
	REFUSED(&good, &bad);
	bad.stride = 18;
	REFUSED(&good, &bad);
	bad = good;
	bad.rows = -1;
	REFUSED(&good, &bad);
	bad = good;
	bad.dims = 0;
	REFUSED(&bad, &bad);
	bad.dims = HY_MAX_DIMS + 1;
	bad.stride = 4 * (HY_MAX_DIMS + 1);
	REFUSED(&bad, &bad);
	bad = good;
	bad.dtype = (HyDtype) HY_DTYPE_COUNT;
	REFUSED(&good, &bad);
	bad = good;
	bad.data = (const char *) data + 2;
	bad.rows = 1;
	REFUSED(&good, &bad);
#undef REFUSED
}

static void
test_cancel(void)
{
	UnitRandom random = {12};
	int dims = 1000;
	int64_t rows = 1200;
	float *b = random_floats(&random, rows, dims);
	double *out = malloc(40 * (size_t) rows * sizeof(double));
	HyMatrix queries = matrix(HY_F32, dims, 40, (size_t) dims * 4, b);
	HyMatrix targets = matrix(HY_F32, dims, rows, (size_t) dims * 4, b);
	UnitCancel cancel;
	int64_t polls;
	int64_t i;

	/* 48 million elements: polled often enough, and not at every pair. */
	unit_cancel_init(&cancel, 0);
	CHECK_INT(hy_distance_matrix(HY_METRIC_L2, &queries, &targets, out, &cancel.cancel), HY_OK);
	polls = cancel.polls;
	CHECK_MSG(polls >= 20 && polls <= 500, "%lld polls", (long long) polls);

	for (i = 1; i <= polls; i += 7)
	{
		unit_cancel_init(&cancel, i);
		CHECK_INT(hy_distance_matrix(HY_METRIC_IP, &queries, &targets, out, &cancel.cancel),
		          HY_CANCELLED);
		CHECK_INT(cancel.polls, i);
	}
	free(b);
	free(out);
}

int
main(void)
{
	UNIT_RUN(test_all_pairs);
	UNIT_RUN(test_given_norms_are_used);
	UNIT_RUN(test_sums_out_of_range);
	UNIT_RUN(test_contradictions);
	UNIT_RUN(test_cancel);
	return unit_finish();
}
