/*
 * faults.c
 *		Parses the setting emulated_faults, and decides which calls of the emulated device fail.
 *
 *		faults	= [ rule { ';' rule } ]
 *		rule	= word { ',' word }
 *		word	= when | where | what
 *
 *	when	fail_at=N		the N-th call since the setting was last changed, counted from 1
 *			fail_every=N	every N-th call
 *			fail_rate=P		a random share P (0 .. 1) of the calls, with seed=N (default 1)
 *			above=BYTES		tasks that need more device memory than this, or larger uploads; k, m or g
 *							may follow the number
 *			(none of them: every call)
 *	where	op=NAME, device=N		only calls of this operation or device; only these are counted
 *			in=submit | poll | open | upload	which call fails; poll leaves garbage in the outputs
 *	what	status=NAME		nomem, quota, busy, transient (the default), timeout, cancelled,
 *							context_lost, process_lost (or sticky), device_gone, invalid, bug,
 *							unsupported; hang: the task ends only when it is canceled; deaf: the task
 *							never ends. With above=BYTES the default is nomem.
 *	wrong_abi, as a separate rule: the plug-in reports a wrong ABI when it is loaded.
 *
 * Spaces around words do not matter. The first rule that applies wins. The setting is read at every
 * call, so faults can be switched on and off in a session. A change resets the counts and clears
 * losses (loss.c).
 */
#include "emulated/emulated.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_RULES 8
#define MAX_TEXT 512

typedef struct FaultRule
{
	int64_t fail_at;    /* 0: not given */
	int64_t fail_every; /* 0: not given */
	double fail_rate;   /* < 0: not given */
	uint64_t seed;
	uint64_t above;
	bool has_above;
	int32_t op;     /* -1: any */
	int32_t device; /* -1: any */
	FaultPlace place;
	FaultKind kind;
	HyStatus status;
	bool has_status;
	int64_t calls; /* number of calls that the rule has covered, whether they failed or not */
} FaultRule;

typedef struct FaultName
{
	const char *name;
	FaultKind kind;
	HyStatus status;
} FaultName;

static const FaultName fault_names[] = {{"unsupported", FAULT_STATUS, HY_UNSUPPORTED},
                                        {"nomem", FAULT_STATUS, HY_NOMEM},
                                        {"quota", FAULT_STATUS, HY_QUOTA},
                                        {"busy", FAULT_STATUS, HY_BUSY},
                                        {"transient", FAULT_STATUS, HY_TRANSIENT},
                                        {"timeout", FAULT_STATUS, HY_TIMEOUT},
                                        {"cancelled", FAULT_STATUS, HY_CANCELLED},
                                        {"context_lost", FAULT_STATUS, HY_CONTEXT_LOST},
                                        {"process_lost", FAULT_STATUS, HY_PROCESS_LOST},
                                        {"sticky", FAULT_STATUS, HY_PROCESS_LOST},
                                        {"device_gone", FAULT_STATUS, HY_DEVICE_GONE},
                                        {"invalid", FAULT_STATUS, HY_INVALID},
                                        {"bug", FAULT_STATUS, HY_BUG},
                                        {"hang", FAULT_HANG, HY_OK},
                                        {"deaf", FAULT_DEAF, HY_OK}};

#define FAULT_NAMES (sizeof(fault_names) / sizeof(fault_names[0]))

/* The setting as last read and parsed. One copy is enough, because a plug-in has only one host. */
static char read_text[MAX_TEXT];
static FaultRule rules[MAX_RULES];
static int rule_count;
static char syntax_error[HY_TEXT_LENGTH];

static void parse(const char *text);
static bool parse_rule(char *text, FaultRule *rule);
static bool parse_word(const char *key, const char *value, FaultRule *rule);
static bool parse_status(const char *value, FaultRule *rule);
static bool parse_place(const char *value, FaultRule *rule);
static bool parse_op(const char *value, FaultRule *rule);
static bool parse_count(const char *value, int64_t least, int64_t *count);
static bool parse_bytes(const char *value, uint64_t *bytes);
static char *trim(char *text);
static bool applies(FaultRule *rule, uint64_t bytes);

