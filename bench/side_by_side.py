"""Common parts of knn.py, scan.py and input.py: sessions, tables, turns, CSV, and the exact answers.

See side_by_side.sh for the meaning of the columns.
"""

import os
import statistics
import subprocess
import sys

import numpy

DIMENSIONS = 768
K = 10
BUSY = "--busy" in sys.argv
# of the magnitude of the terms, which is at most 1 for a cosine distance
TOLERANCE = 1e-6
HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"

# The clock of a statement, and of one search whose query is a parameter of it.
CLOCKS = """
CREATE FUNCTION seconds(statement text, times int DEFAULT 1) RETURNS float8 LANGUAGE plpgsql AS $$
DECLARE
	begun timestamptz := clock_timestamp();
BEGIN
	FOR i IN 1 .. times LOOP
		EXECUTE statement;
	END LOOP;
	RETURN extract(epoch FROM clock_timestamp() - begun);
END
$$;
CREATE FUNCTION nearest(relation text, operator text, query vector,
		OUT seconds float8, OUT ids bigint[], OUT distances float8[]) LANGUAGE plpgsql AS $$
DECLARE
	begun timestamptz := clock_timestamp();
BEGIN
	EXECUTE format('SELECT array_agg(id), array_agg(distance) FROM (SELECT id, v %s $1 AS distance
		FROM %I ORDER BY v %1$s $1 LIMIT 10) AS found', operator, relation)
		INTO ids, distances USING query;
	seconds := extract(epoch FROM clock_timestamp() - begun);
END
$$;
"""


