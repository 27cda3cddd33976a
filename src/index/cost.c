/*
 * cost.c
 *		Cost of a scan. A scan by distance searches before it returns the first row. A scan with a
 *		sphere and no order reads the store once.
 *
 * A search with codes scores the centroids of all lists, then the rows of as many lists as the recall
 * requires. The recall curve of the index says how many rows these are. The search also reads the
 * vectors of a few dozen rows. If the caller wants more rows, the search goes on. When it has returned
 * all rows, it has scored all codes and read all vectors, though not in file order. If few rows satisfy
 * the conditions, only the vectors of these rows are read (scan_quals.c). An exact scan by distance
 * reads, before the first row, every vector that the conditions on words do not exclude. In an index on
 * sparse vectors, it reads the inverted lists instead. The planner adds the cost of fetching heap rows
 * and of rows that a filter removes.
 *
 * Long vectors of a table are in TOAST. The distance functions charge a sequential scan for fetching
 * them (types/distance_cost.c). They do not charge an index scan, because the index has its own
 * vectors. The scan of an index on arrays reads some arrays from the table, which cost_documents
 * charges.
 *
 * Conditions on keys and included columns are checked by comparing words (core/filter_words.h). In this
 * file, such conditions are said to judge rows.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/xlog.h"
#include "miscadmin.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/selfuncs.h"
#include "utils/spccache.h"

#include "server/compat.h"
#include "server/row_estimate.h"

#include "index/scan/included_quals.h"
#include "index/scan/scan_quals.h"
#include "index/scan/documents.h"
#include "index/scan/lookup.h"
#include "index/scan/stopping.h"
#include "index/check/index_measure.h"
#include "index/scan/settings.h"
#include "index/write/segments.h"
#include "index/handler.h"

#define IMPOSSIBLE 1e100 /* used instead of infinity, because the planner subtracts costs */
#define CODE_COST 0.1    /* cost of scoring one code, in distances */
#define RESCORED 32      /* number of vectors that a search reads */
/*
 * cost of checking the words of one row, in cpu_operator_cost. (One condition takes 14 instructions per
 * row in an index, = ANY of four values takes 17, and an additional operator in a sequential scan takes
 * 53.)
 */
#define WORD_COST 0.3
/*
 * Number of rows that a search examines for each row that is near enough to be returned but excluded by
 * conditions on words. This number varies: searches go through nearly all lists if clusters have fewer
 * rows than must be examined, and through few lists in other tables. With this value, a btree index on
 * the column is chosen if few rows satisfy the condition. (Data of bench/include.sh, 200,000 rows of 64
 * dimensions, 33 conditions that .01% to 10% of the rows satisfy: where 1% of the rows satisfy the
 * condition, searches examine 3 to 136 rows for each excluded one. The index that the planner chooses
 * takes at most twice as long as the faster index for 25 of the conditions if PER_EXCLUDED is 0, for 26
 * if it is 3, for 28 if it is 10, and for 29 if it is 30 or 100. With 300, one of 15 conditions for
 * .01% to 50% of the rows takes 54 times as long.)
 */
#define PER_EXCLUDED 30
/*
 * Assumptions about a search in an index on arrays: lists examined for each vector of the query, and
 * entries found. The fewer documents satisfy the conditions, the more lists are examined. (20,000
 * documents of 20 vectors of 64 dimensions, queries of 8, LIMIT 10: 160 lists if a share of .3 or .05
 * of the documents satisfies the conditions, and 672 if it is .01. In an index with 52 keys: 672 lists
 * without a condition on the key.)
 */
#define QUERY_LISTS 80
#define QUERY_ENTRIES 256
#define PER_WANTED 4       /* minimum number of entries found for each document wanted */
#define DOCUMENTS 50       /* number of documents that such a search compares */
#define PER_DOCUMENT 10    /* number of further documents compared for each document wanted */
#define CODE_DISTANCE 0.05 /* cost of scoring one code, in cpu_operator_cost */
/*
 * Cost of finding one entry, its vector and its document, in cpu_operator_cost. (1 us in the searches
 * above, where comparing a document with a query of 32 vectors takes 25 us.)
 */
