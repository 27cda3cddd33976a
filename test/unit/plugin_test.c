/*
 * plugin_test.c
 *		Each way in which a shared library can fail to be a backend, reported as a sentence.
 *
 * The libraries are compiled here, into a directory of the test's own.
 */
#define _POSIX_C_SOURCE 200809L

#include <sys/stat.h>
#include <unistd.h>

#include "dispatch/tools/plugin.h"
#include "unit.h"

static char directory[64];
static char why[HY_TEXT_LENGTH];
static const HyHost host = {
	.abi = HY_BACKEND_ABI, .clock = &hy_monotonic_clock, .allocator = &hy_malloc_allocator};

static const HyBackend *
load(const char *name)
{
	memset(why, 0, sizeof(why));
	return hy_plugin_load(directory, name, &host, why, sizeof(why));
}

static void
write_file(const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "w");
	CHECK(file != NULL);
	if (file != NULL)
	{
		fputs(text, file);
		fclose(file);
	}
}

/* build: build a library name.so from C source, with an available compiler. */
static void
build(const char *name, const char *source)
{
	char command[640];

	write_file("plugin.c", source);
	snprintf(command, sizeof(command), "cc -std=c11 -w -shared -fPIC -Isrc -o %s/%s.so %s/plugin.c",
	         directory, name, directory);
	CHECK_INT(system(command), 0);
}

static const char *const complete =
	"#include <stdbool.h>\n#include \"dispatch/backend.h\"\n"
	"static HyStatus f() { return HY_OK; } static void v() {}\n"
	"static HyCaps c() { HyCaps x = {0}; return x; }\n"
	"static HyEstimate e() { HyEstimate x = {0}; return x; }\n"
	"static HyBackend b = {HY_BACKEND_ABI, sizeof(HyBackend), \"tiny\", (void *) f, (void *) f,\n"
	"(void *) f, (void *) v, (void *) 0, (void *) c, (void *) e, (void *) f, (void *) f, (void *) "
	"v, (void *) "
	"f,\n"
	"(void *) f, (void *) f, (void *) f, (void *) v, (void *) v};\n"
	"const HyBackend *hy_plugin_entry(const HyHost *host) { %s return &b; }\n";

static void
build_backend(const char *name, const char *statement)
{
	char source[2048];

	snprintf(source, sizeof(source), complete, statement);
	build(name, source);
}

static void
test_good_plugin(void)
{
	const HyBackend *backend;

	build_backend("good", "");
	backend = load("good");
	CHECK_STR(why, "");
	CHECK(backend != NULL);
	if (backend != NULL)
		CHECK_STR(backend->name, "tiny");
	/* a second time gives the same */
	CHECK(load("good") == backend);
}

static void
test_names_that_are_not_bare(void)
{
	static const char *const names[] = {
		"",    "../good", "/tmp/good",
		"a/b", ".hidden", "a_name_of_more_than_sixty_three_characters_is_not_a_name_of_ours_"};
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		CHECK(load(names[i]) == NULL);
		CHECK_MSG(strstr(why, "is not a bare file name") != NULL, "\"%s\": %s", names[i], why);
	}
}

static void
test_missing(void)
{
	CHECK(load("absent") == NULL);
	CHECK_STR(why, "absent.so is not installed");
}

/* dlopen would wait for a writer */
static void
test_a_pipe(void)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/pipe.so", directory);
	CHECK_INT(mkfifo(path, 0600), 0);
	CHECK(load("pipe") == NULL);
	CHECK_STR(why, "pipe.so is no regular file");
}

static void
test_text_file(void)
{
	write_file("text.so", "this is no library\n");
	CHECK(load("text") == NULL);
	CHECK_MSG(strstr(why, "text.so cannot be loaded: ") == why, "%s", why);
}

static void
test_each_function_left_out(void)
{
	static const char *const functions[] = {"device_count", "probe",    "open",       "close",
	                                        "caps",         "estimate", "mem_info",   "buf_alloc",
	                                        "buf_free",     "upload",   "download",   "submit",
	                                        "poll",         "cancel",   "last_error", "name"};
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
	{
		char name[32];
		char statement[64];

		snprintf(name, sizeof(name), "no_%s", functions[i]);
		snprintf(statement, sizeof(statement), "b.%s = 0;", functions[i]);
		build_backend(name, statement);
		CHECK_MSG(load(name) == NULL, "%s", name);
		CHECK_MSG(strstr(why, ".so leaves a function or its name out") != NULL, "%s", why);
	}
}

static void
test_unresolved_symbol(void)
{
	build("unresolved", "extern int not_there(void); int hy_plugin_entry(void) "
	                    "{ return not_there(); }\n");
	CHECK(load("unresolved") == NULL);
	CHECK_MSG(strstr(why, "cannot be loaded: ") != NULL && strstr(why, "not_there") != NULL, "%s",
	          why);
}

