#!/usr/bin/python3
"""What a billion vectors of 768 dimensions would take on several machines: a simulation from measured figures.

    bench/scale.py [--results DIR] [--rows N] [--shards N ...] [--cores N]
    bench/scale.py --measure SERVER [--quick]

Nothing here has run with a billion rows.  The first form computes and needs no server.  It reads its inputs from files
of bench/results, as the table INPUTS says, and prints them first.  Its own figures follow, labelled "simulated".
Figures that others have published come last, each with its source.  Others measured different work, so no ratio to the
simulation is given.

scale.sh runs the second form.  It measures inputs: how the time of a build and of a search grows with the rows of a
shard, and how much time of the coordinator a shard takes.

The model:

* Each shard has the same number of rows, an index of its own, and a machine of its own with the number of cores that
  --cores says.  The index is in memory.
* The time per row of a build and the time of a search grow by a power of the number of rows.  The powers are fitted to
  measurements between 25,000 and 200,000 rows.  They are used far beyond: up to 125,000,000 rows per shard.
* A build runs on all cores of its machine, as efficiently as on two.
* A query goes to all shards at once, as with Citus and postgres_fdw's asynchronous scans.  Each shard searches on one
  core, and the query waits for the slowest.  The times of shards are independent, with a log-normal distribution
  through the measured median and 99th percentile.
* The coordinator has the same number of cores.  For each query and shard, it spends the same time on one core.  This
  time was measured with postgres_fdw, which plans, sends and merges a UNION ALL anew for each query.
* The recall is that of a shard: each shard finds the measured share of its own nearest rows.
"""

import argparse
import csv
import math
import os
import statistics
import sys

WORDNET = "2026-11-25-epyc-2cores-index-wordnet.csv"
SCALE = "2026-11-26-epyc-2cores-scale-inputs.csv"
TARGET = "wordnet hybrid target 0.95"
WORDNET_ROWS = 116649
BUILD_PROCESSES = 2

# name: file in bench/results, case, metric
INPUTS = {
    "index of WordNet, bytes": (WORDNET, "wordnet hybrid build by 2 processes", "bytes"),
    "build of WordNet, seconds": (WORDNET, "wordnet hybrid build by 2 processes", "seconds"),
    "search in WordNet, queries/s of one client": (WORDNET, TARGET, "queries_per_s"),
    "search in WordNet, recall": (WORDNET, TARGET, "recall"),
    "search in WordNet, p50 us": (WORDNET, TARGET, "p50_us"),
    "search in WordNet, p99 us": (WORDNET, TARGET, "p99_us"),
    "table, bytes per row": (SCALE, "scale 200000 rows", "table_bytes_per_row"),
    "build, power of the rows in the time per row": (SCALE, "scale growth", "build_power"),
    "search, power of the rows in the time": (SCALE, "scale growth", "search_power"),
    "coordinator, us per shard and query": (SCALE, "scale coordinator", "us_per_shard"),
}

# what others have published: name, rows, dimensions, figures, source
PUBLISHED = [
    ("VectorChord, DEEP-1B", "1,000,000,000", 96, "one AWS i7ie.6xlarge; 40 ms at a recall of .95; built in 1.8 h",
     "https://blog.vectorchord.ai/scaling-vector-search-to-1-billion-on-postgresql"),
    ("VectorChord", "100,000,000", 768, "32 GB of memory; p50 35 ms for the top 10 at a recall of .95",
     "https://docs.vectorchord.ai/vectorchord/getting-started/overview.html"),
    ("VectorChord", "100,000,000", "not stated", "built in 20 minutes on 16 vCPUs",
     "https://github.com/tensorchord/VectorChord/releases/tag/1.0.0"),
    ("Turbopuffer", "100,000,000,000", 1024, "p50 46 ms, p90 61 ms, p99 185 ms",
     "https://turbopuffer.com/docs-md/index.md, https://turbopuffer.com/blog/ann-v3"),
    ("Turbopuffer, warm", "10,000,000", 768, "p50 14 ms, p90 17 ms, p99 27 ms",
     "https://turbopuffer.com/docs-md/index.md"),
]