#define ENTRY_COST 40
#define WANTED 10 /* rows wanted if the query has no LIMIT */
/*
 * In an index on sparse vectors: share of the pages that a pass by inverted lists reads, and cost of
 * the pass per row, in distances. (50,000 rows of 120 elements, queries of 40: 1,740 of 9,400 pages,
 * and 1/70 of the time of a distance.)
 */
#define POSTINGS_PAGES 0.2
#define POSTINGS_ROW 0.02
/*
 * Share of the rows that a search is assumed to score while the index has no measured curve.
 * hybrid_stopping_least_rows applies if it is more. (10,000 rows of 32 dimensions that were inserted
 * into an empty index: searches score 2,662 rows, and the planner expects 2,500.)
 */
#define SEARCHED 0.05

/*
 * ScanCost: cost until the first row is returned, cost until all rows are returned, pages read, and the
 * shares of the rows on which the costs depend.
 */
typedef struct ScanCost
{
	Cost first;
	Cost all;
	double pages;
	double judged; /* share of the rows that satisfy the conditions on words */
	double key;    /* share of the rows that satisfy the conditions on the first key */
	/* share of the rows that are in lists whose bounds include wanted values of the first key */
	double reach;
} ScanCost;

static Selectivity selectivity_of(PlannerInfo *root, const IndexPath *path, List *spheres,
                                  Selectivity all, double judged);
static List *sphere_conditions(const IndexPath *path);
static double
judged_share(PlannerInfo *root, const IndexPath *path, const HybridIndex *open, int columns);
static Cost cost_of_rows(PlannerInfo *root, const IndexPath *path, double rows,
                         const HybridScanSettings *settings);
static void
cost_by_codes(ScanCost *cost, PlannerInfo *root, const IndexPath *path, const HybridIndex *open,
              const HybridTree *tree, Cost distance, double target_recall);
static double reach_of(double key, const HybridTree *tree, const HybridIndex *open);
static double rows_examined(const ScanCost *cost, PlannerInfo *root, const IndexPath *path,
                            const HybridIndex *open, const HybridTree *tree, double target_recall);
static double keys_searched(const ScanCost *cost, PlannerInfo *root, const IndexPath *path,
                            const HybridIndex *open);
static double pages_of_vectors(const IndexOptInfo *index, const HybridLayout *layout);
static Cost cost_of_pages(const IndexOptInfo *index, double pages);
static bool returns_all(const PlannerInfo *root, const IndexPath *path, const HybridIndex *open,
                        const HybridScanSettings *settings);
static double wanted_share(const IndexPath *path);
static void cost_exact(ScanCost *cost, const IndexPath *path, const HybridLayout *layout,
                       Cost distance, double sequential_page, double mem_multiplier);
static void
cost_documents(ScanCost *cost, PlannerInfo *root, const IndexPath *path, const HybridIndex *open,
               const HybridTree *tree, const HybridScanSettings *settings);
static double documents_of(const IndexPath *path);
static void cost_stream(ScanCost *cost, const IndexPath *path, const HybridLayout *layout,
                        Cost distance, double sequential_page);

