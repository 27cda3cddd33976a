// Sequelize, with pgvector's types for it.
import Sequelize from 'sequelize';
import pgvector from 'pgvector/sequelize';
import { host, port, user, database, rows, near, nearBits, order, ids, is, done } from './check.mjs';

const { DataTypes } = Sequelize;
pgvector.registerTypes(Sequelize);
const connect = () => new Sequelize(database, user, '', { host, port, dialect: 'postgres', logging: false, pool: { max: 1 } });

// Sequelize asks for the types when it connects, so they have to be there before
const first = connect();
await first.query('CREATE EXTENSION IF NOT EXISTS vector');
await first.close();
const sequelize = connect();
const Item = sequelize.define('Item', {
  dense: DataTypes.VECTOR(3),
  half: DataTypes.HALFVEC(3),
  bits: 'bit(3)',
  sparse: DataTypes.SPARSEVEC(3)
}, {
  modelName: 'Item',
  tableName: 'item',
  indexes: [{ fields: ['dense'], using: 'hnsw', operator: 'vector_l2_ops' }]
});
await Item.sync({ force: true });
for (const { dense, half, bits } of rows) await Item.create({ dense, half, bits });
await is('sequelize: a vector comes back', Item.findByPk(2).then((item) => [item.dense, item.half]), [[2, 2, 1], [2, 2, 1]]);
await is('sequelize: null', Item.create({}).then((item) => Item.findByPk(item.id)).then((item) => item.dense), null);
await Item.destroy({ where: { dense: null } });
const nearest = (distance) => ids(Item.findAll({ order: [distance, ['id', 'ASC']], limit: 5 }));
await is('sequelize: l2', nearest(pgvector.l2Distance('dense', near, sequelize)), order.l2);
await is('sequelize: ip', nearest(pgvector.maxInnerProduct('dense', near, sequelize)), order.ip);
await is('sequelize: cosine', nearest(pgvector.cosineDistance('half', near, sequelize)), order.cosine);
await is('sequelize: l1', nearest(pgvector.l1Distance('dense', near, sequelize)), order.l1);
await is('sequelize: hamming', nearest(pgvector.hammingDistance('bits', nearBits, sequelize)), order.hamming);
await is('sequelize: jaccard', nearest(pgvector.jaccardDistance('bits', nearBits, sequelize)), order.jaccard);
await sequelize.query('SET enable_seqscan = off');
await is('sequelize: hnsw', ids(Item.findAll({ order: pgvector.l2Distance('dense', near, sequelize), limit: 5 })), order.l2);
await sequelize.close();
done();
