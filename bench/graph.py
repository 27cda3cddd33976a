#!/usr/bin/python3
"""The graph functions beside what else computes the same: see graph.sh for sections, options and columns.

    bench/graph.py SERVER [--nodes N] [--edges N] [--rounds N] [--queries N] [--quick] --sections [NAME ...]

All statements are timed in the server, with planning and execution, on one thread.
"""

import argparse
import ctypes
import importlib
import math
import statistics
import sys
import threading
import time

import numpy

from graph_answers import Answers
from side_by_side import CLOCKS, HEADER, TRAILER, Session, printed, say

SECTIONS = ("spread", "batch", "first", "insert", "associate", "quality", "answers", "pagerank", "paths", "change",
            "validate", "memory")
SEEDS = 10
MEMORY = "SET hybrid.graph_memory_limit = '4GB'"
# milliseconds of each call of a statement whose $1 is the text that queries return
LATENCIES = """
CREATE OR REPLACE FUNCTION latencies(statement text, queries text) RETURNS float8[] LANGUAGE plpgsql AS $$
DECLARE
	query record;
	begun timestamptz;
	found float8[] := '{}';
BEGIN
	FOR query IN EXECUTE queries LOOP
		begun := clock_timestamp();
		EXECUTE statement USING query.q;
		found := found || 1000 * extract(epoch FROM clock_timestamp() - begun)::float8;
	END LOOP;
	RETURN found;
END
$$;
"""


