-- How many of the nearest rows a scan by codes finds.

-- Clusters of very different widths, whose rows are all that is near: the first lists have nearly everything.
CREATE TABLE item (id int, v vector(16));
INSERT INTO item
SELECT c * 250 + i, (SELECT array_agg(sin(c * 7.1 * d) * 20 + (1 + c % 8) * 0.2 * sin(i * (d + 0.7) * 1.13 + c) ORDER BY d)
	FROM generate_series(1, 16) d WHERE i + c IS NOT NULL)::vector(16)
FROM generate_series(0, 19) c, generate_series(1, 250) i;
CREATE INDEX item_v ON item USING hybrid (v);
SELECT min(recall) > 0.5 AS "begins above what is asked" FROM hybrid_index_curve('item_v');

SET enable_seqscan = off;
CREATE TABLE found (target float8, query int, id int);
DO $$
DECLARE
	target float8;
BEGIN
	FOREACH target IN ARRAY '{0.5, 0.8, 0.9, 0.95, 0.99, 1}'::float8[] LOOP
		PERFORM set_config('hybrid.target_recall', target::text, true);
		INSERT INTO found
		SELECT target, q.id, n.id FROM (SELECT i.id, i.v FROM item i WHERE i.id % 50 = 0) q,
			LATERAL (SELECT i.id FROM item i ORDER BY i.v <-> q.v LIMIT 10) n;
	END LOOP;
END $$;

-- A target below what the index has measured is what was measured: it was extrapolated, and missed by far.
SELECT f.target, count(*) FILTER (WHERE (query, id) IN (SELECT query, id FROM found WHERE target = 1))::float8 / count(*) >= least(f.target, 0.98) AS found
FROM found f GROUP BY 1 ORDER BY 1;
DROP TABLE item, found;

-- A scan that goes on in lists that are counted returned rows twice.
CREATE TABLE item (id int, v vector(2));
CREATE INDEX item_v ON item USING hybrid (v) WITH (list_size = 32);
INSERT INTO item SELECT i, ARRAY[i, 0]::vector FROM generate_series(1, 1200) i;
SET hybrid.probes = 10000;
SELECT count(*), count(DISTINCT id) FROM (SELECT id FROM item ORDER BY v <-> '[0,0]') n;
RESET hybrid.probes;
DROP TABLE item;

-- The more is to be found, the less may be missed, by queries of any difficulty, and the more rows that takes.
CREATE TABLE item (id int, v vector(24)) WITH (autovacuum_enabled = off);
INSERT INTO item
SELECT i, (SELECT array_agg(1.5 * sin(i * (d + 0.7) * 1.13) + sin(i % 150 * d * 0.7) ORDER BY d)
	FROM generate_series(1, 24) d WHERE i IS NOT NULL)::vector(24)
FROM generate_series(1, 8000) i;
CREATE INDEX item_v ON item USING hybrid (v);
SELECT count(*) AS points, bool_and(rows >= rows_before) AS more_rows FROM (SELECT rows, lag(rows, 1, 0) OVER (ORDER BY recall) AS rows_before
	FROM hybrid_index_curve('item_v')) s;
SELECT count(DISTINCT difficulty) > 1 AS several, bool_and(m <= before OR before IS NULL) AS less_missed
FROM (SELECT difficulty, m, lag(m) OVER (PARTITION BY difficulty ORDER BY recall) AS before
	FROM hybrid_index_curve('item_v') c, unnest(c.missing) WITH ORDINALITY AS u(m, difficulty) WHERE m IS NOT NULL) s;
DROP TABLE item;

-- Where copies are rounded by much, a search ended by the least that distances may be, and found too few.
CREATE TABLE item (id int, v vector(65));
INSERT INTO item
SELECT i, (SELECT array_agg(sin(i * (d + 0.7) * 1.13) + sin(i % 40 * d * 0.7) ORDER BY d) || 60.0::float8
	FROM generate_series(1, 64) d WHERE i IS NOT NULL)::vector(65)
FROM generate_series(1, 8000) i;
CREATE INDEX item_v ON item USING hybrid (v vector_l2_ops) WITH (storage = int8);
CREATE TABLE truth AS SELECT q.id, q.v, (SELECT max(d) FROM (SELECT i.v <-> q.v AS d FROM item i ORDER BY (i.v <-> q.v) + 0 LIMIT 10) s) AS far
FROM item q WHERE id % 83 = 5;
CREATE FUNCTION recall(target float8) RETURNS numeric LANGUAGE plpgsql AS $$
BEGIN
	PERFORM set_config('hybrid.target_recall', target::text, true);
	RETURN (SELECT avg((SELECT count(*) FROM (SELECT i.v <-> t.v AS d FROM item i ORDER BY i.v <-> t.v LIMIT 10) s WHERE d <= far)) / 10 FROM truth t);
