/*
 * kmeans_split_test.c
 *		Rows split in two: balanced halves by the nearer centroid, also for equal rows.
 */
#include "kmeans_stage.h"

/* check_split: check that both shares are large enough.  Returns the rows of the second side. */
static int64_t
check_split(const HyMatrix *rows, double share, uint64_t seed, float *centroids, uint8_t *side)
{
	int64_t sizes[2] = {0, 0};
	int64_t least = (int64_t) (share * (double) rows->rows);
	int64_t i;

	CHECK_INT(hy_kmeans_split(rows, share, seed, &hy_malloc_allocator, NULL, centroids, side),
	          HY_OK);
	for (i = 0; i < rows->rows; i++)
	{
		CHECK(side[i] <= 1);
		sizes[side[i] & 1]++;
	}
	least = least > 1 ? least : 1;
	CHECK_MSG(sizes[0] >= least && sizes[1] >= least, "%lld and %lld of %lld", (long long) sizes[0],
	          (long long) sizes[1], (long long) rows->rows);
	return sizes[1];
}

static void
test_split(void)
{
	enum
	{
		ROWS = 1000
	};
	static uint8_t side[ROWS];
	static uint8_t again[ROWS];
	static float values[ROWS * DIMS];
	float centroids[2 * DIMS];
	float centroids_again[2 * DIMS];
	UnitRandom random = {76};
	HyMatrix rows = matrix(values, ROWS, DIMS);
	int share;
	int i;
	int d;

	/* two places, the first with so many percent of the rows */
	for (share = 1; share <= 99; share += 7)
	{
		int first = ROWS * share / 100;
		int64_t ones;
		int64_t other = 0;

		for (i = 0; i < ROWS; i++)
		{
			for (d = 0; d < DIMS; d++)
				values[i * DIMS + d] = (i < first ? 5.0f : -5.0f) + unit_random_float(&random);
		}
		ones = check_split(&rows, 0.25, 7, centroids, side);
		for (i = 0; i < ROWS; i++)
			other += side[i] != side[first > ROWS / 2 ? 0 : ROWS - 1];
		/*
		 * The smaller place is whole, and no more than must be comes to it; one of ten rows may not
		 * be seen.
		 */
		if (share >= 25 && share <= 75)
			CHECK_MSG(other == (first > ROWS / 2 ? ROWS - first : first),
			          "%d%%: %lld rows of the other side", share, (long long) other);
		else if (share > 1 && share < 99)
			CHECK_MSG(other == ROWS / 4, "%d%%: %lld rows of the other side", share,
			          (long long) other);
		CHECK(ones >= ROWS / 4 && ones <= ROWS - ROWS / 4);
		CHECK_INT(
			hy_kmeans_split(&rows, 0.25, 7, &hy_malloc_allocator, NULL, centroids_again, again),
			HY_OK);
		CHECK(memcmp(side, again, sizeof(side)) == 0);
		CHECK(memcmp(centroids, centroids_again, sizeof(centroids)) == 0);
		/* the centroids are the means of their sides */
		for (d = 0; d < 2 * DIMS; d++)
		{
			double sum = 0;
			double n = 0;

			for (i = 0; i < ROWS; i++)
			{
				if (side[i] == d / DIMS)
				{
					sum += (double) values[i * DIMS + d % DIMS];
					n++;
				}
			}
			CHECK_NEAR(centroids[d], sum / n, 1e-4);
		}
	}
	/* no limit: by what is nearer only, one row against all others too */
	for (i = 0; i < ROWS * DIMS; i++)
		values[i] = i / DIMS == 17 ? 100 : unit_random_float(&random);
	check_split(&rows, 0.0, 3, centroids, side);
	for (i = 0; i < ROWS; i++)
		CHECK_INT(side[i] == side[17], i == 17);
}

static void
test_split_of_equal_rows(void)
{
	static uint8_t side[1001];
	static float values[1001 * DIMS];
	float centroids[2 * DIMS];
	HyMatrix rows = matrix(values, 1001, DIMS);
	int i;

	for (i = 0; i < 1001 * DIMS; i++)
		values[i] = 0.1f;
	rows.rows = 1001;
	CHECK_INT(check_split(&rows, 0.25, 1, centroids, side), 501);
	for (i = 0; i < 2 * DIMS; i++)
		CHECK_NEAR(centroids[i], 0.1, 1e-6);
	/* all but one alike: that one has the others of its side to thank */
	values[500 * DIMS] = 7;
	check_split(&rows, 0.25, 1, centroids, side);
	for (rows.rows = 2; rows.rows < 10; rows.rows++)
		check_split(&rows, 0.25, 1, centroids, side);
	/* two that differ are parted */
	values[DIMS] = 7;
	rows.rows = 2;
	check_split(&rows, 0.5, 1, centroids, side);
	CHECK(side[0] != side[1]);
	/* squares that are infinite */
	for (i = 0; i < 1001 * DIMS; i++)
		values[i] = i % 3 == 0 ? 3e38f : -3e38f;
	rows.rows = 1001;
	check_split(&rows, 0.5, 1, centroids, side);

	rows.rows = 1;
	CHECK_INT(hy_kmeans_split(&rows, 0.25, 1, &hy_malloc_allocator, NULL, centroids, side),
	          HY_INVALID);
	rows.rows = 2;
	CHECK_INT(hy_kmeans_split(&rows, 0.6, 1, &hy_malloc_allocator, NULL, centroids, side),
	          HY_INVALID);
	CHECK_INT(hy_kmeans_split(&rows, (double) NAN, 1, &hy_malloc_allocator, NULL, centroids, side),
	          HY_INVALID);
}

int
main(void)
{
	UNIT_RUN(test_split);
	UNIT_RUN(test_split_of_equal_rows);
	return unit_finish();
}
