/*
 * status.h
 *		Status codes returned by every pure function that can fail.
 *
 * Pure code (src/core, src/dispatch, the plug-ins) never raises an error and never calls longjmp.
 * It returns a HyStatus, and the server side turns the status into an ereport.  A plug-in derives
 * the code from its native error number, never from a message text.
 */
#ifndef HY_STATUS_H
#define HY_STATUS_H

typedef enum HyStatus
{
	HY_OK = 0,
	HY_UNSUPPORTED,  /* this backend cannot run this task: not a failure */
	HY_NOMEM,        /* out of host or device memory: smaller pieces may work */
	HY_QUOTA,        /* one of our limits was reached, such as hybrid.gpu_memory_limit */
	HY_BUSY,         /* the device accepts no more work now */
	HY_TRANSIENT,    /* failed, may work next time */
	HY_TIMEOUT,      /* did not end within hybrid.gpu_timeout */
	HY_CANCELLED,    /* the caller's HyCancel requested a stop */
	HY_CONTEXT_LOST, /* the device context is unusable; a new one may be opened */
	HY_PROCESS_LOST, /* this process can never use the device again */
	HY_DEVICE_GONE,  /* the device is no longer present */
	HY_INVALID,      /* the task is inconsistent: an error of the caller */
	HY_BUG           /* an invariant does not hold */
} HyStatus;

#define HY_STATUS_COUNT (HY_BUG + 1)

/* hy_status_name: return a lower-case word for a status, as the views print it.  Never NULL. */
extern const char *hy_status_name(HyStatus status);

#endif
