// Objection, with pgvector's functions for it.
import Knex from 'knex';
import objection from 'objection';
import 'pgvector/knex';
import pgvector from 'pgvector/objection';
import { host, port, user, database, rows, near, nearBits, order, ids, is, done } from './check.mjs';

const knex = Knex({ client: 'pg', connection: { host, port, user, database }, pool: { min: 1, max: 1 } });
class Item extends objection.Model {
  static tableName = 'item';
}
Item.knex(knex);

await knex.schema.enableExtension('vector');
await knex.schema.createTable('item', (table) => {
  table.increments('id');
  table.vector('dense', 3);
  table.specificType('bits', 'bit(3)');
});
await Item.query().insert(rows.map(({ dense, bits }) => ({ dense: pgvector.toSql(dense), bits })));
await is('objection: a vector comes back', Item.query().findById(2).then((item) => pgvector.fromSql(item.dense)), [2, 2, 1]);
const nearest = (distance) => ids(Item.query().orderBy(distance).limit(5));
await is('objection: l2', nearest(pgvector.l2Distance('dense', near)), order.l2);
await is('objection: ip', nearest(pgvector.maxInnerProduct('dense', near)), order.ip);
await is('objection: cosine', nearest(pgvector.cosineDistance('dense', near)), order.cosine);
await is('objection: l1', nearest(pgvector.l1Distance('dense', near)), order.l1);
await is('objection: hamming', nearest(pgvector.hammingDistance('bits', nearBits)), order.hamming);
await is('objection: jaccard', nearest(pgvector.jaccardDistance('bits', nearBits)), order.jaccard);
await is('objection: an inserted object has its id', Item.query().insert({ dense: pgvector.toSql([9, 9, 9]) }).then((item) => item.id), 4);
await knex.schema.alterTable('item', (table) => table.index(knex.raw('dense vector_cosine_ops'), 'item_hnsw', 'hnsw'));
await knex.raw('SET enable_seqscan = off');
await is('objection: hnsw', ids(Item.query().whereNot('id', 4).orderBy(pgvector.cosineDistance('dense', near)).limit(3)), order.cosine);
await knex.destroy();
done();
