/*
 * frame.h
 *		Coordinates in which codes are made: the frame of an index.
 *
 * The *place* of a vector is the vector minus the center of the index. Under cosine, the vector is first
 * divided by its length. The code of a row is computed from the rotated place of the row minus that of its list's
 * centroid. Inner lists store centroids as places. The centroid of the root is the center, whose place is 0.
 */
#ifndef HYBRID_INDEX_FRAME_H
#define HYBRID_INDEX_FRAME_H

#include "core/codes.h"
#include "core/rotation.h"

#include "index/page/index.h"

typedef struct HybridFrame
{
	HyMetric metric;
	const HybridLayout *layout;
	const HyRotation *rotation;
	const float *center; /* dims numbers; NULL if the center is the origin */
	float *residual;     /* scratch space for a rotated place minus a centroid; `padded` numbers */
	float *zeros;        /* place of the center, all zeros; `padded` numbers */
	uint8 *bits;         /* scratch space for the bits of one row */
} HybridFrame;

/*
 * hybrid_frame_init: initialize a frame in the current memory context. The caller keeps `center` (dims
 * numbers, or NULL) and `index` valid.
 */
extern void hybrid_frame_init(HybridFrame *frame, const HybridIndex *index, const float *center);

/* hybrid_frame_open: initialize a frame with the center that the index stores at block `center`. */
extern void
hybrid_frame_open(HybridFrame *frame, Relation index, const HybridIndex *open, BlockNumber center);

/*
 * hybrid_center_page: make a page with the next part of the center, which begins at `from`. `left` bytes
 * of the center remain. Returns the number of bytes that are on the page.
 */
extern Size hybrid_center_page(Page page, const char *from, Size left);

/*
 * hybrid_frame_place: compute place[0 .. dims - 1], the place of vector x. `norm` is the canonical
 * squared norm of x. It is used only under cosine, and in an index on bit.
 */
extern void hybrid_frame_place(const HybridFrame *frame, const float *x, float norm, float *place);

/*
 * hybrid_frame_encode: compute the code of an entry. Its bits go to frame->bits, its factors to *code. The
 * entry and the list's centroid are given as places, plain and rotated. If `rotated_centroid` is NULL, the
 * centroid is the center. Returns the squared distance of the entry from the centroid.
 */
extern float
hybrid_frame_encode(HybridFrame *frame, const float *place, const float *rotated,
                    const float *centroid, const float *rotated_centroid, HyCode *code);

#endif
