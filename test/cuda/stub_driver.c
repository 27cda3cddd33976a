/*
 * stub_driver.c
 *		A libcuda.so.1 that fails as environment variables say.  It shows how the runtime inside
 *		hybrid_cuda.so behaves on machines whose driver is broken or old, or that have no device.
 *
 *		STUB_INIT		status returned by cuInit (0)
 *		STUB_VERSION	driver version reported (13000)
 *		STUB_FAILS		a function that fails after cuInit has succeeded
 *		STUB_RETURNS	status returned by that function
 *
 * The stub has one device, and answers the runtime's calls until devices have been counted and
 * inspected.  A stub cannot do more: the runtime then checks that the driver is NVIDIA's, and
 * counting fails because it is not (103).  The fake runtime (fake.h) covers failures of contexts,
 * memory and kernels.  The runtime finds functions by cuGetProcAddress, so the stub needs no
 * complete list of them.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define NOT_SUPPORTED 801
#define CAPABILITY_MAJOR 75 /* of the attributes */

extern int cuInit(unsigned int flags);
extern int cuDriverGetVersion(int *version);
extern int cuGetExportTable(const void **table, const void *id);
extern int cuGetProcAddress_v2(const char *name, void **function, int version,
                               unsigned long long flags, int *found);

/* Table: a table of unnamed functions, which begins with its size in bytes. */
typedef struct Table
{
	size_t size;
	int (*function[31])(void **, size_t *);
} Table;

static int
from_environment(const char *name, int otherwise)
{
	const char *value = getenv(name);

	return value != NULL ? atoi(value) : otherwise;
}

/* result_of: return 0, or the configured status if this function is to fail. */
static int
result_of(const char *function)
{
	const char *fails = getenv("STUB_FAILS");

	return fails != NULL && strcmp(fails, function) == 0 ? from_environment("STUB_RETURNS", 999)
	                                                     : 0;
}

static int
any_function(void)
{
	return NOT_SUPPORTED;
}

static int
loading_mode(int *mode)
{
	*mode = 1;
	return result_of("cuModuleGetLoadingMode");
}

static int
device_count(int *count)
{
	*count = 1;
	return result_of("cuDeviceGetCount");
}

static int
device_get(int *device, int ordinal)
{
	*device = ordinal;
	return result_of("cuDeviceGet");
}

static int
device_name(char *name, int length, int device)
{
	(void) device;
	strncpy(name, "Stub", (size_t) length);
	return result_of("cuDeviceGetName");
}

static int
device_memory(size_t *bytes, int device)
{
	(void) device;
	*bytes = (size_t) 1 << 30;
	return result_of("cuDeviceTotalMem");
}

static int
device_uuid(void *uuid, int device)
{
	(void) device;
	memset(uuid, 0x5a, 16);
	return result_of("cuDeviceGetUuid");
}

static int
device_attribute(int *value, int attribute, int device)
{
	(void) device;
	*value = attribute == CAPABILITY_MAJOR ? 9 : 1;
	return result_of("cuDeviceGetAttribute");
}

static const struct
{
	const char *name;
	void *function;
} known[] = {{"cuInit", (void *) cuInit},
             {"cuDriverGetVersion", (void *) cuDriverGetVersion},
             {"cuGetExportTable", (void *) cuGetExportTable},
             {"cuGetProcAddress", (void *) cuGetProcAddress_v2},
             {"cuGetProcAddress_v2", (void *) cuGetProcAddress_v2},
             {"cuModuleGetLoadingMode", (void *) loading_mode},
             {"cuDeviceGetCount", (void *) device_count},
             {"cuDeviceGet", (void *) device_get},
             {"cuDeviceGetName", (void *) device_name},
             {"cuDeviceTotalMem", (void *) device_memory},
             {"cuDeviceGetUuid", (void *) device_uuid},
             {"cuDeviceGetAttribute", (void *) device_attribute}};

static int
nothing(void **room, size_t *size)
{
	(void) room;
	(void) size;
	return 0;
}

/* some_room: return some memory.  A function of the table of hooks. */
static int
some_room(void **room, size_t *size)
{
	static uint64_t zeros[1024];

	*room = zeros;
	*size = sizeof(zeros) / 2;
	return 0;
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
	static const unsigned char hooks[] = {0xa0, 0x94, 0x79, 0x8c};
	static Table tables[2];
	Table *wanted = &tables[memcmp(id, hooks, sizeof(hooks)) == 0];
	size_t i;

	wanted->size = sizeof(*wanted);
	for (i = 0; i < sizeof(wanted->function) / sizeof(wanted->function[0]); i++)
		wanted->function[i] = wanted == &tables[1] ? some_room : nothing;
	*table = wanted;
	return result_of("cuGetExportTable");
}

int
cuGetProcAddress_v2(const char *name, void **function, int version, unsigned long long flags,
                    int *found)
{
	size_t i;

	(void) version;
	(void) flags;
	if (found != NULL)
		*found = 0;
	*function = (void *) any_function;
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
	{
		if (strcmp(name, known[i].name) == 0)
			*function = known[i].function;
	}
	return 0;
}
