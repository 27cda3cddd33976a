/*
 * sparse_text.h
 *		Reading a sparse vector from text: '{1:1.5, 3:-2}/5', indices from 1, then the dimensions.
 *
 * The grammar, the rounding (that of strtof) and the refusals are those of pgvector's sparsevec
 * type; a number that is not zero and whose nearest float4 is, is refused.
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
 * hy_sparse_parse: reads at most max elements from NUL-terminated text.  Zeros are checked and left
 * out; out holds *count others, by ascending index.  Dimensions and indices beyond the range of
 * int32_t are at its ends, all indices below 1 negative: neither is checked otherwise (see
 * hy_sparse_check_indices).  On error *where is the address in text where it was noticed.
 */
extern HyTextError hy_sparse_parse(const char *text, HySparseElement *out, int32_t max,
                                   int32_t *count, int32_t *dims, const char **where);

#endif
