"""psycopg2, with adapters for the types, as text."""
import psycopg2
import psycopg2.extras
from psycopg2.extensions import AsIs, new_array_type, new_type, register_adapter, register_type
from psycopg2.pool import SimpleConnectionPool

from check import (BY_INDEX, CREATE_TABLE, INDEXES, NEAR, NEAR_BITS, OPERATORS, ORDER, ROWS, dense_from_text, dense_text, done, equal,
                   sparse_from_text, sparse_text)


class Vector(list):
    pass


register_adapter(Vector, lambda values: AsIs(f"'{dense_text(values)}'"))


def register(connection):
    cursor = connection.cursor()
    cursor.execute("""SELECT typname, oid, typarray FROM pg_type
        WHERE oid IN (to_regtype('vector'), to_regtype('halfvec'), to_regtype('sparsevec'))""")
    for name, oid, array in cursor.fetchall():
        read = sparse_from_text if name == "sparsevec" else dense_from_text
        one = new_type((oid,), name, lambda text, _, read=read: None if text is None else read(text))
        register_type(one, connection)
        register_type(new_array_type((array,), name + "[]", one), connection)


pool = SimpleConnectionPool(1, 2, "")
connection = pool.getconn()
connection.autocommit = True
cursor = connection.cursor()


def query(statement, values=None):
    cursor.execute(statement, values)
    return cursor.fetchall()


def ids(statement, values=None):
    return [row[0] for row in query(statement, values)]


cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
register(connection)
cursor.execute(CREATE_TABLE)
psycopg2.extras.execute_values(cursor, "INSERT INTO item (dense, half, bits, sparse, several) VALUES %s", [
    (Vector(row["dense"]), Vector(row["half"]), row["bits"], sparse_text(row["sparse"]), [dense_text(row["dense"])]) for row in ROWS],
    template="(%s, %s, %s, %s, %s::vector[])")
equal("psycopg2: the types come back", lambda: query("SELECT dense, half, bits, sparse, several FROM item WHERE id = 2"),
      [([2, 2, 1], [2, 2, 1], "101", {0: 2, 1: 2, 2: 1}, [[2, 2, 1]])])
equal("psycopg2: NULL", lambda: query("SELECT NULL::vector, NULL::sparsevec"), [(None, None)])
for distance, operator in OPERATORS.items():
    equal(f"psycopg2: {distance}", lambda: ids(f"SELECT id FROM item ORDER BY dense {operator} %s", [Vector(NEAR)]), ORDER[distance])
equal("psycopg2: averages and sums", lambda: query("SELECT avg(dense), sum(half) FROM item WHERE id > 1"), [([1.5, 1.5, 1.5], [3, 3, 3])])
for statement in INDEXES:
    cursor.execute(statement)
cursor.execute(BY_INDEX)
equal("psycopg2: hnsw", lambda: ids("SELECT id FROM item ORDER BY dense <-> %s LIMIT 5", [Vector(NEAR)]), ORDER["l2"])
equal("psycopg2: hnsw of halfvec", lambda: ids("SELECT id FROM item ORDER BY half <=> %s LIMIT 5", [Vector(NEAR)]), ORDER["cosine"])
equal("psycopg2: hnsw of bits", lambda: ids("SELECT id FROM item ORDER BY bits <~> %s LIMIT 5", [NEAR_BITS]), ORDER["hamming"])
equal("psycopg2: ivfflat", lambda: ids("SELECT id FROM item ORDER BY dense <#> %s LIMIT 5", [Vector(NEAR)]), ORDER["ip"])
pool.putconn(connection)
again = pool.getconn()
cursor = again.cursor()
equal("psycopg2: a connection from a pool", lambda: query("SELECT dense FROM item WHERE id = 3"), [([1, 1, 2],)])
pool.closeall()
done()
