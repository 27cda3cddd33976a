#!/usr/bin/python3
"""The index beside pgvector's HNSW: see index.sh for sections and options.

    bench/index.py SERVER [--rows N] [--rounds N] [--seconds S] [--processes N]
        --sets NAME ... --sections [NAME ...]

Both sides have the same rows, stored in the same way, each in its own database.  A search is
SELECT id ... ORDER BY v <=> $1 LIMIT 10, by an index: sequential scans are off on both sides, and the
bench verifies that the plan uses the index.  All settings are defaults except those that a point varies.
A found row is right if it is no farther than the true tenth.  Figures are medians of the rounds.  A ratio
is hybrid's figure to pgvector's, at equal recall on the curves of both: see at_recall in curve.py.
"""

import argparse
import os
import statistics
import sys
import time

import numpy

from curve import Client, Point, at_recall, take
from index_data import CATEGORY, DELETED, FILTERED, Set, clustered
from limited_memory import LimitedMemory
from side_by_side import CLOCKS, Session, say, write_rows

SECTIONS = ("build", "search", "memory", "scale", "storage", "filter", "grown", "insert", "delete")
# more of them than are asked for, for what lies between
TARGETS = (0.8, 0.9, 0.95, 0.97, 0.985, 0.99, 0.995, 0.998, 0.999)
FEW_TARGETS = (0.9, 0.95, 0.99)
# a search that goes on until there are ten rows finds more than it is asked for
FILTER_TARGETS = (0.5, 0.8, 0.9, 0.95, 0.99)
# below 40, the default, there is more speed at less recall
EFS = (10, 20, 40, 60, 100, 160, 250, 400, 630, 1000)
FEW_EFS = (40, 100, 200, 400, 1000)
MEMORY = 150 << 20
# what a server takes without any page of a file: shared buffers, and a backend's own memory
SERVER_MEMORY = 60 << 20
SMALL_BUFFERS = "32MB"
SCALE = 8
SCALE_DIMENSIONS = 96
METHODS = {"hybrid": "hybrid", "pgvector": "hnsw"}
BY_INDEX = "SET enable_seqscan = off; "


def main():
    """Each section of each set."""
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--sections", nargs="*")
    options = parser.parse_args()
    print("case,metric,value,better", flush=True)
    for name in options.sets:
        bench = Bench(options, Set(options.server, name, options.rows))
        for section in SECTIONS:
            if not options.sections or section in options.sections:
                say(f"{name}: {section}")
                getattr(bench, section)()
        bench.close(len(options.sets) > 1)


def target(recall):
    """The setting."""
    return BY_INDEX + f"SET hybrid.target_recall = {recall}"


