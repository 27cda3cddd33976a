/*
 * filter_round_test.c
 *		Checks that the rounding error that the kernel reports is the actual one, for rows and
 *		queries of every magnitude.
 */
#include "kinds.h"

#include "cuda/filter_launch.h"

#define COUNT 20

/* Form: kinds of vectors in addition to those of kinds.h. */
typedef enum Form
{
	AS_DRAWN, /* by kind */
	LENGTHS,  /* each vector has its own magnitude */
	EDGES,    /* elements near powers of two, where rounding reaches the next power */
	HALFWAY,  /* elements halfway between two bfloat16 values */
	DEEP,     /* elements of very different magnitudes */
	ALONE,    /* one element and zeros */
	BOUNDS,   /* lengths near the shortest and the longest that have a bound */
	FORMS
} Form;

static int64_t compared;
static int64_t bounded;

static void
form_vector(Form form, Kind kind, float *x, int32_t dims)
{
	float size = ldexpf(1, (int) unit_random_below(&randomness, 60) - 30);
	float edge = ldexpf(1, unit_random_below(&randomness, 2) ? 49 : -50);
	int32_t alone = (int32_t) unit_random_below(&randomness, (uint64_t) dims);
	int32_t i;

	for (i = 0; i < dims; i++)
	{
		float value = unit_random_float(&randomness);
		float sign = value < 0 ? -1 : 1;

		switch (form)
		{
			case LENGTHS:
				x[i] = value * size;
				break;
			case EDGES:
				x[i] = sign * size * (unit_random_below(&randomness, 2) ? 0x1.fffffep-1f : 1);
				break;
			case HALFWAY:
				x[i] = sign * size * (1 + 0x1p-8f * (1 + 2 * (float) (i % 5)));
				break;
			case DEEP:
				x[i] = value * size * ldexpf(1, -(int) unit_random_below(&randomness, 60));
				break;
			case ALONE:
				x[i] = i == alone ? value * size : 0;
				break;
			case BOUNDS:
				x[i] = value * edge;
				break;
			default:
				x[i] = draw(kind);
				break;
		}
	}
}

/* element: return the value of a rounded element. */
static double
element(uint16_t bits)
{
	uint32_t wide = (uint32_t) bits << 16;
	float value;

	memcpy(&value, &wide, sizeof(value));
	return (double) value;
}

/*
 * check_vector: check the rounded elements.  Returns the length of the rounding error; *whole is
 * the length of x.
 */
static double
check_vector(const float *x, int32_t dims, const uint16_t *rounded, int32_t padded, double *whole)
{
	/* half a place */
	double off = 0x1p-8;
	double least = 0x1p-126;
	double rest = 0;
	int32_t i;

	*whole = 0;
	for (i = 0; i < padded; i++)
	{
		double kept = element(rounded[i]);
		double value = i < dims ? (double) x[i] : 0;
		double lost = value - kept;

		CHECK(isfinite(kept) && (kept == 0 || fabs(kept) >= least));
		CHECK_MSG(fabs(lost) <= (kept == 0 ? least : fabs(value) * off), "%a became %a", value,
		          kept);
		rest += lost * lost;
		*whole += value * value;
		compared++;
	}
	*whole = sqrt(*whole);
	return sqrt(rest);
}

