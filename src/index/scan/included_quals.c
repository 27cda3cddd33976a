/*
 * included_quals.c
 *		Conditions on keys and included columns that a scan tests on the words of the index.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/nodeFuncs.h"
#include "nodes/plannodes.h"
#include "optimizer/optimizer.h"
#include "utils/array.h"
#include "utils/lsyscache.h"

#include "index/scan/included_quals.h"

/* Test: the test that a condition makes on the value of a column. */
typedef enum Test
{
	TEST_LESS,
	TEST_LESS_EQUAL,
	TEST_EQUAL,
	TEST_GREATER_EQUAL,
	TEST_GREATER,
	TEST_ANY,
	TEST_NULL,
	TEST_NOT_NULL,
	TEST_TRUE,
	TEST_FALSE
} Test;

/* HybridIncludedClause: a condition that words judge (included_quals.h). */
typedef struct HybridIncludedClause
{
	int column; /* number of the column among the keys and included columns, from 0 */
	Test test;
	Expr *value; /* value or array that the column is compared with; NULL if there is none */
	Oid type;    /* type of the value, or of the elements of the array */
	ExprState *state;
} Clause;

static bool read_clause(const HybridIndex *open, Index table, Node *node, Clause *clause);
static bool
read_comparison(const HybridIndex *open, Index table, const OpExpr *expression, Clause *clause);
static bool
read_any(const HybridIndex *open, Index table, const ScalarArrayOpExpr *expression, Clause *clause);
static int column_of(const HybridIndex *open, Index table, Node *node);
static bool use_operator(const HybridIncluded *column, Oid operator, Oid collation, Clause *clause);
static bool is_constant(Node *node, Index table);
static bool has_column_or_subplan(Node *node, void *context);
static bool set_condition(const HybridIncluded *column, const Clause *clause, ExprContext *context,
                          HyWordCondition *condition);
static bool takes(const HybridIncluded *column, Oid type);
static void set_any(const HybridIncluded *column, const Clause *clause, Datum value,
                    HyWordCondition *condition);
static void
compare_with(const HybridIncluded *column, Test test, uint64 word, HyWordCondition *condition);

int
hybrid_included_judges(const HybridIndex *open, Index table, Node *clause)
{
	Clause read;

	return read_clause(open, table, clause, &read) ? read.column : -1;
}

HybridIncludedQuals *
hybrid_included_quals_new(const HybridIndex *open, ScanState *node, int keys)
{
	const Scan *plan = node == NULL ? NULL : (const Scan *) node->ps.plan;
	List *conditions = plan == NULL || open->layout.words == 0 ? NIL : plan->plan.qual;
	int most = list_length(conditions);
	HybridIncludedQuals *quals;
	ListCell *cell;
	Index table;

	if (open->keys == 0)
		keys = 0;
	if (most + keys == 0)
		return NULL;
	table = node == NULL ? 0 : IsA(node, IndexOnlyScanState) ? (Index) INDEX_VAR : plan->scanrelid;
	quals = palloc0(sizeof(HybridIncludedQuals));
	quals->columns = open->included;
	quals->keys = open->keys;
	quals->none = open->words_outdated;
	quals->node = node;
	quals->clauses = palloc0(most * sizeof(Clause));
	quals->conditions = palloc0((most + keys) * sizeof(HyWordCondition));
	foreach (cell, conditions)
	{
		Clause *clause = &quals->clauses[quals->clauses_count];

		if (!read_clause(open, table, (Node *) lfirst(cell), clause))
			continue;
		if (clause->value != NULL)
			clause->state = ExecInitExpr(clause->value, &node->ps);
		quals->clauses_count++;
	}
	quals->all = most > 0 && quals->clauses_count == most;
	return quals->clauses_count + keys > 0 ? quals : NULL;
}

bool
hybrid_included_quals_begin(HybridIncludedQuals *quals, const ScanKeyData *keys, int count)
{
	int i;

	quals->count = 0;
	for (i = 0; i < quals->clauses_count; i++)
	{
		const Clause *clause = &quals->clauses[i];

		if (!set_condition(&quals->columns[clause->column], clause, quals->node->ps.ps_ExprContext,
		                   &quals->conditions[quals->count++]))
			return false;
	}
	for (i = 0; i < count; i++)
	{
		HyWordCondition *condition = &quals->conditions[quals->count];
		int column = keys[i].sk_attno - 1;

		if (column >= quals->keys)
			continue;
		/* the equality operator of a key is strict, so a comparison with NULL is never true */
		if ((keys[i].sk_flags & SK_ISNULL) != 0)
			return false;
		if (quals->none || !takes(&quals->columns[column], keys[i].sk_subtype))
			continue;
		condition->column = column;
		condition->set = NULL;
		condition->least = condition->most =
			hybrid_included_word(&quals->columns[column], keys[i].sk_subtype, keys[i].sk_argument);
		quals->count++;
	}
	return true;
}

