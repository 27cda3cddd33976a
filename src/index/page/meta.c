/*
 * meta.c
 *		An open index: its operator class and the meta page.
 *
 * The properties that the build fixes are kept in the relcache entry, which every build invalidates. The
 * tree changes, so it is read from the meta page each time (hybrid_tree_read).
 */
#include "postgres.h"

#include "access/generic_xlog.h"
#include "access/relation.h"
#include "access/xlog.h"
#include "catalog/pg_class.h"
#include "catalog/pg_type.h"
#include "fmgr.h"
#include "server/citus.h"
#include "storage/bufmgr.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"

#include "index/page/buffers.h"
#include "index/page/index.h"

/* seed of the rotation; the same for all indexes, so that codes depend only on the vectors */
#define ROTATION_SEED UINT64CONST(0x68796272696431)

static ambuild_function our_build = NULL;

static bool copy_meta(Relation index, HybridMeta *meta);
static const char *damage_of(const HybridMeta *meta, BlockNumber blocks);
static void refuse_citus(Relation index);
static const HybridOpclass *opclass_of(Relation index);
static HybridMeta read_meta(Relation index, const HybridOpclass *opclass);
static bool is_built(Relation index, const HybridType *type, const HybridMeta *meta);
static void describe_index(Relation index, const HybridOpclass *opclass, int dims,
                           HybridStorage storage, HybridIndex *open);
static int32 declared_dims(Relation index, Oid *type);
static uint32 format_of(const HybridOpclass *opclass, int dims);
static HybridStorage chosen_storage(const HybridType *type, const HybridOptions *options);
static bool possible_storage(const HybridType *type, uint32 storage);

void
hybrid_index_register(ambuild_function build)
{
	our_build = build;
}

bool
hybrid_is_our_index(Relation relation)
{
	return relation->rd_indam != NULL && relation->rd_indam->ambuild == our_build;
}

bool
hybrid_index_outdated(Relation index)
{
	HybridMeta meta;

	return copy_meta(index, &meta) && meta.format != format_of(opclass_of(index), (int) meta.dims);
}

bool
hybrid_index_readable(Relation index)
{
	const HybridOpclass *opclass;
	HybridMeta meta;

	if (index->rd_amcache != NULL)
		return true;
	/* not readable: partitioned indexes, temporary ones of other sessions, unlogged ones in recovery, empty files */
	if (index->rd_rel->relkind != RELKIND_INDEX || RELATION_IS_OTHER_TEMP(index) ||
	    (!RelationIsPermanent(index) && RecoveryInProgress()) ||
	    RelationGetNumberOfBlocks(index) == 0 || !copy_meta(index, &meta))
		return false;
	opclass = opclass_of(index);
	return meta.format == format_of(opclass, (int) meta.dims) &&
	       damage_of(&meta, RelationGetNumberOfBlocks(index)) == NULL &&
	       is_built(index, opclass->type, &meta);
}

/* copy_meta: copy the contents of block 0. Returns false if the block is not a meta page of any format. */
static bool
copy_meta(Relation index, HybridMeta *meta)
{
	Buffer buffer = ReadBuffer(index, HYBRID_META_BLOCK);
	Page page = BufferGetPage(buffer);
	bool is_meta;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	is_meta = hybrid_page_is_ours(page) && hybrid_special(page)->kind == HYBRID_PAGE_META &&
	          hybrid_meta(page)->magic == HYBRID_INDEX_MAGIC;
	memcpy(meta, PageGetContents(page), sizeof(*meta));
	UnlockReleaseBuffer(buffer);
	return is_meta;
}

HybridIndex
hybrid_index_open(Relation index)
{
	const HybridOpclass *opclass;
	HybridMeta meta;
	HybridIndex open;

	if (index->rd_amcache != NULL)
		return *(const HybridIndex *) index->rd_amcache;

	opclass = opclass_of(index);
	meta = read_meta(index, opclass);
	if (!is_built(index, opclass->type, &meta))
		ereport(ERROR,
		        (errcode(ERRCODE_INDEX_CORRUPTED),
		         errmsg("index \"%s\" has a damaged meta page", RelationGetRelationName(index)),
		         errdetail("%u dimensions, storage %u, lists of %u.", meta.dims, meta.storage,
		                   meta.list_size),
		         errhint("REINDEX it.")));
	describe_index(index, opclass, (int) meta.dims, (HybridStorage) meta.storage, &open);
	open.list_size = (int) meta.list_size;
	open.seed = meta.seed;
	/* if the new type has the same bytes, ALTER TABLE changes the type of a column without rebuilding the index */
	open.words_outdated = meta.included != hybrid_included_mark(open.included, open.layout.words);
	index->rd_amcache = MemoryContextAlloc(index->rd_indexcxt, sizeof(HybridIndex));
	memcpy(index->rd_amcache, &open, sizeof(HybridIndex));
	return open;
}

