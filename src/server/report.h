/*
 * report.h
 *		Report a HyStatus with ereport, and provide query cancel as a HyCancel.
 */
#ifndef HYBRID_REPORT_H
#define HYBRID_REPORT_H

#include "postgres.h"

#include "core/batch.h"
#include "core/cancel.h"
#include "core/status.h"
#include "dispatch/tools/words.h"

/* hybrid_cancel: tells pure code whether a query cancel or a termination is pending. Raises nothing. */
extern const HyCancel hybrid_cancel;

/*
 * hybrid_check: return on HY_OK, else raise.  `what` completes "could not ...", e.g. "spread activation".
 * HY_CANCELLED runs CHECK_FOR_INTERRUPTS().
 */
extern void hybrid_check(HyStatus status, const char *what);

/*
 * hybrid_parse_word: return the value of a keyword of this kind. If `name` is not such a keyword, raises an
 * error that lists the valid ones.
 */
extern int hybrid_parse_word(HyWords kind, const char *name);

/*
 * hybrid_parse_metric: return the metric named 'l2', 'ip', 'cosine' or 'l1'.  Raises an error for any other
 * name.
 */
extern HyMetric hybrid_parse_metric(const char *name);

#endif
