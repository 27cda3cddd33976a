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

/* HybridVectorTypes: of what type a column may be. */
typedef struct HybridVectorTypes
{
	Oid vector;
	Oid halfvec;
} HybridVectorTypes;

/*
 * hybrid_vector_types: the types of these names in the schema of the function that is being called,
 * which is the extension's.
 */
extern HybridVectorTypes hybrid_vector_types(FunctionCallInfo fcinfo);

#endif
