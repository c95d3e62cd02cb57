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


# 1: express, many kinds
told("scatter", px.scatter(df, x="x", y="y", color="kind", size="n", hover_data=["n"], title="Points"))
told("histogram", px.histogram(df, x="y", nbins=3, marginal="box"))
told("tree", px.treemap(df, path=["kind", "x"], values="n"))
told("animated", px.scatter(df, x="x", y="y", animation_frame="n", range_y=[0, 5]))
# 2: graph objects
figure = go.Figure()
figure.add_trace(go.Scatter(x=df["x"], y=df["y"], mode="lines+markers", name="y", line={"dash": "dot"}))
figure.add_trace(go.Bar(x=df["x"], y=df["n"], name="n", yaxis="y2", marker_color="crimson"))
figure.update_layout(
    title="Two axes", yaxis2={"overlaying": "y", "side": "right"}, legend={"orientation": "h"}, template="plotly_dark"
)
told("objects", figure)
# 5: tables, maps, three dimensions, finance
told("gauge", go.Figure(go.Indicator(mode="gauge+number", value=42, gauge={"axis": {"range": [0, 100]}})))
# 6: HTML
html = figure.to_html(full_html=False, include_plotlyjs="cdn", div_id="chart")
print(html.count("chart") > 1, "<html" in html, "<html" in pio.to_html(figure, include_plotlyjs=False))
figure.write_html("chart.html", include_plotlyjs="cdn")
# 7: JSON and back
figure.write_json("chart.json")
again = pio.read_json("chart.json")
print(again == figure, pio.from_json(figure.to_json()).layout.title.text, type(figure.to_dict()["data"][0]).__name__)
print(sorted(name for name in os.listdir(".") if name.startswith(("chart", "grid"))))
# 10: mistakes
try:
    go.Scatter(mode="nothing")
except ValueError as error:
    print(str(error).strip()[:60])
make_subplots(rows=0, cols=1)