/* check_form: check the same vectors as queries and as rows. */
static void
check_form(Form form, Kind kind, int32_t dims)
{
	int32_t padded = (dims + HY_CUDA_TILE_DIMS - 1) / HY_CUDA_TILE_DIMS * HY_CUDA_TILE_DIMS;
	size_t bytes = (size_t) COUNT * (size_t) dims * sizeof(float);
	size_t rounded_bytes = (size_t) HY_CUDA_TILE * (size_t) padded * sizeof(uint16_t);
	float *x = malloc(bytes);
	uint16_t *rounded = malloc(rounded_bytes);
	HyCudaAim aim[HY_CUDA_TILE];
	HyCudaReach reach[HY_CUDA_TILE];
	HyCudaRound round = {.stride = (int64_t) ((size_t) dims * sizeof(float)),
	                     .count = COUNT,
	                     .room = HY_CUDA_TILE,
	                     .dims = dims,
	                     .padded = padded};
	cudaStream_t stream;
	void *room[4];
	const char *fault;
	int i;

	for (i = 0; i < COUNT; i++)
		form_vector(form, kind, x + (size_t) i * (size_t) dims, dims);
	memset(rounded, 0x7f, rounded_bytes);
	memset(aim, 0x7f, sizeof(aim));
	memset(reach, 0x7f, sizeof(reach));
	CHECK_INT(cudaStreamCreateWithFlags(&stream, 0), cudaSuccess);
	room[0] = to_device(x, bytes, stream);
	room[1] = to_device(rounded, rounded_bytes, stream);
	room[2] = to_device(aim, sizeof(aim), stream);
	room[3] = to_device(reach, sizeof(reach), stream);
	round.rows = room[0];
	round.rounded = room[1];
	round.reach = room[3];
	CHECK_INT(hy_cuda_launch_round(HY_METRIC_IP, HY_F32, &round, stream), cudaSuccess);
	round.reach = NULL;
	round.aim = room[2];
	CHECK_INT(hy_cuda_launch_round(HY_METRIC_IP, HY_F32, &round, stream), cudaSuccess);
	CHECK_INT(cudaMemcpyAsync(rounded, room[1], rounded_bytes, cudaMemcpyDeviceToHost, stream),
	          cudaSuccess);
	CHECK_INT(cudaMemcpyAsync(aim, room[2], sizeof(aim), cudaMemcpyDeviceToHost, stream),
	          cudaSuccess);
	CHECK_INT(cudaMemcpyAsync(reach, room[3], sizeof(reach), cudaMemcpyDeviceToHost, stream),
	          cudaSuccess);
	CHECK_INT(cudaStreamSynchronize(stream), cudaSuccess);
	fault = hy_fake_fault();
	CHECK_MSG(fault == NULL, "%s", fault);

	for (i = 0; i < COUNT; i++)
	{
		double rest;
		double whole;

		if (aim[i].kind != HY_CUDA_BOUNDED)
		{
			CHECK(aim[i].kind == HY_CUDA_UNBOUNDED && isinf(reach[i].shift));
			continue;
		}
		bounded++;
		rest = check_vector(x + (size_t) i * (size_t) dims, dims,
		                    rounded + (size_t) i * (size_t) padded, padded, &whole);
		CHECK_MSG((double) aim[i].rest >= rest &&
		              (double) aim[i].rest <= rest * 1.0001 + whole * 1e-9,
		          "form %d, dims %d: %g is missing, said to be %g", (int) form, (int) dims, rest,
		          (double) aim[i].rest);
		CHECK((double) aim[i].length >= whole && (double) aim[i].length <= whole * 1.0001);
		CHECK(reach[i].factor == 1);
		CHECK((double) reach[i].reach >= rest && (double) reach[i].rough >= whole);
	}
	/* the vectors that fill up the tile are 0 */
	for (i = COUNT * padded; i < HY_CUDA_TILE * padded; i++)
		CHECK_INT(rounded[i], 0);
	for (i = 0; i < 4; i++)
		cudaFree(room[i]);
	cudaStreamDestroy(stream);
	free(x);
	free(rounded);
}

static void
what_is_missing_is_measured(void)
{
	static const int32_t dims[] = {1, 2, 31, 33, 64, 1025};
	int64_t before = bounded;
	size_t d;
	int form;
	int kind;

	for (d = 0; d < sizeof(dims) / sizeof(dims[0]); d++)
	{
		for (form = LENGTHS; form < FORMS; form++)
			check_form((Form) form, KIND_PLAIN, dims[d]);
		for (kind = 0; kind < KIND_COUNT; kind++)
			check_form(AS_DRAWN, (Kind) kind, dims[d]);
	}
	printf("# %lld vectors have a bound\n", (long long) (bounded - before));
	CHECK(bounded - before > 800);
}

int
main(void)
{
	hy_fake_reset();
	UNIT_RUN(what_is_missing_is_measured);
	printf("# %lld compared, %d left allocated\n", (long long) compared, hy_fake_live());
	return unit_finish();
}
