/*
 * cost.c
 *		What the exact scan costs: everything before the first row.
 *
 * A pass reads every page in sequence and computes every distance.  The first pass yields the
 * nearest few hundred rows; whoever reads on pays for further passes.  The heap rows fetched, and
 * the rows a filter throws away, are added by the planner.
 *
 * Long vectors of a table lie in TOAST, whose pages the planner does not charge to a sequential
 * scan although it must read them.  So the index is charged no more pages than the table: what it
 * holds beyond that is what the other plan would read unseen.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/float.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "index/index.h"

void
hybridcostestimate(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup,
                   Cost *total, Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *index = path->indexinfo;
	GenericCosts generic;
	QualCost distance;
	double rows = Max(index->tuples, 0), charged, seq_page_cost_here, seen = 0;
	Cost pass;
	int passes = 0;

	/* There is nothing but the order of a distance that this index can give. */
	if (path->indexorderbys == NIL)
	{
		*startup = get_float8_infinity();
		*total = get_float8_infinity();
		*selectivity = 0;
		*correlation = 0;
		*pages = 0;
		return;
	}

	/* for the share of the table that a partial index holds */
	memset(&generic, 0, sizeof(generic));
	genericcostestimate(root, path, loop_count, &generic);
	get_tablespace_page_costs(index->reltablespace, NULL, &seq_page_cost_here);
	cost_qual_eval(&distance, path->indexorderbys, root);

	charged = Min((double) index->pages, Max((double) index->rel->pages, 1));
	/* beside the distance, a comparison with the worst candidate kept */
	pass = charged * seq_page_cost_here + rows * (distance.per_tuple + 0.5 * cpu_operator_cost);

	while (seen < rows && passes < 1000)
		seen += hybrid_scan_candidates(passes++);
	if (seen < rows)
		passes += (int) Min((rows - seen) / hybrid_scan_candidates(passes), 1e6);
	passes = Max(passes, 1);

	*startup = distance.startup + pass;
	*total = *startup + (passes - 1) * pass + rows * cpu_index_tuple_cost;
	*selectivity = generic.indexSelectivity;
	/* the order of distances has nothing to do with the order of the heap */
	*correlation = 0;
	*pages = index->pages;
}
