/*
 * plugin.c
 *		Finding a backend in a shared library: see plugin.h.
 */
#define _POSIX_C_SOURCE 200809L

#include "dispatch/plugin.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool bare_name(const char *name);
static bool cut_short(const char *path);
static bool complete(const HyBackend *backend);
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
	if (cut_short(path))
	{
		snprintf(why, length, "%s.so is not complete: its end is missing", name);
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

/*
 * cut_short: whether a library lacks part of what its headers promise, as after a copy that was
 * interrupted.  dlopen maps what is promised and dies of SIGBUS where the file has ended.  All else
 * that can be wrong with a file, dlopen says itself.
 */
static bool
cut_short(const char *path)
{
	Elf64_Ehdr header;
	struct stat status;
	bool cut = false;
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int i;

	if (file < 0)
		return false;
	if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) &&
	    pread(file, &header, sizeof(header), 0) == (ssize_t) sizeof(header) &&
	    memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 && header.e_ident[EI_CLASS] == ELFCLASS64 &&
	    header.e_phentsize == sizeof(Elf64_Phdr))
	{
		for (i = 0; i < header.e_phnum && !cut; i++)
		{
			Elf64_Phdr part;
			off_t at = (off_t) (header.e_phoff + (uint64_t) i * sizeof(part));

			cut = pread(file, &part, sizeof(part), at) != (ssize_t) sizeof(part) ||
			      (part.p_type == PT_LOAD &&
			       (part.p_offset > (uint64_t) status.st_size ||
			        part.p_filesz > (uint64_t) status.st_size - part.p_offset));
		}
	}
	close(file);
	return cut;
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

/* Names that hybrid.execution gives another meaning, or that the CPU has already. */
static bool
reserved(const char *name)
{
	static const char *const names[] = {"auto", "cpu", "gpu", "prefer_cpu", "prefer_gpu", "split"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		if (strcmp(name, names[i]) == 0)
			return true;
	}
	return false;
}
