-- The binary format: int32 dimensions, int32 elements, int32 zero, int32 indices from 0, float4
-- values, network byte order.

SELECT sparsevec_send('{1:1,4:-2.5}/5');
SELECT sparsevec_send('{}/1000000000');

CREATE TABLE copied (v sparsevec);
CREATE TABLE copied3 (v sparsevec(3));

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

SELECT copy_in('copied', sparsevec_send('{1:1,4:-2.5}/5'));
SELECT copy_in('copied', sparsevec_send('{}/1000000000'));
SELECT copy_in('copied3', sparsevec_send('{3:1e-45}/3'));
SELECT * FROM copied;
SELECT * FROM copied3;

\set VERBOSITY terse
-- Dimensions: none, negative, too many, not those of the column.
SELECT copy_in('copied', '\x000000000000000000000000');
SELECT copy_in('copied', '\xffffffff0000000000000000');
SELECT copy_in('copied', '\x800000000000000000000000');
SELECT copy_in('copied', '\x3b9aca010000000000000000');
SELECT copy_in('copied3', sparsevec_send('{}/4'));
-- Elements: negative, more than there may be, more than dimensions.
SELECT copy_in('copied', '\x00000005ffffffff00000000');
SELECT copy_in('copied', '\x000000058000000000000000');
SELECT copy_in('copied', '\x000fffff00003e8100000000');
SELECT copy_in('copied', '\x000000057fffffff00000000');
SELECT copy_in('copied', '\x00000001000000020000000000000000000000013f8000003f800000');
-- The third field is not zero.
SELECT copy_in('copied', '\x000000010000000000000001');
SELECT copy_in('copied', '\x0000000100000000ffffffff');
-- Indices: beyond the dimensions, negative, twice, out of order.
SELECT copy_in('copied', '\x000000050000000100000000000000053f800000');
SELECT copy_in('copied', '\x000000050000000100000000ffffffff3f800000');
SELECT copy_in('copied', '\x000000050000000100000000800000003f800000');
SELECT copy_in('copied', '\x00000005000000020000000000000001000000013f8000003f800000');
SELECT copy_in('copied', '\x00000005000000020000000000000002000000013f8000003f800000');
-- Values: zeros of both signs, NaN, infinities.
SELECT copy_in('copied', '\x0000000500000001000000000000000100000000');
SELECT copy_in('copied', '\x0000000500000001000000000000000180000000');
SELECT copy_in('copied', '\x000000050000000100000000000000017fc00000');
SELECT copy_in('copied', '\x00000005000000010000000000000001ff800001');
SELECT copy_in('copied', '\x000000050000000100000000000000017f800000');
SELECT copy_in('copied', '\x00000005000000010000000000000001ff800000');
-- Cut short at every field, and with something after the end.
SELECT copy_in('copied', '\x');
SELECT copy_in('copied', '\x000000');
SELECT copy_in('copied', '\x00000005');
SELECT copy_in('copied', '\x0000000500000001');
SELECT copy_in('copied', '\x000000050000000100000000');
SELECT copy_in('copied', '\x00000005000000010000000000000001');
SELECT copy_in('copied', '\x000000050000000100000000000000013f8000');
SELECT copy_in('copied', '\x000000050000000100000000000000013f80000000');
SELECT copy_in('copied', '\x00000005000000000000000000000001');
\set VERBOSITY default

-- Nothing of all that got in.
SELECT count(*) FROM copied;
SELECT count(*) FROM copied3;

-- There and back through a file in the data directory, short and long.
INSERT INTO copied SELECT ('{' || string_agg(i * 7 || ':' || i * 0.1, ',') || '}/200000')::sparsevec FROM generate_series(1, 16000) i;
INSERT INTO copied VALUES (NULL), ('{1:3.4028235e38,1000000000:-1e-45}/1000000000');
COPY copied TO PROGRAM 'cat >hybrid_sparsevec_binary.tmp' WITH (FORMAT binary);
CREATE TABLE back (v sparsevec);
COPY back FROM PROGRAM 'cat hybrid_sparsevec_binary.tmp && rm hybrid_sparsevec_binary.tmp' WITH (FORMAT binary);
SELECT md5(sparsevec_send(v)) = md5(sparsevec_send(w)) AS same, pg_column_size(v) = pg_column_size(w) AS size
	FROM (SELECT v, row_number() OVER (ORDER BY v) FROM copied) a
	JOIN (SELECT v AS w, row_number() OVER (ORDER BY v) FROM back) b USING (row_number)
	ORDER BY row_number;

DROP FUNCTION copy_in;
DROP TABLE copied, copied3, back;
