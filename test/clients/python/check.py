"""What all programs of this folder share: rows, the expected answers of searches, the formats of the types, and lines of TAP.

The connection is given by the environment: PGHOST (the directory of a socket), PGPORT, PGUSER and PGDATABASE.
"""
import struct
import sys
import traceback

ROWS = [
    {"id": 1, "dense": [1, 1, 1], "half": [1, 1, 1], "bits": "000", "sparse": {0: 1, 1: 1, 2: 1}},
    {"id": 2, "dense": [2, 2, 1], "half": [2, 2, 1], "bits": "101", "sparse": {0: 2, 1: 2, 2: 1}},
    {"id": 3, "dense": [1, 1, 2], "half": [1, 1, 2], "bits": "111", "sparse": {0: 1, 1: 1, 2: 2}},
]
NEAR = [1, 1, 1]
NEAR_BITS = "101"

# the ids in the order of the distance from NEAR, or from NEAR_BITS for bits
ORDER = {"l2": [1, 3, 2], "ip": [2, 3, 1], "cosine": [1, 2, 3], "l1": [1, 3, 2], "hamming": [2, 3, 1], "jaccard": [2, 3, 1]}
OPERATORS = {"l2": "<->", "ip": "<#>", "cosine": "<=>", "l1": "<+>"}
DISTANCES = {"l2": [0, 2 ** .5, 1], "ip": [-3, -5, -4], "l1": [0, 2, 1]}

CREATE_TABLE = ("CREATE TABLE item (id bigserial PRIMARY KEY, dense vector(3), half halfvec(3), bits bit(3), sparse sparsevec(3),"
                " several vector[])")
INDEXES = [
    "CREATE INDEX ON item USING hnsw (dense vector_l2_ops) WITH (m = 16, ef_construction = 64)",
    "CREATE INDEX ON item USING hnsw (half halfvec_cosine_ops)",
    "CREATE INDEX ON item USING hnsw (sparse sparsevec_l2_ops)",
    "CREATE INDEX ON item USING hnsw (bits bit_hamming_ops)",
    "CREATE INDEX ON item USING ivfflat (dense vector_ip_ops) WITH (lists = 1)",
]
# makes the planner use an index, although there are only three rows
BY_INDEX = "SET enable_seqscan = off"


class Vector:
    """A vector in an array. Drivers would take a list for another dimension of the array."""

    def __init__(self, values):
        self.values = values


# ---------------------------------------------------------------------------------------------
# The formats of the types. A sparse vector is a dict of its entries, whose indexes begin at 0.
# ---------------------------------------------------------------------------------------------


def dense_text(values):
    return "[" + ",".join(str(value) for value in values) + "]"


def dense_from_text(text):
    return [float(value) for value in text[1:-1].split(",")]


def sparse_text(entries, dims=3):
    return "{" + ",".join(f"{index + 1}:{value}" for index, value in entries.items()) + "}/" + str(dims)


def sparse_from_text(text):
    entries = text[1:text.index("}")]
    return {int(entry.split(":")[0]) - 1: float(entry.split(":")[1]) for entry in entries.split(",") if entry}


def dense_binary(values, kind="f"):
    """kind: f for vector, e for halfvec, as in the module struct"""
    return struct.pack(f">hh{len(values)}{kind}", len(values), 0, *values)


def dense_from_binary(data, kind="f"):
    return list(struct.unpack_from(f">{struct.unpack_from('>h', data)[0]}{kind}", data, 4))


def sparse_binary(entries, dims=3):
    return struct.pack(f">iii{len(entries)}i{len(entries)}f", dims, len(entries), 0, *entries.keys(), *entries.values())


def sparse_from_binary(data):
    count = struct.unpack_from(">i", data, 4)[0]
    return dict(zip(struct.unpack_from(f">{count}i", data, 12), struct.unpack_from(f">{count}f", data, 12 + 4 * count)))


# ---------------------------------------------------------------------------------------------
# Lines of TAP
# ---------------------------------------------------------------------------------------------

number = 0
failed = 0


def equal(name, got, wanted):
    """Compares two values. If got is a function, it is called, and an exception is a failure."""
    global number, failed
    number += 1
    try:
        if callable(got):
            got = got()
        assert got == wanted, f"got {got!r}, wanted {wanted!r}"
        print(f"ok {number} - {name}")
    except Exception:
        failed += 1
        print(f"not ok {number} - {name}")
        print("# " + traceback.format_exc().rstrip().replace("\n", "\n# "))


def message(function):
    """Returns the first line of the error that a call raises."""
    try:
        function()
    except Exception as error:
        return str(getattr(error, "orig", error)).split("\n")[0].split(">: ")[-1]
    return "no error"


def done():
    print(f"1..{number}")
    sys.exit(1 if failed else 0)
