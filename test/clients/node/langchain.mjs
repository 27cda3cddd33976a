// LangChain's PGVectorStore, with made-up embeddings.
import { PGVectorStore } from '@langchain/community/vectorstores/pgvector';
import { Embeddings } from '@langchain/core/embeddings';
import { host, port, user, database, is, done, letters } from './check.mjs';

class Letters extends Embeddings {
  constructor() {
    super({});
  }
  async embedQuery(text) {
    return letters(text);
  }
  async embedDocuments(texts) {
    return Promise.all(texts.map((text) => this.embedQuery(text)));
  }
}

const store = await PGVectorStore.initialize(new Letters(), {
  postgresConnectionOptions: { host, port, user, database, options: '-c enable_seqscan=off' },
  tableName: 'note',
  distanceStrategy: 'cosine'
});
await store.addDocuments([
  { pageContent: 'banana', metadata: { kind: 'fruit', year: 1 } },
  { pageContent: 'cabbage', metadata: { kind: 'vegetable', year: 2 } },
  { pageContent: 'cherry', metadata: { kind: 'fruit', year: 3 } }
]);
const texts = async (found) => (await found).map((note) => note.pageContent);

await is('langchain: the nearest', texts(store.similaritySearch('bananas', 2)), ['banana', 'cabbage']);
await is('langchain: with a filter', texts(store.similaritySearch('bananas', 2, { kind: 'vegetable' })), ['cabbage']);
await is('langchain: with a list of values', texts(store.similaritySearch('cherry', 2, { kind: { in: ['fruit'] } })), ['cherry', 'banana']);
await is('langchain: a distance', store.similaritySearchWithScore('cherry', 1).then(([[, distance]]) => Math.round(1e6 * distance)), 0);
await store.createHnswIndex({ dimensions: 26, m: 16, efConstruction: 64 });
await is('langchain: by the index', texts(store.similaritySearch('bananas', 2)), ['banana', 'cabbage']);
await store.delete({ filter: { kind: 'vegetable' } });
await is('langchain: without a deleted row', texts(store.similaritySearch('bananas', 2)), ['banana', 'cherry']);
await store.end();
done();