/* read_clause: describe a condition. Returns false if words do not judge it. */
static bool
read_clause(const HybridIndex *open, Index table, Node *node, Clause *clause)
{
	memset(clause, 0, sizeof(*clause));
	if (open->words_outdated)
		return false;
	if (IsA(node, OpExpr))
		return read_comparison(open, table, (const OpExpr *) node, clause);
	if (IsA(node, ScalarArrayOpExpr))
		return read_any(open, table, (const ScalarArrayOpExpr *) node, clause);
	if (IsA(node, NullTest))
	{
		const NullTest *test = (const NullTest *) node;

		/* IS NOT NULL on a composite value tests its fields, so it cannot be judged by one word */
		if (test->argisrow)
			return false;
		clause->test = test->nulltesttype == IS_NULL ? TEST_NULL : TEST_NOT_NULL;
		clause->column = column_of(open, table, (Node *) test->arg);
		return clause->column >= 0;
	}
	clause->test = TEST_TRUE;
	if (is_notclause(node))
	{
		clause->test = TEST_FALSE;
		node = (Node *) get_notclausearg((Expr *) node);
	}
	clause->column = IsA(node, Var) ? column_of(open, table, node) : -1;
	return clause->column >= 0 && open->included[clause->column].scale == BOOLOID;
}

/* read_comparison: describe a comparison of a column with a value, with the column on either side. */
static bool
read_comparison(const HybridIndex *open, Index table, const OpExpr *expression, Clause *clause)
{
	Oid operator= expression->opno;
	Node *left, *right;

	if (list_length(expression->args) != 2)
		return false;
	left = linitial(expression->args);
	right = lsecond(expression->args);
	clause->column = column_of(open, table, left);
	if (clause->column < 0)
	{
		Node *swap = left;

		left = right;
		right = swap;
		clause->column = column_of(open, table, left);
		operator= get_commutator(operator);
	}
	if (clause->column < 0 || !OidIsValid(operator) || !is_constant(right, table))
		return false;
	clause->value = (Expr *) right;
	clause->type = getBaseType(exprType(right));
	return use_operator(&open->included[clause->column], operator, expression->inputcollid, clause);
}

/* read_any: describe a comparison of a column with the elements of an array: IN, or = ANY. */
static bool
read_any(const HybridIndex *open, Index table, const ScalarArrayOpExpr *expression, Clause *clause)
{
	Node *array = (Node *) lsecond(expression->args);

	clause->column = column_of(open, table, (Node *) linitial(expression->args));
	if (clause->column < 0 || !expression->useOr || !is_constant(array, table))
		return false;
	clause->value = (Expr *) array;
	clause->type = getBaseType(get_element_type(getBaseType(exprType(array))));
	if (!OidIsValid(clause->type) ||
	    !use_operator(&open->included[clause->column], expression->opno, expression->inputcollid,
	                  clause))
		return false;
	if (clause->test != TEST_EQUAL)
		return false;
	clause->test = TEST_ANY;
	return true;
}

/* column_of: return the number of the key or included column that an expression consists of, or -1. */
static int
column_of(const HybridIndex *open, Index table, Node *node)
{
	const Var *var;
	int i;

	/* a RelabelType only names another type; an operator of the column's family takes the value unchanged */
	while (IsA(node, RelabelType))
		node = (Node *) ((RelabelType *) node)->arg;
	var = (const Var *) node;
	if (!IsA(node, Var) || var->varno != (int) table || var->varlevelsup != 0)
		return -1;
	for (i = 0; i < open->layout.words; i++)
	{
		AttrNumber column = open->included[i].column;

		if (table == (Index) INDEX_VAR)
			column = (AttrNumber) (hybrid_included_column(open->keys, i) + 1);
		/* column 0 is an expression in an index, but the whole row in a Var */
		if (column == var->varattno && var->varattno != 0)
			return i;
	}
	return -1;
}

