/*
 * progress.c
 *		Reports the progress of a long call: see progress.h.
 */
#include "postgres.h"

#include "knn/progress.h"
#include "server/executor.h"

#define FIRST_NS (UINT64CONST(5) * 1000 * 1000 * 1000)

static uint64 now_ns(void);

void
hybrid_progress_begin(HybridProgress *progress, const char *what)
{
	progress->what = what;
	progress->began_ns = now_ns();
	progress->next_ns = progress->began_ns + FIRST_NS;
	progress->from = 0;
	progress->to = 1;
	progress->share = 0;
}

void
hybrid_progress_range(HybridProgress *progress, double from, double to)
{
	progress->from = from;
	progress->to = to;
}

void
hybrid_progress_update(HybridProgress *progress, double share)
{
	uint64 now = now_ns();
	double passed;
	double left;

	if (share >= 0)
		progress->share =
			Max(progress->share, progress->from + share * (progress->to - progress->from));
	if (now < progress->next_ns)
		return;
	passed = (double) (now - progress->began_ns) / 1e9;
	while (progress->next_ns <= now)
		progress->next_ns += progress->next_ns - progress->began_ns;
	if (progress->share <= 0)
	{
		ereport(NOTICE, (errmsg("%s has run for %.0f s", progress->what, passed)));
		return;
	}
	left = passed * (1 - progress->share) / progress->share;
	ereport(NOTICE, (errmsg("%s has run for %.0f s and done %.0f%%, about %.0f s are left",
	                        progress->what, passed, 100 * progress->share, left)));
}

static uint64
now_ns(void)
{
	const HyClock *clock = hybrid_clock();

	return clock->now(clock->arg);
}
