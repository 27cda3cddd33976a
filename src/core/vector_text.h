/*
 * vector_text.h
 *		Reading a vector from text: '[1, 2.5, -3e4]'.
 *
 * The grammar, the rounding and the refusals are those of pgvector's vector and halfvec types: a
 * number is rounded to float as strtof does it, and for halfvec that float to binary16.
 */
#ifndef HY_VECTOR_TEXT_H
#define HY_VECTOR_TEXT_H

#include <stdint.h>

#include "core/batch.h"
#include "core/number_text.h"

/*
 * hy_vector_parse: reads at most max_dims elements from NUL-terminated text into out, an array of
 * dtype, and their number into *dims.  On error *where is the address in text where it was noticed.
 */
extern HyTextError hy_vector_parse(const char *text, HyDtype dtype, void *out, int32_t max_dims,
                                   int32_t *dims, const char **where);

#endif
