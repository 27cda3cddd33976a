/*
 * plugin.h
 *		Loads a backend from a shared library.
 *
 * The loader calls dlopen(RTLD_NOW | RTLD_LOCAL), looks up the entry symbol, and checks the ABI
 * number.  If a step fails, the caller gets a message for the view and the log.  A library stays
 * loaded until the process ends, because contexts and timer threads of a driver do not survive
 * dlclose.
 */
#ifndef HY_PLUGIN_H
#define HY_PLUGIN_H

#include "dispatch/backend.h"

/*
 * hy_plugin_load: load the backend from the library directory/name.so (name has no slash).  On
 * failure, returns NULL and writes the reason to `why`, which has `length` bytes.
 */
extern const HyBackend *hy_plugin_load(const char *directory, const char *name, const HyHost *host,
                                       char *why, size_t length);

/*
 * hy_backend_name_allowed: return whether a backend may have this name, which is also a value of
 * hybrid.execution.  A name consists of lower-case letters, digits and underscores, starts with a
 * letter, and is shorter than HY_NAME_LENGTH.  It must not be a keyword of that setting, or one of
 * the words on, off, true, false, yes, no, none and default.
 */
extern bool hy_backend_name_allowed(const char *name);

#endif
