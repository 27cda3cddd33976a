"""The answers of the graph functions beside those of igraph: see graph.sh, section answers."""

import random

SIMILAR = 5


class Answers:
    """A graph in the server, and the same in igraph."""

    def __init__(self, igraph, ask, graph, edges):
        self.ask, self.graph, self.edges = ask, graph, edges
        self.igraph = igraph
        rows = ask(f"""SELECT source, target, sum(weight::float8), min(weight)
            FROM ({edges}) AS e (source, target, weight) GROUP BY 1, 2""")
        self.ids = sorted({int(end) for row in rows for end in row[:2]})
        self.place = {node: number for number, node in enumerate(self.ids)}
        pairs = [(self.place[int(row[0])], self.place[int(row[1])]) for row in rows]
        self.directed = igraph.Graph(n=len(self.ids), edges=pairs, directed=True)
        self.directed.es["weight"] = [float(row[2]) for row in rows]
        self.directed.es["least"] = [float(row[3]) for row in rows]
        # both directions together, as direction => 'both' has them
        self.both = self.directed.as_undirected(mode="collapse", combine_edges={"weight": "sum", "least": "min"})
        self.simple = self.both.copy().simplify()
        # where walks and searches start: nodes with many edges, and with few
        order = sorted(range(len(self.ids)), key=lambda node: (-self.directed.degree(node, mode="out"), node))
        leaving = [node for node in order if self.directed.degree(node, mode="out") > 0]
        self.starts = [leaving[len(leaving) * part // 7] for part in range(7)]

    def by_id(self, values, wanted=lambda value: True):
        """Rows (id, value) of a value for each node."""
        return [(str(self.ids[node]), value) for node, value in enumerate(values) if wanted(value)]

    def pairs(self):
        """Each case: its name, our rows, and those of igraph."""
        both, directed = self.both, self.directed
        graph, starts = self.graph, self.starts
        first = [self.ids[node] for node in starts]
        listed = "{" + ",".join(str(node) for node in first) + "}"
        yield ("degree", self.ask(f"SELECT id, degree FROM hybrid_degree('{graph}', 'out')"),
               self.by_id(directed.degree(mode="out")))
        yield ("weight of edges", self.ask(f"SELECT id, weight FROM hybrid_degree('{graph}', 'both')"),
               self.by_id(both.strength(weights="weight")))
        smallest = {}
        labels = directed.connected_components(mode="weak").membership
        for node, label in enumerate(labels):
            smallest.setdefault(label, self.ids[node])
        yield ("components", self.ask(f"SELECT id, component FROM hybrid_components('{graph}')"),
               self.by_id([smallest[label] for label in labels]))
        shares = self.simple.transitivity_local_undirected(mode="zero")
        yield ("clustering", self.ask(f"SELECT id, clustering FROM hybrid_triangles('{graph}')"), self.by_id(shares))
        degrees = self.simple.degree()
        yield ("triangles", self.ask(f"SELECT id, triangles FROM hybrid_triangles('{graph}')"),
               self.by_id([round(share * degree * (degree - 1) / 2) for share, degree in zip(shares, degrees)]))
        yield ("PageRank", self.ask(f"SELECT * FROM hybrid_pagerank('{graph}', tolerance => 1e-13)"),
               self.by_id(directed.pagerank(weights="weight")))
        yield ("personalized PageRank",
               self.ask(f"SELECT * FROM hybrid_pagerank('{graph}', seeds => '{listed}', tolerance => 1e-13)"),
               self.by_id(directed.personalized_pagerank(reset_vertices=starts, weights="weight"), lambda p: p > 0))
        hops = [min(each) for each in zip(*directed.distances(source=starts, mode="out"))]
        yield ("neighbors", self.ask(f"SELECT * FROM hybrid_neighbors('{graph}', '{listed}', hops => 3)"),
               self.by_id(hops, lambda hop: hop <= 3))
        yield from self.paths(first)
        yield from self.similar(first[:SIMILAR])
        near = set(both.neighborhood(starts[0], order=1))
        inside = [edge for edge in directed.es if edge.source in near and edge.target in near]
        yield ("subgraph", self.ask(f"""SELECT source || ' ' || target, sum(weight)
                FROM hybrid_subgraph('{graph}', ARRAY[{first[0]}]) GROUP BY 1"""),
               [(f"{self.ids[edge.source]} {self.ids[edge.target]}", edge["weight"]) for edge in inside])

    def paths(self, first):
        """The cost from one node to others."""
        goals = [self.ids[len(self.ids) * part // 50] for part in range(50)]
        for name, weighted, weights in (("shortest paths", "true", "least"), ("fewest edges", "false", None)):
            costs = self.directed.distances(source=self.place[first[0]], target=[self.place[goal] for goal in goals],
                                            weights=weights, mode="out")[0]
            yield (name, self.ask(f"""SELECT goal, max(cost) FROM unnest(ARRAY{goals}::bigint[]) AS goal,
                    hybrid_shortest_path('{self.graph}', {first[0]}, goal, {weighted}) GROUP BY goal"""),
                   [(str(goal), cost) for goal, cost in zip(goals, costs) if cost < float("inf")])

    def similar(self, nodes):
        """Neighbors in common, without the edges from a node to itself, which igraph counts in another way."""
        query = f"SELECT * FROM ({self.edges}) AS e (source, target, weight) WHERE source <> target"
        for name in ("jaccard", "adamic_adar"):
            ours, theirs = [], []
            for node in nodes:
                at = self.place[node]
                ours += self.ask(f"""SELECT '{node} ' || id, similarity FROM hybrid_similar_nodes(
                    $query${query}$query$, {node}, '{name}', k => NULL)""")
                if name == "jaccard":
                    found = self.simple.similarity_jaccard(
                        pairs=[(at, other) for other in range(len(self.ids))], loops=False)
                else:
                    found = self.simple.similarity_inverse_log_weighted(vertices=[at])[0]
                theirs += [(f"{node} {self.ids[other]}", value) for other, value in enumerate(found)
                           if other != at and value > 0]
            yield name, ours, theirs

    def communities(self):
        """The modularity of the communities that Leiden finds here and there, and whether ours are connected."""
        random.seed(1)
        label = {int(row[0]): int(row[1]) for row in self.ask(f"SELECT * FROM hybrid_communities('{self.graph}')")}
        ours = [self.place[label[node]] for node in self.ids]
        theirs = self.both.community_leiden(objective_function="modularity", weights="weight", n_iterations=-1)
        inside = [edge.tuple for edge in self.both.es if ours[edge.source] == ours[edge.target] and edge["weight"] > 0]
        parts = self.igraph.Graph(n=len(self.ids), edges=inside).connected_components()
        return (self.both.modularity(ours, weights="weight"),
                self.both.modularity(theirs.membership, weights="weight"), len(parts) == len(set(ours)))