void
emulated_fault(const HyHost *host, FaultPlace call, HyOp op, int32_t device, uint64_t bytes,
               FaultVerdict *verdict)
{
	const char *text = emulated_faults_text(host);
	int i;

	memset(verdict, 0, sizeof(*verdict));
	if (strncmp(text, read_text, MAX_TEXT - 1) != 0)
	{
		verdict->fresh = true;
		parse(text);
	}
	if (syntax_error[0] != '\0')
	{
		verdict->kind = FAULT_SYNTAX;
		memcpy(verdict->text, syntax_error, sizeof(verdict->text));
		return;
	}
	for (i = 0; i < rule_count; i++)
	{
		FaultRule *rule = &rules[i];
		bool task = rule->place == FAULT_SUBMIT || rule->place == FAULT_POLL;

		if (call != (task ? FAULT_SUBMIT : rule->place) ||
		    (task && rule->op >= 0 && rule->op != (int32_t) op) ||
		    (rule->device >= 0 && rule->device != device))
			continue;
		if (applies(rule, bytes) && verdict->kind == FAULT_NONE)
		{
			verdict->kind = rule->kind;
			verdict->place = rule->place;
			verdict->status = rule->status;
			snprintf(verdict->text, sizeof(verdict->text), "fault %d of emulated_faults", i + 1);
		}
	}
}

bool
emulated_wrong_abi(const HyHost *host)
{
	return strstr(emulated_faults_text(host), "wrong_abi") != NULL;
}

static void
parse(const char *text)
{
	char copy[MAX_TEXT];
	char *at = copy;
	char *rule;

	snprintf(read_text, sizeof(read_text), "%s", text);
	memcpy(copy, read_text, sizeof(copy));
	rule_count = 0;
	syntax_error[0] = '\0';
	if (strlen(text) >= MAX_TEXT)
	{
		snprintf(syntax_error, sizeof(syntax_error), "emulated_faults: longer than %d characters",
		         MAX_TEXT - 1);
		return;
	}
	while ((rule = at) != NULL)
	{
		at = strchr(rule, ';');
		if (at != NULL)
			*at++ = '\0';
		rule = trim(rule);
		if (*rule == '\0' || strcmp(rule, "wrong_abi") == 0)
			continue;
		if (rule_count == MAX_RULES)
		{
			snprintf(syntax_error, sizeof(syntax_error), "emulated_faults: more than %d rules",
			         MAX_RULES);
			return;
		}
		if (!parse_rule(rule, &rules[rule_count]))
			return;
		rule_count++;
	}
}

static bool
parse_rule(char *text, FaultRule *rule)
{
	char *at = text;
	char *word;

	memset(rule, 0, sizeof(*rule));
	rule->fail_rate = -1;
	rule->seed = 1;
	rule->op = -1;
	rule->device = -1;
	rule->kind = FAULT_STATUS;
	rule->status = HY_TRANSIENT;
	while ((word = at) != NULL)
	{
		char *value;

		at = strchr(word, ',');
		if (at != NULL)
			*at++ = '\0';
		word = trim(word);
		value = strchr(word, '=');
		if (value != NULL)
			*value++ = '\0';
		if (value == NULL || !parse_word(trim(word), trim(value), rule))
		{
			snprintf(syntax_error, sizeof(syntax_error),
			         "emulated_faults: cannot read \"%.60s%s%.60s\"", word,
			         value != NULL ? "=" : "", value != NULL ? value : "");
			return false;
		}
	}
	if (rule->has_above && !rule->has_status)
		rule->status = HY_NOMEM;
	return true;
}

