/*
 * fake_memory.h
 *		The fake device's memory, and the host's that is pinned for it.
 *
 * The host cannot touch a block of the device: its pages are forbidden but while the device works.
 */
#ifndef HY_TEST_FAKE_MEMORY_H
#define HY_TEST_FAKE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

namespace hy_memory
{
/* open: the device works, if it did not already; close: it does not, if it did. */
extern void open();
extern void close();

/* allocate: a block of this device, full of what another process may have left. */
extern void *allocate(size_t bytes, int device);

/* release: gives it back to the driver; false: there is no such block. */
extern bool release(void *pointer);

/* pin, unpin: the same of pinned memory. */
extern void *pin(size_t bytes);
extern bool unpin(void *pointer);

/* holds: whether bytes from there on lie in a block of the device; pins: in pinned memory. */
extern bool holds(const void *pointer, size_t bytes);
extern bool pins(const void *pointer, size_t bytes);

/* blocks: of both kinds. */
extern size_t blocks();

/* lose: what nobody has released of this device goes back to the driver as it is. */
extern void lose(int device);

/* reset: a new machine, but for what is pinned. */
extern void reset();
} // namespace hy_memory

#endif