class Session:
    """One psql for as long as it is needed: SQL in, rows of strings out."""

    def __init__(self, server, database):
        self.server = server
        self.psql = subprocess.Popen(
            ["test/server.sh", "run", server, "psql", "-X", "-A", "-t", "-q", "-F", "\t",
             "-v", "ON_ERROR_STOP=1"],
            env={**os.environ, "PGDATABASE": database}, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.pid = int(self.value("SELECT pg_backend_pid()"))

    def ask(self, sql):
        """The rows that some statements return."""
        self.psql.stdin.write(sql + "\n;\n\\echo that is all\n")
        self.psql.stdin.flush()
        rows = []
        for line in self.psql.stdout:
            line = line.rstrip("\n")
            if line == "that is all":
                return rows
            if line:
                rows.append(line.split("\t"))
        sys.exit("psql ended at: " + sql[:200])

    def value(self, sql):
        """The only one."""
        return self.ask(sql)[0][0]

    def timed(self, sql):
        """The row that a statement returns, whose first column is what it took by the server's
        clock; the same on the processor's, where that is asked for."""
        begin = processor_seconds(self.pid)
        row = self.ask(sql)[0]
        return [processor_seconds(self.pid) - begin if BUSY else float(row[0])] + row[1:]

    def seconds(self, statement, times=1):
        """What a statement takes in the server, each time."""
        return self.timed(f"SELECT seconds($statement${statement}$statement$, {times})")[0] / times

    def load(self, table, file, plain=False):
        """A table of (id bigint, v vector) from a file for COPY, with its pages in shared buffers."""
        # no WAL for what is made and filled in one transaction
        storage = f"ALTER TABLE {table} ALTER v SET STORAGE plain;" if plain else ""
        self.ask(f"""BEGIN;
            CREATE TABLE {table} (id bigint NOT NULL, v vector({DIMENSIONS})); {storage}
            COPY {table} FROM '{self.server}/tmp/{file}' (FORMAT binary);
            COMMIT;
            VACUUM (FREEZE, ANALYZE) {table};""")
        self.warm(table)

    def warm(self, relation):
        """All pages of a table and its TOAST, or of an index, in shared buffers."""
        self.ask(f"""SELECT pg_prewarm(oid) FROM pg_class WHERE oid = '{relation}'::regclass;
            SELECT pg_prewarm(reltoastrelid) FROM pg_class
            WHERE oid = '{relation}'::regclass AND reltoastrelid <> 0""")


def processor_seconds(pid):
    """How long a process has been on a processor."""
    with open(f"/proc/{pid}/schedstat", encoding="ascii") as file:
        return int(file.read().split()[0]) / 1e9


def open_databases(server):
    """(hybrid, pgvector): a session each, with the functions of the clock; None for no pgvector."""
    sessions = [Session(server, "hybrid"), None]
    if sessions[0].ask("SELECT 1 FROM pg_database WHERE datname = 'pgvector'"):
        sessions[1] = Session(server, "pgvector")
    else:
        say("pgvector: not available")
    for session in sessions:
        if session:
            session.ask("CREATE EXTENSION pg_prewarm;" + CLOCKS)
    return sessions


def arguments(quick_rows):
    """(server, rounds, quick) of the command line; --quick makes the two files up."""
    server, rounds, quick = sys.argv[1], int(sys.argv[2]), "--quick" in sys.argv[3:]
    if quick:
        random = numpy.random.default_rng(1)
        middles = random.standard_normal((20, DIMENSIONS))
        for file, rows in (("item.bin", quick_rows), ("query.bin", 40)):
            made_up = middles[random.integers(0, 20, rows)] + random.standard_normal((rows, DIMENSIONS))
            write_rows(f"{server}/tmp/{file}", numpy.arange(1, rows + 1),
                       made_up / numpy.linalg.norm(made_up, axis=1)[:, None])
    return server, rounds, quick


def row_type(dimensions):
    """A row of a file for COPY ... (FORMAT binary) of a table (id bigint, v vector)."""
    return numpy.dtype([("fields", ">i2"), ("id_bytes", ">i4"), ("id", ">i8"), ("v_bytes", ">i4"),
                        ("dims", ">i2"), ("unused", ">i2"), ("v", ">f4", dimensions)])


def write_rows(path, ids, vectors):
    """Such a file."""
    dimensions = vectors.shape[1]
    rows = numpy.zeros(len(ids), dtype=row_type(dimensions))
    rows["fields"], rows["id_bytes"], rows["v_bytes"] = 2, 8, 4 + 4 * dimensions
    rows["id"], rows["dims"], rows["v"] = ids, dimensions, vectors
    with open(path, "wb") as file:
        file.write(HEADER + rows.tobytes() + TRAILER)
    os.chmod(path, 0o644)


def read_rows(path, dimensions=DIMENSIONS):
    """(ids, float32 vectors) of such a file."""
    with open(path, "rb") as file:
        data = file.read()
    # the server writes the same header: no flags, no extension of it
    if not data.startswith(HEADER) or not data.endswith(TRAILER):
        sys.exit(path + " is not a file of COPY ... (FORMAT binary)")
    rows = numpy.frombuffer(data[len(HEADER):-len(TRAILER)], dtype=row_type(dimensions))
    return rows["id"].astype("i8"), numpy.ascontiguousarray(rows["v"], dtype="f4")


class Truth:
    """The nearest rows by cosine in float64, to judge answers by."""

    def __init__(self, ids, items, queries):
        self.order = numpy.argsort(ids)
        self.ids = ids[self.order]
        self.items = items
        self.queries = unit(queries)
        nearest = []
        for begin in range(0, len(items), 8192):
            distances = 1 - self.queries @ unit(items[begin:begin + 8192]).T
            few = min(K, distances.shape[1])
            place = numpy.argpartition(distances, few - 1, axis=1)[:, :few]
            nearest.append((numpy.take_along_axis(distances, place, 1), ids[begin + place]))
        distances = numpy.concatenate([each[0] for each in nearest], axis=1)
        found = numpy.concatenate([each[1] for each in nearest], axis=1)
        place = numpy.argsort(distances, axis=1)[:, :K]
        self.distances = numpy.take_along_axis(distances, place, 1)
        self.found = numpy.take_along_axis(found, place, 1)

    def exact(self, number, ids, distances):
        """Whether an answer to a query (from 0) is exact: no row beyond the true tenth, none nearer
        than it that is missing, each distance right, the nearest first."""
        ids, distances = numpy.asarray(ids), numpy.asarray(distances)
        if len(ids) != K or len(set(ids.tolist())) != K or (numpy.diff(distances) < 0).any():
            return False
        place = numpy.searchsorted(self.ids, ids)
        if (self.ids[numpy.minimum(place, len(self.ids) - 1)] != ids).any():
            return False
        own = 1 - unit(self.items[self.order[place]]) @ self.queries[number]
        tenth = self.distances[number, -1]
        needed = self.found[number][self.distances[number] < tenth - TOLERANCE]
        return bool((own <= tenth + TOLERANCE).all() and numpy.isin(needed, ids).all()
                    and (abs(own - distances) <= TOLERANCE).all())


def unit(vectors):
    """Rows of length 1, in float64."""
    vectors = vectors.astype("f8")
    return vectors / numpy.linalg.norm(vectors, axis=1)[:, None]


def take_turns(rounds, contenders):
    """Speeds, a list for each name: contenders are functions that return one; the first turn of
    each is for warming up, and each round begins with another one."""
    names = list(contenders)
    speeds = {name: [] for name in names}
    for number in range(rounds + 1):
        say(f"round {number} of {rounds}" if number else "warming up")
        for i in range(len(names)):
            name = names[(i + number) % len(names)]
            speed = contenders[name]()
            if number:
                speeds[name].append(speed)
    return speeds


def array(text, kind):
    """An array of numbers as psql shows it."""
    return [kind(each) for each in text.strip("{}").split(",")]


def ratio(speeds, yardstick):
    """The median over the rounds, or None."""
    if not speeds or not yardstick:
        return None
    return statistics.median(own / other for own, other in zip(speeds, yardstick))


def printed(value):
    """A ratio as it is shown, and judged."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


class Table:
    """Rows of CSV on stdout."""

    def __init__(self, quick):
        self.quick = quick
        self.wrong = False
        print("case,metric,value,unit,ratio_to_faiss,ratio_to_pgvector,asked,met", flush=True)

    def speed(self, case, speeds, faiss=None, pgvector=None, asked=None, unit_name="1/s",
              metric="speed"):
        """A row of medians; faiss and pgvector are the yardsticks' speeds, asked a dictionary of
        ratios to 'faiss' and 'pgvector'."""
        found = {"faiss": ratio(speeds, faiss), "pgvector": ratio(speeds, pgvector)}
        asked = asked or {}
        met = "-"
        if asked and not self.quick and all(found[name] for name in asked):
            met = "yes" if all(float(printed(found[name])) >= asked[name] for name in asked) else "no"
        value = format(statistics.median(speeds), ".4g") if speeds else "not available"
        self.row(case, metric, value, unit_name, found["faiss"], found["pgvector"],
                 " and ".join(f"{least} x {name}" for name, least in asked.items()) or "-", met)

    def exact(self, case, judged):
        """A row of how many answers were exact."""
        share = sum(judged) / len(judged)
        self.wrong = self.wrong or share < 1
        self.row(case, "exact", format(share, ".4f"), f"of {len(judged)} answers", None, None, "1",
                 "yes" if share == 1 else "no")

    def row(self, case, metric, value, unit_name, faiss, pgvector, asked, met):
        """One, with what there is no ratio to as '-'."""
        ratios = [printed(each) if each else "-" for each in (faiss, pgvector)]
        print(",".join([case, metric, value, unit_name, *ratios, asked, met]), flush=True)

    def end(self):
        """Ends the program: wrong answers are a failure."""
        sys.exit("some answers were wrong" if self.wrong else 0)


def say(text):
    """Progress."""
    print("  " + text, file=sys.stderr, flush=True)
