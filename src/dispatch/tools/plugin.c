/*
 * plugin.c
 *		Loads a backend from a shared library: see plugin.h.
 */
#define _POSIX_C_SOURCE 200809L

#include "dispatch/tools/plugin.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dispatch/tools/words.h"

static bool bare_name(const char *name);
static bool complete(const HyBackend *backend);
static bool sayable(const char *name);
static bool reserved(const char *name);

const HyBackend *
hy_plugin_load(const char *directory, const char *name, const HyHost *host, char *why,
               size_t length)
{
	char path[PATH_MAX];
	void *library;
	void *symbol;
	HyPluginEntry entry;
	const HyBackend *backend;
	struct stat file;
	int written;

	if (!bare_name(name))
	{
		snprintf(why, length, "\"%s\" is not a bare file name of at most %d characters", name,
		         HY_NAME_LENGTH - 1);
		return NULL;
	}
	written = snprintf(path, sizeof(path), "%s/%s.so", directory, name);
	if (written < 0 || (size_t) written >= sizeof(path))
	{
		snprintf(why, length, "the path of %s.so is too long", name);
		return NULL;
	}
	/* if the file were a named pipe, dlopen would wait for a writer */
	if (stat(path, &file) == 0 && !S_ISREG(file.st_mode))
	{
		snprintf(why, length, "%s.so is no regular file", name);
		return NULL;
	}
	if (access(path, R_OK) != 0)
	{
		/* the most common error, for which dlopen's message is unclear */
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
	/*
	 * ISO C has no cast from an object pointer to a function pointer.  POSIX guarantees that dlsym's
	 * result can be converted.
	 */
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
	else if (!sayable(backend->name))
		snprintf(why, length, "%s.so has a name that cannot be said in hybrid.execution", name);
	else if (reserved(backend->name))
		snprintf(why, length, "%s.so calls itself \"%s\", which means something else", name,
		         backend->name);
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

bool
hy_backend_name_allowed(const char *name)
{
	return strlen(name) < HY_NAME_LENGTH && sayable(name) && !reserved(name);
}

/* sayable: return whether the name can be a value of hybrid.execution without quotes. */
static bool
sayable(const char *name)
{
	return *name >= 'a' && *name <= 'z' &&
	       strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

/*
 * reserved: return whether the name is a keyword of hybrid.execution, or a word like on, no or
 * none.
 */
static bool
reserved(const char *name)
{
	static const char *const names[] = {"on",  "off", "true", "false",
	                                    "yes", "no",  "none", "default"};
	size_t i;

	if (hy_word_read(HY_WORDS_EXECUTION, name, strlen(name)) >= 0)
		return true;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}
