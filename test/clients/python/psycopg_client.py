"""psycopg 3, with adapters that send the types as binary values and receive them as text or binary values."""
import asyncio

import psycopg
from psycopg.adapt import Dumper, Loader
from psycopg.pq import Format
from psycopg.types import TypeInfo

from check import (BY_INDEX, CREATE_TABLE, DISTANCES, INDEXES, NEAR, NEAR_BITS, OPERATORS, ORDER, ROWS, Vector, dense_binary,
                   dense_from_binary, dense_from_text, done, equal, message, sparse_binary, sparse_from_binary, sparse_from_text)


class HalfVector(Vector):
    pass


class SparseVector(dict):
    pass


class Bits(str):
    pass


def bits_binary(text):
    return len(text).to_bytes(4, "big") + bytes(int(text[i:i + 8].ljust(8, "0"), 2) for i in range(0, len(text), 8))


def bits_from_binary(data):
    return "".join(f"{byte:08b}" for byte in data[4:])[:int.from_bytes(data[:4], "big")]


TYPES = {
    "vector": (Vector, lambda value: dense_binary(value.values), dense_from_text, dense_from_binary),
    "halfvec": (HalfVector, lambda value: dense_binary(value.values, "e"), dense_from_text, lambda data: dense_from_binary(data, "e")),
    "sparsevec": (SparseVector, sparse_binary, sparse_from_text, sparse_from_binary),
    "bit": (Bits, bits_binary, str, bits_from_binary),
}


def register(connection, infos):
    for info in infos:
        kind, to_binary, from_text, from_binary = TYPES[info.name]
        info.register(connection)
        connection.adapters.register_dumper(kind, type("", (Dumper,), {
            "format": Format.BINARY, "oid": info.oid, "dump": lambda self, value, to_binary=to_binary: to_binary(value)}))
        connection.adapters.register_loader(info.oid, type("", (Loader,), {
            "load": lambda self, data, from_text=from_text: from_text(bytes(data).decode())}))
        connection.adapters.register_loader(info.oid, type("", (Loader,), {
            "format": Format.BINARY, "load": lambda self, data, from_binary=from_binary: from_binary(bytes(data))}))


connection = psycopg.connect(autocommit=True)
query = connection.execute


def ids(statement, values=None, **options):
    return [row[0] for row in query(statement, values, **options)]


query("CREATE EXTENSION IF NOT EXISTS vector")
register(connection, [TypeInfo.fetch(connection, name) for name in TYPES])
query(CREATE_TABLE)

# a binary COPY, as bulk loaders send it
with connection.cursor().copy("COPY item (dense, half, bits, sparse, several) FROM STDIN (FORMAT binary)") as copy:
    copy.set_types(["vector", "halfvec", "bit", "sparsevec", "vector[]"])
    for row in ROWS:
        copy.write_row([Vector(row["dense"]), HalfVector(row["half"]), Bits(row["bits"]), SparseVector(row["sparse"]), [Vector(row["dense"]), Vector(NEAR)]])
BACK = ([2, 2, 1], [2, 2, 1], "101", {0: 2, 1: 2, 2: 1}, [[2, 2, 1], [1, 1, 1]])
SECOND = "SELECT dense, half, bits, sparse, several FROM item WHERE id = 2"
equal("psycopg: a binary COPY, read as text", lambda: query(SECOND).fetchone(), BACK)
equal("psycopg: read as binary values", lambda: query(SECOND, binary=True).fetchone(), BACK)
equal("psycopg: binary parameters come back", lambda: query(
    "SELECT %s, %s, %s", (Vector([.5, -1]), HalfVector([.25]), SparseVector({1: 3})), binary=True).fetchone(), ([.5, -1], [.25], {1: 3}))
with connection.cursor().copy("COPY (SELECT dense FROM item WHERE id = 2) TO STDOUT (FORMAT binary)") as copy:
    copy.set_types(["vector"])
    equal("psycopg: a binary COPY out", lambda: list(copy.rows()), [([2, 2, 1],)])
with connection.cursor().copy("COPY item (id, dense) FROM STDIN") as copy:
    copy.write_row([4, "[9,9,9]"])
equal("psycopg: a COPY as text", lambda: query("DELETE FROM item WHERE id = 4 RETURNING dense").fetchall(), [([9, 9, 9],)])

for distance, operator in OPERATORS.items():
    equal(f"psycopg: {distance}", lambda: ids(f"SELECT id FROM item ORDER BY dense {operator} %s", [Vector(NEAR)]), ORDER[distance])
    if distance in DISTANCES:
        equal(f"psycopg: the distances of {distance}", lambda: ids(f"SELECT dense {operator} %s FROM item ORDER BY id", [Vector(NEAR)]),
              DISTANCES[distance])
for statement in INDEXES:
    query(statement)
query(BY_INDEX)
equal("psycopg: hnsw", lambda: ids("SELECT id FROM item ORDER BY dense <-> %s LIMIT 5", [Vector(NEAR)]), ORDER["l2"])
equal("psycopg: prepared", lambda: [ids("SELECT id FROM item ORDER BY half <=> %s LIMIT 5", [HalfVector(NEAR)], prepare=True) for _ in range(7)],
      7 * [ORDER["cosine"]])
equal("psycopg: hnsw of sparsevec", lambda: ids("SELECT id FROM item ORDER BY sparse <-> %s LIMIT 5", [SparseVector(ROWS[0]["sparse"])]),
      ORDER["l2"])
equal("psycopg: hnsw of bits", lambda: ids("SELECT id FROM item ORDER BY bits <~> %s LIMIT 5", [Bits(NEAR_BITS)]), ORDER["hamming"])
equal("psycopg: ivfflat", lambda: ids("SELECT id FROM item ORDER BY dense <#> %s LIMIT 5", [Vector(NEAR)]), ORDER["ip"])
equal("psycopg: another number of dimensions", lambda: message(lambda: query("INSERT INTO item (dense) VALUES (%s)", [Vector([1, 2])])),
      "expected 3 dimensions, not 2")
with connection.transaction(), connection.cursor("pages") as cursor:
    cursor.itersize = 1
    cursor.execute("SELECT id FROM item ORDER BY dense <-> %s LIMIT 5", [Vector(NEAR)])
    equal("psycopg: a cursor of the server", lambda: [row[0] for row in cursor], ORDER["l2"])
with connection.pipeline():
    cursors = [query("SELECT id FROM item ORDER BY dense <-> %s LIMIT 1", [Vector(row["dense"])]) for row in ROWS]
    equal("psycopg: a pipeline", lambda: [cursor.fetchone()[0] for cursor in cursors], [1, 2, 3])
connection.close()


async def asynchronous():
    async with await psycopg.AsyncConnection.connect(autocommit=True) as other:
        register(other, [await TypeInfo.fetch(other, name) for name in TYPES])
        await other.execute(BY_INDEX)
        cursor = await other.execute("SELECT id FROM item ORDER BY dense <-> %s LIMIT 5", [Vector(NEAR)])
        return [row[0] for row in await cursor.fetchall()]

equal("psycopg: asynchronous", lambda: asyncio.run(asynchronous()), ORDER["l2"])
done()
