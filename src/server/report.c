/*
 * report.c
 *		Report a HyStatus with ereport, and provide query cancel as a HyCancel.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "server/compat.h"
#include "server/report.h"

static bool cancel_requested(void *arg);

const HyCancel hybrid_cancel = {cancel_requested, NULL};

void
hybrid_check(HyStatus status, const char *what)
{
	switch (status)
	{
		case HY_OK:
			return;
		case HY_CANCELLED:
			CHECK_FOR_INTERRUPTS();
			ereport(ERROR, (errcode(ERRCODE_QUERY_CANCELED),
			                errmsg("canceling statement due to user request")));
			break;
		case HY_NOMEM:
			ereport(ERROR, (errcode(ERRCODE_OUT_OF_MEMORY), errmsg("could not %s", what),
			                errdetail("Out of memory.")));
			break;
		case HY_QUOTA:
			ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED), errmsg("could not %s", what),
			                errdetail("A limit was reached.")));
			break;
		case HY_UNSUPPORTED:
			ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED), errmsg("could not %s", what),
			                errdetail("No backend supports it.")));
			break;
		default:
			break;
	}
	elog(ERROR, "could not %s: %s", what, hy_status_name(status));
}

HyMetric
hybrid_parse_metric(const char *name)
{
	return (HyMetric) hybrid_parse_word(HY_WORDS_METRIC, name);
}

int
hybrid_parse_word(HyWords kind, const char *name)
{
	static const char *const one[] = {"operation", "metric", "type"};
	static const char *const many[] = {"Operations", "Metrics", "Types"};
	int value = hy_word_read(kind, name, strlen(name));
	char list[HY_WORDS_LENGTH];

	Assert(kind < lengthof(one));

	if (value < 0)
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("unknown %s \"%s\"", one[kind], name),
		         errhint("%s are %s.", many[kind], hy_words_list(kind, "\"", " and ", list))));
	return value;
}

/*
 * cancel_requested: test whether CHECK_FOR_INTERRUPTS would raise an error now.  Other pending interrupts (a
 * barrier, a config reload) must not end the query.
 */
static bool
cancel_requested(void *arg)
{
	(void) arg;
	return InterruptPending &&
	       (QueryCancelPending || ProcDiePending || hybrid_other_end_pending()) &&
	       InterruptHoldoffCount == 0 && QueryCancelHoldoffCount == 0 && CritSectionCount == 0;
}
