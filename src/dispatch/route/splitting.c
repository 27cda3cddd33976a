/*
 * splitting.c
 *		Splits a task between a device and the CPU: see splitting.h.
 */
#include "dispatch/route/splitting.h"

#include "dispatch/model/slice.h"
#include "dispatch/route/able.h"
#include "dispatch/route/gauge.h"
#include "dispatch/route/session.h"

#define SPLIT_GAIN 0.9
#define SPLIT_ASKED_GAIN 0.95
#define SPLIT_FROM_NS 1e6 /* a shorter task is split only if the user asked for a split */
#define SPLIT_JOIN_NS 5e4
#define SPLIT_STEPS 12

static double
part_ns(const HyExecutor *executor, const HyShape *shape, int32_t device, double part);

void
hy_consider_split(HyExecutor *executor, const HyShape *shape, bool asked_for, HyChoice *choice)
{
	const HyMember *member = &executor->member[choice->candidate];
	bool fixed = executor->config.split_percent >= 0;
	double gain = asked_for ? SPLIT_ASKED_GAIN : SPLIT_GAIN;
	bool known = choice->device_ns >= 0 && choice->cpu_ns >= 0;
	double better = choice->device_ns < choice->cpu_ns ? choice->device_ns : choice->cpu_ns;
	double low = 0;
	double high = 1;
	double device_ns;
	double cpu_ns;
	int i;

	if (!executor->cuts || !hy_cpu_able(executor, shape) || hy_shape_extent(shape) < 2)
		return;
	/*
	 * A closed device is opened only if rule 9 tries it, which means that its ski rental is paid.
	 */
	if (member->device == NULL && choice->reason != HY_REASON_EXPLORATION)
		return;
	if (!asked_for && (!known || better < SPLIT_FROM_NS))
		return;
	if (asked_for && (hy_tracker_forecast(executor->tracker, shape, choice->candidate).cold ||
	                  hy_gauge_forecast(executor, shape, 0).cold))
		known = false;
	/*
	 * even if the times of CPU and device fell in proportion to their parts, the gain would be too
	 * small
	 */
	if (known && !fixed &&
	    choice->device_ns * choice->cpu_ns / (choice->device_ns + choice->cpu_ns) > gain * better)
		return;
	choice->share = 0.5;
	if (known)
	{
		for (i = 0; i < SPLIT_STEPS; i++)
		{
			double part = (low + high) / 2;

			if (part_ns(executor, shape, choice->candidate, part) >
			    part_ns(executor, shape, 0, 1 - part))
				high = part;
			else
				low = part;
		}
		choice->share = (low + high) / 2;
	}
	if (fixed)
		choice->share = executor->config.split_percent / 100.0;
	device_ns = part_ns(executor, shape, choice->candidate, choice->share);
	cpu_ns = part_ns(executor, shape, 0, 1 - choice->share);
	if (device_ns >= 0 && cpu_ns >= 0)
		choice->split_ns = SPLIT_JOIN_NS + (device_ns > cpu_ns ? device_ns : cpu_ns);
	choice->split = (asked_for && (fixed || !known)) ||
	                (choice->split_ns >= 0 && choice->split_ns <= gain * better);
}

/*
 * part_ns: return the predicted time of a device (0: the CPU) for a part of a task, < 0 if not
 * known.
 */
static double
part_ns(const HyExecutor *executor, const HyShape *shape, int32_t device, double part)
{
	int64_t rows = (int64_t) ((double) hy_shape_extent(shape) * part + 0.5);
	HyShape piece = hy_shape_slice(shape, rows);

	if (rows <= 0)
		return 0;
	return hy_side_ns(executor, &piece, device);
}
