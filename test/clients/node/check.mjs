// What all programs of this folder have in common: rows, what each search must find, and lines of TAP.
//
// The connection is given by the environment: PGHOST (the directory of a socket), PGPORT, PGUSER and PGDATABASE.
import assert from 'node:assert/strict';

export const { PGHOST: host, PGUSER: user, PGDATABASE: database } = process.env;
export const port = Number(process.env.PGPORT);

// also as JSON: the text of a vector
export const rows = [
  { id: 1, dense: [1, 1, 1], half: [1, 1, 1], bits: '000', sparse: '{1:1,2:1,3:1}/3' },
  { id: 2, dense: [2, 2, 1], half: [2, 2, 1], bits: '101', sparse: '{1:2,2:2,3:1}/3' },
  { id: 3, dense: [1, 1, 2], half: [1, 1, 2], bits: '111', sparse: '{1:1,2:1,3:2}/3' }
];
export const texts = rows.map((row) => ({ ...row, dense: JSON.stringify(row.dense), half: JSON.stringify(row.half) }));
export const near = [1, 1, 1];
export const nearBits = '101';

// the ids in the order of the distance from near, or of bits from nearBits
export const order = { l2: [1, 3, 2], ip: [2, 3, 1], cosine: [1, 2, 3], l1: [1, 3, 2], hamming: [2, 3, 1], jaccard: [2, 3, 1] };

// a made-up embedding: each letter of a text counts as a dimension
export function letters(text) {
  const counts = new Array(26).fill(0);
  for (const letter of text.toLowerCase().match(/[a-z]/g)) counts[letter.charCodeAt(0) - 97] += 1;
  return counts;
}

let number = 0;
let failed = 0;

// is(NAME, GOT, WANTED): a line of TAP; GOT may be a promise, whose rejection is a failure
export async function is(name, got, wanted) {
  number += 1;
  try {
    assert.deepEqual(await got, wanted);
    console.log(`ok ${number} - ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`not ok ${number} - ${name}\n${String(error.stack).replace(/^/gm, '# ')}`);
  }
}

// ids(ROWS): also of a promise of rows
export const ids = async (found) => (await found).map((row) => Number(row.id));

export function done() {
  console.log(`1..${number}`);
  process.exitCode = failed > 0 ? 1 : 0;
}

// an index answers, whatever the planner would prefer for three rows
export const byIndex = 'SET enable_seqscan = off';
export const indexes = [
  'CREATE INDEX ON item USING hnsw (dense vector_l2_ops) WITH (m = 16, ef_construction = 64)',
  'CREATE INDEX ON item USING hnsw (half halfvec_cosine_ops)',
  'CREATE INDEX ON item USING hnsw (sparse sparsevec_l2_ops)',
  'CREATE INDEX ON item USING hnsw (bits bit_hamming_ops)',
  'CREATE INDEX ON item USING ivfflat (dense vector_ip_ops) WITH (lists = 1)',
  'CREATE INDEX ON item USING hnsw ((dense::halfvec(3)) halfvec_l2_ops)'
];
