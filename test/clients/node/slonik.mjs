// Slonik, with pgvector's texts.
import { createPool, sql } from 'slonik';
import pgvector from 'pgvector';
import { host, port, user, database, rows, near, nearBits, order, ids, is, done } from './check.mjs';

const pool = await createPool(`postgresql://${user}@${encodeURIComponent(host)}:${port}/${database}`, { maximumPoolSize: 1 });
const any = sql.unsafe;

await pool.query(any`CREATE EXTENSION IF NOT EXISTS vector`);
await pool.query(any`CREATE TABLE item (id serial PRIMARY KEY, dense vector(3), half halfvec(3), bits bit(3), sparse sparsevec(3))`);
await pool.query(any`INSERT INTO item (dense, half, bits, sparse) SELECT * FROM ${sql.unnest(
  rows.map(({ dense, half, bits, sparse }) => [pgvector.toSql(dense), pgvector.toSql(half), bits, sparse]), ['vector', 'halfvec', 'bit', 'sparsevec'])}`);
await is('slonik: a vector comes back', pool.one(any`SELECT dense FROM item WHERE id = 2`).then((row) => pgvector.fromSql(row.dense)), [2, 2, 1]);
await pool.query(any`CREATE INDEX ON item USING hnsw (dense vector_l2_ops)`);
await pool.query(any`CREATE INDEX ON item USING ivfflat (half halfvec_cosine_ops) WITH (lists = 1)`);
const value = pgvector.toSql(near);
await is('slonik: l2', ids(pool.any(any`SELECT id FROM item ORDER BY dense <-> ${value} LIMIT 5`)), order.l2);
await is('slonik: ip', ids(pool.any(any`SELECT id FROM item ORDER BY dense <#> ${value} LIMIT 5`)), order.ip);
await is('slonik: cosine', ids(pool.any(any`SELECT id FROM item ORDER BY half <=> ${value} LIMIT 5`)), order.cosine);
await is('slonik: l1', ids(pool.any(any`SELECT id FROM item ORDER BY dense <+> ${value} LIMIT 5`)), order.l1);
await is('slonik: hamming', ids(pool.any(any`SELECT id FROM item ORDER BY bits <~> ${nearBits} LIMIT 5`)), order.hamming);
await is('slonik: in a transaction', pool.transaction(async (connection) => {
  await connection.query(any`SET LOCAL enable_seqscan = off`);
  return ids(connection.any(any`SELECT id FROM item ORDER BY dense <-> ${value} LIMIT 5`));
}), order.l2);
await pool.end();
done();