void
hybrid_index_require_words(Relation index, const HybridIndex *open)
{
	if (open->words_outdated)
		ereport(ERROR,
		        (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		         errmsg("index \"%s\" was built for included columns of other types or collations",
		                RelationGetRelationName(index)),
		         errhint("REINDEX it.")));
}

void
hybrid_index_define(Relation index, HybridIndex *definition)
{
	const HybridOptions *options = (const HybridOptions *) index->rd_options;
	const HybridOpclass *opclass = opclass_of(index);
	const HybridType *type = opclass->type;
	HybridStorage storage = chosen_storage(type, options);
	Oid column_type;
	int32 dims = declared_dims(index, &column_type);

	if (dims < 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("column does not have dimensions"),
		                errhint("Declare it as %s(n), or index an expression such as "
		                        "((column::%s(3))).",
		                        type->name, type->name)));
	if (dims < 1)
		elog(ERROR, "unexpected number of dimensions: %d", dims);
	if (dims > type->max_dims)
		ereport(ERROR, (errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
		                errmsg("column cannot have more than %d dimensions for hybrid index",
		                       type->max_dims)));
	describe_index(index, opclass, dims, storage, definition);
	definition->list_size = options != NULL ? options->list_size : HYBRID_LIST_SIZE;
	definition->seed = ROTATION_SEED;
}

void
hybrid_meta_init(Page page, const HybridIndex *index)
{
	HybridMeta *meta;

	hybrid_page_init(page, HYBRID_PAGE_META, InvalidBlockNumber, 0);
	meta = hybrid_meta(page);
	meta->magic = HYBRID_INDEX_MAGIC;
	meta->format = format_of(index->opclass, index->layout.dims);
	meta->included = hybrid_included_mark(index->included, index->layout.words);
	meta->dims = index->layout.dims;
	meta->storage = index->layout.leaf.storage;
	meta->seed = index->seed;
	meta->list_size = index->list_size;
	meta->center = InvalidBlockNumber;
	meta->root = InvalidBlockNumber;
	((PageHeader) page)->pd_lower = (LocationIndex) (((char *) meta + sizeof(HybridMeta)) - page);
}

HybridMeta *
hybrid_meta_check(Relation index, Page page)
{
	HybridMeta *meta = hybrid_meta(page);
	const char *damage;

	hybrid_page_check(index, page, HYBRID_META_BLOCK, HYBRID_PAGE_META);
	damage = damage_of(meta, RelationGetNumberOfBlocks(index));
	if (damage != NULL)
		ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
		                errmsg("index \"%s\" has a meta page with %s",
		                       RelationGetRelationName(index), damage),
		                errhint("REINDEX it.")));
	return meta;
}

/* damage_of: describe what is impossible on the meta page of an index with this number of blocks, or return NULL. */
static const char *
damage_of(const HybridMeta *meta, BlockNumber blocks)
{
	const HybridCurve *curve = &meta->curve;

	if (curve->size > HYBRID_CURVE_POINTS)
		return "a curve that is too long";
	if (curve->by_queries > 1 || (curve->by_queries == 1 && curve->size == 0))
		return "a curve that nothing was measured for";
	if (meta->moved_first >= HYBRID_MOVED_LISTS || meta->moved_count > HYBRID_MOVED_LISTS)
		return "an impossible number of moved lists";
	if (meta->height >= HYBRID_LEVELS)
		return "an impossible number of levels";
	/* every leaf has a page of its own, and the file never becomes shorter */
	if (meta->leaves > blocks || curve->leaves > blocks ||
	    meta->regroup_leaves > hybrid_regroup_next(blocks))
		return "an impossible number of leaf lists";
	if (meta->logging > 1)
		return "an impossible state of its log";
	return NULL;
}

void
hybrid_tree_read(Relation index, HybridTree *tree)
{
	Buffer buffer = ReadBuffer(index, HYBRID_META_BLOCK);
	const HybridMeta *meta;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	meta = hybrid_meta_check(index, BufferGetPage(buffer));
	tree->center = meta->center;
	tree->root.head = meta->root;
	tree->root.generation = meta->root_generation;
	tree->height = meta->height;
	tree->leaves = meta->leaves;
	tree->regroup_leaves = meta->regroup_leaves;
	tree->logging = meta->logging != 0;
	tree->curve = meta->curve;
	UnlockReleaseBuffer(buffer);
}

