/*
 * property.c
 *		Index properties that PostgreSQL leaves to the access method: for
 *		pg_index_column_has_property(), and for the planner.
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
	/*
	 * the vector is the last key column, and its operator class has an ordering operator: see
	 * hybridvalidate()
	 */
	*result = attno == ((Form_pg_index) GETSTRUCT(tuple))->indnkeyatts;
	ReleaseSysCache(tuple);
	*isnull = false;
	return true;
}

/*
 * hybridcanreturn: test whether an index-only scan can return a column. Every scan by distance needs
 * the vector, so the index must store vectors without loss. Without codes, an index-only scan would
 * gain nothing: a scan without codes reads all vectors, and does not record where it has read the
 * vectors that it returns. The planner asks this for every query on the table, so an index of another
 * format must not raise an error here.
 */
bool
hybridcanreturn(Relation index, int attno)
{
	HybridIndex open;
	int column = attno - 1;

	if (!hybrid_index_readable(index))
		return false;
	open = hybrid_index_open(index);
	if (!open.coded || !open.lossless || open.opclass->many || open.words_outdated)
		return false;
	return column == open.keys ||
	       hybrid_included_returned(&open.included[column < open.keys ? column : column - 1]);
}
