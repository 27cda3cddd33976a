-- Text into a halfvec and back.

SELECT '[1,2,3]'::halfvec, ' [ -1, +.5 ,3. ] '::halfvec, '[0,-0]'::halfvec;
-- The nearest half, and the shortest text of it.
SELECT '[1.23456,0.1,0.3,2049,2051,1e-7]'::halfvec;
-- Halfway goes to the even neighbour; from a float, to which the text is rounded first.
SELECT '[2049,2051,1.00048828125,1.00146484375]'::halfvec;
SELECT '[1.000488281250001,1.00048834,1.00048835]'::halfvec;
-- The edges: largest, least normal, least subnormal, zero.
SELECT '[65504,65519,-65519,6.1035156e-05,5.9604645e-08,2.9802326e-08,2.9802322e-08,-1e-8]'::halfvec;

-- Each half that can be written reads back to the same, bit for bit.
SELECT count(*), bool_and(halfvec_send(v::text::halfvec) = halfvec_send(v)) AS same
	FROM (SELECT ARRAY[power(2, e), power(2, e) * 1.3, -power(10, e / 4)]::halfvec AS v
		  FROM generate_series(-24, 15) e) x;

-- Malformed.
SELECT '[hello,1]'::halfvec;
SELECT '[1,2,3'::halfvec;
SELECT '[1,2,3]9'::halfvec;
SELECT '1,2,3'::halfvec;
SELECT ''::halfvec;
SELECT '[,]'::halfvec;
SELECT '[1,]'::halfvec;
SELECT '[1a]'::halfvec;
SELECT '[1,,3]'::halfvec;
SELECT '[[1]]'::halfvec;
SELECT ' [ ] '::halfvec;

-- Not finite, and out of range as it was written.
SELECT '[NaN,1]'::halfvec;
SELECT '[1,-inf]'::halfvec;
SELECT '[65520]'::halfvec;
SELECT '[1, -65520.0 ]'::halfvec;
SELECT '[1e39]'::halfvec;
-- The first mistake is the one that is reported.
SELECT '[65520,nan,x]'::halfvec;
SELECT '[nan,65520]'::halfvec;

SELECT vector_dims(('[' || repeat('1,', 15999) || '2]')::halfvec);
SELECT ('[' || repeat('1,', 16000) || '2]')::halfvec;
SELECT halfvec_in('[1,2]', 0, 3);
