/*
 * codes_test.c
 *		Codes: estimates are unbiased, and bounds hold as often as they state.
 */
#include "unit.h"

#include "core/codes.h"
#include "core/distance.h"
#include "core/rotation.h"

#define MOST 2048 /* dims */
#define ROWS HY_CODE_ROWS

/* Space: a root, a rotation, a list, and a query at a distance of 1.5 widths. */
typedef struct Space
{
	HyMetric metric;
	int dims;
	int padded;
	HyRotation rotation;
	float root[MOST];
	float centroid[MOST];
	float query[MOST];
	float turned_centroid[MOST]; /* P(c - root) */
	float turned_query[MOST];    /* P(q - root) */
	uint8_t tables[MOST * 4];
	HyCodeQuery prepared;
	double reach; /* |q - c| */
	double base;
} Space;

static void
difference(const float *a, const float *b, int dims, float *out)
{
	int i;

	for (i = 0; i < dims; i++)
		out[i] = a[i] - b[i];
}

static double
product(const float *a, const float *b, int dims)
{
	double sum = 0;
	int i;

	for (i = 0; i < dims; i++)
		sum += (double) a[i] * b[i];
	return sum;
}

static void
space_init(Space *space, HyMetric metric, int dims, float width, uint64_t seed)
{
	UnitRandom random = {seed * 2 + 1};
	float between[MOST];
	int i;

	memset(space, 0, sizeof(*space));
	space->metric = metric;
	space->dims = dims;
	CHECK_INT(hy_rotation_init(&space->rotation, dims, seed, &hy_malloc_allocator), HY_OK);
	space->padded = space->rotation.padded;
	for (i = 0; i < dims; i++)
	{
		space->root[i] = (float) unit_random_gaussian(&random);
		space->centroid[i] = space->root[i] + 2 * (float) unit_random_gaussian(&random);
		space->query[i] = space->centroid[i] + 1.5f * width * (float) unit_random_gaussian(&random);
	}
	difference(space->centroid, space->root, dims, between);
	hy_rotation_apply(&space->rotation, between, space->turned_centroid);
	difference(space->query, space->root, dims, between);
	hy_rotation_apply(&space->rotation, between, space->turned_query);
	difference(space->query, space->centroid, dims, between);
	space->reach = sqrt(product(between, between, dims));
	space->base = metric == HY_METRIC_IP ? -product(space->query, space->centroid, dims)
	                                     : space->reach * space->reach;
	hy_code_query_init(&space->prepared, space->turned_query, space->padded, space->tables);
}

static void
space_encode(const Space *space, const float *x, uint8_t *bits, HyCode *code)
{
	float between[MOST];
	float residual[MOST];

	difference(x, space->centroid, space->dims, between);
	hy_rotation_apply(&space->rotation, between, residual);
	hy_code_encode(space->metric, residual, space->turned_centroid, space->padded,
	               product(between, space->root, space->dims), bits, code);
}

static double
space_distance(const Space *space, const float *x)
{
	float between[MOST];

	if (space->metric == HY_METRIC_IP)
		return -product(x, space->query, space->dims);
	difference(x, space->query, space->dims, between);
	return product(between, between, space->dims);
}

static HyCodeLimits
space_limits(const Space *space, float eps, float threshold)
{
	HyCodeLimits limits = {.base = (float) space->base,
	                       .reach = (float) space->reach,
	                       .eps = eps,
	                       .threshold = threshold};

	return limits;
}

/*
 * Over rows, lists and rotations: the mean of (estimate - distance) / deviation is 0, the mean of
 * its square is at most about 1, and it exceeds e deviations as rarely as for a normal law.
 */