# measured sizes
SIZES = [25000, 50000, 100000, 200000]
QUICK_SIZES = [2000, 4000]
BRANCHES = [8, 32, 64]
QUICK_BRANCHES = [2, 4]


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--results", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "results"))
    options.add_argument("--rows", type=int, default=1_000_000_000)
    options.add_argument("--shards", type=int, nargs="+", default=[8, 32, 128])
    options.add_argument("--cores", type=int, default=16)
    options.add_argument("--measure", metavar="SERVER")
    options.add_argument("--quick", action="store_true")
    chosen = options.parse_args()
    if chosen.measure:
        measure(chosen.measure, chosen.quick)
        return
    if min(chosen.shards + [chosen.rows, chosen.cores]) < 1:
        sys.exit("rows, shards and cores must be at least 1")
    table = csv.writer(sys.stdout, lineterminator="\n")
    inputs = {name: read_input(chosen.results, *where) for name, where in INPUTS.items()}
    table.writerow(["kind", "case", "metric", "value", "source"])
    for name, where in INPUTS.items():
        table.writerow(["input", where[1], name, f"{inputs[name]:g}", f"bench/results/{where[0]}: {where[2]}"])
    for shards in chosen.shards:
        for metric, value in simulate(inputs, chosen.rows, shards, chosen.cores):
            table.writerow(["simulated", f"{chosen.rows} x 768 on {shards} shards of {chosen.cores} cores",
                            metric, value, "the model in bench/scale.py"])
    for name, rows, dimensions, figures, source in PUBLISHED:
        table.writerow(["published", f"{name}: {rows} x {dimensions}", "as published", figures, source])


def read_input(directory, file, case, metric):
    """The value of an input in its file."""
    with open(os.path.join(directory, file), encoding="utf-8") as lines:
        found = [row[2] for row in csv.reader(lines) if row[:2] == [case, metric]]
    if len(found) != 1:
        sys.exit(f"{file} has {len(found)} values of {case}, {metric}")
    return float(found[0])


def simulate(inputs, rows, shards, cores):
    """(metric, value) of rows on this number of shards, each on a machine with this number of cores."""
    each = math.ceil(rows / shards)
    times = each / WORDNET_ROWS
    index = inputs["index of WordNet, bytes"] * times
    build = (inputs["build of WordNet, seconds"] * BUILD_PROCESSES * times / cores
             * times ** inputs["build, power of the rows in the time per row"])
    grown = times ** inputs["search, power of the rows in the time"]
    search = grown / inputs["search in WordNet, queries/s of one client"]
    coordinator = inputs["coordinator, us per shard and query"] * shards / 1e6
    yield "rows per shard", f"{each}"
    yield "index per shard (GB)", short(index / 1e9)
    yield "index of all shards (TB)", short(index * shards / 1e12)
    yield "table of all shards (TB)", short(inputs["table, bytes per row"] * rows / 1e12)
    yield "CREATE INDEX on all shards at once (minutes)", short(build / 60)
    yield "queries/s that the shards can answer", short(cores / search)
    yield "queries/s that one coordinator can merge", short(cores / coordinator)
    yield "p50 of a query (ms)", short(slowest(inputs, shards, .5) * grown + coordinator * 1e3)
    yield "p99 of a query (ms)", short(slowest(inputs, shards, .99) * grown + coordinator * 1e3)
    yield "recall", short(inputs["search in WordNet, recall"])


def short(value):
    """A number with three significant digits."""
    digits = max(0, 2 - math.floor(math.log10(value)))
    return f"{round(value, 2 - math.floor(math.log10(value))):.{digits}f}"


def slowest(inputs, shards, quantile):
    """A quantile of the slowest of some searches in WordNet, in milliseconds."""
    normal = statistics.NormalDist()
    middle = math.log(inputs["search in WordNet, p50 us"] / 1e3)
    width = math.log(inputs["search in WordNet, p99 us"] / inputs["search in WordNet, p50 us"]) / normal.inv_cdf(.99)
    return math.exp(middle + width * normal.inv_cdf(quantile ** (1 / shards)))


# ---- measuring ----

