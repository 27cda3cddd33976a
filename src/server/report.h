/*
 * report.h
 *		A HyStatus as an ereport, and query cancel as a HyCancel.
 */
#ifndef HYBRID_REPORT_H
#define HYBRID_REPORT_H

#include "postgres.h"

#include "core/batch.h"
#include "core/cancel.h"
#include "core/status.h"
#include "dispatch/words.h"

/* hybrid_cancel: true when a cancel or a terminate is pending; raises nothing. */
extern const HyCancel hybrid_cancel;

/*
 * hybrid_check: returns on HY_OK, else raises.  what completes "could not ...", e.g. "spread
 * activation"; HY_CANCELLED runs CHECK_FOR_INTERRUPTS().
 */
extern void hybrid_check(HyStatus status, const char *what);

/* hybrid_parse_word: what an argument's word stands for, else an error that lists those there are. */
extern int hybrid_parse_word(HyWords kind, const char *name);

/* hybrid_parse_metric: 'l2', 'ip', 'cosine' or 'l1', else an error that lists them. */
extern HyMetric hybrid_parse_metric(const char *name);

#endif
