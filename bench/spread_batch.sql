\set n random(0, 900)
SELECT count(*) FROM (SELECT array_agg(n) AS sets, array_agg(id) AS ids FROM query WHERE n > :n AND n <= :n + 64) AS a,
	hybrid_spread_batch('SELECT source, target FROM relation', a.sets, a.ids, k => 100);
