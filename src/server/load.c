/*
 * load.c
 *		How busy the machine is, from Linux's /proc.
 *
 * The average over a minute, not the number of this moment: a decision that flips with every
 * process that wakes up is worse than one that is a little late.
 */
#include "postgres.h"

#include <unistd.h>

#include "server/load.h"
#include "storage/fd.h"

void
hybrid_load(HyLoad *load)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	double total = 0;
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
	while (fgets(line, sizeof(line), file) != NULL && (total == 0 || available == 0))
	{
		if (sscanf(line, "MemTotal: %lf", &total) == 0)
			(void) sscanf(line, "MemAvailable: %lf", &available);
	}
	FreeFile(file);
	if (total > 0 && available > 0 && available <= total)
		load->memory = 1 - available / total;
}
