/*
 * library_file_test.c
 *		A library's file that is cut, or of which parts are zeros, is seen before it is loaded.
 *
 * The library is compiled here, into a directory of the test's own.
 */
#define _POSIX_C_SOURCE 200809L

#include <dlfcn.h>
#include <elf.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "dispatch/library_file.h"
#include "dispatch/plugin.h"
#include "unit.h"

static char directory[64];
static char path[128];
static unsigned char *whole;
static long length;

static void
run(const char *format)
{
	char command[512];

	snprintf(command, sizeof(command), format, directory, directory);
	CHECK_INT(system(command), 0);
}

static void
write_back(const unsigned char *bytes, long count)
{
	FILE *file = fopen(path, "w");

	CHECK(file != NULL && (long) fwrite(bytes, 1, (size_t) count, file) == count);
	fclose(file);
}

static void
read_whole(void)
{
	FILE *file = fopen(path, "r");

	CHECK(file != NULL && fseek(file, 0, SEEK_END) == 0);
	length = ftell(file);
	rewind(file);
	free(whole);
	whole = malloc((size_t) length);
	CHECK(whole != NULL && (long) fread(whole, 1, (size_t) length, file) == length);
	fclose(file);
}

/* built: as it comes from the compiler, after what FORMAT, a command, has done to it. */
static void
built(const char *format)
{
	run("cc -std=c11 -shared -fPIC -O1 -o %s/lib.so %s/lib.c");
	if (format != NULL)
		run(format);
	read_whole();
}

/* fails_to_load: the loader refuses it, or the process dies. */
static bool
fails_to_load(void)
{
	int status;
	pid_t child = fork();

	if (child == 0)
	{
		/* nobody is to be told of a death that is expected */
		signal(SIGSEGV, SIG_DFL);
		_exit(dlopen(path, RTLD_NOW | RTLD_LOCAL) == NULL);
	}
	return waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != 0;
}

static void
what_a_linker_makes(void)
{
	static const char *const after[] = {NULL, "strip %s/lib.so", "strip -g %s/lib.so",
	                                    "objcopy --add-section .extra=%s/lib.c %s/lib.so"};
	size_t i;

	for (i = 0; i < sizeof(after) / sizeof(after[0]); i++)
	{
		built(after[i]);
		CHECK_MSG(hy_library_file_look(path) == HY_LIBRARY_PLAUSIBLE, "%s",
		          after[i] != NULL ? after[i] : "as it is");
		CHECK(!fails_to_load());
	}
}

static void
without_section_headers(void)
{
	Elf64_Ehdr header;

	built(NULL);
	memcpy(&header, whole, sizeof(header));
	header.e_shoff = 0;
	header.e_shnum = 0;
	header.e_shstrndx = SHN_UNDEF;
	memcpy(whole, &header, sizeof(header));
	write_back(whole, length);
	CHECK_INT(hy_library_file_look(path), HY_LIBRARY_PLAUSIBLE);
	CHECK(!fails_to_load());
}

static void
not_one_byte_may_be_missing(void)
{
	long kept;

	built(NULL);
	for (kept = length - 1; kept > (long) sizeof(Elf64_Ehdr); kept -= kept > 8192 ? 61 : 7)
	{
		CHECK_INT(truncate(path, kept), 0);
		CHECK_MSG(hy_library_file_look(path) == HY_LIBRARY_CUT, "%ld of %ld bytes", kept, length);
	}
}

/* blocks that were not written when the power was lost: from anywhere to the end */
static void
an_end_of_zeros(void)
{
	long kept;

	built(NULL);
	for (kept = (long) sizeof(Elf64_Ehdr); kept < length - (long) sizeof(Elf64_Shdr); kept += 64)
	{
		unsigned char *damaged = malloc((size_t) length);

		memcpy(damaged, whole, (size_t) kept);
		memset(damaged + kept, 0, (size_t) (length - kept));
		write_back(damaged, length);
		CHECK_MSG(hy_library_file_look(path) != HY_LIBRARY_PLAUSIBLE, "%ld of %ld bytes", kept,
		          length);
		free(damaged);
	}
}