void
hybridcostestimate(PlannerInfo *root, IndexPath *path, double loop_count, Cost *startup,
                   Cost *total, Selectivity *selectivity, double *correlation, double *pages)
{
	IndexOptInfo *index = path->indexinfo;
	double sequential_page, tuples;
	GenericCosts generic;
	QualCost distance;
	HybridIndex open;
	HybridTree tree;
	HybridScanSettings settings;
	Relation relation;
	ScanCost cost = {0};
	List *spheres = sphere_conditions(path);
	/*
	 * This index cannot serve a path with neither an order nor a sphere. Conditions on keys do not suffice, because
	 * the index has no entries for rows whose vector is NULL. While hybrid_index_measure() measures another index,
	 * queries must use that one.
	 */
	bool possible = (path->indexorderbys != NIL || spheres != NIL) &&
	                (!OidIsValid(hybrid_index_being_measured) ||
	                 index->indexoid == hybrid_index_being_measured);

	hybrid_offer_path(path, possible);
	if (!possible)
	{
		*startup = IMPOSSIBLE;
		*total = IMPOSSIBLE;
		*selectivity = 0;
		*correlation = 0;
		*pages = 0;
		return;
	}

	/* genericcostestimate() considers that a partial index holds only a share of the table */
	memset(&generic, 0, sizeof(generic));
	genericcostestimate(root, path, loop_count, &generic);
	get_tablespace_page_costs(index->reltablespace, NULL, &sequential_page);
	/* without root, the cost of a distance excludes detoasting: see types/distance_cost.c */
	cost_qual_eval(&distance, path->indexorderbys, NULL);
	if (path->indexorderbys == NIL)
		cost_qual_eval_node(&distance, (Node *) linitial_node(RestrictInfo, spheres)->clause, NULL);

	relation = index_open(index->indexoid, NoLock);
	open = hybrid_index_open(relation);
	hybrid_tree_read(relation, &tree);
	settings = hybrid_scan_settings(relation);
	index_close(relation, NoLock);
	cost.judged = cost.key = 1;
	if (path->indexorderbys != NIL)
	{
		cost.judged = judged_share(root, path, &open, open.layout.words);
		cost.key = judged_share(root, path, &open, Min(open.keys, 1));
	}
	cost.reach = reach_of(cost.key, &tree, &open);

	if (path->indexorderbys == NIL)
		cost_stream(&cost, path, &open.layout, distance.per_tuple, sequential_page);
	else if (open.opclass->many)
		cost_documents(&cost, root, path, &open, &tree, &settings);
	else if (open.coded && settings.target_recall < 1)
		cost_by_codes(&cost, root, path, &open, &tree, distance.per_tuple, settings.target_recall);
	else
		cost_exact(&cost, path, &open.layout, distance.per_tuple, sequential_page,
		           settings.mem_multiplier);
	if (path->indexorderbys != NIL && open.coded && settings.target_recall < 1 &&
	    !returns_all(root, path, &open, &settings))
		cost.all += hybrid_disable_path(path);

	tuples = open.opclass->many ? documents_of(path) : Max(index->tuples, 0) * cost.judged;
	*startup = distance.startup + cost.first;
	*total = distance.startup + cost.all + tuples * cpu_index_tuple_cost;
	*selectivity = selectivity_of(root, path, spheres, generic.indexSelectivity, cost.judged);
	if (path->path.pathtype == T_IndexOnlyScan)
		*total += cost_of_rows(root, path, *selectivity * index->rel->tuples, &settings);
	/* the order of distances is not correlated with the order of the heap */
	*correlation = 0;
	*pages = cost.pages;
}

static void
cost_by_codes(ScanCost *cost, PlannerInfo *root, const IndexPath *path, const HybridIndex *open,
              const HybridTree *tree, Cost distance, double target_recall)
{
	const HybridLayout *layout = &open->layout;
	double all = Max(path->indexinfo->tuples, 1), reach = cost->reach;
	double rows = all * reach, leaves = Max(tree->leaves * reach, 1), share;
	double ordered = Min(leaves, HYBRID_LISTS_OPENED);
	double inner_pages = ordered / layout->inner.rows + tree->height;
	double leaf_pages = rows / layout->leaf.rows + leaves / 2;
	double vector_pages = pages_of_vectors(path->indexinfo, layout);
	double wanted = all * wanted_share(path);
	/* a block is scored if one of its rows is not excluded */
	double scored = 1 - pow(1 - Min(cost->judged / reach, 1), HY_CODE_ROWS);
	Cost all_codes = rows * distance * CODE_COST * scored, pages_cost, all_pages_cost;
	QualCost again = {0, 0};

	if (cost->judged < 1)
		all_codes += rows * WORD_COST * cpu_operator_cost;
	share = Min(rows_examined(cost, root, path, open, tree, target_recall) / rows, 1);
	cost->pages = inner_pages + leaf_pages * share +
	              Min(Min(RESCORED, wanted), vector_pages) * layout->leaf.span;
	pages_cost = cost_of_pages(path->indexinfo, cost->pages);
	all_pages_cost = cost_of_pages(
		path->indexinfo, inner_pages + leaf_pages + Min(wanted * layout->leaf.span, vector_pages));
	cost->first = all_codes * share + ordered * distance * CODE_COST +
	              Min(RESCORED, wanted) * distance + pages_cost;
	/* the scan recomputes rounded distances from the values of the table */
	if (!open->lossless)
		cost_qual_eval(&again, path->indexorderbys, root);
	cost->all = cost->first + all_codes * (1 - share) + wanted * (distance + again.per_tuple) +
	            Max(all_pages_cost - pages_cost, 0);
}

