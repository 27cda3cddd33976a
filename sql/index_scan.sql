-- Scans of a hybrid index against sequential scans: the same rows, distances and order, for every
-- metric, ties included, over one pass and over many.
-- plans that are forced look expensive, and compiling them would take longer than they do
SET jit = off;
-- what a search by codes may leave out is not asked here
SET hybrid.target_recall = 1;

-- Values are multiples of 1/8 below 8, so that sums are exact and ties are many.
CREATE TABLE item (id int, v vector(5));
INSERT INTO item
SELECT i, (SELECT array_agg(((i * 7919 + j * 104729 + (i * j) % 97) % 61) / 8.0 - 3 ORDER BY j)
	FROM generate_series(1, 5) j)::real[]::vector
FROM generate_series(1, 6000) i;
INSERT INTO item SELECT i, NULL FROM generate_series(6001, 6010) i;
-- more of the same values: ties across pages
INSERT INTO item SELECT id + 10000, v FROM item WHERE id % 3 = 0;

CREATE INDEX item_l2 ON item USING hybrid (v) WITH (storage = float32);
CREATE INDEX item_ip ON item USING hybrid (v vector_ip_ops) WITH (storage = float32);
CREATE INDEX item_cosine ON item USING hybrid (v vector_cosine_ops) WITH (storage = float32);
CREATE INDEX item_l1 ON item USING hybrid (v vector_l1_ops) WITH (storage = float32);
ANALYZE item;

