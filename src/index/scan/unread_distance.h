/*
 * unread_distance.h
 *		Remove the distance column of ORDER BY from plans in which no node reads it.
 */
#ifndef HYBRID_INDEX_UNREAD_DISTANCE_H
#define HYBRID_INDEX_UNREAD_DISTANCE_H

/*
 * hybrid_unread_init: install the planner hook that removes the column. Called once, when the module is
 * loaded.
 */
extern void hybrid_unread_init(void);

#endif
