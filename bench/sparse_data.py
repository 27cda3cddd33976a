#!/usr/bin/python3
"""Sparse vectors of the shape that learned sparse models make of texts (SPLADE), as lines of COPY.

	sparse_data.py ROWS QUERIES DIMS ELEMENTS QUERY_ELEMENTS

Prints ROWS + QUERIES lines: id, sparsevec. Half of the elements of a row are among 400 dimensions of its topic, and half among
all; within each, dimension n is chosen with a weight of 1/n. Values have a gamma distribution of shape 1.5. Queries are made
like rows, with fewer elements, and come last.
"""
import sys

import numpy as np

TOPICS = 500
OF_TOPIC = 400
BATCH = 1000


def zipf(random, dims, size):
	"""Return numbers below dims, n with a weight of 1/(n + 1): the inverse of the distribution function."""
	return np.minimum((dims + 1.0) ** random.random(size), dims).astype(np.int64) - 1


def main():
	rows, queries, dims, elements, asked = (int(argument) for argument in sys.argv[1:])
	random = np.random.default_rng(7)
	words = random.permutation(dims)
	topics = random.integers(0, dims, (TOPICS, OF_TOPIC))
	for first in range(0, rows + queries, BATCH):
		count = min(BATCH, rows + queries - first)
		topic = topics[random.integers(0, TOPICS, count)]
		# more than are needed, since some are drawn twice
		near = np.take_along_axis(topic, zipf(random, OF_TOPIC, (count, 3 * elements)), 1)
		far = words[zipf(random, dims, (count, 3 * elements))]
		values = random.gamma(1.5, 0.5, (count, elements)) + 0.01
		for i in range(count):
			wanted = elements if first + i < rows else asked
			chosen = list(dict.fromkeys(near[i].tolist()))[:wanted // 2]
			chosen = list(dict.fromkeys(chosen + far[i].tolist()))[:wanted]
			pairs = zip(sorted(chosen), values[i].tolist())
			print(f"{first + i + 1}\t{{{','.join(f'{d + 1}:{v:.4g}' for d, v in pairs)}}}/{dims}")


if __name__ == "__main__":
	main()
