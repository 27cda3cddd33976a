/*
 * csr_copy.c
 *		Copies a graph together with its origins: see csr_copy.h.
 */
#include "core/csr_copy.h"

#include <string.h>

#define ARRAYS 9

/* Array: one of the arrays of a graph or its origins. */
typedef struct Array
{
	const void *from;
	size_t bytes;
	void *copy; /* NULL until the array has been copied */
} Array;

static void list_arrays(const HyCsr *csr, const HyOrigins *origins, Array *array);

HyStatus
hy_csr_copy(const HyCsr *csr, const HyOrigins *origins, const HyAllocator *allocator,
            HyCsr *csr_copy, HyOrigins *origins_copy)
{
	Array array[ARRAYS];
	HyStatus status = HY_OK;
	int i;

	list_arrays(csr, origins, array);
	for (i = 0; i < ARRAYS; i++)
	{
		/* for 0 bytes hy_alloc returns NULL, which would look like a failure */
		array[i].copy = hy_alloc(allocator, array[i].bytes > 0 ? array[i].bytes : 1);
		if (array[i].copy == NULL)
			status = HY_NOMEM;
		else if (array[i].bytes > 0)
			memcpy(array[i].copy, array[i].from, array[i].bytes);
	}
	*csr_copy = (HyCsr){.nodes = csr->nodes,
	                    .edges = csr->edges,
	                    .ids = array[0].copy,
	                    .row_start = array[1].copy,
	                    .column = array[2].copy,
	                    .weight = array[3].copy,
	                    .out_weight = array[4].copy,
	                    .out_start = array[5].copy,
	                    .out_row = array[6].copy,
	                    .at_least_one = csr->at_least_one};
	*origins_copy = (HyOrigins){.entry = array[7].copy,
	                            .parallel = array[8].copy,
	                            .parallels = origins->parallels,
	                            .node_room = csr->nodes,
	                            .edge_room = csr->edges};
	if (status != HY_OK)
	{
		hy_csr_free(csr_copy, allocator);
		hy_origins_free(origins_copy, allocator);
	}
	return status;
}

uint64_t
hy_csr_copy_bytes(const HyCsr *csr, const HyOrigins *origins)
{
	Array array[ARRAYS];
	uint64_t total = 0;
	int i;

	list_arrays(csr, origins, array);
	for (i = 0; i < ARRAYS; i++)
		total += array[i].bytes / HY_CSR_COPY_ALIGN * HY_CSR_COPY_ALIGN + HY_CSR_COPY_ALIGN;
	return total;
}

static void
list_arrays(const HyCsr *csr, const HyOrigins *origins, Array *array)
{
	const size_t nodes = (size_t) csr->nodes;
	const size_t edges = (size_t) csr->edges;

	array[0] = (Array){csr->ids, nodes * sizeof(*csr->ids), NULL};
	array[1] = (Array){csr->row_start, (nodes + 1) * sizeof(*csr->row_start), NULL};
	array[2] = (Array){csr->column, edges * sizeof(*csr->column), NULL};
	array[3] = (Array){csr->weight, edges * sizeof(*csr->weight), NULL};
	array[4] = (Array){csr->out_weight, nodes * sizeof(*csr->out_weight), NULL};
	array[5] = (Array){csr->out_start, (nodes + 1) * sizeof(*csr->out_start), NULL};
	array[6] = (Array){csr->out_row, edges * sizeof(*csr->out_row), NULL};
	array[7] = (Array){origins->entry, edges * sizeof(*origins->entry), NULL};
	array[8] =
		(Array){origins->parallel, (size_t) origins->parallels * sizeof(*origins->parallel), NULL};
}
