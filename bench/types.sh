#!/bin/bash
# Searches by the distances of other types than vector and halfvec, beside pgvector's hnsw.
#
#	bench/types.sh [--rows N] [--dims N] [--queries N] [SECTION ...]
#
#	bit			Hamming distance of the signs of clustered vectors
#	jaccard		Jaccard distance of bit strings of which about a tenth is set, from the same vectors
#	l1			taxicab distance of clustered vectors
#	sparse		inner products of sparse vectors of the shape of SPLADE's (sparse_data.py); an exact scan of the table, too
#	maxsim		MaxSim of documents of 80 vectors and queries of 32, which pgvector does not have
#
# Without a SECTION, bit, jaccard and l1. For maxsim, --rows is the number of documents. Without --dims, bit strings have
# 1,024, vectors 128, and sparse vectors 30,000. Rows are generated: clusters of about 200 rows. Queries are rows that are not in the table.
# LIMIT 10, one client, all pages in memory. pgvector is the one of the machine's PostgreSQL, or of the directory
# BENCH_PGVECTOR (bench/wordnet.sh); without it, only hybrid is measured. CSV on stdout: for each index and setting, the
# time of the build, the size, the recall, and the queries per second. A row that is as near as the tenth counts as found.
set -euo pipefail

cd "$(dirname "$0")/.."
# shellcheck source=bench/wordnet.sh
. bench/wordnet.sh

rows=1000000 asked='' queries=300
while [ $# -gt 0 ]; do
	case $1 in
	--rows) rows=${2:?} && shift 2 ;;
	--dims) asked=${2:?} && shift 2 ;;
	--queries) queries=${2:?} && shift 2 ;;
	-*) usage ;;
	*) break ;;
	esac
done
[ $# -gt 0 ] || set -- bit jaccard l1

# section NAME: the type of a section, its value of the vector v, its operator, and the operator class, which has the
# same name in both extensions
section()
{
	dims=${asked:-1024}
	case $1 in l1 | maxsim) dims=${asked:-128} ;; sparse) dims=${asked:-30000} ;; esac
	case $1 in
	bit) type="bit($dims)" value="binary_quantize(v)::bit($dims)" operator='<~>' opclass=bit_hamming_ops ;;
	jaccard) type="bit($dims)" value="binary_quantize(v - array_fill(0.78, ARRAY[$dims])::vector)::bit($dims)" operator='<%>' opclass=bit_jaccard_ops ;;
	l1) type="vector($dims)" value=v operator='<+>' opclass=vector_l1_ops ;;
	sparse) type="sparsevec($dims)" operator='<#>' opclass=sparsevec_ip_ops ;;
	maxsim) type="vector($dims)[]" operator='@#' opclass=vector_maxsim_ops ;;
	*) usage ;;
	esac
	storage=PLAIN make=rows peers=$peer
	[ "$1" != sparse ] || make=sparse
	[ "$1" != maxsim ] || storage=EXTERNAL make=documents peers=
}
peer=
for name; do
	section "$name"
done

{
	build
	# documents take 4 GB in the table, and as much in the index
	buffers=3GB
	[[ " $* " != *" maxsim "* ]] || buffers=10GB
	server_settings=("shared_buffers = $buffers" "maintenance_work_mem = 2GB" "max_wal_size = 8GB" "work_mem = 64MB")
	start_server
} >&2

