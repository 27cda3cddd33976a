/*
 * graph_trial.h
 *		A task over a random graph (graphs.h), on the fake device.
 */
#ifndef HY_TEST_GRAPH_TRIAL_H
#define HY_TEST_GRAPH_TRIAL_H

#include "plugged.h"

#include "graphs.h"

/* graph_trial: of this job, whose answer is compared with the CPU's by `check`. */
static Trial
graph_trial(GraphJob *job, void (*check)(const void *job))
{
	return (Trial){
		.task = &job->task,
		.check = check,
		.job = job,
		.answer = {{job->activation, (size_t) job->values * sizeof(double)},
	               {job->hop, (size_t) job->values * sizeof(int32_t)},
	               {job->sent,
	                job->task.u.spread.sent == NULL ? 0 : (size_t) job->values * sizeof(double)}}};
}

#endif
