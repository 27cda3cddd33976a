/*
 * backend_cpu.h
 *		The CPU backend, which is always available.
 */
#ifndef HY_BACKEND_CPU_H
#define HY_BACKEND_CPU_H

#include "dispatch/backend.h"

/*
 * hy_backend_cpu: a backend with one device; submit runs the task to its end.
 */
extern const HyBackend hy_backend_cpu;

#endif
