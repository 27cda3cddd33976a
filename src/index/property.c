/*
 * property.c
 *		Index properties for pg_index_column_has_property() that PostgreSQL leaves to the access
 *		method.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "catalog/pg_index.h"
#include "utils/syscache.h"

#include "index/page/index.h"
#include "index/handler.h"

bool
hybridproperty(Oid index, int attno, IndexAMProperty property, const char *name, bool *result,
               bool *isnull)
{
	HeapTuple tuple;

	(void) name;
	if (property != AMPROP_DISTANCE_ORDERABLE || attno == 0)
		return false;
	tuple = SearchSysCache1(INDEXRELID, ObjectIdGetDatum(index));
	if (!HeapTupleIsValid(tuple))
		return false;
	/* every operator class of a vector has an ordering operator, see hybridvalidate() */
	*result = attno == ((Form_pg_index) GETSTRUCT(tuple))->indnkeyatts;
	ReleaseSysCache(tuple);
	*isnull = false;
	return true;
}
