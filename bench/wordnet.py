#!/usr/bin/python3
"""WordNet 3.0 of Debian's wordnet-base as two files for COPY ... (FORMAT binary).

    bench/wordnet.py DIRECTORY

Writes DIRECTORY/synset.copy (id bigint, pos text, words text[], gloss text, v vector(768)) and
DIRECTORY/relation.copy (source bigint, target bigint, kind text), unless they already exist and were
made by this script from the same input.

A synset's id is its part of speech (1 noun, 2 verb, 3 adjective, 4 adverb) times 10^8 plus its
offset in WordNet's file. Its vector is computed from words and gloss: TF-IDF weights, the first 768
singular vectors, normalized. It is NULL if no word remains.
"""

import hashlib
import os
import struct
import sys
import time

WORDNET = "/usr/share/wordnet"
FILES = {"n": "data.noun", "v": "data.verb", "a": "data.adj", "r": "data.adv"}
BASE = {"n": 100_000_000, "v": 200_000_000, "a": 300_000_000, "s": 300_000_000, "r": 400_000_000}
POS = {"n": "noun", "v": "verb", "a": "adjective", "s": "adjective", "r": "adverb"}
SYNSETS = 117_659
POINTERS = 377_592
DIMENSIONS = 768
TEXT_OID = 25

KINDS = {
    "!": "antonym", "@": "hypernym", "@i": "instance hypernym", "~": "hyponym",
    "~i": "instance hyponym", "#m": "member holonym", "#s": "substance holonym",
    "#p": "part holonym", "%m": "member meronym", "%s": "substance meronym",
    "%p": "part meronym", "=": "attribute", "+": "derivation", ";c": "topic",
    "-c": "topic member", ";r": "region", "-r": "region member", ";u": "usage",
    "-u": "usage member", "*": "entailment", ">": "cause", "^": "also see",
    "$": "verb group", "&": "similar", "<": "participle", "\\": "pertainym",
}


def main():
    """Make the files, or find them made."""
    directory = sys.argv[1]
    key = cache_key()
    stamp = os.path.join(directory, "key")
    if os.path.exists(stamp):
        with open(stamp, encoding="ascii") as file:
            if file.read() == key:
                print("    vectors: from the cache in", directory)
                return
        os.unlink(stamp)
    os.makedirs(directory, exist_ok=True)
    synsets, relations = parse()
    if len(synsets) != SYNSETS or len(relations) != POINTERS:
        sys.exit(f"WordNet 3.0 has {SYNSETS} synsets and {POINTERS} pointers, "
                 f"{WORDNET} has {len(synsets)} and {len(relations)}")
    vectors = embed([" ".join(words) + " " + gloss for _, _, words, gloss in synsets])
    write_relations(os.path.join(directory, "relation.copy"), relations)
    write_synsets(os.path.join(directory, "synset.copy"), synsets, vectors)
    with open(stamp, "w", encoding="ascii") as file:
        file.write(key)


def cache_key():
    """What the files depend on: this script and its input."""
    digest = hashlib.sha256()
    with open(__file__, "rb") as file:
        digest.update(file.read())
    for name in FILES.values():
        with open(os.path.join(WORDNET, name), "rb") as file:
            digest.update(file.read())
    return digest.hexdigest()


def parse():
    """Read wndb(5): lists of (id, part of speech, words, gloss) and (source, target, kind)."""
    synsets = []
    relations = []
    for pos, name in FILES.items():
        with open(os.path.join(WORDNET, name), encoding="ascii") as file:
            for line in file:
                if line.startswith("  "):
                    continue
                data, gloss = line.split(" | ", 1)
                field = data.split()
                source = BASE[pos] + int(field[0])
                count = int(field[3], 16)
                # a word may end in a syntactic marker: "galore(ip)"
                words = [field[4 + 2 * i].split("(")[0].replace("_", " ") for i in range(count)]
                at = 4 + 2 * count
                for i in range(int(field[at])):
                    symbol, offset, target_pos = field[at + 1 + 4 * i:at + 4 + 4 * i]
                    relations.append((source, BASE[target_pos] + int(offset), KINDS[symbol]))
                synsets.append((source, POS[pos], words, gloss.strip()))
    return synsets, relations


def embed(texts):
    """Rows of 768 float32 of length 1, or 0 where a text has no word left."""
    import numpy
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    begin = time.monotonic()
    weights = TfidfVectorizer(sublinear_tf=True, min_df=2, stop_words="english").fit_transform(texts)
    print(f"    TF-IDF of {weights.shape[0]:,} glosses: {weights.shape[1]:,} words, "
          f"{time.monotonic() - begin:.0f} s", flush=True)
    begin = time.monotonic()
    svd = TruncatedSVD(DIMENSIONS, n_iter=2, random_state=0)
    vectors = svd.fit_transform(weights)
    norms = numpy.linalg.norm(vectors, axis=1)
    empty = (numpy.diff(weights.indptr) == 0) | (norms == 0)
    norms[empty] = 1
    vectors = (vectors / norms[:, None]).astype(">f4")
    vectors[empty] = 0
    print(f"    {DIMENSIONS} singular vectors: {time.monotonic() - begin:.0f} s; "
          f"{empty.sum()} glosses are left without one", flush=True)
    return vectors


HEADER = b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0)
TRAILER = struct.pack(">h", -1)


def field_of(data):
    """One column of a binary tuple."""
    return struct.pack(">i", len(data)) + data


def text_array(words):
    """A text[] as array_recv takes it."""
    head = struct.pack(">iiiii", 1, 0, TEXT_OID, len(words), 1)
    return head + b"".join(field_of(word.encode()) for word in words)


def write_synsets(path, synsets, vectors):
    """The table synset."""
    head = struct.pack(">hh", DIMENSIONS, 0)
    filled = vectors.any(axis=1)
    with open(path + ".new", "wb") as file:
        file.write(HEADER)
        for i, (ident, pos, words, gloss) in enumerate(synsets):
            vector = field_of(head + vectors[i].tobytes()) if filled[i] else struct.pack(">i", -1)
            file.write(struct.pack(">hiq", 5, 8, ident) + field_of(pos.encode())
                       + field_of(text_array(words)) + field_of(gloss.encode()) + vector)
        file.write(TRAILER)
    os.rename(path + ".new", path)


def write_relations(path, relations):
    """The table relation."""
    with open(path + ".new", "wb") as file:
        file.write(HEADER)
        for source, target, kind in relations:
            file.write(struct.pack(">hiqiq", 3, 8, source, 8, target) + field_of(kind.encode()))
        file.write(TRAILER)
    os.rename(path + ".new", path)


if __name__ == "__main__":
    main()
