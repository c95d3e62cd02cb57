import json
import os

import numpy as np
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
told("line", px.line(df, x="x", y="y", color="kind", markers=True, labels={"x": "time"}))
told("bar", px.bar(df, x="kind", y="y", barmode="group", facet_col="kind"))
told("histogram", px.histogram(df, x="y", nbins=3, marginal="box"))
told("box", px.box(df, x="kind", y="y", points="all"))
told("violin", px.violin(df, y="y"))
told("pie", px.pie(df, names="kind", values="n", hole=0.3))
told("heat", px.imshow(np.arange(6).reshape(2, 3), text_auto=True, color_continuous_scale="Viridis"))
told("tree", px.treemap(df, path=["kind", "x"], values="n"))
told("animated", px.scatter(df, x="x", y="y", animation_frame="n", range_y=[0, 5]))
told("area", px.area(df, x="x", y="y", color_discrete_sequence=px.colors.qualitative.Set2))
told("trend", px.scatter(df, x="x", y="y", trendline="rolling", trendline_options={"window": 2, "function": "median"}))
# 2: graph objects
figure = go.Figure()
figure.add_trace(go.Scatter(x=df["x"], y=df["y"], mode="lines+markers", name="y", line={"dash": "dot"}))
figure.add_trace(go.Bar(x=df["x"], y=df["n"], name="n", yaxis="y2", marker_color="crimson"))
figure.update_layout(
    title="Two axes", yaxis2={"overlaying": "y", "side": "right"}, legend={"orientation": "h"}, template="plotly_dark"
)
figure.update_xaxes(title_text="x", showgrid=False)
figure.update_traces(opacity=0.5, selector={"type": "bar"})
figure.add_hline(y=2, line_dash="dash")
figure.add_vrect(x0=1, x1=2, fillcolor="green", opacity=0.1, annotation_text="early")
figure.add_annotation(x=3, y=4, text="top", showarrow=True)
told("objects", figure)
# 4: subplots
grid = make_subplots(rows=2, cols=2, subplot_titles=list("ABCD"), specs=[[{}, {"type": "domain"}], [{"colspan": 2}, None]])
grid.add_trace(go.Scatter(y=[1, 3, 2]), row=1, col=1)
grid.add_trace(go.Pie(labels=["u", "v"], values=[1, 2]), row=1, col=2)
grid.add_trace(go.Heatmap(z=[[1, 2], [3, 4]], colorscale="Blues"), row=2, col=1)
told("grid", grid)
# 5: tables, maps, three dimensions, finance
told("table", go.Figure(go.Table(header={"values": list(df)}, cells={"values": [df[c] for c in df]})))
told("surface", go.Figure(go.Surface(z=np.outer(np.arange(3), np.arange(3)))))
told("candles", go.Figure(go.Candlestick(x=[1, 2], open=[1, 2], high=[3, 4], low=[0, 1], close=[2, 3])))
told("gauge", go.Figure(go.Indicator(mode="gauge+number", value=42, gauge={"axis": {"range": [0, 100]}})))
told("sankey", go.Figure(go.Sankey(node={"label": ["a", "b"]}, link={"source": [0], "target": [1], "value": [8]})))
told("globe", px.scatter_geo(lat=[50, 60], lon=[10, 20]))
# 6: HTML
html = figure.to_html(full_html=False, include_plotlyjs="cdn", div_id="chart")
print(html.count("chart") > 1, "<html" in html, "<html" in pio.to_html(figure, include_plotlyjs=False))
figure.write_html("chart.html", include_plotlyjs="cdn")
pio.write_html(grid, "grid.html", include_plotlyjs=False, auto_open=False)
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
try:
    px.scatter(df, x="absent")
except ValueError as error:
    print(str(error)[:60])
make_subplots(rows=0, cols=1)
