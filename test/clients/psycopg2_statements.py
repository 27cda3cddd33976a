"""Statements of pgvector's clients, as SQLAlchemy and Django send them through psycopg2; prints what they return.

The connection is given by the environment (PGHOST, PGPORT, PGDATABASE, ...). An administrator has created hybrid in the database.
"""
import psycopg2


def show(cursor, statement, values=None):
    cursor.execute(statement, values)
    print(cursor.fetchall())


connection = psycopg2.connect("")
connection.autocommit = True
cursor = connection.cursor()

# what a client does when it connects: the extension, its version, the types
cursor.execute("CREATE EXTENSION IF NOT EXISTS vector")
show(cursor, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
show(cursor, "SELECT typname FROM pg_type WHERE oid IN (to_regtype('vector'), to_regtype('halfvec'), to_regtype('sparsevec')) ORDER BY 1")

cursor.execute("""CREATE TABLE orm_item (id SERIAL NOT NULL, embedding VECTOR(3), half_embedding HALFVEC(3),
    binary_embedding BIT(3), sparse_embedding SPARSEVEC(3), PRIMARY KEY (id))""")
for values in ("[1,1,1]", "[2,2,2]", "[1,1,2]"):
    cursor.execute("INSERT INTO orm_item (embedding, half_embedding, binary_embedding, sparse_embedding)"
                   " VALUES (%(dense)s, %(dense)s, %(bits)s, %(sparse)s) RETURNING orm_item.id",
                   {"dense": values, "bits": "101", "sparse": "{1:1}/3"})
cursor.execute("CREATE INDEX orm_hnsw ON orm_item USING hnsw (embedding vector_l2_ops) WITH (m = 16, ef_construction = 64)")
cursor.execute('CREATE INDEX "orm_ivfflat" ON "orm_item" USING ivfflat ("embedding" vector_cosine_ops) WITH (lists = 1)')
cursor.execute("CREATE INDEX orm_half ON orm_item USING hnsw ((embedding::halfvec(3)) halfvec_l2_ops)")
cursor.execute("CREATE INDEX orm_bits ON orm_item USING hnsw ((binary_quantize(embedding)::bit(3)) bit_hamming_ops)")
print(connection.notices)

cursor.execute("SET enable_seqscan = off")
show(cursor, "SELECT orm_item.id FROM orm_item ORDER BY orm_item.embedding <-> %(near)s LIMIT %(rows)s", {"near": "[1,1,1]", "rows": 2})
show(cursor, "SELECT orm_item.id FROM orm_item ORDER BY orm_item.embedding <=> %(near)s LIMIT %(rows)s", {"near": "[1,1,2]", "rows": 1})
show(cursor, "SELECT orm_item.id FROM orm_item WHERE (orm_item.embedding <-> %(near)s) < %(far)s ORDER BY id", {"near": "[1,1,1]", "far": 1.5})
show(cursor, "SELECT avg(orm_item.embedding), sum(orm_item.half_embedding) FROM orm_item")

# settings of a session and of a transaction
cursor.execute("SET hnsw.ef_search = 100")
show(cursor, "SHOW hnsw.ef_search")
connection.autocommit = False
cursor.execute("SET LOCAL ivfflat.probes = 10")
cursor.execute("SET LOCAL hnsw.iterative_scan = 'relaxed_order'")
show(cursor, "SELECT orm_item.id FROM orm_item ORDER BY orm_item.embedding <=> %(near)s LIMIT 1", {"near": "[1,1,2]"})
show(cursor, "SELECT target_recall FROM hybrid_last_scan()")
connection.commit()
show(cursor, "SHOW ivfflat.probes")
