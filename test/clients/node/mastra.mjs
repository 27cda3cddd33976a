// Mastra's PgVector, with made-up embeddings.
import { PgVector } from '@mastra/pg';
import { host, port, user, database, is, done, letters } from './check.mjs';

// PgVector requires a password, although the server does not ask for one
const store = new PgVector({ id: 'notes', host, port, user, database, password: 'none', pgPoolOptions: { options: '-c enable_seqscan=off' } });
const notes = [['banana', 'fruit', 1], ['cabbage', 'vegetable', 2], ['cherry', 'fruit', 3]];
const index = { indexName: 'note', dimension: 26 };
const texts = async (found) => (await found).map((note) => note.id);
const near = (text, more) => store.query({ indexName: 'note', queryVector: letters(text), topK: 2, ...more });
const upsert = (indexName) => store.upsert({
  indexName,
  vectors: notes.map(([text]) => letters(text)),
  ids: notes.map(([text]) => text),
  metadata: notes.map(([, kind, year]) => ({ kind, year }))
});

await store.createIndex({ ...index, metric: 'cosine', indexConfig: { type: 'hnsw', hnsw: { m: 16, efConstruction: 64 } }, metadataIndexes: ['kind'] });
await upsert('note');
await is('mastra: the nearest', texts(near('bananas')), ['banana', 'cabbage']);
await is('mastra: with ef', texts(near('bananas', { ef: 200 })), ['banana', 'cabbage']);
await is('mastra: with a filter', texts(near('bananas', { filter: { kind: 'vegetable' } })), ['cabbage']);
await is('mastra: with a range', texts(near('bananas', { filter: { year: { $gte: 3 } } })), ['cherry']);
await is('mastra: a score and a vector', near('cherry', { topK: 1, includeVector: true }).then(([{ score, vector }]) => [Math.round(1e6 * score), vector]),
  [1e6, letters('cherry')]);
await is('mastra: a description', store.describeIndex({ indexName: 'note' }).then(({ dimension, count, metric, type, vectorType, config }) =>
  ({ dimension, count, metric, type, vectorType, config })),
  { dimension: 26, count: 3, metric: 'cosine', type: 'hnsw', vectorType: 'vector', config: { m: 16, efConstruction: 64 } });
await store.updateVector({ indexName: 'note', id: 'cherry', update: { vector: letters('bananas'), metadata: { kind: 'typo' } } });
await is('mastra: after an update', texts(near('bananas', { topK: 1 })), ['cherry']);
await store.deleteVector({ indexName: 'note', id: 'cherry' });
await is('mastra: without a deleted row', texts(near('bananas')), ['banana', 'cabbage']);

// another access method replaces the first one
await store.buildIndex({ indexName: 'note', metric: 'euclidean', indexConfig: { type: 'ivfflat', ivf: { lists: 1 } } });
await is('mastra: ivfflat', texts(near('bananas', { probes: 5 })), ['banana', 'cabbage']);
// for bit, an element says whether the text has the letter
for (const [vectorType, metric] of [['halfvec', 'dotproduct'], ['sparsevec', 'euclidean'], ['bit', 'hamming']]) {
  const indexName = `${vectorType}_note`;
  await store.createIndex({ indexName, dimension: 26, metric, vectorType, indexConfig: { type: 'hnsw' } });
  await upsert(indexName);
  await is(`mastra: ${vectorType}`, texts(near('cherry', { indexName, topK: 1 })), ['cherry']);
}
await is('mastra: its tables', store.listIndexes().then((names) => names.sort()), ['bit_note', 'halfvec_note', 'note', 'sparsevec_note']);
await store.deleteIndex({ indexName: 'note' });
await is('mastra: without a table', store.listIndexes().then((names) => names.sort()), ['bit_note', 'halfvec_note', 'sparsevec_note']);
await store.disconnect();
done();
