// knex, with pgvector's functions for it.
import Knex from 'knex';
import pgvector from 'pgvector/knex';
import { host, port, user, database, rows, near, nearBits, order, ids, is, done } from './check.mjs';

const knex = Knex({ client: 'pg', connection: { host, port, user, database }, pool: { min: 1, max: 1 } });
const send = ({ dense, half, bits, sparse }) => ({ dense: pgvector.toSql(dense), half: pgvector.toSql(half), bits, sparse });

await knex.schema.enableExtension('vector');
await knex.schema.createTable('item', (table) => {
  table.increments('id');
  table.vector('dense', 3);
  table.halfvec('half', { dimensions: 3 });
  table.specificType('bits', 'bit(3)');
  table.sparsevec('sparse', 3);
});
await knex('item').insert(rows.map(send));
await is('knex: a vector comes back', knex('item').where('id', 2).first().then((row) => pgvector.fromSql(row.dense)), [2, 2, 1]);
const nearest = (distance, value) => ids(knex('item').orderBy(distance, 'id').limit(5));
await is('knex: l2', nearest(knex.l2Distance('dense', near)), order.l2);
await is('knex: ip', nearest(knex.maxInnerProduct('dense', near)), order.ip);
await is('knex: cosine', nearest(knex.cosineDistance('dense', near)), order.cosine);
await is('knex: l1', nearest(knex.l1Distance('half', near)), order.l1);
await is('knex: hamming', nearest(knex.hammingDistance('bits', nearBits)), order.hamming);
await is('knex: jaccard', nearest(knex.jaccardDistance('bits', nearBits)), order.jaccard);
await is('knex: a condition', ids(knex('item').whereRaw('dense <-> ? < ?', [pgvector.toSql(near), 1.1]).orderBy('id')), [1, 3]);
await knex.schema.alterTable('item', (table) => {
  table.index(knex.raw('dense vector_l2_ops'), 'item_hnsw', 'hnsw');
  table.index(knex.raw('half halfvec_ip_ops'), 'item_ivfflat', 'ivfflat');
});
// by default, ivfflat of pgvector has 100 lists and looks at one of them
await knex.raw('SET enable_seqscan = off; SET ivfflat.probes = 100');
await is('knex: hnsw', nearest(knex.l2Distance('dense', near)), order.l2);
await is('knex: ivfflat', nearest(knex.maxInnerProduct('half', near)), order.ip);
await is('knex: an average', knex('item').select(knex.raw('avg(dense) AS mean')).first().then((row) => pgvector.fromSql(row.mean)[0]), 1.3333334);
await knex.destroy();
done();