/*
 * selectivity_of: return the share of the table's rows that the scan fetches. `all` is the selectivity
 * of all index conditions, and `judged` the selectivity of the conditions on words.
 *
 * For a scan by distance, the share does not include the predicate of a partial index, so heap rows are
 * overcharged. The reason: with a selectivity below 1, the planner would also consider a path with only
 * an order as a bitmap scan of everything in the index. The index does not support such a scan, because
 * it has no entries for NULL. If conditions on words exclude rows, the share is nevertheless less than
 * 1, so that the heap rows that they exclude are not charged. The bitmap scan is then disabled
 * (amhasgetbitmap).
 */
static Selectivity
selectivity_of(PlannerInfo *root, const IndexPath *path, List *spheres, Selectivity all,
               double judged)
{
	Selectivity share = all;

	if (path->indexorderbys != NIL)
		share = clauselist_selectivity(root, spheres, (int) path->path.parent->relid, JOIN_INNER,
		                               NULL) *
		        judged;
	if (spheres == NIL && share < 1)
		path->indexinfo->amhasgetbitmap = false;
	return share;
}

/*
 * cost_of_rows: return the cost of fetching rows from all-visible pages of the table. The planner does
 * not charge an index-only scan for these rows. The cost is 0 for a search by codes in the order of one
 * distance, because it fetches no such row except during recovery.
 */
static Cost
cost_of_rows(PlannerInfo *root, const IndexPath *path, double rows,
             const HybridScanSettings *settings)
{
	const RelOptInfo *table = path->path.parent;
	double random_page;

	if (list_length(path->indexorderbys) == 1 && settings->target_recall < 1 &&
	    !RecoveryInProgress())
		return 0;
	get_tablespace_page_costs(table->reltablespace, &random_page, NULL);
	return random_page * table->allvisfrac *
	       index_pages_fetched(rows, table->pages, path->indexinfo->pages, root);
}

/* sphere_conditions: return the index conditions on the vector, which are spheres. */
static List *
sphere_conditions(const IndexPath *path)
{
	List *spheres = NIL;
	ListCell *cell;

	foreach (cell, path->indexclauses)
	{
		const IndexClause *condition = lfirst_node(IndexClause, cell);

		/* the vector is the last key column */
		if (condition->indexcol == path->indexinfo->nkeycolumns - 1)
			spheres = lappend(spheres, condition->rinfo);
	}
	return spheres;
}

/*
 * judged_share: return the planner's estimate of the share of the rows that satisfy the conditions on
 * words. Only the first `columns` keys and included columns are considered.
 */
static double
judged_share(PlannerInfo *root, const IndexPath *path, const HybridIndex *open, int columns)
{
	const RelOptInfo *table = path->path.parent;
	const ParamPathInfo *parameters = path->path.param_info;
	List *judged = NIL, *conditions = path->indexinfo->indrestrictinfo;
	ListCell *cell;

	if (columns == 0)
		return 1;
	if (parameters != NULL)
		conditions = list_concat_copy(conditions, parameters->ppi_clauses);
	foreach (cell, conditions)
	{
		RestrictInfo *condition = lfirst_node(RestrictInfo, cell);
		int column = hybrid_included_judges(open, table->relid, (Node *) condition->clause);

		if (column >= 0 && column < columns)
			judged = lappend(judged, condition);
	}
	/* also the conditions on a key that is an expression, and those that the planner has derived */
	foreach (cell, path->indexclauses)
	{
		const IndexClause *condition = lfirst_node(IndexClause, cell);

		if (condition->indexcol < Min(open->keys, columns))
			judged = list_append_unique(judged, condition->rinfo);
	}
	return clauselist_selectivity(root, judged, (int) table->relid, JOIN_INNER, NULL);
}

/*
 * reach_of: return the share of the rows that are in lists whose bounds include wanted values of the
 * first key. `key` is the share of the rows with these values. The lists at both ends also have other
 * rows. Without codes, there is only one list, so the share is 1.
 */
static double
reach_of(double key, const HybridTree *tree, const HybridIndex *open)
{
	return open->layout.bounds > 0 && key < 1 ? Min(key + 1.0 / Max(tree->leaves, 1), 1) : 1;
}

