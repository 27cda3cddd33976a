#!/usr/bin/python3
"""hybrid_knn beside FAISS IndexFlatIP and pgvector's exact scan: see knn.sh and side_by_side.sh.

    bench/knn.py SERVER ROUNDS [--quick] [--busy]

hybrid_knn gets a batch of queries from a table in one statement, and FAISS gets it in one call.
pgvector has no batches, so it gets some tens of the queries one at a time, and the median counts.
pgvector's rows are STORAGE plain, in line, where it is fastest.  hybrid's rows are stored in its default
way, out of line, and a second time in line.
"""

import os
import statistics
import time

from side_by_side import (BUSY, K, Session, Table, Truth, arguments, array, open_databases, read_rows,
                          say, take_turns, unit)

FAISS = "FAISS IndexFlatIP"
PGVECTOR = "pgvector exact scan"
PGVECTOR_QUERIES = 10   # each round
THREADS = int(os.environ["OMP_NUM_THREADS"])
# what is asked: ratios, by the best instructions that a case may use, on one thread and on all cores
ASKED = {"amx": {"faiss": 13, "pgvector": 300}, "avx512": {"faiss": 2}, "avx2": {"faiss": 1}}
ASKED_OF_ALL = {"amx": {"faiss": 8}, "avx512": {"faiss": 3}, "avx2": {"faiss": 1.6}}

TABLES = {"item": "table", "item_in_line": "table in line", "item_indexed": "index"}
KNN = """INSERT INTO answer SELECT array_agg(query), array_agg(tid), array_agg(distance) FROM
hybrid_knn('{table}', 'v', (SELECT array_agg(v ORDER BY id) FROM query), 10, 'cosine')"""


def main():
    """Load, take turns, print."""
    server, rounds, quick = arguments(4000)
    hybrid, pgvector = open_databases(server)
    ids, items = read_rows(f"{server}/tmp/item.bin")
    _, queries = read_rows(f"{server}/tmp/query.bin")
    say(f"{len(queries)} queries, {len(items)} rows; their nearest in float64")
    truth = Truth(ids, items, queries)
    judged = {}
    contenders = {}
    asked = {}

    faiss = FaissSearch(ids, items, queries, truth, judged)
    if faiss.index:
        contenders[FAISS] = faiss.turn
    say("loading tables")
    load_hybrid(hybrid)
    available = levels(hybrid)
    for level in available:
        session = Session(server, "hybrid")
        session.ask(f"LOAD 'hybrid'; SET hybrid.simd = {level}; CREATE TEMP TABLE answer (query int[],"
                    "id tid[], distance float8[])")
        for table, name in TABLES.items():
            if level != "auto" and table == "item_in_line":
                continue
            case = f"hybrid_knn {level} {name}" + (f", {THREADS} threads" if THREADS > 1 else "")
            contenders[case] = knn_turn(session, table, case, len(queries), truth, judged)
            # of tables nothing is asked
            best = best_level(available) if level == "auto" else level
            goals = ASKED if THREADS == 1 else ASKED_OF_ALL
            asked[case] = goals.get(best) if name == "index" else None
    if pgvector:
        pgvector.load("item", "item.bin", plain=True)
        pgvector.load("query", "query.bin", plain=True)
        contenders[PGVECTOR] = pgvector_turn(pgvector, len(queries), truth, judged)

    speeds = take_turns(rounds, contenders)
    table = Table(quick)
    for case in (FAISS, PGVECTOR, *asked):
        table.speed(case, speeds.get(case), speeds.get(FAISS), speeds.get(PGVECTOR),
                    asked.get(case), metric="queries")
        if case in judged:
            table.exact(case, judged[case])
    table.end()


class FaissSearch:
    """FAISS on THREADS threads; index is None where it is not installed."""

    def __init__(self, ids, items, queries, truth, judged):
        self.index = None
        self.ids, self.truth, self.judged = ids, truth, judged
        self.queries = unit(queries).astype("f4")
        try:
            import faiss
        except ImportError:
            say("FAISS: not available (Debian's python3-faiss)")
            return
        faiss.omp_set_num_threads(THREADS)
        with open("/proc/self/maps", encoding="ascii") as file:
            if "openblas" not in file.read():
                say("FAISS: not with OpenBLAS, so it is slower than it could be")
        self.index = faiss.IndexFlatIP(items.shape[1])
        self.index.add(unit(items).astype("f4"))

    def turn(self):
        """Queries a second."""
        clock = time.process_time if BUSY else time.perf_counter
        begin = clock()
        scores, places = self.index.search(self.queries, K)
        seconds = clock() - begin
        judge = self.judged.setdefault(FAISS, [])
        judge += [self.truth.exact(i, self.ids[places[i]], 1 - scores[i].astype("f8"))
                  for i in range(len(places))]
        return len(places) / seconds


def load_hybrid(session):
    """The tables, one with an index."""
    session.load("query", "query.bin", plain=True)
    for table in TABLES:
        session.load(table, "item.bin", plain=table == "item_in_line")
    session.ask("CREATE INDEX item_indexed_v ON item_indexed USING hybrid (v vector_cosine_ops)")
    session.warm("item_indexed_v")


def levels(session):
    """Values of hybrid.simd that this machine has and that are worth a row."""
    session.ask("""LOAD 'hybrid';
        CREATE OR REPLACE FUNCTION has(level text) RETURNS bool LANGUAGE plpgsql AS $$
        BEGIN
            PERFORM set_config('hybrid.simd', level, true);
            RETURN true;
        EXCEPTION WHEN OTHERS THEN RETURN false;
        END $$""")
    rows = session.ask("SELECT level FROM pg_settings, unnest(enumvals) AS level "
                       "WHERE name = 'hybrid.simd' AND level <> 'scalar' AND has(level)")
    return [row[0] for row in rows]


def best_level(available):
    """What 'auto' may use here."""
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        if "amx_bf16" in file.read().split():
            return "amx"
    return next((level for level in ("avx512", "avx2") if level in available), None)


def knn_turn(session, table, case, count, truth, judged):
    """A turn of hybrid_knn."""
    def turn():
        session.ask("TRUNCATE answer")
        seconds = session.seconds(KNN.format(table=table))
        answers = [([], []) for _ in range(count)]
        for query, ident, distance in session.ask(f"""
                SELECT a.query, row.id, a.distance
                FROM (SELECT unnest(query) AS query, unnest(id) AS id, unnest(distance) AS distance
                    FROM answer) AS a JOIN {table} AS row ON row.ctid = a.id
                ORDER BY a.query, a.distance, a.id"""):
            answers[int(query) - 1][0].append(int(ident))
            answers[int(query) - 1][1].append(float(distance))
        judged.setdefault(case, []).extend(truth.exact(i, *answers[i]) for i in range(count))
        return count / seconds
    return turn


def pgvector_turn(session, count, truth, judged):
    """Some queries, one at a time, others in each turn."""
    state = {"next": 0}

    def turn():
        seconds = []
        for _ in range(PGVECTOR_QUERIES):
            number = state["next"] % count
            state["next"] += 1
            row = session.timed(f"SELECT nearest.* FROM query, nearest('item', '<=>', v) "
                                f"WHERE id = {number + 1}")
            seconds.append(row[0])
            judged.setdefault(PGVECTOR, []).append(
                truth.exact(number, array(row[1], int), array(row[2], float)))
        return 1 / statistics.median(seconds)
    return turn


if __name__ == "__main__":
    main()
