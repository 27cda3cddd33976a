/*
 * load.c
 *		The load of the machine, from Linux's /proc.
 *
 * The load is the average over a minute, not the current value.  Decisions then react a little late, but they
 * do not change whenever a process wakes up.
 */
#include "postgres.h"

#include <unistd.h>

#include "server/load.h"
#include "storage/fd.h"

void
hybrid_load(HyLoad *load)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	double available = 0;
	double average;
	char line[128];
	FILE *file;

	memset(load, 0, sizeof(*load));
	file = AllocateFile("/proc/loadavg", "r");
	if (file != NULL)
	{
		if (fscanf(file, "%lf", &average) == 1 && cores > 0)
			load->runnable = average / (double) cores;
		FreeFile(file);
	}
	file = AllocateFile("/proc/meminfo", "r");
	if (file == NULL)
		return;
	while (fgets(line, sizeof(line), file) != NULL)
	{
		if (sscanf(line, "MemAvailable: %lf", &available) == 1)
			break;
	}
	FreeFile(file);
	if (available > 0)
		load->memory = (uint64_t) (available * 1024);
}
