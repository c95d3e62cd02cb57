import json
import os

import pandas as pd
import plotly.express as px
import plotly.graph_objects as go
import plotly.io as pio
from plotly.subplots import make_subplots

df = pd.DataFrame({"x": [1, 2, 3, 4], "y": [3.0, 1.5, 4.0, 2.5], "kind": ["a", "b", "a", "b"], "n": [5, 6, 7, 8]})


def told(name, figure):
    whole = json.loads(figure.to_json())
    print(name, [trace["type"] for trace in whole["data"]], sorted(set(whole["layout"]) - {"template"}))


told("scatter", px.scatter(df, x="x", y="y", color="kind", size="n", hover_data=["n"], title="Points"))
told("tree", px.treemap(df, path=["kind", "x"], values="n"))
figure = go.Figure()
figure.add_trace(go.Scatter(x=df["x"], y=df["y"], mode="lines+markers", name="y", line={"dash": "dot"}))
figure.update_layout(
    title="Two axes", yaxis2={"overlaying": "y", "side": "right"}, legend={"orientation": "h"}, template="plotly_dark"
)
told("objects", figure)
html = figure.to_html(full_html=False, include_plotlyjs="cdn", div_id="chart")
print(html.count("chart") > 1, "<html" in html, "<html" in pio.to_html(figure, include_plotlyjs=False))
figure.write_html("chart.html", include_plotlyjs="cdn")
figure.write_json("chart.json")
again = pio.read_json("chart.json")
print(again == figure, pio.from_json(figure.to_json()).layout.title.text, type(figure.to_dict()["data"][0]).__name__)
print(sorted(name for name in os.listdir(".") if name.startswith(("chart", "grid"))))
make_subplots(rows=0, cols=1)
