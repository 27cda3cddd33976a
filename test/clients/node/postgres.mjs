// postgres (Postgres.js), with pgvector's texts.
import postgres from 'postgres';
import pgvector from 'pgvector';
import { rows, near, nearBits, order, ids, is, done, byIndex, indexes } from './check.mjs';

const sql = postgres({ max: 1, onnotice: () => {} });

await sql`CREATE EXTENSION IF NOT EXISTS vector`;
await sql`CREATE TABLE item (id serial PRIMARY KEY, dense vector(3), half halfvec(3), bits bit(3), sparse sparsevec(3))`;
await sql`INSERT INTO item ${sql(rows.map(({ dense, half, bits, sparse }) =>
  ({ dense: pgvector.toSql(dense), half: pgvector.toSql(half), bits, sparse })), 'dense', 'half', 'bits', 'sparse')}`;
await is('postgres: a vector comes back', sql`SELECT dense FROM item WHERE id = ${2}`.then(([row]) => pgvector.fromSql(row.dense)), [2, 2, 1]);
const value = pgvector.toSql(near);
const search = async () => {
  await is('postgres: l2', ids(sql`SELECT id FROM item ORDER BY dense <-> ${value} LIMIT 5`), order.l2);
  await is('postgres: ip', ids(sql`SELECT id FROM item ORDER BY dense <#> ${value} LIMIT 5`), order.ip);
  await is('postgres: cosine', ids(sql`SELECT id FROM item ORDER BY half <=> ${value} LIMIT 5`), order.cosine);
  await is('postgres: hamming', ids(sql`SELECT id FROM item ORDER BY bits <~> ${nearBits} LIMIT 5`), order.hamming);
  await is('postgres: sparsevec', ids(sql`SELECT id FROM item ORDER BY sparse <-> ${'{1:1,2:1,3:1}/3'} LIMIT 5`), order.l2);
};
await search();
for (const index of indexes) await sql.unsafe(index);
await sql.unsafe(byIndex);
await search();
await sql.end();
done();
