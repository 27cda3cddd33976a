/*
 * driver_file.c
 *		Which file the driver's library will be: see driver_file.h.
 *
 * The loader looks into the directories of LD_LIBRARY_PATH and of this library's own RUNPATH, then for
 * what /etc/ld.so.cache has, then into its default directories.  The directories it tells itself
 * (dlinfo); the cache has a format of its own, so that only the paths in it are looked for.  Where two
 * files could be the one, or the loader has ways that are not told, such as directories for one kind of
 * processor, a driver is called cut only if every one of them is: a sound one must never be refused.
 */
#include "cuda/driver_file.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dispatch/library_file.h"

#define DRIVER "libcuda.so.1"
#if defined(__x86_64__)
#define MACHINE EM_X86_64
#else
#define MACHINE EM_AARCH64
#endif
#define CACHE "/etc/ld.so.cache"
#define CACHE_MOST (64 * 1024 * 1024)

/* Candidates: files that the loader may take, as far as they were looked at. */
typedef struct Candidates
{
	int cut;
	int others; /* sound, or what cannot be told */
	char *path; /* of the first that is cut */
	size_t length;
} Candidates;

static Dl_serinfo *search_path(void);
static void look_in_directory(const Dl_serpath *directory, Candidates *found);
static void look_in_cache(Candidates *found);
static void look_at(const char *path, Candidates *found);
static bool of_another_machine(const char *path);
static bool is_there(const char *directory, const char *name);

bool
hy_cuda_driver_cut(char *path, size_t length)
{
	Candidates found = {.path = path, .length = length};
	void *loaded = dlopen(DRIVER, RTLD_LAZY | RTLD_NOLOAD);
	Dl_serinfo *search;
	unsigned int i;

	if (loaded != NULL)
	{
		dlclose(loaded);
		return false;
	}
	search = search_path();
	if (search == NULL)
		return false;
	/* directories that come before the cache: the first file there is taken */
	for (i = 0; i < search->dls_cnt && found.cut + found.others == 0; i++)
	{
		if (!(search->dls_serpath[i].dls_flags & LA_SER_DEFAULT))
			look_in_directory(&search->dls_serpath[i], &found);
	}
	if (found.cut + found.others == 0)
	{
		look_in_cache(&found);
		for (i = 0; i < search->dls_cnt; i++)
			look_in_directory(&search->dls_serpath[i], &found);
	}
	free(search);
	return found.cut > 0 && found.others == 0;
}

/* search_path: of what this library loads; the caller frees it.  NULL: the loader does not say. */
static Dl_serinfo *
search_path(void)
{
	Dl_serinfo size;
	Dl_serinfo *search = NULL;
	Dl_info self;
	void *library;

	if (dladdr((void *) &search_path, &self) == 0 || self.dli_fname == NULL)
		return NULL;
	library = dlopen(self.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	/* linked into a program it is not a library */
	if (library == NULL)
		library = dlopen(NULL, RTLD_LAZY);
	if (library == NULL)
		return NULL;
	if (dlinfo(library, RTLD_DI_SERINFOSIZE, &size) == 0)
		search = malloc(size.dls_size);
	if (search != NULL)
	{
		memcpy(search, &size, offsetof(Dl_serinfo, dls_serpath));
		if (dlinfo(library, RTLD_DI_SERINFOSIZE, search) != 0 ||
		    dlinfo(library, RTLD_DI_SERINFO, search) != 0)
		{
			free(search);
			search = NULL;
		}
	}
	dlclose(library);
	return search;
}

static void
look_in_directory(const Dl_serpath *directory, Candidates *found)
{
	/* of these the loader takes the one that suits the processor, before the directory's own */
	static const char *const special[] = {"glibc-hwcaps", "tls",     "haswell", "xeon_phi",
	                                      "x86_64",       "aarch64", "atomics", "avx512_1"};
	char path[4096];
	size_t i;
	int written = snprintf(path, sizeof(path), "%s/%s", directory->dls_name, DRIVER);

	if (written < 0 || (size_t) written >= sizeof(path))
	{
		found->others++;
		return;
	}
	look_at(path, found);
	for (i = 0; i < sizeof(special) / sizeof(special[0]); i++)
	{
		if (found->cut > 0 && is_there(directory->dls_name, special[i]))
			found->others++;
	}
}

/* look_in_cache: strings in it that end in the driver's name are paths. */
static void
look_in_cache(Candidates *found)
{
	static const char name[] = "/" DRIVER; /* and the NUL */
	int file = open(CACHE, O_RDONLY | O_CLOEXEC);
	struct stat status;
	char *bytes = NULL;
	char *at;
	char *end;

	if (file < 0)
		return;
	if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < CACHE_MOST)
		bytes = malloc((size_t) status.st_size + 1);
	if (bytes == NULL || read(file, bytes, (size_t) status.st_size) != (ssize_t) status.st_size)
	{
		found->others++;
		free(bytes);
		close(file);
		return;
	}
	close(file);
	end = bytes + status.st_size;
	for (at = bytes; (at = memmem(at, (size_t) (end - at), name, sizeof(name))) != NULL;
	     at += sizeof(name))
	{
		char *start = at;

		while (start > bytes && start[-1] != '\0')
			start--;
		look_at(start, found);
	}
	free(bytes);
}

static void
look_at(const char *path, Candidates *found)
{
	/* what is not there, or not to be read, the loader passes over, or refuses by itself */
	if (access(path, R_OK) != 0 || of_another_machine(path))
		return;
	if (hy_library_file_look(path) != HY_LIBRARY_CUT)
	{
		found->others++;
		return;
	}
	if (found->cut++ == 0)
		snprintf(found->path, found->length, "%s", path);
}

/* of_another_machine: a library that the loader passes over on its way. */
static bool
of_another_machine(const char *path)
{
	Elf64_Ehdr header;
	int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	bool read_it;

	if (file < 0)
		return false;
	/* both kinds of header are alike as far as the machine */
	read_it = read(file, &header, sizeof(header)) == (ssize_t) sizeof(header);
	close(file);
	return read_it && memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
	       (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_machine != MACHINE);
}

static bool
is_there(const char *directory, const char *name)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return access(path, F_OK) == 0;
}
