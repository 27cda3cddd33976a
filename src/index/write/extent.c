/*
 * extent.c
 *		A sink that puts the list pages of many new lists next to each other.
 */
#include "postgres.h"

#include "index/write/extent.h"

static HybridLink extent_reserve(HybridSink *sink, HybridPageKind kind);
static void extent_write(HybridSink *sink, BlockNumber block, Page image);

void
hybrid_extent_sink_init(HybridExtentSink *sink, Relation index)
{
	memset(sink, 0, sizeof(*sink));
	sink->sink.reserve = extent_reserve;
	sink->sink.write = extent_write;
	hybrid_logged_sink_init(&sink->logged, index);
}

void
hybrid_extent_sink_finish(HybridExtentSink *sink)
{
	for (; sink->next < sink->count; sink->next++)
		hybrid_page_give_back(sink->logged.index, sink->stock[sink->next].head);
}

static HybridLink
extent_reserve(HybridSink *sink, HybridPageKind kind)
{
	HybridExtentSink *extents = (HybridExtentSink *) sink;
	HybridSink *logged = &extents->logged.sink;
	int size;

	if (kind != HYBRID_PAGE_LIST)
	{
		extents->reserved++;
		return logged->reserve(logged, kind);
	}
	if (extents->next == extents->count)
	{
		size = hybrid_extent_size(extents->reserved);
		extents->next = 0;
		/*
		 * count each page as soon as it is reserved, so that after an error the stock has exactly the
		 * pages reserved so far
		 */
		for (extents->count = 0; extents->count < size; extents->count++)
			extents->stock[extents->count] = logged->reserve(logged, kind);
		extents->reserved += size;
	}
	return extents->stock[extents->next++];
}

static void
extent_write(HybridSink *sink, BlockNumber block, Page image)
{
	HybridSink *logged = &((HybridExtentSink *) sink)->logged.sink;

	logged->write(logged, block, image);
}
