"""The two sets of index.py, and their exact nearest rows.

wordnet: the glosses of WordNet (wordnet.py), cosine; rows are renumbered.  The rows inserted later are
slightly moved copies of its rows.

clustered: Gaussians with the same noise in all directions, whose sizes follow Zipf's law.  Their
centers lie in a subspace of 32 dimensions, along whose axes they spread less and less.  Queries and the
rows inserted later are drawn like the rows.
"""

import json
import os
import sys

import numpy

from side_by_side import K, read_rows, say, unit, write_rows

QUERIES = 1000
# of them, where searches are slow
FEW_QUERIES = 200
# rows to insert later: at most these, and a tenth of what is there
EXTRA = 60000
CLUSTERED_ROWS = 1_000_000
CLUSTERED_DIMENSIONS = 128
ROWS_OF_A_CLUSTER = 100
CENTER_RANK = 32
CENTER_SPREAD = 4
NOISE = 0.35
# sizes of clusters: the n-th is as large as n to this power
ZIPF = -0.8
# two rows are equally far when their distances in float64 differ by less than this share
TIE = 1e-7

# What says which rows a condition takes: as good as random, and the same in SQL and numpy.
SHUFFLED = "(id * 7919 % 1000003)"
CATEGORY = f"({SHUFFLED} % 100)::int"
FILTERED = "category = 7"
DELETED = f"({SHUFFLED} / 100 % 2 = 0)"


class Set:
    """Rows, queries and rows to insert; and how many of the answers to the queries are right."""

    def __init__(self, server, name, rows):
        self.name, self.server = name, server
        self.dimensions = CLUSTERED_DIMENSIONS if name == "clustered" else 768
        self.cosine = name == "wordnet"
        self.operator = "<=>" if self.cosine else "<->"
        self.operator_class = "vector_cosine_ops" if self.cosine else "vector_l2_ops"
        self.bounds = {}
        if not os.path.exists(self.file("made")):
            say(f"{name}: making rows and queries")
            self.make(rows)
            with open(self.file("made"), "w", encoding="ascii") as file:
                json.dump(rows, file)
        with open(self.file("made"), encoding="ascii") as file:
            if json.load(file) != rows:
                sys.exit(f"{server} was made with another --rows")
        _, self.items = read_rows(self.file("items"), self.dimensions)
        _, self.queries = read_rows(self.file("queries"), self.dimensions)
        shuffled = numpy.arange(len(self.items)) * 7919 % 1000003
        self.filtered = shuffled % 100 == 7
        self.kept = shuffled // 100 % 2 != 0

    def file(self, what):
        """Where something of the set is."""
        return f"{self.server}/tmp/{self.name}.{what}"

    def make(self, rows):
        """The files: items, queries and extra."""
        random = numpy.random.default_rng(7)
        if self.cosine:
            _, items = read_rows(f"{self.server}/tmp/item.bin")
            _, queries = read_rows(f"{self.server}/tmp/query.bin")
            if rows and rows < len(items):
                items = items[numpy.sort(random.permutation(len(items))[:rows])]
            extra = items[random.integers(0, len(items), extra_rows(len(items)))]
            step = random.standard_normal(extra.shape, dtype="f4")
            extra = extra + 0.2 * step / numpy.linalg.norm(step, axis=1)[:, None]
        else:
            rows = rows or CLUSTERED_ROWS
            made = clustered(random, rows, rows + QUERIES + extra_rows(rows))
            items, queries, extra = numpy.split(made, [rows, rows + QUERIES])
        write_rows(self.file("items"), numpy.arange(len(items)), items)
        write_rows(self.file("queries"), numpy.arange(len(queries)), queries)
        write_rows(self.file("few_queries"), numpy.arange(FEW_QUERIES), queries[:FEW_QUERIES])
        write_rows(self.file("extra"), len(items) + numpy.arange(len(extra)), extra)

    def extra(self, parts):
        """Files that have the rows to insert among them."""
        ids, vectors = read_rows(self.file("extra"), self.dimensions)
        files = []
        for i in range(parts):
            files.append(self.file(f"extra{i}"))
            write_rows(files[i], ids[i::parts], vectors[i::parts])
        return files

    def bound(self, which):
        """The distance of each query's K-th nearest row of 'all', 'filtered', 'kept'."""
        if which not in self.bounds:
            path = self.file(f"{which}.npy")
            if not os.path.exists(path):
                say(f"{self.name}: exact answers, {which} rows")
                numpy.save(path, self.nearest(self.items if which == "all"
                                              else self.items[getattr(self, which)]))
            self.bounds[which] = numpy.load(path)
        return self.bounds[which]

    def nearest(self, items):
        """The K-th distance of each query, in float64."""
        queries = unit(self.queries) if self.cosine else self.queries.astype("f8")
        best = numpy.full((len(queries), K), numpy.inf)
        for begin in range(0, len(items), 16384):
            some = items[begin:begin + 16384]
            if self.cosine:
                distances = 1 - queries @ unit(some).T
            else:
                some = some.astype("f8")
                distances = ((queries ** 2).sum(axis=1)[:, None] + (some ** 2).sum(axis=1)
                             - 2 * queries @ some.T)
            few = min(K, len(some))
            distances = numpy.partition(distances, few - 1, axis=1)[:, :few]
            best = numpy.sort(numpy.hstack([best, distances]), axis=1)[:, :K]
        return best[:, -1] if self.cosine else numpy.sqrt(best[:, -1])

    def recall(self, answers, which="all"):
        """The share of the K nearest that was found: an id counts, once, if its row is among those
        asked for, and not farther than the K-th."""
        bound = self.bound(which)
        wanted = numpy.ones(len(self.items), bool) if which == "all" else getattr(self, which)
        # fewer than K rows may be all there are
        there = min(K, int(wanted.sum()))
        right = 0
        for number, ids in enumerate(answers):
            ids = numpy.unique(numpy.asarray(ids[:K], dtype="i8"))
            if len(ids) == 0:
                continue
            if ids[0] < 0 or ids[-1] >= len(wanted) or not wanted[ids].all():
                sys.exit(f"{self.name}: an answer has a row that was not asked for")
            query = self.queries[number:number + 1]
            if self.cosine:
                own = 1 - unit(self.items[ids]) @ unit(query)[0]
            else:
                own = numpy.linalg.norm(self.items[ids].astype("f8") - query, axis=1)
            right += int((own <= bound[number] + TIE * max(1, abs(bound[number]))).sum())
        return right / (there * len(answers))


def extra_rows(rows):
    """How many there are to insert."""
    return min(EXTRA, rows // 10)


def clustered(random, rows, count, dimensions=CLUSTERED_DIMENSIONS):
    """count vectors of the mixture that has as many clusters as belong to these rows."""
    clusters = max(rows // ROWS_OF_A_CLUSTER, 10)
    share = numpy.arange(1, clusters + 1) ** ZIPF
    basis = numpy.linalg.qr(random.standard_normal((dimensions, CENTER_RANK)))[0].T
    axes = CENTER_SPREAD / numpy.sqrt(numpy.arange(1, CENTER_RANK + 1))
    centers = (random.standard_normal((clusters, CENTER_RANK)) * axes @ basis).astype("f4")
    vectors = random.standard_normal((count, dimensions), dtype="f4")
    vectors *= NOISE
    vectors += centers[random.choice(clusters, count, p=share / share.sum())]
    return vectors
