/*
 * explain_scans.c
 *		Shows in EXPLAIN ANALYZE what the scans of hybrid indexes have read.
 *
 * A scan reports its work when it ends or is started again (last_scan.c). While EXPLAIN ANALYZE runs a statement, the
 * work is added up for each index, and shown after the plan. Scans in parallel workers do not count, since their counts
 * stay in the workers. Only the text format shows a line, because in the other formats the plan is an object that is
 * closed by then.
 */
#include "postgres.h"

#include <math.h>

#include "utils/lsyscache.h"
#include "utils/memutils.h"

#include "server/compat.h"

#include "index/scan/explain_scans.h"

/* ScanTotals: the work of all scans of one index in one statement. */
typedef struct ScanTotals
{
	Oid index;
	int64 scans;
	int64 estimated; /* scans that have an expected recall */
	double expected; /* sum of these */
	HybridLookupWork work;
} ScanTotals;

/* Statement: a statement that EXPLAIN ANALYZE runs. */
typedef struct Statement
{
	MemoryContext context;
	List *totals; /* of ScanTotals, in the order of the first ends of scans */
} Statement;

static ExplainOneQuery_hook_type next_explain = NULL;
static Statement *running = NULL; /* NULL: none */

static void explain(Query *query, int cursor_options, IntoClause *into, ExplainState *es,
                    const char *text, ParamListInfo params, QueryEnvironment *environment);
static void show(const Statement *statement, ExplainState *es);

void
hybrid_explain_init(void)
{
	next_explain = ExplainOneQuery_hook != NULL ? ExplainOneQuery_hook : standard_ExplainOneQuery;
	ExplainOneQuery_hook = explain;
}

void
hybrid_explain_add(const HybridScanDone *done)
{
	ScanTotals *totals = NULL;
	ListCell *cell;

	if (running == NULL)
		return;
	foreach (cell, running->totals)
	{
		if (((ScanTotals *) lfirst(cell))->index == done->index)
			totals = lfirst(cell);
	}
	if (totals == NULL)
	{
		MemoryContext old = MemoryContextSwitchTo(running->context);

		totals = palloc0(sizeof(ScanTotals));
		totals->index = done->index;
		running->totals = lappend(running->totals, totals);
		MemoryContextSwitchTo(old);
	}
	totals->scans++;
	totals->work.lists += done->work.lists;
	totals->work.rows += hybrid_scan_scored(done);
	totals->work.rescored += done->work.rescored;
	totals->work.excluded += done->work.excluded;
	if (!isnan(done->expected))
	{
		totals->estimated++;
		totals->expected += done->expected;
	}
}

static void
explain(Query *query, int cursor_options, IntoClause *into, ExplainState *es, const char *text,
        ParamListInfo params, QueryEnvironment *environment)
{
	Statement statement = {CurrentMemoryContext, NIL}, *outer = running;

	running = es->analyze ? &statement : NULL;
	PG_TRY();
	{
		next_explain(query, cursor_options, into, es, text, params, environment);
	}
	PG_FINALLY();
	{
		running = outer;
	}
	PG_END_TRY();
	if (es->summary && es->format == EXPLAIN_FORMAT_TEXT)
		show(&statement, es);
}

/* show: write a line for each index. */
static void
show(const Statement *statement, ExplainState *es)
{
	ListCell *cell;

	foreach (cell, statement->totals)
	{
		const ScanTotals *totals = lfirst(cell);
		const char *name = get_rel_name(totals->index);
		StringInfoData line;

		initStringInfo(&line);
		appendStringInfo(&line,
		                 "scans=" INT64_FORMAT " lists=" INT64_FORMAT " scored=" INT64_FORMAT
		                 " rescored=" INT64_FORMAT " excluded=" INT64_FORMAT,
		                 totals->scans, totals->work.lists, totals->work.rows,
		                 totals->work.rescored, totals->work.excluded);
		if (totals->estimated > 0)
			appendStringInfo(&line, " expected recall=%.3f", totals->expected / totals->estimated);
		ExplainPropertyText(psprintf("Read from %s", name != NULL ? name : "an index"), line.data,
		                    es);
	}
}
