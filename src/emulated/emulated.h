/*
 * emulated.h
 *		What the emulated device is told: its settings, its law of time, its faults.
 *
 * What it does about them is in device.h; README.md tells what it is for and how to set it up.
 */
#ifndef HY_EMULATED_H
#define HY_EMULATED_H

#include "dispatch/backend.h"

#define EMULATED_CORES 80

/* EmulatedSettings: read anew at every call that uses one. */
typedef struct EmulatedSettings
{
	int32_t devices;
	double launch_ns;
	double bytes_per_ns; /* of the bus; 0: nothing needs to be copied */
	double flop_per_ns;
	uint64_t memory; /* bytes */
	uint64_t open_ns;
	bool wait;  /* made-up time passes in real time, never by skipping */
	bool exact; /* searches by the canonical kernels alone */
} EmulatedSettings;

extern void emulated_settings(const HyHost *host, EmulatedSettings *settings);

/* emulated_faults_text: the setting emulated_faults, or what the profile stands for; never NULL. */
extern const char *emulated_faults_text(const HyHost *host);

/* EmulatedLoad: what a task asks of a device. */
typedef struct EmulatedLoad
{
	double flop;
	int64_t items;
	int32_t k;
	uint64_t bytes_up;
	uint64_t bytes_down;
	uint64_t device_bytes;
} EmulatedLoad;

/* emulated_load: of a shape; for spread, nodes and hops are not part of it and are guessed. */
extern void emulated_load(const HyShape *shape, EmulatedLoad *load);

/* emulated_task_load: of a task, with its real nodes and hops. */
extern void emulated_task_load(const HyTask *task, EmulatedLoad *load);

/* emulated_duration: ns; first: the operation has not run in this context before. */
extern uint64_t emulated_duration(const EmulatedSettings *settings, const EmulatedLoad *load,
                                  bool first, uint64_t seed);

/* emulated_expected: the same of a warm device, without the jitter. */
extern double emulated_expected(const EmulatedSettings *settings, const EmulatedLoad *load);

/* emulated_copy_ns: what copying so many bytes takes. */
extern double emulated_copy_ns(const EmulatedSettings *settings, uint64_t bytes);

/* emulated_random: a number that depends on its seed only (splitmix64). */
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
	FAULT_HANG,   /* never done until cancelled */
	FAULT_DEAF,   /* never done, not even when cancelled */
	FAULT_SYNTAX  /* the setting cannot be read; FaultVerdict.text says why */
} FaultKind;

typedef struct FaultVerdict
{
	FaultKind kind;
	FaultPlace place;
	HyStatus status;
	bool fresh; /* the setting has changed since the last call: what was lost is back */
	char text[HY_TEXT_LENGTH];
} FaultVerdict;

/*
 * emulated_fault: what the setting has in mind for this call: FAULT_OPEN, FAULT_UPLOAD (of which op
 * says nothing), or FAULT_SUBMIT, a task, which may fail in poll as well.  Counts the call for the
 * rules that fail the N-th.
 */
extern void emulated_fault(const HyHost *host, FaultPlace call, HyOp op, int32_t device,
                           uint64_t bytes, FaultVerdict *verdict);

/* emulated_wrong_abi: whether the plug-in is to pretend that it was built for another host. */
extern bool emulated_wrong_abi(const HyHost *host);

#endif
