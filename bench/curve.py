"""Points of recall and speed, measured in turns, and interpolation between them: see index.py."""

import math
import statistics
import subprocess

from side_by_side import say

CLIENT = "build/bench/client"
DATABASES = {"hybrid": "hybrid", "pgvector": "pgvector"}


class Client:
    """bench/client.c, against a server."""

    def __init__(self, server, seconds):
        self.server, self.seconds = server, seconds

    def run(self, side, kind, file, clients, settings, statement, answers=None):
        """(runs a second, median, 99th percentile in microseconds) of a turn."""
        done = subprocess.run(
            [CLIENT, f"host={self.server}/socket port=5432 user=postgres dbname={DATABASES[side]}", kind,
             file, str(clients), str(self.seconds), settings, statement] + ([answers] if answers else []),
            check=True, text=True, stdout=subprocess.PIPE)
        runs, seconds, middle, late = (float(each) for each in done.stdout.split())
        return runs / seconds, middle, late


class Point:
    """A way to search: what it finds, and how fast in each round."""

    def __init__(self, side, label, settings, table, clients=1, where=""):
        self.side, self.label, self.clients, self.settings = side, label, clients, settings
        self.table, self.where = table, where
        self.recall = None
        self.found = []
        self.turns = []

    def statement(self, rows):
        """Whose parameter is the query."""
        where = f" WHERE {self.where}" if self.where else ""
        return f"SELECT id FROM {self.table}{where} ORDER BY v {rows.operator} $1::vector LIMIT 10"

    def median(self, what):
        """Of 'qps', 'p50' or 'p99'."""
        return statistics.median(turn[("qps", "p50", "p99").index(what)] for turn in self.turns)


def take(points, client, rows, rounds, which="all", queries="queries"):
    """Recall of each point (of those by one client), then its turns; queries is a file of the set's,
    whose first are the first of all."""
    answers_file = f"build/bench/answers.{rows.name}"
    for point in points:
        if point.clients == 1:
            say(f"{rows.name} {point.side} {point.label}: recall")
            client.run(point.side, "search", rows.file(queries), 1, point.settings,
                       point.statement(rows), answers_file)
            with open(answers_file, encoding="ascii") as file:
                answers = [[int(each) for each in line.split()] for line in file]
            point.recall = rows.recall(answers, which)
            point.found = [len(each) for each in answers]
    for number in range(rounds):
        say(f"{rows.name}: round {number + 1} of {rounds}")
        for i in range(len(points)):
            point = points[(i + number) % len(points)]
            point.turns.append(client.run(point.side, "search", rows.file(queries), point.clients,
                                          point.settings, point.statement(rows)))


def at_recall(points, recall, what):
    """(value, recall it is for) on the line through points, straight in log(1 - recall) and in the
    logarithm of the value.  Nothing is guessed beyond the ends: below the lowest recall it is the
    lowest point's, above the highest the highest one's, and the second number says so."""
    # where two have the same recall, the faster one counts
    best = {}
    for point in points:
        if point.recall not in best or point.median("qps") > best[point.recall].median("qps"):
            best[point.recall] = point
    line = [best[each] for each in sorted(best)]
    recall = min(max(recall, line[0].recall), line[-1].recall)
    for low, high in zip(line, line[1:]):
        if low.recall < recall < high.recall:
            share = ((miss(recall) - miss(low.recall)) / (miss(high.recall) - miss(low.recall)))
            return math.exp((1 - share) * math.log(low.median(what))
                            + share * math.log(high.median(what))), recall
    return best[recall].median(what), recall


def miss(recall):
    """How much is missed, as a logarithm; a sample of some thousand rows that are all found says no more
    than that it is little."""
    return math.log(max(1 - recall, 1e-5))
