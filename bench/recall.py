#!/usr/bin/python3
"""The recall reached for the target recall: see recall.sh.

    bench/recall.py SERVER [--rows N] [--queries N] [--seed N] [--quick] [CASE ...]

Rows and queries are those of recall_cases.py.  hybrid_knn gives the ground truth, and a row as near as the
true k-th counts as found.  Beside each target stands the smallest hybrid.probes that finds as much, and how
many rows it scores for that.  A stopping rule should score no more than 1.3 times as many.
"""

import argparse
import os
import sys

import numpy

from recall_cases import CASES, unit
from side_by_side import Session, say, write_rows

TARGETS = (0.9, 0.95, 0.99)
LIMIT = 10
LIMITS = (1, 10, 100)
# what may be missed of a target, beside two standard errors
LACK = 0.01
# of the queries, whose recall may be .5 or less at a target of .95
LOW = 0.01
COST = 1.3
METRICS = {"l2": ("<->", "vector_l2_ops"), "ip": ("<#>", "vector_ip_ops"),
           "cosine": ("<=>", "vector_cosine_ops")}
# how an index comes to be what it is
VARIANTS = {
    "built": {},
    "grown": {"grown": True},
    "int8": {"options": "storage = int8"},
    "halfvec": {"type": "halfvec"},
    "half deleted": {"deleted": True},
    "half deleted and vacuumed": {"deleted": True, "vacuumed": True},
}
# besides 'built', which every case has
MORE = {"three": ("grown",), "three_ip": ("grown",), "zipf": ("grown", "half deleted", "half deleted and vacuumed"),
        "packages": ("int8", "halfvec", "half deleted", "half deleted and vacuumed")}

SEARCHED = """
CREATE FUNCTION searched(operator text, type text, k int,
	OUT recall float8, OUT error float8, OUT low float8, OUT lists float8, OUT rows float8, OUT ms float8)
LANGUAGE plpgsql AS $$
DECLARE
	asked record;
	work record;
	found int;
	number int := 0;
	begun timestamptz;
	sum float8 := 0;
	squares float8 := 0;
	spent interval := '0';
BEGIN
	low := 0;
	lists := 0;
	rows := 0;
	FOR asked IN SELECT v, nearest[k] AS bound FROM query ORDER BY id LOOP
		begun := clock_timestamp();
		EXECUTE format('SELECT count(*) FILTER (WHERE distance <= $2) FROM (SELECT v %1$s $1::%2$s AS distance
			FROM item ORDER BY v %1$s $1::%2$s LIMIT %3$s) s', operator, type, k)
			INTO found USING asked.v, asked.bound + 1e-6 * greatest(abs(asked.bound), 1e-3);
		spent := spent + (clock_timestamp() - begun);
		SELECT * INTO STRICT work FROM hybrid_last_scan();
		number := number + 1;
		sum := sum + found::float8 / k;
		squares := squares + (found::float8 / k) ^ 2;
		low := low + (found <= k / 2.0)::int;
		lists := lists + work.lists;
		rows := rows + work.rows_scored;
	END LOOP;
	recall := sum / number;
	error := sqrt(greatest(squares / number - recall ^ 2, 0) / number);
	low := low / number;
	lists := lists / number;
	rows := rows / number;
	ms := extract(epoch FROM spent) * 1000 / number;
END
$$;
CREATE TABLE query (id bigint, v vector, nearest float8[]);
"""


def main():
    """Each case, with each way to make its index."""
    parser = argparse.ArgumentParser()
    parser.add_argument("server")
    parser.add_argument("--rows", type=int, default=0)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "little"))
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_intermixed_args()
    if options.quick:
        options.rows, options.queries = 3000, 40
    names = options.cases or [*CASES, "three_ip"]
    for name in names:
        if name not in CASES and name != "three_ip":
            sys.exit(f"no case {name}; there are: {' '.join([*CASES, 'three_ip'])}")
    print(f"# seed {options.seed}")
    print("case,queries,limit,target,recall,error,low,lists,rows_share,cost_of_probes,ms,met", flush=True)
    bench = Bench(options)
    for name in names:
        bench.case(name)
    sys.exit(1 if bench.missed else 0)


