// MikroORM, with pgvector's types for it.
import { EntitySchema, MikroORM } from '@mikro-orm/postgresql';
import pgvector from 'pgvector/mikro-orm';
import { host, port, user, database, rows, near, nearBits, order, ids, is, done } from './check.mjs';

const Item = new EntitySchema({
  name: 'Item',
  tableName: 'item',
  properties: {
    id: { type: 'integer', primary: true, autoincrement: true },
    dense: { type: pgvector.VectorType, dimensions: 3, nullable: true },
    half: { type: pgvector.HalfvecType, dimensions: 3, nullable: true },
    bits: { type: pgvector.BitType, length: 3, nullable: true },
    sparse: { type: pgvector.SparsevecType, dimensions: 3, nullable: true }
  }
});
const orm = await MikroORM.init({ entities: [Item], dbName: database, host, port, user, pool: { min: 1, max: 1 } });
const em = orm.em.fork();

await em.getConnection().execute('CREATE EXTENSION IF NOT EXISTS vector');
await em.getConnection().execute('CREATE TABLE item (id serial PRIMARY KEY, dense vector(3), half halfvec(3), bits bit(3), sparse sparsevec(3))');
for (const { dense, half, bits } of rows) em.persist(em.create('Item', { dense, half, bits }));
await em.flush();
em.clear();
await is('mikro-orm: vectors come back', em.findOne('Item', 2).then((item) => [item.dense, item.half]), [[2, 2, 1], [2, 2, 1]]);
await em.getConnection().execute('CREATE INDEX ON item USING hnsw (dense vector_l2_ops)');
const nearest = (distance) => ids(em.createQueryBuilder('Item').orderBy({ [distance]: 'ASC' }).limit(5).getResult());
await is('mikro-orm: l2', nearest(pgvector.l2Distance('dense', near, em)), order.l2);
await is('mikro-orm: ip', nearest(pgvector.maxInnerProduct('dense', near, em)), order.ip);
await is('mikro-orm: cosine', nearest(pgvector.cosineDistance('half', near, em)), order.cosine);
await is('mikro-orm: l1', nearest(pgvector.l1Distance('dense', near, em)), order.l1);
await is('mikro-orm: hamming', nearest(pgvector.hammingDistance('bits', nearBits, em)), order.hamming);
await is('mikro-orm: jaccard', nearest(pgvector.jaccardDistance('bits', nearBits, em)), order.jaccard);
await orm.close();
done();
