/*
 * forced.h
 *		What a user is told who forced a device that could not serve.
 */
#ifndef HYBRID_FORCED_H
#define HYBRID_FORCED_H

#include "postgres.h"

#include "dispatch/dispatcher.h"

/*
 * hybrid_report_forced: raises; says what "hybrid.execution" is, why no device that it allows has
 * answered, and what to do.  what completes "could not ...".
 */
extern void hybrid_report_forced(const HyExecutor *executor, const HyDecision *decision,
                                 const char *what) pg_attribute_noreturn();

#endif