/*
 * use_operator: set the test from an operator that has the column on its left. Returns false if words do
 * not judge a comparison by this operator.
 */
static bool
use_operator(const HybridIncluded *column, Oid operator, Oid collation, Clause *clause)
{
	int strategy = get_op_opfamily_strategy(operator, column->family);
	Oid left, right;

	if (strategy == 0 || !op_strict(operator))
		return false;
	op_input_types(operator, & left, &right);
	if (OidIsValid(column->scale))
	{
		clause->test = (Test) (TEST_LESS + strategy - BTLessStrategyNumber);
		return hybrid_included_scale(left) == column->scale &&
		       hybrid_included_scale(clause->type) == column->scale;
	}
	clause->test = TEST_EQUAL;
	return OidIsValid(column->hash) && left == right &&
	       (!OidIsValid(collation) || collation == column->collation ||
	        get_collation_isdeterministic(collation));
}

/*
 * is_constant: test whether an expression has one value for the whole scan. Columns of other tables have
 * already become parameters in a plan.
 */
static bool
is_constant(Node *node, Index table)
{
	return !contain_volatile_functions(node) && !has_column_or_subplan(node, &table);
}

/* has_column_or_subplan: callback of expression_tree_walker. */
static bool
has_column_or_subplan(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Var))
		return ((const Var *) node)->varno == (int) *(const Index *) context;
	return IsA(node, SubPlan) || IsA(node, AlternativeSubPlan) ||
	       expression_tree_walker(node, has_column_or_subplan, context);
}

/* set_condition: compute the condition on words from a clause. Returns false if no row can satisfy it. */
static bool
set_condition(const HybridIncluded *column, const Clause *clause, ExprContext *context,
              HyWordCondition *condition)
{
	Datum value = (Datum) 0;
	bool isnull = false;

	condition->column = clause->column;
	condition->set = NULL;
	condition->count = 0;
	if (clause->state != NULL)
		value = ExecEvalExpr(clause->state, context, &isnull);
	/* the operators are strict, so a comparison with NULL is never true */
	if (isnull)
		return false;
	switch (clause->test)
	{
		case TEST_NULL:
			condition->least = condition->most = HY_WORD_NULL;
			break;
		case TEST_NOT_NULL:
			condition->least = HY_WORD_LEAST;
			condition->most = PG_UINT64_MAX;
			break;
		case TEST_TRUE:
		case TEST_FALSE:
			compare_with(column, TEST_EQUAL, hy_word_of_integer(clause->test == TEST_TRUE),
			             condition);
			break;
		case TEST_ANY:
			set_any(column, clause, value, condition);
			break;
		default:
			compare_with(column, clause->test, hybrid_included_word(column, clause->type, value),
			             condition);
	}
	return condition->least <= condition->most;
}

/* takes: test whether the word of a value of this type can be compared with the words of a key. */
static bool
takes(const HybridIncluded *column, Oid type)
{
	if (OidIsValid(column->scale))
		return hybrid_included_scale(type) == column->scale;
	return OidIsValid(column->hash) && type == column->operand;
}

/* set_any: set the condition for the elements of an array. */
static void
set_any(const HybridIncluded *column, const Clause *clause, Datum value, HyWordCondition *condition)
{
	ArrayType *array = DatumGetArrayTypeP(value);
	int16 length;
	bool by_value;
	char align;
	Datum *elements;
	bool *nulls;
	uint64 *words;
	int given, count = 0, i;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align, &elements, &nulls,
	                  &given);
	words = palloc(Max(given, 1) * sizeof(uint64));
	for (i = 0; i < given; i++)
	{
		CHECK_FOR_INTERRUPTS();
		if (!nulls[i])
			words[count++] = hybrid_included_word(column, clause->type, elements[i]);
	}
	hy_word_any(condition, words, count);
}

/* compare_with: set the condition for a comparison with a value that has this word. */
static void
compare_with(const HybridIncluded *column, Test test, uint64 word, HyWordCondition *condition)
{
	bool exact = hybrid_included_exact(column->scale);

	switch (test)
	{
		case TEST_LESS:
		case TEST_LESS_EQUAL:
			hy_word_below(condition, word, exact && test == TEST_LESS);
			break;
		case TEST_GREATER_EQUAL:
		case TEST_GREATER:
			hy_word_above(condition, word, exact && test == TEST_GREATER);
			break;
		default:
			condition->least = condition->most = word;
	}
}
