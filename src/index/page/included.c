/*
 * included.c
 *		INCLUDE columns: the words that an index stores of their values.
 */
#include "postgres.h"

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
static bool is_composed(Oid type);

int
hybrid_included_count(Relation index)
{
	return index->rd_index->indnatts - index->rd_index->indnkeyatts;
}

void
hybrid_included_describe(Relation index, HybridIncluded *columns)
{
	int count = hybrid_included_count(index), i;

	if (count > HYBRID_MAX_INCLUDED)
		ereport(ERROR, (errcode(ERRCODE_TOO_MANY_COLUMNS),
		                errmsg("index \"%s\" cannot have more than %d included columns",
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

		/* pg_upgrade changes the identifiers of functions of users, but not those of their types */
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
			/* rounds to the nearest number, which keeps the order */
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

/* describe_column: describe included column `number`, from 0. */
static void
describe_column(Relation index, int number, HybridIncluded *column)
{
	Form_pg_index form = index->rd_index;
	Oid type;
	int32 modifier;
	TypeCacheEntry *cache;

	column->column = form->indkey.values[form->indnkeyatts + number];
	/* an index records no collation of an included column */
	get_atttypetypmodcoll(form->indrelid, column->column, &type, &modifier, &column->collation);
	column->type = type = getBaseType(type);
	column->scale = hybrid_included_scale(type);
	column->hash = InvalidOid;
	if (OidIsValid(column->scale))
	{
		column->family = get_opclass_family(GetDefaultOpClass(type, BTREE_AM_OID));
		return;
	}
	cache = lookup_type_cache(type, TYPECACHE_HASH_OPFAMILY | TYPECACHE_HASH_EXTENDED_PROC);
	column->family = cache->hash_opf;
	column->hash = cache->hash_extended_proc;
	if (!OidIsValid(column->family) || !OidIsValid(column->hash))
		ereport(ERROR,
		        (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		         errmsg("column \"%s\" cannot be included in a hybrid index",
		                get_attname(form->indrelid, column->column, false)),
		         errdetail("Its type has no default hash operator class with an extended hash "
		                   "function.")));
	/*
	 * Equal values may have different hashes in other ICU versions, and equal rows when their type gets another
	 * attribute. A range may be one of such values.
	 */
	if ((OidIsValid(column->collation) && !get_collation_isdeterministic(column->collation)) ||
	    is_composed(type))
		column->hash = InvalidOid;
}

/* is_composed: test whether values of a type, or elements of such arrays, are rows or ranges. */
static bool
is_composed(Oid type)
{
	Oid element = get_base_element_type(type);

	if (OidIsValid(element))
		type = getBaseType(element);
	return type_is_rowtype(type) || type_is_range(type) || type_is_multirange(type);
}
