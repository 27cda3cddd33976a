/*
 * arguments.h
 *		Argument checks of the functions in this folder.
 */
#ifndef HYBRID_KNN_ARGUMENTS_H
#define HYBRID_KNN_ARGUMENTS_H

#include "postgres.h"

#include "fmgr.h"

/*
 * hybrid_check_arguments: raise if one of the first `count` arguments is NULL. The error names the
 * argument.
 */
extern void hybrid_check_arguments(FunctionCallInfo fcinfo, const char *const *names, int count);

/* HybridVectorTypes: the types that a vector column may have. */
typedef struct HybridVectorTypes
{
	Oid vector;
	Oid halfvec;
} HybridVectorTypes;

/*
 * hybrid_vector_types: look up both types in the extension's schema, which is the schema of the
 * function being called.
 */
extern HybridVectorTypes hybrid_vector_types(FunctionCallInfo fcinfo);

/*
 * hybrid_recall_argument: return the recall given by this argument: at least 0.5 and below 1 for an
 * approximate search, or 1 for an exact one. An argument that is NULL or was not passed means 1. Raises on
 * other numbers.
 */
extern double hybrid_recall_argument(FunctionCallInfo fcinfo, int number);

#endif
