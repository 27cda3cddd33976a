/*
 * input.h
 *		What the input functions of all types share: type modifiers, and what is said of bad text.
 */
#ifndef HYBRID_INPUT_H
#define HYBRID_INPUT_H

#include "postgres.h"

#include "core/number_text.h"
#include "utils/array.h"

/* HybridTextForm: a type's name in SQL, and what its messages say of its punctuation. */
typedef struct HybridTextForm
{
	const char *type;
	const char *opening;   /* detail where the opening bracket is missing */
	const char *following; /* detail where something follows the end */
} HybridTextForm;

/*
 * hybrid_read_modifier: the dimensions that a type modifier such as the 3 of vector(3) asks for;
 * raises on anything but one number from 1 to max.
 */
extern int32 hybrid_read_modifier(ArrayType *modifiers, const char *type, int32 max);

/*
 * hybrid_report_text_error: raises what the parser noticed at where in text.  Errors in the number
 * of elements are not among those: what they say depends on the type.
 */
extern void hybrid_report_text_error(const HybridTextForm *form, HyTextError error,
                                     const char *text, const char *where) pg_attribute_noreturn();

/* hybrid_refuse_not_finite: raises since an element is a NaN, or an infinity. */
extern void hybrid_refuse_not_finite(const char *type, bool nan) pg_attribute_noreturn();

#endif