HybridLink
hybrid_tree_root(Relation index)
{
	Buffer buffer = hybrid_buffer_read(index, HYBRID_META_BLOCK, NULL);
	const HybridMeta *meta = hybrid_meta(BufferGetPage(buffer));
	HybridLink root;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	root.head = meta->root;
	root.generation = meta->root_generation;
	UnlockReleaseBuffer(buffer);
	return root;
}

HybridMeta *
hybrid_meta_begin(Relation index, HybridMetaChange *change)
{
	change->buffer = ReadBuffer(index, HYBRID_META_BLOCK);
	LockBuffer(change->buffer, BUFFER_LOCK_EXCLUSIVE);
	(void) hybrid_meta_check(index, BufferGetPage(change->buffer));
	change->record = GenericXLogStart(index);
	return hybrid_meta(GenericXLogRegisterBuffer(change->record, change->buffer, 0));
}

void
hybrid_meta_end(HybridMetaChange *change)
{
	GenericXLogFinish(change->record);
	UnlockReleaseBuffer(change->buffer);
}

Relation
hybrid_open_index(Oid oid, LOCKMODE lock)
{
	Relation relation = try_relation_open(oid, lock);

	if (relation == NULL)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
		                errmsg("relation with OID %u does not exist", oid)));

	if (relation->rd_index != NULL)
		refuse_citus(relation);
	if (relation->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
		                errmsg("\"%s\" is an index of a partitioned table",
		                       RelationGetRelationName(relation)),
		                errhint("Use the indexes of the partitions.")));
	/*
	 * hybrid_is_our_index compares the build callback, so an access method with another name and the same
	 * handler is accepted, too
	 */
	if (relation->rd_rel->relkind != RELKIND_INDEX || !hybrid_is_our_index(relation))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
		                errmsg("\"%s\" is not an index of access method hybrid",
		                       RelationGetRelationName(relation))));
	if (RELATION_IS_OTHER_TEMP(relation))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		                errmsg("cannot access temporary indexes of other sessions")));
	/*
	 * CREATE INDEX CONCURRENTLY may still be building this index, or may have failed; the content is
	 * undefined
	 */
	if (!relation->rd_index->indisvalid)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
		                errmsg("index \"%s\" is not valid", RelationGetRelationName(relation))));
	return relation;
}

/* refuse_citus: raise an error if Citus keeps the table's rows, and therefore the entries, in shards. */
static void
refuse_citus(Relation index)
{
	Oid table = index->rd_index->indrelid;
	List *tables = list_make1_oid(table);

	if (OidIsValid(hybrid_citus_table(tables)))
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		     errmsg("cannot read index \"%s\", because Citus keeps the rows of \"%s\" in shards",
		            RelationGetRelationName(index), get_rel_name(table)),
		     errhint("Call the function for the index of each shard, with "
		             "run_command_on_shards.")));
	list_free(tables);
}

/*
 * opclass_of: return the description of the vector's operator class. It lives as long as the backend.
 */
static const HybridOpclass *
opclass_of(Relation index)
{
	FmgrInfo *procedure;
	int last = hybrid_keys_count(index), i;

	/* only the operator class of the vector has this support function */
	for (i = 0; i <= last; i++)
	{
		if (OidIsValid(index_getprocid(index, i + 1, HYBRID_METRIC_PROC)) != (i == last))
			ereport(ERROR,
			        (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			         errmsg("the last column of a hybrid index must be its vector, and no other"),
			         errdetail("Column %d of index \"%s\" is %s.", i + 1,
			                   RelationGetRelationName(index), i == last ? "a key" : "a vector"),
			         errhint("Columns after INCLUDE do not count.")));
	}
	procedure = index_getprocinfo(index, last + 1, HYBRID_METRIC_PROC);
	return (const HybridOpclass *) DatumGetPointer(FunctionCall1(procedure, PointerGetDatum(NULL)));
}

