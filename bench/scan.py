#!/usr/bin/python3
"""Sequential scans and distances beside pgvector: see scan.sh and side_by_side.sh.

    bench/scan.py SERVER ROUNDS [--quick] [--busy]

A search by sequential scan has its query as a parameter, as a client would send it.  Distances are computed
for a few rows again and again, so that the rows come from a cache near the processor.  An aggregate counts
the distances, so the executor's time is included on both sides.
"""

from side_by_side import (DIMENSIONS, Table, Truth, arguments, array, open_databases, read_rows, say,
                          take_turns)

SEARCHES = 3    # of each metric in a turn
FEW = 1000      # rows for distances
TIMES = 10      # over which a turn goes
ASKED = {"<=>": {"pgvector": 1.3}}
OPERATORS = ("<=>", "<->", "<#>", "<+>")

# Columns beside v, made of it; sparse: the tenth of the elements that is largest, and their indices.
COLUMNS = {
    "halfvec": ("h", f"v::halfvec({DIMENSIONS})", OPERATORS),
    "bit": ("b", f"binary_quantize(v)::bit({DIMENSIONS})", ("<~>", "<%>")),
    "sparsevec": ("s", f"""(SELECT '{{' || string_agg(place || ':' || x, ',') || '}}/{DIMENSIONS}'
        FROM (SELECT place, x FROM unnest(v::real[]) WITH ORDINALITY AS e (x, place)
            ORDER BY abs(x) DESC LIMIT {DIMENSIONS // 10}) AS largest)::sparsevec""", OPERATORS),
}


def main():
    """Load, take turns, print."""
    server, rounds, quick = arguments(4000)
    hybrid, pgvector = open_databases(server)
    ids, items = read_rows(f"{server}/tmp/item.bin")
    _, queries = read_rows(f"{server}/tmp/query.bin")
    queries = queries[:SEARCHES * (rounds + 1)]
    truth = Truth(ids, items, queries)
    judged = {}
    contenders = {}
    say("loading tables")
    sides = {"hybrid": hybrid, "pgvector": pgvector}
    for side, session in sides.items():
        if session:
            session.load("item", "item.bin", plain=True)
            session.load("query", "query.bin", plain=True)
    for operator in OPERATORS:
        for side, session in sides.items():
            if session:
                contenders[f"{side} scan {operator}"] = search_turn(
                    session, side, operator, len(queries), truth, judged)
    distances = add_few(sides)
    for column, operator, name in distances:
        for side, session in sides.items():
            if session:
                contenders[f"{side} {name} {operator}"] = distance_turn(session, column, operator)

    speeds = take_turns(rounds, contenders)
    table = Table(quick)
    for name, operator, metric in (
            [("scan", operator, "queries") for operator in OPERATORS]
            + [(name, operator, "distances") for _, operator, name in distances]):
        for side in ("pgvector", "hybrid"):
            case = f"{side} {name} {operator}"
            table.speed(case, speeds.get(case), None, speeds.get(f"pgvector {name} {operator}"),
                        ASKED.get(operator) if case.startswith("hybrid scan") else None,
                        metric=metric)
            if case in judged:
                table.exact(case, judged[case])
    table.end()


def search_turn(session, side, operator, count, truth, judged):
    """A turn of some searches by sequential scan, each round with other queries."""
    state = {"next": 0}

    def turn():
        seconds = []
        for _ in range(SEARCHES):
            number = state["next"] % count
            state["next"] += 1
            row = session.timed(f"SELECT nearest.* FROM query, nearest('item', '{operator}', v) "
                                f"WHERE id = {number + 1}")
            seconds.append(row[0])
            if operator == "<=>":
                judged.setdefault(f"{side} scan {operator}", []).append(
                    truth.exact(number, array(row[1], int), array(row[2], float)))
        return SEARCHES / sum(seconds)
    return turn


def add_few(sides):
    """A small table with a column of each type that both sides have: (column, operator, name)."""
    # of bit, which is PostgreSQL's, the distances
    types = [name for name in COLUMNS
             if all(session is None or session.value(
                 f"SELECT to_regtype('{name}') IS NOT NULL AND "
                 "EXISTS (SELECT FROM pg_proc WHERE proname = 'binary_quantize')") == "t"
                    for session in sides.values())]
    extra = "".join(f", {COLUMNS[name][1]} AS {COLUMNS[name][0]}" for name in types)
    alter = "".join(f", ALTER {COLUMNS[name][0]} SET STORAGE plain" for name in types)
    for session in sides.values():
        if session:
            session.ask(f"""CREATE TABLE few AS SELECT id, v{extra} FROM item WHERE false;
                ALTER TABLE few ALTER v SET STORAGE plain{alter};
                INSERT INTO few SELECT id, v{extra} FROM item ORDER BY id LIMIT {FEW};
                VACUUM (FREEZE, ANALYZE) few""")
            session.warm("few")
    found = [("v", operator, "vector") for operator in OPERATORS]
    for name in types:
        found += [(COLUMNS[name][0], operator, name) for operator in COLUMNS[name][2]]
    return found


def distance_turn(session, column, operator):
    """A turn of distances of a small table's rows to its first one."""
    statement = (f"SELECT count({column} {operator} (SELECT {column} FROM few WHERE ctid = '(0,1)'))"
                 " FROM few")

    def turn():
        return FEW / session.seconds(statement, TIMES)
    return turn


if __name__ == "__main__":
    main()
