/*
 * stub_driver.c
 *		A libcuda.so.1 that fails as the environment says: what the runtime inside hybrid_cuda.so
 *		meets on machines whose driver is broken, old, or has no device.
 *
 *		STUB_INIT		what cuInit returns (0)
 *		STUB_VERSION	the version it claims (13000)
 *		STUB_RETURNS	what every other function returns (801, not supported)
 *
 * It offers the few functions the runtime asks for by name and answers cuGetProcAddress for all
 * others, so it needs no list of them.
 */
#include <stdlib.h>
#include <string.h>

extern int cuInit(unsigned int flags);
extern int cuDriverGetVersion(int *version);
extern int cuGetExportTable(const void **table, const void *id);
extern int cuGetProcAddress_v2(const char *name, void **function, int version,
                               unsigned long long flags, int *found);

static int
from_environment(const char *name, int otherwise)
{
	const char *value = getenv(name);

	return value != NULL ? atoi(value) : otherwise;
}

static int
any_function(void)
{
	return from_environment("STUB_RETURNS", 801);
}

int
cuInit(unsigned int flags)
{
	(void) flags;
	return from_environment("STUB_INIT", 0);
}

int
cuDriverGetVersion(int *version)
{
	*version = from_environment("STUB_VERSION", 13000);
	return 0;
}

int
cuGetExportTable(const void **table, const void *id)
{
	(void) table;
	(void) id;
	return 500;
}

int
cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags,
                    int *found)
{
	(void) version;
	(void) flags;
	if (found != NULL)
		*found = 0;
	if (strcmp(name, "cuInit") == 0)
		*function = (void *) cuInit;
	else if (strcmp(name, "cuDriverGetVersion") == 0)
		*function = (void *) cuDriverGetVersion;
	else if (strcmp(name, "cuGetExportTable") == 0)
		*function = (void *) cuGetExportTable;
	else if (strncmp(name, "cuGetProcAddress", 16) == 0)
		*function = (void *) cuGetProcAddress_v2;
	else
		*function = (void *) any_function;
	return 0;
}
