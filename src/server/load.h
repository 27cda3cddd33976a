/*
 * load.h
 *		The load of the machine.
 */
#ifndef HYBRID_LOAD_H
#define HYBRID_LOAD_H

#include "postgres.h"

#include "dispatch/dispatcher.h"

/* hybrid_load: read the load from the kernel; 0 for a number that it does not give.  Opens two files. */
extern void hybrid_load(HyLoad *load);

#endif
