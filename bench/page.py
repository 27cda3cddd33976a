#!/usr/bin/python3
"""Write one HTML page about the tables synset and relation: page.py FILE [DATABASE_OF_PGVECTOR]

The server is that of the environment (PGHOST, PGPORT, PGUSER, PGDATABASE). All figures on the page are measured here. The page
contains its drawings and needs no other file and no network.
"""
import html
import io
import os
import re
import statistics
import sys
import time

import matplotlib
import psycopg2

matplotlib.use("svg")
import matplotlib.pyplot as plt  # noqa: E402
import networkx  # noqa: E402

K = 10
QUERIES = 100
QUESTIONS = 200
SCANS = 10  # exact scans that are timed
CITY = "Kabul"
NEAREST = "SELECT v <=> (SELECT v FROM page_query WHERE n = $1) FROM synset ORDER BY v <=> (SELECT v FROM page_query WHERE n = $1) LIMIT 10"

PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"/><title>hybrid: vectors and graphs in ordinary tables</title>
<meta name="viewport" content="width=device-width, initial-scale=1"/>
<style>
body {{ font: 16px/1.5 sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em; color: #222 }}
svg {{ width: 100%; height: auto }}
table {{ border-collapse: collapse; margin: 1em 0 }}
th, td {{ text-align: left; padding: .2em 1em .2em 0; border-bottom: 1px solid #ddd; vertical-align: top }}
.right {{ background: #d8f0d8 }}
.small {{ color: #666; font-size: 14px }}
</style></head><body>
<h1>hybrid: vectors and graphs in ordinary tables</h1>
<p>The table <code>synset</code> has {rows:,} rows with a text and a vector of {dims} numbers. The table <code>relation</code> has
{edges:,} edges between them. All figures were measured on this machine on {date}.</p>

<h2>How fast a search is, and how much it finds</h2>
<p>Each of {queries} searches looks for the ten nearest rows. Recall is the share of the true ten that it finds.
<code>hybrid.target_recall</code> is the only setting that changes from point to point{others}.</p>
{curves}
{curve_table}

<h2>What comes to mind</h2>
<p>The question is the mean of the vectors of the words <em>violin</em> and <em>concert</em>. <code>hybrid_associate</code> finds the
rows nearest to it (blue), and the rows to which their relations lead (orange). A larger circle has a higher score. Lines are the
relations between these rows, and dashed lines lead from the question to the rows nearest to it.</p>
{graph}

<h2>A question with a known answer</h2>
<p><strong>In which country is {city}?</strong> The answer is <strong>{country}</strong>. The vector of the question is the mean of
two: that of {city} and that of the word <em>country</em>. Here are the first ten rows by vectors alone, and by
<code>hybrid_associate</code>, which also follows the relation “is a part of”:</p>
{answers}
<p>The same was asked about {asked} cities whose country is known. The country is among the first ten rows
for <strong>{by_vectors}</strong> of them by vectors alone (an exact search), and for <strong>{by_graph}</strong> with the graph.</p>
<p>The relation and the numbers of seeds and hops were chosen by trying several of them on these cities.</p>

<p class="small">{machine}. PostgreSQL {postgres}, hybrid {version}{pgvector}. Times are those of one client on the same machine, with
the index in memory, and the median over {queries} searches ({scans} for the exact scan).</p>
</body></html>
"""


def main():
    """Measure, draw and write."""
    out = sys.argv[1]
    connection = psycopg2.connect("")
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute("SET hybrid.graph_memory_limit = '1GB'")
    prepare(cursor)
    truth = dict(rows_of(cursor, """SELECT query, max(distance) FROM hybrid_knn('synset', 'v',
        (SELECT array_agg(v ORDER BY n) FROM page_query), %s, 'cosine') GROUP BY query""", (K,)))
    points = [("hybrid", *point) for point in hybrid_curve(cursor, truth)]
    exact = exact_scan(cursor)
    version = ""
    if len(sys.argv) > 2:
        more, version = pgvector_curve(cursor, sys.argv[2], truth)
        points += [("pgvector", *point) for point in more]
    values = facts(cursor)
    values.update(
        curves=draw_curves(points, exact), curve_table=curve_table(points, exact), graph=draw_answer(cursor),
        queries=len(truth), scans=SCANS, pgvector=f", pgvector {version}" if version else "",
        others=". For pgvector (HNSW, m = 16, ef_construction = 64), it is <code>hnsw.ef_search</code>" if version else "",
        **question(cursor))
    with open(out, "w", encoding="utf-8") as file:
        file.write(PAGE.format(**values))


def rows_of(cursor, sql, values=None):
    """All rows of a statement."""
    cursor.execute(sql, values)
    return cursor.fetchall()


def prepare(cursor):
    """Make the queries of the curves: each is the mean of the vectors of two related rows."""
    cursor.execute("""
        DROP TABLE IF EXISTS page_query, page_part, page_question;
        CREATE TABLE page_query AS
            SELECT (row_number() OVER ())::int AS n, v FROM (
                SELECT (SELECT avg(v) FROM synset WHERE id IN (source, target)) AS v FROM relation
                WHERE kind = 'hypernym' ORDER BY hashint8(source), target LIMIT %s) s WHERE v IS NOT NULL;
        ALTER TABLE page_query ADD PRIMARY KEY (n);
        ANALYZE page_query;
        CREATE TABLE page_part AS SELECT source, target FROM relation WHERE kind = 'part holonym';
        CREATE INDEX page_parts ON page_part USING hybrid_graph (source, target)""", (QUERIES,))


def run(cursor, truth, numbers, after=None):
    """(recall, median milliseconds) of the prepared searches; calls `after` after each."""
    found = 0
    took = []
    for n in numbers:
        begin = time.perf_counter()
        cursor.execute("EXECUTE nearest (%s)", (n,))
        took.append(1000 * (time.perf_counter() - begin))
        # a row as near as the tenth counts, whichever of equals it is; pgvector's sums are of single precision
        found += sum(distance <= truth[n] + 1e-6 for (distance,) in cursor.fetchall())
        if after:
            after()
    return found / (K * len(took)), statistics.median(took)


def hybrid_curve(cursor, truth):
    """[(setting, recall, milliseconds, share of the rows that were scored)]"""
    points = []
    (rows,), = rows_of(cursor, "SELECT count(*) FROM synset WHERE v IS NOT NULL")
    cursor.execute("SET enable_seqscan = off; SET enable_indexscan = on; PREPARE nearest (int) AS " + NEAREST)
    for target in (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995):
        scored = []
        cursor.execute("SET hybrid.target_recall = %s", (target,))
        run(cursor, truth, truth)
        recall, _ = run(cursor, truth, truth, lambda: scored.append(
            rows_of(cursor, "SELECT rows_scored FROM hybrid_last_scan()")[0][0]))
        _, took = run(cursor, truth, truth)
        points.append((f"target {target}", recall, took, statistics.mean(scored) / rows))
    cursor.execute("RESET hybrid.target_recall; DEALLOCATE nearest")
    return points


def exact_scan(cursor):
    """Median milliseconds of a sequential scan."""
    cursor.execute("SET enable_indexscan = off; SET enable_seqscan = on; PREPARE nearest (int) AS " + NEAREST)
    _, took = run(cursor, dict.fromkeys(range(1, SCANS + 1), 2), range(1, SCANS + 1))
    cursor.execute("RESET enable_indexscan; DEALLOCATE nearest")
    return took


def pgvector_curve(cursor, database, truth):
    """The same for pgvector, whose table and index are in another database; and its version."""
    connection = psycopg2.connect(dbname=database)
    connection.autocommit = True
    other = connection.cursor()
    other.execute("DROP TABLE IF EXISTS page_query; CREATE TABLE page_query (n int PRIMARY KEY, v vector)")
    for row in rows_of(cursor, "SELECT n, v::text FROM page_query"):
        other.execute("INSERT INTO page_query VALUES (%s, %s)", row)
    other.execute("SET enable_seqscan = off; PREPARE nearest (int) AS " + NEAREST)
    points = []
    for effort in (10, 20, 40, 80, 200, 400):
        other.execute("SET hnsw.ef_search = %s", (effort,))
        run(other, truth, truth)
        points.append((f"ef_search {effort}", *run(other, truth, truth), None))
    (version,), = rows_of(other, "SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    connection.close()
    return points, version


def svg_of(figure, name):
    """The figure as an svg element, with ids of its own; its words stay text."""
    matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": name})
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", bbox_inches="tight", metadata=dict.fromkeys(("Date", "Creator", "Format", "Type")))
    plt.close(figure)
    return f'<div id="{name}" role="img">' + re.sub(r"^.*?(?=<svg)", "", buffer.getvalue(), flags=re.S) + "</div>"


def draw_curves(points, exact):
    """Queries per second, and the share of the rows that are scored, each by recall."""
    figure, (speed, work) = plt.subplots(1, 2, figsize=(11, 4.2))
    for side, color in (("hybrid", "tab:blue"), ("pgvector", "tab:gray")):
        own = [point for point in points if point[0] == side]
        if own:
            speed.plot([p[2] for p in own], [1000 / p[3] for p in own], "o-", color=color, label=side)
    speed.axhline(1000 / exact, linestyle="--", color="tab:red", label="exact scan (recall 1)")
    speed.set(xlabel="recall", ylabel="searches per second", yscale="log")
    speed.legend()
    own = [point for point in points if point[4] is not None]
    work.plot([p[2] for p in own], [100 * p[4] for p in own], "o-", color="tab:blue")
    work.set(xlabel="recall", ylabel="% of the rows whose codes are scored", ylim=(0, None))
    for axes in (speed, work):
        axes.grid(True, alpha=0.3)
    return svg_of(figure, "curves")


def curve_table(points, exact):
    """The figures of the drawing."""
    lines = [f"<tr><td>{side}</td><td>{setting}</td><td>{recall:.3f}</td><td>{took:.2f}</td></tr>"
             for side, setting, recall, took, _ in points]
    lines.append(f"<tr><td>exact scan</td><td></td><td>1.000</td><td>{exact:.1f}</td></tr>")
    return ("<details><summary>These figures in a table</summary><table><tr><th></th><th>setting</th><th>recall</th>"
            "<th>ms per search</th></tr>" + "".join(lines) + "</table></details>")


def draw_answer(cursor):
    """The rows of an answer, and the relations between them."""
    answer = rows_of(cursor, """
        SELECT id, words[1], score, hop FROM hybrid_associate('synset', 'id', 'v',
            (SELECT avg(v) FROM (SELECT avg(v) AS v FROM synset WHERE words @> '{violin}'
                                 UNION ALL SELECT avg(v) FROM synset WHERE words @> '{concert}') s),
            'SELECT source, target FROM relation', k => 16, seeds => 8, hops => 2, fan => 0.5, direction => 'both')
            JOIN synset USING (id) ORDER BY score DESC, id""")
    graph = networkx.Graph()
    graph.add_node(0)
    graph.add_nodes_from(row[0] for row in answer)
    graph.add_edges_from(rows_of(cursor, """SELECT source, target FROM hybrid_subgraph('SELECT source, target FROM relation',
        %s::bigint[], hops => 0) WHERE source <> target""", ([row[0] for row in answer],)))
    graph.add_edges_from((0, row[0]) for row in answer if row[3] == 0)
    # a row whose relations lead to rows that are not shown would be placed far away
    near = graph.copy()
    near.add_edges_from((0, node) for node in networkx.isolates(graph))
    places = networkx.spring_layout(near, seed=3, k=1.2, iterations=300)
    figure, axes = plt.subplots(figsize=(11, 6.5))
    networkx.draw_networkx_edges(graph, places, ax=axes, edge_color="#888",
                                 edgelist=[edge for edge in graph.edges if 0 not in edge])
    networkx.draw_networkx_edges(graph, places, ax=axes, edge_color="#bbb", style="dashed",
                                 edgelist=[edge for edge in graph.edges if 0 in edge])
    for seeds, color in ((True, "tab:blue"), (False, "tab:orange")):
        rows = [row for row in answer if (row[3] == 0) is seeds]
        networkx.draw_networkx_nodes(graph, places, ax=axes, nodelist=[row[0] for row in rows], node_color=color,
                                     node_size=[150 + 600 * row[2] for row in rows])
    networkx.draw_networkx_nodes(graph, places, ax=axes, nodelist=[0], node_color="#222", node_shape="s", node_size=150)
    axes.margins(0.12)
    axes.set_axis_off()
    labels = []
    for node, name in [(0, "violin, concert ?")] + [(row[0], row[1]) for row in answer]:
        x, y = axes.transData.transform(places[node])
        # below its circle if it would cover a label above another; a letter is about 7 wide, and a line 20 high
        below = node == 0 or any(abs(x - other) < 3.5 * (len(name) + width) and abs(y + 20 - height) < 20
                                 for other, height, width in labels)
        labels.append((x, y - 30 if below else y + 20, len(name)))
        axes.annotate(name, places[node], xytext=(0, -22 if below else 14), textcoords="offset points", ha="center")
    return svg_of(figure, "graph")


def question(cursor):
    """The values of the last section."""
    cursor.execute("""
        CREATE TABLE page_question AS
        WITH RECURSIVE country AS (
            SELECT i.target AS id FROM relation i JOIN synset kind ON kind.id = i.source
            WHERE i.kind = 'instance hyponym' AND kind.words[1] ~ '(^| )(country|nation)$'
        ), city AS (
            SELECT DISTINCT i.source AS id FROM relation i JOIN synset kind ON kind.id = i.target
            WHERE i.kind = 'instance hypernym' AND kind.words[1] IN ('city', 'national capital', 'port', 'provincial capital')
        ), whole AS (
            SELECT id AS city, id, 0 AS depth FROM city
            UNION SELECT city, target, depth + 1 FROM whole JOIN page_part ON source = whole.id WHERE depth < 4
        ), known AS (
            SELECT city, array_agg(id) AS countries FROM (SELECT DISTINCT city, id FROM whole WHERE id IN (TABLE country)) s
            GROUP BY city ORDER BY hashint8(city), city
        )
        SELECT (row_number() OVER ())::int AS n, city, countries,
            (SELECT avg(v) FROM (SELECT v FROM synset WHERE id = city
                                 UNION ALL SELECT avg(v) FROM synset WHERE words @> '{country}') s) AS v FROM known""")
    asked = rows_of(cursor, """
        SELECT q.n, s.words[1], countries, c.words[1] FROM page_question q JOIN synset s ON s.id = city JOIN synset c ON c.id = countries[1]
        ORDER BY s.words[1] <> %s, q.n LIMIT %s""", (CITY, QUESTIONS))
    numbers = [row[0] for row in asked]
    near = {}
    for number, row, name in rows_of(cursor, f"""
            SELECT query, s.id, s.words[1] FROM hybrid_knn('synset', 'v',
                (SELECT array_agg(v ORDER BY array_position(%s, n)) FROM page_question WHERE n = ANY (%s)), {K}, 'cosine') k
                JOIN synset s ON s.ctid = k.tid ORDER BY query, distance, s.id""", (numbers, numbers)):
        near.setdefault(number, []).append((row, name))
    related = {}
    for number in numbers:
        related[number] = rows_of(cursor, f"""
            SELECT id, words[1] FROM hybrid_associate('synset', 'id', 'v', (SELECT v FROM page_question WHERE n = %s), 'page_parts',
                k => {K}, seeds => 5, hops => 4) JOIN synset USING (id) ORDER BY score DESC, id""", (number,))
    _, city, countries, country = asked[0]
    lines = []
    for by_vector, by_graph in zip(near[1], related[numbers[0]]):
        cells = (f'<td class="right">{html.escape(name)}</td>' if row in countries else f"<td>{html.escape(name)}</td>"
                 for row, name in (by_vector, by_graph))
        lines.append("<tr>" + "".join(cells) + "</tr>")
    return {
        "city": html.escape(city), "country": html.escape(country), "asked": len(asked),
        "answers": "<table><tr><th>by vectors alone</th><th>with the graph</th></tr>" + "".join(lines) + "</table>",
        "by_vectors": sum(any(row in asked[n - 1][2] for row, _ in rows) for n, rows in near.items()),
        "by_graph": sum(any(row in each[2] for row, _ in related[each[0]]) for each in asked)}


def facts(cursor):
    """What the page says of the data and the machine."""
    (rows, dims, edges, postgres, version, instructions, cores), = rows_of(cursor, """
        SELECT (SELECT count(*) FROM synset), (SELECT vector_dims(v) FROM synset WHERE v IS NOT NULL LIMIT 1), (SELECT count(*) FROM relation),
            current_setting('server_version'), (SELECT extversion FROM pg_extension WHERE extname = 'hybrid'), architecture, cores
        FROM hybrid_devices WHERE device = 0""")
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = [line.split(":", 1)[1].strip() for line in file if line.startswith("model name")]
    return {"rows": rows, "dims": dims, "edges": edges, "postgres": html.escape(postgres.split()[0]), "version": version,
            "machine": html.escape(f"{names[0] if names else 'CPU'} ({instructions}), {cores} cores"),
            "date": time.strftime("%Y-%m-%d", time.gmtime(float(os.environ.get("SOURCE_DATE_EPOCH", time.time()))))}


if __name__ == "__main__":
    main()
