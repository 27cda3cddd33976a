/*
 * included.c
 *		Keys before the vector, and INCLUDE columns: the words that an index stores for their values.
 */
#include "postgres.h"

#include "access/stratnum.h"
#include "access/transam.h"
#include "catalog/pg_am_d.h"
#include "catalog/pg_type_d.h"
#include "commands/defrem.h"
#include "common/hashfn.h"
#include "fmgr.h"
#include "utils/builtins.h"
#include "utils/date.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/timestamp.h"
#include "utils/typcache.h"

#include "index/page/included.h"

static void describe_column(Relation index, int number, HybridIncluded *column);
static void describe_type(Relation index, int at, HybridIncluded *column);
static void check_equality(Relation index, int at, const HybridIncluded *column);
static const char *name_of(Relation index, int at, const HybridIncluded *column);
static bool is_composed(Oid type);

int
hybrid_keys_count(Relation index)
{
	return index->rd_index->indnkeyatts - 1;
}

int
hybrid_included_count(Relation index)
{
	return index->rd_index->indnatts - 1;
}

void
hybrid_included_describe(Relation index, HybridIncluded *columns)
{
	int count = hybrid_included_count(index), i;

	if (count > HYBRID_MAX_INCLUDED)
		ereport(ERROR, (errcode(ERRCODE_TOO_MANY_COLUMNS),
		                errmsg("index \"%s\" cannot have more than %d columns besides the vector",
		                       RelationGetRelationName(index), HYBRID_MAX_INCLUDED)));
	for (i = 0; i < count; i++)
		describe_column(index, i, &columns[i]);
}

uint32
hybrid_included_mark(const HybridIncluded *columns, int count)
{
	uint32 mark = 0;
	int i;

	for (i = 0; i < count; i++)
	{
		Oid hash = columns[i].hash;

		/* pg_upgrade keeps the OIDs of user-defined types, but not those of user-defined functions */
		if (hash >= FirstNormalObjectId)
			hash = columns[i].type;
		mark = hash_combine(mark, hash_bytes_uint32(columns[i].scale));
		mark = hash_combine(mark, hash_bytes_uint32(hash));
	}
	return count > 0 ? Max(mark, 1) : 0;
}

Oid
hybrid_included_scale(Oid type)
{
	switch (type)
	{
		case INT2OID:
		case INT4OID:
		case INT8OID:
			return INT8OID;
		case FLOAT4OID:
		case FLOAT8OID:
			return FLOAT8OID;
		case BOOLOID:
		case CHAROID:
		case OIDOID:
		case DATEOID:
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
		case NUMERICOID:
			return type;
		default:
			return InvalidOid;
	}
}

bool
hybrid_included_exact(Oid scale)
{
	return scale != NUMERICOID;
}

uint64
hybrid_included_word(const HybridIncluded *column, Oid type, Datum value)
{
	switch (OidIsValid(column->scale) ? type : InvalidOid)
	{
		case INT2OID:
			return hy_word_of_integer(DatumGetInt16(value));
		case INT4OID:
			return hy_word_of_integer(DatumGetInt32(value));
		case INT8OID:
			return hy_word_of_integer(DatumGetInt64(value));
		case FLOAT4OID:
			return hy_word_of_double(DatumGetFloat4(value));
		case FLOAT8OID:
			return hy_word_of_double(DatumGetFloat8(value));
		case BOOLOID:
			return hy_word_of_integer(DatumGetBool(value));
		case CHAROID:
			return hy_word_of_integer((uint8) DatumGetChar(value));
		case OIDOID:
			return hy_word_of_integer(DatumGetObjectId(value));
		case DATEOID:
			return hy_word_of_integer(DatumGetDateADT(value));
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			return hy_word_of_integer(DatumGetTimestamp(value));
		case NUMERICOID:
			/* the value is rounded to the nearest double, which keeps the order */
			return hy_word_of_double(
				DatumGetFloat8(DirectFunctionCall1(numeric_float8_no_overflow, value)));
		default:
			break;
	}
	if (!OidIsValid(column->hash))
		return HY_WORD_LEAST;
	return hy_word_of_hash(DatumGetUInt64(
		OidFunctionCall2Coll(column->hash, column->collation, value, UInt64GetDatum(0))));
}

bool
hybrid_included_returned(const HybridIncluded *column)
{
	return OidIsValid(column->scale) && hybrid_included_exact(column->scale);
}

