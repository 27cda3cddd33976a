"""Rows and queries of recall.py: shapes that an index meets, and queries that do not look like its rows.

Each case is a function of a random generator and a number of rows.  It yields the metric, the rows and
the sets of queries.  Nothing here may depend on the index.  The guarantee is tested on data that the index
was not tuned on, so the seed differs from run to run.
"""

import hashlib
import os
import re
import subprocess

import numpy

import wordnet as source

PHRASES = 3000


def normal(random, *shape):
    """Independent normal numbers."""
    return random.standard_normal(shape, dtype="f4")


def unit(vectors):
    """Vectors of length 1."""
    lengths = numpy.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / numpy.maximum(lengths, 1e-30)


def some(random, rows, count):
    """Some of the rows, none twice."""
    return rows[random.permutation(len(rows))[:count]]


# ---- texts ----

def embedded(name, texts, dimensions, phrases):
    """Vectors of texts, and of phrases by the same model; kept from one run to the next."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    key = hashlib.sha256("\n".join([name, str(dimensions)] + texts).encode()).hexdigest()[:16]
    directory = os.environ["RECALL_CACHE"]
    path = os.path.join(directory, f"recall-{name}-{key}.npz")
    if not os.path.exists(path):
        os.makedirs(directory, exist_ok=True)
        words = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english")
        weights = words.fit_transform(texts)
        svd = TruncatedSVD(dimensions, n_iter=2, random_state=0)
        vectors = svd.fit_transform(weights).astype("f4")
        asked = phrases(numpy.random.default_rng(1), words.get_feature_names_out())
        numpy.savez(path, vectors=vectors, asked=svd.transform(words.transform(asked)).astype("f4"))
    kept = numpy.load(path)
    return tuple(unit(each[numpy.linalg.norm(each, axis=1) > 1e-6])
                 for each in (kept["vectors"], kept["asked"]))


def phrases_of(least, most):
    """Phrases of so many words, each word as probable as any other."""
    def make(random, vocabulary):
        return [" ".join(random.choice(vocabulary, random.integers(least, most + 1)))
                for _ in range(PHRASES)]
    return make


def wordnet(random, count, queries):
    """Glosses of WordNet."""
    synsets, _ = source.parse()
    texts = [" ".join(words) + " " + gloss for _, _, words, gloss in synsets]
    vectors, asked = embedded("wordnet", texts, source.DIMENSIONS, phrases_of(1, 3))
    vectors = some(random, vectors, (count or len(vectors)) + queries)
    held, rows = vectors[:queries], vectors[queries:]
    turned = numpy.linalg.qr(normal(random, source.DIMENSIONS, source.DIMENSIONS))[0]
    means = rows[random.integers(0, len(rows), (queries, 4))].mean(axis=1)
    noisy = some(random, rows, queries) + unit(normal(random, queries, source.DIMENSIONS))
    return "cosine", rows, {"rows": held, "words": some(random, asked, queries), "means of 4": means,
                            "noise": noisy, "another space": held @ turned}


def packages(random, count, queries):
    """Descriptions of Debian's packages."""
    said = subprocess.run(["apt-cache", "dumpavail"], check=True, text=True, stdout=subprocess.PIPE).stdout
    texts = sorted(set(re.findall(r"^Description(?:-en)?: (.*(?:\n .*)*)", said, re.M)))
    texts = [texts[i] for i in numpy.random.default_rng(1).permutation(len(texts))[:20000 + queries]]
    vectors, asked = embedded("packages", texts, 256, phrases_of(2, 2))
    vectors = some(random, vectors, (count or len(vectors)) + queries)
    return "cosine", vectors[queries:], {"rows": vectors[:queries], "two words": some(random, asked, queries)}


# ---- made ----

def zipf(random, count, queries):
    """2,000 clusters whose sizes follow Zipf's law."""
    count = count or 60000
    centers = 3 * normal(random, 2000, 128)
    cluster = random.zipf(1.3, count) % 2000
    rows = centers[cluster] + normal(random, count, 128)
    return "l2", rows, {
        "rows": centers[random.choice(cluster, queries)] + normal(random, queries, 128),
        "uniform over clusters": centers[random.integers(0, 2000, queries)] + normal(random, queries, 128)}


