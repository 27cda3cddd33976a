/*
 * cost.c
 *		What a scan costs: a search before the first row, and then each row; with a sphere and no
 *		order, the store once.
 *
 * A search by codes scores the centroids of all lists, then the rows of as many lists as the recall
 * asks for (the index has measured how many rows these are), and reads the vectors of some tens of
 * rows.  Who wants more rows than it found has it go on: in the end all codes have been scored, and
 * all vectors read, in an order that is not that of the file.  Where few rows meet the conditions, only
 * the vectors of these are (scan_quals.c).  An exact scan, or one of an index without codes, reads every
 * vector before the first row.  The heap rows fetched, and the rows a filter throws away, are added by
 * the planner.
 *
 * Long vectors of a table lie in TOAST.  The functions of distances charge a sequential scan for
 * fetching them (types/distance_cost.c), but not a scan of the index, which has vectors of its own.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "index/scan/scan_quals.h"
#include "index/scan/lookup.h"
#include "index/check/index_measure.h"
#include "index/scan/settings.h"
#include "index/handler.h"

#define IMPOSSIBLE 1e100 /* not infinite: the planner subtracts costs */
#define CODE_COST 0.1    /* of a code, in distances */
#define RESCORED 32      /* vectors that a search reads */
#define SEARCHED 0.05    /* share of the rows, where the index has not measured it */

/* ScanCost: until the first row comes, and until all have. */
typedef struct ScanCost
{
	Cost first;
	Cost all;
	double pages;
} ScanCost;

static void cost_by_codes(ScanCost *cost, PlannerInfo *root, const IndexPath *path,
                          const HybridIndex *open, const HybridTree *tree, Cost distance);
static double pages_of_vectors(const IndexOptInfo *index, const HybridLayout *layout);
static Cost cost_of_pages(const IndexOptInfo *index, double pages);
static bool returns_all(const PlannerInfo *root, const IndexPath *path);
static double wanted_share(const IndexPath *path);
static void cost_exact(ScanCost *cost, const IndexPath *path, const HybridLayout *layout,
                       Cost distance, double sequential_page);
static void cost_stream(ScanCost *cost, const IndexPath *path, const HybridLayout *layout,
                        Cost distance, double sequential_page);

void
hybridcostestimate(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup,
                   Cost *total, Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *index = path->indexinfo;
	double sequential_page;
	GenericCosts generic;
	QualCost distance;
	HybridIndex open;
	HybridTree tree;
	Relation relation;
	ScanCost cost;

	/*
	 * Neither an order nor a condition is nothing that this index can give. While another index is
	 * measured, queries are to use that one.
	 */
	if ((path->indexorderbys == NIL && path->indexclauses == NIL) ||
	    (OidIsValid(hybrid_measured_index) && index->indexoid != hybrid_measured_index))
	{
		*startup = IMPOSSIBLE;
		*total = IMPOSSIBLE;
		*selectivity = 0;
		*correlation = 0;
		*pages = 0;
		return;
	}

	/* for the share of the table that a partial index holds */
	memset(&generic, 0, sizeof(generic));
	genericcostestimate(root, path, loop_count, &generic);
	get_tablespace_page_costs(index->reltablespace, NULL, &sequential_page);
	/* without root, the price of a distance is without detoasting: see types/distance_cost.c */
	cost_qual_eval(&distance, path->indexorderbys, NULL);
	if (path->indexorderbys == NIL)
		cost_qual_eval_node(&distance,
		                    (Node *) linitial_node(IndexClause, path->indexclauses)->rinfo->clause,
		                    NULL);

	relation = index_open(index->indexoid, NoLock);
	open = hybrid_index_open(relation);
	hybrid_tree_read(relation, &tree);
	index_close(relation, NoLock);

	if (path->indexorderbys == NIL)
		cost_stream(&cost, path, &open.layout, distance.per_tuple, sequential_page);
	else if (open.coded && hybrid_target_recall < 1)
	{
		cost_by_codes(&cost, root, path, &open, &tree, distance.per_tuple);
		if (!returns_all(root, path))
			cost.all += disable_cost;
	}
	else
		cost_exact(&cost, path, &open.layout, distance.per_tuple, sequential_page);

	*startup = distance.startup + cost.first;
	*total = distance.startup + cost.all + Max(index->tuples, 0) * cpu_index_tuple_cost;
	/*
	 * A path by order alone is taken for a bitmap scan of all that a partial index holds unless it
	 * selects every row.  There is none: NULL has no entry.  So heap rows are overcharged then.
	 */
	*selectivity = path->indexclauses == NIL ? 1.0 : generic.indexSelectivity;
	/* the order of distances has nothing to do with the order of the heap */
	*correlation = 0;
	*pages = cost.pages;
}

