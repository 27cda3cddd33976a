/*
 * allocator_test.c
 *		Sizes, overflow, and that failure returns NULL.
 */
#include "unit.h"

static void
test_zero_bytes_are_null(void)
{
	UnitMemory memory;

	unit_memory_init(&memory, 0);
	CHECK(hy_alloc(&memory.allocator, 0) == NULL);
	CHECK(hy_alloc_zero(&memory.allocator, 0) == NULL);
	CHECK(hy_alloc_array(&memory.allocator, 0, 8) == NULL);
	CHECK(hy_alloc_array(&memory.allocator, 8, 0) == NULL);
	CHECK_INT(memory.calls, 0);
}

static void
test_zero_filled(void)
{
	UnitMemory memory;
	unsigned char *bytes;
	int i;

	unit_memory_init(&memory, 0);
	bytes = hy_alloc_zero(&memory.allocator, 1000);
	CHECK(bytes != NULL);
	for (i = 0; i < 1000; i++)
		CHECK_INT(bytes[i], 0);
	hy_free(&memory.allocator, bytes);
	CHECK_INT(memory.outstanding, 0);
}

static void
test_array_overflow(void)
{
	UnitMemory memory;

	unit_memory_init(&memory, 0);
	CHECK(hy_alloc_array(&memory.allocator, SIZE_MAX / 4 + 1, 4) == NULL);
	CHECK(hy_alloc_array(&memory.allocator, SIZE_MAX, SIZE_MAX) == NULL);
	CHECK(hy_alloc_array(&memory.allocator, (size_t) 1 << 33, (size_t) 1 << 33) == NULL);
	CHECK_INT(memory.calls, 0);
}

static void
test_array_has_its_size(void)
{
	uint32_t *numbers = hy_alloc_array(&hy_malloc_allocator, 1000, sizeof(uint32_t));
	int i;

	CHECK(numbers != NULL);
	for (i = 0; i < 1000; i++)
		numbers[i] = (uint32_t) i;
	CHECK_INT(numbers[999], 999);
	hy_free(&hy_malloc_allocator, numbers);
}

static void
test_failure_is_null(void)
{
	UnitMemory memory;
	void *first;
	void *third;

	unit_memory_init(&memory, 2);
	first = hy_alloc(&memory.allocator, 8);
	CHECK(first != NULL);
	CHECK(hy_alloc_zero(&memory.allocator, 8) == NULL);
	third = hy_alloc_array(&memory.allocator, 2, 4);
	CHECK(third != NULL);
	CHECK_INT(memory.failures, 1);
	CHECK_INT(memory.outstanding, 2);
	hy_free(&memory.allocator, first);
	hy_free(&memory.allocator, third);
	hy_free(&memory.allocator, NULL);
	CHECK_INT(memory.outstanding, 0);
}

int
main(void)
{
	UNIT_RUN(test_zero_bytes_are_null);
	UNIT_RUN(test_zero_filled);
	UNIT_RUN(test_array_overflow);
	UNIT_RUN(test_array_has_its_size);
	UNIT_RUN(test_failure_is_null);
	return unit_finish();
}
