/*
 * unread_distance.h
 *		The distance that rows are ordered by, in plans where nobody reads it.
 */
#ifndef HYBRID_INDEX_UNREAD_DISTANCE_H
#define HYBRID_INDEX_UNREAD_DISTANCE_H

/* hybrid_unread_init: from now on plans leave it out; once, when the module is loaded. */
extern void hybrid_unread_init(void);

#endif