static void
test_no_entry(void)
{
	build("other", "int something_else(void) { return 1; }\n");
	CHECK(load("other") == NULL);
	CHECK_STR(why, "other.so is not a backend: it has no hy_plugin_entry");
}

static void
test_refuses_this_host(void)
{
	build_backend("refuses", "return 0;");
	CHECK(load("refuses") == NULL);
	CHECK_STR(why, "refuses.so cannot serve backend interface 10");
}

static void
test_wrong_abi(void)
{
	build_backend("wrong_abi", "b.abi = 8;");
	CHECK(load("wrong_abi") == NULL);
	CHECK_STR(why, "wrong_abi.so was built for backend interface 8, this is 10");
}

static void
test_wrong_size(void)
{
	build_backend("wrong_size", "b.size = 8;");
	CHECK(load("wrong_size") == NULL);
	CHECK_MSG(strstr(why, "wrong_size.so has a backend table of 8 bytes, not ") == why, "%s", why);
}

static void
test_incomplete(void)
{
	build_backend("empty_name", "b.name = \"\";");
	CHECK(load("empty_name") == NULL);
	CHECK_STR(why, "empty_name.so leaves a function or its name out");
	/* 63 characters and the end of them are the longest */
	build_backend("long_name",
	              "b.name = \"a_name_of_so_many_characters_that_it_takes_all_there_is_room_for\";");
	CHECK(load("long_name") == NULL);
	CHECK_STR(why, "long_name.so leaves a function or its name out");
	build_backend("longest_name",
	              "b.name = \"a_name_of_so_many_characters_that_it_takes_all_there_is_room_fo\";");
	CHECK(load("longest_name") != NULL);
}

static void
test_short_room_for_why(void)
{
	char little[8];

	memset(little, 'x', sizeof(little));
	CHECK(hy_plugin_load(directory, "absent", &host, little, sizeof(little)) == NULL);
	CHECK_STR(little, "absent.");
}

static void
test_names_with_a_meaning(void)
{
	static const char *const names[] = {"cpu", "gpu", "auto", "prefer_gpu", "off", "none"};
	char statement[64];
	char expected[160];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		snprintf(statement, sizeof(statement), "b.name = \"%s\";", names[i]);
		build_backend(names[i], statement);
		CHECK(load(names[i]) == NULL);
		snprintf(expected, sizeof(expected),
		         "%s.so calls itself \"%s\", which means something else", names[i], names[i]);
		CHECK_STR(why, expected);
	}
}

static void
test_names_that_cannot_be_said(void)
{
	static const char *const names[] = {"Tiny", "2nd", "_one", "a-b", "a b", "a\\n", "\\303\\244"};
	char name[32];
	char statement[64];
	char expected[160];
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++)
	{
		snprintf(name, sizeof(name), "unsaid_%zu", i);
		snprintf(statement, sizeof(statement), "b.name = \"%s\";", names[i]);
		build_backend(name, statement);
		CHECK(load(name) == NULL);
		snprintf(expected, sizeof(expected),
		         "%s.so has a name that cannot be said in hybrid.execution", name);
		CHECK_STR(why, expected);
	}
	CHECK(hy_backend_name_allowed("cuda"));
	CHECK(hy_backend_name_allowed("a_2"));
	CHECK(!hy_backend_name_allowed(""));
	CHECK(!hy_backend_name_allowed("true"));
	CHECK(!hy_backend_name_allowed("split"));
	CHECK(
		hy_backend_name_allowed("a_name_of_so_many_characters_that_it_takes_all_there_is_room_fo"));
	CHECK(!hy_backend_name_allowed(
		"a_name_of_so_many_characters_that_it_takes_all_there_is_room_for"));
}

int
main(void)
{
	char command[128];

	strcpy(directory, "/tmp/hybrid-plugin-XXXXXX");
	if (mkdtemp(directory) == NULL)
		return 2;
	UNIT_RUN(test_good_plugin);
	UNIT_RUN(test_names_that_are_not_bare);
	UNIT_RUN(test_names_with_a_meaning);
	UNIT_RUN(test_names_that_cannot_be_said);
	UNIT_RUN(test_missing);
	UNIT_RUN(test_a_pipe);
	UNIT_RUN(test_text_file);
	UNIT_RUN(test_unresolved_symbol);
	UNIT_RUN(test_no_entry);
	UNIT_RUN(test_refuses_this_host);
	UNIT_RUN(test_wrong_abi);
	UNIT_RUN(test_wrong_size);
	UNIT_RUN(test_incomplete);
	UNIT_RUN(test_each_function_left_out);
	UNIT_RUN(test_short_room_for_why);
	snprintf(command, sizeof(command), "rm -rf '%s'", directory);
	CHECK_INT(system(command), 0);
	return unit_finish();
}