static bool
parse_word(const char *key, const char *value, FaultRule *rule)
{
	int64_t count;
	char *end;

	if (strcmp(key, "fail_at") == 0)
		return parse_count(value, 1, &rule->fail_at);
	if (strcmp(key, "fail_every") == 0)
		return parse_count(value, 1, &rule->fail_every);
	if (strcmp(key, "fail_rate") == 0)
	{
		rule->fail_rate = strtod(value, &end);
		return end != value && *end == '\0' && rule->fail_rate >= 0 && rule->fail_rate <= 1;
	}
	if (strcmp(key, "seed") == 0)
	{
		if (!parse_count(value, 0, &count))
			return false;
		rule->seed = (uint64_t) count;
		return true;
	}
	if (strcmp(key, "above") == 0)
	{
		rule->has_above = true;
		return parse_bytes(value, &rule->above);
	}
	if (strcmp(key, "device") == 0)
	{
		if (!parse_count(value, 0, &count) || count > INT32_MAX)
			return false;
		rule->device = (int32_t) count;
		return true;
	}
	if (strcmp(key, "op") == 0)
		return parse_op(value, rule);
	if (strcmp(key, "in") == 0)
		return parse_place(value, rule);
	if (strcmp(key, "status") == 0)
		return parse_status(value, rule);
	return false;
}

static bool
parse_status(const char *value, FaultRule *rule)
{
	size_t i;

	for (i = 0; i < FAULT_NAMES; i++)
	{
		if (strcmp(value, fault_names[i].name) == 0)
		{
			rule->kind = fault_names[i].kind;
			rule->status = fault_names[i].status;
			rule->has_status = true;
			return true;
		}
	}
	return false;
}

static bool
parse_place(const char *value, FaultRule *rule)
{
	if (strcmp(value, "submit") == 0)
		rule->place = FAULT_SUBMIT;
	else if (strcmp(value, "poll") == 0)
		rule->place = FAULT_POLL;
	else if (strcmp(value, "open") == 0)
		rule->place = FAULT_OPEN;
	else if (strcmp(value, "upload") == 0)
		rule->place = FAULT_UPLOAD;
	else
		return false;
	return true;
}

static bool
parse_op(const char *value, FaultRule *rule)
{
	int op;

	for (op = 0; op < HY_OP_COUNT; op++)
	{
		if (strcmp(value, hy_op_name((HyOp) op)) == 0)
		{
			rule->op = op;
			return true;
		}
	}
	return false;
}

static bool
parse_count(const char *value, int64_t least, int64_t *count)
{
	char *end;

	*count = strtoll(value, &end, 10);
	return end != value && *end == '\0' && *count >= least;
}

static bool
parse_bytes(const char *value, uint64_t *bytes)
{
	static const char units[] = "kmg";
	char *end;
	const char *unit;

	*bytes = strtoull(value, &end, 10);
	if (end == value || *value == '-')
		return false;
	if (*end != '\0' && (unit = strchr(units, *end)) != NULL)
	{
		*bytes <<= 10 * (unit - units + 1);
		end++;
	}
	return *end == '\0';
}

static char *
trim(char *text)
{
	size_t n;

	text += strspn(text, " \t");
	n = strlen(text);
	while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		text[--n] = '\0';
	return text;
}

/* applies: count the call for this rule, and return whether the rule makes it fail. */
static bool
applies(FaultRule *rule, uint64_t bytes)
{
	rule->calls++;
	if (rule->has_above && bytes <= rule->above)
		return false;
	if (rule->fail_at > 0 && rule->calls != rule->fail_at)
		return false;
	if (rule->fail_every > 0 && rule->calls % rule->fail_every != 0)
		return false;
	if (rule->fail_rate >= 0)
	{
		uint64_t draw = emulated_random(rule->seed * UINT64_C(1000003) + (uint64_t) rule->calls);

		return (double) (draw >> 11) * 0x1p-53 < rule->fail_rate;
	}
	return true;
}
