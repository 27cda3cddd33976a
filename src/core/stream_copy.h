/*
 * stream_copy.h
 *		Copies data with stores that bypass the cache, to memory that the CPU does not read soon.
 *
 * An ordinary store first reads the cache line that it overwrites, and the line then displaces
 * other data.  Streaming stores write whole lines directly to memory.  Without SSE2, hy_stream_copy
 * uses ordinary stores, and hy_stream_end does nothing.
 */
#ifndef HY_STREAM_COPY_H
#define HY_STREAM_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>
#ifdef __SSE2__
#include <immintrin.h>
#endif

#define HY_STREAM_LINE 64 /* bytes of a cache line */

/*
 * hy_stream_copy: copy bytes between arrays that do not overlap, at any addresses.  The incomplete
 * lines at both ends are written by ordinary stores.
 */
static inline void
hy_stream_copy(char *to, const char *from, size_t bytes)
{
	size_t at = 0;

#ifdef __SSE2__
	at = (size_t) (-(uintptr_t) to % HY_STREAM_LINE);
	at = at < bytes ? at : bytes;
	memcpy(to, from, at);
	for (; bytes - at >= HY_STREAM_LINE; at += HY_STREAM_LINE)
	{
		const __m128i *source = (const __m128i *) (const void *) (from + at);
		__m128i *line = (__m128i *) (void *) (to + at);
		__m128i a = _mm_loadu_si128(source);
		__m128i b = _mm_loadu_si128(source + 1);
		__m128i c = _mm_loadu_si128(source + 2);
		__m128i d = _mm_loadu_si128(source + 3);

		_mm_stream_si128(line, a);
		_mm_stream_si128(line + 1, b);
		_mm_stream_si128(line + 2, c);
		_mm_stream_si128(line + 3, d);
	}
#endif
	memcpy(to + at, from + at, bytes - at);
}

/*
 * hy_stream_end: complete the streaming stores of this thread.  The thread must call it before
 * another thread or a device may read the data.
 */
static inline void
hy_stream_end(void)
{
#ifdef __SSE2__
	_mm_sfence();
#endif
}

#endif
