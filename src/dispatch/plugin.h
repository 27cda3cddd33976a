/*
 * plugin.h
 *		Finding a backend in a shared library.
 *
 * dlopen(RTLD_NOW | RTLD_LOCAL), the entry symbol, the ABI number: each can be wrong, and each
 * wrong is a sentence for the view and the log, never a crash.  A library stays loaded until the
 * process ends: contexts and timer threads of a driver do not survive dlclose.
 */
#ifndef HY_PLUGIN_H
#define HY_PLUGIN_H

#include "dispatch/backend.h"

/*
 * hy_plugin_load: the backend in library directory/name.so (name is bare: no slash).  On failure
 * NULL, and why (length bytes) says what was wrong.
 */
extern const HyBackend *hy_plugin_load(const char *directory, const char *name, const HyHost *host,
                                       char *why, size_t length);

/*
 * hy_backend_name_allowed: whether a backend may have this name, by which hybrid.execution asks for it:
 * lower-case letters, digits and underscores, a letter first, shorter than HY_NAME_LENGTH; none of the
 * setting's own words, nor one that says yes or no.
 */
extern bool hy_backend_name_allowed(const char *name);

#endif
