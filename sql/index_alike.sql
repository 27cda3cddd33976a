-- Rows that are alike: equal ones, which nothing tells apart, and rows without structure, among which all
-- lists promise about the same.
SET enable_seqscan = off;

-- equal rows come into lists as long as others, whoever makes them, and VACUUM finds nothing to do about them
CREATE TABLE same (id serial, v vector(3)) WITH (autovacuum_enabled = off);
INSERT INTO same (v) SELECT '[1,2,3]' FROM generate_series(1, 2000);
INSERT INTO same (v) SELECT ARRAY[i, i % 7, i % 11]::vector FROM generate_series(1, 500) i;
CREATE INDEX same_v ON same USING hybrid (v vector_l2_ops) WITH (list_size = 32);
SELECT lists BETWEEN 40 AND 180 AS many, list_max <= 8 * 32 AS short FROM hybrid_index_stats('same_v');
CREATE TEMP TABLE before AS SELECT lists FROM hybrid_index_stats('same_v');
INSERT INTO same (v) SELECT '[1,2,3]' FROM generate_series(1, 40);
VACUUM same;
SELECT s.lists - b.lists BETWEEN 0 AND 10 AS as_it_was FROM hybrid_index_stats('same_v') s, before b;
INSERT INTO same (v) SELECT '[1,2,3]' FROM generate_series(1, 3000);
VACUUM same;
SELECT list_max <= 8 * 32 AS short FROM hybrid_index_stats('same_v');
SELECT hybrid_index_check('same_v');
-- of the others none is farther than any of them
SELECT count(*), count(DISTINCT id), min(v <-> '[1,2,3]'), max(v <-> '[1,2,3]')
FROM (SELECT * FROM same ORDER BY v <-> '[1,2,3]' LIMIT 500) s;
BEGIN;
SET LOCAL hybrid.target_recall = 1;
SELECT count(*), count(DISTINCT id) FROM (SELECT id, v FROM same ORDER BY v <-> '[1,2,3]' LIMIT 5041) s WHERE v = '[1,2,3]';
COMMIT;

-- one of another kind: rows of one list become others when VACUUM makes all anew
CREATE TABLE grown (id serial, v vector(3)) WITH (autovacuum_enabled = off);
CREATE INDEX grown_v ON grown USING hybrid (v vector_l2_ops) WITH (list_size = 32);
INSERT INTO grown (v) SELECT '[1,2,3]' FROM generate_series(1, 2000);
VACUUM grown;
SELECT lists > 40 AS many, list_max <= 8 * 32 AS short FROM hybrid_index_stats('grown_v');
SELECT hybrid_index_check('grown_v');

-- without structure the curve has a cliff: no target is missed that lies on it
CREATE TABLE noise (id serial, v vector(128));
SELECT setseed(0.4);
INSERT INTO noise (v) SELECT array_agg((random() - 0.5)::real)::vector
FROM generate_series(1, 8000) i, generate_series(1, 128) j GROUP BY i;
CREATE TABLE question AS SELECT i AS id, array_agg((random() - 0.5)::real)::vector(128) AS v
FROM generate_series(1, 100) i, generate_series(1, 128) j GROUP BY i;
CREATE INDEX noise_l2 ON noise USING hybrid (v vector_l2_ops);
CREATE INDEX noise_ip ON noise USING hybrid (v vector_ip_ops);
CREATE INDEX noise_cosine ON noise USING hybrid (v vector_cosine_ops);
ANALYZE noise;
CREATE FUNCTION recall(operator text, OUT target float8, OUT recall float8) RETURNS SETOF record LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TEMP TABLE truth ON COMMIT DROP AS SELECT q.v,
		ARRAY(SELECT id FROM noise ORDER BY (v %1$s q.v) + 0 LIMIT 10) AS ids FROM question q', operator);
	FOREACH target IN ARRAY ARRAY[0.8, 0.95, 0.99] LOOP
		PERFORM set_config('hybrid.target_recall', target::text, true);
		EXECUTE format('SELECT avg(n) / 10 FROM (SELECT (SELECT count(*)
				FROM (SELECT id FROM noise ORDER BY v %1$s t.v LIMIT 10) a WHERE id = ANY (t.ids)) AS n FROM truth t) s', operator)
		INTO recall;
		RETURN NEXT;
	END LOOP;
	DROP TABLE truth;
END $$;
-- three deviations of what 100 queries find
SELECT operator, target, recall > target - 0.015 AS reached FROM unnest(ARRAY['<->', '<#>', '<=>']) operator, recall(operator) ORDER BY 1, 2;
DROP TABLE same, grown, noise, question;
DROP FUNCTION recall;
