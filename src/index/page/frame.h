/*
 * frame.h
 *		Where vectors are when codes are made of them: the frame of an index.
 *
 * The place of a vector is itself (under cosine its direction) relative to the centre of the index;
 * codes are made of places rotated.  The centroids that inner lists store are places.  The root's
 * centroid is the centre, the place 0.
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
	const float *centre; /* dims, or NULL: the origin */
	float *residual;     /* padded: room */
	float *zeros;        /* padded: the centre's own place */
	uint8 *bits;         /* room for the bits of one row */
} HybridFrame;

/* hybrid_rotation: the rotation for so many dims; kept until the backend ends. */
extern const HyRotation *hybrid_rotation(int dims, uint64 seed);

/*
 * hybrid_frame_init: in the current memory context; centre (dims, or NULL) and index stay the
 * caller's.
 */
extern void hybrid_frame_init(HybridFrame *frame, const HybridIndex *index, const float *centre);

/* hybrid_frame_open: with the centre that the tree names, read from the index. */
extern void
hybrid_frame_open(HybridFrame *frame, Relation index, const HybridIndex *open, BlockNumber centre);

/*
 * hybrid_frame_place: place[0 .. dims - 1] of a vector with this canonical squared norm, which
 * counts under cosine only.
 */
extern void hybrid_frame_place(const HybridFrame *frame, const float *x, float norm, float *place);

/*
 * hybrid_frame_encode: bits into frame->bits and factors of an entry of a list, both by their places
 * and these rotated; rotated centroid NULL: the centre.  Returns the squared length of the
 * residual, as the codes have it.
 */
extern float
hybrid_frame_encode(HybridFrame *frame, const float *place, const float *rotated,
                    const float *centroid, const float *rotated_centroid, HyCode *code);

#endif
