#!/usr/bin/python3
"""A graph of nearest rows by hybrid_knn_graph with a recall: see knn.sh --graph.

    bench/knn_graph.py SERVER ROUNDS [--quick] [--busy]

Beside it: the same with too little work_mem for the vectors, the build of its index, index scans by LATERAL for a
sample of the rows, and hnswlib, which builds an index and is asked for all rows (if Python finds it, for example by
PYTHONPATH).  Recall is that of the sample, by the exact hybrid_knn; a row that is as near as the tenth counts.  --busy
counts the processor time of the session only, so not with --all-cores.
CSV on stdout: case,metric,value,unit,asked,met.
"""

import os
import statistics
import sys
import time

from side_by_side import BUSY, K, arguments, open_databases, printed, read_rows, say, unit

SAMPLE = 2000
RECALL = 0.95
THREADS = int(os.environ["OMP_NUM_THREADS"])
# all vectors and neighbors, and too little for them, so that each row is searched for
ENOUGH, LITTLE = "2GB", "32MB"
GRAPH = f"INSERT INTO edge SELECT * FROM hybrid_knn_graph('item', 'id', 'v', {K}, recall => {RECALL})"
LATERAL = f"""INSERT INTO scanned SELECT s.id, n.id, n.distance FROM sample s, LATERAL
    (SELECT i.id, i.v <=> s.v AS distance FROM item i ORDER BY i.v <=> s.v LIMIT {K + 1}) n WHERE n.id <> s.id"""
# the distance of the tenth row besides the row itself
FARTHEST = f"""CREATE TABLE farthest AS SELECT s.id, max(n.distance) AS distance
    FROM hybrid_knn('item', 'v', (SELECT array_agg(v ORDER BY id) FROM sample), {K + 1}, 'cosine') n
    JOIN (SELECT id, row_number() OVER (ORDER BY id) AS number FROM sample) s ON s.number = n.query GROUP BY s.id"""


def main():
    """Load, measure, print."""
    server, rounds, quick = arguments(4000)
    session, _ = open_databases(server)
    ids, items = read_rows(f"{server}/tmp/item.bin")
    say(f"a graph of {len(items)} rows")
    session.ask(f"SET max_parallel_maintenance_workers = {THREADS - 1}")
    session.load("item", "item.bin")
    session.ask(f"""CREATE TABLE sample AS SELECT id, v FROM item ORDER BY hashint8(id), id LIMIT {SAMPLE};
        CREATE TABLE edge (source bigint, target bigint, weight real);
        CREATE TABLE scanned (source bigint, target bigint, distance float8);
        ANALYZE sample""")
    session.ask(FARTHEST)
    times = {"build": [], "graph": [], "searches": [], "scans": []}
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        session.ask("DROP INDEX IF EXISTS item_v; TRUNCATE edge, scanned")
        times["build"].append(session.seconds("CREATE INDEX item_v ON item USING hybrid (v vector_cosine_ops)"))
        session.warm("item_v")
        # the time for all rows, from that for the sample
        times["scans"].append(session.seconds(LATERAL) / min(SAMPLE, len(items)) * len(items))
        for case, memory in (("searches", LITTLE), ("graph", ENOUGH)):
            session.ask(f"TRUNCATE edge; SET work_mem = '{memory}'")
            times[case].append(session.seconds(GRAPH))
    print("case,metric,value,unit,asked,met", flush=True)
    row("index", "build", statistics.median(times["build"]), "s")
    row("hybrid_knn_graph", "time", statistics.median(times["graph"]), "s")
    row("hybrid_knn_graph", "recall", recall(session, """SELECT source, 1 - weight - 1e-6 AS distance
        FROM edge JOIN sample ON sample.id = source"""), "", RECALL, quick)
    row("hybrid_knn_graph", "builds of its index", ratio(times["graph"], times["build"]), "", 5, quick, most=True)
    row("LATERAL", "time of all rows", statistics.median(times["scans"]), "s, from a sample")
    row("LATERAL", "recall", recall(session, "SELECT source, distance FROM scanned"), "")
    row("hybrid_knn_graph with little work_mem", "times hybrid_knn_graph", ratio(times["searches"], times["graph"]), "")
    row("LATERAL", "times hybrid_knn_graph", ratio(times["scans"], times["graph"]), "", 10, quick)
    measure_hnswlib(session, ids, items, statistics.median(times["graph"]), quick)


def recall(session, found):
    """The share of the true neighbors of the sample that a query for (source, distance) has."""
    return float(session.value(f"""SELECT sum(least(count, {K}))::float8 / (SELECT {K} * count(*) FROM farthest) FROM
        (SELECT count(*) FROM ({found}) f JOIN farthest ON farthest.id = source
        WHERE f.distance <= farthest.distance GROUP BY source) counts"""))


def measure_hnswlib(session, ids, items, graph, quick):
    """hnswlib with M 16 and ef_construction 200, asked with the first ef that reaches the recall."""
    try:
        import hnswlib
    except ImportError:
        say("hnswlib: not available")
        return
    farthest = {int(ident): float(distance) for ident, distance in session.ask("TABLE farthest")}
    place = [i for i, ident in enumerate(ids) if int(ident) in farthest]
    vectors = unit(items).astype("f4")
    index = hnswlib.Index(space="cosine", dim=items.shape[1])
    index.set_num_threads(THREADS)
    clock = time.process_time if BUSY else time.perf_counter
    begin = clock()
    index.init_index(max_elements=len(items), ef_construction=200, M=16)
    index.add_items(vectors, ids)
    build = clock() - begin
    for ef in (16, 24, 32, 48, 64, 96, 128, 192, 256, 512):
        index.set_ef(ef)
        labels, distances = index.knn_query(vectors[place], K + 1)
        found = sum(min(K, sum(d <= farthest[int(ids[i])] + 1e-6 for l, d in zip(*row) if l != ids[i]))
                    for i, row in zip(place, zip(labels, distances))) / (K * len(place))
        if found >= RECALL:
            break
    begin = clock()
    index.knn_query(vectors, K + 1)
    asked = clock() - begin
    row("hnswlib", "build", build, "s")
    row("hnswlib", f"time of all rows with ef {ef}", asked, "s")
    row("hnswlib", "recall", found, "")
    row("hnswlib", "times hybrid_knn_graph", (build + asked) / graph, "", 3, quick)


def ratio(own, others):
    """The median over the rounds."""
    return statistics.median(a / b for a, b in zip(own, others))


def row(case, metric, value, unit_name, asked=None, quick=False, most=False):
    """A row of CSV; asked is the least value, or the most."""
    met = "-"
    if asked is not None and not quick:
        met = "yes" if (value <= asked if most else value >= asked) else "no"
    limit = "-" if asked is None else ("<= " if most else ">= ") + str(asked)
    print(",".join([case, metric, printed(value), unit_name.replace(",", ""), limit, met]), flush=True)


if __name__ == "__main__":
    sys.exit(main())
