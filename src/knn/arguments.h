/*
 * arguments.h
 *		What the functions of this folder ask of their arguments.
 */
#ifndef HYBRID_KNN_ARGUMENTS_H
#define HYBRID_KNN_ARGUMENTS_H

#include "postgres.h"

#include "fmgr.h"

/* hybrid_check_arguments: raises, naming it, when one of the first `count` arguments is NULL. */
extern void hybrid_check_arguments(FunctionCallInfo fcinfo, const char *const *names, int count);

/*
 * hybrid_function_type: the Oid of the type of this name in the schema of the function that is being
 * called, which is the extension's.
 */
extern Oid hybrid_function_type(FunctionCallInfo fcinfo, const char *name);

#endif