/* the loader dies of it */
static void
a_dynamic_section_of_zeros(void)
{
	Elf64_Ehdr header;
	int found = 0;
	int i;

	built(NULL);
	memcpy(&header, whole, sizeof(header));
	for (i = 0; i < header.e_phnum; i++)
	{
		Elf64_Phdr part;

		memcpy(&part, whole + header.e_phoff + (size_t) i * sizeof(part), sizeof(part));
		if (part.p_type != PT_DYNAMIC)
			continue;
		found++;
		memset(whole + part.p_offset, 0, part.p_filesz);
		write_back(whole, length);
		CHECK(fails_to_load());
		CHECK_INT(hy_library_file_look(path), HY_LIBRARY_DAMAGED);
		/* and one without an end */
		memset(whole + part.p_offset, 1, part.p_filesz);
		write_back(whole, length);
		CHECK_INT(hy_library_file_look(path), HY_LIBRARY_DAMAGED);
	}
	CHECK_INT(found, 1);
}

/* no byte of the headers may make the look itself read where there is nothing */
static void
headers_of_any_content(void)
{
	uint64_t draw = 1;
	int seen = 0;
	int i;

	built(NULL);
	for (i = 0; i < 500; i++)
	{
		unsigned char *damaged = malloc((size_t) length);
		int hits = 1 + i % 8;

		memcpy(damaged, whole, (size_t) length);
		while (hits-- > 0)
		{
			draw = draw * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
			damaged[(draw >> 33) % 1024] = (unsigned char) (draw >> 20);
		}
		write_back(damaged, length);
		seen += hy_library_file_look(path) != HY_LIBRARY_PLAUSIBLE;
		free(damaged);
	}
	CHECK(seen > 0 && seen < 500);
}

static void
what_is_no_library(void)
{
	CHECK_INT(hy_library_file_look("/nowhere/at/all.so"), HY_LIBRARY_PLAUSIBLE);
	CHECK_INT(hy_library_file_look(directory), HY_LIBRARY_NO_FILE);
	CHECK_INT(hy_library_file_look("/dev/null"), HY_LIBRARY_NO_FILE);
	write_back((const unsigned char *) "no library\n", 11);
	CHECK_INT(hy_library_file_look(path), HY_LIBRARY_PLAUSIBLE);
	CHECK_INT(truncate(path, 0), 0);
	CHECK_INT(hy_library_file_look(path), HY_LIBRARY_PLAUSIBLE);
}

/* the loader opens a pipe and waits for somebody to write to it: so may a look not, nor what loads */
static void
a_pipe_is_not_waited_for(void)
{
	HyHost host = {HY_BACKEND_ABI, &hy_monotonic_clock, &hy_malloc_allocator, NULL, NULL};
	char why[256] = "";

	CHECK_INT(unlink(path), 0);
	CHECK_INT(mkfifo(path, 0600), 0);
	alarm(60); /* or this would never end */
	CHECK_INT(hy_library_file_look(path), HY_LIBRARY_NO_FILE);
	CHECK(hy_plugin_load(directory, "lib", &host, why, sizeof(why)) == NULL);
	CHECK_STR(why, "lib.so is no regular file");
	alarm(0);
	CHECK_INT(unlink(path), 0);
}

int
main(void)
{
	FILE *file;

	strcpy(directory, "/tmp/hybrid-library-XXXXXX");
	if (mkdtemp(directory) == NULL)
		return 2;
	snprintf(path, sizeof(path), "%s/lib.c", directory);
	file = fopen(path, "w");
	if (file == NULL)
		return 2;
	fputs("#include <stdio.h>\nint hello(void) { return puts(\"hello\"); }\n", file);
	fclose(file);
	snprintf(path, sizeof(path), "%s/lib.so", directory);
	UNIT_RUN(what_a_linker_makes);
	UNIT_RUN(without_section_headers);
	UNIT_RUN(not_one_byte_may_be_missing);
	UNIT_RUN(an_end_of_zeros);
	UNIT_RUN(a_dynamic_section_of_zeros);
	UNIT_RUN(headers_of_any_content);
	UNIT_RUN(what_is_no_library);
	UNIT_RUN(a_pipe_is_not_waited_for);
	run("rm -rf '%s'");
	free(whole);
	return unit_finish();
}
