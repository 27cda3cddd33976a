/*
 * input.h
 *		Type modifiers and text errors, shared by the input functions of all types.
 */
#ifndef HYBRID_INPUT_H
#define HYBRID_INPUT_H

#include "postgres.h"

#include "core/number_text.h"
#include "server/compat.h"
#include "utils/array.h"

/* HybridTextForm: a type's SQL name, and the details of its error messages about punctuation. */
typedef struct HybridTextForm
{
	const char *type;
	const char *opening;   /* error detail if the opening bracket is missing */
	const char *following; /* error detail if text follows the end */
} HybridTextForm;

/*
 * hybrid_read_modifier: return the dimensions in a type modifier, such as the 3 of vector(3).
 * Raises unless the modifier is a single number from 1 to max.
 */
extern int32 hybrid_read_modifier(ArrayType *modifiers, const char *type, int32 max);

/*
 * hybrid_report_text_error: raise the error that the parser found at position `where` of text. The
 * caller must handle errors about the number of elements, because their messages depend on the
 * type.
 */
pg_noreturn extern void hybrid_report_text_error(const HybridTextForm *form, HyTextError error,
                                                 const char *text, const char *where);

/*
 * hybrid_refuse_not_finite: raise the error for a NaN element if nan is true, else the error for an
 * infinite element.
 */
pg_noreturn extern void hybrid_refuse_not_finite(const char *type, bool nan);

#endif
