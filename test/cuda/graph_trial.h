/*
 * graph_trial.h
 *		Makes a Trial (plugged.h) of a task over a random graph (graphs.h).
 */
#ifndef HY_TEST_GRAPH_TRIAL_H
#define HY_TEST_GRAPH_TRIAL_H

#include "plugged.h"

#include "graphs.h"

/* graph_trial: return the trial of a job. `check` compares the job's answer with the CPU's. */
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
