/*
 * load.h
 *		The load of the machine.
 */
#ifndef HYBRID_LOAD_H
#define HYBRID_LOAD_H

#include "postgres.h"

#include "dispatch/run/dispatcher.h"

/*
 * hybrid_load: read the load from the kernel.  Numbers that the kernel does not report are 0.  Opens two files.
 */
extern void hybrid_load(HyLoad *load);

/*
 * hybrid_cores: return how many cores this process may use: the cores of its affinity mask, limited by the CPU
 * time that its cgroups grant, and at least 1. The number is determined once per process.
 */
extern int hybrid_cores(void);

#endif
