-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION hybrid" to load this file. \quit

-- ---------------------------------------------------------------------------------------------
-- The vector type (src/types)
-- ---------------------------------------------------------------------------------------------

-- Types of the same name cannot share a schema.  Report that before anything is created.
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
			DETAIL = 'The type probably belongs to the extension pgvector, which keeps working unchanged.',
			HINT = 'Install hybrid into a schema of its own: '
				'CREATE SCHEMA hybrid; CREATE EXTENSION hybrid SCHEMA hybrid;';
	END IF;
END
$$;

CREATE TYPE vector;

CREATE FUNCTION vector_in(cstring, oid, integer) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION vector_in(cstring, oid, integer) IS
	'reads a vector from text such as [1,2.5,-3e4]; raises an error on malformed text, NaN, infinity, fewer than 1 or more than 16000 elements, or dimensions that differ from the type modifier';

CREATE FUNCTION vector_out(vector) RETURNS cstring
	AS 'MODULE_PATHNAME', 'hybrid_vector_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION vector_out(vector) IS
	'writes a vector as text, each element in the shortest form that reads back to the same value';

CREATE FUNCTION vector_typmod_in(cstring[]) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_vector_typmod_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION vector_typmod_in(cstring[]) IS
	'reads the type modifier of vector(n); raises an error unless it is a single number from 1 to 16000';

CREATE FUNCTION vector_recv(internal, oid, integer) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION vector_recv(internal, oid, integer) IS
	'reads a vector from the binary format: int16 dimensions, int16 zero, float4 elements; raises errors as vector_in does';

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

-- Functions of a single vector.

CREATE FUNCTION vector_dims(vector) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_vector_dims' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION vector_dims(vector) IS 'number of elements of a vector';

