-- What is nearest to the rows by which recall is measured, in lists whose codes come in one lot or in several.
SELECT setseed(0.5);
CREATE TEMP TABLE point AS SELECT i AS id, (SELECT array_agg(random()) FROM generate_series(1, 16) WHERE i > 0)::vector AS v
	FROM generate_series(1, 12000) i;
CREATE TEMP TABLE one (id int, v vector(16));
CREATE TEMP TABLE several (id int, v vector(16));
INSERT INTO one SELECT * FROM point;
INSERT INTO several SELECT * FROM point;
CREATE INDEX one_v ON one USING hybrid (v) WITH (list_size = 32);
CREATE INDEX several_v ON several USING hybrid (v) WITH (list_size = 32);
CREATE TEMP TABLE built AS SELECT * FROM hybrid_index_curve('one_v');
SELECT count(*) > 1 AS measured FROM built;
SELECT count(*) AS different FROM (SELECT * FROM built EXCEPT SELECT * FROM hybrid_index_curve('several_v')) d;
-- most rows go, and recall is measured again, of the same rows, with more memory and with less
DELETE FROM one WHERE id % 4 > 0;
DELETE FROM several WHERE id % 4 > 0;
CREATE FUNCTION pg_temp.tasks() RETURNS bigint LANGUAGE sql AS
	$$ SELECT coalesce(sum(calls), 0)::bigint FROM hybrid_stats WHERE operation = 'score_codes' $$;
SELECT pg_temp.tasks() AS before \gset
VACUUM one;
SELECT pg_temp.tasks() - :before AS one, pg_temp.tasks() AS before \gset
SET maintenance_work_mem = '1MB';
VACUUM several;
RESET maintenance_work_mem;
SELECT (pg_temp.tasks() - :before) >= 3 * :one AND :one > 0 AS in_several_lots;
SELECT count(*) > 1 AS measured, count(*) FILTER (WHERE (missing, recall, rows) NOT IN (SELECT missing, recall, rows FROM built)) > 0 AS again
	FROM hybrid_index_curve('one_v');
SELECT count(*) AS different FROM (SELECT * FROM hybrid_index_curve('one_v') EXCEPT SELECT * FROM hybrid_index_curve('several_v')) d;
SELECT count(*) AS different FROM (SELECT * FROM hybrid_index_curve('several_v') EXCEPT SELECT * FROM hybrid_index_curve('one_v')) d;
DROP TABLE one, several, point, built;
