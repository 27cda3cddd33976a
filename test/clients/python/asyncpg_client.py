"""asyncpg, which sends and receives all values as binary values, with a codec for each type."""
import asyncio

import asyncpg

from check import (CREATE_TABLE, DISTANCES, INDEXES, NEAR, OPERATORS, ORDER, ROWS, Vector, dense_binary, dense_from_binary, done,
                   equal, sparse_binary, sparse_from_binary)


async def register(connection):
    for name, encoder, decoder in (
            ("vector", lambda value: dense_binary(value.values if isinstance(value, Vector) else value), dense_from_binary),
            ("halfvec", lambda values: dense_binary(values, "e"), lambda data: dense_from_binary(data, "e")),
            ("sparsevec", sparse_binary, sparse_from_binary)):
        await connection.set_type_codec(name, schema="public", encoder=encoder, decoder=decoder, format="binary")


async def result(awaitable):
    """Waits for a result, and returns a function that returns it, for equal()."""
    try:
        value = await awaitable
    except Exception as error:
        def raise_again(error=error):
            raise error
        return raise_again
    return lambda: value


async def main():
    connection = await asyncpg.connect()

    async def ids(statement, *values):
        return [row[0] for row in await connection.fetch(statement, *values)]

    await connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
    # as long as the types are not registered, their values are sent and received as text
    equal("asyncpg: text without a codec", await result(connection.fetchval("SELECT $1::vector", "[1,2,3]")), "[1,2,3]")
    await connection.close()
    connection = await asyncpg.connect()
    await register(connection)
    await connection.execute(CREATE_TABLE)
    insert = "INSERT INTO item (dense, half, bits, sparse, several) VALUES ($1, $2, $3, $4, $5)"
    values = [(row["dense"], row["half"], asyncpg.BitString(row["bits"]), row["sparse"], [Vector(row["dense"])]) for row in ROWS]
    back = [(*value[:4], [value[0]]) for value in values]
    await connection.executemany(insert, values[:2])
    await connection.copy_records_to_table("item", records=values[2:], columns=["dense", "half", "bits", "sparse", "several"])
    equal("asyncpg: the types come back", await result(ids("SELECT (dense, half, bits, sparse, several) FROM item ORDER BY id")), back)
    for distance, operator in OPERATORS.items():
        equal(f"asyncpg: {distance}", await result(ids(f"SELECT id FROM item ORDER BY dense {operator} $1", NEAR)), ORDER[distance])
        if distance in DISTANCES:
            equal(f"asyncpg: the distances of {distance}", await result(ids(f"SELECT dense {operator} $1 FROM item ORDER BY id", NEAR)),
                  DISTANCES[distance])
    equal("asyncpg: averages and sums", await result(ids("SELECT (avg(dense), sum(half)) FROM item WHERE id > 1")), [([1.5, 1.5, 1.5], [3, 3, 3])])
    for statement in INDEXES:
        await connection.execute(statement)
    await connection.close()

    async with asyncpg.create_pool(init=register, server_settings={"enable_seqscan": "off"}, min_size=2, max_size=2) as pool:
        async def search(row):
            return await pool.fetchval("SELECT id FROM item ORDER BY dense <-> $1 LIMIT 1", row["dense"])

        async def ids(statement, *values):
            return [row[0] for row in await pool.fetch(statement, *values)]

        equal("asyncpg: a pool, several at once", await result(asyncio.gather(*map(search, ROWS))), [1, 2, 3])
        equal("asyncpg: hnsw", await result(ids("SELECT id FROM item ORDER BY dense <-> $1 LIMIT 5", NEAR)), ORDER["l2"])
        equal("asyncpg: hnsw of halfvec", await result(ids("SELECT id FROM item ORDER BY half <=> $1 LIMIT 5", NEAR)), ORDER["cosine"])
        equal("asyncpg: hnsw of bits", await result(ids("SELECT id FROM item ORDER BY bits <~> $1 LIMIT 5", asyncpg.BitString("101"))),
              ORDER["hamming"])
        equal("asyncpg: hnsw of sparsevec", await result(ids("SELECT id FROM item ORDER BY sparse <-> $1 LIMIT 5", ROWS[0]["sparse"])), ORDER["l2"])
        equal("asyncpg: ivfflat", await result(ids("SELECT id FROM item ORDER BY dense <#> $1 LIMIT 5", NEAR)), ORDER["ip"])
        async with pool.acquire() as one, one.transaction():
            await one.execute("SET LOCAL hnsw.ef_search = 100")
            cursor = await one.cursor("SELECT id FROM item WHERE id <> 1 ORDER BY dense <-> $1", NEAR)
            equal("asyncpg: a cursor, with a setting of the transaction", await result(cursor.fetchrow()), (3,))


asyncio.run(main())
done()
