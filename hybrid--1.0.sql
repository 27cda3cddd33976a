-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION hybrid" to load this file. \quit

-- ---------------------------------------------------------------------------------------------
-- The vector type (src/types)
-- ---------------------------------------------------------------------------------------------

-- Types of the same name cannot share a schema; say so before anything is created.
DO $$
DECLARE
	taken name;
BEGIN
	SELECT typname INTO taken
		FROM pg_catalog.pg_type
		WHERE typname IN ('vector', 'halfvec', 'sparsevec')
		  AND typnamespace = pg_catalog.quote_ident(pg_catalog.current_schema())::pg_catalog.regnamespace
		ORDER BY typname DESC LIMIT 1;
	IF FOUND
	THEN
		RAISE EXCEPTION USING
			ERRCODE = 'duplicate_object',
			MESSAGE = pg_catalog.format('schema %I already has a type named %I', pg_catalog.current_schema(), taken),
			DETAIL = 'It is likely that of the extension pgvector, which keeps working as it is.',
			HINT = 'Install hybrid into a schema of its own: '
				'CREATE SCHEMA hybrid; CREATE EXTENSION hybrid SCHEMA hybrid;';
	END IF;
END
$$;

CREATE TYPE vector;

CREATE FUNCTION vector_in(cstring, oid, integer) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION vector_in(cstring, oid, integer) IS
	'reads a vector from text such as [1,2.5,-3e4]; raises on malformed text, NaN, infinity, no or more than 16000 elements, or other dimensions than the type modifier''s';

CREATE FUNCTION vector_out(vector) RETURNS cstring
	AS 'MODULE_PATHNAME', 'hybrid_vector_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION vector_out(vector) IS
	'writes a vector as text, each element in the shortest form that reads back to the same value';

CREATE FUNCTION vector_typmod_in(cstring[]) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_vector_typmod_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION vector_typmod_in(cstring[]) IS
	'reads the type modifier of vector(n); raises unless it is one number from 1 to 16000';

CREATE FUNCTION vector_recv(internal, oid, integer) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION vector_recv(internal, oid, integer) IS
	'reads a vector from the binary format: int16 dimensions, int16 zero, float4 elements; raises as vector_in does';

CREATE FUNCTION vector_send(vector) RETURNS bytea
	AS 'MODULE_PATHNAME', 'hybrid_vector_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION vector_send(vector) IS
	'writes a vector in the binary format: int16 dimensions, int16 zero, float4 elements';

CREATE TYPE vector (
	INPUT = vector_in,
	OUTPUT = vector_out,
	TYPMOD_IN = vector_typmod_in,
	RECEIVE = vector_recv,
	SEND = vector_send,
	STORAGE = external
);
COMMENT ON TYPE vector IS
	'1 to 16000 finite float4 elements; vector(n) has exactly n';

-- Functions of one vector.

CREATE FUNCTION vector_dims(vector) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_vector_dims' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION vector_dims(vector) IS 'number of elements of a vector';

