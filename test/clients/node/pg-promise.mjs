// pg-promise, with pgvector's types for it.
import pgPromise from 'pg-promise';
import pgvector from 'pgvector/pg-promise';
import { host, port, user, database, rows, near, order, ids, is, done, indexes } from './check.mjs';

const pgp = pgPromise({ connect: async ({ client }) => { await pgvector.registerTypes(client); } });
// the types are registered at each connection, so they have to be there before the first one
const first = pgPromise({ noWarnings: true })({ host, port, user, database, max: 1 });
await first.none('CREATE EXTENSION IF NOT EXISTS vector');
const db = pgp({ host, port, user, database });

await db.none('CREATE TABLE item (id serial PRIMARY KEY, dense vector(3), half halfvec(3), bits bit(3), sparse sparsevec(3))');
const columns = new pgp.helpers.ColumnSet(['dense', 'half', 'bits', 'sparse'], { table: 'item' });
await db.none(pgp.helpers.insert(rows.map((row) => ({ ...row, dense: pgvector.toSql(row.dense), half: pgvector.toSql(row.half) })), columns));
await is('pg-promise: a vector comes back', db.one('SELECT dense FROM item WHERE id = $1', [2]).then((row) => row.dense), [2, 2, 1]);
for (const index of indexes) await db.none(index);
for (const [distance, operator] of [['l2', '<->'], ['ip', '<#>'], ['cosine', '<=>'], ['l1', '<+>']])
  await is(`pg-promise: ${distance}`, ids(db.any('SELECT id FROM item ORDER BY dense $1:raw $2 LIMIT 5', [operator, pgvector.toSql(near)])), order[distance]);
await is('pg-promise: in a task', db.tx(async (task) => {
  await task.none('SET LOCAL enable_seqscan = off');
  return ids(task.any('SELECT id FROM item ORDER BY dense <-> $1 LIMIT 5', [pgvector.toSql(near)]));
}), order.l2);
await first.$pool.end();
await db.$pool.end();
done();
