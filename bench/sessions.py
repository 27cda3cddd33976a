#!/usr/bin/python3
"""Sessions with batches at once, and small searches beside them: see sessions.sh.

    bench/sessions.py SERVER ROUNDS [--quick]
"""

import statistics
import subprocess
import threading
import time

from curve import Client
from side_by_side import Session, arguments, printed, say

SESSIONS = 8
BATCH = """SELECT count(*) FROM hybrid_knn('item', 'v', (SELECT array_agg(v ORDER BY id) FROM query), 10, 'cosine')"""
SEARCH = "SELECT id FROM item ORDER BY v <=> $1::vector LIMIT 10"
SECONDS = 10


def main():
    """Load, take turns, print."""
    server, rounds, quick = arguments(4000)
    session = Session(server, "hybrid")
    say("loading tables")
    session.ask("CREATE EXTENSION pg_prewarm")
    session.load("query", "query.bin", plain=True)
    session.load("item", "item.bin")
    session.ask("CREATE INDEX item_v ON item USING hybrid (v vector_cosine_ops)")
    session.warm("item_v")
    session.ask("CREATE DATABASE bench")
    pgbench(server, "-i", "-q", "-s", "10")
    sessions = [Session(server, "hybrid") for _ in range(SESSIONS)]
    for each in sessions:
        each.ask(BATCH)
    client = Client(server, 1 if quick else SECONDS)
    found = []
    for number in range(rounds):
        say(f"round {number + 1} of {rounds}")
        found.append(turn(server, sessions, client))
    print("case,metric,value,unit,yardstick,yardstick_value,ratio,asked,met")
    shown("batches at once", "time", found, 0, "s", "one after the other", ">= .95", quick)
    shown("searches beside batches", "p99", found, 2, "ms", "beside pgbench -S", "<= 1.3", quick)


def turn(server, sessions, client):
    """Seconds at once and one after the other; 99th percentiles beside batches and beside pgbench."""
    def batches(ended):
        """Batches of all sessions until it is time."""
        def go_on(session):
            while True:
                session.ask(BATCH)
                if ended():
                    return
        threads = [threading.Thread(target=go_on, args=(each,)) for each in sessions]
        for each in threads:
            each.start()
        return threads

    def once(chosen):
        """Seconds of one batch of each of these sessions, at once."""
        begin = time.perf_counter()
        threads = [threading.Thread(target=each.ask, args=(BATCH,)) for each in chosen]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return time.perf_counter() - begin

    def searches():
        """The 99th percentile of searches, in milliseconds."""
        return client.run("hybrid", "search", f"{server}/tmp/query.bin", 1, "", SEARCH)[2] / 1000

    together = once(sessions)
    apart = sum(once([each]) for each in sessions)
    done = threading.Event()
    threads = batches(done.is_set)
    beside_batches = searches()
    done.set()
    for each in threads:
        each.join()
    busy = pgbench(server, "-n", "-S", "-c", str(SESSIONS), "-j", "2", "-T", str(int(client.seconds) + 4), wait=False)
    time.sleep(1)
    beside_pgbench = searches()
    busy.wait()
    return together, apart, beside_batches, beside_pgbench


def pgbench(server, *options, wait=True):
    """It, in a database of its own."""
    program = subprocess.Popen(["test/server.sh", "run", server, "pgbench", *options, "bench"],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if wait and program.wait() != 0:
        raise SystemExit("pgbench failed")
    return program


def shown(case, metric, found, place, unit, yardstick, asked, quick):
    """A row; the ratio is the median of the rounds' ratios, of speeds where more is better."""
    own, other = ([each[at] for each in found] for at in (place, place + 1))
    quotients = [b / a for a, b in zip(own, other)] if asked.startswith(">") else [a / b for a, b in zip(own, other)]
    ratio = statistics.median(quotients)
    met = ratio >= float(asked[3:]) if asked.startswith(">") else ratio <= float(asked[3:])
    print(",".join([case, metric, f"{statistics.median(own):.4g}", unit, yardstick,
                    f"{statistics.median(other):.4g}", printed(ratio), asked,
                    "-" if quick else "yes" if met else "no"]), flush=True)


if __name__ == "__main__":
    main()
