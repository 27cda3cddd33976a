// Drizzle, whose columns and distances for pgvector are its own.
import { drizzle } from 'drizzle-orm/node-postgres';
import { sql, eq, lt, cosineDistance, hammingDistance, innerProduct, jaccardDistance, l1Distance, l2Distance } from 'drizzle-orm';
import { bit, halfvec, pgTable, serial, sparsevec, vector } from 'drizzle-orm/pg-core';
import pg from 'pg';
import { rows, near, nearBits, order, ids, is, done, byIndex, indexes } from './check.mjs';

const pool = new pg.Pool({ max: 1 });
const db = drizzle({ client: pool });
const item = pgTable('item', {
  id: serial('id').primaryKey(),
  dense: vector('dense', { dimensions: 3 }),
  half: halfvec('half', { dimensions: 3 }),
  bits: bit('bits', { dimensions: 3 }),
  sparse: sparsevec('sparse', { dimensions: 3 })
});

await db.execute(sql`CREATE EXTENSION IF NOT EXISTS vector`);
await db.execute(sql`CREATE TABLE item (id serial PRIMARY KEY, dense vector(3), half halfvec(3), bits bit(3), sparse sparsevec(3))`);
await db.insert(item).values(rows.map(({ dense, half, bits, sparse }) => ({ dense, half, bits, sparse })));
await is('drizzle: a row comes back', db.select().from(item).where(eq(item.id, 2)).then(([row]) => row),
  { id: 2, dense: [2, 2, 1], half: [2, 2, 1], bits: '101', sparse: '{1:2,2:2,3:1}/3' });
const nearest = (distance) => ids(db.select({ id: item.id }).from(item).orderBy(distance).limit(5));
const search = async (how) => {
  await is(`drizzle: l2, ${how}`, nearest(l2Distance(item.dense, near)), order.l2);
  await is(`drizzle: ip, ${how}`, nearest(innerProduct(item.dense, near)), order.ip);
  await is(`drizzle: cosine, ${how}`, nearest(cosineDistance(item.half, near)), order.cosine);
  await is(`drizzle: l1, ${how}`, nearest(l1Distance(item.dense, near)), order.l1);
  await is(`drizzle: hamming, ${how}`, nearest(hammingDistance(item.bits, nearBits)), order.hamming);
  await is(`drizzle: jaccard, ${how}`, nearest(jaccardDistance(item.bits, nearBits)), order.jaccard);
};
await search('by a scan');
for (const index of indexes) await db.execute(sql.raw(index));
await db.execute(sql.raw(byIndex));
await search('by an index where there is one');
await is('drizzle: a condition', ids(db.select({ id: item.id }).from(item).where(lt(l2Distance(item.dense, near), 1.1)).orderBy(item.id)), [1, 3]);
await pool.end();
done();
