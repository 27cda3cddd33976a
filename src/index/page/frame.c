/*
 * frame.c
 *		Compute the places of vectors, and codes from places: see frame.h.
 */
#include "postgres.h"

#include <math.h>

#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "core/distance.h"
#include "server/memory.h"
#include "server/report.h"

#include "index/page/frame.h"

/* CachedRotation: a cached rotation. Rotations depend only on dims and seed, so a backend needs few of them. */
typedef struct CachedRotation
{
	uint64 seed;
	HyRotation rotation;
	struct CachedRotation *next;
} CachedRotation;

static CachedRotation *rotations = NULL;

static const HyRotation *rotation_for(int dims, uint64 seed);
static void read_center(Relation index, int dims, BlockNumber block, float *center);

void
hybrid_frame_init(HybridFrame *frame, const HybridIndex *index, const float *center)
{
	memset(frame, 0, sizeof(*frame));
	frame->metric = index->metric;
	frame->layout = &index->layout;
	frame->center = center;
	if (!index->coded)
		return;
	frame->rotation = rotation_for(index->layout.dims, index->seed);
	frame->zeros = palloc0(index->layout.padded * sizeof(float));
	frame->residual = palloc(index->layout.padded * sizeof(float));
	frame->bits = palloc(hy_code_bits_size(index->layout.padded));
}

void
hybrid_frame_open(HybridFrame *frame, Relation index, const HybridIndex *open, BlockNumber center)
{
	float *read = NULL;

	if (BlockNumberIsValid(center))
	{
		read = palloc(open->layout.dims * sizeof(float));
		read_center(index, open->layout.dims, center, read);
	}
	hybrid_frame_init(frame, open, read);
}

void
hybrid_frame_place(const HybridFrame *frame, const float *x, float norm, float *place)
{
	int dims = frame->layout->dims, i;
	float factor = 1;

	if (frame->metric == HY_METRIC_COSINE)
		factor = (float) (1 / sqrt((double) norm));
	/* Under cosine, a vector of length 0 is not indexed, but a bit string without set bits is, as the origin. */
	if (norm == 0 && frame->layout->leaf.storage == HYBRID_BITS)
		factor = 0;
	if (frame->center == NULL)
	{
		for (i = 0; i < dims; i++)
			place[i] = x[i] * factor;
	}
	else
	{
		for (i = 0; i < dims; i++)
			place[i] = x[i] * factor - frame->center[i];
	}
}

float
hybrid_frame_encode(HybridFrame *frame, const float *place, const float *rotated,
                    const float *centroid, const float *rotated_centroid, HyCode *code)
{
	int dims = frame->layout->dims, padded = frame->layout->padded, i;
	const float *from = rotated;
	double along = 0;

	if (rotated_centroid != NULL)
	{
		for (i = 0; i < padded; i++)
			frame->residual[i] = rotated[i] - rotated_centroid[i];
		from = frame->residual;
	}
	if (frame->metric == HY_METRIC_IP && frame->center != NULL)
	{
		for (i = 0; i < dims; i++)
			along += (double) frame->center[i] *
			         ((double) place[i] - (centroid != NULL ? (double) centroid[i] : 0));
	}
	hy_code_encode(frame->metric, from, rotated_centroid != NULL ? rotated_centroid : frame->zeros,
	               padded, along, frame->bits, code);
	return hy_norm_sq(HY_F32, from, padded);
}

Size
hybrid_center_page(Page page, const char *from, Size left)
{
	Size length;

	hybrid_page_init(page, HYBRID_PAGE_CENTER, InvalidBlockNumber, 0);
	length = Min(left, PageGetExactFreeSpace(page));
	memcpy(PageGetContents(page), from, length);
	((PageHeader) page)->pd_lower = (LocationIndex) (SizeOfPageHeaderData + length);
	return length;
}

/* rotation_for: return the rotation for this number of dimensions and this seed. It lives until the backend ends. */
static const HyRotation *
rotation_for(int dims, uint64 seed)
{
	CachedRotation *cached;
	HyAllocator allocator;
	HyStatus status;

	for (cached = rotations; cached != NULL; cached = cached->next)
	{
		if (cached->rotation.dims == dims && cached->seed == seed)
			return &cached->rotation;
	}
	cached = MemoryContextAllocZero(TopMemoryContext, sizeof(CachedRotation));
	allocator = hybrid_allocator(TopMemoryContext);
	status = hy_rotation_init(&cached->rotation, dims, seed, &allocator);
	if (status != HY_OK)
	{
		pfree(cached);
		hybrid_check(status, "make a rotation");
	}
	cached->seed = seed;
	cached->next = rotations;
	rotations = cached;
	return &cached->rotation;
}

/* read_center: read the center, which is stored at this block and in the blocks that follow. */
static void
read_center(Relation index, int dims, BlockNumber block, float *center)
{
	Size left = dims * sizeof(float);
	char *to = (char *) center;

	do
	{
		Buffer buffer = ReadBuffer(index, block);
		Page page = BufferGetPage(buffer);
		Size length;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		hybrid_page_check(index, page, block, HYBRID_PAGE_CENTER);
		length = ((PageHeader) page)->pd_lower - SizeOfPageHeaderData;
		if (length == 0 || length > left)
			ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
			                errmsg("index \"%s\" has a damaged center at block %u",
			                       RelationGetRelationName(index), block)));
		memcpy(to, PageGetContents(page), length);
		UnlockReleaseBuffer(buffer);
		to += length;
		left -= length;
		block++;
	} while (left > 0);
}
