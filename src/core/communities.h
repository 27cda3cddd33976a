/*
 * communities.h
 *		Steps shared by the algorithms that find communities.
 */
#ifndef HY_COMMUNITIES_H
#define HY_COMMUNITIES_H

#include <stdint.h>

#include "core/random.h"

/*
 * hy_communities_shuffle: list the numbers 0 .. count - 1 in a random order that depends only on
 * seed and step (R. Durstenfeld, "Algorithm 235: random permutation", 1964).  The remainder of a
 * 64-bit random number divided by less than 2^32 is practically uniform.
 */
static inline void
hy_communities_shuffle(uint64_t seed, uint64_t step, int64_t count, uint32_t *order)
{
	uint64_t series = hy_random(seed, step);
	int64_t i;

	for (i = 0; i < count; i++)
	{
		int64_t other = (int64_t) (hy_random(series, (uint64_t) i) % (uint64_t) (i + 1));

		order[i] = order[other];
		order[other] = (uint32_t) i;
	}
}

/*
 * hy_communities_compact: renumber the communities 0, 1, ... in the order of their first nodes, and
 * return the number of communities.  The old numbers are below `most`, and map is scratch memory
 * with `most` entries.
 */
static inline int64_t
hy_communities_compact(int64_t nodes, uint32_t *community, int64_t most, uint32_t *map)
{
	int64_t found = 0;
	int64_t i;

	for (i = 0; i < most; i++)
		map[i] = UINT32_MAX;
	for (i = 0; i < nodes; i++)
	{
		if (map[community[i]] == UINT32_MAX)
			map[community[i]] = (uint32_t) found++;
		community[i] = map[community[i]];
	}
	return found;
}

#endif
