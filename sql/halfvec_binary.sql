-- The binary format: int16 dimensions, int16 zero, binary16 elements, network byte order.

SELECT halfvec_send('[1,-2.5,3]');
SELECT halfvec_send('[0,-0,65504,6e-8]');

CREATE TABLE copied (v halfvec);
CREATE TABLE copied3 (v halfvec(3));

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

SELECT copy_in('copied', halfvec_send('[1,-2.5,3]'));
SELECT copy_in('copied3', halfvec_send('[0,-0,6e-8]'));
SELECT * FROM copied;
SELECT * FROM copied3;

\set VERBOSITY terse
-- Dimensions: none, too many, negative, not those of the column.
SELECT copy_in('copied', '\x00000000');
SELECT copy_in('copied', '\x3e810000');
SELECT copy_in('copied', '\x80000000');
SELECT copy_in('copied', '\xffff0000');
SELECT copy_in('copied3', halfvec_send('[1,2]'));
-- The second field is not zero.
SELECT copy_in('copied', '\x000100013c00');
-- Not finite: NaN of either sign, signalling, infinities.
SELECT copy_in('copied', '\x000100007e00');
SELECT copy_in('copied', '\x00010000fe00');
SELECT copy_in('copied', '\x000100007c01');
SELECT copy_in('copied', '\x000200003c007c00');
SELECT copy_in('copied', '\x00010000fc00');
-- Cut short at every place, and with something after the end.
SELECT copy_in('copied', '\x');
SELECT copy_in('copied', '\x00');
SELECT copy_in('copied', '\x0001');
SELECT copy_in('copied', '\x000100');
SELECT copy_in('copied', '\x00010000');
SELECT copy_in('copied', '\x000100003c');
SELECT copy_in('copied', '\x000200003c00');
SELECT copy_in('copied', '\x3e8000003c00');
SELECT copy_in('copied', '\x000100003c0000');
SELECT copy_in('copied', vector_send('[1,2]'));
\set VERBOSITY default

-- Nothing of all that got in.
SELECT count(*) FROM copied;
SELECT count(*) FROM copied3;

-- There and back through a file in the data directory, short and long.
INSERT INTO copied SELECT array_agg(i * 0.1)::halfvec FROM generate_series(1, 16000) i;
INSERT INTO copied VALUES (NULL), ('[65504,-6e-8]');
COPY copied TO PROGRAM 'cat >hybrid_halfvec_binary.tmp' WITH (FORMAT binary);
CREATE TABLE back (v halfvec);
COPY back FROM PROGRAM 'cat hybrid_halfvec_binary.tmp && rm hybrid_halfvec_binary.tmp' WITH (FORMAT binary);
SELECT vector_dims(v), md5(halfvec_send(v)) = md5(halfvec_send(w)) AS same
	FROM (SELECT v, row_number() OVER (ORDER BY v) FROM copied) a
	JOIN (SELECT v AS w, row_number() OVER (ORDER BY v) FROM back) b USING (row_number)
	ORDER BY row_number;

DROP FUNCTION copy_in;
DROP TABLE copied, copied3, back;