-- compares the first n rows, or all, and says how many were compared; an index for cosine leaves
-- out the vector of zeroes
CREATE FUNCTION compare(rel regclass, op text, query vector, n int DEFAULT NULL) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	statement text := format('SELECT id, v %1$s %2$L::vector AS d, ctid AS at FROM %3$s
		WHERE v IS NOT NULL AND v <> ''[0,0,0,0,0]'' ORDER BY v %1$s %2$L::vector', op, query, rel);
	node text;
	plan text := '';
	ours text[];
	theirs text[];
BEGIN
	PERFORM set_config('enable_seqscan', 'off', true), set_config('enable_sort', 'off', true);
	FOR node IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		plan := plan || node;
	END LOOP;
	IF plan !~ 'Index Scan using .*Order By:' THEN
		RETURN 'not an index scan: ' || plan;
	END IF;
	EXECUTE format('SELECT array_agg((id, d)::text) FROM (%s LIMIT %L) s', statement, n) INTO ours;
	PERFORM set_config('enable_seqscan', 'on', true), set_config('enable_sort', 'on', true),
		set_config('enable_indexscan', 'off', true);
	EXECUTE format('SELECT array_agg((id, d)::text) FROM (%s, ctid LIMIT %L) s', statement, n) INTO theirs;
	PERFORM set_config('enable_indexscan', 'on', true);
	IF ours = theirs THEN
		RETURN format('%s rows equal', cardinality(ours));
	END IF;
	FOR i IN 1 .. greatest(cardinality(ours), cardinality(theirs)) LOOP
		IF ours[i] IS DISTINCT FROM theirs[i] THEN
			RETURN format('row %s: index %s, sort %s', i, ours[i], theirs[i]);
		END IF;
	END LOOP;
END $$;

SELECT op, q, compare('item', op, q, 10)
FROM unnest(ARRAY['<->', '<#>', '<=>', '<+>']) op, unnest(ARRAY['[0,0,0,0,1]', '[1,-2,3.5,0.25,-1]']::vector[]) q;
-- with the smallest work_mem a pass keeps 4,096 rows; the first keeps 512 in any case
SET work_mem = '64kB';
SELECT op, compare('item', op, '[0.1,0.2,0.3,0.4,0.5]', n)
FROM unnest(ARRAY['<->', '<#>', '<=>', '<+>']) op, unnest(ARRAY[511, 512, 513, 2560, 2561, 6655, NULL]) n;
RESET work_mem;
SELECT op, compare('item', op, '[0.1,0.2,0.3,0.4,0.5]') FROM unnest(ARRAY['<->', '<#>', '<=>', '<+>']) op;

-- distances that leave the range of float4, and a query of length zero
SELECT op, compare('item', op, '[1e30,-3e38,3e38,1,2]', 700) FROM unnest(ARRAY['<->', '<#>', '<=>', '<+>']) op;
SELECT op, compare('item', op, '[1e-30,0,0,0,0]', 700) FROM unnest(ARRAY['<->', '<#>', '<=>', '<+>']) op;
SELECT op, compare('item', op, '[0,0,0,0,0]', 700) FROM unnest(ARRAY['<->', '<#>', '<=>', '<+>']) op;

-- a filter is the executor's; LIMIT is filled
SET enable_seqscan = off;
SELECT count(*), min(id % 10), max(id % 10)
FROM (SELECT id FROM item WHERE id % 10 = 7 ORDER BY v <-> '[1,1,1,1,1]' LIMIT 300) s;
SELECT count(*) FROM (SELECT id FROM item WHERE id % 1000 = 999 ORDER BY v <-> '[1,1,1,1,1]' LIMIT 300) s;

-- a query that is not a constant: parameters, and a scan for every row of an outer table
PREPARE nearest(vector) AS SELECT id FROM item ORDER BY v <-> $1 LIMIT 3;
EXECUTE nearest('[1,2,3,-1,-2]');
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE nearest('[1,2,3,-1,-2]');
EXECUTE nearest('[1,2,3,-1,-2]');
EXECUTE nearest('[0,0,0,0,0]');
RESET plan_cache_mode;
-- plan: a plan without what 18 says of disabled nodes
CREATE FUNCTION plan(statement text) RETURNS SETOF text LANGUAGE plpgsql AS $$
DECLARE
	line text;
BEGIN
	FOR line IN EXECUTE 'EXPLAIN (COSTS OFF) ' || statement LOOP
		IF line !~ 'Disabled: true' THEN
			RETURN NEXT line;
		END IF;
	END LOOP;
END $$;
SELECT plan('SELECT q.id, n.id FROM item q CROSS JOIN LATERAL
	(SELECT id FROM item ORDER BY v <-> q.v LIMIT 2) n WHERE q.id IN (5, 6, 7)');
SELECT q.id, n.id, n.d FROM item q CROSS JOIN LATERAL
	(SELECT id, v <-> q.v AS d FROM item ORDER BY v <-> q.v LIMIT 2) n WHERE q.id IN (5, 6, 7) ORDER BY 1, 3, 2;

-- two orders on one index: rows that tie on the first go by the second
EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY v <-> '[0,0,0,0,0]', v <-> '[1,2,3,4,5]';
SELECT bool_and(rows_of_index = rows_of_sort) FROM
	(SELECT array_agg((a, b)::text) AS rows_of_index FROM
		(SELECT v <-> '[0,0,0,0,0]' AS a, v <-> '[1,2,3,4,5]' AS b FROM item WHERE v IS NOT NULL
			ORDER BY v <-> '[0,0,0,0,0]', v <-> '[1,2,3,4,5]' LIMIT 2000) s) i,
	(SELECT array_agg((a, b)::text ORDER BY a, b) AS rows_of_sort FROM
		(SELECT v <-> '[0,0,0,0,0]' AS a, v <-> '[1,2,3,4,5]' AS b FROM item WHERE v IS NOT NULL
			ORDER BY (v <-> '[0,0,0,0,0]') + 0, (v <-> '[1,2,3,4,5]') + 0 LIMIT 2000) s) t;

-- a scan that is started again for every row of another table keeps no memory of its earlier runs
CREATE TABLE wide AS SELECT i AS id, (SELECT array_agg(sin(i * j) ORDER BY j) FROM generate_series(1, 256) j)::halfvec(256) AS h
	FROM generate_series(1, 50) i;
CREATE INDEX wide_h ON wide USING hybrid (h);
BEGIN;
SET LOCAL enable_memoize = off;
SET LOCAL enable_sort = off;
DECLARE c CURSOR FOR SELECT n.id FROM generate_series(1, 40) g, wide q, LATERAL
	(SELECT id FROM wide ORDER BY h <-> q.h, h <-> array_fill(g::real, ARRAY[256])::halfvec LIMIT 1) n;
MOVE 500 IN c;
SELECT sum(used_bytes) AS used FROM pg_backend_memory_contexts \gset
MOVE 1500 IN c;
SELECT sum(used_bytes) - :used < 1000000 AS same FROM pg_backend_memory_contexts;
ROLLBACK;
DROP TABLE wide;

-- a cursor shows what was there when it was opened
BEGIN;
DECLARE c CURSOR FOR SELECT id, v <-> '[0,0,0,0,0]' AS d FROM item ORDER BY v <-> '[0,0,0,0,0]';
FETCH 2 FROM c;
INSERT INTO item VALUES (-1, '[0,0,0,0,0]'), (-2, '[0.5,0.5,0.5,0.5,0.5]'), (-3, '[9,9,9,9,9]');
DELETE FROM item WHERE id > 10000;
MOVE 7985 IN c;
FETCH ALL FROM c;
SELECT id FROM item ORDER BY v <-> '[0,0,0,0,0]' LIMIT 1;
ROLLBACK;
-- again from the start
BEGIN;
DECLARE c SCROLL CURSOR FOR SELECT id FROM item ORDER BY v <-> '[0,0,0,0,0]' LIMIT 3;
FETCH ALL FROM c;
FETCH BACKWARD 2 FROM c;
ROLLBACK;

-- updates: the new version is found, the old is not
SELECT id, v FROM item ORDER BY v <-> '[50,50,50,50,50]' LIMIT 1;
UPDATE item SET v = '[50,50,50,50,50]' WHERE id = 17;
SELECT id, v FROM item ORDER BY v <-> '[50,50,50,50,50]' LIMIT 1;
UPDATE item SET v = '[-50,50,50,50,50]' WHERE id = 17;
SELECT id FROM item WHERE id = 17 ORDER BY v <-> '[50,50,50,50,50]';
SELECT hybrid_index_check(i::regclass) >= 8000 FROM unnest(ARRAY['item_l2', 'item_ip', 'item_cosine', 'item_l1']) i;
-- heap-only updates: the index keeps the root of the chain
CREATE TABLE hot (id int, v vector(2), note text) WITH (fillfactor = 50);
INSERT INTO hot SELECT i, ARRAY[i, i]::vector FROM generate_series(1, 50) i;
CREATE INDEX hot_v ON hot USING hybrid (v);
UPDATE hot SET note = 'updated' WHERE id <= 10;
UPDATE hot SET note = 'updated again' WHERE id <= 5;
SELECT id, note FROM hot ORDER BY v <-> '[5.2,5.2]' LIMIT 3;
SELECT hybrid_index_check('hot_v');
RESET enable_seqscan;

-- the planner: an index scan for a few rows, another plan where that is cheaper
CREATE INDEX item_id ON item (id);
ANALYZE item;
EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY v <-> '[1,2,3,4,5]' LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY v <=> '[1,2,3,4,5]' LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM item WHERE id BETWEEN 5 AND 9 ORDER BY v <-> '[1,2,3,4,5]' LIMIT 5;
EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY v <-> '[1,2,3,4,5]';
EXPLAIN (COSTS OFF) SELECT id FROM item ORDER BY v <-> '[1,2,3,4,5]' DESC LIMIT 5;
SET enable_seqscan = off;
SET enable_bitmapscan = off;
SELECT plan('SELECT count(*) FROM item WHERE v IS NOT NULL');
SELECT plan($$SELECT id FROM item WHERE v <-> '[1,2,3,4,5]' < 1$$);
RESET enable_seqscan;
RESET enable_bitmapscan;

-- counted as an index scan
SELECT pg_stat_force_next_flush();
SELECT idx_scan > 0 FROM pg_stat_user_indexes WHERE indexrelname = 'item_l2';

DROP TABLE item, hot;
DROP FUNCTION compare, plan;