bool
hybrid_included_value(const HybridIncluded *column, uint64 word, Datum *value)
{
	int64 integer = 0;
	double number = 0;
	bool one = column->scale == FLOAT8OID ? hy_double_of_word(word, &number)
	                                      : hy_integer_of_word(word, &integer);

	switch (column->type)
	{
		case INT2OID:
			*value = Int16GetDatum((int16) integer);
			break;
		case INT4OID:
			*value = Int32GetDatum((int32) integer);
			break;
		case INT8OID:
			*value = Int64GetDatum(integer);
			break;
		case FLOAT4OID:
			*value = Float4GetDatum((float4) number);
			break;
		case FLOAT8OID:
			*value = Float8GetDatum(number);
			break;
		case BOOLOID:
			*value = BoolGetDatum(integer != 0);
			break;
		case CHAROID:
			*value = CharGetDatum((char) integer);
			break;
		case OIDOID:
			*value = ObjectIdGetDatum((Oid) integer);
			break;
		case DATEOID:
			*value = DateADTGetDatum((DateADT) integer);
			break;
		case TIMESTAMPOID:
		case TIMESTAMPTZOID:
			*value = TimestampGetDatum(integer);
			break;
		default:
			elog(ERROR, "unexpected type of a word: %u", column->type);
	}
	return one;
}

/* describe_column: describe the column whose values have word number `number`. */
static void
describe_column(Relation index, int number, HybridIncluded *column)
{
	int keys = hybrid_keys_count(index), at = hybrid_included_column(keys, number);
	TypeCacheEntry *cache;

	describe_type(index, at, column);
	column->scale = hybrid_included_scale(column->type);
	column->hash = InvalidOid;
	if (OidIsValid(column->scale))
		column->family = get_opclass_family(GetDefaultOpClass(column->type, BTREE_AM_OID));
	else
	{
		cache =
			lookup_type_cache(column->type, TYPECACHE_HASH_OPFAMILY | TYPECACHE_HASH_EXTENDED_PROC);
		column->family = cache->hash_opf;
		column->hash = cache->hash_extended_proc;
		if (!OidIsValid(column->family) || !OidIsValid(column->hash))
			ereport(ERROR,
			        (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			         errmsg("column \"%s\" cannot be %s in a hybrid index",
			                name_of(index, at, column), at < keys ? "a key" : "included"),
			         errdetail("Its type has no default hash operator class with an extended hash "
			                   "function.")));
	}
	if (at < keys)
		check_equality(index, at, column);
	/*
	 * Some hashes may change while the index exists, so that equal values would have different words. A hash under a
	 * non-deterministic collation depends on the version of ICU, and the hash of a row changes when its type gets
	 * another attribute. A range may consist of such values. For these columns, all values get the same word. Keys
	 * keep their hashes under such a collation, because every index depends on the collations of its keys.
	 */
	if ((at > keys && OidIsValid(column->collation) &&
	     !get_collation_isdeterministic(column->collation)) ||
	    is_composed(column->type))
		column->hash = InvalidOid;
}

/* describe_type: set the source of the values of the index's column `at`, their type and their collation. */
static void
describe_type(Relation index, int at, HybridIncluded *column)
{
	Form_pg_index form = index->rd_index;
	int32 modifier;

	column->column = form->indkey.values[at];
	column->operand = InvalidOid;
	if (at < hybrid_keys_count(index))
	{
		column->type = TupleDescAttr(RelationGetDescr(index), at)->atttypid;
		column->collation = index->rd_indcollation[at];
		column->operand = index->rd_opcintype[at];
	}
	else /* an index records no collation of an included column */
		get_atttypetypmodcoll(form->indrelid, column->column, &column->type, &modifier,
		                      &column->collation);
	column->type = getBaseType(column->type);
}

/*
 * check_equality: raise an error if the equality operator of a key's operator class is not the one that words
 * respect. Otherwise, a condition on words might exclude values that are equal by that operator.
 */
static void
check_equality(Relation index, int at, const HybridIncluded *column)
{
	Oid equal = get_opfamily_member(index->rd_opfamily[at], column->operand, column->operand,
	                                HYBRID_EQUAL_STRATEGY);
	int wanted = OidIsValid(column->scale) ? BTEqualStrategyNumber : HTEqualStrategyNumber;

	if (!OidIsValid(equal) || get_op_opfamily_strategy(equal, column->family) != wanted)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		     errmsg("column \"%s\" cannot be a key in a hybrid index", name_of(index, at, column)),
		     errdetail("Its operator class has another equality operator than the type's "
		               "default %s operator class.",
		               OidIsValid(column->scale) ? "btree" : "hash")));
}

/* name_of: return the name of the table's column, or of the index's column if it is an expression. */
static const char *
name_of(Relation index, int at, const HybridIncluded *column)
{
	return column->column != 0 ? get_attname(index->rd_index->indrelid, column->column, false)
	                           : NameStr(TupleDescAttr(RelationGetDescr(index), at)->attname);
}

/* is_composed: test whether values of a type are rows or ranges, or arrays of these. */
static bool
is_composed(Oid type)
{
	Oid element = get_base_element_type(type);

	if (OidIsValid(element))
		type = getBaseType(element);
	return type_is_rowtype(type) || type_is_range(type) || type_is_multirange(type);
}
