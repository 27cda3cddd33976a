/*
 * plugin.h
 *		Loads a backend from a shared library.
 *
 * The steps are dlopen(RTLD_NOW | RTLD_LOCAL), the entry symbol, and the ABI number.  Each failure
 * yields a sentence for the view and the log, and never a crash.  A library stays loaded until the
 * process ends, since contexts and timer threads of a driver do not survive dlclose.
 */
#ifndef HY_PLUGIN_H
#define HY_PLUGIN_H

#include "dispatch/backend.h"

/*
 * hy_plugin_load: load the backend in library directory/name.so (name has no slash).  On failure
 * returns NULL, and why (length bytes) has the reason.
 */
extern const HyBackend *hy_plugin_load(const char *directory, const char *name, const HyHost *host,
                                       char *why, size_t length);

/*
 * hy_backend_name_allowed: whether a backend may have this name, which is also a value of
 * hybrid.execution.  Allowed are lower-case letters, digits and underscores; the first character is
 * a letter, and the name is shorter than HY_NAME_LENGTH.  The setting's own words are not allowed,
 * nor words for yes, no, none or default.
 */
extern bool hy_backend_name_allowed(const char *name);

#endif