static void
test_estimates_and_bounds(void)
{
	static const int dims[] = {40, 64, 128, 200, 768, 1536};
	static const HyMetric metrics[] = {HY_METRIC_L2, HY_METRIC_IP};
	static const float eps[] = {1.0f, 1.9f, 3.0f};
	/* how often a normal law is above, and twice that; what else is there is luck */
	static const double seldom[] = {0.159, 0.0287, 0.00135};
	int d;
	int m;
	int e;
	int i;
	int list;

	for (d = 0; d < 6; d++)
	{
		for (m = 0; m < 2; m++)
		{
			int lists = 40 / unit_share() + 1;
			double mean = 0;
			double square = 0;
			double above[3] = {0};
			double n = (double) lists * ROWS;

			for (list = 0; list < lists; list++)
			{
				static Space space;
				static uint8_t block[MOST * 4];
				HyCodeFactors factors;
				UnitRandom random = {(uint64_t) list * 977 + 13};
				double distance[ROWS];
				float estimate[ROWS];
				float lower[ROWS];
				uint32_t mask;

				space_init(&space, metrics[m], dims[d], 1, (uint64_t) list + 1);
				for (i = 0; i < ROWS; i++)
				{
					float x[MOST];
					uint8_t bits[MOST / 8];
					HyCode code;
					int j;

					for (j = 0; j < dims[d]; j++)
						x[j] = space.centroid[j] + (float) unit_random_gaussian(&random);
					space_encode(&space, x, bits, &code);
					hy_code_put(block, &factors, space.padded, i, bits, &code);
					distance[i] = space_distance(&space, x);
				}
				for (e = 0; e < 3; e++)
				{
					HyCodeLimits limits = space_limits(&space, eps[e], 0);
					HyCodeBlocks blocks = {.codes = block, .factors = &factors, .count = 1};

					hy_code_score(&space.prepared, &blocks, &limits, estimate, lower, &mask);
					for (i = 0; i < ROWS; i++)
						above[e] += lower[i] > distance[i];
				}
				for (i = 0; i < ROWS; i++)
				{
					double off = (estimate[i] - distance[i]) / (factors.error[i] * space.reach);

					mean += off / n;
					square += off * off / n;
				}
				hy_rotation_free(&space.rotation);
			}
			CHECK_MSG(fabs(mean) < 5 / sqrt(n) * sqrt(square), "%d dims, %s: the mean is %g",
			          dims[d], hy_metric_name(metrics[m]), mean);
			CHECK_MSG(square > 0.6 && square < 1.2, "%d dims, %s: the mean square is %g", dims[d],
			          hy_metric_name(metrics[m]), square);
			for (e = 0; e < 3; e++)
				CHECK_MSG(above[e] <= n * seldom[e] * 1.2 + 3 * sqrt(n * seldom[e]) + 1,
				          "%d dims, %s: %g of %g rows are below %g deviations", dims[d],
				          hy_metric_name(metrics[m]), above[e], n, (double) eps[e]);
		}
	}
}

/*
 * Lists far from the root that become narrower, so that the error of the tables is first small and
 * then most of the error.  It is as measured when the tables were made.  The bounds are violated
 * about as often as a normal law says, not more often and not much less.
 */
static void
test_what_tables_lose(void)
{
	static const int dims[] = {64, 768, 2000};
	static const float widths[] = {1.0f, 0.1f, 0.03f, 0.005f};
	int d;
	int w;
	int i;
	int list;

	for (d = 0; d < 3 * 4; d++)
	{
		double mean = 0;
		double square = 0;
		double share = 0;
		double n = 0;
		int above = 0;

		w = d % 4;
		for (list = 0; list < 60; list++)
		{
			static Space space;
			static uint8_t block[MOST * 4];
			UnitRandom random = {(uint64_t) list * 31 + 5};
			HyCodeFactors factors;
			double exact[ROWS];
			double distance[ROWS];
			float estimate[ROWS];
			float lower[ROWS];
			uint32_t mask;
			HyCodeLimits limits;
			HyCodeBlocks blocks = {.codes = block, .factors = &factors, .count = 1};
			int j;

			space_init(&space, HY_METRIC_L2, dims[d / 4], widths[w], (uint64_t) list + 100);
			limits = space_limits(&space, 1.0f, 0);
			for (i = 0; i < ROWS; i++)
			{
				float x[MOST];
				uint8_t bits[MOST / 8];
				HyCode code;

				for (j = 0; j < space.dims; j++)
					x[j] = space.centroid[j] + widths[w] * (float) unit_random_gaussian(&random);
				space_encode(&space, x, bits, &code);
				hy_code_put(block, &factors, space.padded, i, bits, &code);
				distance[i] = space_distance(&space, x);
				exact[i] = 0;
				for (j = 0; j < space.padded; j++)
					exact[i] += (bits[j / 8] >> j % 8 & 1 ? 0.5 : -0.5) * space.turned_query[j];
			}
			hy_code_score(&space.prepared, &blocks, &limits, estimate, lower, &mask);
			for (i = 0; i < ROWS; i++)
			{
				double right =
					(double) factors.add[i] + limits.base + factors.rescale[i] * exact[i];
				double off = (estimate[i] - right) / (factors.rescale[i] * space.prepared.slack);

				n++;
				mean += off;
				square += off * off;
				share +=
					-factors.rescale[i] * space.prepared.slack / (factors.error[i] * space.reach);
				above += lower[i] > distance[i];
			}
			hy_rotation_free(&space.rotation);
		}
		CHECK_MSG(fabs(mean / n) < 0.2, "%d dims: the mean is %g", dims[d / 4], mean / n);
		CHECK_MSG(square / n > 0.8 && square / n < 1.2, "%d dims: the mean square is %g",
		          dims[d / 4], square / n);
		CHECK_MSG(w == 0   ? share / n < 0.06
		          : w == 3 ? share / n > 3
		                   : true,
		          "%d dims, width %g: %g of the error", dims[d / 4], (double) widths[w], share / n);
		CHECK_MSG(above <= n * 0.159 * 1.1 + 3 * sqrt(n * 0.159) &&
		              above >= n * 0.159 * 0.9 - 3 * sqrt(n * 0.159),
		          "%d dims, width %g: %d of %g above", dims[d / 4], (double) widths[w], above, n);
	}
}

