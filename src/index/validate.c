/*
 * validate.c
 *		Checks whether this access method can use an operator class.
 */
#include "postgres.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "access/stratnum.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/regproc.h"
#include "utils/syscache.h"
#include "utils/typcache.h"

#include "index/page/index.h"
#include "index/handler.h"

static bool validate_family(CatCList *operators, CatCList *functions, const char *family, Oid type);
static bool validate_keys(CatCList *operators, const char *family, Oid type, bool *found);
static bool validate_operators(CatCList *operators, const char *family, Oid type, bool *found);
static bool has_equality(CatCList *operators);
static bool validate_condition(Form_pg_amop amop, const char *family, const char *which);
static bool validate_functions(CatCList *functions, const char *family, Oid type, bool *found);
static bool complain(const char *family, const char *what, const char *which);

bool
hybridvalidate(Oid opclass)
{
	HeapTuple tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Form_pg_opclass form;
	CatCList *operators, *functions;
	Oid family, type;
	char *name, *family_name;
	bool valid = true;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	form = (Form_pg_opclass) GETSTRUCT(tuple);
	family = form->opcfamily;
	type = form->opcintype;
	name = pstrdup(NameStr(form->opcname));
	if (OidIsValid(form->opckeytype))
		valid = complain(name, "has a storage type", format_type_be(form->opckeytype));
	ReleaseSysCache(tuple);

	tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(family));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator family %u", family);
	family_name = pstrdup(NameStr(((Form_pg_opfamily) GETSTRUCT(tuple))->opfname));
	ReleaseSysCache(tuple);

	operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
	functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(family));
	valid &= validate_family(operators, functions, family_name, type);
	ReleaseCatCacheList(functions);
	ReleaseCatCacheList(operators);
	return valid;
}

/*
 * validate_family: check an operator family, either one for keys, which has only equality operators, or
 * one for vectors.
 */
static bool
validate_family(CatCList *operators, CatCList *functions, const char *family, Oid type)
{
	bool keys = has_equality(operators), has_operator = false, has_function = keys, valid = true;

	if (keys)
		valid &= validate_keys(operators, family, type, &has_operator);
	else
		valid &= validate_operators(operators, family, type, &has_operator);
	valid &= validate_functions(functions, family, type, &has_function);
	if (keys && functions->n_members > 0)
		valid =
			complain(family, "has equality and support functions for type", format_type_be(type));
	if (!has_operator)
		valid = complain(family,
		                 keys ? "lacks an equality operator for type"
		                      : "lacks an ordering operator for type",
		                 format_type_be(type));
	if (!has_function)
		valid = complain(family, "lacks a support function for type", format_type_be(type));
	return valid;
}

static bool
has_equality(CatCList *operators)
{
	int i;

	for (i = 0; i < operators->n_members; i++)
	{
		if (((Form_pg_amop) GETSTRUCT(&operators->members[i]->tuple))->amopstrategy ==
		    HYBRID_EQUAL_STRATEGY)
			return true;
	}
	return false;
}

/*
 * validate_keys: check that each operator is the equality operator of the default hash operator class
 * of its left type.
 */
static bool
validate_keys(CatCList *operators, const char *family, Oid type, bool *found)
{
	bool valid = true;
	int i;

	for (i = 0; i < operators->n_members; i++)
	{
		Form_pg_amop amop = (Form_pg_amop) GETSTRUCT(&operators->members[i]->tuple);
		char *which = format_operator(amop->amopopr);
		Oid hash = lookup_type_cache(amop->amoplefttype, TYPECACHE_HASH_OPFAMILY)->hash_opf;

		if (amop->amopstrategy != HYBRID_EQUAL_STRATEGY)
			valid = complain(family, "has an operator with an invalid strategy number", which);
		else if (amop->amoppurpose != AMOP_SEARCH)
			valid = complain(family, "has a condition that is not a search operator", which);
		else if (!OidIsValid(hash) ||
		         get_op_opfamily_strategy(amop->amopopr, hash) != HTEqualStrategyNumber)
			valid = complain(family, "has an operator that is not its type's equality", which);
		else if (amop->amoplefttype == type && amop->amoprighttype == type)
			*found = true;
	}
	return valid;
}

static bool
validate_operators(CatCList *operators, const char *family, Oid type, bool *found)
{
	bool valid = true;
	int i;

	for (i = 0; i < operators->n_members; i++)
	{
		Form_pg_amop amop = (Form_pg_amop) GETSTRUCT(&operators->members[i]->tuple);
		char *which = format_operator(amop->amopopr);

		if (amop->amopstrategy == HYBRID_SPHERE_STRATEGY)
		{
			valid &= validate_condition(amop, family, which);
			continue;
		}
		if (amop->amopstrategy != HYBRID_DISTANCE_STRATEGY)
			valid = complain(family, "has an operator with an invalid strategy number", which);
		if (amop->amoppurpose != AMOP_ORDER)
			valid = complain(family, "has an operator that is not an ordering operator", which);
		else if (!opfamily_can_sort_type(amop->amopsortfamily, get_op_rettype(amop->amopopr)))
			valid = complain(family, "has an operator with an incorrect sort family", which);
		if (amop->amoplefttype != amop->amoprighttype ||
		    !check_amop_signature(amop->amopopr, FLOAT8OID, amop->amoplefttype,
		                          amop->amoprighttype))
			valid = complain(family, "has an operator with a wrong signature", which);
		if (amop->amoplefttype == type && amop->amopstrategy == HYBRID_DISTANCE_STRATEGY)
			*found = true;
	}
	return valid;
}

/* validate_condition: check a search operator. Its right operand, the sphere, must have a row type. */
static bool
validate_condition(Form_pg_amop amop, const char *family, const char *which)
{
	if (amop->amoppurpose != AMOP_SEARCH)
		return complain(family, "has a condition that is not a search operator", which);
	if (!type_is_rowtype(amop->amoprighttype) ||
	    !check_amop_signature(amop->amopopr, BOOLOID, amop->amoplefttype, amop->amoprighttype))
		return complain(family, "has an operator with a wrong signature", which);
	return true;
}

static bool
validate_functions(CatCList *functions, const char *family, Oid type, bool *found)
{
	bool valid = true;
	int i;

	for (i = 0; i < functions->n_members; i++)
	{
		Form_pg_amproc amproc = (Form_pg_amproc) GETSTRUCT(&functions->members[i]->tuple);
		char *which = format_procedure(amproc->amproc);

		if (amproc->amprocnum != HYBRID_METRIC_PROC)
			valid = complain(family, "has a function with an invalid support number", which);
		else if (!check_amproc_signature(amproc->amproc, INTERNALOID, true, 1, 1, INTERNALOID))
			valid = complain(family, "has a function with a wrong signature", which);
		else if (amproc->amproclefttype == type && amproc->amprocrighttype == type)
			*found = true;
	}
	return valid;
}

static bool
complain(const char *family, const char *what, const char *which)
{
	ereport(INFO,
	        (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
	         errmsg("operator family \"%s\" of access method hybrid %s %s", family, what, which)));
	return false;
}
