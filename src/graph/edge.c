/*
 * edge.c
 *		Converts the columns of a row into an edge.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "graph/arguments.h"
#include "server/compat.h"
#include "graph/edge.h"
#include "miscadmin.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

pg_noreturn static void
report_weight(const HyEdge *edge, const HybridEdgeRow *row, const char *what, const char *weight);
static int compare_texts(const void *a, const void *b);

Oid
hybrid_edge_type(enum HybridEdgeColumn column, Oid type)
{
	static const char *const names[] = {"source", "target", "weight", "type"};
	static const char *const expected[] = {"an integer", "an integer", "a number", "text"};
	Oid base = getBaseType(type);
	bool is_integer = base == INT2OID || base == INT4OID || base == INT8OID;
	bool is_number = is_integer || base == FLOAT4OID || base == FLOAT8OID || base == NUMERICOID;
	bool is_text = base == TEXTOID || base == VARCHAROID;

	if (column == HYBRID_EDGE_TYPE     ? !is_text
	    : column == HYBRID_EDGE_WEIGHT ? !is_number
	                                   : !is_integer)
		ereport(ERROR,
		        (errcode(ERRCODE_DATATYPE_MISMATCH),
		         errmsg("graph edge %s must be %s, not %s", names[column], expected[column],
		                format_type_be(type)),
		         errhint("Columns are matched by position: source, target[, weight[, type]].")));
	return base;
}

int64
hybrid_edge_node(Datum value, Oid type)
{
	if (type == INT2OID)
		return DatumGetInt16(value);
	if (type == INT4OID)
		return DatumGetInt32(value);
	return DatumGetInt64(value);
}

float
hybrid_edge_weight(Datum value, bool is_null, Oid type, const HyEdge *edge,
                   const HybridEdgeRow *row)
{
	double exact = 0;
	float weight = 0;

	if (is_null)
		report_weight(edge, row, "cannot be NULL", "NULL");
	switch (type)
	{
		case FLOAT4OID:
			exact = weight = DatumGetFloat4(value);
			break;
		case FLOAT8OID:
			exact = DatumGetFloat8(value);
			weight = (float) exact;
			break;
		case NUMERICOID:
			exact = DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value));
			if (isinf(exact) && !numeric_is_inf(DatumGetNumeric(value)))
				report_weight(edge, row, "is out of the range of real",
				              numeric_out_sci(DatumGetNumeric(value), 3));
			/* a number too close to 0 for a double may still be negative */
			if (exact == 0 && DatumGetInt32(DirectFunctionCall1(
								  numeric_int4, DirectFunctionCall1(numeric_sign, value))) < 0)
				report_weight(edge, row, "cannot be negative",
				              numeric_out_sci(DatumGetNumeric(value), 3));
			/* a conversion through double would round twice */
			if (fabs(exact) <= FLT_MAX && fabs(exact) >= FLT_MIN)
				weight = DatumGetFloat4(DirectFunctionCall1(numeric_float4, value));
			else
				weight = (float) exact;
			break;
		case INT2OID:
			exact = weight = DatumGetInt16(value);
			break;
		case INT4OID:
			exact = weight = (float) DatumGetInt32(value);
			break;
		case INT8OID:
			exact = weight = (float) DatumGetInt64(value);
			break;
		default:
			elog(ERROR, "unexpected type of graph edge weight: %u", type);
	}
	if (isnan(exact))
		report_weight(edge, row, "cannot be NaN", "NaN");
	if (isinf(exact))
		report_weight(edge, row, "cannot be infinite", float8out_internal(exact));
	if (exact < 0)
		report_weight(edge, row, "cannot be negative", float8out_internal(exact));
	/* a weight too large for real is an error, but a weight too small for real has become 0 */
	if (isinf(weight))
		report_weight(edge, row, "is out of the range of real", float8out_internal(exact));
	/* turn -0 into 0 */
	return weight + 0.0F;
}

bool
hybrid_same_types(const ArrayType *a, const ArrayType *b)
{
	if (a == NULL || b == NULL)
		return a == NULL && b == NULL;
	return VARSIZE(a) == VARSIZE(b) && memcmp(a, b, VARSIZE(a)) == 0;
}

void
hybrid_set_types(HybridTypes *types, ArrayType *names)
{
	Datum *elements;

	memset(types, 0, sizeof(*types));
	if (names == NULL)
		return;
	hybrid_check_array(names, "types");
	deconstruct_array(names, TEXTOID, -1, false, TYPALIGN_INT, &elements, NULL, &types->count);
	/* for an empty array, `elements` is NULL */
	types->name = types->count == 0 ? palloc(sizeof(text *)) : (text **) elements;
	qsort(types->name, types->count, sizeof(text *), compare_texts);
}

bool
hybrid_is_wanted(const HybridTypes *types, Datum type, bool is_null)
{
	text *name;

	if (is_null)
		return false;
	name = DatumGetTextPP(type);
	return bsearch(&name, types->name, types->count, sizeof(text *), compare_texts) != NULL;
}

static void
report_weight(const HyEdge *edge, const HybridEdgeRow *row, const char *what, const char *weight)
{
	int code = strcmp(weight, "NULL") == 0 ? ERRCODE_NULL_VALUE_NOT_ALLOWED
	                                       : ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE;
	const char *table = OidIsValid(row->table) ? get_rel_name(row->table) : NULL;

	if (table == NULL)
		ereport(ERROR, (errcode(code), errmsg("graph edge weight %s", what),
		                errdetail("The edge goes from " INT64_FORMAT " to " INT64_FORMAT
		                          ", with weight %s.",
		                          edge->source, edge->target, weight)));
	ereport(ERROR, (errcode(code), errmsg("graph edge weight %s", what),
	                errdetail("The edge goes from " INT64_FORMAT " to " INT64_FORMAT
	                          ", with weight %s. It is the row with ctid (%u,%u) of table \"%s\".",
	                          edge->source, edge->target, weight,
	                          ItemPointerGetBlockNumberNoCheck(&row->tid),
	                          ItemPointerGetOffsetNumberNoCheck(&row->tid), table)));
}

/* compare_texts: compare two texts bytewise. Any total order is right, because only equality matters. */
static int
compare_texts(const void *a, const void *b)
{
	const text *left = *(text *const *) a;
	const text *right = *(text *const *) b;
	size_t left_length = VARSIZE_ANY_EXHDR(left);
	size_t right_length = VARSIZE_ANY_EXHDR(right);
	int order = memcmp(VARDATA_ANY(left), VARDATA_ANY(right), Min(left_length, right_length));

	CHECK_FOR_INTERRUPTS();
	if (order != 0)
		return order;
	return left_length == right_length ? 0 : left_length < right_length ? -1 : 1;
}
