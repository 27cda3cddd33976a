-- The extension in a schema of its own, and beside another type of the same name.

DROP EXTENSION hybrid;

\set SHOW_CONTEXT never
CREATE SCHEMA taken;
CREATE TYPE taken.vector AS (x real);
CREATE EXTENSION hybrid SCHEMA taken;
SELECT extname FROM pg_extension WHERE extname = 'hybrid';
-- Whichever of the types it is.
CREATE SCHEMA half_taken;
CREATE TYPE half_taken.halfvec AS (x real);
CREATE EXTENSION hybrid SCHEMA half_taken;
DROP TYPE half_taken.halfvec;
CREATE TYPE half_taken.sparsevec AS (x real);
CREATE EXTENSION hybrid SCHEMA half_taken;
DROP SCHEMA half_taken CASCADE;

-- Objects of the script find each other in any schema, whatever the caller's search_path holds.
CREATE SCHEMA "My Vectors";
SET search_path = taken, public;
CREATE EXTENSION hybrid SCHEMA "My Vectors";
SELECT '(1)'::vector;
SELECT "My Vectors".l2_distance('[0,0]'::"My Vectors".vector, '[3,4]');
SELECT '[0,0]'::"My Vectors".vector OPERATOR("My Vectors".<->) '[3,4]';
SELECT "My Vectors".avg(v) FROM (VALUES ('[1,2]'::"My Vectors".vector), ('[3,4]')) x(v);
SELECT ARRAY[1,2]::"My Vectors".vector(2);
SET search_path = "My Vectors";
SELECT '[1,2]'::vector + '[1,1]';
RESET search_path;
SELECT typnamespace::regnamespace FROM pg_type WHERE typname = 'vector' ORDER BY 1;

DROP EXTENSION hybrid;
DROP SCHEMA "My Vectors";
DROP SCHEMA taken CASCADE;
CREATE EXTENSION hybrid;
SELECT '[1,2]'::vector;