class Bench:
    """A server with one case in it at a time."""

    def __init__(self, options):
        self.options, self.missed = options, 0
        self.session = Session(options.server, "hybrid")
        self.session.ask(SEARCHED)
        self.session.ask("SET enable_seqscan = off; SET work_mem = '256MB'; SET client_min_messages = warning")

    def case(self, name):
        """Its index in each way, and all its queries."""
        random = numpy.random.default_rng([self.options.seed, sum(name.encode())])
        make = CASES["three" if name == "three_ip" else name]
        say(f"{name}: {make.__doc__.splitlines()[0]}")
        metric, rows, queries = make(random, self.options.rows, self.options.queries)
        if name == "three_ip":
            metric = "ip"
        if metric == "cosine":
            rows = unit(rows)
        for variant in ("built", *MORE.get(name, ())):
            self.load(metric, rows, **VARIANTS[variant])
            for of, vectors in queries.items():
                self.queries(metric, vectors.astype("f4"), **VARIANTS[variant])
                self.figures(f"{name} {variant}", of, metric, VARIANTS[variant].get("type", "vector"))

    def load(self, metric, rows, grown=False, options="", type="vector", deleted=False, vacuumed=False):
        """The table, and its index."""
        ask, path = self.session.ask, f"{self.options.server}/tmp/recall"
        index = (f"CREATE INDEX item_v ON item USING hybrid (v {METRICS[metric][1].replace('vector', type)})"
                 + (f" WITH ({options})" if options else ""))
        write_rows(path, numpy.arange(len(rows)), numpy.ascontiguousarray(rows, "f4"))
        ask(f"DROP TABLE IF EXISTS item; CREATE TABLE item (id bigint, v {type}({rows.shape[1]}))")
        if grown:
            ask(index)
        if type == "vector":
            ask(f"COPY item FROM '{path}' (FORMAT binary)")
        else:
            ask(f"CREATE TEMP TABLE raw (id bigint, v vector({rows.shape[1]})); "
                f"COPY raw FROM '{path}' (FORMAT binary); INSERT INTO item SELECT * FROM raw; DROP TABLE raw")
        if not grown:
            ask(index)
        if deleted:
            ask("DELETE FROM item WHERE id % 2 = 0")
        ask("VACUUM item" if vacuumed else "ANALYZE item")

    def queries(self, metric, vectors, type="vector", **_):
        """The table of queries, with the distances of the nearest rows to each."""
        if type == "halfvec":
            vectors = vectors.astype("f2").astype("f4")
        path = f"{self.options.server}/tmp/recall"
        write_rows(path, numpy.arange(len(vectors)), vectors)
        self.session.ask(f"""
            CREATE TEMP TABLE raw (id bigint, v vector); COPY raw FROM '{path}' (FORMAT binary);
            TRUNCATE query;
            INSERT INTO query SELECT raw.id, raw.v, k.nearest
            FROM raw JOIN (SELECT query, array_agg(distance ORDER BY distance) AS nearest
                FROM hybrid_knn('item', 'v', (SELECT array_agg(v ORDER BY id) FROM raw), {max(LIMITS)}, '{metric}')
                GROUP BY query) k ON k.query = raw.id + 1;
            DROP TABLE raw""")

    def searched(self, metric, type, limit, setting):
        """What a search of all queries gives with that setting."""
        # in a list of its own: its first rows are warmed up by the one before
        self.session.ask(setting)
        row = self.session.ask(f"SELECT * FROM searched('{METRICS[metric][0]}', '{type}', {limit})")[0]
        return dict(zip(("recall", "error", "low", "lists", "rows", "ms"), (float(each) for each in row)))

    def figures(self, case, of, metric, type):
        """A line for each limit and target."""
        rows = int(self.session.value("SELECT count(*) FROM item"))
        leaves = int(self.session.value("SELECT lists FROM hybrid_index_stats('item_v')"))
        by_probes = {}

        def probes(number):
            if number not in by_probes:
                by_probes[number] = self.searched(metric, type, LIMIT, f"SET hybrid.probes = {number}")
            return by_probes[number]

        for limit in LIMITS:
            for target in TARGETS:
                got = self.searched(metric, type, limit, f"SET hybrid.probes = 0; SET hybrid.target_recall = {target}")
                cost = ""
                if limit == LIMIT:
                    # the least that finds as much; all of them do
                    low, high = 0, leaves
                    while high - low > 1:
                        middle = (low + high) // 2
                        if probes(middle)["recall"] >= got["recall"]:
                            high = middle
                        else:
                            low = middle
                    cost = got["rows"] / max(probes(high)["rows"], 1)
                missed = []
                if got["recall"] < target - LACK - 2 * got["error"]:
                    missed.append("recall")
                if target == 0.95 and limit > 1 and got["low"] > LOW:
                    missed.append("low")
                if cost != "" and cost > COST:
                    missed.append("cost")
                self.missed += bool(missed)
                print(f"{case},{of},{limit},{target},{got['recall']:.4f},{got['error']:.4f},{got['low']:.4f},"
                      f"{got['lists']:.1f},{got['rows'] / rows:.4f},{cost if cost == '' else format(cost, '.2f')},"
                      f"{got['ms']:.3f},{'no: ' + ' '.join(missed) if missed else 'yes'}", flush=True)


if __name__ == "__main__":
    main()
