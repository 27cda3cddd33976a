/*
 * copy_log.h
 *		Which leaves rows came into while VACUUM copies all rows to others.
 *
 * VACUUM goes by them to look again at those alone that changed since it copied what they had: behind the gate
 * there is no time to look at each.  A note is a bit of the meta page that several leaves have in common;
 * who adds an entry makes it, behind the share of the gate that he has, after the entry.
 */
#ifndef HYBRID_INDEX_COPY_LOG_H
#define HYBRID_INDEX_COPY_LOG_H

#include "index/page/index.h"

/* HybridNotes: those that were taken off the meta page. */
typedef struct HybridNotes
{
	uint8 bits[HYBRID_NOTES_BYTES];
} HybridNotes;

/*
 * hybrid_copy_log_begin: whatever comes into a leaf from now on is noted; waits for those who are adding
 * something, or splitting a list.  The caller has no lock of a list.
 */
extern void hybrid_copy_log_begin(Relation index);

/* hybrid_copy_log_end: no longer, if it was. */
extern void hybrid_copy_log_end(Relation index);

/* hybrid_note: an entry has come into a leaf, where HybridTree says that it is to be noted. */
extern void hybrid_note(Relation index, BlockNumber leaf);

/* hybrid_copy_log_take: adds to `notes` those that were made since they were taken last. */
extern void hybrid_copy_log_take(Relation index, HybridNotes *notes);

/* hybrid_noted: whether something may have come into a leaf; false: nothing has. */
extern bool hybrid_noted(const HybridNotes *notes, BlockNumber leaf);

#endif