/* rows_examined: estimate the number of rows in the lists that a search examines. */
static double
rows_examined(const ScanCost *cost, PlannerInfo *root, const IndexPath *path,
              const HybridIndex *open, const HybridTree *tree, double target_recall)
{
	double rows = Max(path->indexinfo->tuples, 1), wanted = WANTED, examined;
	bool measured = tree->curve.size > 0;
	double all = rows * cost->reach;
	double judged = Min(Max(cost->judged / Max(cost->key, 1 / rows), 1 / rows), 1);

	if (hybrid_probes > 0)
		return rows / Max(tree->leaves, 1) * hybrid_probes;
	if (measured)
		examined = hybrid_curve_rows(tree, target_recall);
	else
		examined = all * SEARCHED + open->list_size * keys_searched(cost, root, path, open);
	if (!measured || hybrid_curve_outdated(tree))
		examined = Max(examined, hybrid_stopping_least_rows(tree, open->layout.dims, all));
	if (root->limit_tuples > 0)
		wanted = root->limit_tuples;
	/* between two rows that satisfy the conditions, the search examines others that do not */
	return Min(examined + PER_EXCLUDED * wanted * (1 / judged - 1), all);
}

/*
 * keys_searched: return the number of values of the first key for which a search examines lists. A
 * condition on the first key counts as one value. Without such a condition, the search examines lists
 * for all values, because the nearest rows may have any of them.
 */
static double
keys_searched(const ScanCost *cost, PlannerInfo *root, const IndexPath *path,
              const HybridIndex *open)
{
	const TargetEntry *first = linitial_node(TargetEntry, path->indexinfo->indextlist);
	VariableStatData statistics;
	bool unknown;
	double keys;

	if (open->keys == 0 || cost->key < 1)
		return 1;
	examine_variable(root, (Node *) first->expr, (int) path->path.parent->relid, &statistics);
	keys = get_variable_numdistinct(&statistics, &unknown);
	ReleaseVariableStats(statistics);
	return Max(keys, 1);
}

/*
 * cost_of_pages: return the cost of reading a number of pages of an index. The more pages are read, the
 * more of them are adjacent. The planner assumes the same for a bitmap heap scan (cost_bitmap_heap_scan).
 */
static Cost
cost_of_pages(const IndexOptInfo *index, double pages)
{
	double all = Max((double) index->pages, 1), random_page, sequential_page;

	get_tablespace_page_costs(index->reltablespace, &random_page, &sequential_page);
	pages = Min(pages, all);
	return pages * (random_page - (random_page - sequential_page) * sqrt(pages / all));
}

/*
 * pages_of_vectors: return the number of pages of an index that hold vectors. If values vary in length,
 * every page counts.
 */
static double
pages_of_vectors(const IndexOptInfo *index, const HybridLayout *layout)
{
	if (layout->packed)
		return index->pages;
	return Min(ceil(Max(index->tuples, 1) / layout->leaf.per_page) * layout->leaf.span,
	           Max((double) index->pages, 1));
}

/*
 * wanted_share: return the share of the rows whose vectors are read when the query fetches every row
 * that satisfies the conditions. If few rows satisfy them, only the vectors of these rows are read.
 * Otherwise all vectors are read.
 */
static double
wanted_share(const IndexPath *path)
{
	const RelOptInfo *table = path->path.parent;
	double rows = path->path.param_info != NULL ? path->path.param_info->ppi_rows : table->rows;
	double share = rows / Max(table->tuples, 1);

	return share < HYBRID_FEW ? share : 1;
}

/*
 * returns_all: test whether a scan with codes returns every row that the query wants. A query for all
 * rows gets them only if rows that the scan finds late are returned too, and if memory suffices for
 * them. (The memory for an index on arrays is not tested.) With a LIMIT or a sphere, the query does not
 * want all rows, and the result is true.
 */
static bool
returns_all(const PlannerInfo *root, const IndexPath *path, const HybridIndex *open,
            const HybridScanSettings *settings)
{
	double rows = path->path.parent->rows;
	double memory = work_mem * 1024.0 * settings->mem_multiplier;
	double needed =
		open->opclass->many ? 0 : hybrid_lookup_memory_of_all(path->indexinfo->tuples, rows);

	if (root->limit_tuples >= 0 || root->tuple_fraction > 0 || sphere_conditions(path) != NIL)
		return true;
	return settings->iterative_scan == HYBRID_ITERATIVE_RELAXED && needed <= memory;
}

