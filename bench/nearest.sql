\set n random(1, 1000)
SELECT id FROM item ORDER BY v <=> (SELECT v FROM query WHERE n = :n) LIMIT 10;