CREATE FUNCTION vector_norm(vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_norm' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_norm(vector) IS 'Euclidean length of a vector, computed in float8';

CREATE FUNCTION l2_normalize(vector) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_l2_normalize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION l2_normalize(vector) IS
	'a vector of the same direction and of Euclidean length 1; a zero vector stays zero';

CREATE FUNCTION subvector(vector, integer, integer) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_subvector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION subvector(vector, integer, integer) IS
	'the elements of a vector from a place on, counted from 1, and how many; what lies outside is left out; raises when nothing is left';

CREATE FUNCTION binary_quantize(vector) RETURNS bit
	AS 'MODULE_PATHNAME', 'hybrid_vector_binary_quantize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION binary_quantize(vector) IS
	'a bit for each element of a vector: 1 where it is above zero';

-- Distances of a pair.  All raise when the dimensions differ.

CREATE FUNCTION hybrid_distance_cost(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'hybrid_distance_cost' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_distance_cost(internal) IS
	'what a distance costs where it detoasts the values of a column; called by the planner only';

CREATE FUNCTION l2_distance(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION l2_distance(vector, vector) IS
	'Euclidean distance of two vectors; raises when their dimensions differ';

CREATE FUNCTION inner_product(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_inner_product' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION inner_product(vector, vector) IS
	'inner product of two vectors; raises when their dimensions differ';

CREATE FUNCTION vector_negative_inner_product(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_negative_inner_product'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION vector_negative_inner_product(vector, vector) IS
	'inner product of two vectors with its sign turned, so that smaller is nearer; raises when their dimensions differ';

CREATE FUNCTION cosine_distance(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_cosine_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION cosine_distance(vector, vector) IS
	'1 minus the cosine of the angle between two vectors, from 0 to 2, NaN when the squared length of either is 0 or infinite in float4; raises when their dimensions differ';

CREATE FUNCTION l1_distance(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_l1_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION l1_distance(vector, vector) IS
	'taxicab distance of two vectors: the sum of the absolute differences; raises when their dimensions differ';

CREATE FUNCTION vector_l2_squared_distance(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_l2_squared_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION vector_l2_squared_distance(vector, vector) IS
	'the square of the Euclidean distance of two vectors; raises when their dimensions differ';

CREATE FUNCTION vector_spherical_distance(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_spherical_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION vector_spherical_distance(vector, vector) IS
	'the angle between two vectors of length 1, as a part of the half circle: from 0 to 1; raises when their dimensions differ';

-- Arithmetic, element by element.

CREATE FUNCTION vector_add(vector, vector) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_add(vector, vector) IS
	'sum of two vectors, element by element; raises when their dimensions differ and on overflow';

CREATE FUNCTION vector_sub(vector, vector) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_sub' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_sub(vector, vector) IS
	'difference of two vectors, element by element; raises when their dimensions differ and on overflow';

CREATE FUNCTION vector_mul(vector, vector) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_mul' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_mul(vector, vector) IS
	'product of two vectors, element by element; raises when their dimensions differ, on overflow and on underflow';

CREATE FUNCTION vector_concat(vector, vector) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_concat' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_concat(vector, vector) IS
	'the elements of the first vector, then those of the second; raises beyond 16000 dimensions';

-- Order: the first element that differs decides, then the dimensions.

CREATE FUNCTION vector_lt(vector, vector) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_vector_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION vector_lt(vector, vector) IS
	'whether the first vector sorts before the second';

CREATE FUNCTION vector_le(vector, vector) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_vector_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION vector_le(vector, vector) IS
	'whether the first vector sorts before the second or equals it';

CREATE FUNCTION vector_eq(vector, vector) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_vector_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION vector_eq(vector, vector) IS
	'whether two vectors have the same dimensions and equal elements';

CREATE FUNCTION vector_ne(vector, vector) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_vector_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION vector_ne(vector, vector) IS
	'whether two vectors differ in dimensions or in an element';

CREATE FUNCTION vector_ge(vector, vector) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_vector_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION vector_ge(vector, vector) IS
	'whether the first vector sorts after the second or equals it';

CREATE FUNCTION vector_gt(vector, vector) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_vector_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION vector_gt(vector, vector) IS
	'whether the first vector sorts after the second';

CREATE FUNCTION vector_cmp(vector, vector) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_vector_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION vector_cmp(vector, vector) IS
	'-1, 0 or 1: the first vector sorts before the second, equals it, sorts after it';

-- Operators.

CREATE OPERATOR <-> (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = l2_distance,
	COMMUTATOR = <->
);
COMMENT ON OPERATOR <-> (vector, vector) IS 'Euclidean distance';

CREATE OPERATOR <#> (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_negative_inner_product,
	COMMUTATOR = <#>
);
COMMENT ON OPERATOR <#> (vector, vector) IS 'negative inner product';

CREATE OPERATOR <=> (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = cosine_distance,
	COMMUTATOR = <=>
);
COMMENT ON OPERATOR <=> (vector, vector) IS 'cosine distance';

CREATE OPERATOR <+> (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = l1_distance,
	COMMUTATOR = <+>
);
COMMENT ON OPERATOR <+> (vector, vector) IS 'taxicab distance';

CREATE OPERATOR + (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_add,
	COMMUTATOR = +
);
COMMENT ON OPERATOR + (vector, vector) IS 'add element by element';

CREATE OPERATOR - (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_sub
);
COMMENT ON OPERATOR - (vector, vector) IS 'subtract element by element';

CREATE OPERATOR * (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_mul,
	COMMUTATOR = *
);
COMMENT ON OPERATOR * (vector, vector) IS 'multiply element by element';

CREATE OPERATOR || (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_concat
);
COMMENT ON OPERATOR || (vector, vector) IS 'concatenate';

CREATE OPERATOR < (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_lt,
	COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (vector, vector) IS 'less than';

CREATE OPERATOR <= (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_le,
	COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (vector, vector) IS 'less than or equal';

CREATE OPERATOR = (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_eq,
	COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, MERGES
);
COMMENT ON OPERATOR = (vector, vector) IS 'equal';

CREATE OPERATOR <> (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_ne,
	COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (vector, vector) IS 'not equal';

CREATE OPERATOR >= (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_ge,
	COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (vector, vector) IS 'greater than or equal';

CREATE OPERATOR > (
	LEFTARG = vector, RIGHTARG = vector, FUNCTION = vector_gt,
	COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (vector, vector) IS 'greater than';

CREATE OPERATOR CLASS vector_ops
	DEFAULT FOR TYPE vector USING btree AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 vector_cmp(vector, vector);
COMMENT ON OPERATOR FAMILY vector_ops USING btree IS 'order of vectors';
COMMENT ON OPERATOR CLASS vector_ops USING btree IS
	'order of vectors: the first element that differs decides, then the dimensions';

-- Casts.

CREATE FUNCTION vector(vector, integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_to_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION vector(vector, integer, boolean) IS
	'the vector itself; raises when its dimensions are not those of the type modifier';

CREATE FUNCTION array_to_vector(integer[], integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_vector(integer[], integer, boolean) IS
	'converts an array of one dimension, each element to the nearest float4; raises on a NULL, on no or more than 16000 elements, or on other dimensions than the type modifier''s';

CREATE FUNCTION array_to_vector(real[], integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_vector(real[], integer, boolean) IS
	'converts an array of one dimension; raises on a NULL, NaN or infinity, on no or more than 16000 elements, or on other dimensions than the type modifier''s';

CREATE FUNCTION array_to_vector(double precision[], integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_vector(double precision[], integer, boolean) IS
	'converts an array of one dimension, each element to the nearest float4; raises on a NULL, NaN, infinity or value beyond float4, on no or more than 16000 elements, or on other dimensions than the type modifier''s';

CREATE FUNCTION array_to_vector(numeric[], integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION array_to_vector(numeric[], integer, boolean) IS
	'converts an array of one dimension, each element to the nearest float4; raises on a NULL, NaN, infinity or value beyond float4, on no or more than 16000 elements, or on other dimensions than the type modifier''s';

CREATE FUNCTION vector_to_float4(vector, integer, boolean) RETURNS real[]
	AS 'MODULE_PATHNAME', 'hybrid_vector_to_float4' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION vector_to_float4(vector, integer, boolean) IS
	'the elements of a vector as an array';

CREATE CAST (vector AS vector)
	WITH FUNCTION vector(vector, integer, boolean) AS IMPLICIT;
CREATE CAST (vector AS real[])
	WITH FUNCTION vector_to_float4(vector, integer, boolean) AS IMPLICIT;
CREATE CAST (integer[] AS vector)
	WITH FUNCTION array_to_vector(integer[], integer, boolean) AS ASSIGNMENT;
CREATE CAST (real[] AS vector)
	WITH FUNCTION array_to_vector(real[], integer, boolean) AS ASSIGNMENT;
CREATE CAST (double precision[] AS vector)
	WITH FUNCTION array_to_vector(double precision[], integer, boolean) AS ASSIGNMENT;
CREATE CAST (numeric[] AS vector)
	WITH FUNCTION array_to_vector(numeric[], integer, boolean) AS ASSIGNMENT;

COMMENT ON CAST (vector AS vector) IS 'checks the dimensions of the type modifier';
COMMENT ON CAST (vector AS real[]) IS 'the elements of a vector';
COMMENT ON CAST (integer[] AS vector) IS 'a vector of these elements';
COMMENT ON CAST (real[] AS vector) IS 'a vector of these elements';
COMMENT ON CAST (double precision[] AS vector) IS 'a vector of these elements, rounded to float4';
COMMENT ON CAST (numeric[] AS vector) IS 'a vector of these elements, rounded to float4';

-- Aggregates.  Their state: the number of vectors, then a sum for each element.

CREATE FUNCTION vector_accum(double precision[], vector) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'hybrid_vector_accum' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_accum(double precision[], vector) IS
	'adds a vector to the state of avg: the number of vectors, then the sum of each element; raises when dimensions differ and on overflow';

CREATE FUNCTION vector_sum_accum(double precision[], vector) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'hybrid_vector_sum_accum' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_sum_accum(double precision[], vector) IS
	'adds a vector to the state of sum: the number of vectors, then the sum of each element; raises when dimensions differ and on overflow';

CREATE FUNCTION vector_combine(double precision[], double precision[]) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'hybrid_vector_combine' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_combine(double precision[], double precision[]) IS
	'adds two states of avg or sum; raises when their dimensions differ and on overflow';

CREATE FUNCTION vector_avg(double precision[]) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_avg' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_avg(double precision[]) IS
	'the mean that a state of avg stands for; NULL when it counts no vector';

CREATE FUNCTION vector_sum(double precision[]) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_sum' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_sum(double precision[]) IS
	'the sum that a state of sum stands for; NULL when it counts no vector; raises on overflow of float4';

CREATE AGGREGATE avg(vector) (
	SFUNC = vector_accum,
	STYPE = double precision[],
	FINALFUNC = vector_avg,
	COMBINEFUNC = vector_combine,
	INITCOND = '{0}',
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE avg(vector) IS
	'mean of the vectors that are not NULL, element by element, computed in float8; NULL without any; raises when dimensions differ';

CREATE AGGREGATE sum(vector) (
	SFUNC = vector_sum_accum,
	STYPE = double precision[],
	FINALFUNC = vector_sum,
	COMBINEFUNC = vector_combine,
	INITCOND = '{0}',
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE sum(vector) IS
	'sum of the vectors that are not NULL, element by element, computed in float8; NULL without any; raises when dimensions differ and on overflow of float4';

-- ---------------------------------------------------------------------------------------------
-- The halfvec type (src/types)
-- ---------------------------------------------------------------------------------------------

CREATE TYPE halfvec;

CREATE FUNCTION halfvec_in(cstring, oid, integer) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION halfvec_in(cstring, oid, integer) IS
	'reads a halfvec from text such as [1,2.5,-3e4]; each number is rounded to float4 and then to the nearest half; raises on malformed text, NaN, infinity, a number beyond the range of a half, no or more than 16000 elements, or other dimensions than the type modifier''s';

CREATE FUNCTION halfvec_out(halfvec) RETURNS cstring
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION halfvec_out(halfvec) IS
	'writes a halfvec as text, each element in the shortest form that reads back to the same float4, and so to the same half';

CREATE FUNCTION halfvec_typmod_in(cstring[]) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_typmod_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION halfvec_typmod_in(cstring[]) IS
	'reads the type modifier of halfvec(n); raises unless it is one number from 1 to 16000';

CREATE FUNCTION halfvec_recv(internal, oid, integer) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION halfvec_recv(internal, oid, integer) IS
	'reads a halfvec from the binary format: int16 dimensions, int16 zero, binary16 elements; raises as halfvec_in does';

CREATE FUNCTION halfvec_send(halfvec) RETURNS bytea
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_send' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION halfvec_send(halfvec) IS
	'writes a halfvec in the binary format: int16 dimensions, int16 zero, binary16 elements';

CREATE TYPE halfvec (
	INPUT = halfvec_in,
	OUTPUT = halfvec_out,
	TYPMOD_IN = halfvec_typmod_in,
	RECEIVE = halfvec_recv,
	SEND = halfvec_send,
	STORAGE = external
);
COMMENT ON TYPE halfvec IS
	'1 to 16000 finite half-precision (IEEE binary16) elements; halfvec(n) has exactly n';

-- Functions of one halfvec.

CREATE FUNCTION vector_dims(halfvec) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_vector_dims' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION vector_dims(halfvec) IS 'number of elements of a halfvec';

CREATE FUNCTION l2_norm(halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_norm' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION l2_norm(halfvec) IS 'Euclidean length of a halfvec, computed in float8';

CREATE FUNCTION l2_normalize(halfvec) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_l2_normalize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION l2_normalize(halfvec) IS
	'a halfvec of the same direction and of Euclidean length 1; a zero halfvec stays zero';

CREATE FUNCTION subvector(halfvec, integer, integer) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_subvector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION subvector(halfvec, integer, integer) IS
	'the elements of a halfvec from a place on, counted from 1, and how many; what lies outside is left out; raises when nothing is left';

CREATE FUNCTION binary_quantize(halfvec) RETURNS bit
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_binary_quantize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION binary_quantize(halfvec) IS
	'a bit for each element of a halfvec: 1 where it is above zero';

-- Distances of a pair.  All raise when the dimensions differ.

CREATE FUNCTION l2_distance(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION l2_distance(halfvec, halfvec) IS
	'Euclidean distance of two halfvecs; raises when their dimensions differ';

CREATE FUNCTION inner_product(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_inner_product' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION inner_product(halfvec, halfvec) IS
	'inner product of two halfvecs; raises when their dimensions differ';

CREATE FUNCTION halfvec_negative_inner_product(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_negative_inner_product'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_negative_inner_product(halfvec, halfvec) IS
	'inner product of two halfvecs with its sign turned, so that smaller is nearer; raises when their dimensions differ';

CREATE FUNCTION cosine_distance(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_cosine_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION cosine_distance(halfvec, halfvec) IS
	'1 minus the cosine of the angle between two halfvecs, from 0 to 2, NaN when the squared length of either is 0 or infinite in float4; raises when their dimensions differ';

CREATE FUNCTION l1_distance(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_l1_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION l1_distance(halfvec, halfvec) IS
	'taxicab distance of two halfvecs: the sum of the absolute differences; raises when their dimensions differ';

CREATE FUNCTION halfvec_l2_squared_distance(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_l2_squared_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_l2_squared_distance(halfvec, halfvec) IS
	'the square of the Euclidean distance of two halfvecs; raises when their dimensions differ';

CREATE FUNCTION halfvec_spherical_distance(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_spherical_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_spherical_distance(halfvec, halfvec) IS
	'the angle between two halfvecs of length 1, as a part of the half circle: from 0 to 1; raises when their dimensions differ';

-- Arithmetic, element by element.

CREATE FUNCTION halfvec_add(halfvec, halfvec) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_add(halfvec, halfvec) IS
	'sum of two halfvecs, element by element; raises when their dimensions differ and on overflow';

CREATE FUNCTION halfvec_sub(halfvec, halfvec) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_sub' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_sub(halfvec, halfvec) IS
	'difference of two halfvecs, element by element; raises when their dimensions differ and on overflow';

CREATE FUNCTION halfvec_mul(halfvec, halfvec) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_mul' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_mul(halfvec, halfvec) IS
	'product of two halfvecs, element by element; raises when their dimensions differ, on overflow and on underflow';

CREATE FUNCTION halfvec_concat(halfvec, halfvec) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_concat' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_concat(halfvec, halfvec) IS
	'the elements of the first halfvec, then those of the second; raises beyond 16000 dimensions';

-- Order: the first element that differs decides, then the dimensions.

CREATE FUNCTION halfvec_lt(halfvec, halfvec) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_lt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION halfvec_lt(halfvec, halfvec) IS
	'whether the first halfvec sorts before the second';

CREATE FUNCTION halfvec_le(halfvec, halfvec) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_le' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION halfvec_le(halfvec, halfvec) IS
	'whether the first halfvec sorts before the second or equals it';

CREATE FUNCTION halfvec_eq(halfvec, halfvec) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_eq' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION halfvec_eq(halfvec, halfvec) IS
	'whether two halfvecs have the same dimensions and equal elements';

CREATE FUNCTION halfvec_ne(halfvec, halfvec) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_ne' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION halfvec_ne(halfvec, halfvec) IS
	'whether two halfvecs differ in dimensions or in an element';

CREATE FUNCTION halfvec_ge(halfvec, halfvec) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_ge' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION halfvec_ge(halfvec, halfvec) IS
	'whether the first halfvec sorts after the second or equals it';

CREATE FUNCTION halfvec_gt(halfvec, halfvec) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_gt' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION halfvec_gt(halfvec, halfvec) IS
	'whether the first halfvec sorts after the second';

CREATE FUNCTION halfvec_cmp(halfvec, halfvec) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_cmp' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION halfvec_cmp(halfvec, halfvec) IS
	'-1, 0 or 1: the first halfvec sorts before the second, equals it, sorts after it';

-- Operators.

CREATE OPERATOR <-> (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = l2_distance,
	COMMUTATOR = <->
);
COMMENT ON OPERATOR <-> (halfvec, halfvec) IS 'Euclidean distance';

CREATE OPERATOR <#> (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = halfvec_negative_inner_product,
	COMMUTATOR = <#>
);
COMMENT ON OPERATOR <#> (halfvec, halfvec) IS 'negative inner product';

CREATE OPERATOR <=> (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = cosine_distance,
	COMMUTATOR = <=>
);
COMMENT ON OPERATOR <=> (halfvec, halfvec) IS 'cosine distance';

CREATE OPERATOR <+> (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = l1_distance,
	COMMUTATOR = <+>
);
COMMENT ON OPERATOR <+> (halfvec, halfvec) IS 'taxicab distance';

CREATE OPERATOR + (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = halfvec_add,
	COMMUTATOR = +
);
COMMENT ON OPERATOR + (halfvec, halfvec) IS 'add element by element';

CREATE OPERATOR - (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = halfvec_sub
);
COMMENT ON OPERATOR - (halfvec, halfvec) IS 'subtract element by element';

CREATE OPERATOR * (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = halfvec_mul,
	COMMUTATOR = *
);
COMMENT ON OPERATOR * (halfvec, halfvec) IS 'multiply element by element';

CREATE OPERATOR || (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = halfvec_concat
);
COMMENT ON OPERATOR || (halfvec, halfvec) IS 'concatenate';

CREATE OPERATOR < (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = halfvec_lt,
	COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (halfvec, halfvec) IS 'less than';

CREATE OPERATOR <= (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = halfvec_le,
	COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (halfvec, halfvec) IS 'less than or equal';

CREATE OPERATOR = (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = halfvec_eq,
	COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, MERGES
);
COMMENT ON OPERATOR = (halfvec, halfvec) IS 'equal';

CREATE OPERATOR <> (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = halfvec_ne,
	COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (halfvec, halfvec) IS 'not equal';

CREATE OPERATOR >= (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = halfvec_ge,
	COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (halfvec, halfvec) IS 'greater than or equal';

CREATE OPERATOR > (
	LEFTARG = halfvec, RIGHTARG = halfvec, FUNCTION = halfvec_gt,
	COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (halfvec, halfvec) IS 'greater than';

CREATE OPERATOR CLASS halfvec_ops
	DEFAULT FOR TYPE halfvec USING btree AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 halfvec_cmp(halfvec, halfvec);
COMMENT ON OPERATOR FAMILY halfvec_ops USING btree IS 'order of halfvecs';
COMMENT ON OPERATOR CLASS halfvec_ops USING btree IS
	'order of halfvecs: the first element that differs decides, then the dimensions';

-- Casts.

CREATE FUNCTION halfvec(halfvec, integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_to_halfvec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION halfvec(halfvec, integer, boolean) IS
	'the halfvec itself; raises when its dimensions are not those of the type modifier';

CREATE FUNCTION array_to_halfvec(integer[], integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_halfvec(integer[], integer, boolean) IS
	'converts an array of one dimension, each element to float4 and then to the nearest half; raises on a NULL, on a value beyond the range of a half, on no or more than 16000 elements, or on other dimensions than the type modifier''s';

CREATE FUNCTION array_to_halfvec(real[], integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_halfvec(real[], integer, boolean) IS
	'converts an array of one dimension, each element to the nearest half; raises on a NULL, NaN, infinity or value beyond the range of a half, on no or more than 16000 elements, or on other dimensions than the type modifier''s';

CREATE FUNCTION array_to_halfvec(double precision[], integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_halfvec(double precision[], integer, boolean) IS
	'converts an array of one dimension, each element to float4 and then to the nearest half; raises on a NULL, NaN, infinity or value beyond the range of a half, on no or more than 16000 elements, or on other dimensions than the type modifier''s';

CREATE FUNCTION array_to_halfvec(numeric[], integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION array_to_halfvec(numeric[], integer, boolean) IS
	'converts an array of one dimension, each element to float4 and then to the nearest half; raises on a NULL, NaN, infinity or value beyond the range of a half, on no or more than 16000 elements, or on other dimensions than the type modifier''s';

CREATE FUNCTION halfvec_to_float4(halfvec, integer, boolean) RETURNS real[]
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_to_float4' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION halfvec_to_float4(halfvec, integer, boolean) IS
	'the elements of a halfvec as an array';

CREATE FUNCTION vector_to_halfvec(vector, integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_vector_to_halfvec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_to_halfvec(vector, integer, boolean) IS
	'the elements of a vector, each rounded to the nearest half; raises on one beyond the range of a half, or on other dimensions than the type modifier''s';

CREATE FUNCTION halfvec_to_vector(halfvec, integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_to_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION halfvec_to_vector(halfvec, integer, boolean) IS
	'the elements of a halfvec as a vector; raises on other dimensions than the type modifier''s';

CREATE CAST (halfvec AS halfvec)
	WITH FUNCTION halfvec(halfvec, integer, boolean) AS IMPLICIT;
CREATE CAST (vector AS halfvec)
	WITH FUNCTION vector_to_halfvec(vector, integer, boolean) AS IMPLICIT;
CREATE CAST (halfvec AS vector)
	WITH FUNCTION halfvec_to_vector(halfvec, integer, boolean) AS ASSIGNMENT;
CREATE CAST (halfvec AS real[])
	WITH FUNCTION halfvec_to_float4(halfvec, integer, boolean) AS ASSIGNMENT;
CREATE CAST (integer[] AS halfvec)
	WITH FUNCTION array_to_halfvec(integer[], integer, boolean) AS ASSIGNMENT;
CREATE CAST (real[] AS halfvec)
	WITH FUNCTION array_to_halfvec(real[], integer, boolean) AS ASSIGNMENT;
CREATE CAST (double precision[] AS halfvec)
	WITH FUNCTION array_to_halfvec(double precision[], integer, boolean) AS ASSIGNMENT;
CREATE CAST (numeric[] AS halfvec)
	WITH FUNCTION array_to_halfvec(numeric[], integer, boolean) AS ASSIGNMENT;

COMMENT ON CAST (halfvec AS halfvec) IS 'checks the dimensions of the type modifier';
COMMENT ON CAST (vector AS halfvec) IS 'the elements of a vector, rounded to half precision';
COMMENT ON CAST (halfvec AS vector) IS 'the elements of a halfvec';
COMMENT ON CAST (halfvec AS real[]) IS 'the elements of a halfvec';
COMMENT ON CAST (integer[] AS halfvec) IS 'a halfvec of these elements, rounded to half precision';
COMMENT ON CAST (real[] AS halfvec) IS 'a halfvec of these elements, rounded to half precision';
COMMENT ON CAST (double precision[] AS halfvec) IS 'a halfvec of these elements, rounded to half precision';
COMMENT ON CAST (numeric[] AS halfvec) IS 'a halfvec of these elements, rounded to half precision';

-- Aggregates.  Their state: the number of halfvecs, then a sum for each element.

CREATE FUNCTION halfvec_accum(double precision[], halfvec) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_accum' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_accum(double precision[], halfvec) IS
	'adds a halfvec to the state of avg: the number of halfvecs, then the sum of each element; raises when dimensions differ and on overflow';

CREATE FUNCTION halfvec_sum_accum(double precision[], halfvec) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_sum_accum' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_sum_accum(double precision[], halfvec) IS
	'adds a halfvec to the state of sum: the number of halfvecs, then the sum of each element; raises when dimensions differ and on overflow';

CREATE FUNCTION halfvec_combine(double precision[], double precision[]) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_combine' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_combine(double precision[], double precision[]) IS
	'adds two states of avg or sum; raises when their dimensions differ and on overflow';

CREATE FUNCTION halfvec_avg(double precision[]) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_avg' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_avg(double precision[]) IS
	'the mean that a state of avg stands for; NULL when it counts no halfvec';

CREATE FUNCTION halfvec_sum(double precision[]) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_sum' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_sum(double precision[]) IS
	'the sum that a state of sum stands for; NULL when it counts no halfvec; raises on overflow of a half';

CREATE AGGREGATE avg(halfvec) (
	SFUNC = halfvec_accum,
	STYPE = double precision[],
	FINALFUNC = halfvec_avg,
	COMBINEFUNC = halfvec_combine,
	INITCOND = '{0}',
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE avg(halfvec) IS
	'mean of the halfvecs that are not NULL, element by element, computed in float8; NULL without any; raises when dimensions differ';

CREATE AGGREGATE sum(halfvec) (
	SFUNC = halfvec_sum_accum,
	STYPE = double precision[],
	FINALFUNC = halfvec_sum,
	COMBINEFUNC = halfvec_combine,
	INITCOND = '{0}',
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE sum(halfvec) IS
	'sum of the halfvecs that are not NULL, element by element, computed in float8; NULL without any; raises when dimensions differ and on overflow of a half';

-- ---------------------------------------------------------------------------------------------
-- Distances of bit strings (src/types)
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION hamming_distance(bit, bit) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_hamming_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION hamming_distance(bit, bit) IS
	'number of bits in which two bit strings differ; raises when their lengths differ';

CREATE FUNCTION jaccard_distance(bit, bit) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_jaccard_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION jaccard_distance(bit, bit) IS
	'1 minus the bits set in both bit strings over those set in either, from 0 to 1, and 1 when none is set in both; raises when their lengths differ';

CREATE OPERATOR <~> (
	LEFTARG = bit, RIGHTARG = bit, FUNCTION = hamming_distance,
	COMMUTATOR = <~>
);
COMMENT ON OPERATOR <~> (bit, bit) IS 'Hamming distance';

CREATE OPERATOR <%> (
	LEFTARG = bit, RIGHTARG = bit, FUNCTION = jaccard_distance,
	COMMUTATOR = <%>
);
COMMENT ON OPERATOR <%> (bit, bit) IS 'Jaccard distance';

-- ---------------------------------------------------------------------------------------------
-- The sparsevec type (src/types)
-- ---------------------------------------------------------------------------------------------

CREATE TYPE sparsevec;

CREATE FUNCTION sparsevec_in(cstring, oid, integer) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_in'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION sparsevec_in(cstring, oid, integer) IS
	'reads a sparse vector from text such as {1:1.5,3:-2}/5, indices from 1, then the dimensions; leaves zeros out; raises on malformed text, NaN, infinity, a number that only rounding makes zero, indices that repeat or are not among the dimensions, more than 16000 elements, no or more than 1000000000 dimensions, or others than the type modifier''s';

CREATE FUNCTION sparsevec_out(sparsevec) RETURNS cstring
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_out'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION sparsevec_out(sparsevec) IS
	'writes a sparse vector as text, by ascending index, each value in the shortest form that reads back to the same';

CREATE FUNCTION sparsevec_typmod_in(cstring[]) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_typmod_in'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sparsevec_typmod_in(cstring[]) IS
	'reads the type modifier of sparsevec(n); raises unless it is one number from 1 to 1000000000';

CREATE FUNCTION sparsevec_recv(internal, oid, integer) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_recv'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sparsevec_recv(internal, oid, integer) IS
	'reads a sparse vector from the binary format: int32 dimensions, int32 number of elements, int32 zero, int32 indices from 0, float4 values; raises as sparsevec_in does, and on indices that do not ascend and values that are zero';

CREATE FUNCTION sparsevec_send(sparsevec) RETURNS bytea
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_send'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sparsevec_send(sparsevec) IS
	'writes a sparse vector in the binary format: int32 dimensions, int32 number of elements, int32 zero, int32 indices from 0, float4 values';

CREATE TYPE sparsevec (
	INPUT = sparsevec_in,
	OUTPUT = sparsevec_out,
	TYPMOD_IN = sparsevec_typmod_in,
	RECEIVE = sparsevec_recv,
	SEND = sparsevec_send,
	STORAGE = external
);
COMMENT ON TYPE sparsevec IS
	'up to 16000 finite float4 elements that are not zero, at their places among 1 to 1000000000 dimensions; sparsevec(n) has exactly n';

-- Functions of one sparse vector.

CREATE FUNCTION l2_norm(sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_l2_norm'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION l2_norm(sparsevec) IS
	'Euclidean length of a sparse vector, computed in float8';

CREATE FUNCTION l2_normalize(sparsevec) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_l2_normalize'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION l2_normalize(sparsevec) IS
	'a sparse vector of the same direction and of Euclidean length 1; a zero vector stays zero';

-- Distances of a pair, with the bits of the dense vectors'.  All raise when the dimensions differ.

CREATE FUNCTION l2_distance(sparsevec, sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_l2_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION l2_distance(sparsevec, sparsevec) IS
	'Euclidean distance of two sparse vectors; raises when their dimensions differ';

CREATE FUNCTION sparsevec_l2_squared_distance(sparsevec, sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_l2_squared_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION sparsevec_l2_squared_distance(sparsevec, sparsevec) IS
	'square of the Euclidean distance of two sparse vectors; raises when their dimensions differ';

CREATE FUNCTION inner_product(sparsevec, sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_inner_product'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION inner_product(sparsevec, sparsevec) IS
	'inner product of two sparse vectors; raises when their dimensions differ';

CREATE FUNCTION sparsevec_negative_inner_product(sparsevec, sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_negative_inner_product'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION sparsevec_negative_inner_product(sparsevec, sparsevec) IS
	'inner product of two sparse vectors with its sign turned, so that smaller is nearer; raises when their dimensions differ';

CREATE FUNCTION cosine_distance(sparsevec, sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_cosine_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION cosine_distance(sparsevec, sparsevec) IS
	'1 minus the cosine of the angle between two sparse vectors, from 0 to 2, NaN when the squared length of either is 0 or infinite in float4; raises when their dimensions differ';

CREATE FUNCTION l1_distance(sparsevec, sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_l1_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION l1_distance(sparsevec, sparsevec) IS
	'taxicab distance of two sparse vectors: the sum of the absolute differences; raises when their dimensions differ';

-- Order: that of the dense vectors.

CREATE FUNCTION sparsevec_lt(sparsevec, sparsevec) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_lt'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION sparsevec_lt(sparsevec, sparsevec) IS
	'whether the first sparse vector sorts before the second';

CREATE FUNCTION sparsevec_le(sparsevec, sparsevec) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_le'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION sparsevec_le(sparsevec, sparsevec) IS
	'whether the first sparse vector sorts before the second or equals it';

CREATE FUNCTION sparsevec_eq(sparsevec, sparsevec) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_eq'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION sparsevec_eq(sparsevec, sparsevec) IS
	'whether two sparse vectors have the same dimensions and equal elements';

CREATE FUNCTION sparsevec_ne(sparsevec, sparsevec) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_ne'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION sparsevec_ne(sparsevec, sparsevec) IS
	'whether two sparse vectors differ in dimensions or in an element';

CREATE FUNCTION sparsevec_ge(sparsevec, sparsevec) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_ge'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION sparsevec_ge(sparsevec, sparsevec) IS
	'whether the first sparse vector sorts after the second or equals it';

CREATE FUNCTION sparsevec_gt(sparsevec, sparsevec) RETURNS boolean
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_gt'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION sparsevec_gt(sparsevec, sparsevec) IS
	'whether the first sparse vector sorts after the second';

CREATE FUNCTION sparsevec_cmp(sparsevec, sparsevec) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_cmp'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2;
COMMENT ON FUNCTION sparsevec_cmp(sparsevec, sparsevec) IS
	'-1, 0 or 1: the first sparse vector sorts before the second, equals it, sorts after it';

-- Operators.

CREATE OPERATOR <-> (
	LEFTARG = sparsevec, RIGHTARG = sparsevec, FUNCTION = l2_distance,
	COMMUTATOR = <->
);
COMMENT ON OPERATOR <-> (sparsevec, sparsevec) IS 'Euclidean distance';

CREATE OPERATOR <#> (
	LEFTARG = sparsevec, RIGHTARG = sparsevec, FUNCTION = sparsevec_negative_inner_product,
	COMMUTATOR = <#>
);
COMMENT ON OPERATOR <#> (sparsevec, sparsevec) IS 'negative inner product';

CREATE OPERATOR <=> (
	LEFTARG = sparsevec, RIGHTARG = sparsevec, FUNCTION = cosine_distance,
	COMMUTATOR = <=>
);
COMMENT ON OPERATOR <=> (sparsevec, sparsevec) IS 'cosine distance';

CREATE OPERATOR <+> (
	LEFTARG = sparsevec, RIGHTARG = sparsevec, FUNCTION = l1_distance,
	COMMUTATOR = <+>
);
COMMENT ON OPERATOR <+> (sparsevec, sparsevec) IS 'taxicab distance';

CREATE OPERATOR < (
	LEFTARG = sparsevec, RIGHTARG = sparsevec, FUNCTION = sparsevec_lt,
	COMMUTATOR = >, NEGATOR = >=,
	RESTRICT = scalarltsel, JOIN = scalarltjoinsel
);
COMMENT ON OPERATOR < (sparsevec, sparsevec) IS 'less than';

CREATE OPERATOR <= (
	LEFTARG = sparsevec, RIGHTARG = sparsevec, FUNCTION = sparsevec_le,
	COMMUTATOR = >=, NEGATOR = >,
	RESTRICT = scalarlesel, JOIN = scalarlejoinsel
);
COMMENT ON OPERATOR <= (sparsevec, sparsevec) IS 'less than or equal';

CREATE OPERATOR = (
	LEFTARG = sparsevec, RIGHTARG = sparsevec, FUNCTION = sparsevec_eq,
	COMMUTATOR = =, NEGATOR = <>,
	RESTRICT = eqsel, JOIN = eqjoinsel, MERGES
);
COMMENT ON OPERATOR = (sparsevec, sparsevec) IS 'equal';

CREATE OPERATOR <> (
	LEFTARG = sparsevec, RIGHTARG = sparsevec, FUNCTION = sparsevec_ne,
	COMMUTATOR = <>, NEGATOR = =,
	RESTRICT = neqsel, JOIN = neqjoinsel
);
COMMENT ON OPERATOR <> (sparsevec, sparsevec) IS 'not equal';

CREATE OPERATOR >= (
	LEFTARG = sparsevec, RIGHTARG = sparsevec, FUNCTION = sparsevec_ge,
	COMMUTATOR = <=, NEGATOR = <,
	RESTRICT = scalargesel, JOIN = scalargejoinsel
);
COMMENT ON OPERATOR >= (sparsevec, sparsevec) IS 'greater than or equal';

CREATE OPERATOR > (
	LEFTARG = sparsevec, RIGHTARG = sparsevec, FUNCTION = sparsevec_gt,
	COMMUTATOR = <, NEGATOR = <=,
	RESTRICT = scalargtsel, JOIN = scalargtjoinsel
);
COMMENT ON OPERATOR > (sparsevec, sparsevec) IS 'greater than';

CREATE OPERATOR CLASS sparsevec_ops
	DEFAULT FOR TYPE sparsevec USING btree AS
	OPERATOR 1 <,
	OPERATOR 2 <=,
	OPERATOR 3 =,
	OPERATOR 4 >=,
	OPERATOR 5 >,
	FUNCTION 1 sparsevec_cmp(sparsevec, sparsevec);
COMMENT ON OPERATOR FAMILY sparsevec_ops USING btree IS 'order of sparse vectors';
COMMENT ON OPERATOR CLASS sparsevec_ops USING btree IS
	'order of sparse vectors: that of the dense vectors';

-- Casts.

CREATE FUNCTION sparsevec(sparsevec, integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sparsevec(sparsevec, integer, boolean) IS
	'the sparse vector itself; raises when its dimensions are not those of the type modifier';

CREATE FUNCTION vector_to_sparsevec(vector, integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_vector_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_to_sparsevec(vector, integer, boolean) IS
	'the elements of a vector that are not zero; raises on other dimensions than the type modifier''s';

CREATE FUNCTION sparsevec_to_vector(sparsevec, integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_to_vector'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION sparsevec_to_vector(sparsevec, integer, boolean) IS
	'all elements of a sparse vector; raises beyond 16000 dimensions, or on others than the type modifier''s';

CREATE FUNCTION halfvec_to_sparsevec(halfvec, integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_to_sparsevec(halfvec, integer, boolean) IS
	'the elements of a halfvec that are not zero; raises on other dimensions than the type modifier''s';

CREATE FUNCTION sparsevec_to_halfvec(sparsevec, integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_to_halfvec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION sparsevec_to_halfvec(sparsevec, integer, boolean) IS
	'all elements of a sparse vector, each rounded to the nearest half; raises on a number beyond the range of a half, beyond 16000 dimensions, or on others than the type modifier''s';

CREATE FUNCTION array_to_sparsevec(integer[], integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_array_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_sparsevec(integer[], integer, boolean) IS
	'converts an array of one dimension, each element to the nearest float4; raises on a NULL, on more than 16000 elements that are not zero, on no elements at all, or on other dimensions than the type modifier''s';

CREATE FUNCTION array_to_sparsevec(real[], integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_array_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_sparsevec(real[], integer, boolean) IS
	'converts an array of one dimension; raises on a NULL, NaN or infinity, on more than 16000 elements that are not zero, on no elements at all, or on other dimensions than the type modifier''s';

CREATE FUNCTION array_to_sparsevec(double precision[], integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_array_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_sparsevec(double precision[], integer, boolean) IS
	'converts an array of one dimension, each element to the nearest float4; raises on a NULL, NaN, infinity or value beyond float4, on more than 16000 elements that are not zero, on no elements at all, or on other dimensions than the type modifier''s';

CREATE FUNCTION array_to_sparsevec(numeric[], integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_array_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION array_to_sparsevec(numeric[], integer, boolean) IS
	'converts an array of one dimension, each element to the nearest float4; raises on a NULL, NaN, infinity or value beyond float4, on more than 16000 elements that are not zero, on no elements at all, or on other dimensions than the type modifier''s';

CREATE CAST (sparsevec AS sparsevec)
	WITH FUNCTION sparsevec(sparsevec, integer, boolean) AS IMPLICIT;
CREATE CAST (sparsevec AS vector)
	WITH FUNCTION sparsevec_to_vector(sparsevec, integer, boolean) AS ASSIGNMENT;
CREATE CAST (vector AS sparsevec)
	WITH FUNCTION vector_to_sparsevec(vector, integer, boolean) AS IMPLICIT;
CREATE CAST (sparsevec AS halfvec)
	WITH FUNCTION sparsevec_to_halfvec(sparsevec, integer, boolean) AS ASSIGNMENT;
CREATE CAST (halfvec AS sparsevec)
	WITH FUNCTION halfvec_to_sparsevec(halfvec, integer, boolean) AS IMPLICIT;
CREATE CAST (integer[] AS sparsevec)
	WITH FUNCTION array_to_sparsevec(integer[], integer, boolean) AS ASSIGNMENT;
CREATE CAST (real[] AS sparsevec)
	WITH FUNCTION array_to_sparsevec(real[], integer, boolean) AS ASSIGNMENT;
CREATE CAST (double precision[] AS sparsevec)
	WITH FUNCTION array_to_sparsevec(double precision[], integer, boolean) AS ASSIGNMENT;
CREATE CAST (numeric[] AS sparsevec)
	WITH FUNCTION array_to_sparsevec(numeric[], integer, boolean) AS ASSIGNMENT;

COMMENT ON CAST (sparsevec AS sparsevec) IS 'checks the dimensions of the type modifier';
COMMENT ON CAST (sparsevec AS vector) IS 'all elements of a sparse vector';
COMMENT ON CAST (vector AS sparsevec) IS 'the elements of a vector that are not zero';
COMMENT ON CAST (sparsevec AS halfvec) IS 'all elements of a sparse vector, rounded to halves';
COMMENT ON CAST (halfvec AS sparsevec) IS 'the elements of a halfvec that are not zero';
COMMENT ON CAST (integer[] AS sparsevec) IS 'a sparse vector of these elements';
COMMENT ON CAST (real[] AS sparsevec) IS 'a sparse vector of these elements';
COMMENT ON CAST (double precision[] AS sparsevec) IS 'a sparse vector of these elements, rounded to float4';
COMMENT ON CAST (numeric[] AS sparsevec) IS 'a sparse vector of these elements, rounded to float4';

-- ---------------------------------------------------------------------------------------------
-- Batches of vectors (src/knn)
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION hybrid_distances(query vector, targets vector[], metric text DEFAULT 'l2')
RETURNS float8[]
AS 'MODULE_PATHNAME', 'hybrid_distances'
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION hybrid_distances(vector, vector[], text) IS
'distances of query to each of targets, in their order, as one batch; metric is l2, ip (negative inner product), cosine or l1; NULL where a target is NULL; raises on different dimensions and unknown metrics';

CREATE FUNCTION hybrid_knn(rel regclass, col name, queries vector[], k int DEFAULT 10,
	metric text DEFAULT 'l2', rows text DEFAULT NULL)
RETURNS TABLE (query int, id tid, distance float8)
AS 'MODULE_PATHNAME', 'hybrid_knn'
-- nobody knows which functions a rows query, a view or a policy calls
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000;
COMMENT ON FUNCTION hybrid_knn(regclass, name, vector[], int, text, text) IS
'the k nearest rows of rel, by its column col of vector or halfvec, for each of queries (numbered from 1), exact, nearest first, ties by row position; id is the row''s ctid; metric is l2, ip (negative inner product), cosine or l1; rows, when given, is a query returning the ctids to search among; sees what a SELECT by the caller would; raises on a column of another type, different dimensions, partitioned tables and missing rights';

CREATE FUNCTION hybrid_knn_join(left_rel regclass, left_col name, right_rel regclass, right_col name,
	k int DEFAULT 10, metric text DEFAULT 'l2')
RETURNS TABLE (left_id tid, right_id tid, distance float8)
AS 'MODULE_PATHNAME', 'hybrid_knn_join'
-- nobody knows which functions a view or a policy calls
LANGUAGE C STABLE PARALLEL UNSAFE COST 1000000 ROWS 10000;
COMMENT ON FUNCTION hybrid_knn_join(regclass, name, regclass, name, int, text) IS
'for each row of left_rel the k nearest rows of right_rel, by columns of vector or halfvec, exact, nearest first, ties by row position; left_id and right_id are the rows'' ctids; metric is l2, ip (negative inner product), cosine or l1; a left row whose vector is NULL has none; sees what a SELECT by the caller would; memory stays within work_mem; raises on a column of another type, different dimensions, partitioned tables and missing rights';

CREATE FUNCTION hybrid_knn_graph(rel regclass, id name, col name, k int DEFAULT 10,
	metric text DEFAULT 'cosine', weight text DEFAULT 'similarity')
RETURNS TABLE (source bigint, target bigint, weight real)
AS 'MODULE_PATHNAME', 'hybrid_knn_graph'
LANGUAGE C STABLE PARALLEL UNSAFE COST 1000000 ROWS 10000;
COMMENT ON FUNCTION hybrid_knn_graph(regclass, name, name, int, text, text) IS
'edges from each row of rel to its k nearest other rows by its column col of vector or halfvec, exact, nearest first, for graph functions; source and target are values of the integer column id; metric is l2, ip, cosine or l1; weight is similarity (max(0, 1 - distance) for cosine, 1 / (1 + distance) for l2 and l1, an error for ip) or one (always 1); sees what a SELECT by the caller would; memory stays within work_mem; raises on a NULL id, a column of another type, different dimensions, partitioned tables and missing rights';

-- ---------------------------------------------------------------------------------------------
-- The access method (src/index)
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION hybrid_handler(internal) RETURNS index_am_handler
AS 'MODULE_PATHNAME', 'hybrid_handler'
LANGUAGE C;
COMMENT ON FUNCTION hybrid_handler(internal) IS
'the access method hybrid; called by PostgreSQL only';

CREATE ACCESS METHOD hybrid TYPE INDEX HANDLER hybrid_handler;
COMMENT ON ACCESS METHOD hybrid IS
'nearest neighbours in the order of a distance operator, and what lies within a sphere; options: storage = float16 | float32 | int8, list_size';

CREATE FUNCTION hybrid_index_l2(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_l2'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_l2(internal) IS
'support function of operator classes: the metric is Euclidean distance; called by the index only';

CREATE FUNCTION hybrid_index_ip(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_ip'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_ip(internal) IS
'support function of operator classes: the metric is the negative inner product; called by the index only';

CREATE FUNCTION hybrid_index_cosine(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_cosine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_cosine(internal) IS
'support function of operator classes: the metric is cosine distance; called by the index only';

CREATE FUNCTION hybrid_index_l1(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_l1'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_l1(internal) IS
'support function of operator classes: the metric is taxicab distance; called by the index only';

CREATE FUNCTION hybrid_index_halfvec_l2(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_halfvec_l2'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_halfvec_l2(internal) IS
'support function of operator classes: halfvec, by Euclidean distance; called by the index only';

CREATE FUNCTION hybrid_index_halfvec_ip(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_halfvec_ip'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_halfvec_ip(internal) IS
'support function of operator classes: halfvec, by the negative inner product; called by the index only';

CREATE FUNCTION hybrid_index_halfvec_cosine(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_halfvec_cosine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_halfvec_cosine(internal) IS
'support function of operator classes: halfvec, by cosine distance; called by the index only';

CREATE FUNCTION hybrid_index_halfvec_l1(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_halfvec_l1'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_halfvec_l1(internal) IS
'support function of operator classes: halfvec, by taxicab distance; called by the index only';

CREATE FUNCTION hybrid_index_sparsevec_l2(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_sparsevec_l2'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_sparsevec_l2(internal) IS
'support function of operator classes: sparsevec, by Euclidean distance; called by the index only';

CREATE FUNCTION hybrid_index_sparsevec_ip(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_sparsevec_ip'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_sparsevec_ip(internal) IS
'support function of operator classes: sparsevec, by the negative inner product; called by the index only';

CREATE FUNCTION hybrid_index_sparsevec_cosine(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_sparsevec_cosine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_sparsevec_cosine(internal) IS
'support function of operator classes: sparsevec, by cosine distance; called by the index only';

CREATE FUNCTION hybrid_index_sparsevec_l1(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_sparsevec_l1'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_sparsevec_l1(internal) IS
'support function of operator classes: sparsevec, by taxicab distance; called by the index only';

CREATE FUNCTION hybrid_index_bit_hamming(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_bit_hamming'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_bit_hamming(internal) IS
'support function of operator classes: bit, by Hamming distance; called by the index only';

CREATE FUNCTION hybrid_index_bit_jaccard(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_bit_jaccard'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_index_bit_jaccard(internal) IS
'support function of operator classes: bit, by Jaccard distance; called by the index only';

-- What lies within a distance of a vector.

CREATE TYPE hybrid_sphere AS (center vector, radius double precision);
COMMENT ON TYPE hybrid_sphere IS
'what lies within a distance of a vector: its centre, and its radius in the measure of the operator that it is used with';

CREATE FUNCTION hybrid_sphere(center vector, radius double precision) RETURNS hybrid_sphere
AS 'MODULE_PATHNAME', 'hybrid_sphere'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_sphere(vector, double precision) IS
'the sphere around a centre with a radius, NULL where either is; nothing is within one whose radius is NaN; a halfvec becomes a centre by a cast, without loss';

CREATE FUNCTION hybrid_within_selectivity(internal, oid, internal, integer) RETURNS double precision
AS 'MODULE_PATHNAME', 'hybrid_within_selectivity'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_within_selectivity(internal, oid, internal, integer) IS
'which share of the rows is expected within a sphere, by the values of its dimensions in the statistics; called by the planner only';

CREATE FUNCTION vector_within_l2(vector, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_vector_within_l2'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION vector_within_l2(vector, hybrid_sphere) IS
'whether the Euclidean distance of a vector from the centre of a sphere is at most its radius; false where either is NaN, NULL where a field of the sphere is; raises when the dimensions differ';

CREATE OPERATOR <<->> (
	LEFTARG = vector, RIGHTARG = hybrid_sphere, FUNCTION = vector_within_l2,
	RESTRICT = hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<->> (vector, hybrid_sphere) IS 'within a sphere by Euclidean distance';

CREATE FUNCTION vector_within_ip(vector, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_vector_within_ip'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION vector_within_ip(vector, hybrid_sphere) IS
'whether the negative inner product of a vector from the centre of a sphere is at most its radius; false where either is NaN, NULL where a field of the sphere is; raises when the dimensions differ';

CREATE OPERATOR <<#>> (
	LEFTARG = vector, RIGHTARG = hybrid_sphere, FUNCTION = vector_within_ip,
	RESTRICT = hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<#>> (vector, hybrid_sphere) IS 'within a sphere by negative inner product';

CREATE FUNCTION vector_within_cosine(vector, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_vector_within_cosine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION vector_within_cosine(vector, hybrid_sphere) IS
'whether the cosine distance of a vector from the centre of a sphere is at most its radius; false where either is NaN, NULL where a field of the sphere is; raises when the dimensions differ';

CREATE OPERATOR <<=>> (
	LEFTARG = vector, RIGHTARG = hybrid_sphere, FUNCTION = vector_within_cosine,
	RESTRICT = hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<=>> (vector, hybrid_sphere) IS 'within a sphere by cosine distance';

CREATE FUNCTION vector_within_l1(vector, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_vector_within_l1'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION vector_within_l1(vector, hybrid_sphere) IS
'whether the taxicab distance of a vector from the centre of a sphere is at most its radius; false where either is NaN, NULL where a field of the sphere is; raises when the dimensions differ';

CREATE OPERATOR <<+>> (
	LEFTARG = vector, RIGHTARG = hybrid_sphere, FUNCTION = vector_within_l1,
	RESTRICT = hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<+>> (vector, hybrid_sphere) IS 'within a sphere by taxicab distance';

CREATE FUNCTION halfvec_within_l2(halfvec, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_halfvec_within_l2'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_within_l2(halfvec, hybrid_sphere) IS
'whether the Euclidean distance of a halfvec from the centre of a sphere is at most its radius; false where either is NaN, NULL where a field of the sphere is; raises when the dimensions differ';

CREATE OPERATOR <<->> (
	LEFTARG = halfvec, RIGHTARG = hybrid_sphere, FUNCTION = halfvec_within_l2,
	RESTRICT = hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<->> (halfvec, hybrid_sphere) IS 'within a sphere by Euclidean distance';

CREATE FUNCTION halfvec_within_ip(halfvec, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_halfvec_within_ip'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_within_ip(halfvec, hybrid_sphere) IS
'whether the negative inner product of a halfvec from the centre of a sphere is at most its radius; false where either is NaN, NULL where a field of the sphere is; raises when the dimensions differ';

CREATE OPERATOR <<#>> (
	LEFTARG = halfvec, RIGHTARG = hybrid_sphere, FUNCTION = halfvec_within_ip,
	RESTRICT = hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<#>> (halfvec, hybrid_sphere) IS 'within a sphere by negative inner product';

CREATE FUNCTION halfvec_within_cosine(halfvec, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_halfvec_within_cosine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_within_cosine(halfvec, hybrid_sphere) IS
'whether the cosine distance of a halfvec from the centre of a sphere is at most its radius; false where either is NaN, NULL where a field of the sphere is; raises when the dimensions differ';

CREATE OPERATOR <<=>> (
	LEFTARG = halfvec, RIGHTARG = hybrid_sphere, FUNCTION = halfvec_within_cosine,
	RESTRICT = hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<=>> (halfvec, hybrid_sphere) IS 'within a sphere by cosine distance';

CREATE FUNCTION halfvec_within_l1(halfvec, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_halfvec_within_l1'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_within_l1(halfvec, hybrid_sphere) IS
'whether the taxicab distance of a halfvec from the centre of a sphere is at most its radius; false where either is NaN, NULL where a field of the sphere is; raises when the dimensions differ';

CREATE OPERATOR <<+>> (
	LEFTARG = halfvec, RIGHTARG = hybrid_sphere, FUNCTION = halfvec_within_l1,
	RESTRICT = hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<+>> (halfvec, hybrid_sphere) IS 'within a sphere by taxicab distance';

CREATE OPERATOR CLASS vector_l2_ops DEFAULT FOR TYPE vector USING hybrid AS
	OPERATOR 1 <-> (vector, vector) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<->> (vector, hybrid_sphere),
	FUNCTION 1 hybrid_index_l2(internal);
COMMENT ON OPERATOR CLASS vector_l2_ops USING hybrid IS
'order by Euclidean distance, <->, and conditions, <<->>';

CREATE OPERATOR CLASS vector_ip_ops FOR TYPE vector USING hybrid AS
	OPERATOR 1 <#> (vector, vector) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<#>> (vector, hybrid_sphere),
	FUNCTION 1 hybrid_index_ip(internal);
COMMENT ON OPERATOR CLASS vector_ip_ops USING hybrid IS
'order by negative inner product, <#>, and conditions, <<#>>';

CREATE OPERATOR CLASS vector_cosine_ops FOR TYPE vector USING hybrid AS
	OPERATOR 1 <=> (vector, vector) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<=>> (vector, hybrid_sphere),
	FUNCTION 1 hybrid_index_cosine(internal);
COMMENT ON OPERATOR CLASS vector_cosine_ops USING hybrid IS
'order by cosine distance, <=>, and conditions, <<=>>; vectors whose squared length is 0 or infinite in float4 are not indexed';

CREATE OPERATOR CLASS vector_l1_ops FOR TYPE vector USING hybrid AS
	OPERATOR 1 <+> (vector, vector) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<+>> (vector, hybrid_sphere),
	FUNCTION 1 hybrid_index_l1(internal);
COMMENT ON OPERATOR CLASS vector_l1_ops USING hybrid IS
'order by taxicab distance, <+>, and conditions, <<+>>';

CREATE OPERATOR CLASS halfvec_l2_ops DEFAULT FOR TYPE halfvec USING hybrid AS
	OPERATOR 1 <-> (halfvec, halfvec) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<->> (halfvec, hybrid_sphere),
	FUNCTION 1 hybrid_index_halfvec_l2(internal);
COMMENT ON OPERATOR CLASS halfvec_l2_ops USING hybrid IS
'order by Euclidean distance, <->, and conditions, <<->>';

CREATE OPERATOR CLASS halfvec_ip_ops FOR TYPE halfvec USING hybrid AS
	OPERATOR 1 <#> (halfvec, halfvec) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<#>> (halfvec, hybrid_sphere),
	FUNCTION 1 hybrid_index_halfvec_ip(internal);
COMMENT ON OPERATOR CLASS halfvec_ip_ops USING hybrid IS
'order by negative inner product, <#>, and conditions, <<#>>';

CREATE OPERATOR CLASS halfvec_cosine_ops FOR TYPE halfvec USING hybrid AS
	OPERATOR 1 <=> (halfvec, halfvec) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<=>> (halfvec, hybrid_sphere),
	FUNCTION 1 hybrid_index_halfvec_cosine(internal);
COMMENT ON OPERATOR CLASS halfvec_cosine_ops USING hybrid IS
'order by cosine distance, <=>, and conditions, <<=>>; vectors whose squared length is 0 or infinite in float4 are not indexed';

CREATE OPERATOR CLASS halfvec_l1_ops FOR TYPE halfvec USING hybrid AS
	OPERATOR 1 <+> (halfvec, halfvec) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<+>> (halfvec, hybrid_sphere),
	FUNCTION 1 hybrid_index_halfvec_l1(internal);
COMMENT ON OPERATOR CLASS halfvec_l1_ops USING hybrid IS
'order by taxicab distance, <+>, and conditions, <<+>>';

CREATE OPERATOR CLASS sparsevec_l2_ops DEFAULT FOR TYPE sparsevec USING hybrid AS
	OPERATOR 1 <-> (sparsevec, sparsevec) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 hybrid_index_sparsevec_l2(internal);
COMMENT ON OPERATOR CLASS sparsevec_l2_ops USING hybrid IS
'order by Euclidean distance, <->';

CREATE OPERATOR CLASS sparsevec_ip_ops FOR TYPE sparsevec USING hybrid AS
	OPERATOR 1 <#> (sparsevec, sparsevec) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 hybrid_index_sparsevec_ip(internal);
COMMENT ON OPERATOR CLASS sparsevec_ip_ops USING hybrid IS
'order by negative inner product, <#>';

CREATE OPERATOR CLASS sparsevec_cosine_ops FOR TYPE sparsevec USING hybrid AS
	OPERATOR 1 <=> (sparsevec, sparsevec) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 hybrid_index_sparsevec_cosine(internal);
COMMENT ON OPERATOR CLASS sparsevec_cosine_ops USING hybrid IS
'order by cosine distance, <=>; vectors whose squared length is 0 or infinite in float4 are not indexed';

CREATE OPERATOR CLASS sparsevec_l1_ops FOR TYPE sparsevec USING hybrid AS
	OPERATOR 1 <+> (sparsevec, sparsevec) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 hybrid_index_sparsevec_l1(internal);
COMMENT ON OPERATOR CLASS sparsevec_l1_ops USING hybrid IS
'order by taxicab distance, <+>';

CREATE OPERATOR CLASS bit_hamming_ops DEFAULT FOR TYPE bit USING hybrid AS
	OPERATOR 1 <~> (bit, bit) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 hybrid_index_bit_hamming(internal);
COMMENT ON OPERATOR CLASS bit_hamming_ops USING hybrid IS 'order by Hamming distance, <~>';

CREATE OPERATOR CLASS bit_jaccard_ops FOR TYPE bit USING hybrid AS
	OPERATOR 1 <%> (bit, bit) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 hybrid_index_bit_jaccard(internal);
COMMENT ON OPERATOR CLASS bit_jaccard_ops USING hybrid IS 'order by Jaccard distance, <%>';

COMMENT ON OPERATOR FAMILY vector_l2_ops USING hybrid IS 'order by Euclidean distance';
COMMENT ON OPERATOR FAMILY vector_ip_ops USING hybrid IS 'order by negative inner product';
COMMENT ON OPERATOR FAMILY vector_cosine_ops USING hybrid IS 'order by cosine distance';
COMMENT ON OPERATOR FAMILY vector_l1_ops USING hybrid IS 'order by taxicab distance';
COMMENT ON OPERATOR FAMILY halfvec_l2_ops USING hybrid IS 'order by Euclidean distance';
COMMENT ON OPERATOR FAMILY halfvec_ip_ops USING hybrid IS 'order by negative inner product';
COMMENT ON OPERATOR FAMILY halfvec_cosine_ops USING hybrid IS 'order by cosine distance';
COMMENT ON OPERATOR FAMILY halfvec_l1_ops USING hybrid IS 'order by taxicab distance';
COMMENT ON OPERATOR FAMILY sparsevec_l2_ops USING hybrid IS 'order by Euclidean distance';
COMMENT ON OPERATOR FAMILY sparsevec_ip_ops USING hybrid IS 'order by negative inner product';
COMMENT ON OPERATOR FAMILY sparsevec_cosine_ops USING hybrid IS 'order by cosine distance';
COMMENT ON OPERATOR FAMILY sparsevec_l1_ops USING hybrid IS 'order by taxicab distance';
COMMENT ON OPERATOR FAMILY bit_hamming_ops USING hybrid IS 'order by Hamming distance';
COMMENT ON OPERATOR FAMILY bit_jaccard_ops USING hybrid IS 'order by Jaccard distance';

CREATE FUNCTION hybrid_index_stats(index regclass,
	OUT entries bigint, OUT dead bigint, OUT dims int, OUT storage text, OUT levels int,
	OUT lists bigint, OUT inner_lists bigint, OUT list_size int, OUT list_min bigint,
	OUT list_mean float8, OUT list_max bigint, OUT pages bigint, OUT meta_pages bigint,
	OUT list_pages bigint, OUT code_pages bigint, OUT vector_pages bigint, OUT moved_pages bigint,
	OUT free_pages bigint, OUT bytes bigint, OUT measured_by text)
AS 'MODULE_PATHNAME', 'hybrid_index_stats'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION hybrid_index_stats(regclass) IS
'what a hybrid index holds, by reading its lists: live entries, dead ones whose place inserts will use again, dimensions, storage of the vectors; levels of the tree, lists of rows, lists of lists, entries at which a list is split (NULL: there is one list only), least, mean and most entries of a list of rows; pages of the file, by what they hold: meta data, lists with codes, codes too long for these, vectors, lists that were split or merged and wait until nobody reads them, nothing; size in bytes; what hybrid_index_curve() was measured on: ''rows'' of the index, or ''queries'' that hybrid_index_measure() kept (NULL: it is not measured); for its owner and members of pg_stat_scan_tables; raises index_corrupted on a damaged page';

CREATE FUNCTION hybrid_index_curve(index regclass,
	OUT recall real, OUT missing real[], OUT rows real)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_index_curve'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 100 ROWS 9;
COMMENT ON FUNCTION hybrid_index_curve(regclass) IS
'what a hybrid index has measured on its own rows, or on queries that hybrid_index_measure() kept: for a recall, how many rows a search may expect to miss of each that is wanted, for queries from the most difficult to the easiest (NULL: there were too few so difficult, and 1 - recall is used), and how many rows searches look at on average; no rows: not measured, and 1 - recall is used; for its owner and members of pg_stat_scan_tables';

CREATE FUNCTION hybrid_last_scan(
	OUT index regclass, OUT target_recall float8, OUT probes int, OUT rounds bigint, OUT lists bigint,
	OUT rows_scored bigint, OUT rows_rescored bigint, OUT rows_rejected bigint, OUT rows_returned bigint,
	OUT expected_recall float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_last_scan'
-- a worker has had no scan
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION hybrid_last_scan() IS
'what the last scan of a hybrid index in this session did: the index (NULL: it has been dropped), the recall it went for (1: it read all stored vectors), hybrid.probes, searches (one, and one more whenever the rows it found were not enough), lists looked into, rows whose codes were scored, rows whose vectors were read, rows that a filter refused unread, rows returned to the executor, and the recall that its last search expects (at least the one it went for where it ended by itself, 1 where it has looked into all lists, NULL where it cannot tell, as with hybrid.probes); of several scans in a plan, the one that ended or was started again last; also of a scan that an error ended; not of scans in parallel workers; no row: there was none yet';

CREATE FUNCTION hybrid_index_measure(index regclass, queries vector[], k int DEFAULT 10, keep bool DEFAULT false)
RETURNS TABLE (target float8, recall float8, low_share float8, lists float8, rows_scored float8,
	p50_ms float8, p99_ms float8)
AS 'MODULE_PATHNAME', 'hybrid_index_measure'
-- nobody knows which functions a policy calls
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 4;
COMMENT ON FUNCTION hybrid_index_measure(regclass, vector[], int, bool) IS
'the recall of an index on a column of vector or halfvec for the caller''s own queries: for hybrid.target_recall of 0.9, 0.95, 0.99 and its current value, mean recall of ORDER BY ... LIMIT k through this index against hybrid_knn, the share of queries with a recall of 0.5 or less, lists looked into and rows whose codes were scored, means of all queries, and the times of half and of 99% of the queries; a row as near as the k-th nearest counts as found; NULL: no query has a row to find; hybrid.probes is taken to be 0, other settings apply; sees the rows that the caller may see, of a partial index those that meet its condition; keep: the index is first calibrated by these queries in the place of its own rows, each counted once, until VACUUM, which finds twice as many lists or a third of them gone, or REINDEX measures on rows again; a ROLLBACK does not undo that; the result is then that of the searches from now on; a notice where searches read all rows, and nothing is kept; raises on an expression index, other types, an empty array, NULL, different dimensions, and missing rights; with keep also unless the caller owns the index, in a read-only transaction, on a standby, and on fewer than 100 different queries';

CREATE FUNCTION hybrid_index_check(index regclass) RETURNS bigint
AS 'MODULE_PATHNAME', 'hybrid_index_check'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION hybrid_index_check(regclass) IS
'compares a hybrid index with its table and returns the number of live entries; raises index_corrupted on a damaged page, a list that is missing, met twice or of another level, a page of two lists, a wrong count, norm, residual or code, a row that is missing, met twice, stored with other values, or not there; notices pages that nothing leads to, as a crash leaves them; holds off VACUUM but not reads and writes; for the owner of the table';

-- ---------------------------------------------------------------------------------------------
-- Graphs (src/graph)
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION hybrid_spread(
	graph text, seeds bigint[], activation float8[] DEFAULT NULL, hops int DEFAULT 3,
	decay float8 DEFAULT 0.85, fan float8 DEFAULT 1, threshold float8 DEFAULT 0,
	refire int DEFAULT NULL, combine text DEFAULT 'sum', direction text DEFAULT 'out',
	types text[] DEFAULT NULL, normalise bool DEFAULT false, tolerance float8 DEFAULT 1e-9,
	k int DEFAULT NULL)
	RETURNS TABLE (id bigint, activation float8, hop int)
	AS 'MODULE_PATHNAME', 'hybrid_spread'
	-- Unsafe, since nobody knows what functions the edges query calls.
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000;

COMMENT ON FUNCTION hybrid_spread(text, bigint[], float8[], int, float8, float8, float8, int, text,
	text, text[], bool, float8, int) IS
'Activation spreading over a weighted graph.
graph: a query that begins with SELECT, WITH, VALUES or TABLE and returns source, target[, weight[, type]], by position; it only reads, with the rights, snapshot and search_path of the caller; weight is 1 where it returns none, finite and >= 0; for many rows of one statement it is run once, unless it calls volatile functions or reads foreign tables or sequences, or something that it depends on changes in between.
seeds: the nodes that start; activation: how much each starts with, finite and >= 0 (NULL: 1 each); a seed given twice starts with the sum, a seed without edges keeps what it has.
Each hop, a node that received at least threshold passes on decay times that, along its outgoing weights divided by (their sum ^ fan), fan being 0, 0.5 or 1; hops NULL: until what moves is less than tolerance times the seeds, an error where that may never end.
refire: how often a node may pass on (NULL: no limit); combine: ''sum'' of what arrives, or ''max'': the best path; direction: ''out'', ''in'' or ''both''; types: only edges of these types; normalise: the activations of all nodes add up to 1; k: at most so many rows.
Returns the nodes with activation above 0 and the hop that first reached each (0: a seed), by activation, largest first, then by id; the same numbers to the bit on every backend.
Raises on an edge with a NULL, or with a weight that is NaN, infinite or negative; on a query that is not a plain read or returns other columns; on arguments out of range; on activation out of range; on a graph beyond hybrid.graph_memory_limit.';

-- ---------------------------------------------------------------------------------------------
-- What the dispatcher did (src/telemetry)
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION hybrid_get_devices(
	OUT device int, OUT backend text, OUT name text, OUT architecture text, OUT cores int,
	OUT memory_total bigint, OUT memory_free bigint, OUT memory_used bigint, OUT state text,
	OUT detail text, OUT virtual bool, OUT contexts int, OUT limits text, OUT load float8,
	OUT queue int, OUT queue_us float8, OUT resident_bytes bigint, OUT resident_units bigint,
	OUT resident_hits bigint, OUT resident_misses bigint, OUT resident_evictions bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_get_devices'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 1000 ROWS 2;
COMMENT ON FUNCTION hybrid_get_devices() IS
'devices this session can use, and why not; memory in bytes; opens none; see the view hybrid_devices';

CREATE FUNCTION hybrid_get_capabilities(
	OUT device int, OUT backend text, OUT operation text, OUT dtype text, OUT metric text,
	OUT supported bool, OUT max_dims int, OUT max_targets bigint, OUT max_k int, OUT exact bool,
	OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_get_capabilities'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 1000 ROWS 66;
COMMENT ON FUNCTION hybrid_get_capabilities() IS
'what each device of this session can run, a row for each operation, type and metric; opens none; see the view hybrid_capabilities';

CREATE FUNCTION hybrid_get_stats(
	OUT scope text, OUT device int, OUT backend text, OUT number int, OUT name text,
	OUT architecture text, OUT operation text,
	OUT calls bigint, OUT pieces bigint, OUT items bigint, OUT failures bigint, OUT fallbacks bigint,
	OUT success_rate float8, OUT mean_us float8, OUT p50_us float8, OUT p99_us float8,
	OUT total_ms float8, OUT bytes_up bigint, OUT bytes_down bigint, OUT virtual bool,
	OUT reasons jsonb, OUT statuses jsonb, OUT fallback_causes jsonb, OUT flushes jsonb,
	OUT scan_limits jsonb)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_get_stats'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 1000 ROWS 10;
COMMENT ON FUNCTION hybrid_get_stats() IS
'counters, a row for each device and operation that was used: of all sessions for members of pg_monitor where hybrid is preloaded, else of this session; see the view hybrid_stats';

CREATE FUNCTION hybrid_get_events(
	OUT scope text, OUT at timestamptz, OUT pid int, OUT role name, OUT operation text,
	OUT dtype text, OUT metric text, OUT dims int, OUT queries bigint, OUT targets bigint,
	OUT k int, OUT items bigint, OUT strategy text, OUT device int, OUT backend text,
	OUT reason text, OUT fallback bool, OUT status text, OUT native_code int, OUT error text,
	OUT predicted_cpu_us float8, OUT predicted_device_us float8, OUT actual_us float8,
	OUT virtual bool, OUT bytes_required bigint, OUT bytes_available bigint, OUT pieces int,
	OUT split_share float8, OUT load float8, OUT queue int)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_get_events'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 1000 ROWS 256;
COMMENT ON FUNCTION hybrid_get_events() IS
'the last decisions of the dispatcher, oldest first: of all sessions for members of pg_monitor where hybrid is preloaded, else of this session; see the view hybrid_events';

CREATE FUNCTION hybrid_get_tracker(
	OUT scope text, OUT device int, OUT backend text, OUT name text, OUT operation text,
	OUT dtype text, OUT metric text, OUT dims_low int, OUT dims_high int, OUT resident bool,
	OUT observations bigint, OUT samples float8, OUT calibrated bool, OUT launch_us float8,
	OUT work_ns float8, OUT byte_ns float8, OUT serial_ns float8, OUT queries bigint,
	OUT targets bigint, OUT k int,
	OUT predicted_us float8, OUT speedup float8, OUT break_even bigint, OUT breaker text,
	OUT success_rate float8, OUT virtual bool)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_get_tracker'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 10000 ROWS 20;
COMMENT ON FUNCTION hybrid_get_tracker() IS
'what was learned, a row for each kind of batch and device: by all sessions for members of pg_monitor where hybrid is preloaded, else by this session; see the view hybrid_tracker';

CREATE FUNCTION hybrid_explain(
	operation text, targets bigint, dims int DEFAULT 0, queries bigint DEFAULT 1,
	metric text DEFAULT 'l2', k int DEFAULT 10, dtype text DEFAULT 'float32',
	OUT device int, OUT backend text, OUT chosen bool, OUT reason text, OUT status text,
	OUT detail text, OUT able bool, OUT open bool, OUT predicted_us float8,
	OUT in_flight_us float8, OUT samples int, OUT device_bytes bigint, OUT bytes_up bigint,
	OUT bytes_down bigint, OUT bytes_available bigint, OUT share float8, OUT virtual bool)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_explain'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 1000 ROWS 2;
COMMENT ON FUNCTION hybrid_explain(text, bigint, int, bigint, text, int, text) IS
'what the dispatcher would do with a batch, running nothing: a row for each device that is there, the one it would choose marked, with the reason, what each is expected to take in microseconds and to need in bytes; targets are rows or edges, queries may be seed sets; a status other than ok is the error that a forced device would raise; raises on an unknown operation, metric or dtype and on numbers that no batch has: negative ones, or more than a process has addresses for';

CREATE FUNCTION hybrid_audit(
	OUT shapes int, OUT compared int, OUT untrusted int, OUT routed_right int,
	OUT right_share float8, OUT best_ms float8, OUT lost_ms float8, OUT lost_share float8,
	OUT virtual bool, OUT detail text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_audit'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 100000 ROWS 1;
COMMENT ON FUNCTION hybrid_audit() IS
'runs a fixed grid of batches on every side and tells how many would have been routed to the fastest (a side that takes at most 5% longer is as good) and the milliseconds that wrong routes lose; learns nothing from it, opens no device; takes seconds, and 64 MB; with no open device one row that says so';

CREATE FUNCTION hybrid_audit_shapes(
	OUT operation text, OUT dims int, OUT queries bigint, OUT targets bigint, OUT k int,
	OUT device int, OUT backend text, OUT reason text, OUT best_device int,
	OUT best_backend text, OUT routed_right bool, OUT cpu_us float8, OUT device_us float8,
	OUT predicted_cpu_us float8, OUT predicted_device_us float8, OUT lost_us float8,
	OUT scaled bool)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_audit_shapes'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 100000 ROWS 200;
COMMENT ON FUNCTION hybrid_audit_shapes() IS
'hybrid_audit(), batch by batch: where it would have gone and why, which side was the fastest, what each took and was expected to take in microseconds; scaled: measured on a part of it';

CREATE FUNCTION hybrid_reset_stats() RETURNS void
AS 'MODULE_PATHNAME', 'hybrid_reset_stats'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION hybrid_reset_stats() IS
'forgets counters, events, measured times and open breakers: of all sessions where hybrid is preloaded, else of this session; for superusers and who was granted EXECUTE';
REVOKE EXECUTE ON FUNCTION hybrid_reset_stats() FROM PUBLIC;

CREATE TABLE hybrid_calibration (
	backend text NOT NULL, number int NOT NULL, name text NOT NULL, architecture text NOT NULL,
	operation text NOT NULL, dtype text NOT NULL, metric text NOT NULL, dims int NOT NULL,
	samples float8 NOT NULL, launch_us float8 NOT NULL, work_ns float8 NOT NULL,
	byte_ns float8 NOT NULL, serial_ns float8 NOT NULL, state float8[] NOT NULL, measured_at timestamptz NOT NULL,
	PRIMARY KEY (backend, number, name, architecture, operation, dtype, metric, dims));
COMMENT ON TABLE hybrid_calibration IS
'what hybrid_calibrate() measured: sessions start from it where they have no history; may be emptied';
COMMENT ON COLUMN hybrid_calibration.backend IS 'the CPU, or the plug-in that drives the device';
COMMENT ON COLUMN hybrid_calibration.number IS 'the plug-in''s own number of the device';
COMMENT ON COLUMN hybrid_calibration.name IS 'what the device calls itself';
COMMENT ON COLUMN hybrid_calibration.architecture IS 'instruction set or compute capability that was measured';
COMMENT ON COLUMN hybrid_calibration.operation IS 'distance, topk or spread';
COMMENT ON COLUMN hybrid_calibration.dtype IS 'of the vectors; float32 for spread';
COMMENT ON COLUMN hybrid_calibration.metric IS 'l2 for spread';
COMMENT ON COLUMN hybrid_calibration.dims IS 'of the vectors measured, which stand for those of about as many; 0 for spread';
COMMENT ON COLUMN hybrid_calibration.samples IS 'batches that were measured';
COMMENT ON COLUMN hybrid_calibration.launch_us IS 'microseconds of a batch, however small';
COMMENT ON COLUMN hybrid_calibration.work_ns IS 'nanoseconds of a multiplication (queries x targets x dimensions; edges x seed sets)';
COMMENT ON COLUMN hybrid_calibration.byte_ns IS 'nanoseconds of a byte moved';
COMMENT ON COLUMN hybrid_calibration.serial_ns IS 'nanoseconds of what more cores do not shorten: a result on the CPU, a dimension of a row on a device';
COMMENT ON COLUMN hybrid_calibration.state IS 'what these were fitted from, then what each size took: queries, targets, k, ns; a session reads this column';
COMMENT ON COLUMN hybrid_calibration.measured_at IS 'when';
-- Dumped, for a restore on the same machine: a row counts only where its device is.  Who dumps a
-- database may not be a superuser, and hybrid_explain() and hybrid_tracker tell everybody the same.
SELECT pg_catalog.pg_extension_config_dump('hybrid_calibration', '');
GRANT SELECT ON hybrid_calibration TO PUBLIC;

CREATE FUNCTION hybrid_run_calibration(
	OUT backend text, OUT number int, OUT name text, OUT architecture text, OUT operation text,
	OUT dtype text, OUT metric text, OUT dims int, OUT samples float8, OUT launch_us float8,
	OUT work_ns float8, OUT byte_ns float8, OUT serial_ns float8, OUT state float8[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_run_calibration'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000000 ROWS 60;
COMMENT ON FUNCTION hybrid_run_calibration() IS
'measures the CPU and every device with made-up batches, opening those that are closed, and returns what each kind took; keeps nothing: that is hybrid_calibrate()''s';
REVOKE EXECUTE ON FUNCTION hybrid_run_calibration() FROM PUBLIC;

-- Parsed now, so that it finds its table wherever the extension is moved to.
CREATE FUNCTION hybrid_calibrate() RETURNS SETOF hybrid_calibration
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER COST 1000000 ROWS 60
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	INSERT INTO hybrid_calibration
	SELECT r.*, pg_catalog.clock_timestamp() FROM hybrid_run_calibration() AS r
	ON CONFLICT (backend, number, name, architecture, operation, dtype, metric, dims)
	DO UPDATE SET samples = EXCLUDED.samples, launch_us = EXCLUDED.launch_us,
		work_ns = EXCLUDED.work_ns, byte_ns = EXCLUDED.byte_ns,
		serial_ns = EXCLUDED.serial_ns, state = EXCLUDED.state, measured_at = EXCLUDED.measured_at
	RETURNING *;
END;
COMMENT ON FUNCTION hybrid_calibrate() IS
'measures the CPU and every device with made-up batches for some seconds, and keeps what it found in hybrid_calibration, which it returns: sessions without history start from it; for superusers and who was granted EXECUTE';
REVOKE EXECUTE ON FUNCTION hybrid_calibrate() FROM PUBLIC;

CREATE VIEW hybrid_devices AS SELECT * FROM hybrid_get_devices();
COMMENT ON VIEW hybrid_devices IS 'devices of this session, and why one cannot be used';
COMMENT ON COLUMN hybrid_devices.device IS 'the session''s number of the device; 0 is the CPU';
COMMENT ON COLUMN hybrid_devices.backend IS 'the CPU, or the plug-in that drives the device';
COMMENT ON COLUMN hybrid_devices.name IS 'what the device calls itself; empty when it was never found';
COMMENT ON COLUMN hybrid_devices.architecture IS 'instruction set or compute capability';
COMMENT ON COLUMN hybrid_devices.cores IS 'processor cores or multiprocessors';
COMMENT ON COLUMN hybrid_devices.memory_total IS 'bytes; 0 where it is not known before the device is open';
COMMENT ON COLUMN hybrid_devices.memory_free IS 'bytes; NULL where it is not known';
COMMENT ON COLUMN hybrid_devices.memory_used IS 'bytes in use by all its users; of a device, once it is open';
COMMENT ON COLUMN hybrid_devices.state IS 'open, closed (it opens when that pays), left out (by hybrid.gpu_device), given up (not used again by this session) or unavailable';
COMMENT ON COLUMN hybrid_devices.detail IS 'why it cannot be used';
COMMENT ON COLUMN hybrid_devices.virtual IS 'an emulated device: its times are made up by a model';
COMMENT ON COLUMN hybrid_devices.contexts IS 'contexts open on it: by all sessions where limits is enforced, else by this one';
COMMENT ON COLUMN hybrid_devices.limits IS 'whether hybrid.gpu_max_contexts is enforced over all sessions; that takes hybrid in shared_preload_libraries';
COMMENT ON COLUMN hybrid_devices.load IS 'of the CPU: processes that could run for each core, over the last minute; of a device: tasks in queue for each place of hybrid.gpu_queue_depth; above 1 somebody waits';
COMMENT ON COLUMN hybrid_devices.queue IS 'tasks that wait for the device or are in flight there: of all sessions where limits is enforced, else of this one; NULL for the CPU';
COMMENT ON COLUMN hybrid_devices.queue_us IS 'microseconds that these are expected to take, those aside of which nothing is known yet; a batch that would go there now is expected to wait for them';
COMMENT ON COLUMN hybrid_devices.resident_bytes IS 'bytes that vectors of indexes and graphs take there which this session keeps for its next calls; NULL for the CPU, as the next four';
COMMENT ON COLUMN hybrid_devices.resident_units IS 'in so many units, each of some neighbouring lists of an index, or a graph';
COMMENT ON COLUMN hybrid_devices.resident_hits IS 'units that calls of this session have found there';
COMMENT ON COLUMN hybrid_devices.resident_misses IS 'units that they have not, since these were new, had changed, or had made room';
COMMENT ON COLUMN hybrid_devices.resident_evictions IS 'units that made room for others or for tasks';

CREATE VIEW hybrid_capabilities AS SELECT * FROM hybrid_get_capabilities();
COMMENT ON VIEW hybrid_capabilities IS 'what each device of this session that is there can run';
COMMENT ON COLUMN hybrid_capabilities.device IS 'the session''s number of the device; 0 is the CPU';
COMMENT ON COLUMN hybrid_capabilities.backend IS 'the CPU, or the plug-in that drives the device';
COMMENT ON COLUMN hybrid_capabilities.operation IS 'distance, topk, assign, score_codes or spread';
COMMENT ON COLUMN hybrid_capabilities.dtype IS 'of the vectors; NULL for spread';
COMMENT ON COLUMN hybrid_capabilities.metric IS 'NULL for spread';
COMMENT ON COLUMN hybrid_capabilities.supported IS 'whether it can run on the device at all';
COMMENT ON COLUMN hybrid_capabilities.max_dims IS 'most dimensions of a vector';
COMMENT ON COLUMN hybrid_capabilities.max_targets IS 'most rows or edges in one batch; NULL: as memory allows';
COMMENT ON COLUMN hybrid_capabilities.max_k IS 'most neighbours; NULL: any number, or it has none';
COMMENT ON COLUMN hybrid_capabilities.exact IS 'whether results have the same bits as the CPU''s; else they are candidates that the CPU checks';
COMMENT ON COLUMN hybrid_capabilities.reason IS 'why it is not supported';

CREATE VIEW hybrid_stats AS SELECT * FROM hybrid_get_stats();
COMMENT ON VIEW hybrid_stats IS 'what the dispatcher ran, by device and operation; of all sessions or of this one, as scope says';
COMMENT ON COLUMN hybrid_stats.scope IS 'cluster: all sessions since the server started or was reset; backend: this session only, without its parallel workers';
COMMENT ON COLUMN hybrid_stats.device IS 'the session''s number of the device; NULL when this session does not have it';
COMMENT ON COLUMN hybrid_stats.backend IS 'the CPU, or the plug-in that drives the device';
COMMENT ON COLUMN hybrid_stats.number IS 'the plug-in''s own number of the device';
COMMENT ON COLUMN hybrid_stats.name IS 'what the device calls itself';
COMMENT ON COLUMN hybrid_stats.architecture IS 'instruction set (hybrid.simd), or compute capability; backend, number, name and architecture together are one device';
COMMENT ON COLUMN hybrid_stats.operation IS 'distance, topk, assign, score_codes or spread';
COMMENT ON COLUMN hybrid_stats.calls IS 'batches that the device finished; one that was cut over several counts for the device it was sent to';
COMMENT ON COLUMN hybrid_stats.pieces IS 'pieces of batches cut over several devices, or too large for it, that the device finished';
COMMENT ON COLUMN hybrid_stats.items IS 'results asked for in these';
COMMENT ON COLUMN hybrid_stats.failures IS 'attempts that failed on the device; being cancelled is none, nor is a call that raised before anything ran: that is in hybrid_events';
COMMENT ON COLUMN hybrid_stats.fallbacks IS 'batches that the device gave up and the CPU then did';
COMMENT ON COLUMN hybrid_stats.success_rate IS 'finished batches among all attempts, 0 to 1';
COMMENT ON COLUMN hybrid_stats.mean_us IS 'mean time of a finished batch in microseconds';
COMMENT ON COLUMN hybrid_stats.p50_us IS 'median time of a finished batch in microseconds, to within its power of two';
COMMENT ON COLUMN hybrid_stats.p99_us IS '99th percentile of the same';
COMMENT ON COLUMN hybrid_stats.total_ms IS 'time spent in finished batches in milliseconds';
COMMENT ON COLUMN hybrid_stats.bytes_up IS 'bytes moved to the device';
COMMENT ON COLUMN hybrid_stats.bytes_down IS 'bytes moved back';
COMMENT ON COLUMN hybrid_stats.virtual IS 'times are made up by the emulated device''s model';
COMMENT ON COLUMN hybrid_stats.reasons IS 'why batches were sent here: count by reason';
COMMENT ON COLUMN hybrid_stats.statuses IS 'how attempts ended here: count by status';
COMMENT ON COLUMN hybrid_stats.fallback_causes IS 'what ended the last attempt of a batch that fell back: count by status';
COMMENT ON COLUMN hybrid_stats.flushes IS 'in the CPU''s rows, what ended the gathering of batches: count by size, time, memory, end';
COMMENT ON COLUMN hybrid_stats.scan_limits IS 'in the CPU''s row of distances, index scans that ended before they had found all rows that were wanted: count by max_scan_tuples (hybrid.max_scan_tuples), memory (hybrid.scan_mem_multiplier)';

CREATE VIEW hybrid_events AS SELECT * FROM hybrid_get_events();
COMMENT ON VIEW hybrid_events IS 'the last decisions of the dispatcher, oldest first; of all sessions or of this one, as scope says';
COMMENT ON COLUMN hybrid_events.scope IS 'cluster: the last decisions of all sessions; backend: of this session only, without its parallel workers';
COMMENT ON COLUMN hybrid_events.at IS 'when the call began';
COMMENT ON COLUMN hybrid_events.pid IS 'process id of the session, or of its parallel worker';
COMMENT ON COLUMN hybrid_events.role IS 'role that the session logged in as';
COMMENT ON COLUMN hybrid_events.operation IS 'distance, topk, assign, score_codes or spread';
COMMENT ON COLUMN hybrid_events.dtype IS 'of the vectors; NULL for spread';
COMMENT ON COLUMN hybrid_events.metric IS 'NULL for spread';
COMMENT ON COLUMN hybrid_events.dims IS 'dimensions of the vectors; 0 for spread';
COMMENT ON COLUMN hybrid_events.queries IS 'queries, or seed sets';
COMMENT ON COLUMN hybrid_events.targets IS 'rows compared with, or edges';
COMMENT ON COLUMN hybrid_events.k IS 'neighbours asked for; 0 where the operation has none';
COMMENT ON COLUMN hybrid_events.items IS 'results asked for: queries x targets';
COMMENT ON COLUMN hybrid_events.strategy IS 'hybrid.execution at that time; cpu under hybrid.force_cpu';
COMMENT ON COLUMN hybrid_events.device IS 'the session''s number of the device it was sent to first; NULL when this session does not have it, or nothing ran';
COMMENT ON COLUMN hybrid_events.backend IS 'what drives that device; NULL: nothing ran, since the device that hybrid.execution asks for could not, and the call raised';
COMMENT ON COLUMN hybrid_events.reason IS 'why it was sent there, or nowhere';
COMMENT ON COLUMN hybrid_events.fallback IS 'the device failed and the CPU answered';
COMMENT ON COLUMN hybrid_events.status IS 'how the first attempt ended, or why there was none';
COMMENT ON COLUMN hybrid_events.native_code IS 'the device''s own error number; 0: none';
COMMENT ON COLUMN hybrid_events.error IS 'the device''s own words, or, where a device was asked for or its driver failed, why there is none';
COMMENT ON COLUMN hybrid_events.predicted_cpu_us IS 'what the CPU was expected to take in microseconds; NULL: not known, or not asked, since hybrid.execution or another rule had decided before';
COMMENT ON COLUMN hybrid_events.predicted_device_us IS 'what the device was expected to take in microseconds; NULL: not known, or not asked, since hybrid.execution or another rule had decided before';
COMMENT ON COLUMN hybrid_events.actual_us IS 'what the whole call took in microseconds';
COMMENT ON COLUMN hybrid_events.virtual IS 'actual_us is made up by the emulated device''s model';
COMMENT ON COLUMN hybrid_events.bytes_required IS 'memory that the batch needed on the device';
COMMENT ON COLUMN hybrid_events.bytes_available IS 'memory that there was for it';
COMMENT ON COLUMN hybrid_events.pieces IS 'it was run in so many pieces; 0: whole';
COMMENT ON COLUMN hybrid_events.split_share IS 'of a batch that a device and the CPU worked at together: the device''s part of its rows, 0 to 1';
COMMENT ON COLUMN hybrid_events.load IS 'processes that could run for each core; NULL: not known';
COMMENT ON COLUMN hybrid_events.queue IS 'tasks that waited for the device that was considered, or were in flight there; NULL where no device was, or the decision was that of a batch just before';

CREATE VIEW hybrid_tracker AS SELECT * FROM hybrid_get_tracker();
COMMENT ON VIEW hybrid_tracker IS 'what was learned of each kind of batch on each device; by all sessions or by this one, as scope says';
COMMENT ON COLUMN hybrid_tracker.scope IS 'cluster: what all sessions learned; backend: this session only';
COMMENT ON COLUMN hybrid_tracker.device IS 'the session''s number of the device; 0 is the CPU; NULL when this session does not have it';
COMMENT ON COLUMN hybrid_tracker.backend IS 'the CPU, or the plug-in that drives the device';
COMMENT ON COLUMN hybrid_tracker.name IS 'what the device calls itself';
COMMENT ON COLUMN hybrid_tracker.operation IS 'distance, topk, assign, score_codes or spread';
COMMENT ON COLUMN hybrid_tracker.dtype IS 'of the vectors; NULL for spread';
COMMENT ON COLUMN hybrid_tracker.metric IS 'NULL for spread';
COMMENT ON COLUMN hybrid_tracker.dims_low IS 'the kind takes vectors of this many dimensions ...';
COMMENT ON COLUMN hybrid_tracker.dims_high IS '... to this many; 0 for spread';
COMMENT ON COLUMN hybrid_tracker.resident IS 'the rows already lie on the device';
COMMENT ON COLUMN hybrid_tracker.observations IS 'batches of this kind that were finished here and learned from';
COMMENT ON COLUMN hybrid_tracker.samples IS 'how many of these still count, at most hybrid.tracker_window';
COMMENT ON COLUMN hybrid_tracker.calibrated IS 'the fit rests on what hybrid_calibrate() measured: on that alone where there are no observations; of this session''s devices only';
COMMENT ON COLUMN hybrid_tracker.launch_us IS 'fitted: microseconds of a batch, however small';
COMMENT ON COLUMN hybrid_tracker.work_ns IS 'fitted: nanoseconds of a multiplication (queries x targets x dimensions; edges x seed sets)';
COMMENT ON COLUMN hybrid_tracker.byte_ns IS 'fitted: nanoseconds of a byte moved';
COMMENT ON COLUMN hybrid_tracker.serial_ns IS 'fitted: nanoseconds of what more cores do not shorten: a result on the CPU, a dimension of a row on a device';
COMMENT ON COLUMN hybrid_tracker.queries IS 'of the last batch of the kind, 1 where there was none; the columns that follow are of one like it';
COMMENT ON COLUMN hybrid_tracker.targets IS 'of the last batch of the kind, 1 where there was none';
COMMENT ON COLUMN hybrid_tracker.k IS 'of the last batch of the kind, 1 where there was none';
COMMENT ON COLUMN hybrid_tracker.predicted_us IS 'what such a batch is expected to take here';
COMMENT ON COLUMN hybrid_tracker.speedup IS 'what the CPU is expected to take for it, divided by that; NULL where one is not known';
COMMENT ON COLUMN hybrid_tracker.break_even IS 'items from which on the device is expected to win, with other numbers of targets; NULL: never, or not known';
COMMENT ON COLUMN hybrid_tracker.breaker IS 'closed: trusted with the operation; open: left alone; half-open: tried again';
COMMENT ON COLUMN hybrid_tracker.success_rate IS 'among the last attempts of the operation here, at most 100';
COMMENT ON COLUMN hybrid_tracker.virtual IS 'times are made up by the emulated device''s model';

GRANT SELECT ON hybrid_devices, hybrid_capabilities, hybrid_stats, hybrid_events, hybrid_tracker TO PUBLIC;
