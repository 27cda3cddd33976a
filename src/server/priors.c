/*
 * priors.c
 *		The results of a calibration, in the table hybrid_calibration.
 *
 * Every session reads the table, whatever the privileges of its user.  The table holds only times, and only
 * superusers and roles that they permit may write it.  Its contents are checked like any input.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/indexing.h"
#include "catalog/namespace.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_type.h"
#include "dispatch/model/tracker_forecast.h"
#include "dispatch/tools/words.h"
#include "executor/tuptable.h"
#include "server/priors.h"
#include "storage/lmgr.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"
#include "utils/timestamp.h"

#define TABLE "hybrid_calibration"

StaticAssertDecl(sizeof(HyModelState) == HY_MODEL_NUMBERS * sizeof(float8),
                 "a model is kept as an array of float8");

#define SIZE_NUMBERS 4 /* numbers for each task size, after those of the model */

static void load_prior(void *arg, const HyPrior *prior);
static Oid find_table(void);
static bool parse_row(const HyExecutor *executor, TupleTableSlot *slot, HyPrior *prior);
static int32 find_device(const HyExecutor *executor, TupleTableSlot *slot);
static bool parse_shape(TupleTableSlot *slot, HyShape *shape);
static bool parse_state(Datum value, HyPrior *prior);
static bool whole(double number, double most);
static int word_of(TupleTableSlot *slot, int column, HyWords kind);
static char *text_of(TupleTableSlot *slot, int column);

bool
hybrid_load_priors(HyExecutor *executor)
{
	static TimestampTz refused; /* start of the statement that could not read the table; 0: none */
	TimestampTz now = GetCurrentStatementStartTimestamp();

	if (!IsTransactionState() || !ActiveSnapshotSet())
		return false;
	if (refused != 0 && now - refused < USECS_PER_SEC && now >= refused)
		return false;
	refused = hybrid_read_priors(executor, load_prior, executor) ? 0 : now;
	return refused == 0;
}

bool
hybrid_read_priors(const HyExecutor *executor, void (*take)(void *arg, const HyPrior *prior),
                   void *arg)
{
	Oid table;
	Relation relation;
	TableScanDesc scan;
	TupleTableSlot *slot;

	if (!IsTransactionState() || !ActiveSnapshotSet())
		return false;
	table = find_table();
	if (!OidIsValid(table))
		return true;
	/* a query must not wait while another session truncates or moves the table */
	if (!ConditionalLockRelationOid(table, AccessShareLock))
		return false;
	relation = try_table_open(table, NoLock);
	if (relation == NULL)
	{
		UnlockRelationOid(table, AccessShareLock);
		return true;
	}
	if (relation->rd_rel->relkind == RELKIND_RELATION &&
	    RelationGetNumberOfAttributes(relation) == HYBRID_PRIOR_COLUMNS)
	{
		slot = table_slot_create(relation, NULL);
		scan = table_beginscan(relation, GetActiveSnapshot(), 0, NULL);
		while (table_scan_getnextslot(scan, ForwardScanDirection, slot))
		{
			HyPrior prior;

			if (parse_row(executor, slot, &prior))
				take(arg, &prior);
		}
		table_endscan(scan);
		ExecDropSingleTupleTableSlot(slot);
	}
	table_close(relation, AccessShareLock);
	return true;
}

/*
 * load_prior: import one row. If the executor already has a cost model of this kind of task, from other
 * sessions, that model is kept, and only the sizes of the row are imported.
 */
static void
load_prior(void *arg, const HyPrior *prior)
{
	HyExecutor *executor = (HyExecutor *) arg;
	HyPrior fresh = *prior;

	if (hy_tracker_knows(hy_executor_tracker(executor), &prior->shape, prior->device))
		memset(&fresh.model, 0, sizeof(fresh.model));
	(void) hy_executor_import_prior(executor, &fresh);
}

/* find_table: find the table in the schema of the extension. */
static Oid
find_table(void)
{
	Relation extensions = table_open(ExtensionRelationId, AccessShareLock);
	Oid namespace = InvalidOid;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple tuple;

	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber, F_NAMEEQ,
	            CStringGetDatum("hybrid"));
	scan = systable_beginscan(extensions, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	namespace = ((Form_pg_extension) GETSTRUCT(tuple))->extnamespace;
	systable_endscan(scan);
	table_close(extensions, AccessShareLock);
	return OidIsValid(namespace) ? get_relname_relid(TABLE, namespace) : InvalidOid;
}

/* parse_row: parse a row of the table.  Returns false if its device is not present, or a value is impossible. */
static bool
parse_row(const HyExecutor *executor, TupleTableSlot *slot, HyPrior *prior)
{
	int i;

	slot_getallattrs(slot);
	for (i = 0; i < HYBRID_PRIOR_STATE + 1; i++)
	{
		if (slot->tts_isnull[i])
			return false;
	}
	prior->device = find_device(executor, slot);
	return prior->device >= 0 && parse_shape(slot, &prior->shape) &&
	       parse_state(slot->tts_values[HYBRID_PRIOR_STATE], prior);
}