/* The factors, computed directly from their definition. */
static void
test_factors(void)
{
	UnitRandom random = {21};
	static float r[MOST];
	static float c[MOST];
	static uint8_t block[MOST * 4];
	uint8_t bits[MOST / 8];
	HyCodeFactors factors;
	HyCode code;
	int padded;
	int i;

	for (padded = 64; padded <= MOST; padded += 320)
	{
		double square = 0;
		double rs = 0;
		double cs = 0;
		double rc = 0;
		double off;

		for (i = 0; i < padded; i++)
		{
			r[i] = unit_random_float(&random);
			c[i] = unit_random_float(&random);
			if (i == 3)
				r[i] = 0.0f;
			if (i == 4)
				r[i] = -0.0f;
			square += (double) r[i] * r[i];
			rs += r[i] >= 0 ? 0.5 * r[i] : -0.5 * r[i];
			cs += r[i] >= 0 ? 0.5 * c[i] : -0.5 * c[i];
			rc += (double) r[i] * c[i];
		}
		off = sqrt(square) * sqrt((square * padded / 4 / (rs * rs) - 1) / (padded - 1));
		hy_code_encode(HY_METRIC_L2, r, c, padded, 77, bits, &code);
		CHECK_NEAR(code.add, square + 2 * square * cs / rs, 1e-6 * (1 + fabs(square)));
		CHECK_NEAR(code.rescale, -2 * square / rs, 1e-6 * square / rs);
		CHECK_NEAR(code.error, 2 * off, 1e-6 * off);
		hy_code_put(block, &factors, padded, 7, bits, &code);
		CHECK_NEAR(hy_code_square(HY_METRIC_L2, &factors, 7, padded), square, 1e-5 * square);
		for (i = 0; i < padded; i++)
			CHECK_INT(bits[i / 8] >> i % 8 & 1, r[i] >= 0);
		hy_code_encode(HY_METRIC_IP, r, c, padded, 7.5, bits, &code);
		CHECK_NEAR(code.add, square * cs / rs - rc - 7.5, 1e-6 * (10 + fabs(square)));
		CHECK_NEAR(code.rescale, -square / rs, 1e-6 * square / rs);
		CHECK_NEAR(code.error, off, 1e-6 * off);
		hy_code_put(block, &factors, padded, 8, bits, &code);
		CHECK_NEAR(hy_code_square(HY_METRIC_IP, &factors, 8, padded), square, 1e-5 * square);
	}
}

