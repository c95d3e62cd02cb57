import os

import matplotlib.pyplot as plt
import networkx as nx
import pandas as pd

g = nx.Graph()
g.add_edge("a", "b", weight=4)
g.add_weighted_edges_from([("b", "c", 1), ("a", "c", 2), ("c", "d", 5)])
nx.add_path(g, ["d", "e", "f"], weight=1)
print(g, sorted(g.degree), g["a"]["b"]["weight"], g.edges(data="weight"))
print(nx.shortest_path(g, "a", "f", weight="weight"), nx.dijkstra_path_length(g, "a", "f"))
print({k: round(v, 4) for k, v in nx.pagerank(g).items()})
d = nx.DiGraph([("x", "y"), ("y", "z"), ("x", "z")])
print(nx.to_numpy_array(d).sum(), nx.from_pandas_edgelist(pd.DataFrame({"source": [1], "target": [2]})).edges)
h = nx.relabel_nodes(d, {"x": 1})
nx.set_node_attributes(h, {1: "one"}, "name")
nx.write_edgelist(g, "g.edges", data=["weight"])
nx.write_graphml(d, "d.graphml")
nx.write_gml(h, "h.gml")
print(nx.read_edgelist("g.edges", data=[("weight", int)]).number_of_edges(), nx.read_graphml("d.graphml").edges)
print(nx.read_gml("h.gml").nodes, sorted(os.listdir(".")))
nx.draw(g, with_labels=True, node_color="lightblue", pos=nx.circular_layout(g))
plt.savefig("g.png")
plt.close()
nx.shortest_path(g, "a", "nowhere")
