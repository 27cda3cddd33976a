/*
 * execution_error.h
 *		The error message for a forced device that could not run a task.
 */
#ifndef HYBRID_EXECUTION_ERROR_H
#define HYBRID_EXECUTION_ERROR_H

#include "postgres.h"

#include "dispatch/run/dispatcher.h"
#include "server/compat.h"

/*
 * hybrid_report_execution_error: raise an error with the value of "hybrid.execution", the reason why no
 * allowed device ran the task, and a hint. `what` completes "could not ...".
 */
pg_noreturn extern void hybrid_report_execution_error(const HyExecutor *executor,
                                                      const HyDecision *decision, const char *what);

#endif
