/*
 * sparse_text.h
 *		Parsing a sparse vector from text: '{1:1.5, 3:-2}/5', indices from 1, then the dimensions.
 *
 * The grammar, the rounding (as by strtof) and the errors are the same as for pgvector's sparsevec
 * type.  A nonzero number whose nearest float4 is zero is an error.
 */
#ifndef HY_SPARSE_TEXT_H
#define HY_SPARSE_TEXT_H

#include <stdint.h>

#include "core/number_text.h"

typedef struct HySparseElement
{
	int32_t index; /* from 0 */
	float value;
} HySparseElement;

/*
 * hy_sparse_parse: read at most max elements from NUL-terminated text.  Zeros are checked and left
 * out.  out receives the other elements by ascending index, and *count receives their number.
 * Dimensions and indices beyond the range of int32_t are clamped to it, and all indices below 1
 * become negative.  This function does not check them otherwise (see hy_sparse_check_indices).  On
 * error, *where is the position in text where the error was found.
 */
extern HyTextError hy_sparse_parse(const char *text, HySparseElement *out, int32_t max,
                                   int32_t *count, int32_t *dims, const char **where);

#endif
