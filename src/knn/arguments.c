/*
 * arguments.c
 *		Argument checks of the functions in this folder: see arguments.h.
 */
#include "postgres.h"

#include "catalog/pg_type.h"
#include "knn/arguments.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

static Oid find_type(Oid schema, const char *name);

void
hybrid_check_arguments(FunctionCallInfo fcinfo, const char *const *names, int count)
{
	int i;

	for (i = 0; i < count; i++)
	{
		if (PG_ARGISNULL(i))
			ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
			                errmsg("%s must not be NULL", names[i])));
	}
}

HybridVectorTypes
hybrid_vector_types(FunctionCallInfo fcinfo)
{
	Oid schema = get_func_namespace(fcinfo->flinfo->fn_oid);

	return (HybridVectorTypes){.vector = find_type(schema, "vector"),
	                           .halfvec = find_type(schema, "halfvec")};
}

double
hybrid_recall_argument(FunctionCallInfo fcinfo, int number)
{
	double recall;

	if (number >= PG_NARGS() || PG_ARGISNULL(number))
		return 1;
	recall = PG_GETARG_FLOAT8(number);
	if (!(recall >= 0.5 && recall <= 1))
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("recall must be from 0.5 to 1, not %g", recall)));
	return recall;
}

static Oid
find_type(Oid schema, const char *name)
{
	Oid type = GetSysCacheOid2(TYPENAMENSP, Anum_pg_type_oid, CStringGetDatum(name),
	                           ObjectIdGetDatum(schema));

	if (!OidIsValid(type))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_OBJECT),
		                errmsg("type \"%s\" does not exist in schema \"%s\"", name,
		                       get_namespace_name(schema))));
	return type;
}
