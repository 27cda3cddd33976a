/*
 * property.c
 *		Index properties for pg_index_column_has_property() that PostgreSQL leaves to the access
 *		method.
 */
#include "postgres.h"

#include "index/page/index.h"
#include "index/handler.h"

bool
hybridproperty(Oid index, int attno, IndexAMProperty property, const char *name, bool *result,
               bool *isnull)
{
	(void) index;
	(void) name;
	/* every operator class has an ordering operator, see hybridvalidate() */
	if (property != AMPROP_DISTANCE_ORDERABLE || attno == 0)
		return false;
	*result = true;
	*isnull = false;
	return true;
}