static int32
find_device(const HyExecutor *executor, TupleTableSlot *slot)
{
	int32 device;

	for (device = 0; device < hy_executor_devices(executor); device++)
	{
		HyDeviceState state;

		hy_executor_device(executor, device, &state);
		if (strcmp(state.backend, text_of(slot, HYBRID_PRIOR_BACKEND)) == 0 &&
		    state.number == DatumGetInt32(slot->tts_values[HYBRID_PRIOR_NUMBER]) &&
		    strcmp(state.info.name, text_of(slot, HYBRID_PRIOR_NAME)) == 0 &&
		    strcmp(state.info.architecture, text_of(slot, HYBRID_PRIOR_ARCHITECTURE)) == 0)
			return device;
	}
	return -1;
}

static bool
parse_shape(TupleTableSlot *slot, HyShape *shape)
{
	int32 dims = DatumGetInt32(slot->tts_values[HYBRID_PRIOR_DIMS]);
	int32 threads = DatumGetInt32(slot->tts_values[HYBRID_PRIOR_THREADS]);
	int op = word_of(slot, HYBRID_PRIOR_OPERATION, HY_WORDS_OPERATION);
	int dtype = word_of(slot, HYBRID_PRIOR_DTYPE, HY_WORDS_DTYPE);
	int metric = word_of(slot, HYBRID_PRIOR_METRIC, HY_WORDS_METRIC);

	memset(shape, 0, sizeof(*shape));
	if (op < 0 || dtype < 0 || metric < 0 || threads < 1 ||
	    (op == HY_OP_SPREAD ? dims != 0 : dims < 1 || dims > HY_MAX_DIMS))
		return false;
	shape->op = (HyOp) op;
	shape->dtype = (HyDtype) dtype;
	shape->metric = (HyMetric) metric;
	shape->dims = dims;
	shape->threads = threads;
	shape->queries = 1;
	shape->targets = 1;
	shape->k = hy_op_has_k(shape->op) ? 1 : 0;
	return true;
}

Datum
hybrid_prior_state(const HyPrior *prior)
{
	Datum numbers[HY_MODEL_NUMBERS + HY_PRIOR_SIZES * SIZE_NUMBERS];
	double model[HY_MODEL_NUMBERS];
	int count = 0;
	int i;

	memcpy(model, &prior->model, sizeof(model));
	while (count < (int) HY_MODEL_NUMBERS)
	{
		numbers[count] = Float8GetDatum(model[count]);
		count++;
	}
	for (i = 0; i < prior->sizes; i++)
	{
		const HyPriorSize *size = &prior->size[i];

		numbers[count++] = Float8GetDatum((double) size->queries);
		numbers[count++] = Float8GetDatum((double) size->targets);
		numbers[count++] = Float8GetDatum((double) size->k);
		numbers[count++] = Float8GetDatum(size->ns);
	}
	return PointerGetDatum(construct_array(numbers, count, FLOAT8OID, sizeof(float8),
	                                       FLOAT8PASSBYVAL, TYPALIGN_DOUBLE));
}

/* parse_state: read an array that hybrid_prior_state made; return false for impossible values. */
static bool
parse_state(Datum value, HyPrior *prior)
{
	ArrayType *array = DatumGetArrayTypeP(value);
	const double *number = (const double *) ARR_DATA_PTR(array);
	int count = ARR_NDIM(array) == 1 ? ARR_DIMS(array)[0] - (int) HY_MODEL_NUMBERS : -1;

	if (count < 0 || count % SIZE_NUMBERS != 0 || count / SIZE_NUMBERS > HY_PRIOR_SIZES ||
	    ARR_HASNULL(array) || ARR_ELEMTYPE(array) != FLOAT8OID)
		return false;
	memcpy(&prior->model, number, sizeof(prior->model));
	number += HY_MODEL_NUMBERS;
	prior->sizes = 0;
	for (; count > 0; count -= SIZE_NUMBERS, number += SIZE_NUMBERS)
	{
		HyPriorSize *size = &prior->size[prior->sizes++];

		if (!whole(number[0], 1e15) || !whole(number[1], 1e15) || !whole(number[2], INT32_MAX))
			return false;
		size->queries = (int64_t) number[0];
		size->targets = (int64_t) number[1];
		size->k = (int32_t) number[2];
		size->ns = number[3];
	}
	return true;
}

static bool
whole(double number, double most)
{
	return number >= 0 && number <= most && number == floor(number);
}

static int
word_of(TupleTableSlot *slot, int column, HyWords kind)
{
	const char *word = text_of(slot, column);

	return hy_word_read(kind, word, strlen(word));
}

static char *
text_of(TupleTableSlot *slot, int column)
{
	return TextDatumGetCString(slot->tts_values[column]);
}