class Bench:
    """A set, and both servers' sides of it."""

    def __init__(self, options, rows):
        self.rows, self.rounds, self.processes = rows, options.rounds, options.processes
        self.client = Client(options.server, options.seconds)
        self.table = rows.name
        self.connect()

    def connect(self):
        """A session for each side, also after the server was restarted."""
        server = self.client.server
        self.sides = {"hybrid": Session(server, "hybrid")}
        if self.sides["hybrid"].ask("SELECT 1 FROM pg_database WHERE datname = 'pgvector'"):
            self.sides["pgvector"] = Session(server, "pgvector")
        else:
            say("pgvector: not available")
        for session in self.sides.values():
            session.ask("CREATE EXTENSION IF NOT EXISTS pg_prewarm; "
                        f"SET max_parallel_maintenance_workers = {self.processes - 1}")
            if session.value("SELECT to_regproc('seconds') IS NULL") == "t":
                session.ask(CLOCKS)

    def close(self, more):
        """Room for the next set."""
        for session in self.sides.values():
            if more:
                session.ask(f"DROP TABLE IF EXISTS {self.table}")
            session.psql.stdin.close()
            session.psql.wait()

    # What sections are made of

    def row(self, case, metric, value, better="higher"):
        """One figure."""
        form = ".4f" if metric.startswith("recall") else ".0f" if isinstance(value, int) else ".5g"
        value = format(value, form)
        print(f"{self.rows.name} {case},{metric},{value},{better}", flush=True)

    def emit(self, points, prefix=""):
        """The figures of points."""
        for point in points:
            case = f"{prefix}{point.side} {point.label}"
            if point.recall is not None:
                self.row(case, "recall", point.recall)
            self.row(case, "queries_per_s", point.median("qps"))
            self.row(case, "p50_us", point.median("p50"), "lower")
            self.row(case, "p99_us", point.median("p99"), "lower")

    def compare(self, case, ours, theirs, recalls, what="qps", metric="queries_per_s_ratio"):
        """Ratios at equal recall, with the recalls that they are for: a higher one than was asked where
        a line begins above it; and a lower one where one of them does not get there, for that one."""
        if not theirs:
            return
        for recall in recalls:
            least = max(recall, *(min(point.recall for point in each) for each in (ours, theirs)))
            own, own_recall = at_recall(ours, least, what)
            other, other_recall = at_recall(theirs, least, what)
            at = f"{case} at recall {recall}"
            self.row(at, metric, own / other, "lower" if what == "p99" else "higher")
            if what == "qps":
                self.row(at, "recall_of_first", own_recall)
                self.row(at, "recall_of_second", other_recall)

    def load(self, side, table, filled=True):
        """A table, with its rows unless they are to come later."""
        session, rows = self.sides[side], self.rows
        if session.ask(f"SELECT 1 WHERE to_regclass('{table}') IS NOT NULL"):
            return
        session.ask(f"""CREATE TABLE {table} (id bigint NOT NULL, v vector({rows.dimensions}),
                category int GENERATED ALWAYS AS ({CATEGORY}) STORED)
            WITH (parallel_workers = {self.processes - 1})""")
        if filled:
            say(f"{side}: loading {table}")
            self.fill(side, table)
            session.ask(f"VACUUM (FREEZE, ANALYZE) {table}")
            session.warm(table)

    def fill(self, side, table):
        """The rows of a table; how many a second."""
        begin = time.perf_counter()
        self.sides[side].ask(f"COPY {table} (id, v) FROM '{self.rows.file('items')}' (FORMAT binary)")
        return len(self.rows.items) / (time.perf_counter() - begin)

    def index(self, side, table, options=""):
        """Builds an index; the seconds that took."""
        say(f"{side}: index on {table} {options}")
        session = self.sides[side]
        # the other side's pages, written now
        session.ask(f"CHECKPOINT; DROP INDEX IF EXISTS {table}_v")
        seconds = session.seconds(f"CREATE INDEX {table}_v ON {table} USING {METHODS[side]} "
                                  f"(v {self.rows.operator_class}) {options}")
        self.ready(side, table)
        return seconds

    def ready(self, side, table):
        """An index in shared buffers, and seen to be used."""
        session = self.sides[side]
        session.warm(f"{table}_v")
        for where in ("", f"WHERE {FILTERED}"):
            plan = session.ask(f"""SET enable_seqscan = off;
                EXPLAIN SELECT id FROM {table} {where}
                ORDER BY v {self.rows.operator} (SELECT v FROM {table} LIMIT 1) LIMIT 10;
                RESET enable_seqscan""")
            if not any(f"Index Scan using {table}_v" in line[0] for line in plan):
                sys.exit(f"{side}: not by the index: {plan}")

    def ensure(self):
        """The table, with its index, on all sides."""
        for side, session in self.sides.items():
            self.load(side, self.table)
            if not session.ask(f"SELECT 1 WHERE to_regclass('{self.table}_v') IS NOT NULL"):
                self.index(side, self.table)
            else:
                self.ready(side, self.table)
                session.warm(self.table)

    def bytes(self, side, table):
        """Of an index."""
        return int(self.sides[side].value(f"SELECT pg_relation_size('{table}_v')"))

    def hybrid_points(self, targets, table, label="", **more):
        """By target_recall."""
        return [Point("hybrid", f"{label}target {each}", target(each), table, **more) for each in targets]

    def pgvector_points(self, efs, table, label="", settings="", **more):
        """By ef_search."""
        if "pgvector" not in self.sides:
            return []
        return [Point("pgvector", f"{label}ef {each}",
                      BY_INDEX + f"SET hnsw.ef_search = {each}; {settings}", table, **more) for each in efs]

    def vacuum(self, side, table):
        """Seconds of VACUUM."""
        begin = time.perf_counter()
        self.sides[side].ask(f"VACUUM (INDEX_CLEANUP on) {table}")
        return time.perf_counter() - begin

    # The sections

    def build(self):
        """Time and size."""
        seconds, size = {}, {}
        for side in self.sides:
            self.load(side, self.table)
            seconds[side] = self.index(side, self.table)
            size[side] = self.bytes(side, self.table)
            case = f"build by {self.processes} processes"
            self.row(f"{side} {case}", "seconds", seconds[side], "lower")
            self.row(f"{side} {case}", "bytes", size[side], "lower")
        if "pgvector" in self.sides:
            case = "hybrid beside pgvector " + case
            self.row(case, "seconds_ratio", seconds["hybrid"] / seconds["pgvector"], "lower")
            self.row(case, "bytes_ratio", size["hybrid"] / size["pgvector"], "lower")

    def search(self):
        """Recall, speed, latency, two clients, and a plan that does nothing."""
        self.ensure()
        ours = self.hybrid_points(TARGETS, self.table)
        theirs = self.pgvector_points(EFS, self.table)
        pairs = {"hybrid": self.hybrid_points([0.95], self.table, "two clients ", clients=2),
                 "pgvector": self.pgvector_points([100], self.table, "two clients ", clients=2)}
        empty = []
        for side in self.sides:
            point = Point(side, "empty plan", "", self.table)
            point.statement = lambda rows: "SELECT 0::bigint WHERE $1::vector IS NULL"
            empty.append(point)
        points = ours + theirs + pairs["hybrid"] + pairs["pgvector"]
        take(points, self.client, self.rows, self.rounds)
        for point in empty:
            point.turns = [self.client.run(point.side, "search", self.rows.file("queries"), 1, "",
                                           point.statement(self.rows)) for _ in range(self.rounds)]
        self.emit(points + empty)
        for side, one in (("hybrid", ours), ("pgvector", theirs)):
            for two in pairs[side]:
                alone = next(point for point in one if two.label.endswith(" " + point.label))
                self.row(f"{side} two clients beside one", "queries_per_s_ratio",
                         statistics.median(a[0] / b[0] for a, b in zip(two.turns, alone.turns)))
        self.compare("hybrid beside pgvector", ours, theirs, (0.95, 0.99, 0.998))
        self.compare("hybrid beside pgvector", ours, theirs, (0.95,), "p99", "p99_ratio")

    def memory(self):
        """Searches by a server that has less memory than its index: none of it is in memory at first."""
        self.ensure()
        sides = {"hybrid": self.hybrid_points(FEW_TARGETS, self.table),
                 "pgvector": self.pgvector_points(FEW_EFS, self.table)}
        take(sum(sides.values(), []), self.client, self.rows, 0)
        sizes = {side: self.bytes(side, self.table) for side in self.sides}
        server = LimitedMemory(self.client.server, SMALL_BUFFERS)
        try:
            for case in ("150 MB", "a quarter of the index"):
                for points in sides.values():
                    for point in points:
                        point.turns.clear()
                for number in range(self.rounds):
                    for side, points in sides.items():
                        for point in points:
                            say(f"{case}: round {number + 1} of {self.rounds}: {side} {point.label}")
                            server.start(MEMORY if case == "150 MB" else SERVER_MEMORY + sizes[side] // 4)
                            point.turns.append(self.client.run(
                                side, "search", self.rows.file("queries"), 1, point.settings,
                                point.statement(self.rows)))
                self.emit(sum(sides.values(), []), f"memory of {case} ")
                self.compare(f"memory of {case} hybrid beside pgvector", *sides.values(), (0.95,))
        finally:
            server.end()
            self.connect()

    def scale(self):
        """Builds over as many rows of 96 dimensions as the clustered set has, and over eight times as many."""
        if self.rows.cosine:
            return
        session, count, path = self.sides["hybrid"], len(self.rows.items), self.rows.file("part")
        session.ask(f"""DROP TABLE IF EXISTS part;
            CREATE TABLE part (id bigint NOT NULL, v vector({SCALE_DIMENSIONS}))
            WITH (parallel_workers = {self.processes - 1})""")
        seconds = {}
        for part in range(SCALE):
            say(f"rows of part {part + 1} of {SCALE}")
            write_rows(path, part * count + numpy.arange(count),
                       clustered(numpy.random.default_rng(part), count, count, SCALE_DIMENSIONS))
            session.ask(f"COPY part FROM '{path}' (FORMAT binary)")
            if part in (0, SCALE - 1):
                say(f"index on {part + 1} of {SCALE} parts")
                session.ask("VACUUM (FREEZE, ANALYZE) part; CHECKPOINT")
                seconds[part + 1] = session.seconds("CREATE INDEX part_v ON part USING hybrid (v vector_l2_ops)")
                self.row(f"hybrid build {(part + 1) * count} x {SCALE_DIMENSIONS}", "seconds", seconds[part + 1], "lower")
                session.ask("DROP INDEX part_v")
        self.row("hybrid build of 8 times as many rows", "seconds_per_row_ratio", seconds[SCALE] / SCALE / seconds[1],
                 "lower")
        session.ask("DROP TABLE part")
        os.unlink(path)

    def storage(self):
        """What vectors are kept as."""
        self.load("hybrid", self.table)
        session = self.sides["hybrid"]
        pages = {}
        # the default last, for the sections to come
        for storage in ("float32", "int8", "float16"):
            self.index("hybrid", self.table, f"WITH (storage = {storage})")
            pages[storage] = int(session.value(
                f"SELECT vector_pages FROM hybrid_index_stats('{self.table}_v')"))
            points = self.hybrid_points(FEW_TARGETS, self.table, f"{storage} ")
            take(points, self.client, self.rows, self.rounds)
            self.emit(points)
            case = f"hybrid {storage}"
            self.row(case, "bytes", self.bytes("hybrid", self.table), "lower")
            self.row(case, "vector_pages", pages[storage], "lower")
            self.row(case, "vector_pages_share_of_float32", pages[storage] / pages["float32"], "lower")

    def filter(self):
        """A condition that few rows meet."""
        self.ensure()
        ours = self.hybrid_points(FILTER_TARGETS, self.table, where=FILTERED)
        theirs = []
        for order in ("strict_order", "relaxed_order"):
            theirs += self.pgvector_points(FEW_EFS, self.table, f"{order} ",
                                           f"SET hnsw.iterative_scan = {order}", where=FILTERED)
        take(ours + theirs, self.client, self.rows, self.rounds, "filtered", "few_queries")
        self.emit(ours + theirs, "filter ")
        for point in ours + theirs:
            case = f"filter {point.side} {point.label}"
            self.row(case, "rows_least", min(point.found))
            self.row(case, "rows_mean", statistics.mean(point.found))
        self.compare("filter hybrid beside pgvector", ours, theirs, (0.95, 0.99))

    def grown(self):
        """An index from nothing."""
        self.ensure()
        session, table = self.sides["hybrid"], f"{self.table}_grown"
        session.ask(f"DROP TABLE IF EXISTS {table}")
        self.load("hybrid", table, filled=False)
        session.ask(f"CREATE INDEX {table}_v ON {table} USING hybrid (v {self.rows.operator_class})")
        say("hybrid: rows into an empty index")
        self.row("hybrid grown", "rows_per_s", self.fill("hybrid", table))
        # what autovacuum would do
        self.row("hybrid grown", "vacuum_seconds", self.vacuum("hybrid", table), "lower")
        session.ask(f"ANALYZE {table}")
        session.warm(table)
        self.ready("hybrid", table)
        self.row("hybrid grown", "bytes", self.bytes("hybrid", table), "lower")
        built = self.hybrid_points(TARGETS, self.table, "built ")
        grown = self.hybrid_points(TARGETS, table, "grown ")
        take(built + grown, self.client, self.rows, self.rounds)
        self.emit(built + grown)
        self.compare("hybrid grown beside built", grown, built, (0.95, 0.99))
        session.ask(f"DROP TABLE {table}")

    def insert(self):
        """Rows into the full index, each a transaction, by two clients.  Both indexes are cached, and
        nothing of what made them is still being written."""
        self.ensure()
        for session in self.sides.values():
            session.ask("CHECKPOINT")
        speeds = {side: [] for side in self.sides}
        for file in self.rows.extra(self.rounds):
            for side in self.sides:
                say(f"{side}: inserts")
                speed = self.client.run(side, "insert", file, 2, "",
                                        f"INSERT INTO {self.table} (id, v) VALUES ($1, $2::vector)")
                speeds[side].append(speed)
        for side, each in speeds.items():
            for place, metric, better in ((0, "rows_per_s", "higher"), (1, "p50_us", "lower"),
                                          (2, "p99_us", "lower")):
                self.row(f"{side} insert two clients", metric,
                         statistics.median(speed[place] for speed in each), better)
        if "pgvector" in speeds:
            self.row("hybrid beside pgvector insert", "rows_per_s_ratio",
                     statistics.median(a[0] / b[0] for a, b in zip(speeds["hybrid"], speeds["pgvector"])))
        # the table as it was, for what comes next
        for side, session in self.sides.items():
            session.ask(f"DELETE FROM {self.table} WHERE id >= {len(self.rows.items)}")
            self.vacuum(side, self.table)

    def delete(self):
        """Half of the rows, and what is left."""
        self.ensure()
        session, plain, fresh = self.sides["hybrid"], f"{self.table}_plain", f"{self.table}_fresh"
        seconds = {}
        for table in (plain, fresh):
            session.ask(f"DROP TABLE IF EXISTS {table}")
            self.load("hybrid", table)
        for side in self.sides:
            self.sides[side].ask(f"DELETE FROM {self.table} WHERE {DELETED}")
            seconds[side] = self.vacuum(side, self.table)
            self.row(f"{side} vacuum of half", "seconds", seconds[side], "lower")
            self.ready(side, self.table)
        # what the table itself takes
        session.ask(f"DELETE FROM {plain} WHERE {DELETED}")
        table_only = self.vacuum("hybrid", plain)
        self.row("without an index vacuum of half", "seconds", table_only, "lower")
        if "pgvector" in seconds:
            self.row("hybrid beside pgvector vacuum of half", "seconds_ratio",
                     seconds["hybrid"] / seconds["pgvector"], "lower")
        session.ask(f"DROP TABLE {plain}; DELETE FROM {fresh} WHERE {DELETED}; "
                    f"VACUUM (ANALYZE) {fresh}; ANALYZE {self.table}")
        session.warm(fresh)
        self.index("hybrid", fresh)
        after = self.hybrid_points(TARGETS, self.table, "vacuumed ")
        built = self.hybrid_points(TARGETS, fresh, "fresh ")
        theirs = self.pgvector_points(FEW_EFS, self.table, "vacuumed ")
        take(after + built + theirs, self.client, self.rows, self.rounds, "kept")
        self.emit(after + built + theirs)
        self.row("hybrid vacuumed", "bytes", self.bytes("hybrid", self.table), "lower")
        self.row("hybrid fresh", "bytes", self.bytes("hybrid", fresh), "lower")
        self.compare("hybrid vacuumed beside fresh", after, built, (0.95, 0.99))
        self.compare("hybrid vacuumed beside pgvector vacuumed", after, theirs, (0.95, 0.99))
        for one, other in zip(after, built):
            self.row(f"hybrid vacuumed beside fresh {one.label.split(' ', 1)[1]}", "recall_less_fresh",
                     one.recall - other.recall)
        # the next section, on a server that is kept, begins anew
        session.ask(f"DROP TABLE {fresh}")
        for each in self.sides.values():
            each.ask(f"DROP TABLE {self.table}")


if __name__ == "__main__":
    main()
