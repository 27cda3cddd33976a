// TypeORM, whose column types vector and halfvec are its own.
import 'reflect-metadata';
import { DataSource, EntitySchema } from 'typeorm';
import { host, port, user, database, rows, near, order, ids, is, done } from './check.mjs';

const Item = new EntitySchema({
  name: 'Item',
  tableName: 'item',
  columns: {
    id: { type: Number, primary: true, generated: true },
    dense: { type: 'vector', length: 3, nullable: true },
    half: { type: 'halfvec', length: 3, nullable: true }
  }
});
// installExtensions: it creates the extension vector, because a column needs it
const source = await new DataSource({ type: 'postgres', host, port, username: user, database, entities: [Item], synchronize: true, extra: { max: 1 } }).initialize();
const items = source.getRepository('Item');

await items.save(rows.map(({ dense, half }) => ({ dense, half })));
await is('typeorm: vectors come back', items.findOneBy({ id: 2 }).then((item) => ({ ...item })), { id: 2, dense: [2, 2, 1], half: [2, 2, 1] });
// a second start finds the columns as they are
await is('typeorm: nothing is to be changed', source.driver.createSchemaBuilder().log().then((log) => log.upQueries.map((one) => one.query)), []);
await source.query('CREATE INDEX ON item USING hnsw (dense vector_l2_ops)');
const nearest = (operator) => ids(items.createQueryBuilder('item').orderBy(`dense ${operator} :near`).setParameter('near', JSON.stringify(near)).limit(5).getMany());
await is('typeorm: l2', nearest('<->'), order.l2);
await is('typeorm: ip', nearest('<#>'), order.ip);
await is('typeorm: cosine', nearest('<=>'), order.cosine);
await is('typeorm: l1', nearest('<+>'), order.l1);
await source.query('SET enable_seqscan = off');
await is('typeorm: hnsw', nearest('<->'), order.l2);
await source.destroy();
done();
