-- NULL vectors are not indexed, nor under cosine those of length zero; a NULL query has no order.
-- plans that are forced look expensive, and compiling them would take longer than they do
SET jit = off;
-- what a search by codes may leave out is not asked here
SET hybrid.target_recall = 1;

CREATE TABLE item (id int, v vector(2));
INSERT INTO item VALUES (1, '[1,0]'), (2, NULL), (3, '[0,0]'), (4, '[0,2]'), (5, NULL), (6, '[-1,-1]'), (7, '[1e-30,0]');
CREATE INDEX item_l2 ON item USING hybrid (v);
CREATE INDEX item_cosine ON item USING hybrid (v vector_cosine_ops);
INSERT INTO item VALUES (8, NULL), (9, '[0,0]'), (10, '[3,3]');
SELECT hybrid_index_check('item_l2'), hybrid_index_check('item_cosine');
SET enable_seqscan = off;
EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY v <=> '[1,1]';
-- rows 3 and 9 have no direction; the square of row 7 underflows, so the operator knows none either
SELECT id, v <=> '[1,1]' AS distance FROM item ORDER BY v <=> '[1,1]';
SELECT id FROM item ORDER BY v <-> '[1,1]';

-- a query of length zero: every distance is NaN
SELECT id, v <=> '[0,0]' AS distance FROM item ORDER BY v <=> '[0,0]';
SELECT id, v <=> '[0,0]' AS distance FROM item ORDER BY v <=> '[0,0]' LIMIT 2;

-- no query: every row of the index
PREPARE near(vector) AS SELECT id FROM item ORDER BY v <-> $1;
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE near(NULL);
RESET plan_cache_mode;
DEALLOCATE near;
SELECT count(*), count(v <-> (SELECT NULL::vector)) FROM (SELECT * FROM item ORDER BY v <-> (SELECT NULL::vector)) s;
SELECT count(*) FROM (SELECT * FROM item ORDER BY v <-> (SELECT NULL::vector) LIMIT 3) s;
SELECT q.id, n.id FROM item q LEFT JOIN LATERAL (SELECT id FROM item ORDER BY item.v <-> q.v LIMIT 1) n ON true
WHERE q.id IN (1, 2, 10) ORDER BY 1;

-- from NULL to a vector and back
UPDATE item SET v = '[5,5]' WHERE id = 2;
UPDATE item SET v = NULL WHERE id = 1;
SELECT id FROM item ORDER BY v <-> '[5,5]' LIMIT 2;
SELECT hybrid_index_check('item_l2'), hybrid_index_check('item_cosine');
DROP TABLE item;

-- nothing but NULLs
CREATE TABLE empty (v vector(2));
INSERT INTO empty SELECT NULL FROM generate_series(1, 10);
CREATE INDEX empty_v ON empty USING hybrid (v);
SELECT * FROM empty ORDER BY v <-> '[1,1]';
SELECT hybrid_index_check('empty_v');
DROP TABLE empty;
