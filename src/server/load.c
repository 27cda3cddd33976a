/*
 * load.c
 *		The load of the machine, from Linux's /proc, and the cores that this process may use.
 *
 * The load is the average over a minute, not the current value.  Decisions then react a little late, but they
 * do not change whenever a process wakes up.
 */
#include "postgres.h"

#include <math.h>
#include <sched.h>
#include <unistd.h>

#include "server/load.h"
#include "storage/fd.h"

#define CGROUPS "/sys/fs/cgroup"

static int cores_of_mask(void);
static double cores_of_cgroups(void);
static double cores_of_cgroup(const char *path);

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

int
hybrid_cores(void)
{
	static int cores = 0;

	if (unlikely(cores == 0))
	{
		double granted = cores_of_cgroups();

		cores = cores_of_mask();
		/* round down: if the threads use up the quota of a period early, all of them must wait */
		if (granted < cores)
			cores = (int) granted;
		cores = Max(cores, 1);
	}
	return cores;
}

static int
cores_of_mask(void)
{
	cpu_set_t mask;
	long online;

	if (sched_getaffinity(0, sizeof(mask), &mask) == 0)
		return CPU_COUNT(&mask);
	online = sysconf(_SC_NPROCESSORS_ONLN); /* the machine may have more than 1,024 processors */
	return online > 0 ? (int) online : 1;
}

/*
 * cores_of_cgroups: return the smallest number of cores that a cgroup of this process, or one above it, grants.
 * Reads version 2 of cgroups, and the limit of a container under version 1.
 */
static double
cores_of_cgroups(void)
{
	char line[MAXPGPATH];
	char path[MAXPGPATH] = "";
	char file_name[2 * MAXPGPATH];
	double least = INFINITY;
	FILE *file = AllocateFile("/proc/self/cgroup", "r");

	if (file == NULL)
		return least;
	while (fgets(line, sizeof(line), file) != NULL)
	{
		if (strncmp(line, "0::/", 4) == 0)
			strlcpy(path, line + 3, sizeof(path));
	}
	FreeFile(file);
	path[strcspn(path, "\n")] = '\0';
	for (;;)
	{
		char *slash = strrchr(path, '/');

		snprintf(file_name, sizeof(file_name), CGROUPS "%s/cpu.max", path);
		least = Min(least, cores_of_cgroup(file_name));
		if (slash == NULL)
			break;
		*slash = '\0';
	}
	return Min(least, cores_of_cgroup(NULL));
}

/*
 * cores_of_cgroup: return the quota of a cgroup in cores, from its file cpu.max, or from the files of version 1
 * if path is NULL.  Returns infinity if there is no quota.
 */
static double
cores_of_cgroup(const char *path)
{
	double quota = 0;
	double period = 0;
	FILE *file = AllocateFile(path != NULL ? path : CGROUPS "/cpu/cpu.cfs_quota_us", "r");

	if (file == NULL)
		return INFINITY;
	/* without a quota, the first word is "max", or -1 */
	if (fscanf(file, "%lf %lf", &quota, &period) < 1)
		quota = 0;
	FreeFile(file);
	if (path == NULL)
	{
		file = AllocateFile(CGROUPS "/cpu/cpu.cfs_period_us", "r");
		if (file == NULL)
			return INFINITY;
		if (fscanf(file, "%lf", &period) < 1)
			period = 0;
		FreeFile(file);
	}
	return quota > 0 && period > 0 ? quota / period : INFINITY;
}
