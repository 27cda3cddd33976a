-- The binary format: int16 dimensions, int16 zero, float4 elements, network byte order.

SELECT vector_send('[1,-2.5,3]');
SELECT vector_send('[0,-0,3.4028235e38,1e-45]');

CREATE TABLE copied (v vector);
CREATE TABLE copied3 (v vector(3));

-- copy_in: makes a COPY BINARY stream of one row with one column out of bytes, and reads it.
CREATE FUNCTION copy_in(target regclass, bytes bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	stream bytea;
	octal text;
BEGIN
	stream := '\x5047434f50590aff0d0a00' || '\x0000000000000000'::bytea || '\x0001'::bytea ||
		int4send(length(bytes)) || bytes || '\xffff'::bytea;
	SELECT string_agg(format('\%s%s%s', b >> 6, (b >> 3) & 7, b & 7), '' ORDER BY i) INTO octal
		FROM generate_series(0, length(stream) - 1) i, get_byte(stream, i) b;
	EXECUTE format('COPY %s FROM PROGRAM %L WITH (FORMAT binary)', target,
				   format('printf ''%s''', octal));
END
$$;

SELECT copy_in('copied', vector_send('[1,-2.5,3]'));
SELECT copy_in('copied3', vector_send('[0,-0,1e-45]'));
SELECT * FROM copied;
SELECT * FROM copied3;

\set VERBOSITY terse
-- Dimensions: none, too many, negative, not those of the column.
SELECT copy_in('copied', '\x00000000');
SELECT copy_in('copied', '\x3e810000');
SELECT copy_in('copied', '\x80000000');
SELECT copy_in('copied', '\xffff0000');
SELECT copy_in('copied3', vector_send('[1,2]'));
SELECT copy_in('copied3', vector_send('[1,2,3,4]'));
-- The second field is not zero.
SELECT copy_in('copied', '\x000100013f800000');
SELECT copy_in('copied', '\x0001ffff3f800000');
-- Not finite: NaN of either sign, signalling, infinities.
SELECT copy_in('copied', '\x000100007fc00000');
SELECT copy_in('copied', '\x00010000ffc00000');
SELECT copy_in('copied', '\x000100007f800001');
SELECT copy_in('copied', '\x000200003f8000007f800000');
SELECT copy_in('copied', '\x00010000ff800000');
-- Cut short at every place, and with something after the end.
SELECT copy_in('copied', '\x');
SELECT copy_in('copied', '\x00');
SELECT copy_in('copied', '\x0001');
SELECT copy_in('copied', '\x000100');
SELECT copy_in('copied', '\x00010000');
SELECT copy_in('copied', '\x000100003f8000');
SELECT copy_in('copied', '\x000200003f800000');
SELECT copy_in('copied', '\x3e8000003f800000');
SELECT copy_in('copied', '\x000100003f80000000');
SELECT copy_in('copied', '\x000100003f8000003f800000');
\set VERBOSITY default

-- Nothing of all that got in.
SELECT count(*) FROM copied;
SELECT count(*) FROM copied3;

-- There and back through a file in the data directory, short and long.
INSERT INTO copied SELECT array_agg(i * 0.1)::vector FROM generate_series(1, 16000) i;
INSERT INTO copied VALUES (NULL), ('[3.4028235e38,-1e-45]');
COPY copied TO PROGRAM 'cat >hybrid_vector_binary.tmp' WITH (FORMAT binary);
CREATE TABLE back (v vector);
COPY back FROM PROGRAM 'cat hybrid_vector_binary.tmp && rm hybrid_vector_binary.tmp' WITH (FORMAT binary);
SELECT vector_dims(v), md5(vector_send(v)) = md5(vector_send(w)) AS same
	FROM (SELECT v, row_number() OVER (ORDER BY v) FROM copied) a
	JOIN (SELECT v AS w, row_number() OVER (ORDER BY v) FROM back) b USING (row_number)
	ORDER BY row_number;

DROP FUNCTION copy_in;
DROP TABLE copied, copied3, back;