def duplicates(random, count, queries):
    """1,000 vectors 95 times each, and 5,000 others."""
    copies = max((count or 100000) // 1053, 1)
    rows = numpy.concatenate([numpy.repeat(normal(random, 1000, 128), copies, axis=0),
                              normal(random, 5000, 128)])
    return "l2", some(random, rows, len(rows)), {"random": normal(random, queries, 128)}


def three(random, count, queries):
    """Three dimensions, as in pgvector's tests."""
    count = count or 10000
    rows = (random.random((count, 3)) * random.random((count, 3))).astype("f4")
    return "l2", rows, {"random": random.random((queries, 3)).astype("f4")}


def low_rank(random, count, queries):
    """32 dimensions in 256."""
    count = count or 60000
    plane = normal(random, 32, 256)
    return "l2", normal(random, count, 32) @ plane + 0.05 * normal(random, count, 256), {
        "rows": normal(random, queries, 32) @ plane + 0.05 * normal(random, queries, 256),
        "off the rows": normal(random, queries, 32) @ normal(random, 32, 256)}


def gauss(random, count, queries):
    """No structure at all."""
    return "l2", normal(random, count or 60000, 64), {"rows": normal(random, queries, 64)}


def lognormal(random, count, queries):
    """Directions in 500 clusters, lengths by a lognormal law."""
    count = count or 60000
    centers = unit(normal(random, 500, 96))
    rows = unit(centers[random.integers(0, 500, count)] + 0.5 * unit(normal(random, count, 96)))
    rows = rows * numpy.exp(0.8 * normal(random, count, 1))
    near = unit(centers[random.integers(0, 500, queries)] + 0.5 * unit(normal(random, queries, 96)))
    return "ip", rows, {"rows": near, "random": unit(normal(random, queries, 96))}


def lognormal_gauss(random, count, queries):
    """Lengths by a lognormal law, directions without structure."""
    count = count or 60000
    rows = unit(normal(random, count, 96)) * numpy.exp(0.8 * normal(random, count, 1))
    return "ip", rows, {"random": unit(normal(random, queries, 96))}


def far(random, count, queries):
    """A cloud far from the origin, by its directions."""
    count = count or 60000
    middle = 40 * unit(normal(random, 1, 128))
    return "cosine", normal(random, count, 128) + middle, {"rows": normal(random, queries, 128) + middle,
                                                           "random": normal(random, queries, 128)}


def heavy_tails(random, count, queries):
    """Student's t distribution."""
    count = count or 60000
    return "l2", random.standard_t(2.2, (count, 64)).astype("f4"), {
        "rows": random.standard_t(2.2, (queries, 64)).astype("f4"), "normal": normal(random, queries, 64)}


def sets(random, count, queries):
    """0 and 1."""
    count = count or 60000
    return "l2", (random.random((count, 200)) < 0.05).astype("f4"), {
        "rows": (random.random((queries, 200)) < 0.05).astype("f4"),
        "smaller sets": (random.random((queries, 200)) < 0.01).astype("f4")}


def two_scales(random, count, queries):
    """Half of the rows in a cloud a thousand times as narrow as the other half's."""
    half = (count or 60000) // 2
    rows = numpy.concatenate([0.01 * normal(random, half, 48), 10 * normal(random, half, 48)])
    return "l2", some(random, rows, len(rows)), {"narrow": 0.01 * normal(random, queries, 48),
                                                 "wide": 10 * normal(random, queries, 48),
                                                 "between": normal(random, queries, 48)}


def manifold(random, count, queries):
    """A surface of three dimensions in 84."""
    def points(number):
        angles = 2 * numpy.pi * random.random((number, 3))
        waves = [wave(angles * k) for wave in (numpy.sin, numpy.cos) for k in range(1, 15)]
        return numpy.concatenate(waves, axis=1).astype("f4")

    return "l2", points(count or 60000), {"rows": points(queries), "normal": normal(random, queries, 84),
                                          "near it": points(queries) + 0.5 * normal(random, queries, 84)}


def shell(random, count, queries):
    """A sphere; queries at its center and outside."""
    return "l2", unit(normal(random, count or 60000, 64)), {"center": 0.05 * normal(random, queries, 64),
                                                            "outside": 3 * normal(random, queries, 64)}


def few_clusters(random, count, queries):
    """30 clusters of unequal widths."""
    count = count or 60000
    centers = 5 * normal(random, 30, 64)
    cluster = random.integers(0, 30, count)
    width = numpy.exp(normal(random, 30, 1))
    pair = random.integers(0, 30, (queries, 2))
    return "l2", centers[cluster] + width[cluster] * normal(random, count, 64), {
        "rows": centers[pair[:, 0]] + normal(random, queries, 64),
        "between two": centers[pair].mean(axis=1) + 0.3 * normal(random, queries, 64)}


def outliers(random, count, queries):
    """300 clusters; one row in 200 lies half-way to the origin, where the queries are."""
    count = count or 60000
    centers = 1.25 * normal(random, 300, 64)
    scale = numpy.where(random.random((count, 1)) < 0.005, 0.5, 1).astype("f4")
    rows = scale * centers[random.integers(0, 300, count)] + 0.3 * normal(random, count, 64)
    return "l2", rows, {"rows": centers[random.integers(0, 300, queries)] + 0.3 * normal(random, queries, 64),
                        "near the origin": 0.4 * normal(random, queries, 64)}


def grid(random, count, queries):
    """Integers, so that many rows have the same distance."""
    return "l2", random.integers(0, 6, (count or 60000, 8)).astype("f4"), {
        "rows": random.integers(0, 6, (queries, 8)).astype("f4"),
        "between rows": (6 * random.random((queries, 8))).astype("f4")}


def line(random, count, queries):
    """Rows along a line; queries on it and far from it."""
    count = count or 60000
    along = unit(normal(random, 1, 32))
    return "l2", 100 * random.random((count, 1)).astype("f4") * along + 0.01 * normal(random, count, 32), {
        "rows": 100 * random.random((queries, 1)).astype("f4") * along + 0.01 * normal(random, queries, 32),
        "far": 100 * random.random((queries, 1)).astype("f4") * along + 20 * normal(random, queries, 32)}


CASES = {each.__name__: each for each in (
    wordnet, packages, zipf, duplicates, three, low_rank, gauss, lognormal, lognormal_gauss, far,
    heavy_tails, sets, two_scales, manifold, shell, few_clusters,
    outliers, grid, line)}