CREATE FUNCTION vector_norm(vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_norm' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_norm(vector) IS 'Euclidean length of a vector, computed in float8';

CREATE FUNCTION l2_normalize(vector) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_l2_normalize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION l2_normalize(vector) IS
	'returns a vector of the same direction with Euclidean length 1; a zero vector stays zero';

CREATE FUNCTION subvector(vector, integer, integer) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_subvector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION subvector(vector, integer, integer) IS
	'returns part of a vector, given the start position, counted from 1, and the number of elements; positions outside the vector are left out; raises an error if no element is left';

CREATE FUNCTION binary_quantize(vector) RETURNS bit
	AS 'MODULE_PATHNAME', 'hybrid_vector_binary_quantize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION binary_quantize(vector) IS
	'returns a bit for each element of a vector: 1 if the element is greater than zero, else 0';

-- Distances between two values.  All raise an error if the dimensions differ.

CREATE FUNCTION _hybrid_distance_cost(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'hybrid_distance_cost' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_distance_cost(internal) IS
	'planner support function: estimates the cost of a distance, including detoasting of column values; called by the planner only';

CREATE FUNCTION l2_distance(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION l2_distance(vector, vector) IS
	'Euclidean distance between two vectors; raises an error if their dimensions differ';

CREATE FUNCTION inner_product(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_inner_product' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION inner_product(vector, vector) IS
	'inner product of two vectors; raises an error if their dimensions differ';

CREATE FUNCTION vector_negative_inner_product(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_negative_inner_product'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION vector_negative_inner_product(vector, vector) IS
	'inner product of two vectors, multiplied by -1 so that a smaller value means nearer; raises an error if their dimensions differ';

CREATE FUNCTION cosine_distance(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_cosine_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION cosine_distance(vector, vector) IS
	'1 minus the cosine of the angle between two vectors, from 0 to 2; NaN if the squared length of either is 0 or infinite in float4; raises an error if their dimensions differ';

CREATE FUNCTION l1_distance(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_l1_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION l1_distance(vector, vector) IS
	'taxicab distance between two vectors, the sum of the absolute differences; raises an error if their dimensions differ';

CREATE FUNCTION vector_l2_squared_distance(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_l2_squared_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION vector_l2_squared_distance(vector, vector) IS
	'square of the Euclidean distance between two vectors; raises an error if their dimensions differ';

CREATE FUNCTION vector_spherical_distance(vector, vector) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_spherical_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION vector_spherical_distance(vector, vector) IS
	'angle between two vectors of length 1, divided by pi: from 0 to 1; raises an error if their dimensions differ';

-- Arithmetic, element by element.

CREATE FUNCTION vector_add(vector, vector) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_add(vector, vector) IS
	'adds two vectors element by element; raises an error if their dimensions differ, or on overflow';

CREATE FUNCTION vector_sub(vector, vector) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_sub' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_sub(vector, vector) IS
	'subtracts two vectors element by element; raises an error if their dimensions differ, or on overflow';

CREATE FUNCTION vector_mul(vector, vector) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_mul' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_mul(vector, vector) IS
	'multiplies two vectors element by element; raises an error if their dimensions differ, or on overflow or underflow';

CREATE FUNCTION vector_concat(vector, vector) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_concat' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_concat(vector, vector) IS
	'concatenates two vectors; raises an error if the result has more than 16000 dimensions';

-- Sort order: by the first element that differs, then by the number of dimensions.

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
	'compares two vectors in sort order: returns -1 if the first sorts before the second, 0 if they are equal, 1 if it sorts after the second';

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
COMMENT ON OPERATOR FAMILY vector_ops USING btree IS 'sort order of vectors';
COMMENT ON OPERATOR CLASS vector_ops USING btree IS
	'sort order of vectors: by the first element that differs, then by the number of dimensions';

-- Casts.

CREATE FUNCTION vector(vector, integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_to_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION vector(vector, integer, boolean) IS
	'returns the vector unchanged; raises an error if its dimensions differ from the type modifier';

CREATE FUNCTION array_to_vector(integer[], integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_vector(integer[], integer, boolean) IS
	'converts a one-dimensional array; rounds each element to float4; raises an error if the array contains NULL, if it has fewer than 1 or more than 16000 elements, or if the dimensions differ from the type modifier';

CREATE FUNCTION array_to_vector(real[], integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_vector(real[], integer, boolean) IS
	'converts a one-dimensional array; raises an error if the array contains NULL, NaN or infinity, if it has fewer than 1 or more than 16000 elements, or if the dimensions differ from the type modifier';

CREATE FUNCTION array_to_vector(double precision[], integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_vector(double precision[], integer, boolean) IS
	'converts a one-dimensional array; rounds each element to float4; raises an error if the array contains NULL, NaN, infinity or a value out of the range of float4, if it has fewer than 1 or more than 16000 elements, or if the dimensions differ from the type modifier';

CREATE FUNCTION array_to_vector(numeric[], integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION array_to_vector(numeric[], integer, boolean) IS
	'converts a one-dimensional array; rounds each element to float4; raises an error if the array contains NULL, NaN, infinity or a value out of the range of float4, if it has fewer than 1 or more than 16000 elements, or if the dimensions differ from the type modifier';

CREATE FUNCTION vector_to_float4(vector, integer, boolean) RETURNS real[]
	AS 'MODULE_PATHNAME', 'hybrid_vector_to_float4' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION vector_to_float4(vector, integer, boolean) IS
	'returns the elements of a vector as an array';

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

COMMENT ON CAST (vector AS vector) IS 'checks the dimensions against the type modifier';
COMMENT ON CAST (vector AS real[]) IS 'elements of a vector';
COMMENT ON CAST (integer[] AS vector) IS 'vector of these elements';
COMMENT ON CAST (real[] AS vector) IS 'vector of these elements';
COMMENT ON CAST (double precision[] AS vector) IS 'vector of these elements, rounded to float4';
COMMENT ON CAST (numeric[] AS vector) IS 'vector of these elements, rounded to float4';

-- Aggregates.  The state is the number of vectors, followed by the sum of each element.

CREATE FUNCTION vector_accum(double precision[], vector) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'hybrid_vector_accum' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_accum(double precision[], vector) IS
	'adds a vector to the state of avg, which is the number of vectors followed by the sum of each element; raises an error if dimensions differ, or on overflow';

CREATE FUNCTION vector_sum_accum(double precision[], vector) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'hybrid_vector_sum_accum' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_sum_accum(double precision[], vector) IS
	'adds a vector to the state of sum, which is the number of vectors followed by the sum of each element; raises an error if dimensions differ, or on overflow';

CREATE FUNCTION vector_combine(double precision[], double precision[]) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'hybrid_vector_combine' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_combine(double precision[], double precision[]) IS
	'adds two states of avg or sum; raises an error if their dimensions differ, or on overflow';

CREATE FUNCTION vector_avg(double precision[]) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_avg' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_avg(double precision[]) IS
	'returns the mean from a state of avg; NULL if the state contains no vector';

CREATE FUNCTION vector_sum(double precision[]) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_vector_sum' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_sum(double precision[]) IS
	'returns the sum from a state of sum; NULL if the state contains no vector; raises an error if a sum overflows float4';

CREATE AGGREGATE avg(vector) (
	SFUNC = vector_accum,
	STYPE = double precision[],
	FINALFUNC = vector_avg,
	COMBINEFUNC = vector_combine,
	INITCOND = '{0}',
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE avg(vector) IS
	'mean of all non-null vectors, element by element, computed in float8; NULL if there are none; raises an error if dimensions differ';

CREATE AGGREGATE sum(vector) (
	SFUNC = vector_sum_accum,
	STYPE = double precision[],
	FINALFUNC = vector_sum,
	COMBINEFUNC = vector_combine,
	INITCOND = '{0}',
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE sum(vector) IS
	'sum of all non-null vectors, element by element, computed in float8; NULL if there are none; raises an error if dimensions differ, or if a sum overflows float4';

-- ---------------------------------------------------------------------------------------------
-- The halfvec type (src/types)
-- ---------------------------------------------------------------------------------------------

CREATE TYPE halfvec;

CREATE FUNCTION halfvec_in(cstring, oid, integer) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION halfvec_in(cstring, oid, integer) IS
	'reads a halfvec from text such as [1,2.5,-3e4]; rounds each number to float4 and then to half precision; raises an error on malformed text, NaN, infinity, a number out of the range of half precision, fewer than 1 or more than 16000 elements, or dimensions that differ from the type modifier';

CREATE FUNCTION halfvec_out(halfvec) RETURNS cstring
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_out' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION halfvec_out(halfvec) IS
	'writes a halfvec as text, each element in the shortest form that reads back to the same float4, and thus to the same half-precision value';

CREATE FUNCTION halfvec_typmod_in(cstring[]) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_typmod_in' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION halfvec_typmod_in(cstring[]) IS
	'reads the type modifier of halfvec(n); raises an error unless it is a single number from 1 to 16000';

CREATE FUNCTION halfvec_recv(internal, oid, integer) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_recv' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION halfvec_recv(internal, oid, integer) IS
	'reads a halfvec from the binary format: int16 dimensions, int16 zero, binary16 elements; raises errors as halfvec_in does';

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

-- Functions of a single halfvec.

CREATE FUNCTION vector_dims(halfvec) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_vector_dims' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION vector_dims(halfvec) IS 'number of elements of a halfvec';

CREATE FUNCTION l2_norm(halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_norm' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION l2_norm(halfvec) IS 'Euclidean length of a halfvec, computed in float8';

CREATE FUNCTION l2_normalize(halfvec) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_l2_normalize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION l2_normalize(halfvec) IS
	'returns a halfvec of the same direction with Euclidean length 1; a zero halfvec stays zero';

CREATE FUNCTION subvector(halfvec, integer, integer) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_subvector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION subvector(halfvec, integer, integer) IS
	'returns part of a halfvec, given the start position, counted from 1, and the number of elements; positions outside the halfvec are left out; raises an error if no element is left';

CREATE FUNCTION binary_quantize(halfvec) RETURNS bit
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_binary_quantize' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION binary_quantize(halfvec) IS
	'returns a bit for each element of a halfvec: 1 if the element is greater than zero, else 0';

-- Distances between two values.  All raise an error if the dimensions differ.

CREATE FUNCTION l2_distance(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_l2_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION l2_distance(halfvec, halfvec) IS
	'Euclidean distance between two halfvecs; raises an error if their dimensions differ';

CREATE FUNCTION inner_product(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_inner_product' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION inner_product(halfvec, halfvec) IS
	'inner product of two halfvecs; raises an error if their dimensions differ';

CREATE FUNCTION halfvec_negative_inner_product(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_negative_inner_product'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_negative_inner_product(halfvec, halfvec) IS
	'inner product of two halfvecs, multiplied by -1 so that a smaller value means nearer; raises an error if their dimensions differ';

CREATE FUNCTION cosine_distance(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_cosine_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION cosine_distance(halfvec, halfvec) IS
	'1 minus the cosine of the angle between two halfvecs, from 0 to 2; NaN if the squared length of either is 0 or infinite in float4; raises an error if their dimensions differ';

CREATE FUNCTION l1_distance(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_l1_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION l1_distance(halfvec, halfvec) IS
	'taxicab distance between two halfvecs, the sum of the absolute differences; raises an error if their dimensions differ';

CREATE FUNCTION halfvec_l2_squared_distance(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_l2_squared_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_l2_squared_distance(halfvec, halfvec) IS
	'square of the Euclidean distance between two halfvecs; raises an error if their dimensions differ';

CREATE FUNCTION halfvec_spherical_distance(halfvec, halfvec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_spherical_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_spherical_distance(halfvec, halfvec) IS
	'angle between two halfvecs of length 1, divided by pi: from 0 to 1; raises an error if their dimensions differ';

-- Arithmetic, element by element.

CREATE FUNCTION halfvec_add(halfvec, halfvec) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_add' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_add(halfvec, halfvec) IS
	'adds two halfvecs element by element; raises an error if their dimensions differ, or on overflow';

CREATE FUNCTION halfvec_sub(halfvec, halfvec) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_sub' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_sub(halfvec, halfvec) IS
	'subtracts two halfvecs element by element; raises an error if their dimensions differ, or on overflow';

CREATE FUNCTION halfvec_mul(halfvec, halfvec) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_mul' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_mul(halfvec, halfvec) IS
	'multiplies two halfvecs element by element; raises an error if their dimensions differ, or on overflow or underflow';

CREATE FUNCTION halfvec_concat(halfvec, halfvec) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_concat' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_concat(halfvec, halfvec) IS
	'concatenates two halfvecs; raises an error if the result has more than 16000 dimensions';

-- Sort order: by the first element that differs, then by the number of dimensions.

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
	'compares two halfvecs in sort order: returns -1 if the first sorts before the second, 0 if they are equal, 1 if it sorts after the second';

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
COMMENT ON OPERATOR FAMILY halfvec_ops USING btree IS 'sort order of halfvecs';
COMMENT ON OPERATOR CLASS halfvec_ops USING btree IS
	'sort order of halfvecs: by the first element that differs, then by the number of dimensions';

-- Casts.

CREATE FUNCTION halfvec(halfvec, integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_to_halfvec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION halfvec(halfvec, integer, boolean) IS
	'returns the halfvec unchanged; raises an error if its dimensions differ from the type modifier';

CREATE FUNCTION array_to_halfvec(integer[], integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_halfvec(integer[], integer, boolean) IS
	'converts a one-dimensional array; rounds each element to float4 and then to half precision; raises an error if the array contains NULL or a value out of the range of half precision, if it has fewer than 1 or more than 16000 elements, or if the dimensions differ from the type modifier';

CREATE FUNCTION array_to_halfvec(real[], integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_halfvec(real[], integer, boolean) IS
	'converts a one-dimensional array; rounds each element to half precision; raises an error if the array contains NULL, NaN, infinity or a value out of the range of half precision, if it has fewer than 1 or more than 16000 elements, or if the dimensions differ from the type modifier';

CREATE FUNCTION array_to_halfvec(double precision[], integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_halfvec(double precision[], integer, boolean) IS
	'converts a one-dimensional array; rounds each element to float4 and then to half precision; raises an error if the array contains NULL, NaN, infinity or a value out of the range of half precision, if it has fewer than 1 or more than 16000 elements, or if the dimensions differ from the type modifier';

CREATE FUNCTION array_to_halfvec(numeric[], integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_from_array' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION array_to_halfvec(numeric[], integer, boolean) IS
	'converts a one-dimensional array; rounds each element to float4 and then to half precision; raises an error if the array contains NULL, NaN, infinity or a value out of the range of half precision, if it has fewer than 1 or more than 16000 elements, or if the dimensions differ from the type modifier';

CREATE FUNCTION halfvec_to_float4(halfvec, integer, boolean) RETURNS real[]
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_to_float4' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION halfvec_to_float4(halfvec, integer, boolean) IS
	'returns the elements of a halfvec as an array';

CREATE FUNCTION vector_to_halfvec(vector, integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_vector_to_halfvec' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_to_halfvec(vector, integer, boolean) IS
	'converts a vector to a halfvec; rounds each element to half precision; raises an error if an element is out of the range of half precision, or if the dimensions differ from the type modifier';

CREATE FUNCTION halfvec_to_vector(halfvec, integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_to_vector' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION halfvec_to_vector(halfvec, integer, boolean) IS
	'converts a halfvec to a vector; raises an error if the dimensions differ from the type modifier';

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

COMMENT ON CAST (halfvec AS halfvec) IS 'checks the dimensions against the type modifier';
COMMENT ON CAST (vector AS halfvec) IS 'elements of a vector, rounded to half precision';
COMMENT ON CAST (halfvec AS vector) IS 'elements of a halfvec';
COMMENT ON CAST (halfvec AS real[]) IS 'elements of a halfvec';
COMMENT ON CAST (integer[] AS halfvec) IS 'halfvec of these elements, rounded to half precision';
COMMENT ON CAST (real[] AS halfvec) IS 'halfvec of these elements, rounded to half precision';
COMMENT ON CAST (double precision[] AS halfvec) IS 'halfvec of these elements, rounded to half precision';
COMMENT ON CAST (numeric[] AS halfvec) IS 'halfvec of these elements, rounded to half precision';

-- Aggregates.  The state is the number of halfvecs, followed by the sum of each element.

CREATE FUNCTION halfvec_accum(double precision[], halfvec) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_accum' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_accum(double precision[], halfvec) IS
	'adds a halfvec to the state of avg, which is the number of halfvecs followed by the sum of each element; raises an error if dimensions differ, or on overflow';

CREATE FUNCTION halfvec_sum_accum(double precision[], halfvec) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_sum_accum' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_sum_accum(double precision[], halfvec) IS
	'adds a halfvec to the state of sum, which is the number of halfvecs followed by the sum of each element; raises an error if dimensions differ, or on overflow';

CREATE FUNCTION halfvec_combine(double precision[], double precision[]) RETURNS double precision[]
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_combine' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_combine(double precision[], double precision[]) IS
	'adds two states of avg or sum; raises an error if their dimensions differ, or on overflow';

CREATE FUNCTION halfvec_avg(double precision[]) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_avg' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_avg(double precision[]) IS
	'returns the mean from a state of avg; NULL if the state contains no halfvec';

CREATE FUNCTION halfvec_sum(double precision[]) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_sum' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_sum(double precision[]) IS
	'returns the sum from a state of sum; NULL if the state contains no halfvec; raises an error if a sum overflows half precision';

CREATE AGGREGATE avg(halfvec) (
	SFUNC = halfvec_accum,
	STYPE = double precision[],
	FINALFUNC = halfvec_avg,
	COMBINEFUNC = halfvec_combine,
	INITCOND = '{0}',
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE avg(halfvec) IS
	'mean of all non-null halfvecs, element by element, computed in float8; NULL if there are none; raises an error if dimensions differ';

CREATE AGGREGATE sum(halfvec) (
	SFUNC = halfvec_sum_accum,
	STYPE = double precision[],
	FINALFUNC = halfvec_sum,
	COMBINEFUNC = halfvec_combine,
	INITCOND = '{0}',
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE sum(halfvec) IS
	'sum of all non-null halfvecs, element by element, computed in float8; NULL if there are none; raises an error if dimensions differ, or if a sum overflows half precision';

-- ---------------------------------------------------------------------------------------------
-- Distances of bit strings (src/types)
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION hamming_distance(bit, bit) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_hamming_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION hamming_distance(bit, bit) IS
	'number of bits in which two bit strings differ; raises an error if their lengths differ';

CREATE FUNCTION jaccard_distance(bit, bit) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_jaccard_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 5
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION jaccard_distance(bit, bit) IS
	'1 minus the ratio of bits set in both bit strings to bits set in either, from 0 to 1; 1 if no bit is set in both; raises an error if their lengths differ';

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
-- MaxSim: two arrays of vectors (src/types)
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION hybrid_maxsim(query vector[], document vector[]) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_maxsim' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION hybrid_maxsim(vector[], vector[]) IS
	'sum, over the vectors of the query, of the largest inner product with a vector of the document; NULL if either array is empty; raises an error if an element is NULL or dimensions differ';

CREATE FUNCTION hybrid_maxsim(query halfvec[], document halfvec[]) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_maxsim' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION hybrid_maxsim(halfvec[], halfvec[]) IS
	'sum, over the halfvecs of the query, of the largest inner product with a halfvec of the document; NULL if either array is empty; raises an error if an element is NULL or dimensions differ';

CREATE FUNCTION hybrid_maxsim_distance(document vector[], query vector[]) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_vector_maxsim_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION hybrid_maxsim_distance(vector[], vector[]) IS
	'hybrid_maxsim(query, document), multiplied by -1 so that a smaller value means more similar';

CREATE FUNCTION hybrid_maxsim_distance(document halfvec[], query halfvec[]) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_maxsim_distance' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 2000
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION hybrid_maxsim_distance(halfvec[], halfvec[]) IS
	'hybrid_maxsim(query, document), multiplied by -1 so that a smaller value means more similar';

CREATE OPERATOR @# (LEFTARG = vector[], RIGHTARG = vector[], FUNCTION = hybrid_maxsim_distance);
COMMENT ON OPERATOR @# (vector[], vector[]) IS
	'negative MaxSim of a document (left) and a query (right)';

CREATE OPERATOR @# (LEFTARG = halfvec[], RIGHTARG = halfvec[], FUNCTION = hybrid_maxsim_distance);
COMMENT ON OPERATOR @# (halfvec[], halfvec[]) IS
	'negative MaxSim of a document (left) and a query (right)';

-- ---------------------------------------------------------------------------------------------
-- The sparsevec type (src/types)
-- ---------------------------------------------------------------------------------------------

CREATE TYPE sparsevec;

CREATE FUNCTION sparsevec_in(cstring, oid, integer) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_in'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION sparsevec_in(cstring, oid, integer) IS
	'reads a sparse vector from text such as {1:1.5,3:-2}/5, with indices from 1, followed by the dimensions; omits zeros; raises an error on malformed text, NaN, infinity, a nonzero number that rounds to zero, indices that repeat or exceed the dimensions, more than 16000 elements, fewer than 1 or more than 1000000000 dimensions, or dimensions that differ from the type modifier';

CREATE FUNCTION sparsevec_out(sparsevec) RETURNS cstring
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_out'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION sparsevec_out(sparsevec) IS
	'writes a sparse vector as text, by ascending index, each element in the shortest form that reads back to the same value';

CREATE FUNCTION sparsevec_typmod_in(cstring[]) RETURNS integer
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_typmod_in'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sparsevec_typmod_in(cstring[]) IS
	'reads the type modifier of sparsevec(n); raises an error unless it is a single number from 1 to 1000000000';

CREATE FUNCTION sparsevec_recv(internal, oid, integer) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_recv'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION sparsevec_recv(internal, oid, integer) IS
	'reads a sparse vector from the binary format: int32 dimensions, int32 number of elements, int32 zero, int32 indices from 0, float4 values; raises errors as sparsevec_in does, and if indices are not in ascending order or a value is zero';

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
	'up to 16000 finite nonzero float4 elements, at their positions among 1 to 1000000000 dimensions; sparsevec(n) has exactly n dimensions';

-- Functions of a single sparse vector.

CREATE FUNCTION l2_norm(sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_l2_norm'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION l2_norm(sparsevec) IS
	'Euclidean length of a sparse vector, computed in float8';

CREATE FUNCTION l2_normalize(sparsevec) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_l2_normalize'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 10;
COMMENT ON FUNCTION l2_normalize(sparsevec) IS
	'returns a sparse vector of the same direction with Euclidean length 1; a zero vector stays zero';

-- Distances between two values, bit-identical to those of dense vectors.  All raise an error if the
-- dimensions differ.

CREATE FUNCTION l2_distance(sparsevec, sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_l2_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION l2_distance(sparsevec, sparsevec) IS
	'Euclidean distance between two sparse vectors; raises an error if their dimensions differ';

CREATE FUNCTION sparsevec_l2_squared_distance(sparsevec, sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_l2_squared_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION sparsevec_l2_squared_distance(sparsevec, sparsevec) IS
	'square of the Euclidean distance between two sparse vectors; raises an error if their dimensions differ';

CREATE FUNCTION inner_product(sparsevec, sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_inner_product'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION inner_product(sparsevec, sparsevec) IS
	'inner product of two sparse vectors; raises an error if their dimensions differ';

CREATE FUNCTION sparsevec_negative_inner_product(sparsevec, sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_negative_inner_product'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION sparsevec_negative_inner_product(sparsevec, sparsevec) IS
	'inner product of two sparse vectors, multiplied by -1 so that a smaller value means nearer; raises an error if their dimensions differ';

CREATE FUNCTION cosine_distance(sparsevec, sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_cosine_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION cosine_distance(sparsevec, sparsevec) IS
	'1 minus the cosine of the angle between two sparse vectors, from 0 to 2; NaN if the squared length of either is 0 or infinite in float4; raises an error if their dimensions differ';

CREATE FUNCTION l1_distance(sparsevec, sparsevec) RETURNS double precision
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_l1_distance'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION l1_distance(sparsevec, sparsevec) IS
	'taxicab distance between two sparse vectors, the sum of the absolute differences; raises an error if their dimensions differ';

-- Sort order: the same as for dense vectors.

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
	'compares two sparse vectors in sort order: returns -1 if the first sorts before the second, 0 if they are equal, 1 if it sorts after the second';

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
COMMENT ON OPERATOR FAMILY sparsevec_ops USING btree IS 'sort order of sparse vectors';
COMMENT ON OPERATOR CLASS sparsevec_ops USING btree IS
	'sort order of sparse vectors: the same as for dense vectors';

-- Casts.

CREATE FUNCTION sparsevec(sparsevec, integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION sparsevec(sparsevec, integer, boolean) IS
	'returns the sparse vector unchanged; raises an error if its dimensions differ from the type modifier';

CREATE FUNCTION vector_to_sparsevec(vector, integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_vector_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION vector_to_sparsevec(vector, integer, boolean) IS
	'converts a vector to a sparse vector of its nonzero elements; raises an error if the dimensions differ from the type modifier';

CREATE FUNCTION sparsevec_to_vector(sparsevec, integer, boolean) RETURNS vector
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_to_vector'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION sparsevec_to_vector(sparsevec, integer, boolean) IS
	'converts a sparse vector to a vector; raises an error if it has more than 16000 dimensions, or if the dimensions differ from the type modifier';

CREATE FUNCTION halfvec_to_sparsevec(halfvec, integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_halfvec_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION halfvec_to_sparsevec(halfvec, integer, boolean) IS
	'converts a halfvec to a sparse vector of its nonzero elements; raises an error if the dimensions differ from the type modifier';

CREATE FUNCTION sparsevec_to_halfvec(sparsevec, integer, boolean) RETURNS halfvec
	AS 'MODULE_PATHNAME', 'hybrid_sparsevec_to_halfvec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION sparsevec_to_halfvec(sparsevec, integer, boolean) IS
	'converts a sparse vector to a halfvec; rounds each element to half precision; raises an error if an element is out of the range of half precision, if it has more than 16000 dimensions, or if the dimensions differ from the type modifier';

CREATE FUNCTION array_to_sparsevec(integer[], integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_array_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_sparsevec(integer[], integer, boolean) IS
	'converts a one-dimensional array; rounds each element to float4; raises an error if the array contains NULL, if it is empty or has more than 16000 nonzero elements, or if the dimensions differ from the type modifier';

CREATE FUNCTION array_to_sparsevec(real[], integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_array_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_sparsevec(real[], integer, boolean) IS
	'converts a one-dimensional array; raises an error if the array contains NULL, NaN or infinity, if it is empty or has more than 16000 nonzero elements, or if the dimensions differ from the type modifier';

CREATE FUNCTION array_to_sparsevec(double precision[], integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_array_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20;
COMMENT ON FUNCTION array_to_sparsevec(double precision[], integer, boolean) IS
	'converts a one-dimensional array; rounds each element to float4; raises an error if the array contains NULL, NaN, infinity or a value out of the range of float4, if it is empty or has more than 16000 nonzero elements, or if the dimensions differ from the type modifier';

CREATE FUNCTION array_to_sparsevec(numeric[], integer, boolean) RETURNS sparsevec
	AS 'MODULE_PATHNAME', 'hybrid_array_to_sparsevec'
	LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION array_to_sparsevec(numeric[], integer, boolean) IS
	'converts a one-dimensional array; rounds each element to float4; raises an error if the array contains NULL, NaN, infinity or a value out of the range of float4, if it is empty or has more than 16000 nonzero elements, or if the dimensions differ from the type modifier';

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

COMMENT ON CAST (sparsevec AS sparsevec) IS 'checks the dimensions against the type modifier';
COMMENT ON CAST (sparsevec AS vector) IS 'all elements of a sparse vector, including zeros';
COMMENT ON CAST (vector AS sparsevec) IS 'nonzero elements of a vector';
COMMENT ON CAST (sparsevec AS halfvec) IS 'all elements of a sparse vector, including zeros, rounded to half precision';
COMMENT ON CAST (halfvec AS sparsevec) IS 'nonzero elements of a halfvec';
COMMENT ON CAST (integer[] AS sparsevec) IS 'sparse vector of these elements';
COMMENT ON CAST (real[] AS sparsevec) IS 'sparse vector of these elements';
COMMENT ON CAST (double precision[] AS sparsevec) IS 'sparse vector of these elements, rounded to float4';
COMMENT ON CAST (numeric[] AS sparsevec) IS 'sparse vector of these elements, rounded to float4';

-- ---------------------------------------------------------------------------------------------
-- Batches of vectors (src/knn)
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION hybrid_distances(query vector, targets vector[], metric text DEFAULT 'l2')
RETURNS float8[]
AS 'MODULE_PATHNAME', 'hybrid_distances'
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 1000;
COMMENT ON FUNCTION hybrid_distances(vector, vector[], text) IS
'returns the distances from query to each element of targets, in their order, computed as one batch; metric is l2, ip (negative inner product), cosine or l1; the distance is NULL if a target is NULL; raises an error if dimensions differ or the metric is unknown';

-- tells the planner how many rows a function with a parameter k returns (src/server/row_estimate.c).
CREATE FUNCTION _hybrid_row_estimate(internal) RETURNS internal
	AS 'MODULE_PATHNAME', 'hybrid_row_estimate' LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_row_estimate(internal) IS
	'planner support function: estimates from the argument k how many rows a function returns; only the planner calls it';

CREATE FUNCTION hybrid_knn(rel regclass, col name, queries vector[], k int DEFAULT 10,
	metric text DEFAULT 'l2', rows text DEFAULT NULL, recall float8 DEFAULT NULL)
RETURNS TABLE (query int, tid tid, distance float8)
AS 'MODULE_PATHNAME', 'hybrid_knn'
-- unsafe: the rows query, a view or a policy may call any function
LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000 SUPPORT _hybrid_row_estimate;
COMMENT ON FUNCTION hybrid_knn(regclass, name, vector[], int, text, text, float8) IS
'returns the k nearest rows of rel for each of queries, by the vector or halfvec column col; query is the number of the query, from 1; tid is the row''s ctid; results are exact, unless recall is given, nearest first, with ties by row position; metric is l2, ip (negative inner product), cosine or l1; rows is an optional query whose ctids restrict the search; recall, from 0.5 to 1, lets an index of access method hybrid on the column, for this metric, find this share of the nearest rows; NULL and 1: all of them; the function sees the rows that a SELECT by the caller would return; raises an error if a column has another type, if dimensions differ, on partitioned tables, on tables whose rows Citus keeps in shards, on views whose ctids come from several tables, on missing privileges, and, if recall is given, without such an index, and if the rows are read by a query, as with views and row security';

CREATE FUNCTION hybrid_knn_join(left_rel regclass, left_col name, right_rel regclass, right_col name,
	k int DEFAULT 10, metric text DEFAULT 'l2', recall float8 DEFAULT NULL)
RETURNS TABLE (left_tid tid, right_tid tid, distance float8)
AS 'MODULE_PATHNAME', 'hybrid_knn_join'
-- unsafe: a view or a policy may call any function
LANGUAGE C STABLE PARALLEL UNSAFE COST 1000000 ROWS 10000 SUPPORT _hybrid_row_estimate;
COMMENT ON FUNCTION hybrid_knn_join(regclass, name, regclass, name, int, text, float8) IS
'returns the k nearest rows of right_rel for each row of left_rel, by vector or halfvec columns; left_tid and right_tid are the rows'' ctids; results are exact, unless recall is given, nearest first, with ties by row position; metric is l2, ip (negative inner product), cosine or l1; a left row whose vector is NULL has no result; recall, from 0.5 to 1, lets an index of access method hybrid on the column, for this metric, find this share of the nearest rows; NULL and 1: all of them; the function sees the rows that a SELECT by the caller would return; memory stays within work_mem; raises an error if a column has another type, if dimensions differ, on partitioned tables, on tables whose rows Citus keeps in shards, on views whose ctids come from several tables, on missing privileges, and, if recall is given, without such an index, and if the rows are read by a query, as with views and row security';

CREATE FUNCTION hybrid_knn_graph(rel regclass, id name, col name, k int DEFAULT 10,
	metric text DEFAULT 'cosine', weight text DEFAULT 'similarity', recall float8 DEFAULT NULL)
RETURNS TABLE (source bigint, target bigint, weight real)
AS 'MODULE_PATHNAME', 'hybrid_knn_graph'
LANGUAGE C STABLE PARALLEL UNSAFE COST 1000000 ROWS 10000 SUPPORT _hybrid_row_estimate;
COMMENT ON FUNCTION hybrid_knn_graph(regclass, name, name, int, text, text, float8) IS
'returns edges from each row of rel to its k nearest other rows, by the vector or halfvec column col, for use by graph functions; source and target are values of the integer column id; results are exact, unless recall is given, nearest first; metric is l2, ip, cosine or l1; weight is similarity (max(0, 1 - distance) for cosine, 1 / (1 + distance) for l2 and l1, an error for ip) or one (always 1); recall, from 0.5 to 1, lets an index of access method hybrid on the column, for this metric, find this share of the nearest rows; NULL and 1: all of them; the function sees the rows that a SELECT by the caller would return; memory stays within work_mem; raises an error if an id is NULL, if a column has another type, if dimensions differ, on partitioned tables, on tables whose rows Citus keeps in shards, on views whose ctids come from several tables, on missing privileges, and, if recall is given, without such an index, and if the rows are read by a query, as with views and row security';

CREATE TYPE hybrid_nearest_row AS (id bigint, distance float8);
COMMENT ON TYPE hybrid_nearest_row IS
'a row in the result of hybrid_nearest: its id, and its distance from the query';

-- an enum, because a text constant has a collation, and postgres_fdw then does not ship the call
CREATE TYPE hybrid_metric AS ENUM ('l2', 'ip', 'cosine', 'l1');
COMMENT ON TYPE hybrid_metric IS
'a metric of hybrid_nearest: l2, ip (negative inner product), cosine or l1; text is converted to it';
CREATE CAST (text AS hybrid_metric) WITH INOUT AS IMPLICIT;
COMMENT ON CAST (text AS hybrid_metric) IS 'the metric with this name; raises an error if there is none';

-- a domain, because postgres_fdw ships only types that belong to the extension, and an array type does not belong to it
CREATE DOMAIN hybrid_nearest_rows AS hybrid_nearest_row[];
COMMENT ON DOMAIN hybrid_nearest_rows IS
'the result of hybrid_nearest: an array of rows, nearest first';

CREATE FUNCTION _hybrid_nearest_accum(bytea, bigint, vector, vector, int) RETURNS bytea
AS 'MODULE_PATHNAME', 'hybrid_nearest_vector_accum'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _hybrid_nearest_accum(bytea, bigint, vector, vector, int) IS
'adds a row to a state of hybrid_nearest; raises an error outside an aggregate';

CREATE FUNCTION _hybrid_nearest_accum(bytea, bigint, vector, vector, int, hybrid_metric) RETURNS bytea
AS 'MODULE_PATHNAME', 'hybrid_nearest_vector_accum'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _hybrid_nearest_accum(bytea, bigint, vector, vector, int, hybrid_metric) IS
'adds a row to a state of hybrid_nearest; raises an error outside an aggregate';

CREATE FUNCTION _hybrid_nearest_accum(bytea, bigint, halfvec, halfvec, int) RETURNS bytea
AS 'MODULE_PATHNAME', 'hybrid_nearest_halfvec_accum'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _hybrid_nearest_accum(bytea, bigint, halfvec, halfvec, int) IS
'adds a row to a state of hybrid_nearest; raises an error outside an aggregate';

CREATE FUNCTION _hybrid_nearest_accum(bytea, bigint, halfvec, halfvec, int, hybrid_metric) RETURNS bytea
AS 'MODULE_PATHNAME', 'hybrid_nearest_halfvec_accum'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _hybrid_nearest_accum(bytea, bigint, halfvec, halfvec, int, hybrid_metric) IS
'adds a row to a state of hybrid_nearest; raises an error outside an aggregate';

CREATE FUNCTION _hybrid_nearest_combine(bytea, bytea) RETURNS bytea
AS 'MODULE_PATHNAME', 'hybrid_nearest_combine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _hybrid_nearest_combine(bytea, bytea) IS
'adds the rows of one state of hybrid_nearest to another; raises an error outside an aggregate, and if the states are of different queries, k or metrics';

CREATE FUNCTION _hybrid_nearest_final(bytea) RETURNS hybrid_nearest_rows
AS 'MODULE_PATHNAME', 'hybrid_nearest_final'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 50;
COMMENT ON FUNCTION _hybrid_nearest_final(bytea) IS
'returns the rows of a state of hybrid_nearest, nearest first; NULL if there are none';

CREATE AGGREGATE hybrid_nearest(id bigint, v vector, query vector, k int) (
	SFUNC = _hybrid_nearest_accum,
	STYPE = bytea,
	SSPACE = 4096,
	FINALFUNC = _hybrid_nearest_final,
	COMBINEFUNC = _hybrid_nearest_combine,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE hybrid_nearest(bigint, vector, vector, int) IS
'the k rows of a group whose vectors v are nearest to query by Euclidean distance, as an array of (id, distance), nearest first, with ties by id.
query and k must be the same in all rows of a group. Rows in which v or query is NULL, and rows whose distance is NaN, are ignored. The result is NULL if no row is left. Raises an error if id is NULL in a row that has a vector, if k is NULL or below 1, and if dimensions differ.';

CREATE AGGREGATE hybrid_nearest(id bigint, v vector, query vector, k int, metric hybrid_metric) (
	SFUNC = _hybrid_nearest_accum,
	STYPE = bytea,
	SSPACE = 4096,
	FINALFUNC = _hybrid_nearest_final,
	COMBINEFUNC = _hybrid_nearest_combine,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE hybrid_nearest(bigint, vector, vector, int, hybrid_metric) IS
'the k rows of a group whose vectors v are nearest to query, as an array of (id, distance), nearest first, with ties by id; metric is l2, ip (negative inner product), cosine or l1.
query, k and metric must be the same in all rows of a group. Rows in which v or query is NULL, and rows whose distance is NaN, are ignored. The result is NULL if no row is left. Raises an error if id is NULL in a row that has a vector, if k is NULL or below 1, if metric is NULL, and if dimensions differ.';

CREATE AGGREGATE hybrid_nearest(id bigint, v halfvec, query halfvec, k int) (
	SFUNC = _hybrid_nearest_accum,
	STYPE = bytea,
	SSPACE = 4096,
	FINALFUNC = _hybrid_nearest_final,
	COMBINEFUNC = _hybrid_nearest_combine,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE hybrid_nearest(bigint, halfvec, halfvec, int) IS
'the k rows of a group whose halfvecs v are nearest to query by Euclidean distance, as an array of (id, distance), nearest first, with ties by id.
query and k must be the same in all rows of a group. Rows in which v or query is NULL, and rows whose distance is NaN, are ignored. The result is NULL if no row is left. Raises an error if id is NULL in a row that has a halfvec, if k is NULL or below 1, and if dimensions differ.';

CREATE AGGREGATE hybrid_nearest(id bigint, v halfvec, query halfvec, k int, metric hybrid_metric) (
	SFUNC = _hybrid_nearest_accum,
	STYPE = bytea,
	SSPACE = 4096,
	FINALFUNC = _hybrid_nearest_final,
	COMBINEFUNC = _hybrid_nearest_combine,
	PARALLEL = SAFE
);
COMMENT ON AGGREGATE hybrid_nearest(bigint, halfvec, halfvec, int, hybrid_metric) IS
'the k rows of a group whose halfvecs v are nearest to query, as an array of (id, distance), nearest first, with ties by id; metric is l2, ip (negative inner product), cosine or l1.
query, k and metric must be the same in all rows of a group. Rows in which v or query is NULL, and rows whose distance is NaN, are ignored. The result is NULL if no row is left. Raises an error if id is NULL in a row that has a halfvec, if k is NULL or below 1, if metric is NULL, and if dimensions differ.';
CREATE FUNCTION hybrid_knn_sharded(rel regclass, col name, id_col name, queries vector[], k int DEFAULT 10,
	metric text DEFAULT 'l2')
RETURNS TABLE (query int, id bigint, distance float8)
AS 'MODULE_PATHNAME', 'hybrid_knn_sharded'
-- volatile: a foreign server has a snapshot of its own
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 1000 SUPPORT _hybrid_row_estimate;
COMMENT ON FUNCTION hybrid_knn_sharded(regclass, name, name, vector[], int, text) IS
'returns the k nearest rows of rel for each of queries, as hybrid_knn does, if the rows of rel lie in several places: in partitions, in tables of foreign servers (postgres_fdw), and in shards of Citus; each place answers with its own nearest rows, and all servers compute at the same time; id is the value of the integer column id_col; results are exact, in the order of the queries, nearest first, with ties by id; needs the extension dblink if a table is foreign, and hybrid on all servers; if a server or a shard fails, the error names it; also raises an error if an id is NULL, on wrong column types and dimensions, on missing privileges, if the user mapping of a user who is not a superuser has no password, and if row security restricts a partitioned table';

CREATE FUNCTION hybrid_fuse(ids_a bigint[], ids_b bigint[], weight_a float8 DEFAULT 1, weight_b float8 DEFAULT 1,
	rank_constant float8 DEFAULT 60, k int DEFAULT NULL)
RETURNS TABLE (id bigint, score float8, rank_a int, rank_b int)
AS 'MODULE_PATHNAME', 'hybrid_fuse'
LANGUAGE C IMMUTABLE PARALLEL SAFE COST 100 ROWS 100 SUPPORT _hybrid_row_estimate;
COMMENT ON FUNCTION hybrid_fuse(bigint[], bigint[], float8, float8, float8, int) IS
'Merges two ranked lists of ids into one by reciprocal rank fusion, for example the results of a full-text search and of a vector search.
ids_a, ids_b: ids, best first; NULL is an empty list. rank_a, rank_b: the position of the id in each list, from 1; NULL if it is not in the list. If a list contains an id several times, its first position counts. NULL elements are ignored, but keep their positions.
score: weight_a / (rank_constant + rank_a) + weight_b / (rank_constant + rank_b), where a list without the id adds nothing. k: maximum number of rows; NULL means all.
Ordered by score, largest first, then by id. Raises an error if a weight or rank_constant is NULL, negative, NaN or infinite, on k below 1, on arrays of several dimensions, and if a score is out of range.';

-- ---------------------------------------------------------------------------------------------
-- The access method (src/index)
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION _hybrid_handler(internal) RETURNS index_am_handler
AS 'MODULE_PATHNAME', 'hybrid_handler'
LANGUAGE C;
COMMENT ON FUNCTION _hybrid_handler(internal) IS
'handler of the access method hybrid; called by PostgreSQL only';

CREATE ACCESS METHOD hybrid TYPE INDEX HANDLER _hybrid_handler;
COMMENT ON ACCESS METHOD hybrid IS
'finds nearest neighbors in the order of a distance operator, and vectors within a sphere; options: storage = float16 | float32 | int8, list_size';

CREATE FUNCTION _hybrid_index_l2(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_l2'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_l2(internal) IS
'support function of operator classes: vector, by Euclidean distance; called by the index only';

CREATE FUNCTION _hybrid_index_ip(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_ip'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_ip(internal) IS
'support function of operator classes: vector, by negative inner product; called by the index only';

CREATE FUNCTION _hybrid_index_cosine(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_cosine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_cosine(internal) IS
'support function of operator classes: vector, by cosine distance; called by the index only';

CREATE FUNCTION _hybrid_index_l1(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_l1'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_l1(internal) IS
'support function of operator classes: vector, by taxicab distance; called by the index only';

CREATE FUNCTION _hybrid_index_halfvec_l2(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_halfvec_l2'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_halfvec_l2(internal) IS
'support function of operator classes: halfvec, by Euclidean distance; called by the index only';

CREATE FUNCTION _hybrid_index_halfvec_ip(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_halfvec_ip'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_halfvec_ip(internal) IS
'support function of operator classes: halfvec, by negative inner product; called by the index only';

CREATE FUNCTION _hybrid_index_halfvec_cosine(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_halfvec_cosine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_halfvec_cosine(internal) IS
'support function of operator classes: halfvec, by cosine distance; called by the index only';

CREATE FUNCTION _hybrid_index_halfvec_l1(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_halfvec_l1'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_halfvec_l1(internal) IS
'support function of operator classes: halfvec, by taxicab distance; called by the index only';

CREATE FUNCTION _hybrid_index_maxsim(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_maxsim'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_maxsim(internal) IS
'support function of operator classes: array of vectors, by negative MaxSim; called by the index only';

CREATE FUNCTION _hybrid_index_halfvec_maxsim(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_halfvec_maxsim'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_halfvec_maxsim(internal) IS
'support function of operator classes: array of halfvecs, by negative MaxSim; called by the index only';

CREATE FUNCTION _hybrid_index_sparsevec_l2(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_sparsevec_l2'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_sparsevec_l2(internal) IS
'support function of operator classes: sparsevec, by Euclidean distance; called by the index only';

CREATE FUNCTION _hybrid_index_sparsevec_ip(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_sparsevec_ip'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_sparsevec_ip(internal) IS
'support function of operator classes: sparsevec, by negative inner product; called by the index only';

CREATE FUNCTION _hybrid_index_sparsevec_cosine(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_sparsevec_cosine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_sparsevec_cosine(internal) IS
'support function of operator classes: sparsevec, by cosine distance; called by the index only';

CREATE FUNCTION _hybrid_index_sparsevec_l1(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_sparsevec_l1'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_sparsevec_l1(internal) IS
'support function of operator classes: sparsevec, by taxicab distance; called by the index only';

CREATE FUNCTION _hybrid_index_bit_hamming(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_bit_hamming'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_bit_hamming(internal) IS
'support function of operator classes: bit, by Hamming distance; called by the index only';

CREATE FUNCTION _hybrid_index_bit_jaccard(internal) RETURNS internal
AS 'MODULE_PATHNAME', 'hybrid_index_bit_jaccard'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_index_bit_jaccard(internal) IS
'support function of operator classes: bit, by Jaccard distance; called by the index only';

-- Spheres: all vectors within a distance of a center.

CREATE TYPE hybrid_sphere AS (center vector, radius double precision);
COMMENT ON TYPE hybrid_sphere IS
'all vectors within a distance of a center; the radius is a distance as computed by the operator that the sphere is used with';

CREATE FUNCTION hybrid_sphere(center vector, radius double precision) RETURNS hybrid_sphere
AS 'MODULE_PATHNAME', 'hybrid_sphere'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION hybrid_sphere(vector, double precision) IS
'returns the sphere with this center and radius; NULL if either is NULL; a sphere whose radius is NaN contains nothing; a halfvec can be cast to a center without loss';

CREATE FUNCTION _hybrid_within_selectivity(internal, oid, internal, integer) RETURNS double precision
AS 'MODULE_PATHNAME', 'hybrid_within_selectivity'
LANGUAGE C STABLE STRICT PARALLEL SAFE;
COMMENT ON FUNCTION _hybrid_within_selectivity(internal, oid, internal, integer) IS
'estimates the share of rows within a sphere, from the column statistics of vectors that have its dimensions; called by the planner only';

CREATE FUNCTION vector_within_l2(vector, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_vector_within_l2'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION vector_within_l2(vector, hybrid_sphere) IS
'whether the Euclidean distance between a vector and the center of a sphere is at most its radius; false if the distance or the radius is NaN; NULL if a field of the sphere is NULL; raises an error if the dimensions differ';

CREATE OPERATOR <<->> (
	LEFTARG = vector, RIGHTARG = hybrid_sphere, FUNCTION = vector_within_l2,
	RESTRICT = _hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<->> (vector, hybrid_sphere) IS 'within a sphere by Euclidean distance';

CREATE FUNCTION vector_within_ip(vector, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_vector_within_ip'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION vector_within_ip(vector, hybrid_sphere) IS
'whether the negative inner product of a vector and the center of a sphere is at most its radius; false if the distance or the radius is NaN; NULL if a field of the sphere is NULL; raises an error if the dimensions differ';

CREATE OPERATOR <<#>> (
	LEFTARG = vector, RIGHTARG = hybrid_sphere, FUNCTION = vector_within_ip,
	RESTRICT = _hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<#>> (vector, hybrid_sphere) IS 'within a sphere by negative inner product';

CREATE FUNCTION vector_within_cosine(vector, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_vector_within_cosine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION vector_within_cosine(vector, hybrid_sphere) IS
'whether the cosine distance between a vector and the center of a sphere is at most its radius; false if the distance or the radius is NaN; NULL if a field of the sphere is NULL; raises an error if the dimensions differ';

CREATE OPERATOR <<=>> (
	LEFTARG = vector, RIGHTARG = hybrid_sphere, FUNCTION = vector_within_cosine,
	RESTRICT = _hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<=>> (vector, hybrid_sphere) IS 'within a sphere by cosine distance';

CREATE FUNCTION vector_within_l1(vector, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_vector_within_l1'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION vector_within_l1(vector, hybrid_sphere) IS
'whether the taxicab distance between a vector and the center of a sphere is at most its radius; false if the distance or the radius is NaN; NULL if a field of the sphere is NULL; raises an error if the dimensions differ';

CREATE OPERATOR <<+>> (
	LEFTARG = vector, RIGHTARG = hybrid_sphere, FUNCTION = vector_within_l1,
	RESTRICT = _hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<+>> (vector, hybrid_sphere) IS 'within a sphere by taxicab distance';

CREATE FUNCTION halfvec_within_l2(halfvec, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_halfvec_within_l2'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_within_l2(halfvec, hybrid_sphere) IS
'whether the Euclidean distance between a halfvec and the center of a sphere is at most its radius; false if the distance or the radius is NaN; NULL if a field of the sphere is NULL; raises an error if the dimensions differ';

CREATE OPERATOR <<->> (
	LEFTARG = halfvec, RIGHTARG = hybrid_sphere, FUNCTION = halfvec_within_l2,
	RESTRICT = _hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<->> (halfvec, hybrid_sphere) IS 'within a sphere by Euclidean distance';

CREATE FUNCTION halfvec_within_ip(halfvec, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_halfvec_within_ip'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_within_ip(halfvec, hybrid_sphere) IS
'whether the negative inner product of a halfvec and the center of a sphere is at most its radius; false if the distance or the radius is NaN; NULL if a field of the sphere is NULL; raises an error if the dimensions differ';

CREATE OPERATOR <<#>> (
	LEFTARG = halfvec, RIGHTARG = hybrid_sphere, FUNCTION = halfvec_within_ip,
	RESTRICT = _hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<#>> (halfvec, hybrid_sphere) IS 'within a sphere by negative inner product';

CREATE FUNCTION halfvec_within_cosine(halfvec, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_halfvec_within_cosine'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_within_cosine(halfvec, hybrid_sphere) IS
'whether the cosine distance between a halfvec and the center of a sphere is at most its radius; false if the distance or the radius is NaN; NULL if a field of the sphere is NULL; raises an error if the dimensions differ';

CREATE OPERATOR <<=>> (
	LEFTARG = halfvec, RIGHTARG = hybrid_sphere, FUNCTION = halfvec_within_cosine,
	RESTRICT = _hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<=>> (halfvec, hybrid_sphere) IS 'within a sphere by cosine distance';

CREATE FUNCTION halfvec_within_l1(halfvec, hybrid_sphere) RETURNS boolean
AS 'MODULE_PATHNAME', 'hybrid_halfvec_within_l1'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE COST 20
	SUPPORT _hybrid_distance_cost;
COMMENT ON FUNCTION halfvec_within_l1(halfvec, hybrid_sphere) IS
'whether the taxicab distance between a halfvec and the center of a sphere is at most its radius; false if the distance or the radius is NaN; NULL if a field of the sphere is NULL; raises an error if the dimensions differ';

CREATE OPERATOR <<+>> (
	LEFTARG = halfvec, RIGHTARG = hybrid_sphere, FUNCTION = halfvec_within_l1,
	RESTRICT = _hybrid_within_selectivity, JOIN = matchingjoinsel
);
COMMENT ON OPERATOR <<+>> (halfvec, hybrid_sphere) IS 'within a sphere by taxicab distance';

CREATE OPERATOR CLASS vector_l2_ops DEFAULT FOR TYPE vector USING hybrid AS
	OPERATOR 1 <-> (vector, vector) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<->> (vector, hybrid_sphere),
	FUNCTION 1 _hybrid_index_l2(internal);
COMMENT ON OPERATOR CLASS vector_l2_ops USING hybrid IS
'order by Euclidean distance, <->, and sphere conditions, <<->>';

CREATE OPERATOR CLASS vector_ip_ops FOR TYPE vector USING hybrid AS
	OPERATOR 1 <#> (vector, vector) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<#>> (vector, hybrid_sphere),
	FUNCTION 1 _hybrid_index_ip(internal);
COMMENT ON OPERATOR CLASS vector_ip_ops USING hybrid IS
'order by negative inner product, <#>, and sphere conditions, <<#>>';

CREATE OPERATOR CLASS vector_cosine_ops FOR TYPE vector USING hybrid AS
	OPERATOR 1 <=> (vector, vector) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<=>> (vector, hybrid_sphere),
	FUNCTION 1 _hybrid_index_cosine(internal);
COMMENT ON OPERATOR CLASS vector_cosine_ops USING hybrid IS
'order by cosine distance, <=>, and sphere conditions, <<=>>; vectors whose squared length is 0 or infinite in float4 are not indexed';

CREATE OPERATOR CLASS vector_l1_ops FOR TYPE vector USING hybrid AS
	OPERATOR 1 <+> (vector, vector) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<+>> (vector, hybrid_sphere),
	FUNCTION 1 _hybrid_index_l1(internal);
COMMENT ON OPERATOR CLASS vector_l1_ops USING hybrid IS
'order by taxicab distance, <+>, and sphere conditions, <<+>>';

CREATE OPERATOR CLASS halfvec_l2_ops DEFAULT FOR TYPE halfvec USING hybrid AS
	OPERATOR 1 <-> (halfvec, halfvec) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<->> (halfvec, hybrid_sphere),
	FUNCTION 1 _hybrid_index_halfvec_l2(internal);
COMMENT ON OPERATOR CLASS halfvec_l2_ops USING hybrid IS
'order by Euclidean distance, <->, and sphere conditions, <<->>';

CREATE OPERATOR CLASS halfvec_ip_ops FOR TYPE halfvec USING hybrid AS
	OPERATOR 1 <#> (halfvec, halfvec) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<#>> (halfvec, hybrid_sphere),
	FUNCTION 1 _hybrid_index_halfvec_ip(internal);
COMMENT ON OPERATOR CLASS halfvec_ip_ops USING hybrid IS
'order by negative inner product, <#>, and sphere conditions, <<#>>';

CREATE OPERATOR CLASS halfvec_cosine_ops FOR TYPE halfvec USING hybrid AS
	OPERATOR 1 <=> (halfvec, halfvec) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<=>> (halfvec, hybrid_sphere),
	FUNCTION 1 _hybrid_index_halfvec_cosine(internal);
COMMENT ON OPERATOR CLASS halfvec_cosine_ops USING hybrid IS
'order by cosine distance, <=>, and sphere conditions, <<=>>; vectors whose squared length is 0 or infinite in float4 are not indexed';

CREATE OPERATOR CLASS halfvec_l1_ops FOR TYPE halfvec USING hybrid AS
	OPERATOR 1 <+> (halfvec, halfvec) FOR ORDER BY pg_catalog.float_ops,
	OPERATOR 2 <<+>> (halfvec, hybrid_sphere),
	FUNCTION 1 _hybrid_index_halfvec_l1(internal);
COMMENT ON OPERATOR CLASS halfvec_l1_ops USING hybrid IS
'order by taxicab distance, <+>, and sphere conditions, <<+>>';

CREATE OPERATOR CLASS vector_maxsim_ops DEFAULT FOR TYPE vector[] USING hybrid AS
	OPERATOR 1 @# (vector[], vector[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 _hybrid_index_maxsim(internal);
COMMENT ON OPERATOR CLASS vector_maxsim_ops USING hybrid IS
'order by negative MaxSim, @#; empty arrays are not indexed';

CREATE OPERATOR CLASS halfvec_maxsim_ops DEFAULT FOR TYPE halfvec[] USING hybrid AS
	OPERATOR 1 @# (halfvec[], halfvec[]) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 _hybrid_index_halfvec_maxsim(internal);
COMMENT ON OPERATOR CLASS halfvec_maxsim_ops USING hybrid IS
'order by negative MaxSim, @#; empty arrays are not indexed';

CREATE OPERATOR CLASS sparsevec_l2_ops DEFAULT FOR TYPE sparsevec USING hybrid AS
	OPERATOR 1 <-> (sparsevec, sparsevec) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 _hybrid_index_sparsevec_l2(internal);
COMMENT ON OPERATOR CLASS sparsevec_l2_ops USING hybrid IS
'order by Euclidean distance, <->';

CREATE OPERATOR CLASS sparsevec_ip_ops FOR TYPE sparsevec USING hybrid AS
	OPERATOR 1 <#> (sparsevec, sparsevec) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 _hybrid_index_sparsevec_ip(internal);
COMMENT ON OPERATOR CLASS sparsevec_ip_ops USING hybrid IS
'order by negative inner product, <#>';

CREATE OPERATOR CLASS sparsevec_cosine_ops FOR TYPE sparsevec USING hybrid AS
	OPERATOR 1 <=> (sparsevec, sparsevec) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 _hybrid_index_sparsevec_cosine(internal);
COMMENT ON OPERATOR CLASS sparsevec_cosine_ops USING hybrid IS
'order by cosine distance, <=>; vectors whose squared length is 0 or infinite in float4 are not indexed';

CREATE OPERATOR CLASS sparsevec_l1_ops FOR TYPE sparsevec USING hybrid AS
	OPERATOR 1 <+> (sparsevec, sparsevec) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 _hybrid_index_sparsevec_l1(internal);
COMMENT ON OPERATOR CLASS sparsevec_l1_ops USING hybrid IS
'order by taxicab distance, <+>';

CREATE OPERATOR CLASS bit_hamming_ops DEFAULT FOR TYPE bit USING hybrid AS
	OPERATOR 1 <~> (bit, bit) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 _hybrid_index_bit_hamming(internal);
COMMENT ON OPERATOR CLASS bit_hamming_ops USING hybrid IS 'order by Hamming distance, <~>';

CREATE OPERATOR CLASS bit_jaccard_ops FOR TYPE bit USING hybrid AS
	OPERATOR 1 <%> (bit, bit) FOR ORDER BY pg_catalog.float_ops,
	FUNCTION 1 _hybrid_index_bit_jaccard(internal);
COMMENT ON OPERATOR CLASS bit_jaccard_ops USING hybrid IS 'order by Jaccard distance, <%>';

COMMENT ON OPERATOR FAMILY vector_l2_ops USING hybrid IS 'order by Euclidean distance';
COMMENT ON OPERATOR FAMILY vector_ip_ops USING hybrid IS 'order by negative inner product';
COMMENT ON OPERATOR FAMILY vector_cosine_ops USING hybrid IS 'order by cosine distance';
COMMENT ON OPERATOR FAMILY vector_l1_ops USING hybrid IS 'order by taxicab distance';
COMMENT ON OPERATOR FAMILY halfvec_l2_ops USING hybrid IS 'order by Euclidean distance';
COMMENT ON OPERATOR FAMILY halfvec_ip_ops USING hybrid IS 'order by negative inner product';
COMMENT ON OPERATOR FAMILY halfvec_cosine_ops USING hybrid IS 'order by cosine distance';
COMMENT ON OPERATOR FAMILY halfvec_l1_ops USING hybrid IS 'order by taxicab distance';
COMMENT ON OPERATOR FAMILY vector_maxsim_ops USING hybrid IS 'order by negative MaxSim';
COMMENT ON OPERATOR FAMILY halfvec_maxsim_ops USING hybrid IS 'order by negative MaxSim';
COMMENT ON OPERATOR FAMILY sparsevec_l2_ops USING hybrid IS 'order by Euclidean distance';
COMMENT ON OPERATOR FAMILY sparsevec_ip_ops USING hybrid IS 'order by negative inner product';
COMMENT ON OPERATOR FAMILY sparsevec_cosine_ops USING hybrid IS 'order by cosine distance';
COMMENT ON OPERATOR FAMILY sparsevec_l1_ops USING hybrid IS 'order by taxicab distance';
COMMENT ON OPERATOR FAMILY bit_hamming_ops USING hybrid IS 'order by Hamming distance';
COMMENT ON OPERATOR FAMILY bit_jaccard_ops USING hybrid IS 'order by Jaccard distance';

-- Keys before the vector: equality, as the default hash operator class of the type has it.

CREATE OPERATOR FAMILY integer_ops USING hybrid;
COMMENT ON OPERATOR FAMILY integer_ops USING hybrid IS 'keys before the vector: equality of integers';

CREATE OPERATOR CLASS int2_ops DEFAULT FOR TYPE smallint USING hybrid FAMILY integer_ops AS
	OPERATOR 3 pg_catalog.= (smallint, smallint);
COMMENT ON OPERATOR CLASS int2_ops USING hybrid IS 'keys before the vector: equality';

CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE integer USING hybrid FAMILY integer_ops AS
	OPERATOR 3 pg_catalog.= (integer, integer);
COMMENT ON OPERATOR CLASS int4_ops USING hybrid IS 'keys before the vector: equality';

CREATE OPERATOR CLASS int8_ops DEFAULT FOR TYPE bigint USING hybrid FAMILY integer_ops AS
	OPERATOR 3 pg_catalog.= (bigint, bigint);
COMMENT ON OPERATOR CLASS int8_ops USING hybrid IS 'keys before the vector: equality';

ALTER OPERATOR FAMILY integer_ops USING hybrid ADD
	OPERATOR 3 pg_catalog.= (smallint, integer),
	OPERATOR 3 pg_catalog.= (smallint, bigint),
	OPERATOR 3 pg_catalog.= (integer, smallint),
	OPERATOR 3 pg_catalog.= (integer, bigint),
	OPERATOR 3 pg_catalog.= (bigint, smallint),
	OPERATOR 3 pg_catalog.= (bigint, integer);

CREATE OPERATOR CLASS bool_ops DEFAULT FOR TYPE boolean USING hybrid AS
	OPERATOR 3 pg_catalog.= (boolean, boolean);
COMMENT ON OPERATOR CLASS bool_ops USING hybrid IS 'keys before the vector: equality';
COMMENT ON OPERATOR FAMILY bool_ops USING hybrid IS 'keys before the vector: equality';

CREATE OPERATOR CLASS date_ops DEFAULT FOR TYPE date USING hybrid AS
	OPERATOR 3 pg_catalog.= (date, date);
COMMENT ON OPERATOR CLASS date_ops USING hybrid IS 'keys before the vector: equality';
COMMENT ON OPERATOR FAMILY date_ops USING hybrid IS 'keys before the vector: equality';

CREATE OPERATOR CLASS timestamp_ops DEFAULT FOR TYPE timestamp USING hybrid AS
	OPERATOR 3 pg_catalog.= (timestamp, timestamp);
COMMENT ON OPERATOR CLASS timestamp_ops USING hybrid IS 'keys before the vector: equality';
COMMENT ON OPERATOR FAMILY timestamp_ops USING hybrid IS 'keys before the vector: equality';

CREATE OPERATOR CLASS timestamptz_ops DEFAULT FOR TYPE timestamptz USING hybrid AS
	OPERATOR 3 pg_catalog.= (timestamptz, timestamptz);
COMMENT ON OPERATOR CLASS timestamptz_ops USING hybrid IS 'keys before the vector: equality';
COMMENT ON OPERATOR FAMILY timestamptz_ops USING hybrid IS 'keys before the vector: equality';

CREATE OPERATOR CLASS numeric_ops DEFAULT FOR TYPE numeric USING hybrid AS
	OPERATOR 3 pg_catalog.= (numeric, numeric);
COMMENT ON OPERATOR CLASS numeric_ops USING hybrid IS 'keys before the vector: equality';
COMMENT ON OPERATOR FAMILY numeric_ops USING hybrid IS 'keys before the vector: equality';

CREATE OPERATOR CLASS uuid_ops DEFAULT FOR TYPE uuid USING hybrid AS
	OPERATOR 3 pg_catalog.= (uuid, uuid);
COMMENT ON OPERATOR CLASS uuid_ops USING hybrid IS 'keys before the vector: equality';
COMMENT ON OPERATOR FAMILY uuid_ops USING hybrid IS 'keys before the vector: equality';

CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text USING hybrid AS
	OPERATOR 3 pg_catalog.= (text, text);
COMMENT ON OPERATOR CLASS text_ops USING hybrid IS 'keys before the vector: equality of text and varchar';
COMMENT ON OPERATOR FAMILY text_ops USING hybrid IS 'keys before the vector: equality of text and varchar';

CREATE OPERATOR CLASS enum_ops DEFAULT FOR TYPE anyenum USING hybrid AS
	OPERATOR 3 pg_catalog.= (anyenum, anyenum);
COMMENT ON OPERATOR CLASS enum_ops USING hybrid IS 'keys before the vector: equality of any enum type';
COMMENT ON OPERATOR FAMILY enum_ops USING hybrid IS 'keys before the vector: equality of any enum type';

CREATE FUNCTION hybrid_index_stats(index regclass,
	OUT entries bigint, OUT dead bigint, OUT dims int, OUT storage text, OUT levels int,
	OUT lists bigint, OUT inner_lists bigint, OUT list_size int, OUT list_min bigint,
	OUT list_mean float8, OUT list_max bigint, OUT pages bigint, OUT meta_pages bigint,
	OUT list_pages bigint, OUT code_pages bigint, OUT vector_pages bigint, OUT moved_pages bigint,
	OUT free_pages bigint, OUT bytes bigint, OUT measured_by text)
AS 'MODULE_PATHNAME', 'hybrid_index_stats'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 1000;
COMMENT ON FUNCTION hybrid_index_stats(regclass) IS
'returns one row about a valid hybrid index, obtained by reading its lists.
entries, dead: live entries, and dead entries whose space inserts will reuse.
dims, storage: dimensions and storage of the vectors.
levels, lists, inner_lists: levels of the tree, lists of rows, and lists of lists.
list_size: number of entries at which a list is split; NULL if the index consists of a single list.
list_min, list_mean, list_max: minimum, mean and maximum number of entries in a list of rows.
pages, bytes: size of the file in pages and in bytes.
meta_pages, list_pages, code_pages, vector_pages: pages that hold metadata, lists with their codes, codes that are too long for list pages, and vectors.
moved_pages, free_pages: pages of lists that were split or merged, kept until no session reads them, and free pages.
measured_by: whether hybrid_index_curve() was measured on ''rows'' of the index or on ''queries'' that hybrid_index_measure() kept; NULL if it was not measured.
For the owner of the index and members of pg_stat_scan_tables. Raises index_corrupted on a damaged page, and an error if Citus keeps the rows of the table in shards.';

CREATE FUNCTION _hybrid_get_index(index oid, OUT entries bigint, OUT dead bigint, OUT storage text,
	OUT target_recall float8, OUT measured_by text, OUT regroup bool, OUT outdated bool, OUT damage text)
AS 'MODULE_PATHNAME', 'hybrid_get_index'
-- unsafe: errors are caught in a subtransaction
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000;
COMMENT ON FUNCTION _hybrid_get_index(oid) IS
'returns columns of the view hybrid_indexes, or NULL if the index cannot be read by this user or at this time; regroup: whether the next VACUUM will make new lists; outdated: whether another version of hybrid has written it, in another format; damage: the error that reading the index raises, if it is damaged or was built for other types of its included columns, otherwise NULL; if outdated is true or damage is not NULL, all other columns are NULL';

CREATE VIEW hybrid_indexes AS
SELECT i.indexrelid::regclass AS index, i.indrelid::regclass AS rel, a.amname AS method, s.storage,
	pg_catalog.pg_relation_size(i.indexrelid) AS bytes, s.entries, s.dead, s.target_recall, s.measured_by,
	pg_catalog.pg_stat_get_numscans(i.indexrelid) AS scans,
	GREATEST(pg_catalog.pg_stat_get_last_vacuum_time(i.indrelid),
		pg_catalog.pg_stat_get_last_autovacuum_time(i.indrelid)) AS last_vacuum,
	CASE
		WHEN NOT i.indisvalid THEN 'no query uses this index, because its creation failed or has not ended; if it failed, REINDEX or drop it'
		WHEN s.damage IS NOT NULL THEN 'REINDEX it: ' || s.damage
		WHEN s.outdated THEN 'REINDEX it: another version of hybrid has written it, in another format'
		WHEN pg_catalog.pg_stat_get_dead_tuples(i.indrelid) > GREATEST(s.entries / 4, 1000) THEN 'VACUUM the table: it has many dead rows, which searches find and must skip'
		WHEN s.regroup THEN 'VACUUM the table to make new lists; if it warns that this needs more memory, raise maintenance_work_mem'
	END AS advice
FROM pg_catalog.pg_index i
	JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid AND c.relkind = 'i'
	JOIN pg_catalog.pg_am a ON a.oid = c.relam
	JOIN pg_catalog.pg_proc h ON h.oid = a.amhandler AND h.prosrc IN ('hybrid_handler', 'hybrid_hnsw_handler', 'hybrid_ivfflat_handler')
	LEFT JOIN LATERAL _hybrid_get_index(i.indexrelid) s ON true;
COMMENT ON VIEW hybrid_indexes IS 'hybrid indexes of this database, including those created USING hnsw or ivfflat; reads the list pages of each';
COMMENT ON COLUMN hybrid_indexes.index IS 'the index';
COMMENT ON COLUMN hybrid_indexes.rel IS 'its table';
COMMENT ON COLUMN hybrid_indexes.method IS 'name of the access method: hybrid, hnsw or ivfflat';
COMMENT ON COLUMN hybrid_indexes.storage IS 'storage format of the vectors; NULL, like entries, dead, target_recall and measured_by, if the index is not valid, is damaged, was built for other types of its included columns, has the format of another version of hybrid, is a temporary index of another session, or belongs to another role; members of pg_stat_scan_tables see those of all roles';
COMMENT ON COLUMN hybrid_indexes.bytes IS 'size of the file in bytes';
COMMENT ON COLUMN hybrid_indexes.entries IS 'live entries; those of deleted rows count until VACUUM removes them';
COMMENT ON COLUMN hybrid_indexes.dead IS 'dead entries, which VACUUM has removed; inserts reuse their space';
COMMENT ON COLUMN hybrid_indexes.target_recall IS 'recall that searches of this session aim for; 1 if they read all entries, NULL if hybrid.probes replaces the target';
COMMENT ON COLUMN hybrid_indexes.measured_by IS 'whether searches were calibrated on rows of the index or on queries; NULL if they were not';
COMMENT ON COLUMN hybrid_indexes.scans IS 'searches of the index by all sessions, since the statistics of the database were reset';
COMMENT ON COLUMN hybrid_indexes.last_vacuum IS 'time of the last VACUUM or autovacuum of the table; NULL if there was none since the statistics were reset';
COMMENT ON COLUMN hybrid_indexes.advice IS 'what you should do; NULL if nothing';
GRANT SELECT ON hybrid_indexes TO PUBLIC;

CREATE FUNCTION hybrid_index_curve(index regclass,
	OUT recall real, OUT missing real[], OUT rows real)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_index_curve'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 100 ROWS 9;
COMMENT ON FUNCTION hybrid_index_curve(regclass) IS
'returns the calibration of a hybrid index, as measured on its own rows or on queries that hybrid_index_measure() kept.
recall: the recall that the row describes.
missing: expected number of missing rows for each wanted row when a search stops; an array for queries from the most difficult to the easiest. NULL if there were too few queries of that difficulty; searches then use a quarter of 1 - recall.
rows: mean number of rows that a search for this recall scores.
Returns no rows if the index was not measured; searches then use a quarter of 1 - recall. For the owner of the index and members of pg_stat_scan_tables. Raises an error if Citus keeps the rows of the table in shards.';

CREATE FUNCTION hybrid_last_scan(
	OUT index regclass, OUT target_recall float8, OUT probes int, OUT rounds bigint, OUT lists bigint,
	OUT rows_scored bigint, OUT rows_rescored bigint, OUT rows_rejected bigint, OUT rows_excluded bigint,
	OUT rows_returned bigint, OUT expected_recall float8)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_last_scan'
-- restricted: a parallel worker has no last scan of the session
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED ROWS 1;
COMMENT ON FUNCTION hybrid_last_scan() IS
'returns one row about the last scan of a hybrid index in this session, or no row if there was none.
index: the index; NULL if it has been dropped.
target_recall: recall that the scan aimed for; 1 if it read all stored vectors.
probes: hybrid.probes.
rounds: number of searches: one, and one more each time the rows found were not enough.
lists: number of lists examined.
rows_scored, rows_rescored, rows_rejected: rows of these lists that were not excluded, rows whose vectors were read, and rows that a filter rejected before their vectors were read. rows_scored is 0 if the scan read all stored vectors.
rows_excluded: rows that conditions on keys and INCLUDE columns excluded, so that their vectors were not read.
rows_returned: rows returned to the executor.
expected_recall: recall that the last search expects: at least target_recall if it ended by itself, 1 if it examined all lists, NULL if it cannot tell, as with hybrid.probes.
If a plan has several scans, the function reports the one that ended or was restarted last. Scans that ended with an error count. Scans in parallel workers do not count.';

CREATE FUNCTION hybrid_index_measure(index regclass, queries vector[], k int DEFAULT 10, keep bool DEFAULT false)
RETURNS TABLE (target float8, recall float8, low_share float8, lists float8, rows_scored float8,
	p50_ms float8, p99_ms float8)
AS 'MODULE_PATHNAME', 'hybrid_index_measure'
-- unsafe: a policy may call any function
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 4;
COMMENT ON FUNCTION hybrid_index_measure(regclass, vector[], int, bool) IS
'measures the recall of an index on a vector or halfvec column for the caller''s own queries, by comparing ORDER BY ... LIMIT k through this index with hybrid_knn.
Returns a row for each target: hybrid.target_recall of 0.9, 0.95, 0.99, and its current value.
recall: mean recall; a row as near as the k-th nearest counts as found; NULL if no query has a row to find.
low_share: share of the queries whose recall is 0.5 or less.
lists, rows_scored: number of lists examined, and of rows whose codes were scored; means over all queries.
p50_ms, p99_ms: time within which half of the queries, and 99% of them, finished, in milliseconds.
hybrid.probes is taken to be 0; other settings apply. The function sees the rows that the caller may see; in a partial index, those that meet its condition.
keep: first calibrate the index by these queries instead of its own rows, counting each distinct query once; the result then shows the searches from now on. The calibration lasts until REINDEX, or until a VACUUM that finds twice as many lists, or a third of them gone; both then measure on rows again. ROLLBACK does not undo it. If searches read all rows, nothing is kept, and a notice says so.
Raises an error on an expression index, on other types, if Citus keeps the rows of the table in shards, on an empty array, on NULL, if dimensions differ, and on missing privileges; with keep also if the caller does not own the index, in a read-only transaction, on a standby, and if there are fewer than 100 different queries.';

CREATE FUNCTION hybrid_index_check(index regclass) RETURNS bigint
AS 'MODULE_PATHNAME', 'hybrid_index_check'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 10000;
COMMENT ON FUNCTION hybrid_index_check(regclass) IS
'compares a hybrid index with its table and returns the number of live entries.
Raises index_corrupted on a damaged page; on a list that is missing, referenced twice or of the wrong level; on a page that belongs to two lists; on a wrong count, norm, residual or code; and on a row that is missing, indexed twice, stored with other values, or not in the table.
Issues a notice about unreferenced pages, which a crash can leave. Blocks VACUUM, but not reads and writes. For the owner of the table. Raises an error if Citus keeps the rows of the table in shards.';

-- ---------------------------------------------------------------------------------------------
-- Graphs (src/graph)
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION _hybrid_graph_handler(internal) RETURNS index_am_handler
AS 'MODULE_PATHNAME', 'hybrid_graph_handler'
LANGUAGE C;
COMMENT ON FUNCTION _hybrid_graph_handler(internal) IS
'handler of the access method hybrid_graph; called by PostgreSQL only';

CREATE ACCESS METHOD hybrid_graph TYPE INDEX HANDLER _hybrid_graph_handler;
COMMENT ON ACCESS METHOD hybrid_graph IS
'registers columns (source, target[, weight[, type]]) as a graph, which graph functions take by the name of the index; stores nothing, and no scan uses it';

CREATE OPERATOR CLASS int2_ops DEFAULT FOR TYPE smallint USING hybrid_graph AS STORAGE smallint;
COMMENT ON OPERATOR CLASS int2_ops USING hybrid_graph IS 'columns of a registered graph';
CREATE OPERATOR CLASS int4_ops DEFAULT FOR TYPE int USING hybrid_graph AS STORAGE int;
COMMENT ON OPERATOR CLASS int4_ops USING hybrid_graph IS 'columns of a registered graph';
CREATE OPERATOR CLASS int8_ops DEFAULT FOR TYPE bigint USING hybrid_graph AS STORAGE bigint;
COMMENT ON OPERATOR CLASS int8_ops USING hybrid_graph IS 'columns of a registered graph';
CREATE OPERATOR CLASS float4_ops DEFAULT FOR TYPE real USING hybrid_graph AS STORAGE real;
COMMENT ON OPERATOR CLASS float4_ops USING hybrid_graph IS 'columns of a registered graph';
CREATE OPERATOR CLASS float8_ops DEFAULT FOR TYPE float8 USING hybrid_graph AS STORAGE float8;
COMMENT ON OPERATOR CLASS float8_ops USING hybrid_graph IS 'columns of a registered graph';
CREATE OPERATOR CLASS numeric_ops DEFAULT FOR TYPE numeric USING hybrid_graph AS STORAGE numeric;
COMMENT ON OPERATOR CLASS numeric_ops USING hybrid_graph IS 'columns of a registered graph';
CREATE OPERATOR CLASS text_ops DEFAULT FOR TYPE text USING hybrid_graph AS STORAGE text;
COMMENT ON OPERATOR CLASS text_ops USING hybrid_graph IS 'columns of a registered graph';

CREATE FUNCTION hybrid_graph_check(graph text)
	RETURNS TABLE (kept bool, pages_by_map bigint, pages_by_lsn bigint, pages_read bigint, edges bigint,
		differences bigint, shared bool)
	AS 'MODULE_PATHNAME', 'hybrid_graph_check'
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1;

COMMENT ON FUNCTION hybrid_graph_check(text) IS
'Compares the session''s copy of a registered graph with its table, which is read by a query on the same snapshot. kept: whether a copy is kept; if not, the next three columns are 0. pages_by_map, pages_by_lsn: number of pages that the visibility map or their LSN showed to be unchanged since the last call. pages_read: number of pages that were read again. edges: number of edges in the table. differences: number of edges that are only in the copy or only in the table; more than 0 is a bug. shared: whether the graph of the copy is in shared memory. Errors are those of hybrid_spread.';

CREATE FUNCTION hybrid_shared_graphs()
	RETURNS TABLE (graph regclass, direction text, all_types bool, nodes bigint, edges bigint, bytes bigint,
		sessions bigint, is_current bool)
	AS 'MODULE_PATHNAME', 'hybrid_shared_graphs'
	LANGUAGE C VOLATILE PARALLEL SAFE ROWS 10;

COMMENT ON FUNCTION hybrid_shared_graphs() IS
'The registered graphs of this database that are in shared memory. graph: the index. direction: the direction of its edges. all_types: whether it has edges of all types; if not, it has only those of the types that a call asked for. nodes, edges: number of its nodes and edges. bytes: its size in shared memory. sessions: number of sessions that use it. is_current: whether other sessions may start to use it; if not, a newer graph has replaced it, and the old one is freed when no session uses it, or its index was dropped, and it is freed when its memory is needed. Like PostgreSQL''s statistics, all roles see all rows. There are no rows unless hybrid is in shared_preload_libraries and hybrid.graph_shared_memory is above 0.';

CREATE FUNCTION hybrid_spread(
	graph text, seeds bigint[], activation float8[] DEFAULT NULL, hops int DEFAULT 3,
	decay float8 DEFAULT 0.85, fan float8 DEFAULT 1, hub float8 DEFAULT 0,
	threshold float8 DEFAULT 0, refire int DEFAULT NULL, combine text DEFAULT 'sum',
	direction text DEFAULT 'out', types text[] DEFAULT NULL, normalized bool DEFAULT false,
	unknown bool DEFAULT false, tolerance float8 DEFAULT 1e-9, k int DEFAULT NULL,
	params text[] DEFAULT NULL)
	RETURNS TABLE (id bigint, activation float8, hop int, via bigint)
	AS 'MODULE_PATHNAME', 'hybrid_spread'
	-- unsafe: the edges query may call any function
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000 SUPPORT _hybrid_row_estimate;

COMMENT ON FUNCTION hybrid_spread(text, bigint[], float8[], int, float8, float8, float8, float8, int,
	text, text, text[], bool, bool, float8, int, text[]) IS
'Spreads activation over a weighted graph.
graph: the name of an index of the access method hybrid_graph, or a query. The name may contain a schema and is looked up in search_path otherwise. The caller needs the SELECT privilege on the columns of the index. A row whose source or target is NULL is not an edge. A query begins with SELECT, WITH, VALUES or TABLE and returns source, target[, weight[, type]], matched by position. It can only read, with the privileges, snapshot and search_path of the caller. params: the values of $1, $2, ... in the query, each of type text, so another type needs a cast ($1::int). A weight must be finite and >= 0, and counts as 0 if it is too small for real; it is 1 if the query returns no weight column. If a statement calls the function for many rows, the query runs for each of them.
seeds: the nodes at which activation starts. activation: the initial activation of each seed, finite and >= 0 (NULL: 1 each). A seed given twice starts with the sum. If seeds is NULL or empty, there are no rows. unknown: whether seeds that occur in no edge are returned, with their activation.
At each hop, a node that received at least threshold passes on decay times that amount. Along each outgoing edge, this is multiplied by its weight / (sum of the outgoing weights ^ fan), and divided by (sum of the weights that enter the target ^ hub). fan is 0, 0.5 or 1. hub is 0 to 1; a larger one keeps activation away from nodes to which many edges lead.
hops: number of hops. NULL: continue until the activation that moves is less than tolerance times that of the seeds; an error if this may never end, or may take more than 100,000 hops.
refire: how often a node may pass on activation (NULL: no limit). combine: ''sum'' of the incoming activation, or ''max'' for the best path. direction: ''out'', ''in'' or ''both''. types: use only edges of these types. normalized: scale the activations of all rows to a sum of 1, before k applies. k: maximum number of rows.
Returns the nodes with activation above 0 and the hop that first reached each of them (0 for a seed), ordered by activation, largest first, then by id. via: the other node that has passed most activation to this one over all hops (for max, the largest amount), or of several such nodes the one with the smallest id; NULL for a seed that has received nothing from another node. All backends return bit-identical numbers.
Raises an error on an edge that contains NULL or has a weight that is NaN, infinite or negative; on a query that does more than read, or that returns other columns; on arguments, activation or its sum out of range; and on a graph that exceeds hybrid.graph_memory_limit.';

CREATE FUNCTION hybrid_spread_batch(
	graph text, sets bigint[], seeds bigint[], activation float8[] DEFAULT NULL, hops int DEFAULT 3,
	decay float8 DEFAULT 0.85, fan float8 DEFAULT 1, hub float8 DEFAULT 0,
	threshold float8 DEFAULT 0, refire int DEFAULT NULL, combine text DEFAULT 'sum',
	direction text DEFAULT 'out', types text[] DEFAULT NULL, normalized bool DEFAULT false,
	unknown bool DEFAULT false, tolerance float8 DEFAULT 1e-9, k int DEFAULT NULL,
	params text[] DEFAULT NULL)
	RETURNS TABLE (set bigint, id bigint, activation float8, hop int, via bigint)
	AS 'MODULE_PATHNAME', 'hybrid_spread_batch'
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 10000 SUPPORT _hybrid_row_estimate;

COMMENT ON FUNCTION hybrid_spread_batch(text, bigint[], bigint[], float8[], int, float8, float8,
	float8, float8, int, text, text, text[], bool, bool, float8, int, text[]) IS
'Spreads activation from many sets of seeds in one call. sets: for each seed, the number of its set, which can be any bigint; the array has as many elements as seeds. The other arguments are those of hybrid_spread, and each set gets the rows that hybrid_spread returns for its seeds, with the same bits: normalized, tolerance and k apply to each set alone.
Ordered by set, then by activation, largest first, then by id. The sets are computed together as far as hybrid.graph_memory_limit allows. Errors are those of hybrid_spread.';

CREATE FUNCTION hybrid_associate(
	rel regclass, id name, col name, query vector, graph text, k int DEFAULT 10,
	seeds int DEFAULT 10, vector_weight float8 DEFAULT 0.5, metric text DEFAULT 'cosine',
	hops int DEFAULT 3, decay float8 DEFAULT 0.85, fan float8 DEFAULT 1,
	hub float8 DEFAULT 0, direction text DEFAULT 'out', types text[] DEFAULT NULL,
	params text[] DEFAULT NULL)
	RETURNS TABLE (id bigint, score float8, similarity float8, activation float8, hop int,
		via bigint)
	AS 'MODULE_PATHNAME', 'hybrid_associate'
	-- unsafe: as hybrid_spread, and a view or a policy may call any function
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 10 SUPPORT _hybrid_row_estimate;

COMMENT ON FUNCTION hybrid_associate(regclass, name, name, vector, text, int, int, float8, text, int,
	float8, float8, float8, text, text[], text[]) IS
'Returns the rows of rel that are most similar to query, or most related to such rows, by one score. Activation spreads from the rows nearest to query, the seeds. Each seed starts with its similarity.
rel: a table, a partitioned table, a view or a foreign table. id: its integer column, whose values are the nodes of the graph; rows with NULL there do not count. col: its column of type vector, halfvec or sparsevec. graph, hops, decay, fan, hub, direction, types, params: as for hybrid_spread. seeds: number of seeds. vector_weight: 0 to 1. metric: cosine, l2 or l1. k: maximum number of rows.
similarity: 1 - distance for cosine, 1 / (1 + distance) for l2 and l1; NULL if the vector is NULL or has no direction. activation: divided by the largest activation of any node; 0 if none arrives. hop: the hop that first reached the row, 0 for a seed whose similarity is above 0, NULL if none did. via: as for hybrid_spread. score: vector_weight * similarity + (1 - vector_weight) * activation, where NULL counts as 0.
Ordered by score, largest first, then by id. An index on col finds the nearest rows as for ORDER BY ... LIMIT, and an index on id finds the related ones. The function sees the rows and edges that SELECTs by the caller would return. Nodes without a row in rel pass activation on, but are not returned.
Raises an error if a column does not exist or has another type, if dimensions differ, on NULL, on a number out of range, on an unknown metric, on missing privileges, and as hybrid_spread.';

CREATE FUNCTION hybrid_pagerank(
	graph text, damping float8 DEFAULT 0.85, seeds bigint[] DEFAULT NULL,
	activation float8[] DEFAULT NULL, direction text DEFAULT 'out', types text[] DEFAULT NULL,
	tolerance float8 DEFAULT 1e-9, k int DEFAULT NULL, params text[] DEFAULT NULL)
	RETURNS TABLE (id bigint, rank float8)
	AS 'MODULE_PATHNAME', 'hybrid_pagerank'
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000 SUPPORT _hybrid_row_estimate;

COMMENT ON FUNCTION hybrid_pagerank(text, float8, bigint[], float8[], text, text[], float8, int, text[]) IS
'Returns the PageRank of each node: how often a random walk visits it. At each step, the walk follows an edge of its node with probability damping, chosen by weight, and otherwise starts again. It also starts again at a node without outgoing weight. Ranks have the sum 1.
graph, types, params, direction: as for hybrid_spread. damping: at least 0, below 1. seeds: the nodes where the walk starts (personalized PageRank); NULL: all nodes of the graph, equally often. activation: how often it starts at each seed, relative to the others (NULL: equally often). Seeds that are not in the graph do not count. tolerance: the computation ends when a step moves less than this share. k: maximum number of rows.
Returns the nodes with a rank above 0, ordered by rank, largest first, then by id. All backends return bit-identical numbers. Raises an error as hybrid_spread does, on a damping or tolerance out of range, and if these two could take more than 100,000 steps. A tolerance below 2^-53 counts as 2^-53.';

CREATE FUNCTION hybrid_neighbors(
	graph text, nodes bigint[], hops int DEFAULT 1, direction text DEFAULT 'out',
	types text[] DEFAULT NULL, params text[] DEFAULT NULL)
	RETURNS TABLE (id bigint, hop int)
	AS 'MODULE_PATHNAME', 'hybrid_neighbors'
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000;

COMMENT ON FUNCTION hybrid_neighbors(text, bigint[], int, text, text[], text[]) IS
'Returns the nodes that a path of at most hops edges connects with one of the given nodes, and hop, the number of edges of the shortest such path. The given nodes are included, with hop 0. Ordered by hop, then by id.
graph, types, params: as for hybrid_spread. hops: NULL means any number. direction: ''out'' follows the edges, ''in'' follows them backward, ''both'' in either direction. Weights do not matter.
A node that occurs in no edge gives no rows. Raises an error on NULL in nodes, on hops below 0, and as hybrid_spread on edges and memory.';

CREATE FUNCTION hybrid_subgraph(
	graph text, nodes bigint[], hops int DEFAULT 1, direction text DEFAULT 'both',
	types text[] DEFAULT NULL, params text[] DEFAULT NULL)
	RETURNS TABLE (source bigint, target bigint, weight real, type text)
	AS 'MODULE_PATHNAME', 'hybrid_subgraph'
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000;

COMMENT ON FUNCTION hybrid_subgraph(text, bigint[], int, text, text[], text[]) IS
'Returns the edges between the nodes that hybrid_neighbors returns for the same arguments, each in its own direction, in the form that the graph functions take. Ordered by source, then by target, then by type. The weights of parallel edges of the same type are added. type is NULL if the edges have no type column. If they have one, they are read twice. Errors are those of hybrid_neighbors.';

CREATE FUNCTION hybrid_shortest_path(
	graph text, source bigint, target bigint, weighted bool DEFAULT true,
	direction text DEFAULT 'out', types text[] DEFAULT NULL, params text[] DEFAULT NULL)
	RETURNS TABLE (step int, id bigint, cost float8)
	AS 'MODULE_PATHNAME', 'hybrid_shortest_path'
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 20;

COMMENT ON FUNCTION hybrid_shortest_path(text, bigint, bigint, bool, text, text[], text[]) IS
'Returns a path of the smallest cost from source to target: one row for each node on it, from step 0, the source, to the target. cost is the cost from the source to this node.
graph, types, params: as for hybrid_spread. weighted: the cost of an edge is its weight (true) or 1 (false). Of parallel edges, the one with the smallest weight counts. direction: ''out'' follows the edges, ''in'' follows them backward, ''both'' in either direction. If several paths have the smallest cost, the same one is returned each time.
Returns no rows if there is no path, or if source or target occurs in no edge. Raises an error if source or target is NULL, on a negative weight, and as hybrid_spread on edges and memory.';

CREATE FUNCTION hybrid_components(graph text, types text[] DEFAULT NULL, params text[] DEFAULT NULL)
	RETURNS TABLE (id bigint, component bigint)
	AS 'MODULE_PATHNAME', 'hybrid_components'
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000;

COMMENT ON FUNCTION hybrid_components(text, text[], text[]) IS
'Returns each node and its connected component, named by the smallest id of its nodes. Ordered by id. The direction and weight of edges do not matter. graph, types, params and errors: as for hybrid_spread.';

CREATE FUNCTION hybrid_degree(
	graph text, direction text DEFAULT 'both', types text[] DEFAULT NULL,
	params text[] DEFAULT NULL)
	RETURNS TABLE (id bigint, degree bigint, weight float8)
	AS 'MODULE_PATHNAME', 'hybrid_degree'
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000;

COMMENT ON FUNCTION hybrid_degree(text, text, text[], text[]) IS
'Returns each node, the number of its different neighbors, and the sum of the weights of the edges to them. Ordered by id. Without weights, weight is the number of edges.
direction: ''out'' counts the edges that leave the node, ''in'' those that enter it, ''both'' all of them. An edge from a node to itself makes the node its own neighbor; with ''both'', its weight counts twice. graph, types, params and errors: as for hybrid_spread.';

CREATE FUNCTION hybrid_triangles(graph text, types text[] DEFAULT NULL, params text[] DEFAULT NULL)
	RETURNS TABLE (id bigint, triangles bigint, clustering float8)
	AS 'MODULE_PATHNAME', 'hybrid_triangles'
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000;

COMMENT ON FUNCTION hybrid_triangles(text, text[], text[]) IS
'Returns each node, the number of triangles that it belongs to, and its clustering coefficient: the share of the pairs of its neighbors that are neighbors themselves, 0 for a node with fewer than two neighbors. Two nodes are neighbors if an edge connects them, in whatever direction. Edges from a node to itself, parallel edges and weights do not count. Ordered by id. graph, types, params and errors: as for hybrid_spread.';

CREATE FUNCTION hybrid_similar_nodes(
	graph text, node bigint, method text DEFAULT 'jaccard', k int DEFAULT 10,
	direction text DEFAULT 'both', types text[] DEFAULT NULL, params text[] DEFAULT NULL)
	RETURNS TABLE (id bigint, similarity float8)
	AS 'MODULE_PATHNAME', 'hybrid_similar_nodes'
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 10 SUPPORT _hybrid_row_estimate;

COMMENT ON FUNCTION hybrid_similar_nodes(text, bigint, text, int, text, text[], text[]) IS
'Returns the k nodes that are most similar to the given node by their common neighbors, ordered by similarity, largest first, then by id. k NULL means all nodes that have a neighbor in common with it.
method: ''jaccard'', the number of common neighbors divided by the number of all neighbors of the two nodes; or ''adamic_adar'', the sum over the common neighbors of 1 / ln(number of nodes that have it as a neighbor). direction: the neighbors of a node are those that its edges lead to (''out''), that have an edge to it (''in''), or both. A node with an edge to itself is its own neighbor. Weights do not count. graph, types, params: as for hybrid_spread.
Returns no rows if the node occurs in no edge. Raises an error if node is NULL, on an unknown method, on k below 1, and as hybrid_spread on edges and memory.';

CREATE FUNCTION hybrid_communities(
	graph text, method text DEFAULT 'leiden', resolution float8 DEFAULT 1, seed bigint DEFAULT 0,
	types text[] DEFAULT NULL, params text[] DEFAULT NULL)
	RETURNS TABLE (id bigint, community bigint)
	AS 'MODULE_PATHNAME', 'hybrid_communities'
	LANGUAGE C STABLE PARALLEL UNSAFE COST 100000 ROWS 1000;

COMMENT ON FUNCTION hybrid_communities(text, text, float8, bigint, text[], text[]) IS
'Returns each node and its community, named by the smallest id of its nodes. Ordered by id. The edges within a community have much weight, and the edges between communities have little. The direction of edges does not matter.
method: ''leiden'' looks for the largest modularity, and each community is connected by edges of weight above 0; ''label_propagation'' is usually faster: each node takes the community that has the most weight among its neighbors. resolution: finite and >= 0; a larger one gives smaller communities (leiden only). seed: selects the random orders in which nodes are visited; the same edges and seed give the same communities. graph, types, params: as for hybrid_spread.
Raises an error on an unknown method or a resolution out of range, and as hybrid_spread on edges and memory.';

-- ---------------------------------------------------------------------------------------------
-- Monitoring of the dispatcher (src/telemetry)
-- ---------------------------------------------------------------------------------------------

CREATE FUNCTION _hybrid_get_devices(
	OUT device int, OUT backend text, OUT number int, OUT name text, OUT architecture text, OUT cores int,
	OUT memory_total bigint, OUT memory_free bigint, OUT memory_used bigint, OUT state text,
	OUT detail text, OUT virtual bool, OUT contexts int, OUT limits text, OUT load float8,
	OUT queue int, OUT queue_us float8, OUT resident_bytes bigint, OUT resident_units bigint,
	OUT resident_hits bigint, OUT resident_misses bigint, OUT resident_evictions bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_get_devices'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 1000 ROWS 2;
COMMENT ON FUNCTION _hybrid_get_devices() IS
'returns the devices of this session, with the reason if one cannot be used; memory in bytes; opens no device; see the view hybrid_devices';

CREATE FUNCTION _hybrid_get_capabilities(
	OUT device int, OUT backend text, OUT operation text, OUT dtype text, OUT metric text,
	OUT supported bool, OUT max_dims int, OUT max_targets bigint, OUT max_k int, OUT exact bool,
	OUT reason text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_get_capabilities'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 1000 ROWS 66;
COMMENT ON FUNCTION _hybrid_get_capabilities() IS
'returns what each device of this session can run, one row for each operation, type and metric; opens no device; see the view hybrid_capabilities';

CREATE FUNCTION _hybrid_get_stats(
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
COMMENT ON FUNCTION _hybrid_get_stats() IS
'returns counters, one row for each device and operation that was used: of all sessions for members of pg_monitor if hybrid is preloaded, else of this session; see the view hybrid_stats';

CREATE FUNCTION _hybrid_get_events(
	OUT scope text, OUT at timestamptz, OUT pid int, OUT role name, OUT operation text,
	OUT dtype text, OUT metric text, OUT dims int, OUT queries bigint, OUT targets bigint,
	OUT k int, OUT items bigint, OUT execution text, OUT device int, OUT backend text,
	OUT reason text, OUT fallback bool, OUT status text, OUT native_code int, OUT error text,
	OUT predicted_cpu_us float8, OUT predicted_device_us float8, OUT actual_us float8,
	OUT virtual bool, OUT bytes_required bigint, OUT bytes_available bigint, OUT pieces int,
	OUT split_share float8, OUT load float8, OUT queue int)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_get_events'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 1000 ROWS 256;
COMMENT ON FUNCTION _hybrid_get_events() IS
'returns the most recent decisions of the dispatcher, oldest first: of all sessions for members of pg_monitor if hybrid is preloaded, else of this session; see the view hybrid_events';

CREATE FUNCTION _hybrid_get_tracker(
	OUT scope text, OUT device int, OUT backend text, OUT number int, OUT name text, OUT operation text,
	OUT dtype text, OUT metric text, OUT dims_low int, OUT dims_high int, OUT resident bool,
	OUT threads int, OUT observations bigint, OUT samples float8, OUT calibrated bool,
	OUT launch_us float8, OUT work_ns float8, OUT byte_ns float8, OUT serial_ns float8, OUT queries bigint,
	OUT targets bigint, OUT k int,
	OUT predicted_us float8, OUT speedup float8, OUT break_even bigint, OUT breaker text,
	OUT success_rate float8, OUT virtual bool)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_get_tracker'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 10000 ROWS 20;
COMMENT ON FUNCTION _hybrid_get_tracker() IS
'returns learned costs, one row for each kind of batch and device: of all sessions for members of pg_monitor if hybrid is preloaded, else of this session; see the view hybrid_tracker';

CREATE FUNCTION hybrid_explain(
	operation text, targets bigint, dims int DEFAULT 0, queries bigint DEFAULT 1,
	metric text DEFAULT 'l2', k int DEFAULT 10, dtype text DEFAULT 'float32',
	OUT device int, OUT backend text, OUT chosen bool, OUT reason text, OUT status text,
	OUT detail text, OUT able bool, OUT open bool, OUT predicted_us float8,
	OUT queue_us float8, OUT samples int, OUT bytes_required bigint, OUT bytes_up bigint,
	OUT bytes_down bigint, OUT bytes_available bigint, OUT share float8, OUT virtual bool)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_explain'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 1000 ROWS 2;
COMMENT ON FUNCTION hybrid_explain(text, bigint, int, bigint, text, int, text) IS
'shows how the dispatcher would run a batch, without running it: one row for each available device, with predicted time in microseconds and required memory in bytes; chosen marks the selected device, and reason says why; targets are rows, or edges for spread; queries are seed sets for spread; a status other than ok is the error that forcing a device would raise; raises an error on an unknown operation, metric or dtype, on negative numbers, and on a batch that exceeds the address space of a process';

CREATE FUNCTION hybrid_setting_check(servers name[] DEFAULT NULL,
	OUT server name, OUT setting text, OUT here text, OUT there text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_setting_check'
LANGUAGE C VOLATILE PARALLEL UNSAFE COST 1000000 ROWS 10;
COMMENT ON FUNCTION hybrid_setting_check(name[]) IS
'compares foreign servers of postgres_fdw with this session: one row for each setting of hybrid that has another value for a new session on the server, and one with the setting "version" if the extension has another version; the column "there" is NULL if the server does not have the setting or the extension; servers: names of the servers; NULL: all that the user may use and has a user mapping for; needs the extension dblink; raises an error that names the server if it cannot be asked';

CREATE FUNCTION hybrid_audit(
	OUT shapes int, OUT compared int, OUT untrusted int, OUT routed_right int,
	OUT right_share float8, OUT best_ms float8, OUT lost_ms float8, OUT lost_share float8,
	OUT virtual bool, OUT detail text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_audit'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED COST 100000 ROWS 1;
COMMENT ON FUNCTION hybrid_audit() IS
'runs a fixed grid of batches on the CPU and on every open device, and returns how many would have been routed to the fastest one (within 5% of the fastest counts as right) and the milliseconds lost by wrong routes; learns nothing from it and opens no device; takes some seconds and 64 MB; if no device is open, returns one row that says so in detail; for superusers and roles with the EXECUTE privilege';
REVOKE EXECUTE ON FUNCTION hybrid_audit() FROM PUBLIC;

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
'shows the result of hybrid_audit() for each batch: the device it would have been routed to and why, the fastest device, and measured and predicted times in microseconds; scaled: only part of the batch was measured; for superusers and roles with the EXECUTE privilege';
REVOKE EXECUTE ON FUNCTION hybrid_audit_shapes() FROM PUBLIC;

CREATE FUNCTION hybrid_reset_stats() RETURNS void
AS 'MODULE_PATHNAME', 'hybrid_reset_stats'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;
COMMENT ON FUNCTION hybrid_reset_stats() IS
'discards counters, events, measured times and open circuit breakers: of all sessions if hybrid is preloaded, else of this session; for superusers and roles with the EXECUTE privilege';
REVOKE EXECUTE ON FUNCTION hybrid_reset_stats() FROM PUBLIC;

CREATE TABLE hybrid_calibration (
	backend text NOT NULL, number int NOT NULL, name text NOT NULL, architecture text NOT NULL,
	operation text NOT NULL, dtype text NOT NULL, metric text NOT NULL, dims int NOT NULL, threads int NOT NULL DEFAULT 1,
	samples float8 NOT NULL, launch_us float8 NOT NULL, work_ns float8 NOT NULL,
	byte_ns float8 NOT NULL, serial_ns float8 NOT NULL, state float8[] NOT NULL, measured_at timestamptz NOT NULL,
	PRIMARY KEY (backend, number, name, architecture, operation, dtype, metric, dims, threads));
COMMENT ON TABLE hybrid_calibration IS
'results of hybrid_calibrate(); sessions start from them where they have no history; rows may be deleted';
COMMENT ON COLUMN hybrid_calibration.backend IS 'cpu, or the name of the backend that drives the device';
COMMENT ON COLUMN hybrid_calibration.number IS 'device number within the plug-in';
COMMENT ON COLUMN hybrid_calibration.name IS 'name that the device reports';
COMMENT ON COLUMN hybrid_calibration.architecture IS 'instruction set or compute capability that was measured';
COMMENT ON COLUMN hybrid_calibration.operation IS 'distance, topk, assign, score_codes or spread';
COMMENT ON COLUMN hybrid_calibration.dtype IS 'element type of the vectors; float32 for spread';
COMMENT ON COLUMN hybrid_calibration.metric IS 'distance metric; l2 for spread';
COMMENT ON COLUMN hybrid_calibration.dims IS 'dimensions of the measured vectors, which represent vectors of similar dimensions; 0 for spread';
COMMENT ON COLUMN hybrid_calibration.threads IS 'for the CPU, number of threads: 1, or the lowest of a class of numbers: 2 to 3, 4 to 7, and so on; 1 for other devices';
COMMENT ON COLUMN hybrid_calibration.samples IS 'number of batches measured';
COMMENT ON COLUMN hybrid_calibration.launch_us IS 'fixed time for each batch, in microseconds';
COMMENT ON COLUMN hybrid_calibration.work_ns IS 'nanoseconds per multiplication (queries x targets x dimensions; edges x seed sets for spread)';
COMMENT ON COLUMN hybrid_calibration.byte_ns IS 'nanoseconds per byte moved';
COMMENT ON COLUMN hybrid_calibration.serial_ns IS 'nanoseconds per unit of work that more cores do not speed up: a result on the CPU, a dimension of a row on a device';
COMMENT ON COLUMN hybrid_calibration.state IS 'data behind the fitted values, followed by the time for each size (queries, targets, k, ns); sessions read this column';
COMMENT ON COLUMN hybrid_calibration.measured_at IS 'time of the measurement';
-- pg_dump includes the rows, for a restore on the same machine: a row is only used where its device
-- exists.  Everybody may read the table, since the role that dumps a database need not be a superuser,
-- and hybrid_explain() and hybrid_tracker show everybody the same information.
SELECT pg_catalog.pg_extension_config_dump('hybrid_calibration', '');
GRANT SELECT ON hybrid_calibration TO PUBLIC;

CREATE FUNCTION _hybrid_run_calibration(
	OUT backend text, OUT number int, OUT name text, OUT architecture text, OUT operation text,
	OUT dtype text, OUT metric text, OUT dims int, OUT threads int, OUT samples float8,
	OUT launch_us float8, OUT work_ns float8, OUT byte_ns float8, OUT serial_ns float8, OUT state float8[])
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'hybrid_run_calibration'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE COST 1000000 ROWS 60;
COMMENT ON FUNCTION _hybrid_run_calibration() IS
'measures the CPU and every device with synthetic batches, opening devices that are closed, and returns the fitted costs of each kind of batch; does not store them; hybrid_calibrate() does';
REVOKE EXECUTE ON FUNCTION _hybrid_run_calibration() FROM PUBLIC;

-- The body is parsed here, so that it finds its table in whatever schema the extension is moved to.
CREATE FUNCTION hybrid_calibrate() RETURNS SETOF hybrid_calibration
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE SECURITY DEFINER COST 1000000 ROWS 60
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
	INSERT INTO hybrid_calibration
	SELECT r.*, pg_catalog.clock_timestamp() FROM _hybrid_run_calibration() AS r
	ON CONFLICT (backend, number, name, architecture, operation, dtype, metric, dims, threads)
	DO UPDATE SET samples = EXCLUDED.samples, launch_us = EXCLUDED.launch_us,
		work_ns = EXCLUDED.work_ns, byte_ns = EXCLUDED.byte_ns,
		serial_ns = EXCLUDED.serial_ns, state = EXCLUDED.state, measured_at = EXCLUDED.measured_at
	RETURNING *;
END;
COMMENT ON FUNCTION hybrid_calibrate() IS
'measures the CPU and every device with synthetic batches for some seconds, stores the results in hybrid_calibration, and returns them; sessions without history start from them; for superusers and roles with the EXECUTE privilege';
REVOKE EXECUTE ON FUNCTION hybrid_calibrate() FROM PUBLIC;

CREATE VIEW hybrid_devices AS SELECT * FROM _hybrid_get_devices();
COMMENT ON VIEW hybrid_devices IS 'devices of this session, with the reason if one cannot be used';
COMMENT ON COLUMN hybrid_devices.device IS 'number of the device in this session; 0 is the CPU';
COMMENT ON COLUMN hybrid_devices.backend IS 'cpu, or the name of the backend that drives the device';
COMMENT ON COLUMN hybrid_devices.number IS 'device number within the plug-in, as in hybrid.gpu_device';
COMMENT ON COLUMN hybrid_devices.name IS 'name that the device reports; empty if it was never found';
COMMENT ON COLUMN hybrid_devices.architecture IS 'instruction set or compute capability';
COMMENT ON COLUMN hybrid_devices.cores IS 'number of CPU cores or multiprocessors';
COMMENT ON COLUMN hybrid_devices.memory_total IS 'total memory in bytes; 0 if not known before the device is open';
COMMENT ON COLUMN hybrid_devices.memory_free IS 'free memory in bytes; NULL if not known';
COMMENT ON COLUMN hybrid_devices.memory_used IS 'memory in use by all users of the device, in bytes; known once a device is open';
COMMENT ON COLUMN hybrid_devices.state IS 'open, closed (opened when that pays off), left out (by hybrid.gpu_device), given up (not used again by this session) or unavailable';
COMMENT ON COLUMN hybrid_devices.detail IS 'reason why the device cannot be used';
COMMENT ON COLUMN hybrid_devices.virtual IS 'true for an emulated device, whose times come from a model';
COMMENT ON COLUMN hybrid_devices.contexts IS 'number of open contexts on the device: of all sessions if limits is enforced, else of this session';
COMMENT ON COLUMN hybrid_devices.limits IS 'whether hybrid.gpu_max_contexts is enforced across all sessions, which requires hybrid in shared_preload_libraries';
COMMENT ON COLUMN hybrid_devices.load IS 'CPU: runnable processes per core, over the last minute; device: queued tasks divided by hybrid.gpu_queue_depth; above 1, some of these wait';
COMMENT ON COLUMN hybrid_devices.queue IS 'tasks that are waiting for the device or in flight on it: of all sessions if limits is enforced, else of this session; NULL for the CPU';
COMMENT ON COLUMN hybrid_devices.queue_us IS 'expected time in microseconds for the tasks in queue, not counting tasks without an estimate; a batch sent now is expected to wait that long';
COMMENT ON COLUMN hybrid_devices.resident_bytes IS 'bytes on the device of index vectors and graphs that this session keeps there for later calls; NULL for the CPU, like the next four columns';
COMMENT ON COLUMN hybrid_devices.resident_units IS 'number of units in resident_bytes; a unit is some neighboring lists of an index, or a graph';
COMMENT ON COLUMN hybrid_devices.resident_hits IS 'units that calls of this session found on the device';
COMMENT ON COLUMN hybrid_devices.resident_misses IS 'units that calls of this session did not find there because they were new, changed or evicted';
COMMENT ON COLUMN hybrid_devices.resident_evictions IS 'units evicted to make room for others or for tasks';

CREATE VIEW hybrid_capabilities AS SELECT * FROM _hybrid_get_capabilities();
COMMENT ON VIEW hybrid_capabilities IS 'operations, types and metrics that each available device of this session can run';
COMMENT ON COLUMN hybrid_capabilities.device IS 'number of the device in this session; 0 is the CPU';
COMMENT ON COLUMN hybrid_capabilities.backend IS 'cpu, or the name of the backend that drives the device';
COMMENT ON COLUMN hybrid_capabilities.operation IS 'distance, topk, assign, score_codes or spread';
COMMENT ON COLUMN hybrid_capabilities.dtype IS 'element type of the vectors; NULL for spread';
COMMENT ON COLUMN hybrid_capabilities.metric IS 'distance metric; NULL for spread';
COMMENT ON COLUMN hybrid_capabilities.supported IS 'whether the device can run it at all';
COMMENT ON COLUMN hybrid_capabilities.max_dims IS 'maximum dimensions of a vector';
COMMENT ON COLUMN hybrid_capabilities.max_targets IS 'maximum number of rows or edges in a batch; NULL: limited by memory only';
COMMENT ON COLUMN hybrid_capabilities.max_k IS 'maximum number of neighbors; NULL: no limit, or the operation has no k';
COMMENT ON COLUMN hybrid_capabilities.exact IS 'whether results are bit-identical to those of the CPU; otherwise they are candidates that the CPU checks';
COMMENT ON COLUMN hybrid_capabilities.reason IS 'reason why it is not supported';

CREATE VIEW hybrid_stats AS SELECT * FROM _hybrid_get_stats();
COMMENT ON VIEW hybrid_stats IS 'activity of the dispatcher by device and operation, of all sessions or of this one (see scope)';
COMMENT ON COLUMN hybrid_stats.scope IS 'cluster: all sessions since server start or the last reset; backend: this session only, without its parallel workers';
COMMENT ON COLUMN hybrid_stats.device IS 'number of the device in this session; NULL if this session does not have the device';
COMMENT ON COLUMN hybrid_stats.backend IS 'cpu, or the name of the backend that drives the device';
COMMENT ON COLUMN hybrid_stats.number IS 'device number within the plug-in';
COMMENT ON COLUMN hybrid_stats.name IS 'name that the device reports';
COMMENT ON COLUMN hybrid_stats.architecture IS 'instruction set (hybrid.simd) or compute capability; backend, number, name and architecture together identify a device';
COMMENT ON COLUMN hybrid_stats.operation IS 'distance, topk, assign, score_codes or spread';
COMMENT ON COLUMN hybrid_stats.calls IS 'batches that the device finished; a batch split across several devices counts for the device it was sent to';
COMMENT ON COLUMN hybrid_stats.pieces IS 'finished pieces of batches that were split across several devices or were too large for this device';
COMMENT ON COLUMN hybrid_stats.items IS 'number of items in these batches: queries x targets of each';
COMMENT ON COLUMN hybrid_stats.failures IS 'failed attempts on the device; excludes cancellations, and calls that raised an error before anything ran, which are in hybrid_events';
COMMENT ON COLUMN hybrid_stats.fallbacks IS 'batches that failed on the device and were then run by the CPU';
COMMENT ON COLUMN hybrid_stats.success_rate IS 'finished batches as a share of all attempts, from 0 to 1';
COMMENT ON COLUMN hybrid_stats.mean_us IS 'mean time of a finished batch in microseconds';
COMMENT ON COLUMN hybrid_stats.p50_us IS 'median time of a finished batch in microseconds, accurate to a power of two';
COMMENT ON COLUMN hybrid_stats.p99_us IS '99th percentile of the time of a finished batch in microseconds, accurate to a power of two';
COMMENT ON COLUMN hybrid_stats.total_ms IS 'time spent in finished batches in milliseconds';
COMMENT ON COLUMN hybrid_stats.bytes_up IS 'bytes moved to the device';
COMMENT ON COLUMN hybrid_stats.bytes_down IS 'bytes moved back from the device';
COMMENT ON COLUMN hybrid_stats.virtual IS 'times come from the model of the emulated device';
COMMENT ON COLUMN hybrid_stats.reasons IS 'number of batches sent here, by reason';
COMMENT ON COLUMN hybrid_stats.statuses IS 'number of attempts here, by resulting status';
COMMENT ON COLUMN hybrid_stats.fallback_causes IS 'number of batches that fell back to the CPU, by status of the last attempt';
COMMENT ON COLUMN hybrid_stats.flushes IS 'number of gathered batches, by what completed them: size, time, memory or end; in the rows of the CPU';
COMMENT ON COLUMN hybrid_stats.scan_limits IS 'number of index scans that ended before they found all wanted rows, by limit: max_scan_tuples (hybrid.max_scan_tuples) or memory (hybrid.scan_mem_multiplier); in the CPU''s row for distance';

CREATE VIEW hybrid_events AS SELECT * FROM _hybrid_get_events();
COMMENT ON VIEW hybrid_events IS 'most recent decisions of the dispatcher, oldest first, of all sessions or of this one (see scope)';
COMMENT ON COLUMN hybrid_events.scope IS 'cluster: decisions of all sessions; backend: decisions of this session only, without its parallel workers';
COMMENT ON COLUMN hybrid_events.at IS 'start time of the call';
COMMENT ON COLUMN hybrid_events.pid IS 'process ID of the session or of its parallel worker';
COMMENT ON COLUMN hybrid_events.role IS 'role that the session logged in as';
COMMENT ON COLUMN hybrid_events.operation IS 'distance, topk, assign, score_codes or spread';
COMMENT ON COLUMN hybrid_events.dtype IS 'element type of the vectors; NULL for spread';
COMMENT ON COLUMN hybrid_events.metric IS 'distance metric; NULL for spread';
COMMENT ON COLUMN hybrid_events.dims IS 'dimensions of the vectors; 0 for spread';
COMMENT ON COLUMN hybrid_events.queries IS 'number of queries or seed sets';
COMMENT ON COLUMN hybrid_events.targets IS 'number of rows to compare with, or of edges';
COMMENT ON COLUMN hybrid_events.k IS 'number of neighbors requested; 0 if the operation has no k';
COMMENT ON COLUMN hybrid_events.items IS 'number of items: queries x targets; rows x centroids for assign; edges x seed sets for spread';
COMMENT ON COLUMN hybrid_events.execution IS 'value of hybrid.execution at that time; cpu if hybrid.force_cpu was on';
COMMENT ON COLUMN hybrid_events.device IS 'number of the device in this session to which the batch was sent first; NULL if this session does not have the device, or nothing ran';
COMMENT ON COLUMN hybrid_events.backend IS 'backend of that device; NULL if nothing ran because the device required by hybrid.execution could not run the batch, and the call raised an error';
COMMENT ON COLUMN hybrid_events.reason IS 'reason for the choice of the device, or for not running the batch';
COMMENT ON COLUMN hybrid_events.fallback IS 'true if the device failed and the CPU ran the batch';
COMMENT ON COLUMN hybrid_events.status IS 'result of the first attempt, or the reason why there was none';
COMMENT ON COLUMN hybrid_events.native_code IS 'error number of the device''s driver; 0 if none';
COMMENT ON COLUMN hybrid_events.error IS 'error message of the device, or, if a device was requested or its driver failed, the reason why no device can be used';
COMMENT ON COLUMN hybrid_events.predicted_cpu_us IS 'predicted time on the CPU in microseconds; NULL if not known, or not computed because hybrid.execution or another rule had already decided';
COMMENT ON COLUMN hybrid_events.predicted_device_us IS 'predicted time on the device in microseconds; NULL if not known, or not computed because hybrid.execution or another rule had already decided';
COMMENT ON COLUMN hybrid_events.actual_us IS 'time of the whole call in microseconds';
COMMENT ON COLUMN hybrid_events.virtual IS 'actual_us comes from the model of the emulated device';
COMMENT ON COLUMN hybrid_events.bytes_required IS 'memory in bytes that the batch needed on the device';
COMMENT ON COLUMN hybrid_events.bytes_available IS 'memory in bytes that was available for the batch';
COMMENT ON COLUMN hybrid_events.pieces IS 'number of pieces in which the batch ran; 0 if it was not cut';
COMMENT ON COLUMN hybrid_events.split_share IS 'for a batch split between a device and the CPU, the device''s share of its rows, from 0 to 1';
COMMENT ON COLUMN hybrid_events.load IS 'runnable processes per core; NULL if not known';
COMMENT ON COLUMN hybrid_events.queue IS 'tasks that were waiting for the considered device or in flight on it; NULL if no device was considered, or if the decision was reused from a preceding batch';

CREATE VIEW hybrid_tracker AS SELECT * FROM _hybrid_get_tracker();
COMMENT ON VIEW hybrid_tracker IS 'learned costs of each kind of batch on each device, of all sessions or of this one (see scope)';
COMMENT ON COLUMN hybrid_tracker.scope IS 'cluster: learned by all sessions; backend: learned by this session only';
COMMENT ON COLUMN hybrid_tracker.device IS 'number of the device in this session; 0 is the CPU; NULL if this session does not have the device';
COMMENT ON COLUMN hybrid_tracker.backend IS 'cpu, or the name of the backend that drives the device';
COMMENT ON COLUMN hybrid_tracker.number IS 'device number within the plug-in';
COMMENT ON COLUMN hybrid_tracker.name IS 'name that the device reports';
COMMENT ON COLUMN hybrid_tracker.operation IS 'distance, topk, assign, score_codes or spread';
COMMENT ON COLUMN hybrid_tracker.dtype IS 'element type of the vectors; NULL for spread';
COMMENT ON COLUMN hybrid_tracker.metric IS 'distance metric; NULL for spread';
COMMENT ON COLUMN hybrid_tracker.dims_low IS 'lowest number of dimensions in this kind of batch; 0 for spread';
COMMENT ON COLUMN hybrid_tracker.dims_high IS 'highest number of dimensions in this kind of batch; 0 for spread';
COMMENT ON COLUMN hybrid_tracker.resident IS 'true if the rows are already on the device';
COMMENT ON COLUMN hybrid_tracker.threads IS 'for the CPU, number of threads: 1, or the lowest of a class of numbers: 2 to 3, 4 to 7, and so on; NULL for other devices';
COMMENT ON COLUMN hybrid_tracker.observations IS 'finished batches of this kind that were used for learning';
COMMENT ON COLUMN hybrid_tracker.samples IS 'number of these that still count, at most hybrid.tracker_window';
COMMENT ON COLUMN hybrid_tracker.calibrated IS 'true if the fit uses results of hybrid_calibrate(), which are its only data if observations is 0; false for a device that this session does not have';
COMMENT ON COLUMN hybrid_tracker.launch_us IS 'fitted: fixed time for each batch, in microseconds';
COMMENT ON COLUMN hybrid_tracker.work_ns IS 'fitted: nanoseconds per multiplication (queries x targets x dimensions; edges x seed sets for spread)';
COMMENT ON COLUMN hybrid_tracker.byte_ns IS 'fitted: nanoseconds per byte moved';
COMMENT ON COLUMN hybrid_tracker.serial_ns IS 'fitted: nanoseconds per unit of work that more cores do not speed up: a result on the CPU, a dimension of a row on a device';
COMMENT ON COLUMN hybrid_tracker.queries IS 'number of queries in the last batch of this kind, 1 if there was none; the columns that follow describe such a batch';
COMMENT ON COLUMN hybrid_tracker.targets IS 'number of targets in the last batch of this kind, 1 if there was none';
COMMENT ON COLUMN hybrid_tracker.k IS 'k in the last batch of this kind, 1 if there was none';
COMMENT ON COLUMN hybrid_tracker.predicted_us IS 'predicted time of such a batch here in microseconds';
COMMENT ON COLUMN hybrid_tracker.speedup IS 'predicted time on the CPU divided by predicted_us; NULL if either is not known';
COMMENT ON COLUMN hybrid_tracker.break_even IS 'number of items from which the device is expected to be faster, if only the number of targets changes; NULL if never, or not known';
COMMENT ON COLUMN hybrid_tracker.breaker IS 'circuit breaker for the operation: closed (device is used), open (device is not used) or half-open (device is being retried)';
COMMENT ON COLUMN hybrid_tracker.success_rate IS 'share of successes among the last attempts at the operation here, at most 100 attempts';
COMMENT ON COLUMN hybrid_tracker.virtual IS 'times come from the model of the emulated device';

GRANT SELECT ON hybrid_devices, hybrid_capabilities, hybrid_stats, hybrid_events, hybrid_tracker TO PUBLIC;
