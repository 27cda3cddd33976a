/*
 * build_memory.c
 *		CREATE INDEX: memory that all processes of the team share.
 *
 * If the system has no memory for another segment, PostgreSQL raises an error. The error leaves locks
 * held, and the descriptor of a segment that was never created. A build can then continue without that
 * memory. A subtransaction would clean up, but subtransactions are not allowed while parallel workers
 * run. This file therefore does the cleanup. Segments belong to a resource owner of the team, which is
 * released at the end. After an error all lightweight locks are released, so callers must hold none.
 */
#include "postgres.h"

#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "pgstat.h"
#include "storage/lwlock.h"
#include "utils/dsa.h"
#include "utils/memutils.h"
#include "utils/resowner.h"

#include "index/build/team.h"

#define BESIDE 8                /* 1/BESIDE of the memory may be lost between allocations */
#define DSA_LEAST (1024 * 1024) /* bytes of an empty area */

/* Wanted: an allocation in the area. */
typedef struct Wanted
{
	dsa_area *area;
	Size bytes;
	dsa_pointer pointer;
} Wanted;

static void allocate(void *arg);
static void create_area(void *arg);

bool
hybrid_team_attempt(HybridTeam *team, void (*take)(void *arg), void *arg)
{
	ResourceOwner owner = CurrentResourceOwner;
	MemoryContext context = CurrentMemoryContext;
	volatile bool taken = false;

	if (team->owner == NULL)
		team->owner = ResourceOwnerCreate(owner, "hybrid build");
	CurrentResourceOwner = team->owner;
	PG_TRY();
	{
		take(arg);
		taken = true;
	}
	PG_CATCH();
	{
		ErrorData *error;

		CurrentResourceOwner = owner;
		MemoryContextSwitchTo(context);
		error = CopyErrorData();
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) != ERRCODE_INSUFFICIENT_RESOURCES)
			PG_RE_THROW();
		FlushErrorState();
		LWLockReleaseAll();
		pgstat_report_wait_end();
		ereport(LOG,
		        (errmsg("hybrid: an index is built with less shared memory: %s", error->message),
		         errhidestmt(true)));
		FreeErrorData(error);
	}
	PG_END_TRY();
	CurrentResourceOwner = owner;
	return taken;
}

bool
hybrid_team_share(HybridTeam *team, Size bytes)
{
	if (!hybrid_team_attempt(team, create_area, &team->area))
		return false;
	team->shared->area = dsa_get_handle(team->area);
	hybrid_team_expand(team, bytes);
	return true;
}

void
hybrid_team_expand(HybridTeam *team, Size bytes)
{
	if (team->area == NULL)
		return;
	/*
	 * without this limit, a new segment could be half as large as all earlier ones together, even if
	 * little memory is needed
	 */
	team->shared->area_bytes += bytes + bytes / BESIDE + DSA_LEAST;
	dsa_set_size_limit(team->area, team->shared->area_bytes);
}

uint64
hybrid_team_allocate(HybridTeam *team, Size bytes)
{
	Wanted wanted = {team->area, Max(bytes, 1), InvalidDsaPointer};

	if (team->area == NULL)
		return (uint64) (uintptr_t) MemoryContextAllocExtended(CurrentMemoryContext, wanted.bytes,
		                                                       MCXT_ALLOC_HUGE | MCXT_ALLOC_NO_OOM);
	(void) hybrid_team_attempt(team, allocate, &wanted);
	return wanted.pointer;
}

void
hybrid_team_detach(HybridTeam *team)
{
	if (team->area != NULL)
		dsa_detach(team->area);
	team->area = NULL;
}

void
hybrid_team_trim_heap(void)
{
#ifdef __GLIBC__
	(void) malloc_trim(0);
#endif
}

void
hybrid_team_release_owner(HybridTeam *team)
{
	if (team->owner == NULL)
		return;
	/*
	 * Existing segments are already detached. The owner still lists segments that were not created, and
	 * these must not be reported as leaks.
	 */
	ResourceOwnerRelease(team->owner, RESOURCE_RELEASE_BEFORE_LOCKS, false, false);
	ResourceOwnerRelease(team->owner, RESOURCE_RELEASE_LOCKS, false, false);
	ResourceOwnerRelease(team->owner, RESOURCE_RELEASE_AFTER_LOCKS, false, false);
	ResourceOwnerDelete(team->owner);
	team->owner = NULL;
}

static void
allocate(void *arg)
{
	Wanted *wanted = (Wanted *) arg;

	wanted->pointer =
		dsa_allocate_extended(wanted->area, wanted->bytes, DSA_ALLOC_HUGE | DSA_ALLOC_NO_OOM);
}

static void
create_area(void *arg)
{
	*(dsa_area **) arg = dsa_create(LWTRANCHE_PARALLEL_QUERY_DSA);
}