/* A row that equals its centroid, and rows and queries that fp32 cannot represent. */
static void
test_extremes(void)
{
	static Space space;
	static uint8_t block[MOST * 4];
	uint8_t bits[MOST / 8];
	static float x[MOST];
	HyCodeFactors factors;
	HyCode code;
	float estimate[ROWS];
	float lower[ROWS];
	uint32_t mask;
	HyCodeBlocks blocks = {.codes = block, .factors = &factors, .count = 1};
	HyCodeLimits limits;
	int i;

	memset(&factors, 0, sizeof(factors));
	space_init(&space, HY_METRIC_L2, 100, 1, 4);
	limits = space_limits(&space, 3, (float) space.base * 0.999f);
	space_encode(&space, space.centroid, bits, &code);
	CHECK(code.add == 0 && code.rescale == 0 && code.error == 0);
	hy_code_put(block, &factors, space.padded, 0, bits, &code);
	CHECK(hy_code_square(HY_METRIC_L2, &factors, 0, space.padded) == 0);
	/* far away, but who can say */
	for (i = 0; i < 100; i++)
		x[i] = i % 2 == 0 ? 3e18f : -3e18f;
	space_encode(&space, x, bits, &code);
	hy_code_put(block, &factors, space.padded, 1, bits, &code);
	for (i = 0; i < 100; i++)
		x[i] = i % 2 == 0 ? 1e36f : -1e36f;
	space_encode(&space, x, bits, &code);
	CHECK(isinf(code.error) && code.add == 0 && code.rescale == 0);
	hy_code_put(block, &factors, space.padded, 2, bits, &code);
	CHECK(!isfinite(hy_code_square(HY_METRIC_L2, &factors, 2, space.padded)));
	hy_code_score(&space.prepared, &blocks, &limits, estimate, lower, &mask);
	CHECK_SAME_F32(estimate[0], limits.base);
	CHECK_SAME_F32(lower[0], limits.base);
	CHECK_INT(mask & 1, 0);
	CHECK_INT(mask >> 2 & 1, 1);
	limits.threshold = limits.base;
	hy_code_score(&space.prepared, &blocks, &limits, estimate, lower, &mask);
	CHECK_INT(mask & 1, 1);
	hy_rotation_free(&space.rotation);

	/* where query, centroid and root are one, a row's distance is its factor */
	memset(x, 0, sizeof(x));
	hy_code_query_init(&space.prepared, x, space.padded, space.tables);
	memset(&limits, 0, sizeof(limits));
	limits.eps = 3;
	factors.add[5] = 0.25f;
	factors.rescale[5] = -1;
	factors.error[5] = 1;
	hy_code_score(&space.prepared, &blocks, &limits, estimate, lower, &mask);
	CHECK_SAME_F32(estimate[5], 0.25f);
	CHECK_SAME_F32(lower[5], 0.25f);

	/* queries that say nothing */
	for (i = 0; i < 4; i++)
	{
		float values[4] = {0.0f, 1e-40f, INFINITY, NAN};
		int j;

		for (j = 0; j < space.padded; j++)
			x[j] = i == 0 || j == 77 || i == 1 ? values[i] : 1;
		hy_code_query_init(&space.prepared, x, space.padded, space.tables);
		CHECK_SAME_F32(space.prepared.scale, 0.0f);
		CHECK_SAME_F32(space.prepared.offset, 0.0f);
		CHECK_MSG(i == 0   ? space.prepared.slack == 0
		          : i == 1 ? space.prepared.slack > 1e-39f && space.prepared.slack < 1e-37f
		                   : isinf(space.prepared.slack),
		          "%d: %g", i, (double) space.prepared.slack);
		memset(&factors, 0, sizeof(factors));
		factors.rescale[0] = -1;
		limits.threshold = -1e30f;
		limits.base = 1;
		hy_code_score(&space.prepared, &blocks, &limits, estimate, lower, &mask);
		CHECK_INT(mask & 1, i >= 2);
	}
	/* sums of four that leave fp32 */
	for (i = 0; i < space.padded; i++)
		x[i] = 3e38f;
	hy_code_query_init(&space.prepared, x, space.padded, space.tables);
	CHECK(isinf(space.prepared.slack) && space.prepared.scale == 0);
}

