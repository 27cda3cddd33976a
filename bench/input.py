#!/usr/bin/python3
"""Text and binary input beside pgvector: see input.sh and side_by_side.sh.

    bench/input.py SERVER ROUNDS [--quick] [--busy]

The same file is read three ways: by COPY into an unlogged table; by COPY ... WHERE false, which reads
and converts all of it and keeps nothing; and, for text only, by casts of strings in memory, which
measure the type's input function and little else.  Numbers are written in three lengths: with 4 digits
after the point, with the fewest digits that give the same float, and with 17 digits, as clients print
that hold them in double precision.
"""

from side_by_side import (DIMENSIONS, Table, arguments, open_databases, read_rows, say, take_turns)

ROWS = 5000
CASTS = 250     # strings, each TIMES times
TIMES = 10
ASKED = {"text": {"pgvector": 2}, "binary": {"pgvector": 1}}
SPARSE = DIMENSIONS // 10


def main():
    """Write the files, take turns, print."""
    server, rounds, quick = arguments(500)
    hybrid, pgvector = open_databases(server)
    sides = {"hybrid": hybrid, "pgvector": pgvector}
    sides = {side: session for side, session in sides.items() if session}
    _, items = read_rows(f"{server}/tmp/item.bin")
    cases = write_files(server, sides, items[:ROWS].copy())
    for session in sides.values():
        for name in {case[0] for case in cases}:
            session.ask(f"CREATE UNLOGGED TABLE of_{name} (v {name}({DIMENSIONS}))")
    contenders = {}
    for name, form, kind, path in cases:
        for side, session in sides.items():
            base = f"{side} {name} {form}"
            contenders[f"{base} COPY"] = copy_turn(session, name, kind, path, len(items[:ROWS]), "")
            contenders[f"{base} COPY of nothing"] = copy_turn(session, name, kind, path,
                                                              len(items[:ROWS]), "WHERE false")
            if kind == "text":
                contenders[f"{base} cast"] = cast_turn(session, name, path)

    speeds = take_turns(rounds, contenders)
    table = Table(quick)
    for name, form, kind, _ in cases:
        for way in ("COPY", "COPY of nothing") + (("cast",) if kind == "text" else ()):
            for side in ("pgvector", "hybrid"):
                case = f"{side} {name} {form} {way}"
                asked = ASKED[kind] if side == "hybrid" and name == "vector" else None
                table.speed(case, speeds.get(case), None, speeds.get(f"pgvector {name} {form} {way}"),
                            asked, metric="values")
    table.end()


def write_files(server, sides, items):
    """(type, form, text or binary, path) of each file that both sides can read."""
    def has(name):
        return all(session.value(f"SELECT to_regtype('{name}') IS NOT NULL") == "t"
                   for session in sides.values())

    cases = []
    say("writing files")

    def text(name, form, lines):
        path = f"{server}/tmp/{name}.{form.replace(' ', '_')}"
        with open(path, "w", encoding="ascii") as file:
            file.writelines(line + "\n" for line in lines)
        cases.append((name, f"text {form}", "text", path))

    def binary(name):
        # both write the same bytes, which is checked elsewhere
        session = sides["hybrid"]
        path = f"{server}/tmp/{name}.binary"
        shortest = next(case[3] for case in cases if case[0] == name)
        session.ask(f"""CREATE TEMP TABLE written (v {name});
            COPY written FROM '{shortest}';
            COPY written TO '{path}' (FORMAT binary);
            DROP TABLE written""")
        cases.append((name, "binary", "binary", path))

    def dense(row, shape):
        return "[" + ",".join([shape(x) for x in row]) + "]"

    text("vector", "shortest", (dense(row, str) for row in items))
    text("vector", "4 digits", (dense(row, "{:.4f}".format) for row in items.tolist()))
    text("vector", "17 digits", (dense(row, "{:.17g}".format) for row in items.tolist()))
    binary("vector")
    if has("halfvec"):
        text("halfvec", "shortest", (dense(row, str) for row in items.astype("f2")))
        binary("halfvec")
    if has("sparsevec"):
        text("sparsevec", "shortest", (sparse(row) for row in items))
        binary("sparsevec")
    return cases


def sparse(row):
    """The largest tenth of the elements, as a sparsevec."""
    places = sorted(abs(row).argsort()[-SPARSE:])
    return "{" + ",".join(f"{place + 1}:{str(row[place])}" for place in places) + f"}}/{len(row)}"


def copy_turn(session, name, kind, path, rows, where):
    """A turn of COPY into a table that is empty."""
    def turn():
        session.ask(f"TRUNCATE of_{name}")
        return rows / session.seconds(f"COPY of_{name} FROM '{path}' (FORMAT {kind}) {where}")
    return turn


def cast_turn(session, name, path):
    """A turn of casts."""
    # concatenated, so that they are in memory, uncompressed and not looked up in TOAST each time
    statement = (f"WITH texts AS MATERIALIZED (SELECT t || '' AS t FROM texts) SELECT "
                 f"count(t::{name}) FROM generate_series(1, {TIMES}), texts")
    session.ask("CREATE TEMP TABLE IF NOT EXISTS texts (t text)")

    def turn():
        session.ask(f"TRUNCATE texts; COPY texts FROM PROGRAM 'head -n {CASTS} {path}'")
        count = int(session.value("SELECT count(*) FROM texts"))
        return count * TIMES / session.seconds(statement)
    return turn


if __name__ == "__main__":
    main()