static void
cost_exact(ScanCost *cost, const IndexPath *path, const HybridLayout *layout, Cost distance,
           double sequential_page, double mem_multiplier)
{
	const IndexOptInfo *index = path->indexinfo;
	double rows = Max(index->tuples, 0) * cost->judged, seen = 0;
	double pages = pages_of_vectors(index, layout) * cost->reach;
	Cost row = distance, later = 0;
	int passes = 0, first = HYBRID_FIRST_CANDIDATES;

	if (layout->packed && index->tuples > HYBRID_UNDESCRIBED_LEAST)
	{
		pages *= POSTINGS_PAGES;
		row *= POSTINGS_ROW;
		later = rows * distance;
		first = HYBRID_FIRST_NEAREST;
	}
	/*
	 * each row that the words do not exclude costs a distance, and a comparison with the worst
	 * candidate
	 */
	cost->first = pages * sequential_page + rows * (row + 0.5 * cpu_operator_cost);
	if (cost->judged < 1)
		cost->first += Max(index->tuples, 0) * cost->reach * WORD_COST * cpu_operator_cost;
	while (seen < rows && passes < 1000)
		seen += hybrid_scan_candidates(passes++, first, mem_multiplier);
	if (seen < rows)
		passes +=
			(int) Min((rows - seen) / hybrid_scan_candidates(passes, first, mem_multiplier), 1e6);
	cost->all = cost->first * Max(passes, 1) + later;
	cost->pages = pages;
}

/*
 * cost_documents: compute the cost of a scan of an index on arrays. For each vector of the query, a
 * search scores the centroids of all lists and the codes of some. Then documents are compared with
 * their values in the table. The number of entries is unknown: index->tuples is the number of documents
 * after ANALYZE, and the number of entries after VACUUM.
 */
static void
cost_documents(ScanCost *cost, PlannerInfo *root, const IndexPath *path, const HybridIndex *open,
               const HybridTree *tree, const HybridScanSettings *settings)
{
	const IndexOptInfo *index = path->indexinfo;
	const OpExpr *order = linitial_node(OpExpr, path->indexorderbys);
	double vectors = hybrid_query_vectors(root, order->args);
	double rows = documents_of(path), wanted = root->limit_tuples > 0 ? root->limit_tuples : WANTED;
	double leaves = Max(tree->leaves * cost->reach, 1), lists, entries, scored, compared;
	bool exact = settings->target_recall >= 1 || tree->leaves <= QUERY_LISTS ||
	             wanted > hybrid_documents_wanted(settings->mem_multiplier);
	/* documents of the index that the condition on the first key does not exclude */
	double keyed =
		Max(index->rel->tuples, 1) * cost->key *
		clauselist_selectivity(root, index->indpred, (int) index->rel->relid, JOIN_INNER, NULL);
	QualCost again = {0, 0};

	cost_qual_eval(&again, path->indexorderbys, root);
	lists = QUERY_LISTS * sqrt(keys_searched(cost, root, path, open) * Max(keyed / rows, 1));
	entries = Max(QUERY_ENTRIES, PER_WANTED * wanted);
	compared = Min(DOCUMENTS + PER_DOCUMENT * wanted, rows);
	/* a search that would examine all lists ends with a comparison of all documents */
	if (exact || lists >= tree->leaves)
		compared = rows;
	if (exact)
		lists = entries = 0;
	lists = Min(lists, leaves);
	entries = Min(entries, lists * open->list_size);
	scored = vectors * (Min(leaves, HYBRID_LISTS_OPENED) + lists * open->list_size);
	cost->pages = Min(vectors * lists * 2, index->pages * cost->reach);
	cost->first = (scored * CODE_DISTANCE + vectors * entries * ENTRY_COST) * cpu_operator_cost +
	              compared * again.per_tuple + cost_of_pages(index, cost->pages);
	cost->all = cost->first + (rows - compared) * again.per_tuple +
	            cost_of_pages(index, index->pages * cost->reach);
}

/* documents_of: return the number of documents that satisfy the conditions, at least 1. */
static double
documents_of(const IndexPath *path)
{
	const ParamPathInfo *parameters = path->path.param_info;

	return Max(parameters != NULL ? parameters->ppi_rows : path->path.parent->rows, 1);
}

/* cost_stream: compute the cost of a scan that returns rows in the order in which it reads them. */
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