/* read_meta: return a copy of the meta page. Raises an error if the page is damaged or has another format. */
static HybridMeta
read_meta(Relation index, const HybridOpclass *opclass)
{
	Buffer buffer = ReadBuffer(index, HYBRID_META_BLOCK);
	Page page = BufferGetPage(buffer);
	HybridMeta meta;

	LockBuffer(buffer, BUFFER_LOCK_SHARE);
	if (PageIsNew(page))
		ereport(ERROR,
		        (errcode(ERRCODE_INDEX_CORRUPTED),
		         errmsg("index \"%s\" has an empty meta page", RelationGetRelationName(index)),
		         errhint("REINDEX it.")));
	hybrid_page_check(index, page, HYBRID_META_BLOCK, HYBRID_PAGE_META);
	memcpy(&meta, PageGetContents(page), sizeof(meta));

	if (meta.magic != HYBRID_INDEX_MAGIC)
		ereport(ERROR,
		        (errcode(ERRCODE_INDEX_CORRUPTED),
		         errmsg("index \"%s\" is not a hybrid index", RelationGetRelationName(index)),
		         errdetail("Magic number %08x instead of %08x.", meta.magic, HYBRID_INDEX_MAGIC)));
	if (meta.format != format_of(opclass, (int) meta.dims))
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
		                errmsg("index \"%s\" has format version %u, this library reads %u",
		                       RelationGetRelationName(index), meta.format,
		                       format_of(opclass, (int) meta.dims)),
		                errhint("REINDEX it.")));
	(void) hybrid_meta_check(index, page);
	UnlockReleaseBuffer(buffer);
	return meta;
}

/* is_built: test whether the properties in the meta page that a build sets are possible for this index. */
static bool
is_built(Relation index, const HybridType *type, const HybridMeta *meta)
{
	Oid column_type;
	int32 declared = declared_dims(index, &column_type);

	/*
	 * The column may no longer declare dimensions, because ALTER TABLE can drop them without rebuilding
	 * the index. ALTER TABLE can also raise the length of a bit varying.
	 */
	if (column_type == VARBITOID && declared > (int32) meta->dims)
		declared = -1;
	return meta->dims >= 1 && meta->dims <= (uint32) type->max_dims &&
	       (declared < 0 || meta->dims == (uint32) declared) &&
	       possible_storage(type, meta->storage) && meta->list_size >= HYBRID_LIST_SIZE_MIN &&
	       meta->list_size <= HYBRID_LIST_SIZE_MAX &&
	       (hybrid_included_count(index) == 0) == (meta->included == 0);
}

/* describe_index: set the properties that follow from an index's columns, its dimensions and its storage. */
static void
describe_index(Relation index, const HybridOpclass *opclass, int dims, HybridStorage storage,
               HybridIndex *open)
{
	memset(open, 0, sizeof(*open));
	open->opclass = opclass;
	open->metric = opclass->metric;
	open->lossless = hybrid_type_lossless(opclass->type, storage);
	open->coded = hybrid_opclass_coded(opclass, dims);
	open->keys = hybrid_keys_count(index);
	hybrid_included_describe(index, open->included);
	hybrid_layout_init(&open->layout, dims, storage, open->coded, hybrid_included_count(index),
	                   open->keys > 0);
}

/*
 * declared_dims: return the number of dimensions that the vector's column declares, or -1 if it declares none. Sets
 * *type to the type of the column, or to the base type if that is a domain.
 */
static int32
declared_dims(Relation index, Oid *type)
{
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(index), hybrid_keys_count(index));
	int32 dims = column->atttypmod;

	/* a domain has the type modifier of its base type */
	*type = getBaseTypeAndTypmod(column->atttypid, &dims);
	return dims;
}

/* format_of: return the format version of indexes of this operator class and with this number of dimensions. */
static uint32
format_of(const HybridOpclass *opclass, int dims)
{
	bool later = !opclass->type->dense || opclass->metric == HY_METRIC_L1;

	return later && hybrid_opclass_coded(opclass, dims) ? HYBRID_LATER_CODES_FORMAT
	                                                    : HYBRID_INDEX_FORMAT;
}

static HybridStorage
chosen_storage(const HybridType *type, const HybridOptions *options)
{
	int chosen = options != NULL ? options->storage : HYBRID_STORAGE_UNSET;

	if (type->dense)
		return chosen != HYBRID_STORAGE_UNSET ? (HybridStorage) chosen : HYBRID_FLOAT16;
	if (chosen != HYBRID_STORAGE_UNSET)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
		                errmsg("storage cannot be chosen for an index of type %s", type->name),
		                errdetail("Its values are stored as given."),
		                errhint("Omit the option, or remove it with "
		                        "ALTER INDEX ... RESET (storage).")));
	return type->storage;
}

static bool
possible_storage(const HybridType *type, uint32 storage)
{
	if (storage >= HYBRID_STORAGE_COUNT)
		return false;
	if (!type->dense)
		return storage == (uint32) type->storage;
	return hybrid_storage_is_dense((HybridStorage) storage);
}
