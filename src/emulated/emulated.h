/*
 * emulated.h
 *		Declares the settings of the emulated device, its time model and its faults.
 *
 * device.h declares the device itself. README.md explains the purpose and the settings of the
 * device.
 */
#ifndef HY_EMULATED_H
#define HY_EMULATED_H

#include "dispatch/backend.h"

#define EMULATED_CORES 80

/* EmulatedSettings: the current settings. They are read again at every call that uses them. */
typedef struct EmulatedSettings
{
	int32_t devices;
	double launch_ns;
	double bytes_per_ns; /* bandwidth of the bus; 0: nothing needs to be copied */
	double flop_per_ns;
	uint64_t memory; /* bytes */
	uint64_t open_ns;
	bool wait;  /* virtual time takes real time; otherwise the clock skips it */
	bool exact; /* searches do not use the CPU's prefilter */
} EmulatedSettings;

extern void emulated_settings(const HyHost *host, EmulatedSettings *settings);

/*
 * emulated_faults_text: return the setting emulated_faults, or the faults of the profile if this
 * setting is empty. The result is never NULL.
 */
extern const char *emulated_faults_text(const HyHost *host);

/* EmulatedLoad: the resources that a task needs. */
typedef struct EmulatedLoad
{
	double flop;
	int64_t items;
	int32_t k;
	uint64_t bytes_up;
	uint64_t bytes_down;
	uint64_t device_bytes;
} EmulatedLoad;

/*
 * emulated_load: compute the load of a task of this shape. For spread, the numbers of nodes and
 * hops are guessed, because the shape does not contain them.
 */
extern void emulated_load(const HyShape *shape, EmulatedLoad *load);

/*
 * emulated_task_load: compute the load of a task. For spread, this uses the real number of nodes,
 * and guesses the number of hops only if the task does not limit it.
 */
extern void emulated_task_load(const HyTask *task, EmulatedLoad *load);

/*
 * emulated_duration: return the duration of a load in ns. `first`: the operation has not run in
 * this context before.
 */
extern uint64_t emulated_duration(const EmulatedSettings *settings, const EmulatedLoad *load,
                                  bool first, uint64_t seed);

/* emulated_expected: return the duration of a load in ns on a warm device, without jitter. */
extern double emulated_expected(const EmulatedSettings *settings, const EmulatedLoad *load);

/* emulated_copy_ns: return the time in ns to copy this many bytes in one direction. */
extern double emulated_copy_ns(const EmulatedSettings *settings, uint64_t bytes);

/* emulated_random: return a pseudorandom number that depends only on seed (splitmix64). */
extern uint64_t emulated_random(uint64_t seed);

typedef enum FaultPlace
{
	FAULT_SUBMIT = 0,
	FAULT_POLL,
	FAULT_OPEN,
	FAULT_UPLOAD
} FaultPlace;

typedef enum FaultKind
{
	FAULT_NONE = 0,
	FAULT_STATUS, /* FaultVerdict.status */
	FAULT_HANG,   /* the task does not end until it is canceled */
	FAULT_DEAF,   /* the task never ends, even if it is canceled */
	FAULT_SYNTAX  /* the setting cannot be parsed; FaultVerdict.text says why */
} FaultKind;

typedef struct FaultVerdict
{
	FaultKind kind;
	FaultPlace place;
	HyStatus status;
	bool fresh; /* the setting has changed since the last call, which clears losses */
	char text[HY_TEXT_LENGTH];
} FaultVerdict;

/*
 * emulated_fault: set *verdict to the fault that the setting requests for this call. `call` is
 * FAULT_OPEN, FAULT_UPLOAD or FAULT_SUBMIT. `op` is ignored for the first two. FAULT_SUBMIT stands
 * for the whole task, so the fault found may be one to apply in poll (verdict->place). Every rule
 * that covers the call counts it, even if an earlier rule makes it fail.
 */
extern void emulated_fault(const HyHost *host, FaultPlace call, HyOp op, int32_t device,
                           uint64_t bytes, FaultVerdict *verdict);

/* emulated_wrong_abi: return whether the setting asks the plug-in to report a wrong ABI. */
extern bool emulated_wrong_abi(const HyHost *host);

#endif
