/*
 * fake_memory.cpp
 *		Device memory in blocks that end at forbidden pages, pinned memory, and the check that freed
 *		memory was zeroed.
 */
#include "fake.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <algorithm>
#include <map>

#include "fake_device.h"
#include "fake_memory.h"

struct Block
{
	int device;
	char *pages;
	size_t length; /* bytes of the pages, without the forbidden page */
	size_t bytes;
};

static const size_t page = 4096;

static std::map<char *, Block> device_blocks;
static std::map<char *, size_t> pinned_blocks;
static bool is_open;
static int mallocs;
static uint64_t returned;
static uint64_t leaked;

static void
protect(const Block &block, bool open)
{
	mprotect(block.pages, block.length, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}

/* take_back: count freed memory, and the bytes of it that are not zero. */
static void
take_back(const char *memory, size_t bytes)
{
	returned += bytes;
	/* fast path: all bytes are zero, because the first is and each equals the next one */
	if (bytes == 0 || (memory[0] == 0 && memcmp(memory, memory + 1, bytes - 1) == 0))
		return;
	leaked += bytes - (size_t) std::count(memory, memory + bytes, 0);
}

void
hy_memory::open()
{
	if (is_open)
		return;
	for (auto &entry : device_blocks)
		protect(entry.second, true);
	is_open = true;
}

void
hy_memory::close()
{
	if (!is_open)
		return;
	for (auto &entry : device_blocks)
		protect(entry.second, false);
	is_open = false;
}

void *
hy_memory::allocate(size_t bytes, int device)
{
	Block block;
	char *start;

	block.device = device;
	block.bytes = bytes;
	block.length = (bytes + page - 1) / page * page;
	block.pages = (char *) mmap(nullptr, block.length + page, PROT_READ | PROT_WRITE,
	                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (block.pages == MAP_FAILED)
		hy_device::fatal("out of memory");
	/* changing the protection of huge pages is much faster */
	(void) madvise(block.pages, block.length, MADV_HUGEPAGE);
	memset(block.pages, 0xa5, block.length);
	/* the block ends at the forbidden page */
	start = block.pages + block.length - (bytes + 7) / 8 * 8;
	mprotect(block.pages, block.length + page, PROT_NONE);
	device_blocks[start] = block;
	mallocs++;
	return start;
}

bool
hy_memory::release(void *pointer)
{
	auto found = device_blocks.find((char *) pointer);

	if (found == device_blocks.end())
		return false;
	protect(found->second, true);
	take_back(found->first, found->second.bytes);
	munmap(found->second.pages, found->second.length + page);
	device_blocks.erase(found);
	return true;
}

void *
hy_memory::pin(size_t bytes)
{
	void *pointer = malloc(bytes);

	memset(pointer, 0x5a, bytes);
	pinned_blocks[(char *) pointer] = bytes;
	return pointer;
}

bool
hy_memory::unpin(void *pointer)
{
	auto found = pinned_blocks.find((char *) pointer);

	if (found == pinned_blocks.end())
		return false;
	take_back(found->first, found->second);
	pinned_blocks.erase(found);
	free(pointer);
	return true;
}

bool
hy_memory::holds(const void *pointer, size_t bytes)
{
	for (auto &entry : device_blocks)
	{
		const char *start = entry.first;

		if ((const char *) pointer >= start &&
		    (const char *) pointer + bytes <= start + entry.second.bytes)
			return true;
	}
	return false;
}

bool
hy_memory::pins(const void *pointer, size_t bytes)
{
	for (auto &entry : pinned_blocks)
	{
		if ((const char *) pointer >= entry.first &&
		    (const char *) pointer + bytes <= entry.first + entry.second)
			return true;
	}
	return false;
}

size_t
hy_memory::blocks()
{
	return device_blocks.size() + pinned_blocks.size();
}

void
hy_memory::lose(int device)
{
	open();
	for (auto &entry : device_blocks)
	{
		if (entry.second.device == device)
			take_back(entry.first, entry.second.bytes);
	}
	close();
}

void
hy_memory::reset()
{
	mallocs = 0;
	returned = 0;
	leaked = 0;
	for (auto &entry : device_blocks)
		munmap(entry.second.pages, entry.second.length + page);
	device_blocks.clear();
}

extern "C"
{
	uint64_t
	hy_fake_pinned(void)
	{
		uint64_t sum = 0;

		for (auto &entry : pinned_blocks)
			sum += entry.second;
		return sum;
	}

	uint64_t
	hy_fake_used(void)
	{
		uint64_t sum = 0;

		for (auto &entry : device_blocks)
			sum += entry.second.bytes;
		return sum;
	}

	int
	hy_fake_mallocs(void)
	{
		return mallocs;
	}

	uint64_t
	hy_fake_returned(void)
	{
		return returned;
	}

	uint64_t
	hy_fake_leaked(void)
	{
		return leaked;
	}

	int
	hy_fake_find(const void *bytes, size_t count)
	{
		const char *wanted = (const char *) bytes;
		bool found = false;

		hy_memory::open();
		for (auto &entry : device_blocks)
		{
			const char *end = entry.first + entry.second.bytes;

			found |= std::search((const char *) entry.first, end, wanted, wanted + count) != end;
		}
		hy_memory::close();
		return found;
	}

	void
	hy_fake_scribble(int byte)
	{
		hy_memory::open();
		for (auto &entry : device_blocks)
			memset(entry.first, byte, entry.second.bytes);
		hy_memory::close();
		for (auto &entry : pinned_blocks)
			memset(entry.first, byte, entry.second);
	}

} /* extern "C" */
