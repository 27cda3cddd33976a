/*
 * handler.h
 *		What the module's entry needs of the access method.
 */
#ifndef HYBRID_HANDLER_H
#define HYBRID_HANDLER_H

/* hybrid_index_init: registers the options of indexes and how their stores are read; from _PG_init. */
extern void hybrid_index_init(void);

#endif
