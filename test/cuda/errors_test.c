/*
 * errors_test.c
 *		Checks hy_cuda_status against a second list of CUDA's errors, written by number from the
 *		runtime's documentation.
 */
#include "unit.h"

#include "cuda/errors.h"

static void
each_number_has_its_status(void)
{
	/*
	 * errors after which 'the process must be terminated', according to the runtime's documentation
	 */
	static const int for_good[] = {700, 702, 710, 714, 715, 716, 717, 718, 719, 721, 810};
	static const struct
	{
		int number;
		HyStatus status;
	} others[] = {
		{0, HY_OK},
		{2, HY_NOMEM},
		{701, HY_NOMEM},
		{3, HY_PROCESS_LOST},   /* in a fork */
		{214, HY_PROCESS_LOST}, /* uncorrectable memory error */
		{220, HY_PROCESS_LOST},
		{709, HY_CONTEXT_LOST},
		{201, HY_CONTEXT_LOST},
		{35, HY_DEVICE_GONE},  /* driver missing or too old */
		{100, HY_DEVICE_GONE}, /* no device */
		{101, HY_DEVICE_GONE},
		{209, HY_DEVICE_GONE}, /* no code for this architecture */
		{34, HY_DEVICE_GONE},
		{803, HY_DEVICE_GONE},
		{804, HY_DEVICE_GONE},
		{46, HY_BUSY}, /* exclusive mode */
		{802, HY_TRANSIENT},
		{999, HY_TRANSIENT},
		{909, HY_TIMEOUT},
		{1, HY_BUG},
		{600, HY_BUG},
		{12345, HY_TRANSIENT}, /* an error of a future runtime */
	};
	size_t i;

	for (i = 0; i < sizeof(for_good) / sizeof(for_good[0]); i++)
		CHECK_MSG(hy_cuda_status((cudaError_t) for_good[i]) == HY_PROCESS_LOST, "%d", for_good[i]);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK_MSG(hy_cuda_status((cudaError_t) others[i].number) == others[i].status, "%d is '%s'",
		          others[i].number, hy_status_name(hy_cuda_status((cudaError_t) others[i].number)));
}

int
main(void)
{
	UNIT_RUN(each_number_has_its_status);
	return unit_finish();
}
