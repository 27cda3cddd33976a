/*
 * segments.h
 *		Makes the segments of a list of sparse vectors.
 */
#ifndef HYBRID_INDEX_SEGMENTS_H
#define HYBRID_INDEX_SEGMENTS_H

#include "index/page/new_list.h"

/*
 * A range of list pages gets a new segment when more than this number of its rows, plus a share of all
 * its rows, are not described. So an index that never had more rows has no segments.
 */
#define HYBRID_UNDESCRIBED_LEAST 512

/*
 * hybrid_segments_make: make a new segment for each range of list pages that has too many rows that no
 * segment describes, or whose segment describes too many rows that are gone. Frees the pages of
 * replaced segments. `logged` says whether changes of list pages are written to WAL; the sink decides
 * this for new pages. The caller is VACUUM, or builds the index.
 */
extern void hybrid_segments_make(Relation index, const HybridIndex *open, HybridLink list,
                                 HybridSink *sink, bool logged);

/*
 * hybrid_segment_free: free the pages of a segment that no list page names any more. Returns the number of pages.
 */
extern int hybrid_segment_free(Relation index, HybridLink link);

#endif
