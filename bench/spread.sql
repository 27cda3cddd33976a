\set n random(1, 1000)
SELECT count(*) FROM hybrid_spread('SELECT source, target FROM relation',
	ARRAY[(SELECT id FROM query WHERE n = :n)], k => 100);
