/*
 * load.h
 *		How busy the machine is.
 */
#ifndef HYBRID_LOAD_H
#define HYBRID_LOAD_H

#include "postgres.h"

#include "dispatch/dispatcher.h"

/* hybrid_load: as the kernel says; 0 where it does not. Opens two files. */
extern void hybrid_load(HyLoad *load);

#endif
