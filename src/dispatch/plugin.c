/*
 * plugin.c
 *		Finding a backend in a shared library: see plugin.h.
 */
#define _POSIX_C_SOURCE 200809L

#include "dispatch/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool bare_name(const char *name);
static bool complete(const HyBackend *backend);

const HyBackend *
hy_plugin_load(const char *directory, const char *name, const HyHost *host, char *why,
               size_t length)
{
	char path[PATH_MAX];
	void *library;
	void *symbol;
	HyPluginEntry entry;
	const HyBackend *backend;
	int written;

	if (!bare_name(name))
	{
		snprintf(why, length, "\"%s\" is not a bare file name", name);
		return NULL;
	}
	written = snprintf(path, sizeof(path), "%s/%s.so", directory, name);
	if (written < 0 || (size_t) written >= sizeof(path))
	{
		snprintf(why, length, "the path of %s.so is too long", name);
		return NULL;
	}
	if (access(path, R_OK) != 0)
	{
		/* Not left to dlopen, whose text for this most common case is the least clear. */
		if (errno == ENOENT)
			snprintf(why, length, "%s.so is not installed", name);
		else
			snprintf(why, length, "%s.so cannot be read: %s", name, strerror(errno));
		return NULL;
	}
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
	{
		const char *text = dlerror();

		snprintf(why, length, "%s.so cannot be loaded: %s", name,
		         text != NULL ? text : "no reason given");
		return NULL;
	}
	symbol = dlsym(library, HY_PLUGIN_ENTRY);
	if (symbol == NULL)
	{
		snprintf(why, length, "%s.so is not a backend: it has no %s", name, HY_PLUGIN_ENTRY);
		return NULL;
	}
	/* ISO C has no cast from an object pointer to a function pointer; POSIX says they fit. */
	memcpy(&entry, &symbol, sizeof(entry));
	backend = entry(host);
	if (backend == NULL)
		snprintf(why, length, "%s.so cannot serve backend interface %d", name, HY_BACKEND_ABI);
	else if (backend->abi != HY_BACKEND_ABI)
		snprintf(why, length, "%s.so was built for backend interface %u, this is %d", name,
		         (unsigned) backend->abi, HY_BACKEND_ABI);
	else if (backend->size != sizeof(HyBackend))
		snprintf(why, length, "%s.so has a backend table of %u bytes, not %zu", name,
		         (unsigned) backend->size, sizeof(HyBackend));
	else if (!complete(backend))
		snprintf(why, length, "%s.so leaves a function or its name out", name);
	else
		return backend;
	return NULL;
}

static bool
bare_name(const char *name)
{
	size_t n = strlen(name);

	return n > 0 && n < HY_NAME_LENGTH && name[0] != '.' && strchr(name, '/') == NULL;
}

static bool
complete(const HyBackend *b)
{
	return b->name != NULL && b->name[0] != '\0' && strlen(b->name) < HY_NAME_LENGTH &&
	       b->device_count != NULL && b->probe != NULL && b->open != NULL && b->close != NULL &&
	       b->caps != NULL && b->estimate != NULL && b->mem_info != NULL && b->buf_alloc != NULL &&
	       b->buf_free != NULL && b->upload != NULL && b->download != NULL && b->submit != NULL &&
	       b->poll != NULL && b->cancel != NULL && b->last_error != NULL;
}
