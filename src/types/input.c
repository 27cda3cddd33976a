/*
 * input.c
 *		Type modifiers and errors about malformed text, for vector, halfvec and sparsevec.
 *
 * The messages equal those of pgvector, because clients compare them.
 */
#include "postgres.h"

#include <stdlib.h>

#include "server/compat.h"
#include "types/input.h"

pg_noreturn static void
report_syntax(const HybridTextForm *form, const char *text, const char *detail);

/*
 * hybrid_read_modifier: read a type modifier. No output function for modifiers is needed, because
 * PostgreSQL prints the modifier 3 as (3) by default.
 */
int32
hybrid_read_modifier(ArrayType *modifiers, const char *type, int32 max)
{
	int count;
	int32 *dims = ArrayGetIntegerTypmods(modifiers, &count);

	if (count != 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE), errmsg("invalid type modifier")));
	if (dims[0] < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("dimensions for type %s must be at least 1", type)));
	if (dims[0] > max)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("dimensions for type %s cannot exceed %d", type, max)));
	return dims[0];
}

void
hybrid_report_text_error(const HybridTextForm *form, HyTextError error, const char *text,
                         const char *where)
{
	char *end;

	switch (error)
	{
		case HY_TEXT_NAN:
			hybrid_refuse_not_finite(form->type, true);
			break;
		case HY_TEXT_INFINITE:
			hybrid_refuse_not_finite(form->type, false);
			break;
		case HY_TEXT_OUT_OF_RANGE:
			(void) strtof(where, &end);
			ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
			                errmsg("\"%s\" is out of range for type %s",
			                       pnstrdup(where, (Size) (end - where)), form->type)));
			break;
		case HY_TEXT_NO_BRACKET:
			report_syntax(form, text, form->opening);
			break;
		case HY_TEXT_JUNK:
			report_syntax(form, text, form->following);
			break;
		case HY_TEXT_CUT:
			report_syntax(form, text, "Unexpected end of input.");
			break;
		case HY_TEXT_SYNTAX:
			report_syntax(form, text, NULL);
			break;
		case HY_TEXT_OK:
		case HY_TEXT_EMPTY:
		case HY_TEXT_TOO_MANY:
		case HY_TEXT_TOO_SMALL:
			break;
	}
	elog(ERROR, "unrecognized text error: %d", (int) error);
}

void
hybrid_refuse_not_finite(const char *type, bool nan)
{
	if (nan)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION), errmsg("NaN not allowed in %s", type)));
	ereport(ERROR,
	        (errcode(ERRCODE_DATA_EXCEPTION), errmsg("infinite value not allowed in %s", type)));
}

static void
report_syntax(const HybridTextForm *form, const char *text, const char *detail)
{
	ereport(ERROR, (errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
	                errmsg("invalid input syntax for type %s: \"%s\"", form->type, text),
	                detail != NULL ? errdetail("%s", detail) : 0));
}