static void
cost_by_codes(ScanCost *cost, PlannerInfo *root, const IndexPath *path, const HybridIndex *open,
              const HybridTree *tree, Cost distance)
{
	const HybridLayout *layout = &open->layout;
	double rows = Max(path->indexinfo->tuples, 1), leaves = Max(tree->leaves, 1), searched, share;
	double inner_pages = leaves / layout->inner.rows + tree->height;
	double leaf_pages = rows / layout->leaf.rows + leaves / 2;
	double vector_pages = pages_of_vectors(path->indexinfo, layout);
	double wanted = rows * wanted_share(path);
	Cost all_codes = rows * distance * CODE_COST, pages_cost, all_pages_cost;
	QualCost again = {0, 0};

	searched = tree->curve_size > 0 ? hybrid_curve_rows(tree, hybrid_target_recall)
	                                : rows * SEARCHED + open->list_size;
	if (hybrid_probes > 0)
		searched = rows / leaves * hybrid_probes;
	share = Min(searched / rows, 1);
	cost->pages =
		inner_pages + leaf_pages * share + Min(Min(RESCORED, wanted), vector_pages) * layout->span;
	pages_cost = cost_of_pages(path->indexinfo, cost->pages);
	all_pages_cost = cost_of_pages(path->indexinfo, inner_pages + leaf_pages +
	                                                    Min(wanted * layout->span, vector_pages));
	cost->first = all_codes * share + leaves * distance * CODE_COST +
	              Min(RESCORED, wanted) * distance + pages_cost;
	/* the executor computes distances of what was rounded again, of the table's values */
	if (!open->lossless)
		cost_qual_eval(&again, path->indexorderbys, root);
	cost->all = cost->first + all_codes * (1 - share) + wanted * (distance + again.per_tuple) +
	            Max(all_pages_cost - pages_cost, 0);
}

/*
 * Return the price of reading so many pages of an index.  The more of them are read the more lie side by
 * side: what the planner expects of a bitmap heap scan (cost_bitmap_heap_scan).
 */
static Cost
cost_of_pages(const IndexOptInfo *index, double pages)
{
	double all = Max((double) index->pages, 1), random_page, sequential_page;

	get_tablespace_page_costs(index->reltablespace, &random_page, &sequential_page);
	pages = Min(pages, all);
	return pages * (random_page - (random_page - sequential_page) * sqrt(pages / all));
}

/* Return how many pages of an index have vectors; all, where values vary in length. */
static double
pages_of_vectors(const IndexOptInfo *index, const HybridLayout *layout)
{
	if (layout->packed)
		return index->pages;
	return Min(ceil(Max(index->tuples, 1) / layout->per_page) * layout->span,
	           Max((double) index->pages, 1));
}

/* wanted_share: of the rows, those whose vectors are read by who reads all that meet the conditions. */
static double
wanted_share(const IndexPath *path)
{
	const RelOptInfo *table = path->path.parent;
	double rows = path->path.param_info != NULL ? path->path.param_info->ppi_rows : table->rows;
	double share = rows / Max(table->tuples, 1);

	return share < HYBRID_FEW ? share : 1;
}

/*
 * returns_all: whether a scan by codes has all rows where all are wanted: none that it finds late is left
 * out, and there is memory for them.  Where some are wanted, or those of a sphere, it need not.
 */
static bool
returns_all(const PlannerInfo *root, const IndexPath *path)
{
	double memory = work_mem * 1024.0 * hybrid_scan_mem_multiplier;

	if (root->limit_tuples >= 0 || root->tuple_fraction > 0 || path->indexclauses != NIL)
		return true;
	return hybrid_iterative_scan == HYBRID_ITERATIVE_RELAXED &&
	       hybrid_lookup_memory_of_all(path->indexinfo->tuples, path->path.parent->rows) <= memory;
}

static void
cost_exact(ScanCost *cost, const IndexPath *path, const HybridLayout *layout, Cost distance,
           double sequential_page)
{
	const IndexOptInfo *index = path->indexinfo;
	double rows = Max(index->tuples, 0), seen = 0;
	int passes = 0;

	/* beside the distance, a comparison with the worst candidate kept */
	cost->first = pages_of_vectors(index, layout) * sequential_page +
	              rows * (distance + 0.5 * cpu_operator_cost);
	while (seen < rows && passes < 1000)
		seen += hybrid_scan_candidates(passes++, HYBRID_FIRST_CANDIDATES);
	if (seen < rows)
		passes +=
			(int) Min((rows - seen) / hybrid_scan_candidates(passes, HYBRID_FIRST_CANDIDATES), 1e6);
	cost->all = cost->first * Max(passes, 1);
	cost->pages = index->pages;
}

/* cost_stream: rows come as they are met. */
static void
cost_stream(ScanCost *cost, const IndexPath *path, const HybridLayout *layout, Cost distance,
            double sequential_page)
{
	const IndexOptInfo *index = path->indexinfo;

	cost->first = 0;
	cost->all =
		pages_of_vectors(index, layout) * sequential_page + Max(index->tuples, 0) * distance;
	cost->pages = index->pages;
}
