// Kysely, with pgvector's functions for it.
import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import pgvector from 'pgvector/kysely';
import { rows, near, nearBits, order, ids, is, done } from './check.mjs';

const db = new Kysely({ dialect: new PostgresDialect({ pool: new pg.Pool({ max: 1 }) }) });

await sql`CREATE EXTENSION IF NOT EXISTS vector`.execute(db);
await db.schema.createTable('item').addColumn('id', 'serial', (column) => column.primaryKey())
  .addColumn('dense', sql`vector(3)`).addColumn('half', sql`halfvec(3)`).addColumn('bits', sql`bit(3)`).execute();
await db.insertInto('item').values(rows.map(({ dense, half, bits }) =>
  ({ dense: pgvector.toSql(dense), half: pgvector.toSql(half), bits }))).execute();
await is('kysely: a vector comes back', db.selectFrom('item').selectAll().where('id', '=', 2).executeTakeFirst().then((row) => pgvector.fromSql(row.dense)), [2, 2, 1]);
const nearest = (distance) => ids(db.selectFrom('item').select('id').orderBy(distance).limit(5).execute());
await is('kysely: l2', nearest(pgvector.l2Distance('dense', near)), order.l2);
await is('kysely: ip', nearest(pgvector.maxInnerProduct('dense', near)), order.ip);
await is('kysely: cosine', nearest(pgvector.cosineDistance('half', near)), order.cosine);
await is('kysely: l1', nearest(pgvector.l1Distance('dense', near)), order.l1);
await is('kysely: hamming', nearest(pgvector.hammingDistance('bits', nearBits)), order.hamming);
await is('kysely: jaccard', nearest(pgvector.jaccardDistance('bits', nearBits)), order.jaccard);
await db.schema.createIndex('item_hnsw').on('item').using('hnsw').expression(sql`dense vector_l2_ops`).execute();
await db.schema.createIndex('item_ivfflat').on('item').using('ivfflat').expression(sql`half halfvec_cosine_ops`).execute();
await sql`SET enable_seqscan = off`.execute(db);
// by default, ivfflat of pgvector has 100 lists and looks at one of them
await sql`SET ivfflat.probes = 100`.execute(db);
await is('kysely: hnsw', nearest(pgvector.l2Distance('dense', near)), order.l2);
await is('kysely: ivfflat', nearest(pgvector.cosineDistance('half', near)), order.cosine);
await db.destroy();
done();
