// pg, with pgvector's types for it.
import pg from 'pg';
import pgvector from 'pgvector/pg';
import { rows, near, nearBits, order, ids, is, done, byIndex, indexes } from './check.mjs';

const client = new pg.Client();
await client.connect();
const query = async (text, values) => (await client.query(text, values)).rows;

await query('CREATE EXTENSION IF NOT EXISTS vector');
await pgvector.registerTypes(client);
await query('CREATE TABLE item (id serial PRIMARY KEY, dense vector(3), half halfvec(3), bits bit(3), sparse sparsevec(3))');
for (const { dense, half, bits, sparse } of rows)
  await query('INSERT INTO item (dense, half, bits, sparse) VALUES ($1, $2, $3, $4)', [pgvector.toSql(dense), pgvector.toSql(half), bits, sparse]);
await is('pg: an array is sent and comes back', query('SELECT dense, half, sparse FROM item WHERE id = 2').then(([row]) =>
  [row.dense, row.half, row.sparse.toArray()]), [[2, 2, 1], [2, 2, 1], [2, 2, 1]]);
for (const [distance, operator] of [['l2', '<->'], ['ip', '<#>'], ['cosine', '<=>'], ['l1', '<+>']])
  await is(`pg: ${distance}`, ids(query(`SELECT id FROM item ORDER BY dense ${operator} $1`, [pgvector.toSql(near)])), order[distance]);
for (const index of indexes) await query(index);
await query(byIndex);
await is('pg: hnsw', ids(query('SELECT id FROM item ORDER BY dense <-> $1 LIMIT 5', [pgvector.toSql(near)])), order.l2);
await is('pg: hnsw of halfvec', ids(query('SELECT id FROM item ORDER BY half <=> $1 LIMIT 5', [pgvector.toSql(near)])), order.cosine);
await is('pg: hnsw of sparsevec', ids(query('SELECT id FROM item ORDER BY sparse <-> $1 LIMIT 5', ['{1:1,2:1,3:1}/3'])), order.l2);
await is('pg: hnsw of bits', ids(query('SELECT id FROM item ORDER BY bits <~> $1 LIMIT 5', [nearBits])), order.hamming);
await is('pg: ivfflat', ids(query('SELECT id FROM item ORDER BY dense <#> $1 LIMIT 5', [pgvector.toSql(near)])), order.ip);
await is('pg: hnsw of a cast', ids(query('SELECT id FROM item ORDER BY dense::halfvec(3) <-> $1 LIMIT 5', [pgvector.toSql(near)])), order.l2);
await query('BEGIN');
await query('SET LOCAL hnsw.ef_search = 100');
await query("SET LOCAL hnsw.iterative_scan = 'strict_order'");
await is('pg: settings of a transaction', ids(query('SELECT id FROM item WHERE id <> 1 ORDER BY dense <-> $1 LIMIT 1', [pgvector.toSql(near)])), [3]);
await query('COMMIT');
await client.end();
done();