psql_in postgres >/dev/null <<'SQL'
CREATE EXTENSION hybrid;
CREATE TABLE noise (id int PRIMARY KEY, v vector);
ALTER TABLE noise ALTER v SET STORAGE PLAIN;
CREATE FUNCTION chosen(i int, seed int, most int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT ((hashint4extended(i, seed) & 1073741823) % most)::int';
SQL
peer=
[ -z "$(pgvector_version)" ] || peer=peer
[ -z "$peer" ] || psql_in postgres -c 'CREATE DATABASE peer' >/dev/null </dev/null
[ -z "$peer" ] || psql_in peer -c 'CREATE EXTENSION vector' </dev/null

# tables DATABASE: the empty tables of a section, and the function that measures
tables()
{
	psql_in "$1" >/dev/null <<-SQL
		SET client_min_messages = warning;
		DROP TABLE IF EXISTS item, question;
		CREATE TABLE item (id int, x $type);
		ALTER TABLE item ALTER x SET STORAGE $storage;
		CREATE TABLE question (x $type, farthest float8);
		CREATE OR REPLACE FUNCTION measured(OUT recall float8, OUT qps float8) LANGUAGE plpgsql AS \$\$
		DECLARE
			n int := (SELECT count(*) FROM question);
			s float8;
			at timestamptz;
			found int[];
			q record;
		BEGIN
			FOR pass IN 1..2 LOOP
				recall := 0;
				s := 0;
				FOR q IN SELECT x, farthest FROM question LOOP
					at := clock_timestamp();
					found := ARRAY(SELECT id FROM item ORDER BY x $operator q.x LIMIT 10);
					s := s + extract(epoch FROM clock_timestamp() - at);
					recall := recall + (SELECT count(*) FROM item WHERE id = ANY (found) AND x $operator q.x <= q.farthest);
				END LOOP;
			END LOOP;
			recall := recall / (10 * n);
			qps := n / s;
		END \$\$;
	SQL
}

# noise: vectors with the dimensions of a section, unless the section before had as many
noise()
{
	[ "$dims" != "${made:-}" ] || return 0
	made=$dims
	psql_in postgres >/dev/null <<-SQL
		SELECT setseed(0.5);
		TRUNCATE noise;
		INSERT INTO noise SELECT i, (SELECT array_agg(random() + random() + random() - 1.5) FROM generate_series(1, $dims) WHERE i >= 0)::vector FROM generate_series(0, 19999) i;
		ANALYZE noise;
	SQL
}

# rows: statements that insert the rows of a section, and the queries as rows after them. A row is the sum of three
# vectors: the center of a cluster and, with half its length each, two others.
rows()
{
	cat <<-SQL
		INSERT INTO item SELECT i, $value FROM (
			SELECT i, c.v + a.v * array_fill(0.5, ARRAY[$dims])::vector + b.v * array_fill(0.5, ARRAY[$dims])::vector AS v
			FROM generate_series(1, $rows + $queries) i JOIN noise c ON c.id = chosen(i, 1, greatest($rows / 200, 1)) % 20000
				JOIN noise a ON a.id = chosen(i, 2, 20000) JOIN noise b ON b.id = chosen(i, 3, 20000) OFFSET 0) s;
	SQL
}

# documents: the same for arrays. A vector is that of a word, and depends on the topic of the document and on the place.
# Half of the words are among 40 of the topic, and the others are any, by Zipf's law.
documents()
{
	cat <<-SQL
		INSERT INTO item SELECT doc, array_agg(l2_normalize(w.v + t.v * array_fill(0.35, ARRAY[$dims])::vector + n.v * array_fill(0.5, ARRAY[$dims])::vector) ORDER BY place)
		FROM generate_series(1, $rows + $queries) doc, LATERAL generate_series(1, CASE WHEN doc > $rows THEN 32 ELSE 80 END) place,
			LATERAL (SELECT doc * 100 + place AS x, chosen(doc, 1, 300) AS topic OFFSET 0) k,
			LATERAL (SELECT CASE WHEN chosen(x, 2, 2) = 0 THEN chosen(topic * 100 + floor(40 * (chosen(x, 3, 1000000) / 1e6) ^ 2)::int, 4, 4000)
				ELSE 4000 + floor(5000 ^ (chosen(x, 5, 1000000) / 1e6))::int END AS word OFFSET 0) l, noise w, noise t, noise n
		WHERE w.id = word AND t.id = 10000 + topic AND n.id = 11000 + chosen(x, 6, 9000)
		GROUP BY doc;
	SQL
}

# sparse: the same for sparse vectors
sparse()
{
	echo 'COPY item FROM STDIN;'
	/usr/bin/python3 bench/sparse_data.py "$rows" "$queries" "$dims" 120 40
	echo '\.'
}

# fill: the rows and the queries of a section, in the database of hybrid
fill()
{
	[ "$make" = sparse ] || noise
	tables postgres
	$make | psql_in postgres
	psql_in postgres <<-SQL
		WITH taken AS (DELETE FROM item WHERE id > $rows RETURNING x) INSERT INTO question SELECT x, NULL FROM taken;
		ALTER TABLE item ADD PRIMARY KEY (id);
		VACUUM ANALYZE item;
		UPDATE question q SET farthest = (SELECT max(d) FROM (SELECT x $operator q.x AS d FROM item ORDER BY x $operator q.x LIMIT 10) s);
	SQL
}

# copy: the same rows and queries in the database of pgvector
copy()
{
	local table

	tables peer
	for table in item question; do
		psql_in postgres -c "COPY $table TO STDOUT (FORMAT binary)" </dev/null | psql_in peer -c "COPY $table FROM STDIN (FORMAT binary)"
	done
	psql_in peer -c 'ALTER TABLE item ADD PRIMARY KEY (id)' -c 'VACUUM ANALYZE item' </dev/null
}

# measure DATABASE METHOD SETTING VALUE ...: a line for each value. The method 'none' is a scan of the table by one process.
measure()
{
	local database=$1 method=$2 setting=$3 begin build bytes=0 value

	shift 3
	begin=$(date +%s%N)
	if [ "$method" != none ]; then
		psql_in "$database" -c "CREATE INDEX item_x ON item USING $method (x $opclass)" </dev/null
		bytes=$(psql_in "$database" -c "SELECT pg_relation_size('item_x')" </dev/null)
	fi
	build=$((($(date +%s%N) - begin) / 1000000))
	for value; do
		psql_in "$database" <<-SQL
			SET enable_seqscan = off;
			SET enable_sort = off;
			SET max_parallel_workers_per_gather = 0;
			SET plan_cache_mode = force_generic_plan;
			SET $setting = $value;
			SELECT concat_ws(',', '$name', $rows, $dims, '$method', '$setting', $value, round($build / 1000.0, 1), $bytes, round(recall::numeric, 3), round(qps::numeric, 1)) FROM measured();
		SQL
	done
	[ "$method" = none ] || psql_in "$database" -c 'DROP INDEX item_x' </dev/null
}

echo section,rows,dims,index,setting,value,build_s,bytes,recall,qps
for name; do
	section "$name"
	fill
	if [ "$name" = sparse ]; then
		# an index on sparse vectors is exact
		measure postgres hybrid hybrid.target_recall 0.95
		measure postgres none hybrid.target_recall 1
	else
		measure postgres hybrid hybrid.target_recall 0.8 0.9 0.95 0.99
	fi
	[ -n "$peers" ] || continue
	copy
	measure peer hnsw hnsw.ef_search 10 20 40 80 160 320 640 1000
done
