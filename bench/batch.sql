\set n random(0, 900)
SELECT count(*) FROM hybrid_knn('item', 'v',
	(SELECT array_agg(v) FROM query WHERE n > :n AND n <= :n + 64), 10, 'cosine');