def main():
    """Each section."""
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--nodes", type=int, default=1 << 20)
    parser.add_argument("--edges", type=int, default=16_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--sections", nargs="*")
    options = parser.parse_args()
    if options.quick:
        options.nodes, options.edges, options.rounds, options.queries = 1 << 12, 50_000, 1, 20
    print("case,metric,value,unit,yardstick,yardstick_value,ratio,asked,met", flush=True)
    bench = Bench(options)
    for section in SECTIONS:
        if not options.sections or section in options.sections:
            say(section)
            getattr(bench, section)()
    sys.exit("some answers were wrong" if bench.wrong else 0)


class Bench:
    """The server, and the graphs in it."""

    def __init__(self, options):
        self.options, self.rounds = options, options.rounds
        self.wrong = False
        self.main = self.session()
        self.main.ask("CREATE EXTENSION IF NOT EXISTS pg_prewarm;" + LATENCIES)
        if self.main.value("SELECT to_regproc('seconds') IS NULL") == "t":
            self.main.ask(CLOCKS)
        self.main.ask("CREATE INDEX IF NOT EXISTS relations ON relation USING hybrid_graph (source, target)")

    def session(self):
        """A new one."""
        session = Session(self.options.server, "hybrid")
        session.ask("SET client_min_messages = warning; " + MEMORY)
        return session

    # What sections are made of

    def row(self, case, metric, value, unit, yardstick=("-", None), ratio=None, asked=None):
        """A figure. asked: (sign, number) that the ratio must satisfy, or the value if there is no ratio."""
        name, beside = yardstick
        judged = ratio if ratio is not None else value if name == "-" else None
        met = "-"
        if asked and judged is not None and not self.options.quick:
            met = "yes" if (judged <= asked[1] if asked[0] == "<=" else judged >= asked[1]) else "no"
        print(",".join([case, metric, shown(value), unit, name, shown(beside) if name != "-" else "-",
                        printed(ratio) if ratio is not None else "-",
                        f"{asked[0]} {asked[1]:g}" if asked else "-", met]), flush=True)

    def beside(self, case, yardstick, ours, theirs, asked=None):
        """Seconds of both as milliseconds, and the ratio of the medians of rounds; theirs: None if not available."""
        ratio = statistics.median(other / own for own, other in zip(ours, theirs)) if theirs else None
        self.row(case, "time", 1000 * statistics.median(ours), "ms",
                 (yardstick, 1000 * statistics.median(theirs) if theirs else None), ratio, asked)

    def verify(self, case, ours, theirs, tolerance=1e-6):
        """Whether two lists of rows (id, number, ...) are the same, but for rounding."""
        ours = {row[0]: float(row[1]) for row in ours}
        theirs = {row[0]: float(row[1]) for row in theirs}
        same = bool(ours) and ours.keys() == theirs.keys() and all(
            math.isclose(value, theirs[key], rel_tol=tolerance, abs_tol=1e-12) for key, value in ours.items())
        self.row(case, "same answer", 1.0 if same else 0.0, "share", asked=(">=", 1))
        self.wrong = self.wrong or not same

    def turns(self, *contenders, rounds=None):
        """The seconds of each, a list for each contender; the first turn is for warming up."""
        times = [[] for _ in contenders]
        for number in range((rounds or self.rounds) + 1):
            for found, contender in zip(times, contenders):
                seconds = contender()
                if number:
                    found.append(seconds)
        return times

    def seed_sets(self, count, size):
        """A query for arrays of synsets that have relations."""
        return f"""SELECT array_agg(source) AS q FROM (SELECT source, row_number() OVER (ORDER BY
            hashint8extended(source, 7), source) - 1 AS n FROM (SELECT DISTINCT source FROM relation) AS s) AS s
            WHERE n < {count * size} GROUP BY n / {size} ORDER BY n / {size}"""

    # Sections over WordNet

    def spread(self):
        """Latency, and the same by SQL."""
        calls = f"SELECT latencies('SELECT * FROM hybrid_spread(''relations'', $1::bigint[], hops => 4, k => 20)', " \
                f"$q$SELECT q::text FROM ({self.seed_sets(self.options.queries, SEEDS)}) AS s$q$)"
        self.main.ask(calls)
        self.latency("spread WordNet 4 hops 10 seeds top 20", [self.main.value(calls)], 1.5, 5)
        self.main.ask("""CREATE TABLE IF NOT EXISTS out_degree AS SELECT source AS id, count(*)::float8 AS degree
            FROM relation GROUP BY source;
            CREATE UNIQUE INDEX IF NOT EXISTS out_degree_id ON out_degree (id);
            DROP INDEX IF EXISTS relation_source;
            VACUUM ANALYZE relation; ANALYZE out_degree""")
        sets = [row[0] for row in self.main.ask(self.seed_sets(self.rounds + 1, SEEDS))]
        # the index helps SQL only: hybrid_spread does not read it
        self.sql_spread(4, sets, "unrolled GROUP BY without an index", unrolled, 100)
        self.main.ask("CREATE INDEX relation_source ON relation (source); ANALYZE relation")
        for hops in (4,) if self.options.quick else (4, 6):
            self.sql_spread(hops, sets, "unrolled GROUP BY", unrolled, 100)
        self.sql_spread(4, sets, "recursive CTE", recursive, 100)
        if not self.options.quick:
            # a call of this takes ten seconds
            self.sql_spread(6, sets[-4:], "recursive CTE", recursive, 1000)

    def sql_spread(self, hops, sets, name, text, asked):
        """hybrid_spread beside a statement that computes the same."""
        case = f"spread WordNet {hops} hops {SEEDS} seeds"
        self.verify(f"{case} as {name}", *(self.main.ask(each(sets[-1], hops)) for each in (ours, text)))
        self.beside(case, name, *self.over(sets, hops, ours, text), (">=", asked))

    def over(self, seeds, hops, *texts):
        """Turns of statements, each round with other seeds."""
        def contender(text):
            state = iter(seeds)
            if text == ours:
                return lambda: self.main.seconds(ours(next(state), hops, "20"))
            return lambda: self.main.seconds(top(text(next(state), hops)))
        return self.turns(*(contender(text) for text in texts), rounds=len(seeds) - 1)

    def latency(self, case, answers, p50, p99):
        """Rows of an array of milliseconds."""
        found = numpy.array(answers[0].strip("{}").split(","), dtype=float)
        self.row(case, "p50", float(numpy.percentile(found, 50)), "ms", asked=("<=", p50) if p50 else None)
        self.row(case, "p99", float(numpy.percentile(found, 99)), "ms", asked=("<=", p99) if p99 else None)

    def batch(self):
        """64 sets."""
        self.main.ask(f"""DROP TABLE IF EXISTS seed_set;
            CREATE TABLE seed_set AS SELECT row_number() OVER () AS n, q FROM ({self.seed_sets(64, SEEDS)}) AS s""")
        lateral = "SELECT n, s.* FROM seed_set, LATERAL hybrid_spread('relations', q, hops => 4, k => 20) AS s"
        for name, graph in (("registered", "relations"), ("edges query", "SELECT source, target FROM relation")):
            batch = f"""SELECT s.* FROM (SELECT array_agg(n) AS sets, array_agg(id) AS ids
                    FROM seed_set, unnest(q) AS id) AS a,
                hybrid_spread_batch('{graph}', sets, ids, hops => 4, k => 20) AS s"""
            same = self.main.value(f"""SELECT count(*) FROM (({batch}) EXCEPT ALL ({lateral})) AS d""") == "0"
            self.wrong = self.wrong or not same
            times = self.turns(lambda text=batch: self.main.seconds(text), lambda: self.main.seconds(lateral))
            self.beside(f"spread_batch WordNet 64 sets 4 hops {name}", "64 LATERAL rows registered", *times,
                        (">=", 1 / 1.1) if graph == "relations" else None)

    def first(self):
        """A new session each time, which also loads the library."""
        def contender(graph, before=""):
            def turn():
                self.main.ask(before)
                session = self.session()
                seconds = session.seconds(
                    f"SELECT * FROM hybrid_spread('{graph}', ARRAY[100001740], hops => 4, k => 20)")
                session.psql.stdin.close()
                session.psql.wait()
                return seconds
            return turn
        # a new index of the same name has a new graph, which no session has built yet
        new = "DROP INDEX relations; CREATE INDEX relations ON relation USING hybrid_graph (source, target)"
        builds, takes, query = self.turns(
            contender("relations", new), contender("relations"), contender("SELECT source, target FROM relation"))
        self.beside("first answer of a session WordNet", "edges query", takes, query, (">=", 3))
        self.beside("first answer of all WordNet", "edges query", builds, query)

    def insert(self):
        """100,000 rows into empty tables that are alike but for the registered graph."""
        rows = 1000 if self.options.quick else 100_000
        for name, key in (("bare", ""), ("primary key", "ALTER TABLE {} ADD id bigserial PRIMARY KEY")):
            def contender(table, key=key):
                insert = f"""INSERT INTO {table} (source, target, weight)
                    SELECT i % 1000, i % 777, 1 FROM generate_series(1, {rows}) AS i"""

                def turn():
                    self.main.ask(f"TRUNCATE {table}")
                    return self.main.seconds(insert)
                self.main.ask(f"""DROP TABLE IF EXISTS {table};
                    CREATE TABLE {table} (source bigint, target bigint, weight real);""" + key.format(table))
                return turn
            with_graph, without = contender("with_graph"), contender("without_graph")
            self.main.ask("CREATE INDEX ON with_graph USING hybrid_graph (source, target, weight)")
            ours, theirs = self.turns(with_graph, without)
            ratio = statistics.median(own / other for own, other in zip(ours, theirs))
            self.row(f"insert {rows} rows {name}", "time", 1000 * statistics.median(ours), "ms",
                     ("without the graph", 1000 * statistics.median(theirs)), 1 / ratio, (">=", 1 / 1.05))

    def associate(self):
        """Latency of the function on WordNet."""
        self.prepare_synsets()
        calls = f"""SELECT latencies(
            'SELECT * FROM hybrid_associate(''synset'', ''id'', ''v'', $1::vector, ''relations'')',
            'SELECT v::text AS q FROM synset WHERE v IS NOT NULL
                ORDER BY hashint8extended(id, 5), id LIMIT {self.options.queries}')"""
        self.main.ask(calls)
        self.latency("associate WordNet 10 seeds 3 hops top 10", [self.main.value(calls)], None, None)

    def prepare_synsets(self):
        """The index of vectors."""
        self.main.ask("CREATE INDEX IF NOT EXISTS synset_v ON synset USING hybrid (v vector_cosine_ops)")

    def quality(self):
        """1,000 synsets that have a hypernym lose all of their relations, all at once. The query is the vector of one
        of them, which is then no row of the view. It has no relations to start from, so that "graph alone" starts at
        the nearest other synsets, too, and orders by activation only."""
        count = self.options.queries
        self.prepare_synsets()
        self.main.ask(f"""DROP TABLE IF EXISTS lost, kept; DROP VIEW IF EXISTS others;
            CREATE TABLE lost AS SELECT id, v, array_agg(target) AS hypernyms FROM synset JOIN relation ON source = id
                WHERE v IS NOT NULL AND kind IN ('hypernym', 'instance hypernym') GROUP BY id
                ORDER BY hashint8extended(id, 3), id LIMIT {count};
            CREATE TABLE kept AS SELECT source, target FROM relation
                WHERE source NOT IN (SELECT id FROM lost) AND target NOT IN (SELECT id FROM lost);
            CREATE INDEX kept_graph ON kept USING hybrid_graph (source, target);
            CREATE VIEW others AS SELECT id, v FROM synset WHERE id <> current_setting('bench.lost')::bigint;
            CREATE OR REPLACE FUNCTION found(lost bigint, q vector, weight float8, hops int) RETURNS bigint[]
            LANGUAGE plpgsql AS $$ BEGIN
                PERFORM set_config('bench.lost', lost::text, false);
                RETURN (SELECT array_agg(id) FROM hybrid_associate('others', 'id', 'v', q, 'kept_graph',
                    vector_weight => weight, hops => hops));
            END $$;
            VACUUM ANALYZE kept""")
        for name, weight, hops in (("vectors alone", 1, 3), ("graph alone", 0, 3), ("both; weight .5", 0.5, 3),
                                   ("both; weight .25", 0.25, 3), ("both; weight .75", 0.75, 3),
                                   ("graph alone; 1 hop", 0, 1), ("both; weight .5; 1 hop", 0.5, 1)):
            hits, asked = (int(each) for each in self.main.ask(
                f"SELECT count(*) FILTER (WHERE found(id, v, {weight}, {hops}) && hypernyms), count(*) FROM lost")[0])
            low, high = wilson(hits, asked)
            case = f"hypernym in the top 10 of {asked} {name}"
            self.row(case, "share", hits / asked, "share")
            self.row(case, "95% from", low, "share")
            self.row(case, "95% to", high, "share")

    # Sections over generated graphs

    def answers(self):
        """Each function over WordNet and over a random graph with loops, parallel edges and weights."""
        try:
            igraph = importlib.import_module("igraph")
        except ImportError:
            say("igraph: not available")
            return
        self.load("random_edge", *make_rmat(1 << 12, 50_000))
        self.main.ask("CREATE INDEX random_graph ON random_edge USING hybrid_graph (source, target, weight)")
        for name, graph, edges in (("WordNet", "relations", "SELECT source, target, 1 FROM relation"),
                                   ("R-MAT 4096 nodes 50000 edges", "random_graph", "TABLE random_edge")):
            answers = Answers(igraph, self.main.ask, graph, edges)
            for case, own, other in answers.pairs():
                self.verify(f"{case} {name} as igraph", own, other)
            own, other, connected = answers.communities()
            case = f"communities {name}"
            self.row(case, "modularity", own, "share", ("igraph", other), own / other, (">=", 0.99))
            self.row(case, "connected", float(connected), "share", asked=(">=", 1))
            self.wrong = self.wrong or not connected
        self.main.ask("DROP TABLE random_edge")

    def rmat(self):
        """The table edge, its graph edges_graph, and its arrays (source, target, weight)."""
        nodes, edges = self.options.nodes, self.options.edges
        source, target, weight = make_rmat(nodes, edges)
        name = f"{nodes} {edges}"
        if self.main.value("SELECT coalesce(obj_description(to_regclass('edge')), 'none')") != name:
            say(f"loading {edges:,} edges")
            self.load("edge", source, target, weight)
            self.main.ask(f"""COMMENT ON TABLE edge IS '{name}';
                CREATE INDEX edges_graph ON edge USING hybrid_graph (source, target, weight)""")
        return source, target, weight

    def load(self, table, source, target, weight):
        """A table of edges, vacuumed and cached."""
        kind = numpy.dtype([("fields", ">i2"), ("s", ">i4"), ("source", ">i8"), ("t", ">i4"), ("target", ">i8"),
                            ("w", ">i4"), ("weight", ">f4")])
        path = f"{self.options.server}/tmp/edges.bin"
        with open(path, "wb") as file:
            file.write(HEADER)
            for at in range(0, len(source), 1 << 20):
                part = slice(at, at + (1 << 20))
                rows = numpy.zeros(len(source[part]), dtype=kind)
                rows["fields"], rows["s"], rows["t"], rows["w"] = 3, 8, 8, 4
                rows["source"], rows["target"], rows["weight"] = source[part], target[part], weight[part]
                file.write(rows.tobytes())
            file.write(TRAILER)
        self.main.ask(f"""BEGIN; DROP TABLE IF EXISTS {table};
            CREATE TABLE {table} (source bigint NOT NULL, target bigint NOT NULL, weight real NOT NULL);
            COPY {table} FROM '{path}' (FORMAT binary); COMMIT;
            VACUUM (FREEZE, ANALYZE) {table}; SELECT pg_prewarm('{table}')""")

    def pagerank(self):
        """PageRank with two tolerances: the difference of their times is that of further iterations."""
        source, target, weight = self.rmat()
        tolerances = (1e-1, 1e-6)
        steps = pagerank_steps(self.options.nodes, source, target, weight, tolerances)
        distinct = len(numpy.unique(source * self.options.nodes + target))
        call = "SELECT * FROM hybrid_pagerank('edges_graph', tolerance => {}, k => 10)"
        contenders = [lambda tolerance=tolerance: self.main.seconds(call.format(tolerance)) for tolerance in tolerances]
        multiply = graphblas(self.options.nodes, source, target, weight)
        less, more, *theirs = self.turns(*contenders, *([multiply] if multiply else []))
        ours = [(b - a) / (steps[1] - steps[0]) for a, b in zip(less, more)]
        ratio = statistics.median(other / own for own, other in zip(ours, theirs[0])) if theirs else None
        case = f"PageRank R-MAT {self.options.nodes} nodes {self.options.edges} edges"
        self.row(case, "iteration", distinct / statistics.median(ours) / 1e9, "G edges/s",
                 ("GraphBLAS FP32 mxv", distinct / statistics.median(theirs[0]) / 1e9 if theirs else None),
                 ratio, (">=", 1))
        self.row(case, f"whole call of {steps[1]} iterations", statistics.median(more), "s")

    def paths(self):
        """Warm: the session has the graph. Cold: a new session."""
        source, target, _ = self.rmat()
        start = int(numpy.bincount(source).argmax())
        goal = int(numpy.unique(target)[-1])
        available = self.main.ask("SELECT 1 FROM pg_available_extensions WHERE name = 'pgrouting'")
        if available:
            self.main.ask("CREATE EXTENSION IF NOT EXISTS pgrouting CASCADE")
        edges = "SELECT row_number() OVER () AS id, source, target, weight::float8 AS cost FROM edge"
        pairs = (("BFS", f"SELECT count(*) FROM hybrid_neighbors('edges_graph', ARRAY[{start}], hops => NULL)",
                  f"SELECT count(*) FROM pgr_breadthFirstSearch('{edges}', {start})"),
                 ("shortest path", f"SELECT max(cost) FROM hybrid_shortest_path('edges_graph', {start}, {goal})",
                  f"SELECT max(agg_cost) FROM pgr_dijkstra('{edges}', {start}, {goal})"))
        for name, own, other in pairs:
            case = f"{name} R-MAT {self.options.nodes} nodes {self.options.edges} edges"
            theirs = None
            answer = self.main.value(own)
            if available:
                begin = time.monotonic()
                same = math.isclose(float(self.main.value(other)), float(answer), rel_tol=1e-6)
                theirs = [time.monotonic() - begin]
                self.row(case, "same answer", float(same), "share", asked=(">=", 1))
                self.wrong = self.wrong or not same
            warm = [statistics.median(self.main.seconds(own) for _ in range(self.rounds))]
            self.beside(case + " warm", "pgRouting", warm, theirs, (">=", 20))
            session = self.session()
            self.beside(case + " cold", "pgRouting", [session.seconds(own)], theirs, (">=", 2))
            session.psql.stdin.close()
            session.psql.wait()

    def change(self):
        """100 rows anywhere in the table get another weight, or 100 rows of new nodes are inserted; the same call before
        and after. The ids of new nodes are below all others, so that all nodes get other numbers."""
        self.rmat()
        first = self.main.value("SELECT min(source) FROM edge")
        call = f"SELECT count(*) FROM hybrid_neighbors('edges_graph', ARRAY[{first}])"

        def rebuild():
            session = self.session()
            seconds = session.seconds(call)
            session.psql.stdin.close()
            session.psql.wait()
            return seconds

        def changed():
            self.main.ask("""UPDATE edge SET weight = weight + 1 WHERE ctid = ANY (SELECT format('(%s,1)',
                (random() * (pg_relation_size('edge') / 8192 - 1))::int)::tid FROM generate_series(1, 100))""")
            return self.main.seconds(call)

        def added():
            self.main.ask(f"""INSERT INTO edge SELECT least(min(source), 0) - i, {first}, 1
                FROM edge, generate_series(1, 100) AS i WHERE source <= {first} GROUP BY i""")
            return self.main.seconds(call)
        self.main.seconds(call)
        case = f"R-MAT {self.options.nodes} nodes {self.options.edges} edges"
        changes, additions, builds = self.turns(changed, added, rebuild)
        self.beside(f"100 changed rows {case}", "rebuild", changes, builds, (">=", 50))
        self.beside(f"100 rows of new nodes {case}", "rebuild", additions, builds, (">=", 50))
        self.main.ask("DELETE FROM edge WHERE source < 0")

    def validate(self):
        """A call that only opens the graph."""
        def valid(case, graph, asked):
            call = f"SELECT * FROM hybrid_similar_nodes('{graph}', -1)"
            self.main.seconds(call)
            seconds = statistics.median(self.main.seconds(call, 20) for _ in range(self.rounds))
            self.row(f"unchanged copy {case}", "time", 1000 * seconds, "ms", asked=("<=", asked))
        self.main.ask("VACUUM relation")
        valid("WordNet vacuumed", "relations", 0.2)
        self.rmat()
        self.main.ask("VACUUM edge; SELECT pg_prewarm('edge')")
        size = f"R-MAT {self.options.nodes} nodes {self.options.edges} edges"
        valid(f"{size} vacuumed", "edges_graph", 5)
        self.main.ask("""DROP TABLE IF EXISTS unread;
            CREATE TABLE unread (LIKE edge) WITH (autovacuum_enabled = off); INSERT INTO unread SELECT * FROM edge;
            CREATE INDEX unread_graph ON unread USING hybrid_graph (source, target, weight);
            SELECT pg_prewarm('unread')""")
        valid(f"{size} never vacuumed", "unread_graph", 40)
        self.main.ask("DROP TABLE unread")

    def memory(self):
        """Private memory of a session before, while and after it builds the graph."""
        nodes, edges = (3000, 9000) if self.options.quick else (3_000_000, 9_000_000)
        random = numpy.random.default_rng(2)
        say(f"loading {edges:,} edges")
        self.load("wide", random.integers(0, nodes, edges), random.integers(0, nodes, edges), numpy.ones(edges, "f4"))
        self.main.ask("CREATE INDEX wide_graph ON wide USING hybrid_graph (source, target)")
        session = self.session()
        session.ask("SELECT * FROM hybrid_neighbors('SELECT 1, 2', ARRAY[1])")
        before = private_bytes(session.pid)
        done = threading.Event()
        peak = [0]

        def watch():
            while not done.wait(0.005):
                peak[0] = max(peak[0], private_bytes(session.pid))
        watcher = threading.Thread(target=watch)
        watcher.start()
        seconds = session.seconds("SELECT * FROM hybrid_neighbors('wide_graph', ARRAY[1])")
        done.set()
        watcher.join()
        after = private_bytes(session.pid)
        case = f"memory {nodes} nodes {edges} edges"
        self.row(case, "copy", (after - before) / 1e6, "MB", asked=("<=", 250))
        self.row(case, "build", (peak[0] - before) / 1e6, "MB", asked=("<=", 450))
        self.row(case, "time", 1000 * seconds, "ms")
        self.main.ask("DROP TABLE wide")


def shown(value):
    """A number, or nothing."""
    return "not available" if value is None else format(value, ".4g")


def top(text):
    """The twenty strongest nodes of a statement."""
    return f"SELECT * FROM ({text}) AS s ORDER BY 2 DESC, 1 LIMIT 20"


def ours(seeds, hops, k="NULL"):
    """Spreading by the function."""
    return f"SELECT id, activation FROM hybrid_spread('relations', '{seeds}', hops => {hops}, k => {k})"


def recursive(seeds, hops):
    """The same as a walk over all paths."""
    return f"""WITH RECURSIVE walk AS (
        SELECT id, 0 AS hop, 1::float8 AS activation FROM unnest('{seeds}'::bigint[]) AS id
        UNION ALL
        SELECT r.target, hop + 1, activation * 0.85 / degree
        FROM walk JOIN out_degree USING (id) JOIN relation AS r ON r.source = id WHERE hop < {hops}
    ) SELECT id, sum(activation) FROM walk GROUP BY id"""


def unrolled(seeds, hops):
    """The same with a GROUP BY for each hop."""
    steps = ", ".join(f"""h{hop} AS (SELECT r.target AS id, sum(activation * 0.85 / degree) AS activation
        FROM h{hop - 1} JOIN out_degree USING (id) JOIN relation AS r ON r.source = id GROUP BY r.target)"""
                      for hop in range(1, hops + 1))
    every = " UNION ALL ".join(f"TABLE h{hop}" for hop in range(hops + 1))
    return f"""WITH h0 AS (SELECT id, 1::float8 AS activation FROM unnest('{seeds}'::bigint[]) AS id), {steps}
        SELECT id, sum(activation) FROM ({every}) AS a GROUP BY id"""


def wilson(hits, count):
    """The interval that has a share with 95% certainty (Wilson, 1927)."""
    share, z = hits / count, 1.96
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return middle - half, middle + half


def make_rmat(nodes, edges):
    """An R-MAT graph (a = .57, b = c = .19) whose node numbers are shuffled, with weights from 1 to 10."""
    random = numpy.random.default_rng(1)
    source = numpy.zeros(edges, "i8")
    target = numpy.zeros(edges, "i8")
    for _ in range(max(1, (nodes - 1).bit_length())):
        draw = random.random(edges, dtype="f4")
        source = 2 * source + (draw >= 0.76)
        target = 2 * target + (((draw >= 0.57) & (draw < 0.76)) | (draw >= 0.95))
    shuffled = random.permutation(1 << max(1, (nodes - 1).bit_length()))
    return shuffled[source], shuffled[target], random.integers(1, 11, edges).astype("f4")


def pagerank_steps(nodes, source, target, weight, tolerances, damping=0.85):
    """For each tolerance, the iterations until less than this share of the rank still moves."""
    total = numpy.bincount(source, weights=weight, minlength=nodes)
    share = damping * weight / total[source]
    rank = numpy.zeros(nodes)
    rank[source] = rank[target] = 1
    moving, steps, found = rank.sum(), 0, []
    enough = [tolerance * moving for tolerance in tolerances]
    while len(found) < len(enough):
        steps += 1
        rank = numpy.bincount(target, weights=rank[source] * share, minlength=nodes)
        found += [steps] * sum(rank.sum() < each for each in enough[len(found):])
    return found


def graphblas(nodes, source, target, weight):
    """A function that computes y = W^T x in float32 by GraphBLAS on one thread, and returns the seconds that this
    takes; None without GraphBLAS's library."""
    try:
        library = ctypes.CDLL("libgraphblas.so.7")
    except OSError:
        say("GraphBLAS: not available")
        return None
    pointer = ctypes.c_void_p
    fp32 = pointer.in_dll(library, "GrB_FP32")
    size = 1 << max(1, (nodes - 1).bit_length())

    def check(status):
        if status != 0:
            sys.exit(f"GraphBLAS failed: {status}")
    check(library.GrB_init(0))
    # GxB_NTHREADS = 5
    check(library.GxB_Global_Option_set(5, ctypes.c_int(1)))
    matrix, x, y = pointer(), pointer(), pointer()
    check(library.GrB_Matrix_new(ctypes.byref(matrix), fp32, ctypes.c_uint64(size), ctypes.c_uint64(size)))
    rows, columns = (each.astype("u8") for each in (target, source))
    values = weight.astype("f4")
    check(library.GrB_Matrix_build_FP32(matrix, rows.ctypes.data_as(pointer), columns.ctypes.data_as(pointer),
                                        values.ctypes.data_as(pointer), ctypes.c_uint64(len(values)),
                                        pointer.in_dll(library, "GrB_PLUS_FP32")))
    # the values differ, because GraphBLAS stores only one value if all are equal
    places = numpy.arange(size, dtype="u8")
    different = (1 / (1 + places % 1000)).astype("f4")
    for vector in (x, y):
        check(library.GrB_Vector_new(ctypes.byref(vector), fp32, ctypes.c_uint64(size)))
        check(library.GrB_Vector_build_FP32(vector, places.ctypes.data_as(pointer), different.ctypes.data_as(pointer),
                                            ctypes.c_uint64(size), pointer.in_dll(library, "GrB_PLUS_FP32")))
    semiring = pointer.in_dll(library, "GrB_PLUS_TIMES_SEMIRING_FP32")

    def multiply(times=10):
        begin = time.monotonic()
        for _ in range(times):
            check(library.GrB_mxv(y, None, None, semiring, matrix, x, None))
            check(library.GrB_Vector_wait(y, 1))
        return (time.monotonic() - begin) / times
    return multiply


def private_bytes(pid):
    """Memory of a process that is its own."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) * 1024 for line in file if line.startswith("RssAnon"))


if __name__ == "__main__":
    main()