/* The tables of plain C compared with their definition, and their sums compared with fp64. */
static void
test_tables(void)
{
	UnitRandom random = {51};
	static uint8_t tables[768 * 4];
	float q[768];
	HyCodeQuery query;
	double most = 0;
	int t;
	int c;
	int i;

	for (i = 0; i < 768; i++)
		q[i] = (float) unit_random_gaussian(&random);
	hy_code_query_init(&query, q, 768, tables);
	for (t = 0; t < 768; t += 4)
	{
		double range = fabs(q[t]) + fabs(q[t + 1]) + fabs(q[t + 2]) + fabs(q[t + 3]);

		if (range > most)
			most = range;
	}
	CHECK_NEAR(query.scale, most / 127, 1e-7);
	for (t = 0; t < 192; t++)
	{
		for (c = 0; c < 16; c++)
		{
			double exact = 0;

			for (i = 0; i < 4; i++)
				exact += (c >> i & 1) == (q[4 * t + i] >= 0) ? fabs(q[4 * t + i]) : 0;
			CHECK_NEAR(tables[16 * t + c], exact / query.scale, 0.5001);
		}
	}
}

/*
 * Several blocks in one call, and blocks that come in pieces, give the same as one block after
 * another.
 */
static void
test_many_blocks_and_pieces(void)
{
	enum
	{
		BLOCKS = 5,
		DIMS = 2000
	};
	static Space space;
	static uint8_t codes[BLOCKS][MOST * 4 + 384];
	UnitRandom random = {61};
	float estimate[BLOCKS * ROWS];
	float lower[BLOCKS * ROWS];
	uint32_t masks[BLOCKS];
	HyCodeBlocks blocks = {.codes = codes[0],
	                       .code_stride = sizeof(codes[0]),
	                       .factors = (const HyCodeFactors *) (const void *) (codes[0] + MOST * 4),
	                       .factor_stride = sizeof(codes[0]),
	                       .count = BLOCKS,
	                       .next = codes[0]};
	HyCodeLimits limits;
	int b;
	int i;
	int j;

	space_init(&space, HY_METRIC_L2, DIMS, 1, 9);
	limits = space_limits(&space, 1.9f, (float) (space.base + DIMS));
	for (b = 0; b < BLOCKS; b++)
	{
		for (i = 0; i < ROWS; i++)
		{
			float x[MOST];
			uint8_t bits[MOST / 8];
			HyCode code;

			for (j = 0; j < DIMS; j++)
				x[j] = space.centroid[j] + (float) unit_random_gaussian(&random);
			space_encode(&space, x, bits, &code);
			hy_code_put(codes[b], (HyCodeFactors *) (void *) (codes[b] + MOST * 4), space.padded, i,
			            bits, &code);
		}
	}
	hy_code_score(&space.prepared, &blocks, &limits, estimate, lower, masks);
	for (b = 0; b < BLOCKS; b++)
	{
		uint32_t sums[ROWS] = {0};
		uint32_t expected = 0;
		float one_estimate[ROWS];
		float one_lower[ROWS];
		uint32_t mask;
		int first;

		for (first = 0; first < space.padded / 4; first += 112)
		{
			int count = space.padded / 4 - first < 112 ? space.padded / 4 - first : 112;

			hy_code_sums(&space.prepared, codes[b] + first * 16, first, count, sums);
		}
		mask = hy_code_bounds(&space.prepared, sums,
		                      (const HyCodeFactors *) (const void *) (codes[b] + MOST * 4), &limits,
		                      one_estimate, one_lower);
		CHECK_INT(mask, masks[b]);
		CHECK(memcmp(one_estimate, estimate + b * ROWS, sizeof(one_estimate)) == 0);
		CHECK(memcmp(one_lower, lower + b * ROWS, sizeof(one_lower)) == 0);
		for (i = 0; i < ROWS; i++)
			expected |= (uint32_t) !(one_lower[i] > limits.threshold) << i;
		CHECK_INT(mask, expected);
		CHECK(mask != 0 && mask != UINT32_MAX);
	}
	hy_rotation_free(&space.rotation);
}

int
main(void)
{
	UNIT_RUN(test_estimates_and_bounds);
	UNIT_RUN(test_what_tables_lose);
	UNIT_RUN(test_factors);
	UNIT_RUN(test_extremes);
	UNIT_RUN(test_tables);
	UNIT_RUN(test_many_blocks_and_pieces);
	return unit_finish();
}