def measure(server, quick):
    """Print the inputs that are measured here, as CSV."""
    import numpy
    from side_by_side import K, Session, CLOCKS, DIMENSIONS, write_rows
    import index_data

    def say(case, metric, value, better):
        print(f"{case},{metric},{value:.5g},{better}", flush=True)

    session = Session(server, "hybrid")
    session.ask("SET client_min_messages = warning; CREATE EXTENSION pg_prewarm;" + CLOCKS)
    session.ask("SET max_parallel_maintenance_workers = 1; SET maintenance_work_mem = '1GB'; SET enable_seqscan = off; SET jit = off")
    index_data.CLUSTERED_DIMENSIONS = DIMENSIONS
    sizes = QUICK_SIZES if quick else SIZES
    count = 50 if quick else 500
    builds, searches = [], []
    print("case,metric,value,better")
    for rows in sizes:
        made = index_data.clustered(numpy.random.default_rng(rows), rows, rows + count)
        write_rows(f"{server}/tmp/item.bin", numpy.arange(rows), made[:rows])
        write_rows(f"{server}/tmp/query.bin", numpy.arange(count), made[rows:])
        session.ask("DROP TABLE IF EXISTS item, query")
        session.load("item", "item.bin")
        session.load("query", "query.bin")
        builds.append(session.seconds("CREATE INDEX item_v ON item USING hybrid (v)") / rows)
        session.warm("item_v")
        answers = """SELECT seconds, ids FROM (SELECT id, (nearest('item', '<->', v)).* FROM query) s ORDER BY id"""
        session.ask(answers)
        found = session.ask(answers)
        times = [float(row[0]) for row in found]
        searches.append(statistics.mean(times))
        exact = session.ask(f"""SELECT array_agg(item.id) FROM hybrid_knn('item', 'v',
            (SELECT array_agg(v ORDER BY id) FROM query), {K}) k JOIN item ON item.ctid = k.tid GROUP BY query ORDER BY query""")
        right = sum(len(set(a[1].strip("{}").split(",")) & set(b[0].strip("{}").split(",")))
                    for a, b in zip(found, exact))
        case = f"scale {rows} rows"
        say(case, "table_bytes_per_row",
            int(session.value("SELECT pg_table_size('item')")) / rows, "lower")
        say(case, "index_bytes_per_row", int(session.value("SELECT pg_relation_size('item_v')")) / rows, "lower")
        say(case, "build_us_per_row", builds[-1] * 1e6, "lower")
        say(case, "search_mean_us", searches[-1] * 1e6, "lower")
        say(case, "search_p50_us", statistics.median(times) * 1e6, "lower")
        say(case, "recall", right / (K * count), "higher")
    say("scale growth", "build_power", power(sizes, builds), "lower")
    say("scale growth", "search_power", power(sizes, searches), "lower")
    coordinator(session, QUICK_BRANCHES if quick else BRANCHES, say)


def power(sizes, times):
    """The power of the size by which the times grow, by least squares of the logarithms."""
    return statistics.linear_regression([math.log(size) for size in sizes], [math.log(time) for time in times]).slope


def coordinator(session, numbers, say):
    """The processor time that one more branch of a UNION ALL over foreign tables takes to plan and merge."""
    session.ask("""RESET enable_seqscan; SET client_min_messages = warning;
        CREATE EXTENSION postgres_fdw;
        CREATE TABLE few AS SELECT i AS id, (SELECT v FROM query LIMIT 1) AS v FROM generate_series(1, 10) i;
        ANALYZE few;
        DO $$ BEGIN FOR i IN 1 .. """ + str(max(numbers)) + """ LOOP
            EXECUTE format('CREATE SERVER far_%s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (dbname %L, host %L, port %L, extensions ''hybrid'')',
                i, current_database(), current_setting('unix_socket_directories'), current_setting('port'));
            EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER far_%s', i);
            EXECUTE format('CREATE FOREIGN TABLE few_%s (id int, v vector) SERVER far_%1$s OPTIONS (table_name ''few'')', i);
        END LOOP; END $$""")
    costs = []
    for branches in numbers:
        union = " UNION ALL ".join(f"(SELECT id, v <-> (SELECT v FROM query LIMIT 1) AS d FROM few_{i} ORDER BY 2 LIMIT 10)"
                                   for i in range(1, branches + 1))
        statement = f"SELECT id FROM ({union}) s ORDER BY d LIMIT 10"
        session.seconds(statement, 3)
        from side_by_side import processor_seconds
        begin = processor_seconds(session.pid)
        session.seconds(statement, 20)
        costs.append((processor_seconds(session.pid) - begin) / 20)
        say(f"scale coordinator {branches} shards", "processor_us", costs[-1] * 1e6, "lower")
    say("scale coordinator", "us_per_shard", statistics.linear_regression(numbers, costs).slope * 1e6, "lower")


if __name__ == "__main__":
    main()
