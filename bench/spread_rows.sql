\set n random(0, 900)
SELECT count(*) FROM query, LATERAL
	hybrid_spread('SELECT source, target FROM relation', ARRAY[query.id], k => 100)
	WHERE n > :n AND n <= :n + 64;
