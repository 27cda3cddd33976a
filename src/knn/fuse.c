/*
 * fuse.c
 *		hybrid_fuse: two ranked lists of ids as one, by reciprocal rank fusion.
 *
 * An id has the score weight / (rank_constant + rank) for each list that it is in, where the rank is its position,
 * from 1. The method is that of G. Cormack, C. Clarke and S. Buettcher, "Reciprocal rank fusion outperforms Condorcet
 * and individual rank learning methods", SIGIR 2009, with a weight for each list.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"

PG_FUNCTION_INFO_V1(hybrid_fuse);

enum FuseArgument
{
	IDS_A_ARGUMENT,
	IDS_B_ARGUMENT,
	WEIGHT_A_ARGUMENT,
	WEIGHT_B_ARGUMENT,
	RANK_CONSTANT_ARGUMENT,
	K_ARGUMENT
};

#define LISTS 2

/* FusedId: an id, and its rank in each list; 0 if the list does not contain it. */
typedef struct FusedId
{
	int64 id;
	double score;
	int32 rank[LISTS];
} FusedId;

/* IdList: an argument with ids. NULL elements keep their positions. */
typedef struct IdList
{
	Datum *ids;
	bool *nulls;
	int count;
} IdList;

static IdList read_list(FunctionCallInfo fcinfo, int n, const char *name);
static double number_argument(FunctionCallInfo fcinfo, int n, const char *name);
static int merge_same_ids(FusedId *fused, int count);
static int compare_ids(const void *a, const void *b);
static int compare_scores(const void *a, const void *b);

Datum
hybrid_fuse(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *rsinfo = (ReturnSetInfo *) fcinfo->resultinfo;
	IdList lists[LISTS];
	double weights[LISTS];
	double rank_constant;
	FusedId *fused;
	int limit;
	int count = 0;
	int list;
	int i;

	InitMaterializedSRF(fcinfo, MAT_SRF_USE_EXPECTED_DESC);
	lists[0] = read_list(fcinfo, IDS_A_ARGUMENT, "ids_a");
	lists[1] = read_list(fcinfo, IDS_B_ARGUMENT, "ids_b");
	weights[0] = number_argument(fcinfo, WEIGHT_A_ARGUMENT, "weight_a");
	weights[1] = number_argument(fcinfo, WEIGHT_B_ARGUMENT, "weight_b");
	rank_constant = number_argument(fcinfo, RANK_CONSTANT_ARGUMENT, "rank_constant");
	limit = PG_ARGISNULL(K_ARGUMENT) ? INT_MAX : PG_GETARG_INT32(K_ARGUMENT);
	if (limit < 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("k must be at least 1, not %d", limit)));

	fused = MemoryContextAllocHuge(CurrentMemoryContext,
	                               sizeof(FusedId) * ((Size) lists[0].count + lists[1].count + 1));
	for (list = 0; list < LISTS; list++)
	{
		for (i = 0; i < lists[list].count; i++)
		{
			if (lists[list].nulls[i])
				continue;
			fused[count] = (FusedId){.id = DatumGetInt64(lists[list].ids[i])};
			fused[count++].rank[list] = i + 1;
		}
	}
	count = merge_same_ids(fused, count);
	for (i = 0; i < count; i++)
	{
		for (list = 0; list < LISTS; list++)
		{
			if (fused[i].rank[list] > 0)
				fused[i].score = float8_pl(fused[i].score,
				                           weights[list] / (rank_constant + fused[i].rank[list]));
		}
	}
	qsort(fused, count, sizeof(FusedId), compare_scores);
	for (i = 0; i < Min(count, limit); i++)
	{
		Datum values[] = {Int64GetDatum(fused[i].id), Float8GetDatum(fused[i].score),
		                  Int32GetDatum(fused[i].rank[0]), Int32GetDatum(fused[i].rank[1])};
		bool nulls[] = {false, false, fused[i].rank[0] == 0, fused[i].rank[1] == 0};

		CHECK_FOR_INTERRUPTS();
		tuplestore_putvalues(rsinfo->setResult, rsinfo->setDesc, values, nulls);
	}
	return (Datum) 0;
}

/* read_list: return the elements of argument n, a bigint[]. A NULL argument counts as an empty array. */
static IdList
read_list(FunctionCallInfo fcinfo, int n, const char *name)
{
	IdList list = {.count = 0};
	ArrayType *array;

	if (PG_ARGISNULL(n))
		return list;
	array = PG_GETARG_ARRAYTYPE_P(n);
	if (ARR_NDIM(array) > 1)
		ereport(ERROR, (errcode(ERRCODE_ARRAY_SUBSCRIPT_ERROR),
		                errmsg("%s must have one dimension, not %d", name, ARR_NDIM(array))));
	deconstruct_array(array, INT8OID, sizeof(int64), FLOAT8PASSBYVAL, TYPALIGN_DOUBLE, &list.ids,
	                  &list.nulls, &list.count);
	return list;
}

/* number_argument: return argument n. Raises unless it is finite and >= 0. */
static double
number_argument(FunctionCallInfo fcinfo, int n, const char *name)
{
	double number;

	if (PG_ARGISNULL(n))
		ereport(ERROR,
		        (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED), errmsg("%s must not be NULL", name)));
	number = PG_GETARG_FLOAT8(n);
	if (!(number >= 0) || isinf(number))
		ereport(ERROR,
		        (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		         errmsg("%s must be finite and >= 0, not %s", name, float8out_internal(number))));
	return number;
}

/*
 * merge_same_ids: leave one entry for each id, with its first rank in each list. Returns the number of entries, and
 * sorts them by id.
 */
static int
merge_same_ids(FusedId *fused, int count)
{
	int kept = 0;
	int list;
	int i;

	qsort(fused, count, sizeof(FusedId), compare_ids);
	for (i = 0; i < count; i++)
	{
		if (kept == 0 || fused[kept - 1].id != fused[i].id)
		{
			fused[kept++] = fused[i];
			continue;
		}
		for (list = 0; list < LISTS; list++)
		{
			int32 *rank = &fused[kept - 1].rank[list];

			if (fused[i].rank[list] > 0 && (*rank == 0 || fused[i].rank[list] < *rank))
				*rank = fused[i].rank[list];
		}
	}
	return kept;
}

static int
compare_ids(const void *a, const void *b)
{
	const FusedId *left = a;
	const FusedId *right = b;

	CHECK_FOR_INTERRUPTS();
	if (left->id != right->id)
		return left->id < right->id ? -1 : 1;
	return 0;
}

/* compare_scores: order by score, largest first, then by id. */
static int
compare_scores(const void *a, const void *b)
{
	const FusedId *left = a;
	const FusedId *right = b;

	if (left->score != right->score)
		return left->score > right->score ? -1 : 1;
	return compare_ids(a, b);
}
