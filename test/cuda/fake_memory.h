/*
 * fake_memory.h
 *		The memory of the fake device, and the pinned memory of the host.
 *
 * The pages of the device's blocks are accessible only while the device works, so the host cannot
 * touch them.
 */
#ifndef HY_TEST_FAKE_MEMORY_H
#define HY_TEST_FAKE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

namespace hy_memory
{
/* open, close: make the device's blocks accessible, or forbidden again. */
extern void open();
extern void close();

/*
 * allocate: return a block of this device, filled with bytes that another process might have left.
 */
extern void *allocate(size_t bytes, int device);

/* release: free a block.  Returns false if there is no such block. */
extern bool release(void *pointer);

/* pin, unpin: allocate and free pinned memory in the same way. */
extern void *pin(size_t bytes);
extern bool unpin(void *pointer);

/*
 * holds: return whether these bytes lie in a block of the device.
 *
 * pins: return whether they lie in pinned memory.
 */
extern bool holds(const void *pointer, size_t bytes);
extern bool pins(const void *pointer, size_t bytes);

/* blocks: return the number of blocks of both kinds. */
extern size_t blocks();

/* lose: free all blocks of this device that the caller has not freed, without zeroing them. */
extern void lose(int device);

/* reset: start over with a new machine.  Only pinned memory stays. */
extern void reset();
} // namespace hy_memory

#endif