END $$;
SELECT target, recall(target) >= target - 0.01 AS found FROM unnest(ARRAY[0.9, 0.95, 0.99]) target;
DROP TABLE item, truth;
DROP FUNCTION recall;

-- Where every row is promised, 1,000 queries get the distances of a sequential scan, in its order: by each distance,
-- from copies of each kind.
CREATE TABLE item (id int, v vector(12));
INSERT INTO item SELECT i, (SELECT array_agg(sin(i * (d + 0.7) * 1.13) * (1 + i % 7)) FROM generate_series(1, 12) d WHERE i IS NOT NULL)::vector
FROM generate_series(1, 1500) i;
CREATE INDEX item_l2 ON item USING hybrid (v) WITH (storage = float16);
CREATE INDEX item_ip ON item USING hybrid (v vector_ip_ops) WITH (storage = int8);
CREATE INDEX item_cosine ON item USING hybrid (v vector_cosine_ops) WITH (storage = float32);
CREATE INDEX item_l1 ON item USING hybrid (v vector_l1_ops) WITH (storage = int8);
CREATE FUNCTION differences(op text, first int, last int, OUT asked int, OUT other int) LANGUAGE plpgsql AS $$
DECLARE
	q vector;
	by_index float8[];
	by_table float8[];
BEGIN
	asked := 0;
	other := 0;
	PERFORM set_config('hybrid.target_recall', '1', true);
	FOR i IN first .. last LOOP
		q := (SELECT array_agg(cos(i * (d + 0.3) * 2.17) * (1 + i % 11)) FROM generate_series(1, 12) d WHERE i IS NOT NULL)::vector;
		PERFORM set_config('enable_seqscan', 'off', true);
		EXECUTE format('SELECT array_agg(d) FROM (SELECT v %1$s $1 AS d FROM item ORDER BY v %1$s $1 LIMIT 25) s', op) INTO by_index USING q;
		PERFORM set_config('enable_seqscan', 'on', true);
		EXECUTE format('SELECT array_agg(d) FROM (SELECT v %1$s $1 AS d FROM item ORDER BY (v %1$s $1) + 0 LIMIT 25) s', op) INTO by_table USING q;
		asked := asked + 1;
		other := other + (by_index IS DISTINCT FROM by_table)::int;
	END LOOP;
END $$;
SELECT op, asked, other FROM unnest(ARRAY['<->', '<#>', '<=>', '<+>']) WITH ORDINALITY AS o(op, n), differences(op, (n::int - 1) * 250 + 1, n::int * 250);
DROP TABLE item;
DROP FUNCTION differences;

-- VACUUM has measured another tree on rows that had no part in placing it, as a build does: what is nearest to those
-- that had is nearer by, and a search that goes as far finds less.
SELECT setseed(0.5);
CREATE TABLE item AS SELECT i AS id, (SELECT array_agg(random() + random() + random()) FROM generate_series(1, 8) WHERE i > 0)::vector(8) AS v
	FROM generate_series(1, 9500) i;
CREATE INDEX item_built ON item USING hybrid (v) WITH (list_size = 32);
CREATE TABLE grown (id int, v vector(8)) WITH (autovacuum_enabled = off);
CREATE INDEX item_grown ON grown USING hybrid (v) WITH (list_size = 32);
INSERT INTO grown SELECT * FROM item;
VACUUM grown;
SELECT g.rows >= b.rows * 0.8 AS as_far
FROM hybrid_index_curve('item_grown') g JOIN hybrid_index_curve('item_built') b USING (recall) WHERE recall = 0.95::real;
DROP TABLE item, grown;

-- Of rows as far as the k-th best, those found later replace none. They are no reason to search further: a search among
-- whole numbers scores fewer rows than one among numbers nearly as whole.
SELECT setseed(0.3);
CREATE TABLE whole AS SELECT i AS id, (SELECT array_agg(floor(random() * 6)) FROM generate_series(1, 8) WHERE i > 0)::vector(8) AS v
	FROM generate_series(1, 6000) i;
CREATE TABLE nearly AS SELECT id, (SELECT array_agg(x + (random() - 0.5) * 1e-3) FROM unnest(v::float4[]) x)::vector(8) AS v FROM whole;
CREATE INDEX whole_v ON whole USING hybrid (v);
CREATE INDEX nearly_v ON nearly USING hybrid (v);
CREATE FUNCTION scored(relation regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	q vector;
	rows bigint := 0;
BEGIN
	FOR q IN SELECT v FROM whole WHERE id % 60 = 0 ORDER BY id LOOP
		EXECUTE format('SELECT count(*) FROM (SELECT id FROM %s ORDER BY v <-> $1 LIMIT 10) s', relation) USING q;
		rows := rows + (SELECT rows_scored FROM hybrid_last_scan());
	END LOOP;
	RETURN rows;
END $$;
SET enable_seqscan = off;
SELECT scored('whole') < scored('nearly') AS fewer;
RESET enable_seqscan;
DROP FUNCTION scored;
DROP TABLE whole, nearly;
