import os

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import seaborn as sns
import seaborn.objects as so

sns.set_theme(style="whitegrid")
x = np.linspace(0, 6, 60)
df = pd.DataFrame({"x": x, "y": np.sin(x) + x / 3, "kind": ["a", "b", "c"] * 20, "half": ["u"] * 30 + ["v"] * 30})
for number, draw in enumerate(
    (
        lambda: sns.lineplot(df, x="x", y="y", hue="kind"),
        lambda: sns.scatterplot(df, x="x", y="y", hue="kind", style="half", size="y"),
        lambda: sns.histplot(df, x="y", hue="kind", multiple="stack", kde=True),
    )
):
    plt.figure(figsize=(3, 2))
    axes = draw()
    print(number, type(axes).__name__, axes.get_xlabel(), axes.get_ylabel())
    plt.close()
grid = sns.FacetGrid(df, col="kind", height=2)
grid.map_dataframe(sns.scatterplot, x="x", y="y")
grid.set_titles("{col_name}").savefig("grid.png")
print([axes.get_title() for axes in grid.axes.flat])
plt.close("all")
sns.pairplot(df, hue="kind", height=1.5).savefig("pairs.png")
plt.close("all")
so.Plot(df, x="x", y="y", color="kind").add(so.Line(), so.Agg()).add(so.Dot()).label(x="time").save("objects.png")
plt.close("all")
print(sorted(os.listdir(".")), os.path.getsize("objects.png") > 1000)
sns.scatterplot(df, x="nothing", y="y")
