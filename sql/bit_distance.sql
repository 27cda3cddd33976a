-- Distances of bit strings.

SELECT hamming_distance('10110', '00111'), hamming_distance('1', '1'), '1100'::bit(4) <~> '1010';
SELECT jaccard_distance('1100', '1010')::numeric(6,5), jaccard_distance('1100', '1100'), '1100'::bit(4) <%> '0011';
-- Nothing set in both: as far as can be, even where nothing is set at all.
SELECT jaccard_distance('000', '000'), jaccard_distance('', ''), hamming_distance('', '');
SELECT hamming_distance(NULL, '1'), jaccard_distance('1', NULL);

-- Every length, so every tail of bits, bytes and registers; opposite, and the same but one bit anywhere.
SELECT count(*), bool_and(hamming_distance(a, ~a) = n) AS opposite, bool_and(jaccard_distance(a, ~a) = 1) AS nothing_in_common,
	   bool_and(hamming_distance(a, a) = 0) AS same
	FROM generate_series(1, 1200) n, LATERAL (SELECT repeat('1001101', n / 7 + 1)::varbit(1300)::varbit AS long) x,
	LATERAL (SELECT substring(long FROM 1 FOR n) AS a) y;
SELECT count(*), sum(hamming_distance(a, set_bit(a, i, 1 - get_bit(a, i))))
	FROM (SELECT repeat('1001101', 100)::varbit AS a) x, generate_series(0, 699) i;
SELECT bool_and(jaccard_distance(a, b) = 1 - m::float8 / n)
	FROM generate_series(1, 600) n, generate_series(1, 600, 13) m,
	LATERAL (SELECT repeat('1', n)::varbit AS a, rpad(repeat('1', m), n, '0')::varbit AS b) x WHERE m <= n;
-- Beyond what fits one row, stored out of line or compressed.
CREATE TABLE wide (b bit(100000));
INSERT INTO wide SELECT rpad(repeat('1', 777), 100000, '0')::bit(100000);
INSERT INTO wide SELECT rpad(repeat('01', 777), 100000, '0')::bit(100000);
SELECT x.b <~> y.b AS hamming, (x.b <%> y.b)::numeric(6,5) AS jaccard FROM wide x, wide y ORDER BY 1, 2;
DROP TABLE wide;

SELECT hamming_distance('111', '00');
SELECT jaccard_distance('111', '0000');
SELECT '111'::bit(3) <~> '00'::bit(2);
SELECT '' <~> '1'::bit(1);

-- Nearest first.
CREATE TABLE near (id int, b bit(8));
INSERT INTO near VALUES (1, '11110000'), (2, '00001111'), (3, '11111111'), (4, NULL), (5, '11100000');
SELECT id, b <~> '11110000' AS hamming FROM near ORDER BY b <~> '11110000', id;
SELECT id, b <%> '11110000' AS jaccard FROM near ORDER BY b <%> '11110000', id;
DROP TABLE near;

-- The same of what a vector quantizes to.
SELECT binary_quantize('[1,-2,3,0]'::vector) <~> binary_quantize('[-1,-2,3,4]'::vector) AS hamming;

-- Each operator commutes with itself.
SELECT oprname, oprcode, oprcom::regoperator FROM pg_operator WHERE oprname IN ('<~>', '<%>') AND oprleft = 'bit'::regtype ORDER BY 1;
